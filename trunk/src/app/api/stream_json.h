// Streams as JSON objects of the API and of the public page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "net/client.h"
#include "net/services.h"
#include "net/stream_pump.h"

namespace weir {
class RateClock;
}

namespace weir::stream {
class Stream;
struct StreamKey;
}  // namespace weir::stream

namespace weir::app {

class ProtocolSet;

// Stable while the stream lives: "st-" and a hash of its key. vhost_id(): "vh-", of its name.
std::string stream_id(const stream::StreamKey& key);
std::string vhost_id(std::string_view name);

// {"recv_1s":..,"recv_10s":..,"recv_30s":..,"send_1s":..,...} in kbit/s.
nlohmann::ordered_json rates_json(const net::BitRates& receive, const net::BitRates& send);

net::BitRates receive_rates(const stream::Stream& stream, const RateClock& clock, MonoTime now);
net::BitRates send_rates(const stream::Stream& stream, const RateClock& clock, MonoTime now);

// How many play a stream, by transport.
class PlayerCounts {
  public:
    void add(const net::TransportCount& more);

    size_t of(std::string_view transport) const;
    size_t all() const;

  private:
    std::vector<net::TransportCount> counts_;
};

PlayerCounts players_of(const stream::Stream& stream, const net::Services& services);

nlohmann::ordered_json stream_json(const stream::Stream& stream,
                                   const net::Services& services,
                                   const ProtocolSet& protocols,
                                   MonoTime now);

// What the public page may know: addresses, codecs, players; no client, no address of anybody.
nlohmann::ordered_json live_json(const stream::Stream& stream,
                                 const net::Services& services,
                                 const ProtocolSet& protocols,
                                 MonoTime now);

// The same of one that is published at another node of the cluster, of which that is all that this
// one knows.
nlohmann::ordered_json live_json_elsewhere(const stream::StreamKey& key, int64_t live_ms);

}  // namespace weir::app
