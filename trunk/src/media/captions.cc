#include "media/captions.h"

#include "media/avc.h"
#include "media/bit_reader.h"
#include "media/hevc.h"
#include "media/nal.h"

namespace weir::media {
namespace {

constexpr uint32_t kRegisteredUserData = 4;   // payloadType of SEI
constexpr uint32_t kCountry = 0xB5;           // USA
constexpr uint32_t kProvider = 0x0031;        // ATSC
constexpr uint32_t kIdentifier = 0x47413934;  // "GA94"
constexpr uint32_t kCaptionData = 3;          // user_data_type_code
constexpr size_t kMinUserData = 10;           // bytes up to the first triplet
constexpr uint8_t kNoParity = 0x7F;           // CEA-608 has odd parity

enum class CaptionType : uint8_t { kField1, kField2, kPacketData, kPacketStart };

struct NalKind {
    bool sei = false;
    bool picture = false;
    size_t header_bytes = 1;
};

NalKind kind_of(Codec codec, uint8_t first) {
    if (codec == Codec::kH264) {
        const unsigned type = first & 0x1FU;
        return {.sei = type == 6, .picture = type >= 1 && type <= 5, .header_bytes = 1};
    }
    const unsigned type = first >> 1U & 0x3FU;
    return {.sei = type == 39, .picture = type < 32, .header_bytes = 2};
}

void take_triplet(BitReader& reader, CaptionChannels& out) {
    reader.skip(5);
    const bool valid = reader.flag();
    const auto type = static_cast<CaptionType>(reader.bits(2));
    const auto first = static_cast<uint8_t>(reader.bits(8));
    const auto second = static_cast<uint8_t>(reader.bits(8));
    if (!valid || !reader.ok()) {
        return;
    }
    const bool padding = (first & kNoParity) == 0 && (second & kNoParity) == 0;
    switch (type) {
        case CaptionType::kField1: out.first_field = out.first_field || !padding; break;
        case CaptionType::kField2: out.second_field = out.second_field || !padding; break;
        case CaptionType::kPacketStart: {
            // CEA-708 §6.2: the header of a packet, then that of its first service block.
            const unsigned service = second >> 5U;
            const bool empty = (second & 0x1FU) == 0;
            if (service >= 1 && service <= CaptionChannels::kMaxServices && !empty) {
                out.services = static_cast<uint8_t>(out.services | 1U << (service - 1));
            }
            break;
        }
        case CaptionType::kPacketData: break;
    }
}

void take_user_data(BitReader& reader, CaptionChannels& out) {
    const bool captions = reader.bits(8) == kCountry && reader.bits(16) == kProvider &&
                          reader.bits(32) == kIdentifier && reader.bits(8) == kCaptionData;
    if (!captions || !reader.ok()) {
        return;
    }
    reader.skip(1);
    const bool process = reader.flag();
    reader.skip(1);
    const uint32_t count = reader.bits(5);
    reader.skip(8);
    for (uint32_t i = 0; process && i < count && reader.ok(); i++) {
        take_triplet(reader, out);
    }
}

// ff_byte ... last_byte, H.264 §7.3.2.3.1.
uint32_t sei_number(BitReader& reader) {
    uint32_t value = 0;
    uint32_t byte = 0;
    do {
        byte = reader.bits(8);
        value += byte;
    } while (byte == 0xFF && reader.ok());
    return value;
}

void take_sei(ByteSpan unit, CaptionChannels& out) {
    BitReader reader(unit, BitReader::Escapes::kNalUnit);
    while (reader.ok()) {
        const uint32_t type = sei_number(reader);
        const uint32_t size = sei_number(reader);
        if (!reader.ok() || size > unit.size()) {
            return;
        }
        if (type == kRegisteredUserData && size >= kMinUserData) {
            BitReader message = reader;  // a copy: what it reads does not move the other
            take_user_data(message, out);
        }
        reader.skip(size_t{size} * 8);
    }
}

}  // namespace

std::vector<std::string> CaptionChannels::names() const {
    std::vector<std::string> all;
    if (first_field) {
        all.emplace_back("CC1");
    }
    if (second_field) {
        all.emplace_back("CC3");
    }
    for (unsigned i = 0; i < kMaxServices; i++) {
        if ((services >> i & 1U) != 0) {
            all.push_back("SERVICE" + std::to_string(i + 1));
        }
    }
    return all;
}

size_t nal_length_size(Codec codec, ByteSpan config) {
    constexpr size_t kUsual = 4;
    if (codec == Codec::kH264) {
        const auto view = avc::ConfigView::parse(config);
        return view ? view->length_size() : kUsual;
    }
    if (codec == Codec::kHevc) {
        const auto view = hevc::ConfigView::parse(config);
        return view ? view->length_size() : kUsual;
    }
    return kUsual;
}

// SEI messages stand before the picture.
void find_captions(Codec codec, ByteSpan frame, size_t length_size, CaptionChannels& out) {
    if (codec != Codec::kH264 && codec != Codec::kHevc) {
        return;
    }
    NalReader nals(frame, length_size);
    for (ByteSpan nal; nals.next(nal);) {
        const NalKind kind = kind_of(codec, nal[0]);
        if (kind.picture) {
            return;
        }
        if (kind.sei && nal.size() > kind.header_bytes) {
            take_sei(nal.subspan(kind.header_bytes), out);
        }
    }
}

}  // namespace weir::media
