// Streams and clients as JSON objects of the API.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "net/services.h"

namespace weir::app {

// Stable while the stream lives: "st-" and a hash of its key.
std::string stream_id(const stream::Stream& stream);

nlohmann::ordered_json stream_json(const stream::Stream& stream, const net::Services& services, MonoTime now);
nlohmann::ordered_json client_json(const net::Client& client, MonoTime now);

// What the public page may know: addresses, codecs, players; no client, no address of anybody.
nlohmann::ordered_json live_json(const stream::Stream& stream, const net::Services& services, MonoTime now);

}  // namespace weir::app
