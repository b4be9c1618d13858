// What the two kinds of players have in common for the code that owns their sockets.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace weir::load {

class PlayClient {
  public:
    PlayClient() = default;
    PlayClient(const PlayClient&) = delete;
    PlayClient& operator=(const PlayClient&) = delete;
    virtual ~PlayClient() = default;

    // False: the connection is of no more use; failure() says why. `now_ns`: CLOCK_MONOTONIC.
    virtual bool feed(ByteSpan bytes, uint64_t now_ns) = 0;

    // The server confirmed that the stream follows.
    virtual bool started() const = 0;

    // Adds what it counted by itself since the last call to the totals.
    virtual void settle() {}

    // CLOCK_MONOTONIC; wake() is to be called then. 0: it waits for bytes only.
    virtual uint64_t due_ns() const { return 0; }

    virtual void wake(uint64_t /*now_ns*/) {}

    // Whether its bytes may be read later than they come (read_turns.h).
    virtual bool may_rest() const { return true; }

    // Puts what is to be said at the end into the output.
    virtual void leave() {}

    // To be sent and cleared by the owner; the first request is there from the start.
    Bytes& output() { return output_; }

    // The server said in an orderly way that the stream has ended.
    bool stream_ended() const { return stream_ended_; }

    const std::string& failure() const { return failure_; }

  protected:
    // Keeps the first reason. Returns false, to be returned.
    bool fail(std::string why) {
        if (failure_.empty()) {
            failure_ = std::move(why);
        }
        return false;
    }

    Bytes output_;
    std::string failure_;
    bool stream_ended_ = false;
};

}  // namespace weir::load
