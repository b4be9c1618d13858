#include "proto/sdp/codec.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::sdp {
namespace {

using media::Codec;

constexpr uint32_t kLevel52 = 0x34;  // 4096x2304 at 60; what a server that only forwards can take

struct Name {
    std::string_view text;
    Codec codec;
};

constexpr std::array<Name, 10> kNames = {{
    {"H264", Codec::kH264},
    {"H265", Codec::kHevc},
    {"VP8", Codec::kVp8},
    {"VP9", Codec::kVp9},
    {"AV1", Codec::kAv1},
    {"opus", Codec::kOpus},
    {"PCMU", Codec::kG711U},
    {"PCMA", Codec::kG711A},
    {"G722", Codec::kG722},
    {"speex", Codec::kSpeex},
}};

bool has_expected_clock(const PayloadFormat& format) {
    switch (format.codec) {
        case Codec::kOpus: return format.clock_hz == 48000;
        case Codec::kG711U:
        case Codec::kG711A:
        case Codec::kG722: return format.clock_hz == 8000 && format.channels == 1;
        case Codec::kSpeex:  // RFC 5574 §3.1
            return format.channels == 1 && (format.clock_hz == 8000 || format.clock_hz == 16000 ||
                                            format.clock_hz == 32000);
        default: return format.clock_hz == 90000;
    }
}

// RFC 6184 §8.1: mode 0 is what an offer without the parameter means.
uint32_t packetization_mode(const PayloadFormat& format) {
    return fmtp_number(format.fmtp, "packetization-mode", 0, 255).value_or(255);
}

// RFC 7798 §7.1: one stream, decoding order; what every browser says or implies.
bool is_plain_hevc(std::string_view fmtp) {
    const std::string_view mode = fmtp_parameter(fmtp, "tx-mode").value_or("SRST");
    return equals_ignore_case(mode, "SRST") &&
           fmtp_number(fmtp, "sprop-max-don-diff", 0).value_or(1) == 0;
}

// The parameter that names the profile, and what its absence means.
uint32_t profile_of(const PayloadFormat& format) {
    constexpr uint32_t kInvalid = 255;
    switch (format.codec) {
        case Codec::kHevc: return fmtp_number(format.fmtp, "profile-id", 1, 31).value_or(kInvalid);
        case Codec::kVp9: return fmtp_number(format.fmtp, "profile-id", 0, 3).value_or(kInvalid);
        case Codec::kAv1: return fmtp_number(format.fmtp, "profile", 0, 2).value_or(kInvalid);
        default: return 0;
    }
}

Fit h264_profile_fit(uint32_t mine, const PayloadFormat& offered) {
    const std::optional<std::string_view> text = fmtp_parameter(offered.fmtp, "profile-level-id");
    // Deviation: the absence should mean Baseline at level 1. GStreamer leaves it out when it takes
    // everything.
    if (!text || mine == 0) {
        return Fit::kCovers;
    }
    const std::optional<uint32_t> id = parse_profile_level_id(*text);
    if (!id) {
        return Fit::kNone;
    }
    const H264Profile decoder = h264_level(*id).profile;
    const H264Profile stream = h264_level(mine).profile;
    return decoder == stream && stream != H264Profile::kUnknown ? Fit::kExact
           : h264_decodes(decoder, stream)                      ? Fit::kCovers
                                                                : Fit::kOtherProfile;
}

Fit h264_fit(uint32_t mine, const PayloadFormat& offered) {
    const Fit fit = h264_profile_fit(mine, offered);
    if (packetization_mode(offered) == 1) {
        return fit;
    }
    // Mode 0 knows single NAL units only, so that a picture over the size of a packet cannot be
    // sent.
    // Deviation: that is also what no mode means. But who says none (GStreamer's whepsrc, WHEP
    // clients of a few lines) takes what its depacketizer takes, and all of them take mode 1.
    const bool said = fmtp_parameter(offered.fmtp, "packetization-mode").has_value();
    return said || fit < Fit::kCovers ? Fit::kNone : Fit::kUnsaidMode;
}

// Smaller is better; none when it cannot be received.
std::optional<uint32_t> receive_rank(const PayloadFormat& format) {
    switch (format.codec) {
        case Codec::kH264: {
            const uint32_t mode = packetization_mode(format);
            const std::optional<std::string_view> id =
                fmtp_parameter(format.fmtp, "profile-level-id");
            return mode > 1 || (id && !parse_profile_level_id(*id)) ? std::nullopt
                                                                    : std::optional(1 - mode);
        }
        case Codec::kHevc: {
            const uint32_t profile = profile_of(format);
            return !is_plain_hevc(format.fmtp) || profile > 31 ? std::nullopt
                                                               : std::optional(profile);
        }
        case Codec::kVp9:
        case Codec::kAv1: {
            const uint32_t profile = profile_of(format);
            return profile > 3 ? std::nullopt : std::optional(profile);
        }
        default: return 0U;
    }
}

std::string h264_answer(const PayloadFormat& offered, bool receiving) {
    const bool said = fmtp_parameter(offered.fmtp, "packetization-mode").has_value();
    const bool asymmetry = fmtp_number(offered.fmtp, "level-asymmetry-allowed", 0) == 1U;
    std::string out = asymmetry ? "level-asymmetry-allowed=1;" : "";
    // What is sent in an unsaid mode is mode 1.
    out +=
        fmt::format("packetization-mode={}", said || receiving ? packetization_mode(offered) : 1);
    const std::optional<std::string_view> text = fmtp_parameter(offered.fmtp, "profile-level-id");
    const std::optional<uint32_t> id = text ? parse_profile_level_id(*text) : std::nullopt;
    if (id) {
        // The profile must be the offered one; the level is of our receiver, if they may differ.
        // Some encoders lower their frame rate to what the answered level allows.
        const uint32_t level = *id & 0xFFU;
        const uint32_t answered = receiving && asymmetry && level < kLevel52 ? kLevel52 : level;
        out += fmt::format(";profile-level-id={:06x}", (*id & 0xFFFF00U) | answered);
    }
    return out;
}

// The offered parameters of these names, in this order.
std::string repeat_parameters(std::string_view fmtp, std::span<const std::string_view> names) {
    std::string out;
    for (const std::string_view name : names) {
        const std::optional<std::string_view> value = fmtp_parameter(fmtp, name);
        if (value && is_token(*value)) {
            out += fmt::format("{}{}={}", out.empty() ? "" : ";", name, *value);
        }
    }
    return out;
}

std::string repeat_profile(const PayloadFormat& offered) {
    constexpr std::array<std::string_view, 4> kHevc = {"level-id", "profile-id", "tier-flag",
                                                       "tx-mode"};
    constexpr std::array<std::string_view, 1> kVp9 = {"profile-id"};
    constexpr std::array<std::string_view, 3> kAv1 = {"level-idx", "profile", "tier"};
    switch (offered.codec) {
        case Codec::kHevc: return repeat_parameters(offered.fmtp, kHevc);
        case Codec::kVp9: return repeat_parameters(offered.fmtp, kVp9);
        case Codec::kAv1: return repeat_parameters(offered.fmtp, kAv1);
        default: return {};
    }
}

}  // namespace

