// What the phones of 'weir-bench sip-call' say and hear: mu-law of 8 kHz in packets of 20 ms, a
// tone with a stamp in it, and the check of both. Pure.
//
// The stamp is in the lowest bits of the codes of a packet, one bit in each (the noise of that is
// 30 dB below the tone), so it passes whatever carries mu-law unchanged, cut anyhow; what decodes
// and encodes the audio again destroys it, and the tone alone is checked then.
//
//    +--------+-----------+--------------+-----------------+--------------+
//    | 'WV' 2 | voice, 3  | sequence, 4  | sent, ns, 8     | checksum, 3  |  bytes, 160 bits
//    +--------+-----------+--------------+-----------------+--------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "media/g711.h"
#include "media/tone.h"

#include "bench/load/core/histogram.h"
#include "bench/load/core/sequence_window.h"

namespace weir::load {

inline constexpr size_t kVoiceSamples = 160;  // of a packet
inline constexpr uint64_t kVoicePacketNs = 20'000'000;
inline constexpr uint32_t kMaxVoices = 1U << 24;

struct VoiceStamp {
    uint32_t voice = 0;  // who says it; less than kMaxVoices
    uint32_t sequence = 0;
    uint64_t sent_ns = 0;  // CLOCK_MONOTONIC

    bool operator==(const VoiceStamp&) const = default;
};

class VoiceSource {
  public:
    VoiceSource(double hertz, uint32_t voice) : tone_(hertz, media::g711::kSampleRate) {
        stamp_.voice = voice;
    }

    // The next packet, sent at `now_ns`.
    void next(uint64_t now_ns, std::span<uint8_t, kVoiceSamples> out);

    uint32_t packets() const { return stamp_.sequence; }

  private:
    media::ToneGenerator tone_;
    VoiceStamp stamp_;
};

struct VoiceCounts {
    uint64_t samples = 0;
    uint64_t seconds = 0;        // whole ones, behind the first: each is judged
    uint64_t wrong_seconds = 0;  // of them without the tone
    uint64_t stamped = 0;        // packets by their stamps
    uint64_t lost = 0;
    uint64_t duplicated = 0;
    uint64_t reordered = 0;
    uint64_t foreign = 0;    // stamps of another voice
    double worst_share = 1;  // of the tone, of all seconds that were judged

    void add(const VoiceCounts& other);
};

class VoiceCheck {
  public:
    // Less of a second than this is not the tone.
    static constexpr double kLeastShare = 0.95;

    // `delays` (microseconds) must outlive it. `hertz`: the tone to be heard; 0: any. `voice`: who
    // must be heard; none: whoever comes first.
    VoiceCheck(double hertz, std::optional<uint32_t> voice, Histogram& delays)
        : hertz_(hertz), voice_(voice), delays_(delays) {}

    // Whether delays count now, and losses, tones: a window of its own begins with true.
    void set_measuring(bool measuring);

    void feed_mu(ByteSpan codes, uint64_t now_ns);

    // Has no stamps.
    void feed_a(ByteSpan codes, uint64_t now_ns);

    VoiceCounts counts() const;

    bool heard() const { return counts_.samples > 0; }

  private:
    void take(int16_t sample);
    void take_bit(bool bit, uint64_t now_ns);
    void take_stamp(uint64_t now_ns);
    void judge();

    double hertz_;
    std::optional<uint32_t> voice_;
    Histogram& delays_;
    VoiceCounts counts_;
    SequenceWindow order_;
    std::array<uint32_t, 5> bits_{};  // the last 160, the oldest first
    bool measuring_ = false;
    bool first_ = true;  // the second under way is not judged: it has the beginning in it
    // Goertzel's filter over the second under way (media/tone.h has it for whole blocks).
    uint32_t filled_ = 0;
    double last_ = 0;
    double before_ = 0;
    double energy_ = 0;
    double factor_ = 0;
};

}  // namespace weir::load
