// What one player gets of a stream's RtpLog: packets with numbers and headers of its own, sealed by
// an RtpSealer. No socket: bursts go to an RtpOutlet. Never yields.
//
// A cursor is the number of the next run of the log, one for each track: audio does not wait behind
// a large video frame, and audio that had to wait for the path is not sent. Packets that are
// skipped leave no hole in the player's numbers, so a gap that it sees is a loss.
//
// A frame is old by what it is behind the newest of its own track (RtpLog::lag_ms): the audio of a
// stream may come up to RtpLog::kMaxTrackLagMs behind its video, or before it, and all of it is
// sent. Players delay the other track then, by what the sender reports say.
//
// Where the log has several tracks of the same video (simulcast), the player gets one at a time, as
// one track: numbers go on, times rise, and another one begins with its key frame.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/clock.h"
#include "base/random.h"
#include "net/rtp/head_clock.h"
#include "net/rtp/rtp_player.h"
#include "net/rtp/rtp_profile.h"
#include "net/rtp/rtp_sealer.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/report.h"
#include "proto/rtp/pacer.h"
#include "stream/rtp_log.h"

namespace weir::net {

// Where packets go.
class RtpOutlet {
  public:
    // False: send_burst() would be too. To be asked first: packets that are made in vain have used
    // up numbers of the transport-wide feedback, and look lost.
    virtual bool takes_burst() const { return true; }

    // Packets of `segment_bytes` each, end to end, the last may be shorter; 0: one packet. False:
    // the path takes nothing now; it will say when it does.
    virtual bool send_burst(ByteSpan packets, size_t segment_bytes) = 0;

  protected:
    ~RtpOutlet() = default;
};

// What was agreed with a player about a track.
struct RtpTrackSetup {
    uint8_t payload_type = 0;
    uint32_t ssrc = 0;
    uint32_t clock_hz = 90'000;
};

struct RtpSenderStats {
    uint64_t packets = 0;
    uint64_t bytes = 0;          // of RTP payloads
    uint64_t resyncs = 0;        // moves to a newer key frame
    uint64_t skipped_runs = 0;   // left out by that, or because the path was full
    uint64_t layer_changes = 0;  // to another track of the same video, after the first
    Micros rtt{};
    double loss = 0;  // share of the last report, 0 to 1
};

// What a receiver report said.
struct RtpReception {
    std::optional<Micros> rtt;
    // Packets of video since the report before.
    size_t received = 0;
    size_t lost = 0;
};

class RtpSender {
  public:
    // Further behind its newest frame than this, frames of the video that nothing refers to are
    // left out; further than the second, all up to the newest key frame.
    static constexpr int64_t kLagToThinMs = 250;
    static constexpr int64_t kLagToJumpMs = 1'000;
    // After its path took nothing for longer than this, a player gets no audio that is older. The
    // same holds for the first audio up to kFirstAudioWait after the start: another codec may be
    // made of a whole GOP then, and with all of that a player would begin far behind.
    static constexpr int64_t kMaxAudioLagMs = 200;
    static constexpr Micros kFirstAudioWait{2'000'000};
    // Of what is there at the start: it decides how far behind a browser plays its audio.
    static constexpr int64_t kFirstAudioLagMs = 60;
    // Audio that comes at once (a PES packet has up to 0.4 s) is sent, up to this.
    static constexpr int64_t kMaxAudioBunchMs = 2'000;
    // For a path that takes whatever comes.
    static constexpr int64_t kNoPace = std::numeric_limits<int64_t>::max();

    // `log` and `sealer` must outlive this. `audio`, `video`: what was agreed; null where the
    // player takes none. `pace_bps`: so fast at most; whole frames at once above it.
    RtpSender(const stream::RtpLog& log,
              RtpSealer& sealer,
              const RtpTrackSetup* audio,
              const RtpTrackSetup* video,
              RandomSource& random,
              MonoTime now,
              int64_t pace_bps = kNoPace);
    RtpSender(const RtpSender&) = delete;
    RtpSender& operator=(const RtpSender&) = delete;

    // Sends what is new, as far as the path allows, at most `most_runs` of video.
    RtpFlush flush(MonoTime now, RtpOutlet& outlet, size_t most_runs);

    MonoTime next_send() const { return pacer_.next_send(); }

    // Receiver and sender reports of the peer; other packets mean nothing here.
    RtpReception on_rtcp(MonoTime now, const rtcp::PacketView& packet);

    // Sender reports (RFC 3550 §6.4.1), when they are due; the size of what was written to `out`,
    // which is not sealed. `unix_epoch`: MonoTime of 1970. `wall_offset_us`: the wall clock minus
    // the stream's time, where the reports have another clock than the server's.
    size_t report(MonoTime now,
                  MonoTime unix_epoch,
                  std::span<uint8_t> out,
                  std::optional<int64_t> wall_offset_us = {});

