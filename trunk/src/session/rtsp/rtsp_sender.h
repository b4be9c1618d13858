// A place in the log that all players of a stream by UDP share, and how its packets go out from
// there: paced, and from the newest key frame on for who is too far behind. Never yields.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "io/tcp.h"
#include "net/rtp/rtp_player.h"
#include "proto/rtp/pacer.h"
#include "session/rtsp/rtsp_log_writer.h"

namespace weir::session {

class RtspSender {
  public:
    // A key frame goes out so fast at most: a link of 100 Mbit/s takes it.
    static constexpr int64_t kPaceBps = 90'000'000;
    // What is behind the first frame of a start goes out so many times as fast as it was made: a
    // whole GOP at once would overrun the socket of a busy client.
    static constexpr int kCatchUp = 8;
    static constexpr Millis kFirstBurst{40};
    // Further behind the head it goes on with the newest key frame.
    static constexpr int64_t kLagToJumpMs = 1'000;

    explicit RtspSender(const RtspLogWriter& writer) : writer_(writer) {}

    // To the start of the log, where there is one.
    void place() {
        cursor_.reset();
        began_at_.reset();
        if (writer_.log().has_start()) {
            cursor_ = writer_.log().start();
        }
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
                return net::RtpFlush::kCaughtUp;
            }
            lag_ms_ = log.head_time_ms() - run->time_ms;
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

    // Of what was sent last, behind the head of the stream; 0: all of it was sent.
    int64_t lag_ms() const {
        return cursor_ && *cursor_ < writer_.log().head() ? lag_ms_ : int64_t{0};
    }

  private:
    bool is_early(const stream::RtpRun& run, MonoTime now) {
        if (!began_at_) {
            began_at_ = now;
            began_ms_ = run.time_ms;
        }
        return Millis(run.time_ms - began_ms_) > kFirstBurst + (now - *began_at_) * kCatchUp;
    }

    void skip_old(const stream::RtpLog& log) {
        const stream::RtpRun* const run = log.run(*cursor_);
        const bool late = run != nullptr && log.head_time_ms() - run->time_ms > kLagToJumpMs &&
                          log.has_start() && log.start() > *cursor_;
        if (*cursor_ < log.oldest() || late) {
            const uint64_t next = log.has_start() ? log.start() : log.head();
            skipped_runs_ += next - *cursor_;
            resyncs_++;
            cursor_ = next;
            began_at_.reset();
        }
    }

    const RtspLogWriter& writer_;
    rtp::Pacer pacer_{kPaceBps};
    std::optional<uint64_t> cursor_;    // number of a run; none: there was no start yet
    std::optional<MonoTime> began_at_;  // at the start, or at a newer one
    int64_t began_ms_ = 0;              // on the stream's timeline
    int64_t lag_ms_ = 0;
    uint64_t packets_ = 0;
    uint64_t skipped_runs_ = 0;
    uint64_t resyncs_ = 0;
};

}  // namespace weir::session