Codec codec_of(std::string_view encoding_name) {
    for (const Name& name : kNames) {
        if (equals_ignore_case(encoding_name, name.text)) {
            return name.codec;
        }
    }
    // The name before the AV1 RTP specification was done; the same bytes.
    return equals_ignore_case(encoding_name, "AV1X") ? Codec::kAv1 : Codec::kUnknown;
}

std::string_view encoding_name_of(Codec codec) {
    for (const Name& name : kNames) {
        if (name.codec == codec) {
            return name.text;
        }
    }
    return {};
}

bool is_telephony_only(Codec codec) {
    return codec == Codec::kG722 || codec == Codec::kSpeex;
}

bool is_telephone_event(const PayloadFormat& format) {
    return equals_ignore_case(format.name, "telephone-event");
}

bool is_comfort_noise(const PayloadFormat& format) {
    return equals_ignore_case(format.name, "CN");
}

uint32_t sample_rate_of(Codec codec, uint32_t clock_hz) {
    return codec == Codec::kG722 ? 16000 : clock_hz;
}

std::optional<RtpMap> static_payload_type(uint8_t payload_type) {
    switch (payload_type) {
        case 0: return RtpMap{0, "PCMU", 8000, 1};
        case 8: return RtpMap{8, "PCMA", 8000, 1};
        case 9: return RtpMap{9, "G722", 8000, 1};
        case 13: return RtpMap{13, "CN", 8000, 1};
        default: return std::nullopt;
    }
}