    MonoTime next_report() const { return next_report_; }

    // The next one is due a moment after `now`.
    void postpone_report(MonoTime now);

    const RtpSenderStats& stats() const { return stats_; }

    // How far the newest video that was sent was behind the log's newest video.
    int64_t lag_ms() const { return lag_ms_; }

    // ---- for protocols with more ----

    void set_pace(int64_t bits_per_second) { pacer_.set_rate(bits_per_second); }

    // So much went out besides, on the same path.
    void note_sent(MonoTime now, size_t bytes) { pacer_.on_sent(now, bytes); }

    // Which of the log's tracks is to be sent as video, from its next key frame on. `one_of_many`:
    // there are others.
    void want_video(uint8_t log_track, bool one_of_many) {
        wanted_track_ = log_track;
        one_of_many_ = one_of_many;
    }

    // The log's track that is sent as video.
    std::optional<uint8_t> video_track() const { return video_track_; }

    // Whether it has begun to play.
    bool placed() const { return placed_; }

    // The player's track with that SSRC; nothing: none.
    std::optional<uint8_t> track_of(uint32_t ssrc) const;

    const RtpTrackSetup& setup(uint8_t track) const { return tracks_[track].setup; }

    // The newest packet of a track with that sequence number, to be sent again: the run that it is
    // in, and its header, with the number and time that it had.
    struct Sent {
        const stream::RtpRun* run = nullptr;  // null: it is no longer there
        size_t index = 0;                     // in the run
        RtpRunHeader header;
    };

    // Nothing: it was never sent.
    std::optional<Sent> find_sent(uint8_t track, uint16_t sequence) const;

  private:
    // The log's packets of a track as this player's: its number is the log's minus `behind`, from
    // `from` (of its own numbers) on. The same for times: the log's plus `time_shift`.
    struct Mapping {
        uint64_t from = 0;
        uint64_t behind = 0;
        uint32_t time_shift = 0;
        uint8_t log_track = 0;
    };

    static constexpr size_t kMappings = 8;

    struct Track {
        RtpTrackSetup setup;
        bool used = false;
        uint16_t first_sequence = 0;
        uint32_t time_offset = 0;
        uint32_t time_shift = 0;  // of what is sent now
        uint32_t last_time = 0;   // of the newest frame, shifted
        uint64_t next = 0;        // number of the player's next packet, from 0 on
        uint32_t packets = 0;     // that were sent, as sender reports count them
        uint32_t bytes = 0;
        uint64_t cursor = 0;                        // number of a run
        std::array<Mapping, kMappings> mappings{};  // newest first
    };

    static void set_up(Track& track, const RtpTrackSetup* setup, RandomSource& random);
    void place(MonoTime now, uint64_t run);
    void skip_old_audio();
    std::optional<uint64_t> where_to_begin() const;
    int64_t oldest_audio_ms(MonoTime now) const;
    bool takes_video(const stream::RtpRun& run);
    RtpFlush flush_audio(MonoTime now, RtpOutlet& outlet);
    RtpFlush flush_video(MonoTime now, RtpOutlet& outlet, size_t most_runs);
    static void note_mapping(Track& track, const stream::RtpRun& run);
    bool send_run(MonoTime now, uint8_t index, const stream::RtpRun& run, RtpOutlet& outlet);
    RtpReception on_report(MonoTime now, const rtcp::ReportBlocksView& blocks);

    const stream::RtpLog& log_;
    RtpSealer& sealer_;
    std::array<Track, 2> tracks_;  // kRtpAudioTrack, kRtpVideoTrack
    bool placed_ = false;
    MonoTime placed_at_{};
    bool audio_begun_ = false;                     // some was sent since then
    std::optional<MonoTime> audio_blocked_since_;  // none: its path took all that there was
    bool frame_open_ = false;                      // a video frame was sent in part
    bool one_of_many_ = false;
    uint8_t wanted_track_ = kRtpVideoTrack;  // of the log, from its next key frame on
    std::optional<uint8_t> video_track_;     // of the log, that is sent
    int64_t lag_ms_ = 0;                     // of the last video frame
    HeadClock head_;
    rtp::Pacer pacer_;
    MonoTime next_report_;
    MonoTime last_report_at_{};
    uint32_t last_report_ntp_ = 0;
    uint32_t reported_highest_ = 0;  // of the last receiver report of video
    int32_t reported_lost_ = 0;
    RtpSenderStats stats_;
};

}  // namespace weir::net
