#include "session/webrtc/rtc_pump.h"

#include <algorithm>

#include "base/check.h"

namespace weir::session {

RtcPump::RtcPump(stream::Stream& stream,
                 Millis wait_publisher,
                 io::WorkerPool* workers,
                 int64_t opus_bps)
    : stream_(stream),
      wait_publisher_(wait_publisher),
      muxer_(workers, opus_bps, stream.key().to_string()) {
    muxer_.set_stream(stream_);
    stream_.attach(muxer_);
    muxer_.log().set_listener(this);
}

RtcPump::~RtcPump() {
    WEIR_CHECK(players() == 0);
    muxer_.log().set_listener(nullptr);
    stream_.detach(muxer_);
}

void RtcPump::wake() {
    if (!woken_) {
        woken_ = true;
        signal_.notify_one();
    }
}

void RtcPump::on_log_change() {
    wake();
}

void RtcPump::add(PumpedPlayer& player) {
    move(player, Place::kFlowing);
    wake();
}

void RtcPump::remove(PumpedPlayer& player) {
    move(player, Place::kNowhere);
}

void RtcPump::move(PumpedPlayer& player, Place place) {
    if (player.place_ == place) {
        return;
    }
    if (player.place_ != Place::kNowhere) {
        List& from = list(player.place_);
        from[player.index_] = from.back();
        from[player.index_]->index_ = player.index_;
        from.pop_back();
    }
    player.place_ = place;
    if (place != Place::kNowhere) {
        player.index_ = list(place).size();
        list(place).push_back(&player);
    }
}

// Yields by budget; players may come and go meanwhile, so places are looked at anew. False:
// interrupted.
bool RtcPump::serve(Place place) {
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
            PumpedPlayer& player = *list(place)[i - 1];
            switch (player.flush(now, kRunsPerTurn)) {
                case RtcPlayer::Flush::kCaughtUp: move(player, Place::kFlowing); break;
                case RtcPlayer::Flush::kPaced: move(player, Place::kPaced); break;
                case RtcPlayer::Flush::kBlocked: move(player, Place::kBlocked); break;
                case RtcPlayer::Flush::kMore: more = true; break;
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

void RtcPump::look(MonoTime now) {
    next_look_ = now + kLookPeriod;
    const bool gone = !stream_.live() && now - stream_.absent_since() > wait_publisher_;
    for (Place place : {Place::kFlowing, Place::kPaced, Place::kBlocked}) {
        for (size_t i = list(place).size(); i > 0; i--) {
            PumpedPlayer& player = *list(place)[i - 1];
            const PumpedPlayer::Fate fate = player.look(now);
            if (gone) {
                player.end_playing(net::EndClass::kNoPublisher, "publisher gone");
            } else if (!fate.go_on) {
                player.end_playing(net::EndClass::kError, fate.reason);
            }
        }
    }
}

void RtcPump::run() {
    while (!io::interrupted() && !idle()) {
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
        const Micros wait =
            std::min(held_back ? kPaceTick : kLookPeriod, std::max(next_look_ - now, kPaceTick));
        if (signal_.wait_until(io::Deadline::after(wait)).code() == ErrorCode::kInterrupted) {
            return;
        }
    }
}

}  // namespace weir::session
