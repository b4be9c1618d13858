#include "bench/load/core/synthetic.h"

#include <array>
#include <string_view>

#include "base/check.h"

namespace weir::load {
namespace {

constexpr uint32_t kMacroblocksWide = 20;
constexpr uint32_t kMacroblocksHigh = 12;
constexpr uint32_t kCropLines = kMacroblocksHigh * 16 - kPictureHeight;
constexpr uint32_t kFrameNumbers = 16;  // log2_max_frame_num_minus4 is 0
constexpr uint32_t kIdrIds = 2;

constexpr uint8_t kNalSlice = 0x41;
constexpr uint8_t kNalIdr = 0x65;
constexpr uint8_t kNalSei = 0x06;
constexpr uint8_t kSeiUserData = 5;  // ISO 14496-10 D.1.7
constexpr uint8_t kSeiFiller = 3;    // D.1.4
constexpr uint8_t kTrailingBit = 0x80;

// Writes the bits of a raw byte sequence payload (ISO 14496-10 §7.3, §9.1).
class BitWriter {
  public:
    explicit BitWriter(Bytes& out) : out_(out) {}

    void u(unsigned bits, uint32_t value) {
        while (bits-- > 0) {
            if (used_ == 0) {
                out_.push_back(0);
            }
            out_.back() = static_cast<uint8_t>(out_.back() | ((value >> bits) & 1) << (7 - used_));
            used_ = (used_ + 1) % 8;
        }
    }

    void ue(uint32_t value) {
        unsigned length = 0;
        while (((value + 1) >> (length + 1)) != 0) {
            length++;
        }
        u(length, 0);
        u(length + 1, value + 1);
    }

    void trailing() {
        u(1, 1);
        used_ = 0;
    }

