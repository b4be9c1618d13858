// STUN messages (RFC 8489), as far as ICE needs them: what a datagram says, and whether it is what
// it claims to be. Sans-IO; writing is message_writer.h.
//
//     0                   1                   2                   3
//    +-----------------------------------------------------------------+
//    |0 0|     type (14 bits)          |       length of what follows  |
//    |                 magic cookie 2112A442                           |
//    |                 transaction id (12 bytes)                       |
//    +-----------------------------------------------------------------+
//    | attributes: type (16), length (16), value, padding to 4 bytes   |
//
// The type holds the method (12 bits) and the class (bits 4 and 8). One datagram is one message;
// over TCP the framing of RFC 4571 (proto/ice/tcp_framing.h) makes datagrams. "Classic" STUN
// (RFC 3489, no cookie) is not spoken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/net_address.h"

namespace weir::stun {

inline constexpr size_t kHeaderBytes = 20;
inline constexpr size_t kMaxMessageBytes = 1500;  // longer datagrams are no STUN to us
inline constexpr size_t kMaxUsernameBytes = 513;  // RFC 8445 §7.2.2: two fragments of 256 and ':'
inline constexpr size_t kMaxUnknownAttributes = 8;  // more are not named in an answer
inline constexpr uint32_t kMagicCookie = 0x2112A442;

using TransactionId = std::array<uint8_t, 12>;

enum class MessageClass : uint8_t { kRequest = 0, kIndication = 1, kSuccess = 2, kError = 3 };

inline constexpr uint16_t kBinding = 0x001;  // the one method of ICE

enum class Attribute : uint16_t {
    kMappedAddress = 0x0001,
    kUsername = 0x0006,
    kMessageIntegrity = 0x0008,
    kErrorCode = 0x0009,
    kUnknownAttributes = 0x000A,
    kRealm = 0x0014,
    kNonce = 0x0015,
    kMessageIntegritySha256 = 0x001C,
    kXorMappedAddress = 0x0020,
    kPriority = 0x0024,
    kUseCandidate = 0x0025,
    kSoftware = 0x8022,
    kFingerprint = 0x8028,
    kIceControlled = 0x8029,
    kIceControlling = 0x802A,
    kNomination = 0xC001,  // draft-thatcher-ice-renomination; what libwebrtc sends
};

// Codes of an error response (RFC 8489 §14.8, RFC 8445 §16.1).
inline constexpr uint16_t kBadRequest = 400;
inline constexpr uint16_t kUnauthenticated = 401;
inline constexpr uint16_t kUnknownAttribute = 420;
inline constexpr uint16_t kRoleConflict = 487;

// The first look at a datagram of a shared port (RFC 7983 §7): the first byte and the cookie.
bool looks_like_stun(ByteSpan datagram);

enum class ParseStatus : uint8_t {
    kDone,
    kNotStun,         // too short, too long, another first byte, no cookie
    kMalformed,       // lengths that do not add up, a known attribute of a wrong size
    kBadFingerprint,  // the FINGERPRINT is there and wrong
};

// What a message says; views into the datagram, which must outlive it. Of an attribute that comes
// twice the first counts (RFC 8489 §14).
struct MessageView {
    // Gives kDone and fills `out`, which is to be a fresh one. Nothing is allocated.
    static ParseStatus parse(ByteSpan datagram, MessageView& out);

    MessageClass message_class = MessageClass::kRequest;
    uint16_t method = kBinding;
    TransactionId transaction{};

    std::optional<std::string_view> username;
    std::optional<std::string_view> realm;
    std::optional<std::string_view> nonce;
    std::optional<std::string_view> software;
    std::optional<uint32_t> priority;
    std::optional<uint32_t> nomination;
    std::optional<uint64_t> ice_controlling;  // the tie-breaker
    std::optional<uint64_t> ice_controlled;
    std::optional<NetAddress> mapped_address;
    std::optional<NetAddress> xor_mapped_address;
    uint16_t error_code = 0;  // 300..699; 0: no ERROR-CODE
    std::string_view error_reason;
    bool use_candidate = false;
    bool has_fingerprint = false;  // and it is right

    // Types below 0x8000 that we do not know: a request with one gets 420 (RFC 8489 §6.3.1).
    std::array<uint16_t, kMaxUnknownAttributes> unknown{};
    uint8_t unknown_count = 0;

    std::span<const uint16_t> unknown_attributes() const {
        return std::span(unknown).first(unknown_count);
    }

    // Bytes of the datagram.
    size_t size() const { return datagram_.size(); }

    bool has_integrity() const { return integrity_at_ != 0 || integrity_sha256_at_ != 0; }

    // Which of the two an answer has to use: the stronger one that the message has.
    bool has_integrity_sha256() const { return integrity_sha256_at_ != 0; }

    // Whether the holder of `key` wrote the message, by MESSAGE-INTEGRITY-SHA256 where there is
    // one, else by MESSAGE-INTEGRITY (RFC 8489 §9.1.3). One HMAC, constant-time comparison; false
    // when the message has neither. The key of ICE is the password itself (RFC 8489 §9.1.1).
    bool check_integrity(ByteSpan key) const;

  private:
    friend class AttributeParser;

    ByteSpan datagram_;
    uint16_t integrity_at_ = 0;  // offset of the attribute; 0: none
    uint16_t integrity_sha256_at_ = 0;
    uint16_t integrity_sha256_bytes_ = 0;  // may be cut (RFC 8489 §14.6)
};

// The header field of a message type, and back.
constexpr uint16_t message_type(MessageClass message_class, uint16_t method) {
    auto c = static_cast<unsigned>(message_class);
    unsigned m = method;
    return static_cast<uint16_t>((m & 0x00FU) | (m & 0x070U) << 1U | (m & 0xF80U) << 2U |
                                 (c & 1U) << 4U | (c & 2U) << 7U);
}

}  // namespace weir::stun
