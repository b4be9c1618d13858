#include "net/vod_player.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/link_facts.h"

namespace weir::net {
namespace {

constexpr int kTurnsInARow = 16;  // of run() that did not have to wait
// From where it plays: what a spoilt file says beyond that is no time to reckon with.
constexpr int64_t kMaxAheadMs = int64_t{365} * 24 * 3'600'000;

}  // namespace

VodPlayer::VodPlayer(io::TcpStream& stream,
                     Client& client,
                     std::unique_ptr<VodSource> source,
                     VodWriter& writer,
                     const VodOptions& options)
    : stream_(stream),
      client_(client),
      source_(std::move(source)),
      writer_(writer),
      options_(options),
      created_(MonoClock::now()),
      progress_(created_),
      heard_(created_),
      starved_at_(created_) {
    source_->set_listener(this);
    stream_.set_handler(this);
    limit_stall(options_.write_stall);
}

VodPlayer::~VodPlayer() {
    source_->set_listener(nullptr);
    stream_.set_handler(nullptr);
}

void VodPlayer::on_ready(uint8_t) {
    changed_.notify_all();
}

Bytes VodPlayer::take_unsent() {
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent_));
    sent_ = 0;
    return std::exchange(out_, Bytes());
}

LagFacts VodPlayer::lag_facts() const {
    const char* const state = paused_ || at_end_ ? "paused" : unsent() > 0 ? "blocked" : "flowing";
    return {.state = state, .lag_ms = 0, .bytes = unsent()};
}

bool VodPlayer::say(ByteSpan bytes) {
    answers_ += bytes.size();
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    return answers_ <= kMaxAnswerBytes;
}

// A thin recording may never fill the send buffer: then only the kernel knows that the peer takes
// nothing.
void VodPlayer::limit_stall(Millis limit) {
    stream_.apply({.user_timeout = limit});
}

void VodPlayer::pause() {
    paused_ = true;
    limit_stall(kMaxPause);
}

void VodPlayer::resume() {
    paused_ = false;
    progress_ = MonoClock::now();
    limit_stall(options_.write_stall);
    clocked_ = false;
    starved_at_ = MonoClock::now();
}

void VodPlayer::seek(int64_t time_ms) {
    source_->seek(std::max<int64_t>(time_ms, 0));
    announce_ = true;
    clocked_ = false;
    at_end_ = false;
    starved_at_ = MonoClock::now();
}

// ---- sending ----

Error VodPlayer::explain_end(const io::IoResult& read) {
    if (read.status == io::IoStatus::kClosed) {
        return make_error(ErrorCode::kClosed, "closed by the player");
    }
    return read.error_number == ETIMEDOUT
               ? make_error(ErrorCode::kTimeout, "write stalled: the player took nothing")
               : Error::from_errno(read.error_number, "socket error");
}

Error VodPlayer::flush() {
    while (unsent() > 0 && stream_.writable()) {
        const io::IoResult written = stream_.try_write(ByteSpan(out_).subspan(sent_));
        if (written.status == io::IoStatus::kWouldBlock) {
            break;
        }
        if (written.status != io::IoStatus::kDone) {
            return explain_end(written);
        }
        sent_ += written.bytes;
        client_.sent_bytes += written.bytes;
        progress_ = MonoClock::now();
    }
    answers_ = std::min(answers_, unsent());
    if (unsent() == 0) {
        sent_ = 0;
        out_.clear();
        if (out_.capacity() > 2 * kMaxUnsent) {
            out_.shrink_to_fit();
        }
        progress_ = MonoClock::now();
    } else if (sent_ > kMaxUnsent) {
        out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent_));
        sent_ = 0;
    }
    return {};
}

MonoTime VodPlayer::due(const media::MediaPacket& packet) const {
    const int64_t ahead_ms = std::clamp(packet.time_ms() - began_ms_, -kMaxAheadMs, kMaxAheadMs);
    return began_at_ + Millis(ahead_ms) - options_.lead;
}

