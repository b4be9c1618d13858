#include "proto/sdp/rtsp_fmtp.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/strings.h"
#include "media/aac.h"
#include "media/opus.h"
#include "proto/rtp/payload_latm.h"
#include "proto/sdp/codec.h"

namespace weir::sdp {
namespace {

using media::Codec;
using media::TrackKind;
using rtp::AudioFraming;

constexpr uint32_t kVideoClockHz = 90'000;
constexpr uint32_t kG711ClockHz = 8'000;
constexpr uint32_t kMaxClockHz = 10'000'000;
constexpr uint8_t kMpaType = 14;
constexpr uint8_t kMp2tType = 33;

struct Name {
    std::string_view text;
    Codec codec;
    AudioFraming framing = AudioFraming::kUsual;
};

// Those that WebRTC does not have.
constexpr std::array<Name, 6> kNames = {{
    {"mpeg4-generic", Codec::kAac},
    {"MP4A-LATM", Codec::kAac, AudioFraming::kLatm},
    {"MPA", Codec::kMp3},
    {"mpa-robust", Codec::kMp3, AudioFraming::kAdu},
    {"X-MP3-draft-00", Codec::kMp3, AudioFraming::kAdu},
    {"HEVC", Codec::kHevc},  // not its registered name
}};

bool is_audio(Codec codec) {
    return codec >= Codec::kAac;
}

// Object types (ISO/IEC 14496-3 table 1.17) that are AAC: Main, LC, SSR, LTP, SBR, LD, PS, ELD,
// xHE.
bool is_aac(uint8_t object_type) {
    constexpr std::array<uint8_t, 9> kTypes = {1, 2, 3, 4, 5, 23, 29, 39, 42};
    return std::ranges::find(kTypes, object_type) != kTypes.end();
}

std::optional<Bytes> parse_hex(std::string_view text) {
    if (text.size() % 2 != 0 || text.size() > 2 * kMaxNamedConfigBytes) {
        return std::nullopt;
    }
    Bytes out;
    int high = -1;
    for (const char c : text) {
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            return std::nullopt;
        }
        if (high < 0) {
            high = digit;
        } else {
            out.push_back(static_cast<uint8_t>(high << 4 | digit));
            high = -1;
        }
    }
    return out;
}

// A number of at most `max`; what is absent or cannot be read is `fallback`.
uint32_t number(std::string_view fmtp, std::string_view name, uint32_t fallback, uint32_t max) {
    return fmtp_number(fmtp, name, fallback, max).value_or(fallback);
}

// NAL units in base64 with commas between them. Cameras leave the padding out, and some have a
// start code in front.
void read_parameter_sets(std::string_view list, std::vector<Bytes>& out) {
    for (std::string_view text : split(list, ',', kMaxNamedParameterSets + 1)) {
        text = trim(text);
        while (text.ends_with('=')) {
            text.remove_suffix(1);
        }
        if (out.size() == kMaxNamedParameterSets || text.size() > 2 * kMaxNamedSetBytes) {
            continue;
        }
        std::string padded(text);
        padded.append((4 - text.size() % 4) % 4, '=');
        std::optional<Bytes> nal = parse_base64(padded);
        if (!nal) {
            continue;
        }
        const auto first = std::ranges::find_if(*nal, [](uint8_t byte) { return byte != 0; });
        if (first - nal->begin() >= 2 && first != nal->end() && *first == 1) {
            nal->erase(nal->begin(), first + 1);
        }
        if (!nal->empty() && nal->size() <= kMaxNamedSetBytes) {
            out.push_back(std::move(*nal));
        }
    }
}

void read_sets(std::string_view fmtp, std::string_view name, RtspTrack& track) {
    if (const std::optional<std::string_view> list = fmtp_parameter(fmtp, name)) {
        read_parameter_sets(*list, track.parameter_sets);
    }
}

// RFC 3640 §4.1. Whoever names no field lengths means AAC-hbr, or the mode that is named.
void read_aac(std::string_view fmtp, RtspTrack& track) {
    const std::string_view mode = fmtp_parameter(fmtp, "mode").value_or("");
    const bool low = equals_ignore_case(mode, "AAC-lbr");
    const bool said = fmtp_parameter(fmtp, "sizelength").has_value() ||
                      fmtp_parameter(fmtp, "constantsize").has_value();
    const auto length = [&](std::string_view name, uint32_t fallback) {
        return static_cast<uint8_t>(number(fmtp, name, said ? 0 : fallback, rtp::kMaxAuField));
    };
    rtp::AuHeaderFields& fields = track.parameters.au_header;
    fields.size = length("sizelength", low ? 6 : 13);
    fields.index = length("indexlength", low ? 2 : 3);
    fields.index_delta = length("indexdeltalength", low ? 2 : 3);
    fields.cts_delta = length("ctsdeltalength", 0);
    fields.dts_delta = length("dtsdeltalength", 0);
    fields.stream_state = length("streamstateindication", 0);
    fields.auxiliary_size = length("auxiliarydatasizelength", 0);
    fields.random_access = number(fmtp, "randomaccessindication", 0, 1) != 0;
    fields.constant_size_bytes = number(fmtp, "constantsize", 0, UINT16_MAX);

    const std::optional<std::string_view> text = fmtp_parameter(fmtp, "config");
    const std::optional<Bytes> hex = text ? parse_hex(*text) : std::nullopt;
    track.config =
        hex && !hex->empty() ? *hex : media::aac::build_lc_config(track.clock_hz, track.channels);
    const auto config = media::aac::parse_config(track.config);
    if (!config) {
        track.unsupported = "the config of AAC is missing or cannot be read";
        return;
    }
    if (!is_aac(config->object_type)) {
        track.unsupported = fmt::format("MPEG-4 audio of object type {} is not supported: only AAC",
                                        config->object_type);
        return;
    }
    track.parameters.unit_ticks =
        number(fmtp, "constantduration", config->frame_ticks(track.clock_hz), kMaxClockHz);
    track.channels = config->channels != 0 ? config->channels : track.channels;
}

// RFC 6416 §7.3: cpresent is 1 when it is not said.
void read_latm(std::string_view fmtp, RtspTrack& track) {
    track.parameters.latm_in_band = number(fmtp, "cpresent", 1, 1) != 0;
    const std::optional<std::string_view> text = fmtp_parameter(fmtp, "config");
    const std::optional<Bytes> hex = text ? parse_hex(*text) : std::nullopt;
    const auto config = hex ? rtp::LatmConfig::parse(*hex, track.clock_hz) : std::nullopt;
    if (config) {
        track.parameters.latm_config = *hex;
        track.config = config->audio_config;
        const auto aac = media::aac::parse_config(track.config);
        track.channels = aac && aac->channels != 0 ? aac->channels : track.channels;
    } else if (!track.parameters.latm_in_band) {
        track.unsupported = "the config of MP4A-LATM is missing or cannot be read";
    }
}

void read_codec(std::string_view fmtp, RtspTrack& track) {
    switch (track.codec) {
        case Codec::kH264: read_sets(fmtp, "sprop-parameter-sets", track); break;
        case Codec::kHevc:
            for (const std::string_view name : {"sprop-vps", "sprop-sps", "sprop-pps"}) {
                read_sets(fmtp, name, track);
            }
            track.parameters.decoding_order_numbers =
                number(fmtp, "sprop-max-don-diff", 0, UINT16_MAX) != 0;
            break;
        case Codec::kAac:
            if (track.parameters.audio == AudioFraming::kLatm) {
                read_latm(fmtp, track);
            } else {
                read_aac(fmtp, track);
            }
            break;
        case Codec::kOpus: track.channels = number(fmtp, "sprop-stereo", 1, 1) != 0 ? 2 : 1; break;
        default: break;
    }
}

// Why RTP times of this clock are of no use; empty: they are.
std::string why_not_clock(const RtspTrack& track) {
    uint32_t expected = track.clock_hz;
    switch (track.codec) {
        case Codec::kOpus: expected = media::opus::kClockHz; break;
        case Codec::kG711A:
        case Codec::kG711U: expected = kG711ClockHz; break;
        default: expected = is_audio(track.codec) ? expected : kVideoClockHz; break;
    }
    if (track.clock_hz == expected && track.clock_hz <= kMaxClockHz) {
        return {};
    }
    return fmt::format("{} with a clock of {} Hz is not supported", track.encoding, track.clock_hz);
}

}  // namespace

