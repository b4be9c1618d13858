// What every SIP message must have (RFC 3261 §8.1.1): Via, From, To, Call-ID, CSeq, checked and as
// values. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/sip/header_values.h"
#include "proto/sip/message.h"
#include "proto/sip/name_addr.h"
#include "proto/sip/via.h"

namespace weir::sip {

inline constexpr size_t kMaxCallIdBytes = 256;
inline constexpr size_t kMaxTagBytes = 256;

struct CoreHeaders {
    Via via;          // the newest
    size_t vias = 0;  // all of them
    NameAddr from;
    NameAddr to;
    std::string call_id;
    CSeq cseq;
    uint8_t max_forwards = kDefaultMaxForwards;
};

// nullopt: a field is missing, is there twice, or malformed; then `reason` is a literal. The
// request gets 400, a response is dropped.
std::optional<CoreHeaders> read_core_headers(const Request& request, std::string_view& reason);
std::optional<CoreHeaders> read_core_headers(const Response& response, std::string_view& reason);

// The response to a request: its Vias, From, To, Call-ID and CSeq (§8.2.6.2). `to_tag` is added
// where To has none; empty: none is added, as for 100.
Response make_response(const Request& request,
                       int status,
                       std::string_view reason,
                       std::string_view to_tag);

}  // namespace weir::sip
