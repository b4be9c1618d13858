#include "bench/load/core/server_api.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace weir::load {
namespace {

// The number behind "name": in the text; the answer's shape is ours, so nothing more is parsed.
Result<double> number_of(std::string_view text, std::string_view name) {
    std::string key = fmt::format("\"{}\":", name);
    size_t at = text.find(key);
    if (at != std::string_view::npos) {
        std::string_view rest = text.substr(at + key.size());
        rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t\r\n")));
        double value = 0;
        auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
        if (status == std::errc() && std::isfinite(value) && value >= 0 && value < 1e15) {
            return value;
        }
    }
    return make_error(ErrorCode::kMalformed, "the API's answer has no number '{}'", name);
}

}  // namespace

std::string summary_request(std::string_view authority) {
    return fmt::format(
        "GET /api/v1/summaries HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\n"
        "Connection: close\r\n\r\n",
        authority);
}

Result<ServerSummary> parse_summary(std::string_view answer) {
    if (!answer.starts_with("HTTP/1.") || answer.size() < 12) {
        return make_error(ErrorCode::kMalformed, "what answers is no HTTP server");
    }
    std::string_view status = answer.substr(9, 3);
    if (status != "200") {
        return make_error(ErrorCode::kDenied, "the API answers with status {}", status);
    }
    // The process is described in its "self" object; the streams and clients beside it are not.
    size_t self = answer.find("\"self\"");
    if (self == std::string_view::npos) {
        return make_error(ErrorCode::kMalformed, "the API's answer has no member 'self'");
    }
    std::string_view process = answer.substr(self);
    process = process.substr(0, process.find('}'));
    ServerSummary summary;
    WEIR_TRY_ASSIGN(double pid, number_of(process, "pid"));
    WEIR_TRY_ASSIGN(double cpu_s, number_of(process, "cpu_seconds"));
    WEIR_TRY_ASSIGN(double kib, number_of(process, "mem_kbyte"));
    summary.pid = static_cast<uint64_t>(pid);
    summary.cpu_us = static_cast<uint64_t>(std::llround(cpu_s * 1e6));
    summary.resident_kib = static_cast<uint64_t>(kib);
    return summary;
}

}  // namespace weir::load
