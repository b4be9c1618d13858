// H.264 (ITU-T H.264, ISO/IEC 14496-10): NAL unit types, what a sequence parameter set says of the
// picture, the first fields of a slice, and the decoder configuration of MP4 and FLV (ISO/IEC
// 14496-15 §5.3.3.1). No decoding. Nothing here allocates but the building of a configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "media/nal.h"

namespace weir::media::avc {

// nal_unit_type, H.264 table 7-1; those that matter here.
enum class NalType : uint8_t {
    kSlice = 1,
    kPartitionA = 2,
    kPartitionB = 3,
    kPartitionC = 4,
    kIdr = 5,
    kSei = 6,
    kSps = 7,
    kPps = 8,
    kDelimiter = 9,
    kEndOfSequence = 10,
    kEndOfStream = 11,
    kFiller = 12,
    kSpsExtension = 13,
};

inline constexpr size_t kMaxSps = 31;   // in a configuration: 5 bits
inline constexpr size_t kMaxPps = 255;  // 8 bits

constexpr NalType nal_type(uint8_t first_byte) {
    return static_cast<NalType>(first_byte & 0x1F);
}

// 0: no other picture refers to it.
constexpr uint8_t nal_ref_idc(uint8_t first_byte) {
    return first_byte >> 5 & 3;
}

constexpr bool is_slice(NalType type) {
    return type >= NalType::kSlice && type <= NalType::kIdr;
}

// H.264 §7.4.1.2.3: types that begin an access unit when they follow a picture.
constexpr bool begins_access_unit(NalType type) {
    const auto value = static_cast<uint8_t>(type);
    return (value >= 6 && value <= 9) || (value >= 14 && value <= 18);
}

struct Sps {
    uint8_t profile_idc = 0;
    uint8_t constraint_flags = 0;  // constraint_set0_flag is the top bit
    uint8_t level_idc = 0;
    uint32_t id = 0;
    uint32_t chroma_format_idc = 1;
    uint32_t bit_depth_luma = 8;
    uint32_t bit_depth_chroma = 8;
    uint32_t max_ref_frames = 0;
    uint32_t poc_type = 0;  // 2: pictures are shown in the order of decoding
    bool interlaced = false;
    bool separate_planes = false;  // a slice names its colour plane
    uint32_t frame_num_bits = 4;   // of frame_num in a slice
    uint32_t poc_lsb_bits = 0;     // of pic_order_cnt_lsb in a slice; 0: it has none
    bool poc_deltas = false;       // a slice has delta_pic_order_cnt
    uint32_t width = 0;            // of what is shown, in pixels
    uint32_t height = 0;
    // Frames that may come before one they are shown after; nothing when the encoder does not say.
    std::optional<uint32_t> max_reorder_frames;
};

// `nal`: with its first byte, without start code. Nothing when it is not a whole SPS or says what
// cannot be (ids over 31, sides over 16,384 pixels).
std::optional<Sps> parse_sps(ByteSpan nal);

// pic_parameter_set_id and seq_parameter_set_id of a PPS.
struct PpsIds {
    uint32_t id = 0;
    uint32_t sps_id = 0;
};

std::optional<PpsIds> parse_pps_ids(ByteSpan nal);

// The number of a parameter set among those of its kind. Nothing for one that cannot be read, and
// for other units.
std::optional<uint32_t> parameter_set_id(ByteSpan nal);

enum class SliceType : uint8_t { kP = 0, kB = 1, kI = 2, kSp = 3, kSi = 4 };

// The first fields of a slice header, H.264 §7.3.3.
struct Slice {
    uint32_t first_macroblock = 0;  // 0: the first slice of a picture (no arbitrary slice order)
    SliceType type = SliceType::kP;
    uint32_t pps_id = 0;
};

// Reads NAL units of type 1, 2 and 5; needs only their first bytes.
std::optional<Slice> parse_slice(ByteSpan nal);

// What a slice is a part of.
enum class Structure : uint8_t { kTopField = 1, kBottomField = 2, kFrame = 3 };

// Of the slice header behind the byte of its NAL header, H.264 §7.3.3. Nothing when it is too
// short.
std::optional<Structure> parse_structure(ByteSpan slice_header, const Sps& sps);

// Whether a SEI says that decoding can start with its picture, though it is no IDR picture: a
// recovery point without pictures to wait for (H.264 §D.2.8). Broadcasters send these.
bool is_recovery_point(ByteSpan nal);

// What a frame of length-prefixed NAL units is.
struct FrameInfo {
    bool key = false;             // has an IDR picture
    bool referenced = false;      // a picture of it may be referred to (nal_ref_idc is not 0)
    bool bidirectional = false;   // has B slices
    bool parameter_sets = false;  // brings SPS and PPS along
    bool whole = false;           // its NAL units are as long as they say

    // A B-frame that others refer to: dropping what nothing refers to does not bring such a stream
    // into the order of its times.
    bool is_reference_b() const { return referenced && bidirectional; }
};

FrameInfo inspect_frame(ByteSpan frame, size_t length_size);

// AVCDecoderConfigurationRecord; views of the bytes that it was parsed from.
//
//     1 | profile | compatibility | level | 6 bits 1, length size - 1 (2) | 3 bits 1, SPS count (5)
//     | size 2, SPS ... | PPS count 1 | size 2, PPS ... | high profiles: chroma, depths, extensions
class ConfigView {
  public:
    static std::optional<ConfigView> parse(ByteSpan record);

    uint8_t profile() const { return profile_; }

    uint8_t compatibility() const { return compatibility_; }

    uint8_t level() const { return level_; }

    // Bytes of the lengths in the stream's frames: 1, 2 or 4.
    size_t length_size() const { return length_size_; }

    // The first SPS; empty when there is none.
    ByteSpan sps() const;

    // Calls visit(ByteSpan nal) for each SPS, then for each PPS.
    template <typename Visit>
    void for_each_parameter_set(Visit&& visit) const {
        for (ByteSpan part : {sps_, pps_}) {
            NalReader nals(part, 2);
            for (ByteSpan nal; nals.next(nal);) {
                visit(nal);
            }
        }
    }

  private:
    ByteSpan sps_;  // sizes of two bytes and NAL units
    ByteSpan pps_;
    size_t length_size_ = 4;
    uint8_t profile_ = 0;
    uint8_t compatibility_ = 0;
    uint8_t level_ = 0;
};

// The record for frames with lengths of four bytes. Empty when there is no SPS of at least four
// bytes or no PPS, or when there are more than the record can count.
Bytes build_config(std::span<const ByteSpan> sps, std::span<const ByteSpan> pps);

}  // namespace weir::media::avc
