// Streams as JSON objects of the API and of the public page.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "net/services.h"
#include "session/webrtc/rtc_server.h"

namespace weir::app {

// Stable while the stream lives: "st-" and a hash of its key. vhost_id(): "vh-", of its name.
std::string stream_id(const stream::StreamKey& key);
std::string vhost_id(std::string_view name);

// {"recv_1s":..,"recv_10s":..,"recv_30s":..,"send_1s":..,...} in kbit/s.
nlohmann::ordered_json rates_json(const net::BitRates& receive, const net::BitRates& send);

net::BitRates receive_rates(const stream::Stream& stream, const RateClock& clock, MonoTime now);
net::BitRates send_rates(const stream::Stream& stream, const RateClock& clock, MonoTime now);

// How many play a stream, by transport.
struct PlayerCounts {
    size_t rtmp = 0;
    size_t flv = 0;
    size_t ws_flv = 0;
    size_t webrtc = 0;

    size_t all() const { return rtmp + flv + ws_flv + webrtc; }
};

PlayerCounts players_of(const stream::Stream& stream, const net::Services& services);

// `rtc`: here and below null where there is no WebRTC.
nlohmann::ordered_json stream_json(const stream::Stream& stream,
                                   const net::Services& services,
                                   const session::RtcServer* rtc,
                                   MonoTime now);

// What the public page may know: addresses, codecs, players; no client, no address of anybody.
nlohmann::ordered_json live_json(const stream::Stream& stream,
                                 const net::Services& services,
                                 const session::RtcServer* rtc,
                                 MonoTime now);

}  // namespace weir::app
