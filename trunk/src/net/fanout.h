// Fanout: the pumps of the process. Sessions hand a connection over to it when playing begins.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "io/coroutine.h"
#include "net/merge_window.h"
#include "net/pump.h"
#include "stream/registry.h"

namespace weir::net {

// What the configuration says about one play (policy.h gives it).
struct PlayRules {
    PumpOptions pump;
    stream::StreamOptions stream;
    io::StreamOptions socket;
};

class Fanout {
  public:
    explicit Fanout(stream::Registry& registry);
    ~Fanout();  // stop() must have been called
    Fanout(const Fanout&) = delete;
    Fanout& operator=(const Fanout&) = delete;

    // From now on the connection belongs to the pump of the stream (client->key) and format. It
    // waits there while nobody publishes. The rules of the first player of a pump hold for all of
    // its players.
    void play(const PlayRules& rules,
              const stream::Format& format,
              std::unique_ptr<io::TcpStream> stream,
              std::unique_ptr<PlayerProtocol> protocol,
              std::unique_ptr<Client> client);

    // Players of a stream, over all formats.
    size_t players(const stream::Stream& stream) const;

    size_t pumps() const { return pumps_.size(); }

    MergeWindow& automatic_window() { return window_; }

    PumpStats& stats() { return stats_; }

    const PumpStats& stats() const { return stats_; }

    // Yields. Ends all players with kServerStopping.
    void stop(io::Deadline deadline);

  private:
    friend class Pump;
    Pump* pump_for(const stream::StreamKey& key,
                   const stream::Format& format,
                   const PlayRules& rules);

    stream::Registry& registry_;
    MergeWindow window_;
    PumpStats stats_;
    std::map<std::pair<const stream::Stream*, const stream::Format*>, std::unique_ptr<Pump>> pumps_;
    io::TaskGroup tasks_;
    bool stopping_ = false;
};

}  // namespace weir::net
