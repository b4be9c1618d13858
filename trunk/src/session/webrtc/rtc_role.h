// What a connected session is there for: its peer publishes (rtc_publisher.h) or plays
// (rtc_player.h). Owned by its RtcSession, which outlives it. Nothing here yields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/clock.h"
#include "net/client_table.h"
#include "net/link_facts.h"
#include "proto/rtcp/packet.h"
#include "proto/sdp/negotiate.h"

namespace weir::session {

class RtcRole {
  public:
    RtcRole() = default;
    virtual ~RtcRole() = default;
    RtcRole(const RtcRole&) = delete;
    RtcRole& operator=(const RtcRole&) = delete;

    // Media begins: there are keys, and a proven path. Once; what follows is called afterwards
    // only. May end the session.
    virtual void begin(MonoTime now, const sdp::Answer& answer) = 0;

    // Whether an RTP datagram of so many bytes is to be opened. May end the session.
    virtual bool takes_rtp(MonoTime now, size_t bytes) = 0;

    // A packet that was opened.
    virtual void on_rtp(MonoTime now, ByteSpan packet) = 0;

    // One packet of a compound that was opened.
    virtual void on_rtcp(MonoTime now, const rtcp::PacketView& packet) = 0;

    // The TCP connection that the session is on takes bursts again. Also before begin().
    virtual void on_writable() = 0;

    // Its timer. May end the session.
    virtual void handle_timeout(MonoTime now) = 0;

    // When handle_timeout() or poll_transmit() is due.
    virtual std::optional<MonoTime> next_timeout() const = 0;

    // RTCP that is due, unprotected: its size in `out`. Called until it gives 0.
    virtual size_t poll_transmit(MonoTime now, std::span<uint8_t> out) = 0;

    // The session ends: gives back what it has of the stream. Once, also without begin().
    virtual void end(MonoTime now) = 0;

    // ---- for the API, also before begin() ----

    virtual bool publishes() const = 0;

    // What it knows of the way to the peer.
    virtual void add_to(net::LinkFacts& facts) const = 0;

    virtual std::optional<net::LagFacts> lag_facts() const = 0;

    // Live bytes of media: numbers, estimates, what is out of order; and its own.
    virtual size_t media_bytes() const = 0;
    virtual size_t own_bytes() const = 0;
};

}  // namespace weir::session
