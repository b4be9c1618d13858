#include "proto/fcc/message.h"

namespace weir::fcc {
namespace {

constexpr uint8_t kVersion = 0x80;
constexpr uint8_t kVersionBits = 0xC0;
constexpr uint8_t kMessageBits = 0x1F;
constexpr uint8_t kPayloadType = 205;
constexpr size_t kHeader = 12;
constexpr uint32_t kOverloadFlags = 0x8000;  // Huawei: what a receiver says of itself
constexpr uint32_t kTakesRedirects = 0x2000'0000;
constexpr uint32_t kOpening = 0x0003'0000;
constexpr uint8_t kWantsOpening = 0x20;

// Numbers of the messages.
struct Numbers {
    uint8_t request;
    uint8_t answer;
    uint8_t sync;
    uint8_t end;
};

Numbers numbers_of(Kind kind) {
    return kind == Kind::kTelecom ? Numbers{.request = 2, .answer = 3, .sync = 4, .end = 5}
                                  : Numbers{.request = 5, .answer = 6, .sync = 8, .end = 9};
}

uint32_t number_of(const NetAddress& address) {
    const NetAddress::V4 ip = address.v4();
    return ByteReader(ip).u32();
}

// An address without port; none for 0.0.0.0.
NetAddress address_of(uint32_t number) {
    if (number == 0) {
        return {};
    }
    return NetAddress::from_v4(
        {static_cast<uint8_t>(number >> 24), static_cast<uint8_t>(number >> 16),
         static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)},
        0);
}

// `words` of the whole message.
ByteWriter begin(Bytes& out, uint8_t message, uint16_t words, const NetAddress& group) {
    ByteWriter writer(out);
    writer.u8(kVersion | message).u8(kPayloadType).u16(static_cast<uint16_t>(words - 1));
    writer.u32(0).u32(number_of(group));
    return writer;
}

Answer answer_of(unsigned type) {
    switch (type) {
        case 1: return Answer::kJoin;
        case 2: return Answer::kBurst;
        case 3: return Answer::kRedirect;
        default: return Answer::kRefused;
    }
}

std::optional<Message> parse_telecom(ByteReader& reader) {
    Message message;
    const uint8_t result = reader.u8();
    const uint8_t type = reader.u8();
    message.answer = result == 0 ? answer_of(type) : Answer::kRefused;
    message.signal_port = reader.u16();
    message.media_port = reader.u16();
    reader.skip(2);
    message.server = address_of(reader.u32());
    if (!reader.ok()) {
        return std::nullopt;
    }
    return message;
}

std::optional<Message> parse_huawei(ByteReader& reader) {
    Message message;
    const uint8_t result = reader.u8();
    reader.skip(1);
    const uint16_t type = reader.u16();
    message.answer = result == 1 ? answer_of(type) : Answer::kRefused;
    if (!reader.ok()) {
        return std::nullopt;
    }
    reader.skip(8);  // number of the first packet, bit rate
    const uint8_t flags = reader.u8();
    reader.skip(1);
    const uint16_t port = reader.u16();
    const uint32_t session = reader.u32();
    const NetAddress server = address_of(reader.u32());
    if (!reader.ok()) {  // the short form: it comes from the same server
        return message.answer == Answer::kRedirect ? std::nullopt : std::optional(message);
    }
    const bool opening = (flags & kWantsOpening) != 0 && session != 0;
    if (message.answer == Answer::kRedirect) {
        message.server = server;
        message.signal_port = port;
    } else if (opening) {
        message.server = server;
        message.media_port = port;
        message.session = session;
    }
    return message;
}

}  // namespace

Bytes write_request(Kind kind, const Request& request) {
    Bytes out;
    const uint8_t number = numbers_of(kind).request;
    if (kind == Kind::kTelecom) {
        begin(out, number, 6, request.group)
            .u32(0)
            .u16(request.local.port())
            .u16(request.group.port())
            .u32(number_of(request.group));
    } else {
        begin(out, number, 8, request.group)
            .u64(0)
            .u32(number_of(request.local))
            .u16(request.local.port())
            .u16(kOverloadFlags)
            .u32(kTakesRedirects);
    }
    return out;
}

Bytes write_end(Kind kind, const NetAddress& group, std::optional<uint16_t> first) {
    Bytes out;
    ByteWriter writer = begin(out, numbers_of(kind).end, 4, group);
    if (kind == Kind::kTelecom) {
        writer.u8(first ? 0 : 1);
    } else {
        writer.u8(first ? 1 : 2);
    }
    writer.u8(0).u16(first.value_or(0));
    return out;
}

Bytes write_opening(Kind kind, uint32_t session) {
    Bytes out;  // of kTelecom: an empty datagram
    if (kind == Kind::kHuawei) {
        ByteWriter(out).u32(kOpening).u32(session);
    }
    return out;
}

std::optional<Message> parse_message(Kind kind, ByteSpan bytes) {
    if (!is_message(bytes)) {
        return std::nullopt;
    }
    const Numbers numbers = numbers_of(kind);
    const uint8_t number = bytes[0] & kMessageBits;
    if (number == numbers.sync) {
        Message message;
        message.answer = Answer::kSync;
        return message;
    }
    if (number != numbers.answer) {
        return std::nullopt;
    }
    ByteReader reader(bytes.subspan(kHeader));
    return kind == Kind::kTelecom ? parse_telecom(reader) : parse_huawei(reader);
}

bool is_message(ByteSpan bytes) {
    return bytes.size() >= kHeader && (bytes[0] & kVersionBits) == kVersion &&
           bytes[1] == kPayloadType;
}

}  // namespace weir::fcc
