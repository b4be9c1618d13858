#include "proto/sdp/attributes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::sdp {
namespace {

constexpr size_t kMaxFingerprintBytes = 64;  // SHA-512

constexpr std::array<std::string_view, kExtensionCount> kExtensionUris = {
    "urn:ietf:params:rtp-hdrext:sdes:mid",
    "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id",
    "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id",
    "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
    "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
    "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time",
    "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
    "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension",
};

// The next word, and the rest behind the spaces that follow it.
std::string_view take_word(std::string_view& text) {
    text = trim(text);
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view word = text.substr(0, end);
    text = trim(text.substr(end));
    return word;
}

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::optional<uint8_t> parse_payload_type(std::string_view text) {
    const std::optional<uint64_t> value = parse_uint(text, 0, 127);
    return value ? std::optional(static_cast<uint8_t>(*value)) : std::nullopt;
}

int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

size_t bytes_of_hash(std::string_view hash) {
    return hash == "sha-1"     ? 20
           : hash == "sha-224" ? 28
           : hash == "sha-256" ? 32
           : hash == "sha-384" ? 48
           : hash == "sha-512" ? 64
                               : 0;
}

bool is_rid(std::string_view text) {
    return !text.empty() && text.size() <= kMaxRidBytes &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; });
}

}  // namespace

std::string_view to_string(Direction direction) {
    switch (direction) {
        case Direction::kSendRecv: return "sendrecv";
        case Direction::kSendOnly: return "sendonly";
        case Direction::kRecvOnly: return "recvonly";
        case Direction::kInactive: return "inactive";
    }
    return "inactive";
}

std::optional<Direction> parse_direction(std::string_view name) {
    for (const Direction direction :
         {Direction::kSendRecv, Direction::kSendOnly, Direction::kRecvOnly, Direction::kInactive}) {
        if (name == to_string(direction)) {
            return direction;
        }
    }
    return std::nullopt;
}

bool is_token(std::string_view text) {
    constexpr std::string_view kOthers = "!#$%&'*+-.^_`{|}~";
    return !text.empty() && text.size() <= kMaxTokenBytes &&
           std::all_of(text.begin(), text.end(), [&](char c) {
               return is_alphanumeric(c) || kOthers.find(c) != std::string_view::npos;
           });
}

std::optional<RtpMap> parse_rtpmap(std::string_view value) {
    const std::optional<uint8_t> payload_type = parse_payload_type(take_word(value));
    const std::vector<std::string_view> parts = split(take_word(value), '/', 4);
    if (!payload_type || parts.size() < 2 || parts.size() > 3 || !is_token(parts[0])) {
        return std::nullopt;
    }
    const std::optional<uint64_t> clock_hz = parse_uint(parts[1], 1, UINT32_MAX);
    const std::optional<uint64_t> channels =
        parts.size() == 3 ? parse_uint(parts[2], 1, 255) : std::optional<uint64_t>(1);
    if (!clock_hz || !channels) {
        return std::nullopt;
    }
    return RtpMap{*payload_type, std::string(parts[0]), static_cast<uint32_t>(*clock_hz),
                  static_cast<uint8_t>(*channels)};
}

std::optional<ForPayload> parse_for_payload(std::string_view value) {
    const std::string_view word = take_word(value);
    ForPayload out{parse_payload_type(word), value};
    if (!out.payload_type && word != "*") {
        return std::nullopt;
    }
    return out;
}

std::optional<std::string_view> fmtp_parameter(std::string_view fmtp, std::string_view name) {
    while (!fmtp.empty()) {
        const Halves parameter = split_once(fmtp, ';');
        const Halves pair = split_once(parameter.before, '=');
        if (equals_ignore_case(trim(pair.before), name)) {
            return trim(pair.after);
        }
        fmtp = parameter.after;
    }
    return std::nullopt;
}

std::optional<uint32_t> fmtp_number(std::string_view fmtp,
                                    std::string_view name,
                                    uint32_t fallback,
                                    uint32_t max) {
    const std::optional<std::string_view> text = fmtp_parameter(fmtp, name);
    if (!text) {
        return fallback;
    }
    const std::optional<uint64_t> value = parse_uint(*text, 0, max);
    return value ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
}

void Feedback::add(std::string_view text) {
    const std::string_view kind = take_word(text);
    const std::string_view detail = take_word(text);
    nack |= kind == "nack" && detail.empty();
    pli |= kind == "nack" && detail == "pli";
    fir |= kind == "ccm" && detail == "fir";
    transport_cc |= kind == "transport-cc";
    remb |= kind == "goog-remb";
}

void Feedback::add(const Feedback& other) {
    nack |= other.nack;
    pli |= other.pli;
    fir |= other.fir;
    transport_cc |= other.transport_cc;
    remb |= other.remb;
}

std::vector<std::string_view> Feedback::texts() const {
    std::vector<std::string_view> out;
    const auto add_if = [&](bool set, std::string_view text) {
        if (set) {
            out.push_back(text);
        }
    };
    add_if(transport_cc, "transport-cc");
    add_if(remb, "goog-remb");
    add_if(fir, "ccm fir");
    add_if(nack, "nack");
    add_if(pli, "nack pli");
    return out;
}

std::string_view uri_of(Extension extension) {
    return kExtensionUris[static_cast<size_t>(extension)];
}

