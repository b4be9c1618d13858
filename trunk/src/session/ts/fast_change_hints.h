// Servers of fast channel change that players named with a group (?fcc=HOST:PORT). They are no part
// of the group's address, or two players who name different ones would make two hubs of it: the run
// that the request begins finds them here.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "net/ts/fast_change.h"
#include "net/ts/group_address.h"
#include "stream/stream_key.h"

namespace weir::session {

class FastChangeHints {
  public:
    static constexpr size_t kMaxHints = 64;  // the oldest goes
    static constexpr Millis kLife{5'000};

    void note(MonoTime now, const stream::StreamKey& key, net::FastChangeTarget target);

    // The newest of that group, once.
    std::optional<net::FastChangeTarget> take(MonoTime now, const stream::StreamKey& key);

    // "10.0.0.1:15970", and the kind: "telecom", "huawei", or empty: as the port is in use for it.
    // kMalformed.
    static Result<net::FastChangeTarget> parse(std::string_view server, std::string_view kind);

  private:
    struct Hint {
        stream::StreamKey key;
        net::FastChangeTarget target;
        MonoTime noted{};
    };

    std::deque<Hint> hints_;
};

}  // namespace weir::session
