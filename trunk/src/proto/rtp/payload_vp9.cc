#include "proto/rtp/payload_vp9.h"

#include <algorithm>

namespace weir::rtp {
namespace {

constexpr uint8_t kPictureIdBit = 0x80;
constexpr uint8_t kInterBit = 0x40;
constexpr uint8_t kLayerBit = 0x20;
constexpr uint8_t kFlexibleBit = 0x10;
constexpr uint8_t kStartBit = 0x08;
constexpr uint8_t kEndBit = 0x04;
constexpr uint8_t kStructureBit = 0x02;
constexpr uint8_t kLongIdBit = 0x80;
constexpr uint16_t kPictureIdBits = 0x7FFF;
constexpr uint8_t kMoreReferencesBit = 0x01;
constexpr int kMaxReferences = 3;
constexpr size_t kPlainHead = 3;  // flags and a picture id of 15 bits
constexpr size_t kStructureSize = 8;

// RFC 9628 §4.2.1, kStructureSize bytes: one spatial layer of that size; a group of one picture
// that refers to the one before it.
void write_structure(uint32_t width, uint32_t height, uint8_t* out) {
    out[0] = 0x10 | 0x08;  // N_S 0 (one layer), Y and G
    store_u16(out + 1, static_cast<uint16_t>(width));
    store_u16(out + 3, static_cast<uint16_t>(height));
    out[5] = 1;       // N_G
    out[6] = 1 << 2;  // TID 0, U 0, R 1
    out[7] = 1;       // P_DIFF
}

// RFC 9628 §4.2.1.
void skip_structure(ByteReader& reader) {
    const uint8_t first = reader.u8();
    const size_t layers = size_t{1} + (first >> 5);
    if ((first & 0x10) != 0) {
        reader.skip(4 * layers);  // width and height of each
    }
    if ((first & 0x08) != 0) {
        for (size_t pictures = reader.u8(); pictures > 0 && reader.ok(); pictures--) {
            reader.skip(reader.u8() >> 2 & 3);
        }
    }
}

}  // namespace

std::optional<Vp9Descriptor> Vp9Descriptor::parse(ByteSpan payload) {
    ByteReader reader(payload);
    Vp9Descriptor descriptor;
    const uint8_t first = reader.u8();
    descriptor.inter_predicted = (first & kInterBit) != 0;
    descriptor.start = (first & kStartBit) != 0;
    descriptor.end = (first & kEndBit) != 0;
    if ((first & kPictureIdBit) != 0) {
        const uint8_t id = reader.u8();
        descriptor.picture_id =
            (id & kLongIdBit) != 0 ? static_cast<uint16_t>((id & 0x7F) << 8 | reader.u8()) : id;
    }
    const bool flexible = (first & kFlexibleBit) != 0;
    if ((first & kLayerBit) != 0) {
        const uint8_t layers = reader.u8();
        descriptor.temporal_id = layers >> 5;
        descriptor.spatial_id = layers >> 1 & 7;
        if (!flexible) {
            descriptor.tl0_picture_index = reader.u8();
        }
    }
    if (flexible && descriptor.inter_predicted) {
        int references = 1;
        while ((reader.u8() & kMoreReferencesBit) != 0) {
            if (++references > kMaxReferences) {
                return std::nullopt;
            }
        }
    }
    if ((first & kStructureBit) != 0) {
        skip_structure(reader);
    }
    descriptor.size = reader.position();
    return reader.ok() ? std::optional(descriptor) : std::nullopt;
}

bool Vp9Packetizer::packetize(ByteSpan frame, size_t max_payload, PayloadSink& sink) {
    const media::vp9::SuperframeView superframe(frame);
    const std::optional<media::vp9::FrameInfo> info =
        superframe.frames().empty() ? std::nullopt
                                    : media::vp9::parse_frame(superframe.frames().front());
    if (!info) {
        return false;
    }
    const auto flags = static_cast<uint8_t>(kPictureIdBit | (info->key ? 0 : kInterBit));
    // The structure goes with the first packet of a key frame.
    std::array<uint8_t, kPlainHead + kStructureSize> head = {
        flags, static_cast<uint8_t>(kLongIdBit | picture_id_ >> 8),
        static_cast<uint8_t>(picture_id_)};
    size_t extra = 0;
    if (info->key) {
        extra = kStructureSize;
        write_structure(info->width, info->height, head.data() + kPlainHead);
    }
    const EqualParts cut(extra + frame.size(), max_payload - kPlainHead);
    size_t at = 0;
    for (size_t i = 0; i < cut.count; i++) {
        const bool last = i + 1 == cut.count;
        const size_t size = std::min(cut.size - extra, frame.size() - at);
        head[0] = static_cast<uint8_t>(flags | (i == 0 ? kStartBit : 0) | (last ? kEndBit : 0) |
                                       (extra > 0 ? kStructureBit : 0));
        const std::array<ByteSpan, 2> parts = {ByteSpan(head).first(kPlainHead + extra),
                                               frame.subspan(at, size)};
        sink.on_payload(parts, last);
        at += size;
        extra = 0;
    }
    picture_id_ = static_cast<uint16_t>(picture_id_ + 1) & kPictureIdBits;
    return true;
}

bool Vp9Depacketizer::begins_frame(ByteSpan payload) const {
    const std::optional<Vp9Descriptor> descriptor = Vp9Descriptor::parse(payload);
    return descriptor && descriptor->start && descriptor->spatial_id == 0;
}

bool Vp9Depacketizer::continues_picture(ByteSpan payload) const {
    const std::optional<Vp9Descriptor> descriptor = Vp9Descriptor::parse(payload);
    return descriptor && (!descriptor->start || descriptor->spatial_id > 0);
}

bool Vp9Depacketizer::add(ByteSpan payload) {
    const std::optional<Vp9Descriptor> descriptor = Vp9Descriptor::parse(payload);
    if (!descriptor || descriptor->size == payload.size()) {
        return false;
    }
    if (descriptor->start) {
        if (layers_ == layer_sizes_.size()) {
            return false;
        }
        if (layers_ == 0) {
            temporal_id_ = descriptor->temporal_id;
        }
        layer_sizes_[layers_++] = 0;
    } else if (layers_ == 0) {
        return false;
    }
    const ByteSpan piece = payload.subspan(descriptor->size);
    layer_sizes_[layers_ - 1] += piece.size();
    return append(piece);
}

FrameAssembler::Completion Vp9Depacketizer::complete(Frame& out) {
    const media::vp9::SuperframeView superframe(ByteSpan(data()).first(layer_sizes_[0]));
    const std::optional<media::vp9::FrameInfo> info =
        media::vp9::parse_frame(superframe.frames().front());
    if (!info) {
        return Completion::kBroken;
    }
    uint32_t width = info->width;
    uint32_t height = info->height;
    if (layers_ > 1) {
        // What is shown is the highest layer, whose frame need not repeat its size.
        const size_t at = data().size() - layer_sizes_[layers_ - 1];
        const auto top = media::vp9::parse_frame(ByteSpan(data()).subspan(at));
        if (top && top->width > 0) {
            width = top->width;
            height = top->height;
        }
        media::vp9::append_superframe_index(std::span(layer_sizes_).first(layers_), data());
    }
    out.key = info->key;
    out.temporal_id = temporal_id_;
    if (info->key) {
        const media::VpxConfig config = media::vpx_config_of(*info);
        if (config != config_ || width != width_ || height != height_) {
            config_ = config;
            width_ = width;
            height_ = height;
            out.config = media::build_vpx_config(config);
        }
    }
    out.width = width_;
    out.height = height_;
    return Completion::kFrame;
}

void Vp9Depacketizer::reset() {
    layers_ = 0;
    temporal_id_ = 0;
}

}  // namespace weir::rtp
