// RTP payload of H.264 (RFC 6184). Out: packetization-mode 1, of single NAL units (§5.6), STAP-A
// (§5.7.1) and FU-A (§5.8). In: these, and STAP-B, MTAP and FU-B of mode 2 while their units come
// in the order of decoding and of one time; interleaved ones are refused.
//
//     FU-A   F NRI 28 | S E R type | piece of a NAL unit without its first byte
//     STAP-A F NRI 24 | size 2 | NAL unit | size 2 | NAL unit ...
//
// Access unit delimiters and filler data are not sent. A depacketizer gives parameter sets out as
// the configuration, and a key frame after a loss only with its own sets where the source sends
// them: the lost packet may have changed them. Two fields of one time are one frame; a source whose
// first field has a marker shows once that the second follows.
#pragma once

#include <optional>

#include "media/avc.h"
#include "proto/rtp/payload_nal.h"

namespace weir::rtp {

class H264Packetizer final : public NalPacketizer {
  public:
    H264Packetizer() : NalPacketizer(1) {}

    bool set_config(ByteSpan record) override;

  private:
    FrameKind inspect(ByteSpan frame, size_t length_size) const override;
    bool is_superfluous(ByteSpan nal) const override;
    void mark_aggregation(ByteSpan nal, bool first, uint8_t* header) const override;
    void write_fragment_header(ByteSpan nal, bool start, bool end, uint8_t* out) const override;
};

class H264Depacketizer final : public NalDepacketizer {
  public:
    explicit H264Depacketizer(size_t reserved_front = 0, bool recovery_points = false)
        : NalDepacketizer(reserved_front), recovery_points_(recovery_points) {}

  private:
    bool begins_frame(ByteSpan payload) const override;
    bool begins_picture(ByteSpan payload) const override;
    bool continues_picture(ByteSpan payload) const override;

    bool has_picture() const override { return slice_ || in_fragment(); }

    bool is_cut() const override;
    bool add(ByteSpan payload) override;
    bool add_multi_time(ByteReader& reader, size_t offset_size);
    Completion complete(Frame& out) override;
    void reset() override;
    NalUse use_of(ByteSpan nal) const override;
    bool identify(ByteSpan nal, ParameterSet& out) const override;
    void note(ByteSpan nal) override;
    void note_field(ByteSpan slice_header);
    bool is_second_field(ByteSpan slice_header) const;

    uint32_t width_ = 0;
    uint32_t height_ = 0;
    bool slice_ = false;
    bool key_ = false;
    bool referenced_ = false;
    bool recovery_points_ = false;        // count as key frames
    bool recovery_ = false;               // the frame is at one
    bool intra_ = false;                  // its first slice is an I slice
    std::optional<media::avc::Sps> sps_;  // nothing: there are no fields
    uint8_t fields_ = 0;                  // of the frame, bits as in avc::Structure
    uint8_t last_fields_ = 0;             // of the frame before
    bool pairs_fields_ = false;           // the source sends both fields of a frame with one time
};

}  // namespace weir::rtp
