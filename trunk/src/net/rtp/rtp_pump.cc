#include "net/rtp/rtp_pump.h"

#include <algorithm>

#include "base/check.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/play_rules.h"
#include "stream/stream.h"

namespace weir::net {
namespace {

constexpr Micros kLeastWait{1'000};  // for what its writer holds back

}  // namespace

RtpPump::RtpPump(stream::Stream& stream,
                 const RtpPumpOptions& options,
                 std::unique_ptr<RtpLogWriter> writer)
    : stream_(stream),
      options_(options),
      writer_(std::move(writer)),
      by_transport_{options.transport, 0} {
    stream_.attach(*writer_);
    writer_->log().set_listener(this);
}

RtpPump::~RtpPump() {
    WEIR_CHECK(players() == 0);
    writer_->log().set_listener(nullptr);
    stream_.detach(*writer_);
}

void RtpPump::wake() {
    if (!woken_) {
        woken_ = true;
        signal_.notify_one();
    }
}

void RtpPump::look_soon() {
    next_look_ = {};
    wake();
}

void RtpPump::on_log_change() {
    wake();
}

void RtpPump::add(RtpPlayer& player) {
    move(player, Place::kFlowing);
    wake();
}

void RtpPump::remove(RtpPlayer& player) {
    move(player, Place::kNowhere);
}

void RtpPump::move(RtpPlayer& player, Place place) {
    if (player.place_ == place) {
        return;
    }
    if (player.place_ == Place::kNowhere) {
        by_transport_.players++;
    } else {
        List& from = list(player.place_);
        from[player.index_] = from.back();
        from[player.index_]->index_ = player.index_;
        from.pop_back();
    }
    player.place_ = place;
    if (place != Place::kNowhere) {
        player.index_ = list(place).size();
        list(place).push_back(&player);
    } else {
        by_transport_.players--;
    }
}

void RtpPump::reconfigure(const PumpOptions& options) {
    options_.wait_publisher = options.wait_publisher;
    next_look_ = {};
    wake();
}

// Yields by budget; players may come and go meanwhile, so places are looked at anew. False:
// interrupted.
bool RtpPump::serve(Place place) {
    MonoTime now = MonoClock::now();
    MonoTime slice_begin = now;
    bool more = true;
    while (more) {
        more = false;
        // From behind: a player that leaves the list is replaced by the last one, which was served.
        for (size_t i = list(place).size(); i > 0; i--) {
            if (i > list(place).size()) {
                continue;
            }
            RtpPlayer& player = *list(place)[i - 1];
            switch (player.flush(now, kRunsPerTurn)) {
                case RtpFlush::kCaughtUp: move(player, Place::kFlowing); break;
                case RtpFlush::kPaced: move(player, Place::kPaced); break;
                case RtpFlush::kBlocked: move(player, Place::kBlocked); break;
                case RtpFlush::kMore: more = true; break;
            }
            now = MonoClock::now();
            if (now - slice_begin >= kSlice) {
                io::yield();
                if (io::interrupted()) {
                    return false;
                }
                now = slice_begin = MonoClock::now();
            }
        }
    }
    return true;
}

void RtpPump::look(MonoTime now) {
    next_look_ = now + kLookPeriod;
    const bool gone = !stream_.live() && now - stream_.absent_since() > options_.wait_publisher;
    for (Place place : {Place::kFlowing, Place::kPaced, Place::kBlocked}) {
        for (size_t i = list(place).size(); i > 0; i--) {
            RtpPlayer& player = *list(place)[i - 1];
            const RtpPlayer::Fate fate = player.look(now);
            if (gone) {
                player.end_playing(EndClass::kNoPublisher, "publisher gone");
            } else if (!fate.go_on) {
                player.end_playing(fate.why, fate.reason);
            }
        }
    }
}

void RtpPump::run() {
    while (!io::interrupted() && !idle()) {
        const MonoTime held_until = writer_->release(MonoClock::now());
        woken_ = false;
        for (Place place : {Place::kBlocked, Place::kPaced, Place::kFlowing}) {
            if (!serve(place)) {
                return;
            }
        }
        const MonoTime now = MonoClock::now();
        if (now >= next_look_) {
            look(now);
        }
        if (woken_) {
            continue;
        }
        const bool held_back = !list(Place::kPaced).empty() || !list(Place::kBlocked).empty();
        const Micros tick =
            std::min(held_back ? kPaceTick : kLookPeriod, std::max(next_look_ - now, kPaceTick));
        const Micros wait = std::min(tick, std::max(held_until - now, kLeastWait));
        if (signal_.wait_until(io::Deadline::after(wait)).code() == ErrorCode::kInterrupted) {
            return;
        }
    }
}

}  // namespace weir::net
