// A place in the log that all players of a stream by UDP share, and how its packets go out from
// there: paced, and from the newest key frame on for who is too far behind. Never yields.
//
// A player that begins catches up: it gets the first frame at once, and what is behind it a little
// faster than it was made. Players that take the time of arrival for the time of the media
// (GStreamer's jitter buffer in its usual mode) follow that; of a GOP that comes in a burst they
// would give most frames the same time, or begin anew in the middle of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "io/io_result.h"
#include "net/rtp/rtp_player.h"
#include "proto/rtp/pacer.h"
#include "session/rtsp/rtsp_log_writer.h"

namespace weir::session {

class RtspSender {
  public:
    // A key frame goes out so fast at most: a link of 100 Mbit/s takes it.
    static constexpr int64_t kPaceBps = 90'000'000;
    // Of the stream's time, that goes out at once.
    static constexpr Millis kFirstBurst{40};
    // Behind that, of a start up to kNear ago: in half of the time; of others in four fifths.
    static constexpr Millis kNear{1'000};
    static constexpr int kNearPercent = 200;
    static constexpr int kFarPercent = 125;
    // Who has caught up and is further behind the head goes on with the newest key frame.
    static constexpr int64_t kLagToJumpMs = 1'000;

    explicit RtspSender(RtspLogWriter& writer) : writer_(writer) {}

    ~RtspSender() { leave(); }

    RtspSender(const RtspSender&) = delete;
    RtspSender& operator=(const RtspSender&) = delete;

    // To the start of the log, where there is one.
    void place() {
        leave();
        if (writer_.log().has_start()) {
            begin_at(writer_.log().start());
        }
    }

    // Nothing is to be sent until place().
    void leave() {
        cursor_.reset();
        end_catching_up();
    }

    bool placed() const { return cursor_.has_value(); }

    // At most `most_runs`. `send(run)`: what became of it; nothing: its track is not wanted.
    template <typename Send>
    net::RtpFlush flush(MonoTime now, size_t most_runs, Send&& send) {
        const stream::RtpLog& log = writer_.log();
        if (!cursor_) {
            place();
        }
        for (size_t sent = 0; cursor_ && sent < most_runs;) {
            skip_old(log);
            const stream::RtpRun* const run = log.run(*cursor_);
            if (run == nullptr) {
                end_catching_up();
                return net::RtpFlush::kCaughtUp;
            }
            lag_ms_ = log.lag_ms(*run);
            if (!pacer_.may_send(now) || is_early(*run, now)) {
                return net::RtpFlush::kPaced;
            }
            if (const std::optional<io::IoStatus> status = send(*run)) {
                if (*status == io::IoStatus::kWouldBlock) {
                    return net::RtpFlush::kBlocked;
                }
                pacer_.on_sent(now, run->size_bytes);
                packets_ += run->packets;
                sent++;
            }
            ++*cursor_;
        }
        return cursor_ ? net::RtpFlush::kMore : net::RtpFlush::kCaughtUp;
    }

    uint64_t packets() const { return packets_; }

    uint64_t skipped_runs() const { return skipped_runs_; }

    // Moves to a newer key frame.
    uint64_t resyncs() const { return resyncs_; }

    // Of what was sent last, behind the newest of its track; 0: all of it was sent.
    int64_t lag_ms() const {
        return cursor_ && *cursor_ < writer_.log().head() ? lag_ms_ : int64_t{0};
    }

  private:
    void begin_at(uint64_t run) {
        cursor_ = run;
        began_at_.reset();
        if (!catching_up_) {
            catching_up_ = true;
            writer_.begin_catching_up();
        }
    }

    void end_catching_up() {
        if (catching_up_) {
            catching_up_ = false;
            writer_.end_catching_up();
        }
    }

    bool is_early(const stream::RtpRun& run, MonoTime now) {
        if (!catching_up_) {
            return false;
        }
        if (!began_at_) {
            began_at_ = now;
            const stream::RtpLog& log = writer_.log();
            const Millis behind(log.lag_ms(run));
            percent_ = behind <= kNear ? kNearPercent : kFarPercent;
            for (uint8_t track = 0; track < began_ms_.size(); track++) {
                // One that sends nothing may begin, or go on, where the other one is.
                const bool silent =
                    log.head_time_ms() - log.newest_ms(track) >= stream::RtpLog::kMaxTrackLagMs;
                began_ms_[track] = log.newest_ms(silent ? run.track : track) - behind.count();
            }
        }
        return Millis(run.time_ms - began_ms_[run.track]) >
               kFirstBurst + (now - *began_at_) * percent_ / 100;
    }

    // Who catches up may be as far behind as its start is.
    void skip_old(const stream::RtpLog& log) {
        const stream::RtpRun* const run = log.run(*cursor_);
        const bool late = run != nullptr && !catching_up_ && log.lag_ms(*run) > kLagToJumpMs &&
                          log.has_start() && log.start() > *cursor_;
        if (*cursor_ < log.oldest() || late) {
            const uint64_t next = log.has_start() ? log.start() : log.head();
            skipped_runs_ += next - *cursor_;
            resyncs_++;
            begin_at(next);
        }
    }

    RtspLogWriter& writer_;
    rtp::Pacer pacer_{kPaceBps};
    std::optional<uint64_t> cursor_;    // number of a run; none: there was no start yet
    std::optional<MonoTime> began_at_;  // at the start, or at a newer one
    // On the stream's timeline, of each track: one may be behind the other there.
    std::array<int64_t, stream::RtpLog::kTracks> began_ms_{};
    int64_t lag_ms_ = 0;
    uint64_t packets_ = 0;
    uint64_t skipped_runs_ = 0;
    uint64_t resyncs_ = 0;
    int percent_ = kFarPercent;  // of the pace of the stream
    bool catching_up_ = false;
};

}  // namespace weir::session
