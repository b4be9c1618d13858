// ForwardFlow: what the run of a forward and the player that its connection becomes know of each
// other. The run's coroutine makes it, hands the connection to a pump, and waits here until the
// player has ended; the player's protocol object tells it what happens.
#pragma once

#include <cstdint>
#include <optional>

#include "io/deadline.h"
#include "io/signal.h"
#include "net/client_table.h"
#include "net/source/source_run.h"

namespace weir::net {

class ForwardFlow {
  public:
    static constexpr Millis kCountPeriod{1'000};  // sent bytes are noted this often

    explicit ForwardFlow(SourceRun& run) : run_(run) {}

    ForwardFlow(const ForwardFlow&) = delete;
    ForwardFlow& operator=(const ForwardFlow&) = delete;

    // The client of the player; before wait().
    void begin(const Client& client) { client_ = &client; }

    // ---- for the player; none yields ----

    void live() { run_.live(); }

    // The player ends, and its client with it.
    void end(Error why) {
        note_sent();
        client_ = nullptr;
        ended_ = std::move(why);
        changed_.notify_all();
    }

    // ---- for the run ----

    // Yields. Until the player has ended: why. When the coroutine is interrupted, the player is
    // ended first.
    Error wait() {
        bool interrupted = false;
        while (!ended_) {
            const io::Deadline next = io::Deadline::after(kCountPeriod);
            const Error woken =
                interrupted ? changed_.wait_even_interrupted(next) : changed_.wait_until(next);
            note_sent();
            if (woken.code() == ErrorCode::kInterrupted) {
                interrupted = true;
                if (client_ != nullptr && client_->kick) {
                    const std::function<void()> kick = client_->kick;
                    kick();
                }
            }
        }
        return std::move(*ended_);
    }

  private:
    void note_sent() {
        if (client_ != nullptr) {
            run_.note_bytes(client_->sent_bytes - noted_);
            noted_ = client_->sent_bytes;
        }
    }

    SourceRun& run_;
    const Client* client_ = nullptr;  // null once the player has ended
    uint64_t noted_ = 0;
    std::optional<Error> ended_;
    io::Signal changed_;
};

}  // namespace weir::net
