// A SIP datagram, and the same bytes as a stream that is cut into pieces: what is accepted is
// written and read back as the same, and so are the values of its fields. The first byte is the
// size of the pieces.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "proto/sip/core_headers.h"
#include "proto/sip/header_values.h"
#include "proto/sip/name_addr.h"
#include "proto/sip/stream_reader.h"
#include "proto/sip/uri.h"
#include "proto/sip/via.h"

namespace sip = weir::sip;
using Kind = sip::Parsed::Kind;

static void check_values(const sip::MessageBase& message) {
    for (const std::string_view name : {"Contact", "Route", "From", "To", "Refer-To"}) {
        const auto all = sip::NameAddr::parse_all(message.headers, name);
        for (const sip::NameAddr& each : all.value_or(std::vector<sip::NameAddr>())) {
            WEIR_CHECK(sip::NameAddr::parse(each.write()) == each);
            if (const auto uri = each.address()) {
                const auto again = sip::SipUri::parse(uri->write());
                WEIR_CHECK(again ? *again == *uri : uri->write().size() > sip::kMaxUriBytes);
                WEIR_CHECK(uri->equivalent(*uri));
            }
        }
    }
    const auto vias = sip::Via::parse_all(message.headers);
    for (const sip::Via& each : vias.value_or(std::vector<sip::Via>())) {
        WEIR_CHECK(sip::Via::parse(each.write()) == each);
    }
    sip::SessionExpires::parse(message.header("Session-Expires"));
    sip::RAck::parse(message.header("RAck"));
}

// As it is written; read again it is written the same, unless it has become too long.
static std::string written(const sip::Message& message) {
    std::string text = sip::write(message);
    const sip::Parsed again = sip::parse_datagram(weir::as_bytes(text));
    if (again.kind == Kind::kMessage) {
        WEIR_CHECK(sip::write(again.message) == text);
    } else {
        WEIR_CHECK(text.find("\r\n\r\n") + 4 > sip::kMaxHeadBytes ||
                   text.find("\r\n") > sip::kMaxFirstLine || text.size() > sip::kMaxMessageBytes);
    }
    return text;
}

static std::string outcome_of(weir::ByteSpan input, size_t piece) {
    sip::StreamReader reader;
    std::string outcome;
    for (size_t at = 0; at < input.size(); at += piece) {
        weir::ByteSpan rest = input.subspan(at, std::min(piece, input.size() - at));
        for (;;) {
            const sip::StreamReader::Status status = reader.next(rest);
            if (status == sip::StreamReader::Status::kNeedMore) {
                WEIR_CHECK(rest.empty());
                break;
            }
            if (status == sip::StreamReader::Status::kError) {
                return outcome + std::to_string(reader.parsed().status) +
                       std::string(reader.parsed().reason);
            }
            outcome += status == sip::StreamReader::Status::kPing
                           ? "ping"
                           : written(reader.parsed().message);
        }
    }
    return outcome + (reader.in_message() ? " within" : " between");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) {
        return 0;
    }
    const weir::ByteSpan input(data + 1, size - 1);
    const std::string whole = outcome_of(input, size);
    WEIR_CHECK(outcome_of(input, data[0] % 64U + 1U) == whole);
    WEIR_CHECK(outcome_of(input, 1) == whole);
    const sip::Parsed parsed = sip::parse_datagram(input);
    if (parsed.kind == Kind::kMessage) {
        written(parsed.message);
    }
    std::string_view reason;
    if (const auto* const request = std::get_if<sip::Request>(&parsed.message)) {
        check_values(*request);
        if (sip::read_core_headers(*request, reason)) {
            written(sip::make_response(*request, 180, {}, "tag"));
        }
    } else {
        check_values(std::get<sip::Response>(parsed.message));
        sip::read_core_headers(std::get<sip::Response>(parsed.message), reason);
    }
    return 0;
}
