// Figures of the server out of its HTTP API's answer to /api/v1/summaries. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace weir::load {

struct ServerSummary {
    uint64_t pid = 0;
    uint64_t cpu_us = 0;  // user and system time since its start
    uint64_t resident_kib = 0;
};

// The request for it, to be sent as it is; the server closes after the answer.
std::string summary_request(std::string_view authority);

// The whole answer, head and body. kDenied: a status other than 200, which is told; kMalformed: no
// HTTP, or without the figures.
Result<ServerSummary> parse_summary(std::string_view answer);

}  // namespace weir::load
