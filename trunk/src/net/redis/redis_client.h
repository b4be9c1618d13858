// RedisClient: commands of any number of coroutines over one connection, which comes back by
// itself.
//
// One coroutine ("redis") has the connection: it takes all commands that wait, sends them in one
// write, and gives the replies to those who asked. A Redis that does not answer within
// kRedisCommand, or says that it cannot serve, counts as away: whoever waits gets an error at once,
// and so does everybody who asks until it is back. Redirects of Redis Cluster are followed, and
// scripts that Redis does not know are sent as text.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "io/coroutine.h"
#include "io/signal.h"
#include "net/redis/redis_link.h"
#include "proto/cluster/scripts.h"

namespace weir::io {
class Deadline;
}

namespace weir::net {

// A command, and the script that it runs by its digest; null: none.
struct RedisCall {
    redis::Command command;
    const cluster::Script* script = nullptr;
};

struct RedisClientStats {
    static constexpr std::array<uint32_t, 9> kBoundsMs{1, 2, 5, 10, 20, 50, 100, 200, 500};

    std::array<uint64_t, kBoundsMs.size() + 1> took{};  // commands, by the time of their round trip
    double seconds = 0;                                 // of all
    uint64_t commands = 0;
    uint64_t connects = 0;
    uint64_t failures = 0;  // of connections
};

class RedisClient {
  public:
    static constexpr size_t kMaxBatch = 1000;     // commands in one write
    static constexpr size_t kMaxQueued = 20'000;  // calls that wait
    static constexpr Millis kFirstBackoff{100};
    // With kRedisConnect in front of it, short enough that what a node has is back within 2 s.
    static constexpr Millis kLongestBackoff{1'000};
    static constexpr Millis kPing{1'000};  // of a connection that nobody uses

    // All must outlive this.
    RedisClient(RedisDialer& dialer, RandomSource& random);
    ~RedisClient();  // stop() must have been called, when start() was
    RedisClient(const RedisClient&) = delete;
    RedisClient& operator=(const RedisClient&) = delete;

    // Called when Redis is there, and when it has gone (with the reason). Must not yield.
    void on_state(std::function<void(bool up, const Error& why)> told) { told_ = std::move(told); }

    Error start();

    // Yields. Whoever waits gets kInterrupted.
    void stop();

    // Yields, until the deadline at most. A reply for each call, in order; errors of Redis are
    // replies. kTimeout: Redis is away, or does not answer; kFull: too many wait. At most
    // kMaxBatch calls.
    Result<std::vector<redis::Reply>> run(std::vector<RedisCall> calls, io::Deadline deadline);

    // Never yields. Somebody else knows that Redis is back: it is tried at once.
    void retry_now();

    bool up() const { return up_; }

    const RedisClientStats& stats() const { return stats_; }

  private:
    struct Request {
        std::vector<RedisCall> calls;
        std::vector<redis::Reply> replies;
        bool done = false;
        Error error;
        io::Signal signal;
    };

    // Shared: whoever asked may leave while the answer is on its way.
    using RequestRef = std::shared_ptr<Request>;

    // One command of a batch, and where its reply goes.
    struct Item {
        RedisCall* call;
        redis::Reply* reply;
    };

    void work();
    bool use_link();
    std::vector<RequestRef> take_batch();
    Error serve(const std::vector<RequestRef>& batch);
    Error send(std::vector<Item>& items);
    Error send_to(RedisLink& link, const std::vector<Item>& items, bool asking);
    Error follow(const redis::Redirect& redirect, std::vector<Item>& asked);
    void finish(const std::vector<RequestRef>& batch, const Error& error);
    void fail_all(const Error& why);
    void set_up(bool up, const Error& why);
    void count(size_t commands, Micros took);

    RedisDialer& dialer_;
    RandomSource& random_;
    std::function<void(bool, const Error&)> told_;
    std::deque<RequestRef> queue_;
    std::unique_ptr<RedisLink> link_;
    io::Coroutine worker_;
    io::Signal work_;
    bool up_ = false;
    bool started_ = false;
    bool stopping_ = false;
    bool hurry_ = false;  // of retry_now()
    RedisClientStats stats_;
};

}  // namespace weir::net
