#include "proto/flv/packet_maker.h"

#include <algorithm>
#include <array>

#include "proto/flv/enhanced.h"
#include "proto/flv/four_cc.h"
#include "proto/flv/tag.h"

namespace weir::flv {
namespace {

using media::Codec;
using media::PacketInfo;
using media::TrackKind;

constexpr uint8_t kAvc = 7;  // CodecID

struct Header {
    std::array<uint8_t, kMaxBodyHeader> bytes{};
    size_t size = 0;

    void add(uint8_t byte) { bytes[size++] = byte; }

    void add_u24(uint32_t value) {
        store_u24(bytes.data() + size, value & 0xFF'FFFF);
        size += 3;
    }

    void add_u32(uint32_t value) {
        store_u32(bytes.data() + size, value);
        size += 4;
    }
};

bool has_composition(Codec codec) {
    return codec == Codec::kH264 || codec == Codec::kHevc;
}

bool is_frame(const PacketInfo& info) {
    return !info.config && !info.end && !info.metadata;
}

// An end of sequence, for one, is written as a key frame, as encoders do.
uint8_t frame_type(const PacketInfo& info) {
    return static_cast<uint8_t>((info.key || !is_frame(info) ? kKeyFrame : kInterFrame) << 4U);
}

uint8_t packet_type(const PacketInfo& info, bool with_composition) {
    if (info.config) {
        return kSequenceStart;
    }
    if (info.end) {
        return kSequenceEnd;
    }
    if (info.metadata) {
        return kMetadata;
    }
    return has_composition(info.codec) && !with_composition ? kCodedFramesX : kCodedFrames;
}

bool write_enhanced(const PacketInfo& info, bool with_composition, Header& out) {
    const auto* const entry = std::ranges::find_if(kFourCcs, [&info](const FourCcEntry& each) {
        return each.codec == info.codec && each.kind == info.kind;
    });
    if (entry == std::end(kFourCcs)) {
        return false;
    }
    const bool video = info.kind == TrackKind::kVideo;
    const uint8_t type = packet_type(info, with_composition);
    const auto first =
        video ? static_cast<uint8_t>(kVideoExHeader | frame_type(info)) : kAudioExHeader;
    if (info.multitrack) {
        out.add(static_cast<uint8_t>(first | (video ? kVideoMultitrack : kAudioMultitrack)));
        out.add(type);  // in the lower half; the upper: one track
    } else {
        out.add(static_cast<uint8_t>(first | type));
    }
    out.add_u32(entry->code);
    if (info.multitrack) {
        out.add(info.track_id);
    }
    if (video && type == kCodedFrames && has_composition(info.codec)) {
        out.add_u24(static_cast<uint32_t>(info.composition_ms));
    }
    return true;
}

// What FLV could say before Enhanced RTMP, which every player understands. False: it could not.
bool write_legacy(const PacketInfo& info, Header& out) {
    if (info.multitrack || info.metadata) {
        return false;
    }
    if (info.kind == TrackKind::kVideo) {
        if (info.codec != Codec::kH264) {
            return false;
        }
        const uint8_t type = info.config ? 0 : info.end ? 2 : 1;
        out.add(static_cast<uint8_t>(frame_type(info) | kAvc));
        out.add(type);
        out.add_u24(type == 1 ? static_cast<uint32_t>(info.composition_ms) : 0);
        return true;
    }
    if (info.codec == Codec::kAac && !info.end) {
        out.add(0xAF);  // 44 kHz, 16 bits, stereo: FLV wants this of AAC whatever it is
        out.add(info.config ? 0 : 1);
        return true;
    }
    if (!is_frame(info)) {
        return false;
    }
    switch (info.codec) {
        case Codec::kMp3: out.add(0x2F); return true;
        case Codec::kG711A: out.add(0x72); return true;
        case Codec::kG711U: out.add(0x82); return true;
        case Codec::kSpeex: out.add(0xB6); return true;
        default: return false;
    }
}

bool write_header(const PacketInfo& info, bool with_composition, Header& out) {
    const bool timed =
        info.kind == TrackKind::kVideo && has_composition(info.codec) && is_frame(info);
    if (info.composition_ms < kMinCompositionMs || info.composition_ms > kMaxCompositionMs ||
        (info.composition_ms != 0 && !timed)) {
        return false;
    }
    if (info.kind == TrackKind::kData) {
        return true;  // the body is the payload
    }
    return write_legacy(info, out) ||
           write_enhanced(info, with_composition || info.composition_ms != 0, out);
}

}  // namespace

std::optional<size_t> body_header_size(const PacketInfo& info, bool any_composition) {
    Header header;
    if (!write_header(info, any_composition, header)) {
        return std::nullopt;
    }
    return header.size;
}

Ref<media::MediaPacket> make_packet(const PacketInfo& info, int64_t time_ms, ByteSpan payload) {
    Header header;
    if (!write_header(info, false, header) || header.size + payload.size() > kMaxTagBodySize) {
        return {};
    }
    Bytes body;
    body.reserve(header.size + payload.size());
    body.insert(body.end(), header.bytes.data(), header.bytes.data() + header.size);
    body.insert(body.end(), payload.begin(), payload.end());
    PacketInfo made = info;
    made.payload_offset = static_cast<uint16_t>(header.size);
    made.whole_picture = true;
    return make_ref<media::MediaPacket>(made, time_ms, std::move(body));
}

Ref<media::MediaPacket> make_packet(const PacketInfo& info,
                                    int64_t time_ms,
                                    Bytes body,
                                    size_t room) {
    for (const bool with_composition : {false, true}) {
        Header header;
        if (!write_header(info, with_composition, header)) {
            return {};
        }
        if (header.size == room && body.size() >= room && body.size() <= kMaxTagBodySize) {
            std::copy_n(header.bytes.data(), header.size, body.data());
            PacketInfo made = info;
            made.payload_offset = static_cast<uint16_t>(room);
            made.whole_picture = true;
            return make_ref<media::MediaPacket>(made, time_ms, std::move(body));
        }
    }
    return make_packet(info, time_ms, ByteSpan(body).subspan(std::min(room, body.size())));
}

}  // namespace weir::flv
