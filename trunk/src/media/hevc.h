// HEVC (ITU-T H.265): NAL unit types, what a sequence parameter set says of the picture, and the
// decoder configuration of MP4 and Enhanced RTMP (ISO/IEC 14496-15 §8.3.3.1). No decoding. Nothing
// here allocates but the building of a configuration.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "media/nal.h"

namespace weir::media::hevc {

// nal_unit_type, H.265 table 7-1; those that matter here.
enum class NalType : uint8_t {
    kTrailN = 0,
    kReservedNonIrapR15 = 15,
    kBlaWLp = 16,
    kIdrWRadl = 19,
    kIdrNLp = 20,
    kCra = 21,
    kReservedIrap23 = 23,
    kLastSlice = 31,
    kVps = 32,
    kSps = 33,
    kPps = 34,
    kDelimiter = 35,
    kEndOfSequence = 36,
    kEndOfBitstream = 37,
    kFiller = 38,
    kPrefixSei = 39,
    kSuffixSei = 40,
};

inline constexpr size_t kNalHeaderSize = 2;

constexpr NalType nal_type(uint8_t first_byte) {
    return static_cast<NalType>(first_byte >> 1 & 0x3F);
}

// nuh_temporal_id_plus1 - 1; the field is never 0.
constexpr uint8_t temporal_id(uint8_t second_byte) {
    return (second_byte & 7) == 0 ? uint8_t{0} : static_cast<uint8_t>((second_byte & 7) - 1);
}

constexpr bool is_slice(NalType type) {
    return type <= NalType::kLastSlice;
}

// Intra random access point: decoding can start here (H.265 §3.69).
constexpr bool is_irap(NalType type) {
    return type >= NalType::kBlaWLp && type <= NalType::kReservedIrap23;
}

constexpr bool is_parameter_set(NalType type) {
    return type >= NalType::kVps && type <= NalType::kPps;
}

// False for pictures that no other one of their own temporal layer refers to (the types whose name
// ends in _N, H.265 table 7-1).
constexpr bool is_referenced(NalType type) {
    const auto value = static_cast<uint8_t>(type);
    return value >= 16 || value % 2 == 1;
}

// H.265 §7.4.2.4.4: types that begin an access unit when they follow a picture.
constexpr bool begins_access_unit(NalType type) {
    const auto value = static_cast<uint8_t>(type);
    return (value >= 32 && value <= 35) || value == 39 || (value >= 41 && value <= 44) ||
           (value >= 48 && value <= 55);
}

// First slice of a picture (first_slice_segment_in_pic_flag); false when it is too short to tell.
constexpr bool is_first_slice(ByteSpan nal) {
    return nal.size() > kNalHeaderSize && (nal[kNalHeaderSize] & 0x80) != 0;
}

struct Sps {
    // general_profile_space to general_level_idc as they stand in the SPS, H.265 §7.3.3.
    std::array<uint8_t, 12> profile_tier_level{};
    uint32_t id = 0;
    uint8_t temporal_layers = 1;
    bool temporal_id_nesting = false;
    uint32_t chroma_format_idc = 1;
    uint32_t bit_depth_luma = 8;
    uint32_t bit_depth_chroma = 8;
    uint32_t width = 0;  // of what is shown, in pixels
    uint32_t height = 0;
    uint32_t max_reorder_pictures = 0;  // 0: pictures are shown in the order of decoding

    uint8_t profile_idc() const { return profile_tier_level[0] & 0x1F; }

    uint8_t level_idc() const { return profile_tier_level[11]; }
};

// `nal`: with its two bytes of header, without start code. Nothing when it is not a whole SPS or
// says what cannot be.
std::optional<Sps> parse_sps(ByteSpan nal);

// What a sequence parameter set says of the fields in a slice header, H.265 §7.3.6.1.
struct SliceFields {
    bool colour_plane = false;        // colour_plane_id
    bool chroma = true;               // fields of chroma (ChromaArrayType is not 0)
    uint32_t poc_lsb_bits = 4;        // of slice_pic_order_cnt_lsb
    uint32_t short_term_sets = 0;     // num_short_term_ref_pic_sets
    bool long_term = false;           // numbers of long-term pictures
    uint32_t long_term_pictures = 0;  // num_long_term_ref_pics_sps
    bool temporal_motion = false;     // slice_temporal_mvp_enabled_flag
    bool sample_adaptive_offset = false;
};

// `nal`: as for parse_sps(). Nothing also where the set ends too early for these fields.
std::optional<SliceFields> parse_slice_fields(ByteSpan nal);

// The number of a parameter set among those of its kind. Nothing for one that cannot be read, and
// for other units.
std::optional<uint32_t> parameter_set_id(ByteSpan nal);

// What a frame of length-prefixed NAL units is.
struct FrameInfo {
    bool key = false;             // has an IRAP picture
    bool referenced = false;      // see is_referenced()
    bool parameter_sets = false;  // brings VPS, SPS and PPS along
    bool whole = false;           // its NAL units are as long as they say
    uint8_t temporal_id = 0;      // of its first slice
};

FrameInfo inspect_frame(ByteSpan frame, size_t length_size);

// HEVCDecoderConfigurationRecord; views of the bytes that it was parsed from. 22 bytes, then
//     | arrays 1 | completeness, NAL type 1 | count 2 | size 2, NAL unit ... | ...
class ConfigView {
  public:
    static std::optional<ConfigView> parse(ByteSpan record);

    // Bytes of the lengths in the stream's frames: 1, 2 or 4.
    size_t length_size() const { return length_size_; }

    // The first SPS; empty when there is none.
    ByteSpan sps() const;

    // Calls visit(ByteSpan nal) for each NAL unit in the order of the record; encoders put VPS, SPS
    // and PPS in that order.
    template <typename Visit>
    void for_each_parameter_set(Visit&& visit) const {
        ByteReader reader(arrays_);
        while (!reader.empty()) {
            reader.u8();
            for (size_t count = reader.u16(); count > 0; count--) {
                if (ByteSpan nal = reader.take(reader.u16()); !nal.empty()) {
                    visit(nal);
                }
            }
        }
    }

  private:
    ByteSpan arrays_;  // checked by parse()
    size_t length_size_ = 4;
};

// The record for frames with lengths of four bytes. Empty when there is no VPS, SPS or PPS, or when
// the SPS cannot be read.
Bytes build_config(std::span<const ByteSpan> vps,
                   std::span<const ByteSpan> sps,
                   std::span<const ByteSpan> pps);

}  // namespace weir::media::hevc
