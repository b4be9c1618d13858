// Values of command line options: counts, durations, bit rates, addresses of streams.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace weir::load {

// Decimal digits within [low, high]. kMalformed or kLimit; the message says what was expected.
Result<uint64_t> parse_count(std::string_view text, uint64_t low, uint64_t high);

// "30s", "500ms", "2m", "1h", "1.5s"; a bare number is seconds. At most 30 days.
Result<Millis> parse_duration(std::string_view text);

// "500k", "4M", "2.5M", "800000" (bits per second, decimal multiples).
Result<uint64_t> parse_bit_rate(std::string_view text);

// "2,000": for people.
std::string grouped(uint64_t value);

// "500.0 kbit/s": for people.
std::string bit_rate_text(double bits_per_second);

struct Url {
    std::string scheme;  // "rtmp", "http", "ws", or one of them with "s"
    std::string host;    // without brackets
    uint16_t port = 0;   // the scheme's own when the URL has none
    std::string path;    // from the first '/', with the query

    // rtmp: what lies before and behind the last '/' of the path; the query stays with the stream.
    std::string app;
    std::string stream;

    // "host:port" or "[host]:port".
    std::string authority() const;

    bool tls() const;
};

// kMalformed: no scheme, an unknown one, no host, a bad port, or (rtmp) no stream name.
Result<Url> parse_url(std::string_view text);

// The text with its first "%d" replaced.
std::string numbered(std::string_view pattern, uint32_t number);

bool has_number(std::string_view pattern);

}  // namespace weir::load
