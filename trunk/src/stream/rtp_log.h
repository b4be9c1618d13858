// RtpLog: a stream's media as RTP payloads, packetised once, read by any number of players.
//
// A wire log for RTP cannot hold the bytes of the wire: header, encryption and numbers are each
// player's own. So it holds payloads in runs: packets of one track and one timestamp that have the
// same size, but for the last, which may be shorter; a run goes out as one burst (UDP GSO). A
// player's cursor is the number of the next run. The same runs are the history for retransmission,
// so a player has none of its own. Pure; nothing here yields.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/object_count.h"
#include "stream/wire_log.h"

namespace weir::stream {

// Packets are numbered per track from 0 on, in 64 bits; a player maps them to its own 16.
struct RtpRun {
    // A burst that fits a datagram, with what a player's encryption adds to each packet.
    static constexpr size_t kMaxPackets = 48;
    static constexpr size_t kMaxRunBytes = 64'000;

    std::unique_ptr<uint8_t[]> data;  // payloads, end to end
    uint32_t size_bytes = 0;
    uint16_t packet_bytes = 0;  // of each packet but the last
    uint16_t packets = 0;
    uint8_t track = 0;
    uint8_t temporal_layer = 0;  // players that cannot keep up leave out the upper ones
    bool frame_end = false;      // last run of its frame
    bool marker = false;         // on its last packet
    bool start = false;          // a player may begin here
    bool key = false;            // a decoder of this track may
    bool frame_start = false;    // first run of its frame
    bool discardable = false;    // nothing refers to this frame
    uint32_t rtp_time = 0;       // of the track's clock, before a player's random offset
    int64_t time_ms = 0;         // decoding time, on the stream's timeline
    uint64_t first_packet = 0;

    ByteSpan packet(size_t index) const {
        const size_t begin = index * packet_bytes;
        return {data.get() + begin, index + 1 == packets ? size_bytes - begin : packet_bytes};
    }
};

class RtpLog : private Counted<RtpLog> {
  public:
    static constexpr ObjectName kObjectName{"rtp_log", "rtp_history"};
    static constexpr size_t kTracks = 4;  // audio, and up to three layers of the video
    // What is kept for retransmission behind what a new player needs. Beyond a second, a lost
    // packet comes too late for anybody.
    static constexpr int64_t kHistoryMs = 1000;
    static constexpr size_t kHistoryRuns = 2048;
    // A track may be so far behind the others on the timeline: its frames are old only by what it
    // is further behind. Broadcast multiplexes have audio 0.3 to 1 s behind the video, some cameras
    // more.
    static constexpr int64_t kMaxTrackLagMs = 3'000;
    // A GOP longer than this is not kept: new players wait for the next key frame.
    static constexpr uint64_t kMaxBytes = 32u << 20;

    RtpLog() = default;
    ~RtpLog();
    RtpLog(const RtpLog&) = delete;
    RtpLog& operator=(const RtpLog&) = delete;

    void set_listener(LogListener* listener) { listener_ = listener; }

    // ---- writing: begin_frame, add_packet (any number), end_frame ----

    struct Frame {
        uint8_t track = 0;
        uint8_t temporal_layer = 0;
        bool start = false;
        bool key = false;
        bool discardable = false;
        bool marker = true;  // on the last packet
        uint32_t rtp_time = 0;
        int64_t time_ms = 0;
    };

    void begin_frame(const Frame& frame);
    void add_packet(ByteSpan head, ByteSpan body);  // the payload is both, one behind the other
    void end_frame();

    // The stream has a frame of that time, which will be written later (another codec is made of
    // it): what is written until then is that old.
    void note_coming(uint8_t track, int64_t time_ms) { note_time(track, time_ms); }

    // The listener is told, though nothing was written.
    void wake_listener() {
        if (listener_) {
            listener_->on_log_change();
        }
    }

    // No place to begin until the next start.
    void forget_start();

    // What is kept behind the newest, for who is on the way from an earlier start; within
    // kHistoryRuns and kMaxBytes.
    void set_history_ms(int64_t ms) { history_ms_ = ms; }

    // ---- reading ----

    bool has_start() const { return start_.has_value(); }

    uint64_t start() const { return *start_; }  // number of a run

    // First run of the newest key frame of a track, while it is kept.
    std::optional<uint64_t> newest_key(uint8_t track) const {
        const std::optional<uint64_t>& key = keys_[track];
        return key && *key >= first_ ? key : std::nullopt;
    }

    // One past the newest run.
    uint64_t head() const { return first_ + runs_.size(); }

    uint64_t oldest() const { return first_; }

    // nullptr when it is no longer kept, or not there yet. Good until the next write.
    const RtpRun* run(uint64_t number) const {
        return number >= first_ && number < head() ? &runs_[number - first_] : nullptr;
    }

    // The run that has this packet of a track; none when it is gone.
    std::optional<uint64_t> find(uint8_t track, uint64_t packet) const;

    // Packets of the track written so far: the number of the next.
    uint64_t packets(uint8_t track) const { return packets_[track]; }

    int64_t head_time_ms() const { return head_time_ms_; }

    // How far a run is behind the newest frame of its own track. Beyond kMaxTrackLagMs the others
    // count, too: a track that has ended grows old.
    int64_t lag_ms(const RtpRun& run) const { return newest_ms_[run.track] - run.time_ms; }

    // What lag_ms() counts from.
    int64_t newest_ms(uint8_t track) const { return newest_ms_[track]; }

    // Of the runs.
    uint64_t bytes() const { return bytes_; }

  private:
    struct Place {
        uint64_t first_packet;
        uint64_t run;
    };

    void close_run(bool last);
    void note_time(uint8_t track, int64_t time_ms);
    void trim();

    LogListener* listener_ = nullptr;
    std::deque<RtpRun> runs_;
    std::array<std::deque<Place>, kTracks> places_;  // by packet
    std::array<uint64_t, kTracks> packets_{};
    std::array<std::optional<uint64_t>, kTracks> keys_;
    uint64_t first_ = 0;  // number of runs_.front()
    std::optional<uint64_t> start_;
    uint64_t bytes_ = 0;
    int64_t head_time_ms_ = 0;
    std::array<int64_t, kTracks> newest_ms_{};
    int64_t history_ms_ = kHistoryMs;
    // The frame that is open.
    Frame frame_;
    bool frame_begun_ = false;  // a run of it was closed
    Bytes open_;
    uint16_t open_packets_ = 0;
    uint16_t open_packet_bytes_ = 0;
    bool open_ends_ = false;  // a shorter packet came: the run can take no more
};

}  // namespace weir::stream
