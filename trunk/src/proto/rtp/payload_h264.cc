#include "proto/rtp/payload_h264.h"

#include <algorithm>
#include <optional>

#include "media/avc.h"

namespace weir::rtp {
namespace {

namespace avc = media::avc;
using avc::NalType;

// Types of payloads, RFC 6184 table 1; 1 to 23 are NAL units.
constexpr uint8_t kLastSingle = 23;
constexpr uint8_t kStapA = 24;
constexpr uint8_t kStapB = 25;
constexpr uint8_t kMtap16 = 26;
constexpr uint8_t kMtap24 = 27;
constexpr uint8_t kFuA = 28;
constexpr uint8_t kFuB = 29;

constexpr size_t kOrderSize = 2;      // DON, and DONB of MTAPs
constexpr size_t kOrderStepSize = 1;  // DOND

constexpr uint8_t kTypeBits = 0x1F;
constexpr uint8_t kForbiddenBit = 0x80;
constexpr uint8_t kNriBits = 0x60;
constexpr uint8_t kStartBit = 0x80;
constexpr uint8_t kEndBit = 0x40;

constexpr uint8_t kSpsType = static_cast<uint8_t>(NalType::kSps);
constexpr uint8_t kPpsType = static_cast<uint8_t>(NalType::kPps);

// Extensions of a scalable stream, which decoders of the base layer do not know.
constexpr uint8_t kPrefixNal = 14;
constexpr uint8_t kSubsetSps = 15;
constexpr uint8_t kSliceExtension = 20;

// first_mb_in_slice is the first code of a slice, and 0 is the code of one bit.
bool starts_at_first_macroblock(ByteSpan slice_header) {
    return !slice_header.empty() && (slice_header[0] & 0x80) != 0;
}

constexpr size_t time_offset_size(uint8_t mtap) {
    return mtap == kMtap16 ? 2 : 3;
}

bool begins_with(NalType type, ByteSpan behind_header) {
    return avc::is_slice(type) ? starts_at_first_macroblock(behind_header)
                               : avc::begins_access_unit(type);
}

// A NAL unit in a payload, or a part of one.
struct Piece {
    NalType type = NalType::kFiller;
    ByteSpan body;      // behind the NAL header, not empty
    bool start = true;  // of the unit
};

// Goes over the units of a payload, as far as they are what they say.
class Units {
  public:
    explicit Units(ByteSpan payload) : reader_(payload) {
        kind_ = reader_.u8() & kTypeBits;
        switch (kind_) {
            case kStapB:
            case kMtap16:
            case kMtap24: reader_.skip(kOrderSize); break;
            default: break;
        }
    }

    std::optional<Piece> next() {
        switch (kind_) {
            case kStapA:
            case kStapB: return unit_of(reader_.take(reader_.u16()));
            case kMtap16:
            case kMtap24: {
                const size_t size = reader_.u16();
                reader_.skip(kOrderStepSize + time_offset_size(kind_));
                return unit_of(reader_.take(size));
            }
            case kFuA:
            case kFuB: {
                const uint8_t fu = reader_.u8();
                const bool start = (fu & kStartBit) != 0;
                reader_.skip(kind_ == kFuB && start ? kOrderSize : 0);
                return piece(avc::nal_type(fu), reader_.rest(), start);
            }
            default: return piece(avc::nal_type(kind_), reader_.rest(), true);
        }
    }

  private:
    std::optional<Piece> unit_of(ByteSpan nal) const {
        return nal.empty() ? std::nullopt : piece(avc::nal_type(nal[0]), nal.subspan(1), true);
    }

    std::optional<Piece> piece(NalType type, ByteSpan body, bool start) const {
        return reader_.ok() && !body.empty() ? std::optional(Piece{type, body, start})
                                             : std::nullopt;
    }

