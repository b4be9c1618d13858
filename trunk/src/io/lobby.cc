#include "io/lobby.h"

#include <tuple>
#include <utility>

#include "base/check.h"
#include "io/deadline.h"
#include "io/tcp.h"

namespace weir::io {

Lobby::Waiting::Waiting(Lobby& l, TcpStream& s, std::function<void()> b)
    : lobby(l), stream(s), body(std::move(b)) {
    stream.set_handler(this);
}

Lobby::Waiting::~Waiting() {
    if (body) {
        stream.set_handler(nullptr);
    }
}

void Lobby::Waiting::on_ready(uint8_t ready) {
    if ((ready & (kReadable | kHangup | kFault)) != 0) {
        lobby.let_in(self);
    }
}

Lobby::~Lobby() {
    WEIR_CHECK(waiting_.empty() && !clock_.running());
}

void Lobby::wait(TcpStream& stream, MonoTime until, std::function<void()> body) {
    WEIR_CHECK(!stream.encrypted());
    if (closed_) {
        return;
    }
    const auto who = waiting_.emplace(std::piecewise_construct, std::forward_as_tuple(until),
                                      std::forward_as_tuple(*this, stream, std::move(body)));
    who->second.self = who;
    if (stream.replays()) {  // it has said something already
        let_in(who);
        return;
    }
    if (who != waiting_.begin()) {
        return;
    }
    sooner_.notify_one();
    if (!clock_.running()) {
        Result<Coroutine> clock =
            Coroutine::spawn("lobby", StackSize::kNormal, [this] { watch_time(); });
        if (clock.ok()) {
            clock_ = std::move(*clock);
        } else {
            let_in(who);  // who would be forgotten here waits in a coroutine, if one can be had
        }
    }
}

void Lobby::let_in(Waitings::iterator who) {
    who->second.stream.set_handler(nullptr);
    std::function<void()> body = std::exchange(who->second.body, nullptr);
    waiting_.erase(who);
    const Error spawned = group_.spawn(name_, StackSize::kNormal, std::move(body));
    if (spawned && failures_.allow(MonoClock::now())) {
        log::error("{} connection dropped: {} suppressed={}", name_, spawned.message(),
                   failures_.suppressed());
    }
}

void Lobby::watch_time() {
    set_log_id({});  // not that of the connection that came first
    for (;;) {
        const Deadline next =
            waiting_.empty() ? Deadline::forever() : Deadline::at(waiting_.begin()->first);
        const Error woken = sooner_.wait_until(next);  // ended by dismiss()
        if (woken.code() == ErrorCode::kInterrupted) {
            return;
        }
        const MonoTime now = MonoClock::now();
        for (size_t i = 0;
             i < kTimeoutsPerTurn && !waiting_.empty() && waiting_.begin()->first <= now; i++) {
            let_in(waiting_.begin());
        }
        yield();
    }
}

void Lobby::dismiss() {
    closed_ = true;
    clock_.interrupt();
    clock_.join();
    waiting_.clear();
}

}  // namespace weir::io