  private:
    Bytes& out_;
    unsigned used_ = 0;
};

// Baseline, pictures in decoding order, one reference.
Bytes sequence_parameters() {
    Bytes out = {0x67, 66, 0xC0, 40};
    BitWriter bits(out);
    bits.ue(0);  // id
    bits.ue(0);  // log2_max_frame_num - 4
    bits.ue(2);  // picture order count type
    bits.ue(1);  // reference frames
    bits.u(1, 0);
    bits.ue(kMacroblocksWide - 1);
    bits.ue(kMacroblocksHigh - 1);
    bits.u(1, 1);  // frames only
    bits.u(1, 1);  // direct_8x8_inference
    bits.u(1, 1);  // cropping: left, right, top, bottom, in units of two lines
    bits.ue(0);
    bits.ue(0);
    bits.ue(0);
    bits.ue(kCropLines / 2);
    bits.u(1, 0);  // no VUI
    bits.trailing();
    return out;
}

Bytes picture_parameters() {
    Bytes out = {0x68};
    BitWriter bits(out);
    bits.ue(0);    // id
    bits.ue(0);    // sequence parameter set
    bits.u(2, 0);  // CAVLC, no field order
    bits.ue(0);    // one slice group
    bits.ue(0);
    bits.ue(0);
    bits.u(3, 0);  // no weighted prediction
    bits.ue(0);
    bits.ue(0);
    bits.ue(0);
    bits.u(3, 0);  // no deblocking control, no constrained intra prediction, no redundant pictures
    bits.trailing();
    return out;
}

Bytes with_length(const Bytes& unit) {
    Bytes out;
    ByteWriter(out).u32(static_cast<uint32_t>(unit.size())).bytes(unit);
    return out;
}

Bytes idr_unit(uint32_t idr_id) {
    Bytes out = {kNalIdr};
    BitWriter bits(out);
    bits.ue(0);    // first macroblock
    bits.ue(7);    // I slices only
    bits.ue(0);    // picture parameter set
    bits.u(4, 0);  // frame_num
    bits.ue(idr_id);
    bits.u(2, 0);  // no_output_of_prior_pics, long_term_reference
    bits.ue(0);    // QP delta
    for (uint32_t i = 0; i < kMacroblocksWide * kMacroblocksHigh; i++) {
        bits.ue(3);    // I_16x16, DC prediction, no residual
        bits.ue(0);    // chroma: DC
        bits.ue(0);    // QP delta
        bits.u(1, 1);  // coeff_token: no DC coefficient either
    }
    bits.trailing();
    return with_length(out);
}

Bytes skipped_unit(uint32_t frame_number) {
    Bytes out = {kNalSlice};
    BitWriter bits(out);
    bits.ue(0);  // first macroblock
    bits.ue(5);  // P slices only
    bits.ue(0);
    bits.u(4, frame_number);
    bits.u(3, 0);  // default references, no reordering, sliding window
    bits.ue(0);    // QP delta
    bits.ue(kMacroblocksWide * kMacroblocksHigh);  // all skipped
    bits.trailing();
    return with_length(out);
}

struct Units {
    std::array<Bytes, kIdrIds> idr;
    std::array<Bytes, kFrameNumbers> skipped;
};

const Units& units() {
    static const Units instance = [] {
        Units made;
        for (uint32_t i = 0; i < kIdrIds; i++) {
            made.idr[i] = idr_unit(i);
        }
        for (uint32_t i = 0; i < kFrameNumbers; i++) {
            made.skipped[i] = skipped_unit(i);
        }
        return made;
    }();
    return instance;
}

// Bytes of a tag body with that much filler, without padding.
uint32_t video_size_with(uint32_t filler, const Stamp& stamp) {
    return 5 + 4 + sei_unit_size(filler) + static_cast<uint32_t>(picture_unit(stamp).size());
}

uint32_t audio_size_with(uint32_t filler) {
    uint32_t data = audio_data_size(filler);
    return 2 + 1 + (data < 255 ? 1 : 2) + data + static_cast<uint32_t>(silence(false).size());
}

void append_filler(Bytes& out, const Stamp& stamp, FillerKind kind) {
    size_t at = out.size();
    out.resize(at + stamp.filler);
    fill(std::span(out).subspan(at), filler_start(stamp, kind));
}

void append_stamp(Bytes& out, const Stamp& stamp) {
    size_t at = out.size();
    out.resize(at + kStampSize);
    write_stamp(std::span<uint8_t, kStampSize>(out.data() + at, kStampSize), stamp);
}

}  // namespace

Uuid stamp_uuid() {
    static constexpr std::string_view kText = "weir-bench-stamp";
    static_assert(kText.size() == kUuidSize);
    return Uuid(as_bytes(kText));
}

Uuid filler_uuid() {
    static constexpr std::string_view kText = "weir-bench-bytes";
    static_assert(kText.size() == kUuidSize);
    return Uuid(as_bytes(kText));
}

ByteSpan audio_mark() {
    return as_bytes("weir");
}

ByteSpan picture_unit(const Stamp& stamp) {
    // Neighbouring key frames (a GOP of one) must differ in idr_pic_id (ISO 14496-10 §7.4.3).
    return stamp.place == 0 ? units().idr[stamp.sequence % kIdrIds]
                            : units().skipped[stamp.place % kFrameNumbers];
}

ByteSpan silence(bool padded) {
    // single_channel_element with nothing in it (29 zero bits), then the end element; the longer
    // form has an empty fill element between (ISO 14496-3 §4.4.2).
    static constexpr std::array<uint8_t, 4> kShort = {0, 0, 0, 0x07};
    static constexpr std::array<uint8_t, 5> kPadded = {0, 0, 0, 0x06, 0x0E};
    return padded ? ByteSpan(kPadded) : ByteSpan(kShort);
}

uint32_t sei_unit_size(uint32_t filler) {
    auto payload = static_cast<uint32_t>(kUuidSize) + filler;
    return static_cast<uint32_t>(1 + kStampMessageHead + kStampSize) + 1 + payload / 255 + 1 +
           payload + 1;
}

uint32_t audio_data_size(uint32_t filler) {
    return static_cast<uint32_t>(audio_mark().size() + kStampSize) + filler;
}

void build_video(Bytes& out, uint32_t size, Stamp& stamp) {
    WEIR_CHECK(size >= (stamp.place == 0 ? kMinKeySize : kMinVideoSize) && size <= kMaxVideoSize);
    // The filler is a little less than what is left: the size field takes a byte of every 256 of
    // it.
    uint32_t room = size - video_size_with(0, stamp);
    stamp.filler = room - room / 255;
    while (video_size_with(stamp.filler, stamp) > size) {
        stamp.filler--;
    }
    while (video_size_with(stamp.filler + 1, stamp) <= size) {
        stamp.filler++;
    }
    bool padded = video_size_with(stamp.filler, stamp) != size;
    if (padded) {
        stamp.filler--;
    }
    out.clear();
    out.reserve(size);
    ByteWriter writer(out);
    uint32_t unit = sei_unit_size(stamp.filler) + (padded ? 2 : 0);
    writer.u8(stamp.place == 0 ? 0x17 : 0x27).u8(1).u24(0).u32(unit);
    writer.u8(kNalSei)
        .u8(kSeiUserData)
        .u8(static_cast<uint8_t>(kUuidSize + kStampSize))
        .bytes(stamp_uuid());
    append_stamp(out, stamp);
    auto payload = static_cast<uint32_t>(kUuidSize) + stamp.filler;
    writer.u8(kSeiUserData);
    out.insert(out.end(), payload / 255, 0xFF);
    writer.u8(static_cast<uint8_t>(payload % 255)).bytes(filler_uuid());
    append_filler(out, stamp, FillerKind::kVideo);
    if (padded) {
        writer.u8(kSeiFiller).u8(0);
    }
    writer.u8(kTrailingBit).bytes(picture_unit(stamp));
    WEIR_CHECK(out.size() == size);
}

void build_audio(Bytes& out, uint32_t size, Stamp& stamp) {
    WEIR_CHECK(size >= kMinAudioSize && size <= kMaxAudioSize);
    stamp.filler = size - audio_size_with(0);
    if (audio_size_with(stamp.filler) > size) {
        stamp.filler--;  // the longer size field
    }
    bool padded = audio_size_with(stamp.filler) != size;
    out.clear();
    out.reserve(size);
    ByteWriter writer(out);
    uint32_t data = audio_data_size(stamp.filler);
    // data_stream_element, tag 0, aligned to bytes: 100 0000 1.
    writer.u8(0xAF).u8(1).u8(0x81);
    if (data < 255) {
        writer.u8(static_cast<uint8_t>(data));
    } else {
        writer.u8(255).u8(static_cast<uint8_t>(data - 255));
    }
    writer.bytes(audio_mark());
    append_stamp(out, stamp);
    append_filler(out, stamp, FillerKind::kAudio);
    writer.bytes(silence(padded));
    WEIR_CHECK(out.size() == size);
}

Bytes video_config() {
    Bytes sps = sequence_parameters();
    Bytes pps = picture_parameters();
    Bytes out;
    ByteWriter writer(out);
    writer.u8(0x17).u8(0).u24(0);
    writer.u8(1).u8(sps[1]).u8(sps[2]).u8(sps[3]).u8(
        0xFF);  // version, profile, lengths of four bytes
    writer.u8(0xE1).u16(static_cast<uint16_t>(sps.size())).bytes(sps);
    writer.u8(1).u16(static_cast<uint16_t>(pps.size())).bytes(pps);
    return out;
}

Bytes audio_config() {
    // AAC-LC, 48 kHz, mono: 00010 0011 0001 000.
    return {0xAF, 0, 0x11, 0x88};
}

}  // namespace weir::load
