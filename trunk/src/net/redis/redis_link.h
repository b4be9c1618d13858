// RedisLink: one connection to Redis that has said who it is. RedisDialer: makes them, wherever the
// server is: at an address, where sentinels say the master is, or at a node of a cluster.
//
// Both are used from coroutines; a link by one at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/tcp.h"
#include "net/http/client.h"
#include "proto/redis/command.h"
#include "proto/redis/reply_reader.h"
#include "proto/redis/url.h"

namespace weir::io {
class Deadline;
}

namespace weir::net {

// Name, connection, TLS and login. Short: it is done anew until it succeeds.
inline constexpr Millis kRedisConnect{500};
// The answer to a command. A Redis that needs longer counts as away.
inline constexpr Millis kRedisCommand{200};

class RedisLink {
  public:
    explicit RedisLink(std::unique_ptr<io::TcpStream> stream) : stream_(std::move(stream)) {}

    // What Redis did not get is dropped: a claim may not come when its publisher has left.
    ~RedisLink();

    RedisLink(const RedisLink&) = delete;
    RedisLink& operator=(const RedisLink&) = delete;

    // Yields. All commands in one write, and as many replies, in order. kTimeout, kClosed,
    // kMalformed, kInterrupted: then the connection is of no more use.
    Result<std::vector<redis::Reply>> exchange(std::span<const redis::Command> commands,
                                               io::Deadline deadline);

    // Yields. The same of one command.
    Result<redis::Reply> ask(const redis::Command& command, io::Deadline deadline);

    // Yields. The next reply, of whatever; for subscriptions. kTimeout leaves the link good.
    Result<redis::Reply> read(io::Deadline deadline);

    Error write(std::span<const redis::Command> commands, io::Deadline deadline);

    bool hangup() const { return stream_->hangup(); }

    io::TcpStream& stream() { return *stream_; }

  private:
    std::unique_ptr<io::TcpStream> stream_;
    redis::ReplyReader reader_;
};

class RedisDialer {
  public:
    // `http` makes the connections, and must outlive this.
    RedisDialer(HttpClient& http, redis::Url url) : http_(http), url_(std::move(url)) {}

    // The password of the configuration, in place of that of the URL.
    void set_password(std::string password) { url_.password = std::move(password); }

    // Yields, for kRedisConnect at most. The message names the server and the step, never the
    // password.
    Result<std::unique_ptr<RedisLink>> dial();

    // Yields. To the server that another one names: a sentinel, or a node of a cluster. kDenied,
    // too: Hops says no.
    Result<std::unique_ptr<RedisLink>> dial_to(const redis::Host& host, io::Deadline deadline);

    // The node that has our keys; of Redis Cluster only.
    void set_home(redis::Host host) { home_ = std::move(host); }

    const redis::Url& url() const { return url_; }

  private:
    // `named`: by the configuration.
    Result<std::unique_ptr<RedisLink>> connect(const redis::Host& host,
                                               bool named,
                                               io::Deadline deadline);
    Result<std::unique_ptr<RedisLink>> log_in(Result<std::unique_ptr<RedisLink>> link,
                                              const redis::Host& host,
                                              io::Deadline deadline);
    Result<redis::Host> ask_sentinels(io::Deadline deadline);
    Error greet(RedisLink& link, const redis::Host& host, io::Deadline deadline) const;
    redis::Command login() const;

    HttpClient& http_;
    redis::Url url_;
    Hops hops_;
    redis::Host home_;  // its name is empty: not known
    size_t next_ = 0;   // of the hosts, which are tried in turn
};

}  // namespace weir::net
