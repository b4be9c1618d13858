// Lobby: connections that wait for their peer to say something hold no coroutine, and so no stack.
//
// A silent connection costs its socket, its TcpStream and an entry here. With the first byte it
// gets its coroutine, which finds that byte unread.
#pragma once

#include <functional>
#include <map>

#include "base/clock.h"
#include "base/log.h"
#include "base/object_count.h"
#include "io/coroutine.h"
#include "io/reactor.h"
#include "io/signal.h"

namespace weir::io {

class TcpStream;

class Lobby {
  public:
    // So many get their coroutine at once when their time is up, before others have a turn.
    static constexpr size_t kTimeoutsPerTurn = 64;

    // `name`: a literal, that of the coroutines, which `group` owns; it must outlive this.
    Lobby(const char* name, TaskGroup& group) : name_(name), group_(group) {}

    ~Lobby();  // nobody waits any more
    Lobby(const Lobby&) = delete;
    Lobby& operator=(const Lobby&) = delete;

    // Never yields. Runs `body` in a coroutine once `stream` has something to read, its peer has
    // ended, or `until` has passed; from dismiss() on, never. `body` owns the stream, which must
    // have been read empty or be new, and must not be encrypted (bytes may wait inside). When no
    // coroutine can be had, `body` is destroyed, and the log says so.
    void wait(TcpStream& stream, MonoTime until, std::function<void()> body);

    size_t size() const { return waiting_.size(); }

    // Yields. Destroys the bodies of all who wait, and of those who come from now on.
    void dismiss();

  private:
    struct Waiting;
    using Waitings = std::multimap<MonoTime, Waiting>;

    struct Waiting final : private EventHandler, private Counted<Waiting> {
        // A connection that waits for its peer, without a coroutine.
        static constexpr ObjectName kObjectName{"silent_connection", "network"};

        Waiting(Lobby& l, TcpStream& s, std::function<void()> b);
        ~Waiting();
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;

        void on_ready(uint8_t ready) override;

        Lobby& lobby;
        TcpStream& stream;
        std::function<void()> body;
        Waitings::iterator self;
    };

    void let_in(Waitings::iterator who);
    void watch_time();

    const char* name_;
    TaskGroup& group_;
    Waitings waiting_;  // by the end of their time
    bool closed_ = false;
    Coroutine clock_;  // from the first who waits on
    Signal sooner_;
    log::Throttle failures_{Seconds(1)};
};

}  // namespace weir::io
