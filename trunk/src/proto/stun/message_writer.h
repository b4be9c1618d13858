// Writes one STUN message (RFC 8489) into a caller's buffer.
//
//     MessageWriter writer(buffer, MessageClass::kSuccess, kBinding, request.transaction);
//     writer.xor_mapped_address(from).integrity(key).fingerprint();
//     send(writer.message());
//
// Attributes appear in the order of the calls; integrity comes behind what it covers, fingerprint
// last. What does not fit makes the whole message empty, and nothing is written past the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/net_address.h"
#include "proto/stun/message.h"

namespace weir::stun {

class MessageWriter {
  public:
    // `out` must outlive the writer. More than kMaxMessageBytes of it are not used.
    MessageWriter(std::span<uint8_t> out,
                  MessageClass message_class,
                  uint16_t method,
                  const TransactionId& transaction);

    MessageWriter& username(std::string_view name) {
        return attribute(Attribute::kUsername, as_bytes(name));
    }

    MessageWriter& software(std::string_view name) {
        return attribute(Attribute::kSoftware, as_bytes(name));
    }

    MessageWriter& priority(uint32_t value) { return number32(Attribute::kPriority, value); }

    MessageWriter& nomination(uint32_t value) { return number32(Attribute::kNomination, value); }

    MessageWriter& use_candidate() { return attribute(Attribute::kUseCandidate, {}); }

    MessageWriter& ice_controlling(uint64_t tie_breaker) {
        return number64(Attribute::kIceControlling, tie_breaker);
    }

    MessageWriter& ice_controlled(uint64_t tie_breaker) {
        return number64(Attribute::kIceControlled, tie_breaker);
    }

    MessageWriter& xor_mapped_address(const NetAddress& address);

    // `code` 300..699.
    MessageWriter& error_code(uint16_t code, std::string_view reason);

    MessageWriter& unknown_attributes(std::span<const uint16_t> types);

    // Any attribute; the value is padded with zeros.
    MessageWriter& attribute(Attribute type, ByteSpan value);

    MessageWriter& integrity(ByteSpan key);
    MessageWriter& integrity_sha256(ByteSpan key);
    MessageWriter& fingerprint();

    // The message so far; empty when something did not fit.
    ByteSpan message() const { return ok_ ? ByteSpan(out_).first(size_) : ByteSpan(); }

    size_t size() const { return message().size(); }

  private:
    MessageWriter& number32(Attribute type, uint32_t value);
    MessageWriter& number64(Attribute type, uint64_t value);

    // Room for an attribute at the end, with its header written, and the length of the message
    // counting it. Null when it does not fit.
    uint8_t* add(Attribute type, size_t value_bytes);

    std::span<uint8_t> out_;
    size_t size_ = 0;
    bool ok_ = false;
};

}  // namespace weir::stun
