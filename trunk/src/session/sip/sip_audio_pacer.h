// Audio packets of a stream on their way to a phone, in even steps, whatever bunches the stream
// has: many phones have a jitter buffer of 60 ms or less. Pure.
//
// The owner gives each packet to push(), and takes what is due by poll() at each tick. A packet
// waits for kDelay, and behind the one before for as long as their RTP times say. At most
// kMaxPackets wait, and no more than kMaxStanding waits all the time: the oldest are dropped and
// counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"

namespace weir::session {

class SipAudioPacer {
  public:
    static constexpr Micros kTick = Millis(20);     // of poll()
    static constexpr Micros kDelay = Millis(40);    // what a stream's jitter may be
    static constexpr Micros kMaxStep = Seconds(1);  // between two packets; longer: begin again
    static constexpr Micros kMaxStanding = Millis(200);
    static constexpr Micros kLookPeriod = Seconds(2);  // at what waited at the least
    static constexpr size_t kMaxPackets = 128;

    struct Packet {
        Bytes bytes;
        bool after_drop = false;  // others in front of it were dropped
    };

    // A whole RTP packet, whose clock has that rate; what is none is left out.
    void push(MonoTime now, uint32_t clock_hz, ByteSpan packet);

    // The next packet that is due; nothing: none is. To be called until then.
    std::optional<Packet> poll(MonoTime now);

    // Nothing of what waits is to be sent; not counted.
    void clear();

    uint64_t dropped() const { return dropped_; }

  private:
    struct Waiting {
        Bytes bytes;
        MonoTime due;
        bool after_drop = false;
    };

    MonoTime due_of(MonoTime now, uint32_t clock_hz, uint32_t rtp_time) const;
    void look(MonoTime now, Micros wait);
    void drop_front();

    std::deque<Waiting> queue_;
    std::optional<MonoTime> last_due_;   // of the newest packet; none: nothing came
    uint32_t last_time_ = 0;             // its RTP time
    std::optional<MonoTime> polled_at_;  // a packet was taken at this time
    MonoTime looked_at_{};
    Micros least_wait_{0};  // of a packet that came since then
    uint64_t dropped_ = 0;
};

}  // namespace weir::session
