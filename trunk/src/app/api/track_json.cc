#include "app/api/track_json.h"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "media/aac.h"
#include "media/av1.h"
#include "media/avc.h"
#include "media/hevc.h"
#include "media/opus.h"
#include "media/vp8.h"
#include "media/vp9.h"
#include "media/vpx_config.h"
#include "net/api/answer.h"

namespace weir::app {
namespace {

using media::Codec;
using media::MediaPacket;
using media::TrackKind;

// What is not known is empty or 0, and not shown.
struct Picture {
    std::string profile;
    std::string level;
    uint32_t width = 0;
    uint32_t height = 0;
    uint32_t bit_depth = 0;
};

// H.264 annex A.2.
std::string avc_profile(uint8_t idc) {
    switch (idc) {
        case 44: return "CAVLC 4:4:4 Intra";
        case 66: return "Baseline";
        case 77: return "Main";
        case 88: return "Extended";
        case 100: return "High";
        case 110: return "High 10";
        case 122: return "High 4:2:2";
        case 244: return "High 4:4:4 Predictive";
        default: return fmt::format("profile {}", idc);
    }
}

// H.265 annex A.3.
std::string hevc_profile(uint8_t idc) {
    switch (idc) {
        case 1: return "Main";
        case 2: return "Main 10";
        case 3: return "Main Still Picture";
        case 4: return "Range Extensions";
        default: return fmt::format("profile {}", idc);
    }
}

// AV1 §6.4.1.
std::string av1_profile(uint8_t profile) {
    switch (profile) {
        case 0: return "Main";
        case 1: return "High";
        case 2: return "Professional";
        default: return fmt::format("profile {}", profile);
    }
}

std::string tenths(uint32_t level) {
    return fmt::format("{}.{}", level / 10, level % 10);
}

Picture avc_picture(ByteSpan config) {
    Picture picture;
    const auto view = media::avc::ConfigView::parse(config);
    if (!view) {
        return picture;
    }
    picture.profile = avc_profile(view->profile());
    picture.level = tenths(view->level());
    if (const auto sps = media::avc::parse_sps(view->sps())) {
        picture.profile = avc_profile(sps->profile_idc);
        picture.level = tenths(sps->level_idc);
        picture.width = sps->width;
        picture.height = sps->height;
        picture.bit_depth = sps->bit_depth_luma;
    }
    return picture;
}

Picture hevc_picture(ByteSpan config) {
    Picture picture;
    const auto view = media::hevc::ConfigView::parse(config);
    if (!view) {
        return picture;
    }
    if (const auto sps = media::hevc::parse_sps(view->sps())) {
        picture.profile = hevc_profile(sps->profile_idc());
        picture.level = tenths(sps->level_idc() / 3U);  // 30 times the level
        picture.width = sps->width;
        picture.height = sps->height;
        picture.bit_depth = sps->bit_depth_luma;
    }
    return picture;
}

Picture av1_picture(ByteSpan obus) {
    Picture picture;
    media::av1::ObuView obu;
    for (media::av1::ObuReader reader(obus); reader.next(obu);) {
        if (obu.type != media::av1::ObuType::kSequenceHeader) {
            continue;
        }
        if (const auto header = media::av1::parse_sequence_header(obu.payload)) {
            picture.profile = av1_profile(header->profile);
            if (header->level_idx < 31) {  // 31: no limits
                picture.level =
                    fmt::format("{}.{}", 2 + header->level_idx / 4, header->level_idx % 4);
            }
            picture.width = header->width;
            picture.height = header->height;
            picture.bit_depth = header->twelve_bit ? 12 : header->high_bitdepth ? 10 : 8;
        }
        break;
    }
    return picture;
}

Picture vp9_picture(const MediaPacket* config, const MediaPacket* key_frame) {
    Picture picture;
    if (config != nullptr) {
        if (const auto said = media::parse_vpx_config(config->payload())) {
            picture.profile = fmt::format("Profile {}", said->profile);
            picture.level = said->level > 0 ? tenths(said->level) : "";
            picture.bit_depth = said->bit_depth;
        }
    }
    if (key_frame != nullptr) {
        const media::vp9::SuperframeView frames(key_frame->payload());
        for (const ByteSpan frame : frames.frames()) {
            if (const auto info = media::vp9::parse_frame(frame); info && info->width > 0) {
                picture.profile = fmt::format("Profile {}", info->profile);
                picture.width = info->width;
                picture.height = info->height;
                picture.bit_depth = info->bit_depth;
            }
        }
    }
    return picture;
}

Picture picture_of(const stream::Stream& stream) {
    const MediaPacket* config = stream.config(TrackKind::kVideo);
    const MediaPacket* key_frame = stream.key_frame();
    switch (stream.video().codec) {
        case Codec::kH264: return config ? avc_picture(config->payload()) : Picture();
        case Codec::kHevc: return config ? hevc_picture(config->payload()) : Picture();
        case Codec::kAv1:
            if (config != nullptr) {
                if (const auto obus = media::av1::parse_config(config->payload())) {
                    if (Picture picture = av1_picture(*obus); picture.width > 0) {
                        return picture;
                    }
                }
            }
            return key_frame ? av1_picture(key_frame->payload()) : Picture();
        case Codec::kVp8: {
            Picture picture;
            const auto info =
                key_frame ? media::vp8::parse_frame(key_frame->payload()) : std::nullopt;
            if (info) {
                picture.width = info->width;
                picture.height = info->height;
                picture.bit_depth = 8;
            }
            return picture;
        }
        case Codec::kVp9: return vp9_picture(config, key_frame);
        default: return {};
    }
}

net::Json track_json(const stream::TrackStats& track) {
    return {
        {"codec", media::to_string(track.codec)}, {"frames", track.frames}, {"bytes", track.bytes}};
}

std::string aac_profile(uint8_t object_type) {
    switch (object_type) {
        case 1: return "Main";
        case 2: return "LC";
        case 3: return "SSR";
        case 4: return "LTP";
        case 5: return "HE";
        case 29: return "HEv2";
        default: return fmt::format("object type {}", object_type);
    }
}

double rounded(double value) {
    return std::round(value * 100) / 100;
}

}  // namespace

// The size is that of the codec's own data where it has one: what the publisher's metadata says is
// unchecked.
net::Json video_json(const stream::Stream& stream, const RateClock& clock, MonoTime now) {
    if (stream.video().frames == 0) {
        return nullptr;
    }
    net::Json track = track_json(stream.video());
    Picture picture = picture_of(stream);
    const media::Description& said = stream.description();
    if (picture.width == 0) {
        picture.width = said.width;
        picture.height = said.height;
    }
    track["profile"] = picture.profile;
    track["level"] = picture.level;
    track["width"] = picture.width;
    track["height"] = picture.height;
    track["bit_depth"] = picture.bit_depth;
    track["framerate"] = said.frame_rate;
    track["fps"] = rounded(stream.frame_rate(clock, now, Millis(10'000)));
    return track;
}

net::Json audio_json(const stream::Stream& stream) {
    if (stream.audio().frames == 0) {
        return nullptr;
    }
    net::Json track = track_json(stream.audio());
    uint32_t sample_rate = 0;
    uint32_t channels = 0;
    std::string profile;
    const MediaPacket* config = stream.config(TrackKind::kAudio);
    const Codec codec = stream.audio().codec;
    if (codec == Codec::kAac && config != nullptr) {
        if (const auto said = media::aac::parse_config(config->payload())) {
            sample_rate = said->sample_rate;
            channels = said->channels;
            profile = aac_profile(said->object_type);
        }
    } else if (codec == Codec::kOpus) {
        sample_rate = media::opus::kClockHz;
        channels = config ? media::opus::head_channels(config->payload()).value_or(0) : 0;
    } else if (codec == Codec::kG711A || codec == Codec::kG711U) {
        sample_rate = 8'000;
        channels = 1;
    }
    track["sample_rate"] = sample_rate;
    track["channel"] = channels;
    track["profile"] = profile;
    return track;
}

}  // namespace weir::app
