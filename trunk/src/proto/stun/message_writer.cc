#include "proto/stun/message_writer.h"

#include <algorithm>

#include "base/check.h"
#include "base/hmac.h"
#include "proto/stun/fingerprint.h"

namespace weir::stun {

namespace {

constexpr size_t kAttributeHeaderBytes = 4;
constexpr size_t kCookieAt = 4;
constexpr size_t kTransactionAt = 8;

}  // namespace

MessageWriter::MessageWriter(std::span<uint8_t> out,
                             MessageClass message_class,
                             uint16_t method,
                             const TransactionId& transaction)
    : out_(out.first(std::min(out.size(), kMaxMessageBytes))), ok_(out.size() >= kHeaderBytes) {
    if (!ok_) {
        return;
    }
    store_u16(out_.data(), message_type(message_class, method));
    store_u16(out_.data() + 2, 0);
    store_u32(out_.data() + kCookieAt, kMagicCookie);
    std::copy(transaction.begin(), transaction.end(), out_.begin() + kTransactionAt);
    size_ = kHeaderBytes;
}

uint8_t* MessageWriter::add(Attribute type, size_t value_bytes) {
    size_t room = (value_bytes + 3) & ~size_t{3};
    if (!ok_ || value_bytes > kMaxMessageBytes ||
        kAttributeHeaderBytes + room > out_.size() - size_) {
        ok_ = false;
        return nullptr;
    }
    uint8_t* at = out_.data() + size_;
    store_u16(at, static_cast<uint16_t>(type));
    store_u16(at + 2, static_cast<uint16_t>(value_bytes));
    std::fill_n(at + kAttributeHeaderBytes, room, uint8_t{0});
    size_ += kAttributeHeaderBytes + room;
    store_u16(out_.data() + 2, static_cast<uint16_t>(size_ - kHeaderBytes));
    return at + kAttributeHeaderBytes;
}

MessageWriter& MessageWriter::attribute(Attribute type, ByteSpan value) {
    if (uint8_t* at = add(type, value.size())) {
        std::copy(value.begin(), value.end(), at);
    }
    return *this;
}

MessageWriter& MessageWriter::number32(Attribute type, uint32_t value) {
    if (uint8_t* at = add(type, sizeof value)) {
        store_u32(at, value);
    }
    return *this;
}

MessageWriter& MessageWriter::number64(Attribute type, uint64_t value) {
    if (uint8_t* at = add(type, sizeof value)) {
        store_u64(at, value);
    }
    return *this;
}

MessageWriter& MessageWriter::xor_mapped_address(const NetAddress& address) {
    bool is_v4 = address.is_v4();
    NetAddress::V4 v4 = address.v4();
    ByteSpan ip = is_v4 ? ByteSpan(v4) : ByteSpan(address.v6());
    uint8_t* at = add(Attribute::kXorMappedAddress, 4 + ip.size());
    if (at == nullptr) {
        return *this;
    }
    at[1] = is_v4 ? 1 : 2;
    store_u16(at + 2, static_cast<uint16_t>(address.port() ^ (kMagicCookie >> 16U)));
    // The mask is the cookie and, behind it, the transaction id (RFC 8489 §14.2).
    std::transform(ip.begin(), ip.end(), out_.begin() + kCookieAt, at + 4, std::bit_xor<>());
    return *this;
}

MessageWriter& MessageWriter::error_code(uint16_t code, std::string_view reason) {
    WEIR_DCHECK(code >= 300 && code <= 699);
    if (uint8_t* at = add(Attribute::kErrorCode, 4 + reason.size())) {
        at[2] = static_cast<uint8_t>(code / 100);
        at[3] = static_cast<uint8_t>(code % 100);
        std::copy(reason.begin(), reason.end(), at + 4);
    }
    return *this;
}

MessageWriter& MessageWriter::unknown_attributes(std::span<const uint16_t> types) {
    if (uint8_t* at = add(Attribute::kUnknownAttributes, 2 * types.size())) {
        for (uint16_t type : types) {
            store_u16(at, type);
            at += 2;
        }
    }
    return *this;
}

// add() has counted the new attribute in the header, as RFC 8489 §14.5 wants it for the digest over
// what stands before it.
MessageWriter& MessageWriter::integrity(ByteSpan key) {
    size_t covered = size_;
    if (uint8_t* at = add(Attribute::kMessageIntegrity, Sha1Digest().size())) {
        Sha1Digest digest = hmac_sha1(key, ByteSpan(out_).first(covered));
        std::copy(digest.begin(), digest.end(), at);
    }
    return *this;
}

MessageWriter& MessageWriter::integrity_sha256(ByteSpan key) {
    size_t covered = size_;
    if (uint8_t* at = add(Attribute::kMessageIntegritySha256, Sha256Digest().size())) {
        Sha256Digest digest = hmac_sha256(key, ByteSpan(out_).first(covered));
        std::copy(digest.begin(), digest.end(), at);
    }
    return *this;
}

MessageWriter& MessageWriter::fingerprint() {
    size_t covered = size_;
    if (uint8_t* at = add(Attribute::kFingerprint, sizeof(uint32_t))) {
        store_u32(at, fingerprint_of(ByteSpan(out_).first(covered)));
    }
    return *this;
}

}  // namespace weir::stun
