// Streams and clients as JSON objects of the API.
#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "net/services.h"
#include "session/webrtc/rtc_server.h"

namespace weir::app {

// Stable while the stream lives: "st-" and a hash of its key.
std::string stream_id(const stream::Stream& stream);

// What the clients of a stream move, all together.
struct Traffic {
    uint64_t receive_bps = 0;
    uint64_t send_bps = 0;
    uint64_t sent_bytes = 0;  // to those who are connected now
};

// One walk over the clients for any number of streams.
class TrafficByStream {
  public:
    explicit TrafficByStream(const net::ClientTable& clients);

    Traffic of(const stream::StreamKey& key) const;

  private:
    std::map<stream::StreamKey, Traffic> by_key_;
};

// How many play a stream, and how many of them by WebRTC.
struct PlayerCount {
    size_t all = 0;
    size_t webrtc = 0;
};

// `rtc`: here and below null where there is no WebRTC.
PlayerCount players_of(const stream::Stream& stream,
                       const net::Services& services,
                       const session::RtcServer* rtc);

nlohmann::ordered_json stream_json(const stream::Stream& stream,
                                   const net::Services& services,
                                   const session::RtcServer* rtc,
                                   const TrafficByStream& traffic_by_stream,
                                   MonoTime now);
nlohmann::ordered_json client_json(const net::Client& client, MonoTime now);

// What the public page may know: addresses, codecs, players; no client, no address of anybody.
nlohmann::ordered_json live_json(const stream::Stream& stream,
                                 const net::Services& services,
                                 const session::RtcServer* rtc,
                                 MonoTime now);

}  // namespace weir::app
