// What one player receives, checked and counted: frames by frame_checker.h, their order by
// sequence_window.h, time, gaps and latency. Protocol clients feed it messages; it knows neither
// sockets nor RTMP.
//
// Thousands of these exist: about 1 KiB each. Distributions are shared (RunTotals).
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

#include "bench/load/core/chunk_scanner.h"
#include "bench/load/core/frame_checker.h"
#include "bench/load/core/histogram.h"
#include "bench/load/core/hls_totals.h"
#include "bench/load/core/rtc_totals.h"
#include "bench/load/core/rtsp_totals.h"
#include "bench/load/core/sequence_window.h"

namespace weir::load {

// Shared by all players of a run.
struct RunTotals {
    bool verify = true;  // the stream is synthetic, anything else is a fault
    // Video, audio: false for a track of a file that cannot carry stamps; it is only counted.
    std::array<bool, 2> stamped = {true, true};
    uint64_t stall_ns = 1'000'000'000;  // a longer gap between messages is a stall
    int quarter = 0;                    // 1 to 4 within the measured window, 0 outside
    // Microseconds.
    Histogram connect;
    Histogram first_byte;                 // from the play request
    Histogram first_key;                  // from the play request to the end of the first key frame
    Histogram latency;                    // frames sent after the join, within the window
    std::array<Histogram, 2> latency_of;  // the same of video, of audio
    Histogram latency_first;              // the same, first and last quarter of the window
    Histogram latency_last;
    RtcTotals rtc;
    RtspTotals rtsp;
    HlsTotals hls;
    Histogram recent;  // latency since the owner last looked, for the progress line
};

struct PlayerCounts {
    uint64_t bytes = 0;  // received in all, and within the window
    uint64_t window_bytes = 0;
    uint64_t video_frames = 0;
    uint64_t audio_frames = 0;
    uint64_t corrupted = 0;  // bytes differ, the frame is cut, or of another stream
    uint64_t unstamped = 0;  // no synthetic frame at all
    uint64_t time_steps_back = 0;
    uint64_t sessions = 0;  // publishing sessions seen; more than 1: republished
    uint64_t stalls = 0;
    uint64_t longest_gap_ns = 0;
    bool began_without_key = false;
};

class PlayerCheck {
  public:
    // `totals` must outlive it. `stream`: number of the stream that the stamps must carry.
    PlayerCheck(RunTotals& totals, uint32_t stream) : totals_(totals), stream_(stream) {}

    // The play request is on its way. Nanoseconds of CLOCK_MONOTONIC, here and below.
    void joined(uint64_t now_ns) { joined_ns_ = now_ns; }

    // Whether this player's delays count in the totals: not while it looks at its socket only now
    // and then. The growth of its own mean delay is measured either way.
    void set_timed(bool timed) {
        timed_ = timed;
        has_delay_ = false;
    }

    bool timed() const { return timed_; }

    RunTotals& totals() { return totals_; }

    uint64_t joined_ns() const { return joined_ns_; }

    // Bytes came from the socket; before they are fed.
    void received(size_t bytes, uint64_t now_ns);

    // A measured window begins: forgets what was counted for the last one.
    void begin_window() {
        counts_.window_bytes = 0;
        window_ = first_quarter_ = last_quarter_ = Latencies();
    }

    // One message (types of RTMP and FLV); others than audio and video are ignored. Messages of the
    // two types may interleave.
    void begin(const ScannedMessage& message);
    void part(const ScannedMessage& message, ByteSpan bytes);
    void end(const ScannedMessage& message);

    // The run is over (or the connection): looks at the gap that is still open.
    void finish(uint64_t now_ns);

    const PlayerCounts& counts() const { return counts_; }

    // The same, with the gap that is open now. Of a finished player: as finish() left it.
    PlayerCounts counts_at(uint64_t now_ns) const;

    // Nothing came for longer than a stall, after it had begun.
    bool silent(uint64_t now_ns) const {
        return last_media_ns_ != 0 && now_ns > last_media_ns_ + totals_.stall_ns;
    }

    uint64_t lost() const { return tracks_[0].order.lost() + tracks_[1].order.lost(); }

    uint64_t duplicated() const {
        return tracks_[0].order.duplicated() + tracks_[1].order.duplicated();
    }

    uint64_t reordered() const {
        return tracks_[0].order.reordered() + tracks_[1].order.reordered();
    }

    bool has_key() const { return has_key_; }

    // A whole frame came; a codec configuration is none.
    bool has_media() const { return has_frame_; }

    // Nanoseconds from the play request; 0 without media, without a whole key frame.
    uint64_t first_media_after_ns() const {
        return first_media_ns_ == 0 ? 0 : first_media_ns_ - joined_ns_;
    }

    uint64_t first_key_after_ns() const { return has_key_ ? first_key_ns_ - joined_ns_ : 0; }

    // Mean delay of the frames of the window, microseconds; 0 without any, or while not timed.
    uint64_t mean_latency_us() const {
        return window_.frames == 0 ? 0 : window_.sum_us / window_.frames;
    }

    // Of the newest frame that was sent after the join, microseconds; 0: there is none.
    uint64_t delay_us() const { return last_delay_us_; }

    // How much the delay varies from frame to frame, microseconds: RFC 3550 section 6.4.1 with the
    // moment of sending in the stamp for the timestamp, over all frames of the player as they come,
    // while it is timed.
    uint64_t jitter_us() const { return jitter_16th_us_ / 16; }

    // Mean latency of the last quarter minus that of the first, microseconds. 0 unless both have
    // frames.
    int64_t drift_us() const;

    // Media came in the first quarter but not in the last.
    bool dried_up() const { return first_quarter_.frames > 0 && last_quarter_.frames == 0; }

  private:
    struct Track {
        explicit Track(FillerKind kind) : checker(kind) {}

        FrameChecker checker;
        SequenceWindow order;
        uint32_t last_timestamp = 0;
        bool has_timestamp = false;
        bool has_stamps = false;
        bool open = false;
    };

    struct Latencies {
        uint64_t sum_us = 0;
        uint64_t frames = 0;

        void add(uint64_t us) {
            sum_us += us;
            frames++;
        }
    };

    Track* track_of(const ScannedMessage& message);

    bool is_stamped(const Track& track) const {
        return totals_.stamped[&track == &tracks_[0] ? 0 : 1];
    }

    void take_frame(Track& track, const FrameResult& frame);
    void take_stamp(Track& track, const Stamp& stamp);
    void take_latency(size_t track, uint64_t send_ns);
    void take_jitter(uint64_t us);
    void take_key_state(bool is_key);

    RunTotals& totals_;
    uint32_t stream_;
    uint32_t epoch_ = 0;
    bool has_epoch_ = false;
    bool has_key_ = false;
    bool has_frame_ = false;
    bool timed_ = true;
    bool has_delay_ = false;
    uint32_t jitter_16th_us_ = 0;
    uint64_t last_delay_us_ = 0;
    uint64_t first_key_ns_ = 0;
    uint64_t joined_ns_ = 0;
    uint64_t now_ns_ = 0;
    uint64_t first_media_ns_ = 0;
    uint64_t last_media_ns_ = 0;
    Latencies window_;
    Latencies first_quarter_;
    Latencies last_quarter_;
    PlayerCounts counts_;
    std::array<Track, 2> tracks_ = {Track(FillerKind::kVideo), Track(FillerKind::kAudio)};
};

}  // namespace weir::load