    ByteReader reader_;
    uint8_t kind_ = 0;
};

std::optional<Piece> first_slice(ByteSpan payload) {
    Units units(payload);
    std::optional<Piece> unit = units.next();
    while (unit && !avc::is_slice(unit->type)) {
        unit = units.next();
    }
    return unit;
}

}  // namespace

bool H264Packetizer::set_config(ByteSpan record) {
    const std::optional<avc::ConfigView> config = avc::ConfigView::parse(record);
    if (!config) {
        return false;
    }
    begin_config(config->length_size());
    config->for_each_parameter_set([this](ByteSpan nal) { add_parameter_set(nal); });
    return true;
}

NalPacketizer::FrameKind H264Packetizer::inspect(ByteSpan frame, size_t length_size) const {
    const avc::FrameInfo info = avc::inspect_frame(frame, length_size);
    return {info.key, info.parameter_sets, info.whole};
}

bool H264Packetizer::is_superfluous(ByteSpan nal) const {
    const NalType type = avc::nal_type(nal[0]);
    return type == NalType::kDelimiter || type == NalType::kFiller ||
           static_cast<uint8_t>(type) == 0 || static_cast<uint8_t>(type) > kLastSingle;
}

void H264Packetizer::mark_aggregation(ByteSpan nal, bool first, uint8_t* header) const {
    // RFC 6184 §5.7: F is the OR and NRI the largest of those of the units.
    const uint8_t nri = std::max<uint8_t>(first ? 0 : header[0] & kNriBits, nal[0] & kNriBits);
    const uint8_t forbidden = (first ? 0 : header[0] & kForbiddenBit) | (nal[0] & kForbiddenBit);
    header[0] = static_cast<uint8_t>(forbidden | nri | kStapA);
}

void H264Packetizer::write_fragment_header(ByteSpan nal, bool start, bool end, uint8_t* out) const {
    out[0] = static_cast<uint8_t>((nal[0] & ~kTypeBits) | kFuA);
    out[1] =
        static_cast<uint8_t>((start ? kStartBit : 0) | (end ? kEndBit : 0) | (nal[0] & kTypeBits));
}

bool H264Depacketizer::begins_frame(ByteSpan payload) const {
    const std::optional<Piece> first = Units(payload).next();
    return first && first->start && begins_with(first->type, first->body);
}

bool H264Depacketizer::begins_picture(ByteSpan payload) const {
    const std::optional<Piece> slice = first_slice(payload);
    return slice && slice->start && starts_at_first_macroblock(slice->body) &&
           !is_second_field(slice->body);
}

bool H264Depacketizer::continues_picture(ByteSpan payload) const {
    const std::optional<Piece> slice = first_slice(payload);
    return slice && (!slice->start || !starts_at_first_macroblock(slice->body));
}

// A lone field waits for the other one where the source sends both with one time.
bool H264Depacketizer::is_cut() const {
    constexpr auto kBoth = static_cast<uint8_t>(avc::Structure::kFrame);
    return in_fragment() || (pairs_fields_ && fields_ != 0 && fields_ != kBoth);
}

bool H264Depacketizer::is_second_field(ByteSpan slice_header) const {
    if (!sps_ || fields_ == 0) {
        return false;
    }
    const std::optional<avc::Structure> structure = avc::parse_structure(slice_header, *sps_);
    return structure && (fields_ & static_cast<uint8_t>(*structure)) == 0;
}

bool H264Depacketizer::add(ByteSpan payload) {
    const uint8_t type = payload[0] & kTypeBits;
    if (type >= 1 && type <= kLastSingle) {
        return add_nal(payload);
    }
    ByteReader reader(payload);
    reader.skip(1);
    switch (type) {
        case kStapA: return add_aggregated(reader.rest());
        case kStapB:
            return take_order(reader.u16()) && reader.ok() && add_aggregated(reader.rest());
        case kMtap16:
        case kMtap24: return add_multi_time(reader, time_offset_size(type));
        case kFuA:
        case kFuB: break;
        default: return false;
    }
    const uint8_t fu = reader.u8();
    if (type == kFuB && ((fu & kStartBit) == 0 || !take_order(reader.u16()))) {
        return false;  // §5.8: only the first piece has a number
    }
    const ByteSpan piece = reader.rest();
    const auto header = static_cast<uint8_t>((payload[0] & ~kTypeBits) | (fu & kTypeBits));
    return !piece.empty() &&
           add_fragment({&header, 1}, piece, (fu & kStartBit) != 0, (fu & kEndBit) != 0);
}

// RFC 6184 §5.7.2, of units of one time: their offsets are 0.
bool H264Depacketizer::add_multi_time(ByteReader& reader, size_t offset_size) {
    const uint16_t base = reader.u16();
    bool good = !reader.empty();
    while (good && !reader.empty()) {
        const size_t size = reader.u16();
        const uint8_t step = reader.u8();
        const ByteSpan offset = reader.take(offset_size);
        const ByteSpan nal = reader.take(size);
        good = reader.ok() && std::ranges::all_of(offset, [](uint8_t b) { return b == 0; }) &&
               take_order(static_cast<uint16_t>(base + step)) && add_nal(nal);
    }
    return good;
}

NalDepacketizer::NalUse H264Depacketizer::use_of(ByteSpan nal) const {
    switch (nal[0] & kTypeBits) {
        case kSpsType:
        case kPpsType: return NalUse::kParameterSet;
        case static_cast<uint8_t>(NalType::kDelimiter):
        case static_cast<uint8_t>(NalType::kEndOfSequence):
        case static_cast<uint8_t>(NalType::kEndOfStream):
        case static_cast<uint8_t>(NalType::kFiller):
        case kPrefixNal:
        case kSubsetSps:
        case kSliceExtension: return NalUse::kLeaveOut;
        default: return NalUse::kKeep;
    }
}

bool H264Depacketizer::identify(ByteSpan nal, ParameterSet& out) const {
    const std::optional<uint32_t> id = avc::parameter_set_id(nal);
    out.type = nal[0] & kTypeBits;
    out.id = id.value_or(0);
    return id.has_value();
}

void H264Depacketizer::note(ByteSpan nal) {
    const NalType type = avc::nal_type(nal[0]);
    if (recovery_points_ && !slice_) {
        // Of the first field, where there are two: the second may refer to it.
        recovery_ = recovery_ || avc::is_recovery_point(nal);
        const std::optional<avc::Slice> slice = avc::parse_slice(nal);
        intra_ = slice && slice->type == avc::SliceType::kI;
    }
    if (avc::is_slice(type)) {
        note_field(nal.subspan(1));
    }
    slice_ = slice_ || avc::is_slice(type);
    key_ = key_ || type == NalType::kIdr;
    referenced_ = referenced_ || avc::nal_ref_idc(nal[0]) != 0;
}

void H264Depacketizer::note_field(ByteSpan slice_header) {
    if (!slice_ && config_changed()) {
        const std::vector<ByteSpan> sets = parameter_sets(kSpsType);
        const auto sps = sets.empty() ? std::nullopt : avc::parse_sps(sets[0]);
        sps_ = sps && sps->interlaced ? sps : std::nullopt;
    }
    if (!sps_ || !starts_at_first_macroblock(slice_header)) {
        return;
    }
    constexpr auto kBoth = static_cast<uint8_t>(avc::Structure::kFrame);
    const auto field = static_cast<uint8_t>(
        avc::parse_structure(slice_header, *sps_).value_or(avc::Structure::kFrame));
    const uint8_t before = fields_ != 0 ? fields_ : repeats_time() ? last_fields_ : uint8_t{0};
    pairs_fields_ =
        pairs_fields_ || (before != kBoth && field != kBoth && (before | field) == kBoth);
    fields_ |= field;
}

FrameAssembler::Completion H264Depacketizer::complete(Frame& out) {
    if (in_fragment()) {
        return Completion::kBroken;
    }
    last_fields_ = fields_;
    if (!slice_) {
        return Completion::kNothing;
    }
    key_ = key_ || (recovery_ && intra_);
    constexpr uint32_t kBothKinds = 1U << kSpsType | 1U << kPpsType;
    if (key_ && is_after_loss() && has_parameter_sets() &&
        (kinds_in_frame() & kBothKinds) != kBothKinds) {
        return Completion::kBroken;
    }
    out.key = key_;
    out.discardable = !referenced_;
    if (key_ && config_changed()) {
        const std::vector<ByteSpan> sps = parameter_sets(kSpsType);
        out.config = avc::build_config(sps, parameter_sets(kPpsType));
        if (!out.config.empty()) {
            config_given();
            const std::optional<avc::Sps> parsed = avc::parse_sps(sps[0]);
            width_ = parsed ? parsed->width : 0;
            height_ = parsed ? parsed->height : 0;
        }
    }
    if (key_ && !is_configured()) {
        return Completion::kBroken;  // the first packet of all was lost, which nothing else tells
    }
    out.width = width_;
    out.height = height_;
    return Completion::kFrame;
}

void H264Depacketizer::reset() {
    NalDepacketizer::reset();
    slice_ = false;
    key_ = false;
    referenced_ = false;
    recovery_ = false;
    intra_ = false;
    fields_ = 0;
}

}  // namespace weir::rtp
