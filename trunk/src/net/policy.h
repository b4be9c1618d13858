// Policy: what the configuration says about who may do what, as the sessions ask it. Implemented by
// app/. Never yields.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "io/tcp.h"
#include "net/fanout.h"
#include "stream/registry.h"

namespace weir::net {

struct PublishRules {
    stream::PublishConflict conflict = stream::PublishConflict::kRefuse;
    stream::StreamOptions stream;
    Millis first_packet{20'000};  // from the publish command to the first media message
    Millis silent{10'000};        // a publisher that sends no media for this long has vanished
};

class Policy {
  public:
    // The key under which a stream is kept: the peer's vhost mapped to a configured one (the
    // default when unknown).
    virtual stream::StreamKey key_of(std::string_view vhost,
                                     std::string_view app,
                                     std::string_view name) const = 0;

    // kDenied says which directive would allow it. `token`: what the peer shows to be let in, as
    // ?key=TOKEN of the stream's address or as `Authorization: Bearer TOKEN`; empty when it shows
    // nothing. A secret: never in an error or the log, and compared by equal_in_constant_time().
    virtual Result<PublishRules> may_publish(const stream::StreamKey& key,
                                             const io::SocketAddress& peer,
                                             std::string_view token) const = 0;
    virtual Result<PlayRules> may_play(const stream::StreamKey& key,
                                       const io::SocketAddress& peer,
                                       std::string_view token) const = 0;

  protected:
    ~Policy() = default;
};

}  // namespace weir::net