void read_rtsp_format(const RtpMap& map, std::string_view fmtp, RtspTrack& track) {
    track.payload_type = map.payload_type;
    track.encoding = map.name;
    track.clock_hz = map.clock_hz;
    track.channels = track.kind == TrackKind::kAudio ? map.channels : uint8_t{0};
    track.parameters.clock_hz = map.clock_hz;
    if (equals_ignore_case(map.name, "MP2T")) {
        track.kind = TrackKind::kVideo;
        track.transport_stream = true;
        return;
    }
    track.codec = codec_of(map.name);
    if (is_telephony_only(track.codec)) {
        track.codec = Codec::kUnknown;
    }
    for (const Name& name : kNames) {
        if (equals_ignore_case(map.name, name.text)) {
            track.codec = name.codec;
            track.parameters.audio = name.framing;
        }
    }
    const TrackKind kind = is_audio(track.codec) ? TrackKind::kAudio : TrackKind::kVideo;
    if (track.codec == Codec::kUnknown || kind != track.kind) {
        track.codec = Codec::kUnknown;
        track.unsupported = fmt::format("the payload format {} is not supported", map.name);
        return;
    }
    track.unsupported = why_not_clock(track);
    if (track.is_supported()) {
        read_codec(fmtp, track);
    }
}

std::optional<RtpMap> rtsp_static_type(uint8_t payload_type) {
    switch (payload_type) {
        case kMpaType: return RtpMap{kMpaType, "MPA", kVideoClockHz, 1};
        case kMp2tType: return RtpMap{kMp2tType, "MP2T", kVideoClockHz, 1};
        default: return static_payload_type(payload_type);
    }
}

}  // namespace weir::sdp
