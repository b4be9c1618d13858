#include "proto/flv/tag.h"

#include <algorithm>
#include <string_view>

#include "proto/flv/enhanced.h"
#include "proto/flv/four_cc.h"

namespace weir::flv {
namespace {

using media::Codec;
using media::PacketInfo;
using media::TrackKind;

// SoundFormat.
constexpr uint8_t kSoundExHeader = 9;
constexpr uint8_t kSoundAac = 10;

Codec codec_of_fourcc(TrackKind kind, uint32_t code) {
    for (const FourCcEntry& entry : kFourCcs) {
        if (entry.code == code && entry.kind == kind) {
            return entry.codec;
        }
    }
    return kind == TrackKind::kVideo ? Codec::kOtherVideo : Codec::kOtherAudio;
}

int32_t s24(ByteReader& reader) {
    return static_cast<int32_t>(reader.u24() << 8) >> 8;
}

// What follows the packet type: multitrack type, four-character code, track id and size. Gives the
// packet type of the tracks.
uint8_t read_tracks(ByteReader& reader, uint8_t packet_type, bool multitrack, PacketInfo& info) {
    if (!multitrack) {
        info.codec = codec_of_fourcc(info.kind, reader.u32());
        return packet_type;
    }
    info.multitrack = true;
    const uint8_t both = reader.u8();
    const uint8_t layout = both >> 4;
    info.codec =
        codec_of_fourcc(info.kind, reader.u32());  // of all tracks, or (many codecs) of the first
    info.track_id = reader.u8();
    if (layout != kOneTrack) {
        reader.skip(3);  // size of the first track
    }
    if (layout > kManyTracksManyCodecs) {
        reader.fail();
    }
    return both & 0x0F;
}

std::optional<PacketInfo> finish(ByteReader& reader, PacketInfo& info) {
    if (!reader.ok() || reader.position() > UINT16_MAX) {
        return std::nullopt;
    }
    info.payload_offset = static_cast<uint16_t>(reader.position());
    return info;
}

std::optional<PacketInfo> parse_enhanced_video(ByteReader& reader,
                                               uint8_t frame_type,
                                               uint8_t packet_type) {
    PacketInfo info;
    info.kind = TrackKind::kVideo;
    packet_type = skip_mod_ex(reader, packet_type);
    if (frame_type == kCommandFrame && packet_type != kMetadata) {
        // One byte: start or end of seeking. No four-character code follows.
        info.codec = Codec::kUnknown;
        reader.u8();
        return finish(reader, info);
    }
    packet_type = read_tracks(reader, packet_type, packet_type == kVideoMultitrack, info);
    info.config = packet_type == kSequenceStart || packet_type == kMpeg2TsSequenceStart;
    info.end = packet_type == kSequenceEnd;
    info.metadata = packet_type == kMetadata;
    const bool frames = !info.config && !info.end && !info.metadata;
    info.key = frames && (frame_type == kKeyFrame || frame_type == kGeneratedKeyFrame);
    if (packet_type == kCodedFrames && (info.codec == Codec::kH264 || info.codec == Codec::kHevc)) {
        info.composition_ms = s24(reader);
    }
    return finish(reader, info);
}

Codec legacy_video_codec(uint8_t id) {
    switch (id) {
        case 7: return Codec::kH264;
        // Deviation: not in the FLV specification, but what encoders before Enhanced RTMP agreed
        // on.
        case 12: return Codec::kHevc;
        default: return Codec::kOtherVideo;
    }
}

std::optional<PacketInfo> parse_video(ByteSpan body) {
    ByteReader reader(body);
    const uint8_t first = reader.u8();
    const uint8_t frame_type = first >> 4 & 0x07;
    if (first & 0x80) {
        return parse_enhanced_video(reader, frame_type, first & 0x0F);
    }
    PacketInfo info;
    info.kind = TrackKind::kVideo;
    info.codec = legacy_video_codec(first & 0x0F);
    const bool key = frame_type == kKeyFrame || frame_type == kGeneratedKeyFrame;
    if (frame_type == kCommandFrame) {
        info.codec = Codec::kUnknown;
        reader.u8();
        return finish(reader, info);
    }
    if (info.codec == Codec::kOtherVideo) {
        info.key = key;
        return finish(reader, info);
    }
    const uint8_t packet_type = reader.u8();
    info.config = packet_type == 0;
    info.end = packet_type == 2;
    info.key = key && packet_type == 1;
    if (info.end && reader.remaining() < 3) {
        // Some encoders leave the composition time of an end of sequence out.
        reader.rest();
    } else {
        info.composition_ms = s24(reader);
    }
    if (info.config) {
        info.composition_ms = 0;
    }
    return finish(reader, info);
}

std::optional<PacketInfo> parse_enhanced_audio(ByteReader& reader, uint8_t packet_type) {
    PacketInfo info;
    info.kind = TrackKind::kAudio;
    packet_type = skip_mod_ex(reader, packet_type);
    packet_type = read_tracks(reader, packet_type, packet_type == kAudioMultitrack, info);
    info.config = packet_type == kSequenceStart;
    info.end = packet_type == kSequenceEnd;
    info.metadata = packet_type == kMetadata;
    return finish(reader, info);
}

Codec legacy_audio_codec(uint8_t format) {
    switch (format) {
        case 0:
        case 3: return Codec::kPcm;
        case 2:
        case 14: return Codec::kMp3;
        case 7: return Codec::kG711A;
        case 8: return Codec::kG711U;
        case kSoundAac: return Codec::kAac;
        case 11: return Codec::kSpeex;
        default: return Codec::kOtherAudio;
    }
}

std::optional<PacketInfo> parse_audio(ByteSpan body) {
    ByteReader reader(body);
    const uint8_t first = reader.u8();
    const uint8_t format = first >> 4;
    if (format == kSoundExHeader) {
        return parse_enhanced_audio(reader, first & 0x0F);
    }
    PacketInfo info;
    info.kind = TrackKind::kAudio;
    info.codec = legacy_audio_codec(format);
    if (format == kSoundAac) {
        info.config = reader.u8() == 0;
    }
    return finish(reader, info);
}

PacketInfo parse_data(ByteSpan body) {
    static constexpr std::string_view kOnMetaData("\x02\x00\x0AonMetaData", 13);
    PacketInfo info;
    info.kind = TrackKind::kData;
    info.metadata = as_text(body).starts_with(kOnMetaData);
    return info;
}

}  // namespace

uint8_t tag_type(TrackKind kind) {
    switch (kind) {
        case TrackKind::kAudio: return kAudioTag;
        case TrackKind::kVideo: return kVideoTag;
        case TrackKind::kData: break;
    }
    return kScriptTag;
}

std::optional<TrackKind> track_kind(uint8_t type) {
    switch (type) {
        case kAudioTag: return TrackKind::kAudio;
        case kVideoTag: return TrackKind::kVideo;
        case kScriptTag: return TrackKind::kData;
        default: return std::nullopt;
    }
}

size_t write_file_header(bool has_audio, bool has_video, uint8_t* out) {
    static constexpr uint8_t kTemplate[kFileHeaderSize] = {'F', 'L', 'V', 1, 0, 0, 0,
                                                           0,   9,   0,   0, 0, 0};
    std::copy(std::begin(kTemplate), std::end(kTemplate), out);
    out[4] = static_cast<uint8_t>((has_audio ? 4 : 0) | (has_video ? 1 : 0));
    return kFileHeaderSize;
}

size_t write_tag_header(
    uint8_t type, uint32_t timestamp, uint32_t body_size, uint8_t* out, uint32_t stream_id) {
    out[0] = type;
    store_u24(out + 1, body_size);
    store_u24(out + 4, timestamp & 0xFFFFFF);
    out[7] = static_cast<uint8_t>(timestamp >> 24);
    store_u24(out + 8, stream_id);
    return kTagHeaderSize;
}

size_t write_tag_trailer(uint32_t body_size, uint8_t* out) {
    store_u32(out, body_size + static_cast<uint32_t>(kTagHeaderSize));
    return kTagTrailerSize;
}

std::optional<PacketInfo> parse_tag_body(TrackKind kind, ByteSpan body) {
    if (body.empty()) {
        return std::nullopt;
    }
    switch (kind) {
        case TrackKind::kAudio: return parse_audio(body);
        case TrackKind::kVideo: return parse_video(body);
        case TrackKind::kData: break;
    }
    return parse_data(body);
}

}  // namespace weir::flv
