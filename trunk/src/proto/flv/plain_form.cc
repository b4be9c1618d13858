#include "proto/flv/plain_form.h"

#include <utility>

#include "proto/flv/enhanced.h"
#include "proto/flv/packet_maker.h"
#include "proto/flv/tag.h"

namespace weir::flv {
namespace {

using media::Codec;
using media::MediaPacket;
using media::PacketInfo;
using media::PacketRef;
using media::TrackKind;

// One track of an Enhanced RTMP message.
struct TrackView {
    uint8_t first = 0;     // the first byte of the body, without its packet type
    uint8_t type = 0;      // kSequenceStart, kCodedFrames ...
    uint32_t code = 0;     // the codec's four characters
    bool wrapped = false;  // there is a multitrack header or ModEx in front of it
    ByteSpan bytes;        // behind the four characters
};

bool is_enhanced(TrackKind kind, ByteSpan body) {
    if (kind == TrackKind::kData || body.empty()) {
        return false;
    }
    return kind == TrackKind::kVideo ? (body[0] & kVideoExHeader) != 0
                                     : (body[0] & 0xF0) == kAudioExHeader;
}

std::optional<TrackView> find_in_multitrack(ByteReader& reader, uint8_t track_id, TrackView view) {
    const uint8_t both = reader.u8();
    const uint8_t layout = both >> 4;
    view.type = both & 0x0F;
    view.wrapped = true;
    if (layout > kManyTracksManyCodecs) {
        return std::nullopt;
    }
    if (layout != kManyTracksManyCodecs) {
        view.code = reader.u32();
    }
    while (reader.ok() && reader.remaining() > 0) {
        if (layout == kManyTracksManyCodecs) {
            view.code = reader.u32();
        }
        const uint8_t id = reader.u8();
        const size_t size = layout == kOneTrack ? reader.remaining() : reader.u24();
        view.bytes = reader.take(size);
        if (reader.ok() && id == track_id) {
            return view;
        }
    }
    return std::nullopt;
}

std::optional<TrackView> find_track(TrackKind kind, ByteSpan body, uint8_t track_id) {
    ByteReader reader(body);
    TrackView view;
    const uint8_t first = reader.u8();
    view.first = first & 0xF0;
    view.type = skip_mod_ex(reader, first & 0x0F);
    view.wrapped = (first & 0x0F) == kModEx;
    if (kind == TrackKind::kVideo && (first >> 4 & 0x07) == kCommandFrame) {
        return std::nullopt;
    }
    if (view.type == (kind == TrackKind::kVideo ? kVideoMultitrack : kAudioMultitrack)) {
        return find_in_multitrack(reader, track_id, view);
    }
    view.code = reader.u32();
    view.bytes = reader.rest();
    return reader.ok() && track_id == 0 ? std::optional(view) : std::nullopt;
}

// The parts that Enhanced RTMP v1 has as well, except color information and AV1 in transport
// streams, which end the playing in mpegts.js.
bool is_for_plain(TrackKind kind, uint8_t type) {
    return type == kSequenceStart || type == kCodedFrames || type == kSequenceEnd ||
           (type == kCodedFramesX && kind == TrackKind::kVideo);
}

bool has_old_header(Codec codec) {
    return codec == Codec::kH264 || codec == Codec::kAac || codec == Codec::kMp3;
}

// As Enhanced RTMP has it without tracks.
Bytes enhanced_body(const TrackView& view) {
    Bytes body;
    body.reserve(5 + view.bytes.size());
    ByteWriter(body)
        .u8(static_cast<uint8_t>(view.first | view.type))
        .u32(view.code)
        .bytes(view.bytes);
    return body;
}

}  // namespace

PacketRef plain_form(const PacketRef& packet, uint8_t track_id) {
    const PacketInfo& info = packet->info();
    if (!is_enhanced(info.kind, packet->body())) {
        return info.kind == TrackKind::kData || info.track_id == track_id ? packet : PacketRef();
    }
    const auto view = find_track(info.kind, packet->body(), track_id);
    if (!view || !is_for_plain(info.kind, view->type)) {
        return {};
    }
    if (!view->wrapped && !has_old_header(info.codec)) {
        return packet;
    }
    Bytes body = enhanced_body(*view);
    std::optional<PacketInfo> plain = parse_tag_body(info.kind, body);
    if (!plain) {
        return {};
    }
    plain->audience = info.audience;
    plain->layer = info.layer;
    if (has_old_header(plain->codec)) {
        // Null for an end of AAC or MP3, and for a configuration of MP3: the old header has none.
        const bool said = info.kind == TrackKind::kVideo ||
                          (!plain->end && (!plain->config || plain->codec == Codec::kAac));
        return said ? make_packet(*plain, packet->time_ms(),
                                  ByteSpan(body).subspan(plain->payload_offset))
                    : PacketRef();
    }
    return make_ref<MediaPacket>(*plain, packet->time_ms(), std::move(body));
}

PacketRef PlainTracks::plain_of(const PacketRef& packet, bool start) {
    const PacketInfo& info = packet->info();
    if (info.kind == TrackKind::kData) {
        return packet;
    }
    std::optional<uint8_t>& track = tracks_[static_cast<size_t>(info.kind)];
    if (!track || (start && info.kind == TrackKind::kVideo)) {
        track = info.track_id;
    }
    return plain_form(packet, *track);
}

PlainTracks::Packets PlainTracks::plain_of(const Packets& packets) {
    Packets taken;
    taken.reserve(packets.size());
    for (const PacketRef& packet : packets) {
        if (PacketRef plain = plain_of(packet, false)) {
            taken.push_back(std::move(plain));
        }
    }
    return taken;
}

}  // namespace weir::flv
