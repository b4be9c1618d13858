#include "proto/mp4/track.h"

#include <algorithm>
#include <array>
#include <utility>

#include "media/aac.h"
#include "media/ac3.h"
#include "media/av1.h"
#include "media/avc.h"
#include "media/bit_reader.h"
#include "media/hevc.h"
#include "media/mp3.h"
#include "media/opus.h"
#include "media/vp8.h"
#include "media/vp9.h"
#include "media/vpx_config.h"
#include "proto/mp4/box.h"

namespace weir::mp4 {
namespace {

using media::Codec;

constexpr uint32_t kResolution = 0x00480000;  // 72 dpi: what every file says
constexpr uint8_t kMpeg4Audio = 0x40;         // objectTypeIndication, ISO/IEC 14496-1 table 5
constexpr uint8_t kMpeg1Audio = 0x6B;
constexpr uint8_t kMpeg2Audio = 0x69;
constexpr uint8_t kAudioStream = 0x15;  // streamType 5, and a reserved bit
constexpr size_t kOpusHeadFixed = 19;
constexpr size_t kMaxFramesOfPacket = 64;

// ---- video ----

// VisualSampleEntry, §12.1.3; what is behind it comes from `config_box`.
template <typename ConfigBox>
void put_video_entry(std::string_view type, Track& track, ConfigBox&& config_box) {
    const Box entry(track.entry, type);
    put_zeros(track.entry, 6);
    ByteWriter out(track.entry);
    out.u16(1);  // data_reference_index
    put_zeros(track.entry, 16);
    out.u16(static_cast<uint16_t>(track.width)).u16(static_cast<uint16_t>(track.height));
    out.u32(kResolution).u32(kResolution).u32(0).u16(1);
    put_zeros(track.entry, 32);  // compressorname
    out.u16(0x18).u16(0xFFFF);
    config_box();
}

void put_record(Track& track, std::string_view type, std::string_view box, ByteSpan record) {
    put_video_entry(type, track, [&] {
        const Box inner(track.entry, box);
        ByteWriter(track.entry).bytes(record);
    });
}

bool make_avc(ByteSpan config, Track& track) {
    const auto view = media::avc::ConfigView::parse(config);
    const auto sps = view ? media::avc::parse_sps(view->sps()) : std::nullopt;
    if (!sps) {
        return false;
    }
    track.width = sps->width;
    track.height = sps->height;
    put_record(track, "avc1", "avcC", config);
    return true;
}

bool make_hevc(ByteSpan config, Track& track) {
    const auto view = media::hevc::ConfigView::parse(config);
    const auto sps = view ? media::hevc::parse_sps(view->sps()) : std::nullopt;
    if (!sps) {
        return false;
    }
    track.width = sps->width;
    track.height = sps->height;
    put_record(track, "hvc1", "hvcC", config);
    return true;
}

bool make_av1(ByteSpan config, Track& track) {
    const auto obus = media::av1::parse_config(config);
    if (!obus) {
        return false;
    }
    media::av1::ObuReader reader(*obus);
    for (media::av1::ObuView obu; reader.next(obu);) {
        if (obu.type == media::av1::ObuType::kSequenceHeader) {
            if (const auto header = media::av1::parse_sequence_header(obu.payload)) {
                track.width = header->width;
                track.height = header->height;
            }
        }
    }
    if (track.width == 0) {
        return false;
    }
    put_record(track, "av01", "av1C", config);
    return true;
}

bool make_vpx(Codec codec, ByteSpan config, ByteSpan frame, Track& track) {
    if (codec == Codec::kVp8) {
        const auto info = media::vp8::parse_frame(frame);
        if (info) {
            track.width = info->width;
            track.height = info->height;
        }
    } else {
        const media::vp9::SuperframeView view(frame);
        const auto info =
            view.frames().empty() ? std::nullopt : media::vp9::parse_frame(view.frames().front());
        if (info) {
            track.width = info->width;
            track.height = info->height;
        }
    }
    const auto parsed = media::parse_vpx_config(config);
    if (!parsed || track.width == 0) {
        return false;
    }
    const Bytes record = media::build_vpx_config(*parsed);
    put_video_entry(codec == Codec::kVp8 ? "vp08" : "vp09", track, [&] {
        const Box inner(track.entry, "vpcC", 1, 0);
        ByteWriter(track.entry).bytes(record);
    });
    return true;
}

// ---- audio ----

// AudioSampleEntry, §12.2.3.
template <typename ConfigBox>
void put_audio_entry(std::string_view type, Track& track, ConfigBox&& config_box) {
    const Box entry(track.entry, type);
    put_zeros(track.entry, 6);
    ByteWriter out(track.entry);
    out.u16(1);  // data_reference_index
    put_zeros(track.entry, 8);
    out.u16(track.channels).u16(16).u32(0);
    out.u32(track.timescale <= 0xFFFF ? track.timescale << 16 : 0);
    config_box();
}

// ISO/IEC 14496-1 §8.3.3: a length in four bytes of seven bits.
void put_descriptor(Bytes& out, uint8_t tag, size_t size) {
    out.push_back(tag);
    for (int shift = 21; shift >= 0; shift -= 7) {
        out.push_back(static_cast<uint8_t>((size >> shift & 0x7F) | (shift > 0 ? 0x80 : 0)));
    }
}

void put_esds(Track& track, uint8_t object_type, ByteSpan specific) {
    constexpr size_t kHead = 5;  // of a descriptor: tag and length
    constexpr size_t kDecoderFields = 13;
    put_audio_entry("mp4a", track, [&] {
        const Box esds(track.entry, "esds", 0, 0);
        const size_t inner = specific.empty() ? 0 : kHead + specific.size();
        put_descriptor(track.entry, 3, 3 + kHead + kDecoderFields + inner + kHead + 1);
        ByteWriter out(track.entry);
        out.u16(0).u8(0);
        put_descriptor(track.entry, 4, kDecoderFields + inner);
        out.u8(object_type).u8(kAudioStream).u24(0).u32(0).u32(0);
        if (!specific.empty()) {
            put_descriptor(track.entry, 5, specific.size());
            out.bytes(specific);
        }
        put_descriptor(track.entry, 6, 1);
        out.u8(2);
    });
}

bool make_aac(ByteSpan config, Track& track) {
    const auto parsed = media::aac::parse_config(config);
    if (!parsed || parsed->sample_rate == 0) {
        return false;
    }
    track.timescale = parsed->sample_rate;
    track.channels = parsed->channels == 0 ? uint8_t{2} : parsed->channels;
    put_esds(track, kMpeg4Audio, config);
    return true;
}

bool make_mp3(ByteSpan frame, Track& track) {
    const auto header = media::mp3::parse_header(frame);
    if (!header) {
        return false;
    }
    track.timescale = header->sample_rate;
    track.channels = header->channels;
    put_esds(track, header->mpeg1 ? kMpeg1Audio : kMpeg2Audio, {});
    return true;
}

// "Encapsulation of Opus in ISO Base Media File Format" §4.3.2: the fields of an OpusHead, in
// network order and with version 0.
bool make_opus(ByteSpan config, Track& track) {
    const Bytes usual = media::opus::build_head(2);
    const ByteSpan head = config.empty() ? ByteSpan(usual) : config;
    const auto channels = media::opus::head_channels(head);
    if (!channels || head.size() < kOpusHeadFixed) {
        return false;
    }
    track.timescale = media::opus::kClockHz;
    track.channels = *channels;
    put_audio_entry("Opus", track, [&] {
        const Box inner(track.entry, "dOps");
        ByteWriter out(track.entry);
        out.u8(0).u8(*channels);
        out.u8(head[11]).u8(head[10]);
        out.u8(head[15]).u8(head[14]).u8(head[13]).u8(head[12]);
        out.u8(head[17]).u8(head[16]);
        out.u8(head[18]).bytes(head.subspan(kOpusHeadFixed));
    });
    return true;
}

constexpr std::array<uint8_t, 8> kAc3Channels = {2, 1, 2, 3, 3, 4, 4, 5};  // by acmod

// ETSI TS 102 366 §F.4: AC3SpecificBox, of the frame's bsi (§4.4.2).
bool make_ac3(ByteSpan frame, Track& track) {
    const auto header = media::ac3::parse_header(frame);
    if (!header || header->enhanced || header->sample_rate == 0) {
        return false;
    }
    media::BitReader bits(frame);
    bits.skip(32);
    const uint32_t rate_code = bits.bits(2);
    const uint32_t size_code = bits.bits(6);
    const uint32_t bsid = bits.bits(5);
    const uint32_t bsmod = bits.bits(3);
    const uint32_t acmod = bits.bits(3);
    if ((acmod & 1) != 0 && acmod != 1) {
        bits.skip(2);
    }
    if ((acmod & 4) != 0) {
        bits.skip(2);
    }
    if (acmod == 2) {
        bits.skip(2);
    }
    const uint32_t lfe = bits.bits(1);
    if (!bits.ok()) {
        return false;
    }
    track.timescale = header->sample_rate;
    track.channels = static_cast<uint8_t>(kAc3Channels[acmod] + lfe);
    put_audio_entry("ac-3", track, [&] {
        const Box inner(track.entry, "dac3");
        ByteWriter(track.entry)
            .u24(rate_code << 22 | bsid << 17 | bsmod << 14 | acmod << 11 | lfe << 10 |
                 (size_code >> 1) << 5);
    });
    return true;
}

// §F.6: EC3SpecificBox, one independent substream.
bool make_eac3(ByteSpan frame, Track& track) {
    const auto header = media::ac3::parse_header(frame);
    if (!header || !header->enhanced || header->sample_rate == 0 || header->samples == 0) {
        return false;
    }
    media::BitReader bits(frame);
    bits.skip(16 + 2 + 3 + 11);
    const uint32_t rate_code = bits.bits(2);
    bits.skip(2);  // number of blocks, or the code of a half rate
    const uint32_t acmod = bits.bits(3);
    const uint32_t lfe = bits.bits(1);
    const uint32_t bsid = bits.bits(5);
    if (!bits.ok()) {
        return false;
    }
    track.timescale = header->sample_rate;
    track.channels = static_cast<uint8_t>(kAc3Channels[acmod] + lfe);
    const uint64_t rate_kbps = header->size * 8 * header->sample_rate / header->samples / 1000;
    put_audio_entry("ec-3", track, [&] {
        const Box inner(track.entry, "dec3");
        ByteWriter(track.entry)
            .u16(static_cast<uint16_t>(std::min<uint64_t>(rate_kbps, 0x1FFF) << 3))
            .u24(rate_code << 22 | bsid << 17 | acmod << 9 | lfe << 8);
    });
    return true;
}

// Frames that follow each other in one packet, with what parse(frame) says of each.
template <typename Parse>
uint32_t samples_of_all(ByteSpan packet, Parse&& parse) {
    uint32_t samples = 0;
    for (size_t i = 0; i < kMaxFramesOfPacket && !packet.empty(); i++) {
        const auto header = parse(packet);
        if (!header || header->size == 0) {
            break;
        }
        samples += header->samples;
        packet = packet.subspan(std::min(header->size, packet.size()));
    }
    return samples;
}

uint32_t ac3_samples(ByteSpan packet) {
    return samples_of_all(packet, [](ByteSpan frame) {
        auto header = media::ac3::parse_header(frame);
        if (header && header->dependent) {
            header->samples = 0;
        }
        return header;
    });
}

}  // namespace

bool carries(Codec codec) {
    switch (codec) {
        case Codec::kH264:
        case Codec::kHevc:
        case Codec::kAv1:
        case Codec::kVp8:
        case Codec::kVp9:
        case Codec::kAac:
        case Codec::kMp3:
        case Codec::kOpus:
        case Codec::kAc3:
        case Codec::kEac3: return true;
        default: return false;
    }
}

bool needs_config(Codec codec) {
    switch (codec) {
        case Codec::kMp3:
        case Codec::kOpus:
        case Codec::kAc3:
        case Codec::kEac3: return false;
        default: return true;
    }
}

std::optional<Track> make_track(Codec codec, ByteSpan config, ByteSpan frame) {
    Track track;
    track.codec = codec;
    track.video = codec < Codec::kOtherVideo && codec != Codec::kUnknown;
    bool made = false;
    switch (codec) {
        case Codec::kH264: made = make_avc(config, track); break;
        case Codec::kHevc: made = make_hevc(config, track); break;
        case Codec::kAv1: made = make_av1(config, track); break;
        case Codec::kVp8:
        case Codec::kVp9: made = make_vpx(codec, config, frame, track); break;
        case Codec::kAac: made = make_aac(config, track); break;
        case Codec::kMp3: made = make_mp3(frame, track); break;
        case Codec::kOpus: made = make_opus(config, track); break;
        case Codec::kAc3: made = make_ac3(frame, track); break;
        case Codec::kEac3: made = make_eac3(frame, track); break;
        default: break;
    }
    return made ? std::optional(std::move(track)) : std::nullopt;
}

ByteSpan sample_of(Codec codec, ByteSpan frame) {
    if (codec != Codec::kAv1) {
        return frame;
    }
    // "AV1 Codec ISO Media File Format Binding" §2.4: without temporal delimiters.
    media::av1::ObuReader reader(frame);
    media::av1::ObuView obu;
    if (reader.next(obu) && obu.type == media::av1::ObuType::kTemporalDelimiter) {
        return frame.subspan(obu.whole.size());
    }
    return frame;
}

uint32_t audio_duration(const Track& track, ByteSpan config, ByteSpan frame) {
    switch (track.codec) {
        case Codec::kAac: {
            const auto parsed = media::aac::parse_config(config);
            return parsed ? parsed->frame_ticks(track.timescale) : 0;
        }
        case Codec::kMp3:
            return samples_of_all(frame, [](ByteSpan at) { return media::mp3::parse_header(at); });
        case Codec::kOpus: return media::opus::packet_samples(frame).value_or(0);
        case Codec::kAc3:
        case Codec::kEac3: return ac3_samples(frame);
        default: return 0;
    }
}

}  // namespace weir::mp4
