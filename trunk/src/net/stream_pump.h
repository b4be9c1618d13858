// StreamPump: what the fan-out knows of a pump. A pump sends one stream, in one form, to all of its
// players, by one coroutine: net::Pump a wire log by TCP, the RTP pump packets.
#pragma once

#include <cstddef>
#include <span>

namespace weir::stream {
class Stream;
}

namespace weir::net {

struct PumpOptions;

// Players of one transport: "rtmp", "flv", "ws-flv", "webrtc".
struct TransportCount {
    const char* transport;  // a literal
    size_t players;
};

// One form in which streams are sent; the fan-out keeps one pump per stream and kind.
struct PumpKind {
    const void* id;  // an object that stands for the kind and lives as long as the process
    const char* name;
    const char* coroutine = "pump";  // a literal, for the list of coroutines
};

class StreamPump {
  public:
    virtual ~StreamPump() = default;

    // The body of the pump's coroutine. Yields. Returns when nobody needs the pump any more, or
    // when interrupted.
    virtual void run() = 0;

    virtual size_t players() const = 0;

    // players(), by transport.
    virtual std::span<const TransportCount> by_transport() const = 0;

    // For its players from now on. Never yields.
    virtual void reconfigure(const PumpOptions& options) = 0;

    virtual stream::Stream& stream() = 0;
};

}  // namespace weir::net
