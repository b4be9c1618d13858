#include "proto/rtp/header.h"

#include <algorithm>

namespace weir::rtp {
namespace {

constexpr uint8_t kVersion2 = 2U << 6U;
constexpr uint8_t kVersionBits = 0xC0;
constexpr uint8_t kPaddingBit = 0x20;
constexpr uint8_t kExtensionBit = 0x10;
constexpr uint8_t kCsrcBits = 0x0F;
constexpr uint8_t kMarkerBit = 0x80;

// RFC 8285 §4.2 and §4.3; the lower four bits of the second are for the application.
constexpr uint16_t kOneByteProfile = 0xBEDE;
constexpr uint16_t kTwoByteProfile = 0x1000;
constexpr uint16_t kTwoByteProfileBits = 0xFFF0;

bool fits_one_byte(std::span<const Extension> extensions) {
    return std::all_of(extensions.begin(), extensions.end(), [](const Extension& e) {
        return e.id <= kMaxOneByteExtensionId && !e.data.empty() &&
               e.data.size() <= kMaxOneByteExtensionSize;
    });
}

// Without the four bytes in front and without padding.
size_t elements_size(std::span<const Extension> extensions, bool one_byte) {
    size_t size = 0;
    for (const Extension& e : extensions) {
        size += (one_byte ? 1 : 2) + e.data.size();
    }
    return size;
}

constexpr size_t round_up_to_word(size_t size) {
    return (size + 3) / 4 * 4;
}

}  // namespace

std::optional<PacketView> PacketView::parse_protected(ByteSpan packet) {
    ByteReader reader(packet);
    PacketView view;
    const uint8_t first = reader.u8();
    const uint8_t second = reader.u8();
    view.marker_ = (second & kMarkerBit) != 0;
    view.payload_type_ = second & kMaxPayloadType;
    view.sequence_ = reader.u16();
    view.timestamp_ = reader.u32();
    view.ssrc_ = reader.u32();
    reader.skip(size_t{4} * (first & kCsrcBits));
    if ((first & kExtensionBit) != 0) {
        const uint16_t profile = reader.u16();
        const ByteSpan elements = reader.take(size_t{4} * reader.u16());
        view.two_byte_ = (profile & kTwoByteProfileBits) == kTwoByteProfile;
        if (view.two_byte_ || profile == kOneByteProfile) {
            view.extensions_ = elements;
        }
    }
    if (!reader.ok() || (first & kVersionBits) != kVersion2) {
        return std::nullopt;
    }
    view.header_size_ = reader.position();
    view.payload_ = reader.rest();
    return view;
}

std::optional<PacketView> PacketView::parse(ByteSpan packet) {
    std::optional<PacketView> view = parse_protected(packet);
    if (view && (packet[0] & kPaddingBit) != 0) {
        ByteSpan& payload = view->payload_;
        if (payload.empty() || payload.back() == 0 || payload.back() > payload.size()) {
            return std::nullopt;
        }
        view->padding_size_ = payload.back();
        payload = payload.first(payload.size() - view->padding_size_);
    }
    return view;
}

bool PacketView::next_extension(size_t& at, Extension& out) const {
    while (at < extensions_.size() && extensions_[at] == 0) {
        at++;  // padding between elements
    }
    ByteReader reader(extensions_.subspan(at));
    if (reader.empty()) {
        return false;
    }
    const uint8_t first = reader.u8();
    size_t size = 0;
    if (two_byte_) {
        out.id = first;
        size = reader.u8();
    } else {
        out.id = first >> 4;
        size = size_t{1} + (first & 0x0F);
        // RFC 8285 §4.2: id 15, or 0 with a length, ends the whole block.
        if (out.id == 0 || out.id > kMaxOneByteExtensionId) {
            return false;
        }
    }
    out.data = reader.take(size);
    at += reader.position();
    return reader.ok();
}

std::optional<ByteSpan> PacketView::extension(uint8_t id) const {
    size_t at = 0;
    Extension element;
    while (next_extension(at, element)) {
        if (element.id == id) {
            return element.data;
        }
    }
    return std::nullopt;
}

size_t header_size(std::span<const Extension> extensions) {
    if (extensions.empty()) {
        return kFixedHeaderSize;
    }
    return kFixedHeaderSize + 4 +
           round_up_to_word(elements_size(extensions, fits_one_byte(extensions)));
}

size_t write_header(const Header& header, uint8_t* out) {
    out[0] = kVersion2;
    rewrite_header(header, out);
    return kFixedHeaderSize;
}

size_t write_header(const Header& header, std::span<const Extension> extensions, uint8_t* out) {
    size_t at = write_header(header, out);
    if (extensions.empty()) {
        return at;
    }
    const bool one_byte = fits_one_byte(extensions);
    const size_t size = elements_size(extensions, one_byte);
    const size_t padded = round_up_to_word(size);
    out[0] |= kExtensionBit;
    store_u16(out + at, one_byte ? kOneByteProfile : kTwoByteProfile);
    store_u16(out + at + 2, static_cast<uint16_t>(padded / 4));
    at += 4;
    for (const Extension& e : extensions) {
        if (one_byte) {
            out[at++] = static_cast<uint8_t>(e.id << 4 | (e.data.size() - 1));
        } else {
            out[at++] = e.id;
            out[at++] = static_cast<uint8_t>(e.data.size());
        }
        std::copy(e.data.begin(), e.data.end(), out + at);
        at += e.data.size();
    }
    std::fill_n(out + at, padded - size, uint8_t{0});
    return at + padded - size;
}

void rewrite_header(const Header& header, uint8_t* packet) {
    packet[1] = static_cast<uint8_t>((header.marker ? kMarkerBit : 0) |
                                     (header.payload_type & kMaxPayloadType));
    store_u16(packet + 2, header.sequence);
    store_u32(packet + 4, header.timestamp);
    store_u32(packet + 8, header.ssrc);
}

std::span<uint8_t> mutable_extension(std::span<uint8_t> packet, uint8_t id) {
    std::optional<PacketView> view = PacketView::parse_protected(packet);
    std::optional<ByteSpan> data = view ? view->extension(id) : std::nullopt;
    if (!data) {
        return {};
    }
    const auto offset = static_cast<size_t>(data->data() - packet.data());
    return packet.subspan(offset, data->size());
}

}  // namespace weir::rtp
