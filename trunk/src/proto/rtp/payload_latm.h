// RTP payload of AAC as MP4A-LATM (RFC 6416 §6; ISO/IEC 14496-3 §1.7.3): audioMuxElements, whole or
// in pieces up to the marker, with a StreamMuxConfig in the description (cpresent=0) or in the
// packets (cpresent=1).
//
// Taken are streams of one program with one layer, of frames that say their length: all that
// anybody sends. The configuration (AudioSpecificConfig) comes with the first frame and with each
// one that has changed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "media/bit_reader.h"
#include "proto/rtp/depacketizer.h"

namespace weir::rtp {

// StreamMuxConfig, ISO/IEC 14496-3 table 1.42, as far as it is taken.
struct LatmConfig {
    Bytes audio_config;        // AudioSpecificConfig, its last byte filled up with zeros
    uint32_t frame_ticks = 0;  // in units of the RTP clock
    uint8_t frames = 1;        // of an element (numSubFrames + 1)
    uint64_t other_bits = 0;   // that end each element (otherDataLenBits)

    bool operator==(const LatmConfig&) const = default;

    // `clock_hz` 0: the clock is the sample rate. Nothing for what is not taken.
    static std::optional<LatmConfig> read(media::BitReader& bits, uint32_t clock_hz);
    static std::optional<LatmConfig> parse(ByteSpan config, uint32_t clock_hz);
};

class LatmDepacketizer final : public FrameAssembler {
  public:
    explicit LatmDepacketizer(const PayloadParameters& parameters, size_t reserved_front = 0);

  private:
    // Nothing in a piece says that it is the first: only a whole element is certain.
    bool begins_frame(ByteSpan payload) const override;

    bool add(ByteSpan payload) override { return append(payload); }

    Completion complete(Frame& out) override;

    void reset() override {}

    struct Element;

    bool read_element(ByteSpan bytes, Element& out) const;

    uint32_t clock_hz_;
    bool in_band_;
    std::optional<LatmConfig> config_;
    bool config_given_ = false;
    Bytes last_;  // the last frame of an element
};

}  // namespace weir::rtp
