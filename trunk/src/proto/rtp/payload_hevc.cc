#include "proto/rtp/payload_hevc.h"

#include <algorithm>
#include <optional>

#include "media/hevc.h"

namespace weir::rtp {
namespace {

namespace hevc = media::hevc;
using hevc::kNalHeaderSize;
using hevc::NalType;

// Types of payloads, RFC 7798 §4.2; below 48 they are NAL units.
constexpr uint8_t kAggregation = 48;
constexpr uint8_t kFragment = 49;

constexpr uint8_t kTypeMask = 0x7E;  // of the first byte
constexpr uint8_t kForbiddenBit = 0x80;
constexpr uint8_t kStartBit = 0x80;
constexpr uint8_t kEndBit = 0x40;
constexpr uint8_t kFuTypeBits = 0x3F;
constexpr uint8_t kTemporalIdBits = 0x07;

constexpr uint8_t payload_type(ByteSpan payload) {
    return payload[0] >> 1 & 0x3F;
}

constexpr uint8_t with_type(uint8_t first_byte, uint8_t type) {
    return static_cast<uint8_t>((first_byte & ~kTypeMask) | type << 1);
}

// Layer of a NAL unit, of the two bytes of its header.
constexpr uint8_t layer_id(uint8_t first, uint8_t second) {
    return static_cast<uint8_t>((first & 1) << 5 | second >> 3);
}

// first_slice_segment_in_pic_flag is the first bit of a slice.
bool begins_with(NalType type, ByteSpan behind_header) {
    return hevc::is_slice(type) ? !behind_header.empty() && (behind_header[0] & 0x80) != 0
                                : hevc::begins_access_unit(type);
}

// A NAL unit in a payload, or a part of one.
struct Piece {
    NalType type = NalType::kFiller;
    ByteSpan body;      // behind the NAL header, not empty
    bool start = true;  // of the unit
    bool base = true;   // of the base layer
};

// Goes over the units of a payload, as far as they are what they say. `order_size`: bytes of a
// decoding order number, 0 or 2.
class Units {
  public:
    Units(ByteSpan payload, size_t order_size) : reader_(payload), order_size_(order_size) {
        header_ = reader_.take(kNalHeaderSize);
        kind_ = header_.empty() ? uint8_t{0} : payload_type(header_);
        if (kind_ != kFragment) {
            reader_.skip(order_size_);
        }
    }

    std::optional<Piece> next() {
        if (kind_ == kAggregation) {
            const ByteSpan nal = reader_.take(reader_.u16());
            reader_.skip(order_size_ > 0 && !reader_.empty() ? 1 : 0);
            return nal.size() > kNalHeaderSize
                       ? piece(hevc::nal_type(nal[0]), nal, nal.subspan(kNalHeaderSize), true)
                       : std::nullopt;
        }
        if (kind_ == kFragment) {
            const uint8_t fu = reader_.u8();
            const bool start = (fu & kStartBit) != 0;
            reader_.skip(start ? order_size_ : 0);
            return piece(static_cast<NalType>(fu & kFuTypeBits), header_, reader_.rest(), start);
        }
        return piece(static_cast<NalType>(kind_), header_, reader_.rest(), true);
    }

  private:
    std::optional<Piece> piece(NalType type, ByteSpan header, ByteSpan body, bool start) const {
        if (!reader_.ok() || body.empty()) {
            return std::nullopt;
        }
        return Piece{type, body, start, layer_id(header[0], header[1]) == 0};
    }

