// Names to addresses (getaddrinfo) without stopping the media thread.
//
// getaddrinfo blocks, with a dead name server for tens of seconds, and nothing can interrupt it. So
// it has a few threads of its own, which are made when they are needed, take nothing from the
// workers, and are left behind when the resolver goes: the process never waits for one. Answers are
// kept for a while; when a name that was known cannot be asked for again in time, the last answer
// stands in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace weir::io {

class Deadline;
class SocketAddress;

struct ResolverOptions {
    size_t threads = 4;               // at most
    size_t max_names = 256;           // known or asked for at once
    Millis keep{30'000};              // an answer is good for so long
    Millis keep_failure{5'000};       // and "there is no such name"
    Millis keep_stale{600'000};       // an old answer may stand in for so long
    Millis wait_before_stale{1'000};  // for a new one, where there is an old one
    // Instead of getaddrinfo, for tests. Runs on a thread of the resolver and may block it.
    std::function<Result<std::vector<SocketAddress>>(const std::string& host)> lookup;
};

struct ResolverStats {
    uint64_t lookups = 0;   // given to a thread
    uint64_t failures = 0;  // of them
    uint64_t stale = 0;     // old answers that stood in
    uint64_t timeouts = 0;  // callers that got no answer in time
    uint64_t refused = 0;   // over max_names
};

class Resolver {
  public:
    explicit Resolver(ResolverOptions options = {});
    ~Resolver();  // no coroutine may wait in resolve(); threads that hang are left behind
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;

    // Yields. Every address of the name, in the order in which they should be tried; at least one.
    // Numeric addresses and "localhost" are answered at once. kNotFound, kTimeout, kLimit,
    // kInterrupted, kSystem.
    Result<std::vector<SocketAddress>> resolve(std::string_view host,
                                               uint16_t port,
                                               Deadline deadline);

    const ResolverStats& stats() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir::io
