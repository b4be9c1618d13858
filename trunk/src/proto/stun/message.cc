#include "proto/stun/message.h"

#include <algorithm>

#include "base/hmac.h"
#include "proto/stun/fingerprint.h"

namespace weir::stun {

namespace {

constexpr size_t kAttributeHeaderBytes = 4;
constexpr size_t kMinSha256Bytes = 16;  // RFC 8489 §14.6
constexpr uint8_t kFamilyV4 = 1;
constexpr uint8_t kFamilyV6 = 2;
constexpr size_t kCookieAt = 4;
constexpr size_t kTransactionAt = 8;

constexpr size_t padded(size_t size) {
    return (size + 3) & ~size_t{3};
}

uint32_t load_u32(ByteSpan bytes) {
    return ByteReader(bytes).u32();
}

// RFC 8489 §14.1. `mask` is xored into port and address (§14.2), all zeros for the plain form.
std::optional<NetAddress> parse_address(ByteSpan value, const NetAddress::V6& mask) {
    ByteReader reader(value);
    reader.skip(1);
    uint8_t family = reader.u8();
    auto port = static_cast<uint16_t>(reader.u16() ^ (mask[0] << 8 | mask[1]));
    ByteSpan ip = reader.rest();
    NetAddress::V4 v4{};
    NetAddress::V6 v6{};
    if (family == kFamilyV4 && ip.size() == v4.size()) {
        std::transform(ip.begin(), ip.end(), mask.begin(), v4.begin(), std::bit_xor<>());
        return NetAddress::from_v4(v4, port);
    }
    if (family == kFamilyV6 && ip.size() == v6.size()) {
        std::transform(ip.begin(), ip.end(), mask.begin(), v6.begin(), std::bit_xor<>());
        return NetAddress::from_v6(v6, port);
    }
    return std::nullopt;
}

// The message up to an integrity attribute with the length that it had when the digest was made:
// up to the end of that attribute (RFC 8489 §14.5).
struct Signed {
    Signed(ByteSpan message, size_t end_of_attribute) : size(message.size()) {
        std::copy(message.begin(), message.end(), bytes.begin());
        store_u16(bytes.data() + 2, static_cast<uint16_t>(end_of_attribute - kHeaderBytes));
    }

    ByteSpan span() const { return ByteSpan(bytes).first(size); }

    std::array<uint8_t, kMaxMessageBytes> bytes;  // only the first `size` are set
    size_t size;
};

}  // namespace

// Takes the attributes of one message in their order.
class AttributeParser {
  public:
    AttributeParser(ByteSpan datagram, MessageView& out) : datagram_(datagram), out_(out) {}

    ParseStatus run() {
        size_t at = kHeaderBytes;
        while (at < datagram_.size()) {
            ByteReader reader(datagram_.subspan(at));
            uint16_t type = reader.u16();
            size_t size = reader.u16();
            ByteSpan value = reader.take(size);
            reader.skip(padded(size) - size);
            // RFC 8489 §14.7: FINGERPRINT is the last one.
            if (!reader.ok() || out_.has_fingerprint) {
                return ParseStatus::kMalformed;
            }
            ParseStatus status = take(type, value, at);
            if (status != ParseStatus::kDone) {
                return status;
            }
            at += reader.position();
        }
        return ParseStatus::kDone;
    }

  private:
    ParseStatus take(uint16_t type, ByteSpan value, size_t at) {
        switch (static_cast<Attribute>(type)) {
            case Attribute::kFingerprint: return take_fingerprint(value, at);
            case Attribute::kMessageIntegrity: return status_of(take_integrity(value, at));
            case Attribute::kMessageIntegritySha256:
                return status_of(take_integrity_sha256(value, at));
            default: break;
        }
        // What follows the integrity is not covered by it: as if it were not there (§14.5, §14.6).
        return out_.has_integrity() ? ParseStatus::kDone : status_of(take_covered(type, value));
    }

    static ParseStatus status_of(bool good) {
        return good ? ParseStatus::kDone : ParseStatus::kMalformed;
    }

    ParseStatus take_fingerprint(ByteSpan value, size_t at) {
        if (value.size() != sizeof(uint32_t)) {
            return ParseStatus::kMalformed;
        }
        out_.has_fingerprint = load_u32(value) == fingerprint_of(datagram_.first(at));
        return out_.has_fingerprint ? ParseStatus::kDone : ParseStatus::kBadFingerprint;
    }

    bool take_integrity(ByteSpan value, size_t at) {
        if (value.size() != Sha1Digest().size()) {
            return false;
        }
        if (!out_.has_integrity()) {
            out_.integrity_at_ = static_cast<uint16_t>(at);
        }
        return true;
    }

    bool take_integrity_sha256(ByteSpan value, size_t at) {
        if (value.size() < kMinSha256Bytes || value.size() > Sha256Digest().size() ||
            value.size() % 4 != 0) {
            return false;
        }
        if (!out_.has_integrity_sha256()) {
            out_.integrity_sha256_at_ = static_cast<uint16_t>(at);
            out_.integrity_sha256_bytes_ = static_cast<uint16_t>(value.size());
        }
        return true;
    }

