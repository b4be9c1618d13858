#include "proto/rtsp/tunnel_decoder.h"

#include <optional>

namespace weir::rtsp {
namespace {

std::optional<uint32_t> digit_of(uint8_t c) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? std::optional(62U) : c == '/' ? std::optional(63U) : std::nullopt;
}

}  // namespace

bool TunnelDecoder::feed(ByteSpan text, Bytes& out) {
    for (const uint8_t c : text) {
        if (failed_) {
            break;
        }
        failed_ = c != '\r' && c != '\n' && c != ' ' && c != '\t' && !take(c, out);
    }
    return !failed_;
}

// False: it does not belong here.
bool TunnelDecoder::take(uint8_t c, Bytes& out) {
    if (c == '=') {
        if (count_ < 2) {
            return false;
        }
        padding_++;
        bits_ <<= 6;
    } else {
        const std::optional<uint32_t> digit = digit_of(c);
        if (!digit || padding_ > 0) {
            return false;
        }
        bits_ = bits_ << 6 | *digit;
    }
    if (++count_ < 4) {
        return true;
    }
    for (unsigned i = 0; i < 3U - padding_; i++) {
        out.push_back(static_cast<uint8_t>(bits_ >> (16 - 8 * i)));
    }
    bits_ = 0;
    count_ = padding_ = 0;
    return true;
}

}  // namespace weir::rtsp