std::optional<uint32_t> parse_profile_level_id(std::string_view text) {
    if (text.size() != 6) {
        return std::nullopt;
    }
    uint32_t value = 0;
    for (const char c : text) {
        const char lower = static_cast<char>(c | 0x20);
        const bool digit = c >= '0' && c <= '9';
        if (!digit && (lower < 'a' || lower > 'f')) {
            return std::nullopt;
        }
        value = value << 4U | static_cast<uint32_t>(digit ? c - '0' : lower - 'a' + 10);
    }
    return value;
}

H264Level h264_level(uint32_t profile_level_id) {
    const uint32_t constraints = profile_level_id >> 8U & 0xFFU;  // set0 is the top bit
    const bool set1 = (constraints & 0x40U) != 0;
    const bool set4_and_5 = (constraints & 0x0CU) == 0x0CU;
    H264Level out;
    out.level_idc = static_cast<uint8_t>(profile_level_id);
    switch (profile_level_id >> 16U & 0xFFU) {
        case 66:
            out.profile = set1 ? H264Profile::kConstrainedBaseline : H264Profile::kBaseline;
            break;
        case 77:
            // With set0: it also obeys Baseline, and what obeys both is Constrained Baseline.
            out.profile =
                (constraints & 0x80U) != 0 ? H264Profile::kConstrainedBaseline : H264Profile::kMain;
            break;
        case 88:  // Extended, which only exists where it obeys something else
            out.profile = (constraints & 0xC0U) == 0xC0U ? H264Profile::kConstrainedBaseline
                          : (constraints & 0x80U) != 0   ? H264Profile::kBaseline
                          : set1                         ? H264Profile::kMain
                                                         : H264Profile::kUnknown;
            break;
        case 100:
            out.profile = set4_and_5 ? H264Profile::kConstrainedHigh : H264Profile::kHigh;
            break;
        case 110: out.profile = H264Profile::kHigh10; break;
        case 122: out.profile = H264Profile::kHigh422; break;
        case 244: out.profile = H264Profile::kHigh444; break;
        default: break;
    }
    return out;
}

bool h264_decodes(H264Profile decoder, H264Profile stream) {
    if (decoder == H264Profile::kUnknown || stream == H264Profile::kUnknown) {
        return false;
    }
    if (decoder == stream || stream == H264Profile::kConstrainedBaseline) {
        return true;
    }
    // ITU-T H.264 A.2: Baseline has tools (FMO, ASO) that no later profile has, and no decoder of
    // Baseline need know what Main adds.
    if (decoder <= H264Profile::kBaseline || stream == H264Profile::kBaseline) {
        return false;
    }
    // Constrained High lacks the interlaced tools of Main and High.
    return decoder > stream && decoder != H264Profile::kConstrainedHigh;
}