    ByteReader reader_;
    ByteSpan header_;
    size_t order_size_;
    uint8_t kind_ = 0;
};

// Those of enhancement layers are left out of frames.
std::optional<Piece> first_slice(ByteSpan payload, size_t order_size) {
    Units units(payload, order_size);
    std::optional<Piece> unit = units.next();
    while (unit && (!hevc::is_slice(unit->type) || !unit->base)) {
        unit = units.next();
    }
    return unit;
}

}  // namespace

bool HevcPacketizer::set_config(ByteSpan record) {
    const std::optional<hevc::ConfigView> config = hevc::ConfigView::parse(record);
    if (!config) {
        return false;
    }
    begin_config(config->length_size());
    config->for_each_parameter_set([this](ByteSpan nal) {
        // Some encoders put kilobytes of SEI into the record.
        if (hevc::is_parameter_set(hevc::nal_type(nal[0]))) {
            add_parameter_set(nal);
        }
    });
    return true;
}

NalPacketizer::FrameKind HevcPacketizer::inspect(ByteSpan frame, size_t length_size) const {
    const hevc::FrameInfo info = hevc::inspect_frame(frame, length_size);
    return {info.key, info.parameter_sets, info.whole};
}

bool HevcPacketizer::is_superfluous(ByteSpan nal) const {
    const NalType type = hevc::nal_type(nal[0]);
    return type == NalType::kDelimiter || type == NalType::kFiller ||
           static_cast<uint8_t>(type) >= kAggregation;
}

void HevcPacketizer::mark_aggregation(ByteSpan nal, bool first, uint8_t* header) const {
    // RFC 7798 §4.4.2: F is the OR, layer and temporal id are the lowest of those of the units.
    if (first) {
        header[0] = with_type(nal[0], kAggregation);
        header[1] = nal[1];
        return;
    }
    const uint8_t forbidden = (header[0] | nal[0]) & kForbiddenBit;
    const uint8_t layer = std::min(layer_id(header[0], header[1]), layer_id(nal[0], nal[1]));
    const uint8_t temporal =
        std::min<uint8_t>(header[1] & kTemporalIdBits, nal[1] & kTemporalIdBits);
    header[0] = static_cast<uint8_t>(forbidden | kAggregation << 1 | layer >> 5);
    header[1] = static_cast<uint8_t>(layer << 3 | temporal);
}

void HevcPacketizer::write_fragment_header(ByteSpan nal, bool start, bool end, uint8_t* out) const {
    out[0] = with_type(nal[0], kFragment);
    out[1] = nal[1];
    out[2] = static_cast<uint8_t>((start ? kStartBit : 0) | (end ? kEndBit : 0) |
                                  static_cast<uint8_t>(hevc::nal_type(nal[0])));
}

bool HevcDepacketizer::begins_frame(ByteSpan payload) const {
    const std::optional<Piece> first = Units(payload, order_size()).next();
    return first && first->start && begins_with(first->type, first->body);
}

bool HevcDepacketizer::begins_picture(ByteSpan payload) const {
    const std::optional<Piece> slice = first_slice(payload, order_size());
    return slice && slice->start && begins_with(slice->type, slice->body);
}

bool HevcDepacketizer::continues_picture(ByteSpan payload) const {
    const std::optional<Piece> slice = first_slice(payload, order_size());
    return slice && (!slice->start || !begins_with(slice->type, slice->body));
}

bool HevcDepacketizer::add(ByteSpan payload) {
    ByteReader reader(payload);
    const ByteSpan header = reader.take(kNalHeaderSize);
    if (!reader.ok() || reader.empty()) {
        return false;
    }
    const uint8_t type = payload_type(payload);
    const uint8_t fu = type == kFragment ? reader.u8() : uint8_t{0};
    // RFC 7798 §4.4.3: of the fragments only the first has a number.
    const bool has_number = numbered_ && (type != kFragment || (fu & kStartBit) != 0);
    if (type > kFragment || (has_number && !take_order(reader.u16()))) {
        return false;
    }
    const ByteSpan body = reader.rest();
    if (!reader.ok() || body.empty()) {
        return false;
    }
    if (type == kAggregation) {
        return add_aggregated(body, numbered_ ? 1 : 0);
    }
    if (type == kFragment) {
        const std::array<uint8_t, kNalHeaderSize> whole = {with_type(header[0], fu & kFuTypeBits),
                                                           header[1]};
        return add_fragment(whole, body, (fu & kStartBit) != 0, (fu & kEndBit) != 0);
    }
    return numbered_ ? add_single(header, body) : add_nal(payload);
}

// A unit whose header and body are apart.
bool HevcDepacketizer::add_single(ByteSpan header, ByteSpan body) {
    return !in_fragment() && add_fragment(header, body, true, true);
}

NalDepacketizer::NalUse HevcDepacketizer::use_of(ByteSpan nal) const {
    // Units of one byte, and those of enhancement layers, are of no use to a decoder.
    if (nal.size() <= kNalHeaderSize || layer_id(nal[0], nal[1]) != 0) {
        return NalUse::kLeaveOut;
    }
    const NalType type = hevc::nal_type(nal[0]);
    if (hevc::is_parameter_set(type)) {
        return NalUse::kParameterSet;
    }
    return type >= NalType::kDelimiter && type <= NalType::kFiller ? NalUse::kLeaveOut
                                                                   : NalUse::kKeep;
}

bool HevcDepacketizer::identify(ByteSpan nal, ParameterSet& out) const {
    const std::optional<uint32_t> id = hevc::parameter_set_id(nal);
    out.type = static_cast<uint8_t>(hevc::nal_type(nal[0]));
    out.id = id.value_or(0);
    return id.has_value();
}

void HevcDepacketizer::note(ByteSpan nal) {
    const NalType type = hevc::nal_type(nal[0]);
    if (!hevc::is_slice(type)) {
        return;
    }
    if (!slice_) {
        temporal_id_ = hevc::temporal_id(nal[1]);
    }
    slice_ = true;
    key_ = key_ || hevc::is_irap(type);
    referenced_ = referenced_ || hevc::is_referenced(type);
}

FrameAssembler::Completion HevcDepacketizer::complete(Frame& out) {
    if (in_fragment()) {
        return Completion::kBroken;
    }
    if (!slice_) {
        return Completion::kNothing;
    }
    constexpr auto kVps = static_cast<uint8_t>(NalType::kVps);
    constexpr auto kSps = static_cast<uint8_t>(NalType::kSps);
    constexpr auto kPps = static_cast<uint8_t>(NalType::kPps);
    constexpr uint32_t kAllKinds = 1U << kVps % 32U | 1U << kSps % 32U | 1U << kPps % 32U;
    if (key_ && is_after_loss() && has_parameter_sets() &&
        (kinds_in_frame() & kAllKinds) != kAllKinds) {
        return Completion::kBroken;
    }
    out.key = key_;
    out.temporal_id = temporal_id_;
    // Pictures of higher temporal layers may refer to one that its own layer does not need.
    out.discardable = !referenced_ && temporal_id_ + 1 >= temporal_layers_;
    if (key_ && config_changed()) {
        const std::vector<ByteSpan> sps = parameter_sets(kSps);
        out.config = hevc::build_config(parameter_sets(kVps), sps, parameter_sets(kPps));
        if (!out.config.empty()) {
            config_given();
            const std::optional<hevc::Sps> parsed = hevc::parse_sps(sps[0]);
            width_ = parsed ? parsed->width : 0;
            height_ = parsed ? parsed->height : 0;
            temporal_layers_ = parsed ? parsed->temporal_layers : uint8_t{1};
        }
    }
    if (key_ && !is_configured()) {
        return Completion::kBroken;  // the first packet of all was lost, which nothing else tells
    }
    out.width = width_;
    out.height = height_;
    return Completion::kFrame;
}

void HevcDepacketizer::reset() {
    NalDepacketizer::reset();
    temporal_id_ = 0;
    slice_ = false;
    key_ = false;
    referenced_ = false;
}

}  // namespace weir::rtp
