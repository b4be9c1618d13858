#include "proto/rtp/payload_vp8.h"

#include <algorithm>
#include <array>

#include "media/vp8.h"

namespace weir::rtp {
namespace {

constexpr uint8_t kExtendedBit = 0x80;
constexpr uint8_t kNonReferenceBit = 0x20;
constexpr uint8_t kStartBit = 0x10;
constexpr uint8_t kPartitionBits = 0x07;
constexpr uint8_t kPictureIdBit = 0x80;
constexpr uint8_t kTl0Bit = 0x40;
constexpr uint8_t kTemporalBit = 0x20;
constexpr uint8_t kKeyIndexBit = 0x10;
constexpr uint8_t kLongIdBit = 0x80;
constexpr uint16_t kPictureIdBits = 0x7FFF;

}  // namespace

std::optional<Vp8Descriptor> Vp8Descriptor::parse(ByteSpan payload) {
    ByteReader reader(payload);
    Vp8Descriptor descriptor;
    const uint8_t first = reader.u8();
    descriptor.start = (first & kStartBit) != 0 && (first & kPartitionBits) == 0;
    descriptor.referenced = (first & kNonReferenceBit) == 0;
    const uint8_t extended = (first & kExtendedBit) != 0 ? reader.u8() : uint8_t{0};
    if ((extended & kPictureIdBit) != 0) {
        const uint8_t id = reader.u8();
        descriptor.picture_id =
            (id & kLongIdBit) != 0 ? static_cast<uint16_t>((id & 0x7F) << 8 | reader.u8()) : id;
    }
    if ((extended & kTl0Bit) != 0) {
        descriptor.tl0_picture_index = reader.u8();
    }
    if ((extended & (kTemporalBit | kKeyIndexBit)) != 0) {
        const uint8_t layers = reader.u8();
        descriptor.temporal_id = (extended & kTemporalBit) != 0 ? layers >> 6 : 0;
    }
    descriptor.size = reader.position();
    return reader.ok() ? std::optional(descriptor) : std::nullopt;
}

bool Vp8Packetizer::packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) {
    if (frame.empty()) {
        return false;
    }
    std::array<uint8_t, 4> head = {kExtendedBit | kStartBit, kPictureIdBit,
                                   static_cast<uint8_t>(kLongIdBit | picture_id_ >> 8),
                                   static_cast<uint8_t>(picture_id_)};
    const EqualParts cut(frame.size(), max_payload - head.size());
    for (size_t i = 0; i < cut.count; i++) {
        const size_t at = i * cut.size;
        const std::array<ByteSpan, 2> parts = {
            head, frame.subspan(at, std::min(cut.size, frame.size() - at))};
        sink.on_payload(parts, i + 1 == cut.count);
        head[0] = kExtendedBit;
    }
    picture_id_ = static_cast<uint16_t>(picture_id_ + 1) & kPictureIdBits;
    return true;
}

bool Vp8Depacketizer::begins_frame(ByteSpan payload) const {
    const std::optional<Vp8Descriptor> descriptor = Vp8Descriptor::parse(payload);
    return descriptor && descriptor->start;
}

bool Vp8Depacketizer::continues_picture(ByteSpan payload) const {
    const std::optional<Vp8Descriptor> descriptor = Vp8Descriptor::parse(payload);
    return descriptor && !descriptor->start;
}

bool Vp8Depacketizer::add(ByteSpan payload) {
    const std::optional<Vp8Descriptor> descriptor = Vp8Descriptor::parse(payload);
    if (!descriptor || descriptor->start != data().empty()) {
        return false;
    }
    if (descriptor->start) {
        temporal_id_ = descriptor->temporal_id;
        referenced_ = descriptor->referenced;
    }
    return append(payload.subspan(descriptor->size));
}

FrameAssembler::Completion Vp8Depacketizer::complete(Frame& out) {
    const std::optional<media::vp8::FrameInfo> info = media::vp8::parse_frame(data());
    if (!info) {
        return Completion::kBroken;
    }
    out.key = info->key;
    out.temporal_id = temporal_id_;
    out.discardable = !referenced_;
    if (info->key &&
        (info->width != width_ || info->height != height_ || info->version != version_)) {
        width_ = info->width;
        height_ = info->height;
        version_ = info->version;
        media::VpxConfig config;
        config.profile = info->version;
        out.config = media::build_vpx_config(config);
    }
    out.width = width_;
    out.height = height_;
    return Completion::kFrame;
}

void Vp8Depacketizer::reset() {
    temporal_id_ = 0;
    referenced_ = false;
}

}  // namespace weir::rtp