Fit fit_for_sending(const SendCodec& mine, const PayloadFormat& offered) {
    if (mine.codec != offered.codec || mine.codec == Codec::kUnknown ||
        !has_expected_clock(offered)) {
        return Fit::kNone;
    }
    const uint32_t profile = profile_of(offered);
    switch (mine.codec) {
        case Codec::kH264: return h264_fit(mine.h264_profile_level_id, offered);
        case Codec::kHevc:
            // general_profile_idc 1 (Main) is played by Main 10 (2) as well (ITU-T H.265 A.3.3).
            return !is_plain_hevc(offered.fmtp) || profile > 31    ? Fit::kNone
                   : profile == (mine.profile ? mine.profile : 1U) ? Fit::kExact
                   : profile == 2 && mine.profile <= 1             ? Fit::kCovers
                                                                   : Fit::kOtherProfile;
        case Codec::kVp9:  // the profiles differ in depth and subsampling: none covers another
            return profile == mine.profile ? Fit::kExact : Fit::kNone;
        case Codec::kAv1:  // AV1 §A.2: each profile includes the ones before
            return profile > 2               ? Fit::kNone
                   : profile == mine.profile ? Fit::kExact
                   : profile > mine.profile  ? Fit::kCovers
                                             : Fit::kNone;
        default: return Fit::kExact;
    }
}

SendChoice choose_for_sending(const SendCodec& mine,
                              std::span<const PayloadFormat> offered,
                              bool lenient) {
    SendChoice best;
    for (const PayloadFormat& format : offered) {
        const Fit fit = fit_for_sending(mine, format);
        if (fit > best.fit && (lenient || fit != Fit::kOtherProfile)) {
            best = {&format, fit};
        }
    }
    return best;
}

std::string why_none_fits(const SendCodec& mine, std::span<const PayloadFormat> offered) {
    for (const PayloadFormat& format : offered) {
        if (format.codec != mine.codec || mine.codec == Codec::kUnknown) {
            continue;
        }
        if (!has_expected_clock(format)) {
            return fmt::format("{} is offered with a clock of {} Hz", format.name, format.clock_hz);
        }
        switch (mine.codec) {
            case Codec::kH264:
                return packetization_mode(format) != 1
                           ? "H264 is offered without packetization-mode=1 only, and a picture may "
                             "be larger than a packet: offer packetization-mode=1"
                           : "the profile-level-id that H264 is offered with cannot be read";
            case Codec::kHevc:
                return "H265 is offered for several streams or in interleaved order only: offer "
                       "tx-mode=SRST and sprop-max-don-diff=0";
            default:
                return fmt::format(
                    "{} is offered in profiles that do not play profile {} of this "
                    "stream",
                    format.name, mine.profile);
        }
    }
    return {};
}

const PayloadFormat* choose_for_receiving(Codec codec, std::span<const PayloadFormat> offered) {
    const PayloadFormat* best = nullptr;
    uint32_t best_rank = UINT32_MAX;
    for (const PayloadFormat& format : offered) {
        if (format.codec != codec || codec == Codec::kUnknown || !has_expected_clock(format)) {
            continue;
        }
        const std::optional<uint32_t> rank = receive_rank(format);
        if (rank && *rank < best_rank) {
            best = &format;
            best_rank = *rank;
        }
    }
    return best;
}

std::string fmtp_for_receiving(const PayloadFormat& offered) {
    switch (offered.codec) {
        case Codec::kH264: return h264_answer(offered, true);
        // RFC 7587 §6.1: what we prefer to receive. Publishers of mono send mono frames anyway.
        case Codec::kOpus: return "minptime=10;stereo=1;useinbandfec=1";
        default: return repeat_profile(offered);
    }
}

std::string fmtp_for_sending(const SendCodec& mine, const PayloadFormat& offered) {
    switch (offered.codec) {
        case Codec::kH264: return h264_answer(offered, false);
        case Codec::kOpus:
            return mine.channels > 1 ? "minptime=10;sprop-stereo=1;stereo=1;useinbandfec=1"
                                     : "minptime=10;useinbandfec=1";
        default: return repeat_profile(offered);
    }
}

}  // namespace weir::sdp
