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
constexpr uint8_t kFuA = 28;

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

bool begins_with(NalType type, ByteSpan behind_header) {
    return avc::is_slice(type) ? starts_at_first_macroblock(behind_header)
                               : avc::begins_access_unit(type);
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
    const uint8_t type = payload[0] & kTypeBits;
    if (type == kStapA) {
        return payload.size() > 4 && begins_with(avc::nal_type(payload[3]), payload.subspan(4));
    }
    if (type == kFuA) {
        return payload.size() > 2 && (payload[1] & kStartBit) != 0 &&
               begins_with(avc::nal_type(payload[1]), payload.subspan(2));
    }
    return begins_with(avc::nal_type(type), payload.subspan(1));
}

bool H264Depacketizer::add(ByteSpan payload) {
    const uint8_t type = payload[0] & kTypeBits;
    if (type >= 1 && type <= kLastSingle) {
        return add_nal(payload);
    }
    if (type == kStapA) {
        return add_aggregated(payload.subspan(1));
    }
    if (type != kFuA || payload.size() < 3) {
        return false;
    }
    const auto header = static_cast<uint8_t>((payload[0] & ~kTypeBits) | (payload[1] & kTypeBits));
    return add_fragment({&header, 1}, payload.subspan(2), (payload[1] & kStartBit) != 0,
                        (payload[1] & kEndBit) != 0);
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
    out.type = nal[0] & kTypeBits;
    if (out.type == kSpsType) {
        const std::optional<avc::Sps> sps = avc::parse_sps(nal);
        out.id = sps ? sps->id : 0;
        return sps.has_value();
    }
    const std::optional<avc::PpsIds> ids = avc::parse_pps_ids(nal);
    out.id = ids ? ids->id : 0;
    return ids.has_value();
}

void H264Depacketizer::note(ByteSpan nal) {
    const NalType type = avc::nal_type(nal[0]);
    slice_ = slice_ || avc::is_slice(type);
    key_ = key_ || type == NalType::kIdr;
    referenced_ = referenced_ || avc::nal_ref_idc(nal[0]) != 0;
}

Depacketizer::Completion H264Depacketizer::complete(Frame& out) {
    if (in_fragment()) {
        return Completion::kBroken;
    }
    if (!slice_) {
        return Completion::kNothing;
    }
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
}

}  // namespace weir::rtp