std::optional<Extension> extension_of(std::string_view uri) {
    const auto* const found = std::find(kExtensionUris.begin(), kExtensionUris.end(), uri);
    if (found == kExtensionUris.end()) {
        return std::nullopt;
    }
    return static_cast<Extension>(found - kExtensionUris.begin());
}

std::optional<ExtMap> parse_extmap(std::string_view value) {
    const Halves number = split_once(take_word(value), '/');
    const std::optional<uint64_t> id = parse_uint(number.before, 1, 0xFFFF);
    ExtMap out;
    if (number.found) {
        out.direction = parse_direction(number.after);
    }
    out.uri = take_word(value);  // extension attributes may follow
    if (!id || (number.found && !out.direction) || out.uri.empty()) {
        return std::nullopt;
    }
    out.id = static_cast<uint32_t>(*id);
    return out;
}

std::optional<Fingerprint> parse_fingerprint(std::string_view value) {
    Fingerprint out;
    out.hash = to_lower(take_word(value));
    const std::string_view hex = take_word(value);
    if (out.hash.empty() || out.hash.size() > kMaxTokenBytes || hex.size() % 3 != 2 ||
        hex.size() / 3 >= kMaxFingerprintBytes || !value.empty()) {
        return std::nullopt;
    }
    for (size_t at = 0; at < hex.size(); at += 3) {
        const int high = hex_digit(hex[at]);
        const int low = hex_digit(hex[at + 1]);
        if (high < 0 || low < 0 || (at + 2 < hex.size() && hex[at + 2] != ':')) {
            return std::nullopt;
        }
        out.bytes.push_back(static_cast<uint8_t>(high * 16 + low));
    }
    const size_t expected = bytes_of_hash(out.hash);
    if (expected != 0 && out.bytes.size() != expected) {
        return std::nullopt;
    }
    return out;
}

std::string write_fingerprint(const Fingerprint& fingerprint) {
    return fmt::format("{} {:02X}", fingerprint.hash, fmt::join(fingerprint.bytes, ":"));
}

std::string_view to_string(Setup setup) {
    switch (setup) {
        case Setup::kActPass: return "actpass";
        case Setup::kActive: return "active";
        case Setup::kPassive: return "passive";
        case Setup::kHoldConn: return "holdconn";
    }
    return "holdconn";
}

std::optional<Setup> parse_setup(std::string_view value) {
    for (const Setup setup : {Setup::kActPass, Setup::kActive, Setup::kPassive, Setup::kHoldConn}) {
        if (value == to_string(setup)) {
            return setup;
        }
    }
    return std::nullopt;
}

std::optional<uint32_t> parse_ssrc(std::string_view value) {
    const std::optional<uint64_t> ssrc = parse_uint(take_word(value), 0, UINT32_MAX);
    return ssrc ? std::optional(static_cast<uint32_t>(*ssrc)) : std::nullopt;
}

std::optional<SsrcGroup> parse_ssrc_group(std::string_view value) {
    SsrcGroup group;
    group.semantics = take_word(value);
    while (!value.empty()) {
        const std::optional<uint32_t> ssrc = parse_ssrc(take_word(value));
        if (!ssrc || group.ssrcs.size() == kMaxSsrcsInGroup) {
            return std::nullopt;
        }
        group.ssrcs.push_back(*ssrc);
    }
    return group.ssrcs.empty() ? std::nullopt : std::optional(std::move(group));
}

std::optional<Rid> parse_rid(std::string_view value) {
    Rid rid;
    const std::string_view id = take_word(value);
    const std::string_view direction = take_word(value);
    if (!is_rid(id) || (direction != "send" && direction != "recv")) {
        return std::nullopt;
    }
    rid.id = id;
    rid.send = direction == "send";
    if (const std::optional<std::string_view> list = fmtp_parameter(value, "pt")) {
        for (const std::string_view text : split(*list, ',', kMaxFormats)) {
            const std::optional<uint8_t> payload_type = parse_payload_type(trim(text));
            if (!payload_type) {
                return std::nullopt;
            }
            rid.payload_types.push_back(*payload_type);
        }
    }
    return rid;
}

std::vector<std::string> parse_simulcast(std::string_view value, std::string_view direction) {
    std::vector<std::string> out;
    while (!value.empty()) {
        const bool wanted = take_word(value) == direction;
        const std::string_view list = take_word(value);
        if (!wanted) {
            continue;
        }
        for (const std::string_view stream : split(list, ';', kMaxSimulcastStreams + 1)) {
            std::string_view id = split_once(stream, ',').before;
            if (id.starts_with('~')) {
                id.remove_prefix(1);
            }
            if (out.size() == kMaxSimulcastStreams) {
                break;
            }
            if (is_rid(id)) {
                out.emplace_back(id);
            }
        }
        break;
    }
    return out;
}

std::optional<std::vector<std::string>> find_bundle(const Attributes& attributes) {
    for (const Attribute& attribute : attributes) {
        std::string_view value = attribute.value;
        if (attribute.name != "group" || take_word(value) != "BUNDLE") {
            continue;
        }
        std::vector<std::string> mids;
        while (!value.empty() && mids.size() < kMaxMedia) {
            mids.emplace_back(take_word(value));
        }
        return mids;
    }
    return std::nullopt;
}

}  // namespace weir::sdp
