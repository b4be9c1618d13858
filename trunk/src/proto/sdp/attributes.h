// The values of the attributes that WebRTC uses: one parser for each, from the text after
// "a=name:". None of them keeps the text. nullopt: not of that form.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/sdp/description.h"

namespace weir::sdp {

inline constexpr size_t kMaxTokenBytes = 64;  // of a mid, a rid, an encoding name

// As the writer of the description sees it (RFC 8866 §6.7).
enum class Direction : uint8_t { kSendRecv, kSendOnly, kRecvOnly, kInactive };

std::string_view to_string(Direction direction);
std::optional<Direction> parse_direction(std::string_view name);

constexpr bool sends(Direction direction) {
    return direction == Direction::kSendRecv || direction == Direction::kSendOnly;
}

constexpr bool receives(Direction direction) {
    return direction == Direction::kSendRecv || direction == Direction::kRecvOnly;
}

// The same flow seen from the other side.
constexpr Direction reversed(Direction direction) {
    return direction == Direction::kSendOnly   ? Direction::kRecvOnly
           : direction == Direction::kRecvOnly ? Direction::kSendOnly
                                               : direction;
}

// A token of RFC 8866 §9 of at most kMaxTokenBytes: what an answer may repeat.
bool is_token(std::string_view text);

// "111 opus/48000/2"
struct RtpMap {
    uint8_t payload_type = 0;
    std::string name;
    uint32_t clock_hz = 0;
    uint8_t channels = 1;

    bool operator==(const RtpMap&) const = default;
};

std::optional<RtpMap> parse_rtpmap(std::string_view value);

// "97 apt=96": a payload type and the text for it. Also the first half of a=rtcp-fb, where "*"
// stands for all: no payload type then.
struct ForPayload {
    std::optional<uint8_t> payload_type;
    std::string_view text;  // into the value that was parsed
};

std::optional<ForPayload> parse_for_payload(std::string_view value);

// The value of a parameter in "a=1;b=2" (names ignore case, RFC 6838 §4.3); none when it is not
// there, empty when it has none.
std::optional<std::string_view> fmtp_parameter(std::string_view fmtp, std::string_view name);

// The same as a number from 0 to `max`; `fallback` when it is absent; none when it is no number.
std::optional<uint32_t> fmtp_number(std::string_view fmtp,
                                    std::string_view name,
                                    uint32_t fallback,
                                    uint32_t max = UINT32_MAX);

// RTCP feedback (RFC 4585, 5104; draft-holmer-rmcat-transport-wide-cc; draft-alvestrand-rmcat-remb)
// that is understood.
struct Feedback {
    bool nack = false;
    bool pli = false;  // "nack pli"
    bool fir = false;  // "ccm fir"
    bool transport_cc = false;
    bool remb = false;

    bool operator==(const Feedback&) const = default;

    // Adds what "nack pli" and the like say; unknown ones are ignored.
    void add(std::string_view text);
    void add(const Feedback& other);

    // The texts of those that are set, in a fixed order.
    std::vector<std::string_view> texts() const;
};

// RTP header extensions (RFC 8285) that are understood.
enum class Extension : uint8_t {
    kMid,          // RFC 9143 §14: which m= line
    kRid,          // RFC 8852: which simulcast layer
    kRepairedRid,  // RFC 8852: the layer that an RTX stream repairs
    kTransportCc,  // draft-holmer-rmcat-transport-wide-cc-extensions-01
    kAbsSendTime,  // for REMB
    kAbsCaptureTime,
    kPlayoutDelay,
    kDependencyDescriptor,  // of AV1 and scalable video
};
inline constexpr size_t kExtensionCount = 8;

std::string_view uri_of(Extension extension);
std::optional<Extension> extension_of(std::string_view uri);

// The local identifiers (RFC 8285 §4.2) in one m= section; 0: not used.
class ExtensionIds {
  public:
    uint8_t operator[](Extension extension) const { return ids_[index(extension)]; }

    bool has(Extension extension) const { return ids_[index(extension)] != 0; }

    void set(Extension extension, uint8_t id) { ids_[index(extension)] = id; }

    bool operator==(const ExtensionIds&) const = default;

  private:
    static size_t index(Extension extension) { return static_cast<size_t>(extension); }

    std::array<uint8_t, kExtensionCount> ids_{};
};

// "3/recvonly http://..."
struct ExtMap {
    uint32_t id = 0;
    std::optional<Direction> direction;
    std::string_view uri;  // into the value that was parsed
};

std::optional<ExtMap> parse_extmap(std::string_view value);

// "sha-256 AB:CD:..." (RFC 8122 §5). Only the form is checked for other hash functions.
struct Fingerprint {
    std::string hash;  // lower case
    std::vector<uint8_t> bytes;

    bool operator==(const Fingerprint&) const = default;
};

std::optional<Fingerprint> parse_fingerprint(std::string_view value);
std::string write_fingerprint(const Fingerprint& fingerprint);

// RFC 4145 §4, RFC 8842.
enum class Setup : uint8_t { kActPass, kActive, kPassive, kHoldConn };

std::string_view to_string(Setup setup);
std::optional<Setup> parse_setup(std::string_view value);

// "group:FID 1 2" of a=ssrc-group (RFC 5576 §4.2).
struct SsrcGroup {
    std::string_view semantics;  // into the value that was parsed
    std::vector<uint32_t> ssrcs;
};

inline constexpr size_t kMaxSsrcsInGroup = 16;
std::optional<SsrcGroup> parse_ssrc_group(std::string_view value);

// The number that a=ssrc begins with.
std::optional<uint32_t> parse_ssrc(std::string_view value);

// "h send pt=96,97;max-width=1280" (RFC 8851 §4).
struct Rid {
    std::string id;
    bool send = true;
    std::vector<uint8_t> payload_types;  // empty: all of the m= line

    bool operator==(const Rid&) const = default;
};

// An identifier is letters and digits (RFC 8852 §3.1), and '-', '_', which are in use.
inline constexpr size_t kMaxRidBytes = 16;
std::optional<Rid> parse_rid(std::string_view value);

// The streams of one direction of a=simulcast (RFC 8853 §5.1): of alternatives the first one; a
// '~' (starts paused) is dropped.
inline constexpr size_t kMaxSimulcastStreams = 8;
std::vector<std::string> parse_simulcast(std::string_view value, std::string_view direction);

// The mids of the BUNDLE group (RFC 9143); none without one.
std::optional<std::vector<std::string>> find_bundle(const Attributes& attributes);

}  // namespace weir::sdp
