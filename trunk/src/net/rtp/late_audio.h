// LateAudio: audio and video of a stream go to WebRTC players at one pace, where the audio comes
// behind the video: in bunches, as the PES packets of an MPEG-TS multiplexer bring it, or evenly.
//
// Browsers measure how late audio is by the newest packet and by the mean fill of their jitter
// buffer. A bunch tells them half of its length, so lip sync stays off by the other half, and they
// need 20 seconds and more for what they can measure. So packets wait here until the stream's clock
// (HeadClock of the video) is wait_ms() behind: each at its own time, whatever bunch it came in.
// Where the audio is on time (kOnTimeMs), nothing waits.
//
// How late audio is, is measured on the stream's timeline against the newest video, so a stall of
// the network, which holds up both, changes nothing. Nothing is dropped: beyond kMaxBytes packets
// go earlier. The owner gives packets to push() and takes them by next_due() and pop(). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "media/packet.h"
#include "net/rtp/head_clock.h"
#include "stream/muxer.h"

namespace weir::net {

class LateAudio {
  public:
    // Audio that is this far behind the video at most is on time; browsers cope with it.
    static constexpr int64_t kOnTimeMs = 100;
    // Audio that is further behind than this is not waited for.
    static constexpr int64_t kMaxWaitMs = 2'000;
    // The wait is that of the second latest of so many runs (audio without video in between): one
    // run that is late by accident does not count.
    static constexpr size_t kRuns = 8;
    static constexpr int64_t kFallMsPerSecond = 20;  // of the wait, when audio is less late
    static constexpr size_t kMaxBytes = size_t{8} << 20U;

    struct Held {
        media::PacketRef packet;
        std::optional<stream::Configs> start;
        int64_t after_us = 0;  // due when the stream's clock is wait_ms() further than this
    };

    // True: the packet is to be written now. False: it is held. `start`: as PacketSink has it.
    bool push(MonoTime now, const media::PacketRef& packet, const stream::Configs* start);

    // When pop() is due; not after `now`: at once; MonoTime::max(): nothing is held.
    MonoTime next_due(MonoTime now) const;

    bool holds() const { return !queues_[0].empty() || !queues_[1].empty(); }

    // The oldest packet; only while holds().
    Held pop();

    // Everything that is pushed is held until release(): packets that come at once, as a GOP for
    // the first player, tell how late the audio is.
    void gather() { gathering_ = true; }

    void release() { gathering_ = false; }

    // Another publisher comes. Only when nothing is held.
    void restart() { *this = LateAudio(); }

    // How long packets wait now; 0: they do not.
    int64_t wait_ms() const { return wait_us_ / 1'000; }

  private:
    using Queue = std::deque<Held>;

    void measure(MonoTime now, int64_t late_ms);
    int64_t usual_lateness_ms() const;
    // Of the next packet; only while holds().
    size_t next_queue() const;

    std::array<int64_t, kRuns> runs_{};  // how late their audio was, ms
    size_t run_ = 0;                     // the newest one
    bool run_open_ = false;
    std::optional<int64_t> video_ms_;  // of the newest video
    HeadClock clock_;                  // of the video
    int64_t wait_us_ = 0;
    MonoTime measured_at_{};
    bool gathering_ = false;
    std::array<Queue, 2> queues_;  // audio, video
    size_t bytes_ = 0;             // of what is held
};

}  // namespace weir::net
