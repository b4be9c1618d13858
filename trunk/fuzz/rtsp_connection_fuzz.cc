// What arrives on an RTSP connection: the same messages, frames and errors however the input is
// split; an accepted message is written and read back as the same. Behind a head of HTTP the rest
// is a tunnel's base64. The first byte is the size of the pieces.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "proto/rtsp/connection_reader.h"
#include "proto/rtsp/tunnel_decoder.h"
#include "proto/rtsp/url.h"

namespace rtsp = weir::rtsp;
using Status = rtsp::ConnectionReader::Status;

// The message as it is written. Read again, it is written the same, unless it has become too long:
// "a:b" is written as "a: b", and UTF-8 in a URL as %XX.
template <class Message>
static std::string written(const Message& message) {
    std::string text = rtsp::write(message);
    rtsp::ConnectionReader reader;
    weir::ByteSpan input = weir::as_bytes(text);
    switch (reader.next(input)) {
        case Status::kRequest: WEIR_CHECK(rtsp::write(reader.request()) == text); break;
        case Status::kResponse: WEIR_CHECK(rtsp::write(reader.response()) == text); break;
        default:
            WEIR_CHECK(reader.error().status == 414 ||
                       reader.error().reason.find("too long") != std::string_view::npos);
    }
    return text;
}

static std::string outcome_of(weir::ByteSpan input, size_t piece) {
    rtsp::ConnectionReader reader;
    rtsp::TunnelDecoder decoder;
    std::string outcome;
    bool tunnel = false;
    weir::Bytes tunnelled;
    for (size_t at = 0; at < input.size(); at += piece) {
        weir::ByteSpan rest = input.subspan(at, std::min(piece, input.size() - at));
        while (!tunnel) {
            const Status status = reader.next(rest);
            if (status == Status::kNeedMore) {
                WEIR_CHECK(rest.empty());
                break;
            }
            if (status == Status::kError) {
                return outcome + std::to_string(reader.error().status) +
                       std::to_string(reader.error().cseq.value_or(0)) +
                       std::string(reader.error().reason);
            }
            if (status == Status::kRequest) {
                outcome += written(reader.request());
                rtsp::is_uri_for(reader.request().url, "rtsp://h/a");
            } else if (status == Status::kResponse) {
                outcome += written(reader.response());
            } else if (status == Status::kFrame) {
                outcome += static_cast<char>(reader.frame().channel);
                outcome += weir::as_text(reader.frame().payload);
            } else {
                tunnel = true;
                outcome += reader.http().method + reader.http().target;
            }
        }
        if (tunnel && !decoder.feed(rest, tunnelled)) {
            outcome += "no base64";
            break;
        }
    }
    WEIR_CHECK(tunnelled.size() <= input.size());
    outcome += weir::as_text(tunnelled);
    return outcome + (reader.in_message() ? " within" : " between");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 1) {
        const weir::ByteSpan input(data + 1, size - 1);
        const std::string whole = outcome_of(input, size);
        WEIR_CHECK(outcome_of(input, data[0] % 64U + 1U) == whole);
        WEIR_CHECK(outcome_of(input, 1) == whole);
    }
    return 0;
}
