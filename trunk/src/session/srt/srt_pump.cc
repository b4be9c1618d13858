#include "session/srt/srt_pump.h"

#include <algorithm>

#include "base/check.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/play_rules.h"

namespace weir::session {
namespace {

const int g_kind = 0;  // its address stands for the kind

}  // namespace

const net::PumpKind SrtPump::kKind{&g_kind, "srt", "srt pump"};

SrtPump::SrtPump(stream::Stream& stream, io::SrtEngine& engine, const net::PumpOptions& options)
    : stream_(stream), engine_(engine), options_(options) {
    stream_.attach(muxer_);
    muxer_.log().set_listener(this);
}

SrtPump::~SrtPump() {
    WEIR_CHECK(players_.empty());
    muxer_.log().set_listener(nullptr);
    stream_.detach(muxer_);
}

void SrtPump::add(SrtPlayer& player) {
    players_.push_back(&player);
    count_.players = players_.size();
    used_ = true;
    on_log_change();
}

void SrtPump::remove(SrtPlayer& player) {
    std::erase(players_, &player);
    count_.players = players_.size();
    stale_ = true;
    on_log_change();
}

void SrtPump::on_log_change() {
    if (!woken_) {
        woken_ = true;
        signal_.notify_one();
    }
}

// What the log has got since the last time, for all who flow; then others may begin.
void SrtPump::drain() {
    const stream::WireLog& log = muxer_.log();
    if (stale_) {
        stale_ = false;
        flowing_.clear();
        for (const SrtPlayer* player : players_) {
            if (player->flowing) {
                flowing_.push_back(player->link.id());
            }
        }
        if (flowing_.empty()) {
            cursor_ = {};  // it would keep blocks
        }
    }
    if (cursor_.block && log.bytes_behind(cursor_) > 0) {
        // Shared, as another thread sends it and lets it go.
        auto bytes = std::make_shared<Bytes>();
        const size_t size = log.bytes_behind(cursor_);
        bytes->reserve(size);
        log.copy_until(cursor_, log.head(), *bytes);
        stream::WireLog::advance(cursor_, size);
        stream_.note_sent(size * flowing_.size());
        engine_.send(flowing_, std::move(bytes));
    }
    begin_waiting();
}

void SrtPump::begin_waiting() {
    const stream::WireLog& log = muxer_.log();
    if (!log.has_start()) {
        return;
    }
    std::vector<io::SrtId> ids;
    const MonoTime now = MonoClock::now();
    for (SrtPlayer* player : players_) {
        if (!player->flowing) {
            player->flowing = true;
            ids.push_back(player->link.id());
            player->client.first_frame_ms = static_cast<int32_t>(
                std::chrono::duration_cast<Millis>(now - player->since).count());
            if (player->on_flow) {
                player->on_flow();
            }
        }
    }
    if (ids.empty()) {
        return;
    }
    auto bytes = std::make_shared<Bytes>();
    muxer_.front(false, *bytes);
    log.copy_until(log.start(), log.head(), *bytes);
    stream_.note_sent(bytes->size() * ids.size());
    engine_.send(ids, std::move(bytes));
    if (!cursor_.block) {
        cursor_ = log.start();
        stream::WireLog::advance(cursor_, log.bytes_behind(cursor_));
    }
    flowing_.insert(flowing_.end(), ids.begin(), ids.end());
}

void SrtPump::look(MonoTime now) {
    next_look_ = now + kLook;
    if (stream_.live() || now - stream_.absent_since() <= options_.wait_publisher) {
        return;
    }
    for (SrtPlayer* player : std::vector<SrtPlayer*>(players_)) {
        if (now - player->since > options_.wait_publisher) {
            player->link.end(net::EndClass::kNoPublisher, "publisher gone");
        }
    }
}

void SrtPump::run() {
    while (!io::interrupted() && !(used_ && players_.empty())) {
        if (woken_) {
            woken_ = false;
            drain();
        }
        const MonoTime now = MonoClock::now();
        if (now >= next_look_) {
            look(now);
        }
        if (io::sleep_for(kDrain).code() == ErrorCode::kInterrupted) {
            return;
        }
        if (!woken_ &&
            signal_.wait_until(io::Deadline::after(kLook)).code() == ErrorCode::kInterrupted) {
            return;
        }
    }
}

}  // namespace weir::session