    bool take_covered(uint16_t type, ByteSpan value) {
        switch (static_cast<Attribute>(type)) {
            case Attribute::kUsername:
                return value.size() <= kMaxUsernameBytes && set_text(out_.username, value);
            case Attribute::kRealm: return set_text(out_.realm, value);
            case Attribute::kNonce: return set_text(out_.nonce, value);
            case Attribute::kSoftware: return set_text(out_.software, value);
            case Attribute::kPriority: return set_number(out_.priority, value);
            case Attribute::kNomination: return set_number(out_.nomination, value);
            case Attribute::kIceControlling: return set_number(out_.ice_controlling, value);
            case Attribute::kIceControlled: return set_number(out_.ice_controlled, value);
            case Attribute::kUseCandidate: out_.use_candidate = true; return value.empty();
            case Attribute::kMappedAddress: return set_address(out_.mapped_address, value, {});
            case Attribute::kXorMappedAddress: return set_xor_address(value);
            case Attribute::kErrorCode: return set_error(value);
            case Attribute::kUnknownAttributes: return value.size() % 2 == 0;
            default: note_unknown(type); return true;
        }
    }

    static bool set_text(std::optional<std::string_view>& field, ByteSpan value) {
        if (!field) {
            field = as_text(value);
        }
        return true;
    }

    template <typename Number>
    static bool set_number(std::optional<Number>& field, ByteSpan value) {
        if (value.size() != sizeof(Number)) {
            return false;
        }
        if (!field) {
            ByteReader reader(value);
            field = static_cast<Number>(sizeof(Number) == 8 ? reader.u64() : reader.u32());
        }
        return true;
    }

    static bool set_address(std::optional<NetAddress>& field,
                            ByteSpan value,
                            const NetAddress::V6& mask) {
        std::optional<NetAddress> address = parse_address(value, mask);
        if (address && !field) {
            field = address;
        }
        return address.has_value();
    }

    bool set_xor_address(ByteSpan value) {
        NetAddress::V6 mask{};
        ByteSpan cookie_and_id = datagram_.subspan(kCookieAt, mask.size());
        std::copy(cookie_and_id.begin(), cookie_and_id.end(), mask.begin());
        return set_address(out_.xor_mapped_address, value, mask);
    }

    // RFC 8489 §14.8: the hundreds in three bits, the rest in a byte, then a reason.
    bool set_error(ByteSpan value) {
        ByteReader reader(value);
        reader.skip(2);
        unsigned hundreds = reader.u8() & 7U;
        unsigned rest = reader.u8();
        if (!reader.ok() || hundreds < 3 || hundreds > 6 || rest > 99) {
            return false;
        }
        if (out_.error_code == 0) {
            out_.error_code = static_cast<uint16_t>(hundreds * 100 + rest);
            out_.error_reason = as_text(reader.rest());
        }
        return true;
    }

    void note_unknown(uint16_t type) {
        if (type < 0x8000 && out_.unknown_count < kMaxUnknownAttributes) {
            out_.unknown[out_.unknown_count++] = type;
        }
    }

    ByteSpan datagram_;
    MessageView& out_;
};

bool looks_like_stun(ByteSpan datagram) {
    return datagram.size() >= kHeaderBytes && datagram[0] < 4 &&
           load_u32(datagram.subspan(kCookieAt)) == kMagicCookie;
}

ParseStatus MessageView::parse(ByteSpan datagram, MessageView& out) {
    if (!looks_like_stun(datagram) || datagram.size() > kMaxMessageBytes) {
        return ParseStatus::kNotStun;
    }
    ByteReader reader(datagram);
    unsigned type = reader.u16();
    size_t length = reader.u16();
    if (length % 4 != 0 || length != datagram.size() - kHeaderBytes) {
        return ParseStatus::kMalformed;
    }
    out.message_class = static_cast<MessageClass>((type >> 4U & 1U) | (type >> 7U & 2U));
    out.method =
        static_cast<uint16_t>((type & 0x00FU) | (type >> 1U & 0x070U) | (type >> 2U & 0xF80U));
    ByteSpan id = datagram.subspan(kTransactionAt, out.transaction.size());
    std::copy(id.begin(), id.end(), out.transaction.begin());
    out.datagram_ = datagram;
    return AttributeParser(datagram, out).run();
}

bool MessageView::check_integrity(ByteSpan key) const {
    if (integrity_sha256_at_ != 0) {
        size_t value_at = integrity_sha256_at_ + kAttributeHeaderBytes;
        Signed text(datagram_.first(integrity_sha256_at_), value_at + integrity_sha256_bytes_);
        Sha256Digest digest = hmac_sha256(key, text.span());
        return equal_in_constant_time(ByteSpan(digest).first(integrity_sha256_bytes_),
                                      datagram_.subspan(value_at, integrity_sha256_bytes_));
    }
    if (integrity_at_ == 0) {
        return false;
    }
    size_t value_at = integrity_at_ + kAttributeHeaderBytes;
    Sha1Digest digest{};
    Signed text(datagram_.first(integrity_at_), value_at + digest.size());
    digest = hmac_sha1(key, text.span());
    return equal_in_constant_time(digest, datagram_.subspan(value_at, digest.size()));
}

}  // namespace weir::stun
