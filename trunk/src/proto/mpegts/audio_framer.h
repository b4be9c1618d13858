// Frames of audio in a transport stream: AAC in ADTS or LOAS, MPEG audio, AC-3, E-AC-3, Opus. Each
// says how long it is; what does not fit together is left out up to the next one that does.
//
// Peers: rtp
#pragma once

#include "proto/mpegts/framer.h"

namespace weir::mpegts {

class AudioFramer final : public Framer {
  public:
    explicit AudioFramer(Content content) : content_(content) {}

  private:
    enum class Found : uint8_t { kFrame, kNeedMore, kNone };

    struct Frame {
        size_t size = 0;     // with its header
        size_t data_at = 0;  // of what is given out
        uint32_t ticks = 0;  // how long it is, in units of
        uint32_t clock_hz = 0;
        bool belongs_to_last = false;
    };

    size_t cut(bool last) override;

    bool begins_unit(ByteSpan) const override { return true; }

    size_t max_bytes() const override { return kMaxAudioPesBytes; }

    void view(const Cut& cut, Unit& out) const override;
    void forget() override;

    Found look(ByteSpan bytes, Frame& out);
    Found look_adts(ByteSpan bytes, Frame& out) const;
    Found look_loas(ByteSpan bytes, Frame& out);
    Found look_mpeg(ByteSpan bytes, Frame& out) const;
    Found look_ac3(ByteSpan bytes, Frame& out) const;
    Found look_opus(ByteSpan bytes, Frame& out) const;
    bool is_followed(ByteSpan behind);
    void take(size_t at, const Frame& frame);

    Content content_;
    bool in_step_ = false;  // the next frame is where the last one ends

    // The time of a frame: that of the last one that had its own, and what came since.
    std::optional<int64_t> base_;
    uint64_t ticks_ = 0;  // since then, in units of
    uint32_t clock_hz_ = 0;

    uint32_t latm_ticks_ = 0;  // of an element, as its newest configuration says; 90 kHz
};

}  // namespace weir::mpegts