// Writes what is due, as long as the peer takes it.
void VodPlayer::flow(MonoTime now) {
    while (!paused_ && !at_end_ && unsent() < kMaxUnsent) {
        media::MediaPacket* const packet = source_->front();
        if (packet == nullptr && !source_->ended()) {
            return;
        }
        if (packet == nullptr || packet->time_ms() >= stop_ms_) {
            writer_.on_vod_end(out_);
            at_end_ = true;
            heard_ = now;
            return;
        }
        if (!clocked_ || now - due(*packet) > kMaxLate + options_.lead) {
            clocked_ = true;
            began_at_ = now;
            began_ms_ = packet->time_ms();
        }
        if (due(*packet) > now) {
            return;
        }
        if (std::exchange(announce_, false)) {
            writer_.on_vod_start(*source_, *packet, out_);
        }
        if (client_.first_frame_ms < 0) {
            client_.first_frame_ms =
                static_cast<int32_t>(std::chrono::duration_cast<Millis>(now - created_).count());
        }
        starved_at_ = now;
        writer_.on_vod_packet(source_->pop(), out_);
    }
}

MonoTime VodPlayer::silent_at() const {
    if (at_end_ || paused_) {
        return heard_ + (at_end_ ? kMaxIdleEnd : kMaxPause);
    }
    return options_.silence > Millis(0) ? heard_ + options_.silence : MonoTime::max();
}

Error VodPlayer::check(MonoTime now) const {
    if (!paused_ && unsent() > 0 && now - progress_ >= options_.write_stall) {
        return make_error(ErrorCode::kTimeout, "write stalled: the player took nothing");
    }
    if (now >= silent_at()) {
        return at_end_ ? make_error(ErrorCode::kTimeout, "the recording has been played to its end")
                       : make_error(ErrorCode::kTimeout, "it has {} for {} s and said nothing",
                                    paused_ ? "paused" : "played",
                                    std::chrono::duration_cast<Seconds>(now - heard_).count());
    }
    const bool starves =
        !paused_ && !at_end_ && !source_->grows() && unsent() == 0 && source_->front() == nullptr;
    if (starves && now - starved_at_ >= kMaxStarve) {
        return make_error(ErrorCode::kTimeout, "the disk gave nothing for {} s",
                          std::chrono::duration_cast<Seconds>(kMaxStarve).count());
    }
    return {};
}

MonoTime VodPlayer::media_at(MonoTime now) {
    if (unsent() > 0 && !paused_) {
        return progress_ + options_.write_stall;
    }
    if (paused_ || at_end_) {
        return MonoTime::max();
    }
    if (const media::MediaPacket* const packet = source_->front()) {
        return clocked_ ? due(*packet) : now;
    }
    if (now - polled_at_ >= kPoll) {
        polled_at_ = now;
        source_->poll();
    }
    return polled_at_ + kPoll;
}

// Yields.
Error VodPlayer::run() {
    if (++turns_ >= kTurnsInARow) {
        turns_ = 0;
        io::yield();  // also where the peer talks without a pause
    }
    heard_ = MonoClock::now();
    for (;;) {
        if (io::interrupted()) {
            return make_error(ErrorCode::kInterrupted, "server stopping");
        }
        const uint64_t before = client_.sent_bytes;
        MonoTime now = MonoClock::now();
        flow(now);
        WEIR_TRY(flush());
        if (stream_.readable() || stream_.hangup()) {
            return {};
        }
        if (client_.sent_bytes - before >= kMaxUnsent) {
            io::yield();  // there may be more that is due
            continue;
        }
        now = MonoClock::now();
        WEIR_TRY(check(now));
        const MonoTime until = std::min(silent_at(), media_at(now));
        if (until <= now) {
            io::yield();
            continue;
        }
        turns_ = 0;
        Error waited = changed_.wait_until(io::Deadline::at(until));
        if (waited && waited.code() != ErrorCode::kTimeout) {
            return waited;
        }
    }
}

}  // namespace weir::net
