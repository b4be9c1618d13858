// AV1 (AV1 Bitstream & Decoding Process Specification): OBUs, what a sequence header says of the
// picture, whether a temporal unit is a key frame, and the decoder configuration of MP4 and
// Enhanced RTMP ("AV1 Codec ISO Media File Format Binding" §2.3). No decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::media::av1 {

enum class ObuType : uint8_t {
    kSequenceHeader = 1,
    kTemporalDelimiter = 2,
    kFrameHeader = 3,
    kTileGroup = 4,
    kMetadata = 5,
    kFrame = 6,
    kRedundantFrameHeader = 7,
    kTileList = 8,
    kPadding = 15,
};

inline constexpr uint8_t kObuHasExtension = 0x04;
inline constexpr uint8_t kObuHasSize = 0x02;
inline constexpr size_t kMaxLeb128Size = 8;

constexpr ObuType obu_type(uint8_t first_byte) {
    return static_cast<ObuType>(first_byte >> 3 & 0xF);
}

constexpr bool has_extension(uint8_t first_byte) {
    return (first_byte & kObuHasExtension) != 0;
}

// The layers of an extension byte, §5.3.3.
constexpr uint8_t temporal_id(uint8_t extension) {
    return extension >> 5;
}

constexpr uint8_t spatial_id(uint8_t extension) {
    return extension >> 3 & 3;
}

// leb128(), §4.10.5: at most eight bytes and 32 bits of value, else the reader fails.
uint64_t read_leb128(ByteReader& reader);

constexpr size_t leb128_size(uint64_t value) {
    size_t size = 1;
    while (value >= 0x80) {
        value >>= 7U;
        size++;
    }
    return size;
}

// Writes leb128_size(value) bytes and returns that.
size_t write_leb128(uint64_t value, uint8_t* out);

// One OBU of a temporal unit; views of it.
struct ObuView {
    ByteSpan whole;    // header, extension, size, payload
    ByteSpan payload;  // behind header, extension and size
    ObuType type = ObuType::kPadding;
    uint8_t header = 0;
    uint8_t extension = 0;  // 0 when there is none

    bool has_extension() const { return av1::has_extension(header); }
};

// Goes over the OBUs of a temporal unit in the low-overhead format (§5.2). An OBU without a size
// field reaches to the end.
class ObuReader {
  public:
    explicit ObuReader(ByteSpan unit) : reader_(unit), unit_(unit) {}

    bool next(ObuView& out);

    bool ok() const { return reader_.ok(); }

  private:
    ByteReader reader_;
    ByteSpan unit_;
};

struct SequenceHeader {
    uint8_t profile = 0;
    uint8_t level_idx = 0;  // of operating point 0, as tier
    bool high_tier = false;
    bool reduced_still_picture = false;
    bool high_bitdepth = false;
    bool twelve_bit = false;
    bool monochrome = false;
    bool subsampling_x = true;
    bool subsampling_y = true;
    uint8_t chroma_sample_position = 0;
    uint32_t width = 0;  // largest frame, in pixels
    uint32_t height = 0;
};

// Reads the payload of a sequence header OBU (§5.5).
std::optional<SequenceHeader> parse_sequence_header(ByteSpan payload);

// What a temporal unit is.
struct FrameInfo {
    bool key = false;  // a sequence header and a shown key frame (§7.5: decoding can start)
    bool sequence_header = false;  // brings one along
    bool shown_key_frame = false;  // a key frame, perhaps without a sequence header
    bool whole = false;            // its OBUs are as long as they say
    uint8_t temporal_id = 0;       // of its first frame
};

FrameInfo inspect_frame(ByteSpan unit);

// The first sequence header OBU, whole; empty when there is none.
ByteSpan find_sequence_header(ByteSpan unit);

// Bytes of a configuration before its OBUs.
inline constexpr size_t kConfigFixedSize = 4;

// AV1CodecConfigurationRecord with that sequence header OBU (whole, with its size field) in it.
// Empty when it cannot be read.
Bytes build_config(ByteSpan sequence_header_obu);

// The OBUs of a record, most often one sequence header; nothing when it is no record.
std::optional<ByteSpan> parse_config(ByteSpan record);

}  // namespace weir::media::av1
