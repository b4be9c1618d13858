// How large libsrt's tables of a connection are. Pure.
//
// libsrt makes them when a connection is accepted, for as many packets as its windows have: 24
// bytes for each packet that may be on its way to the peer, 28 for each that may wait here, and 22
// kB besides; 32 packets of its send buffer are there from the beginning.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace weir::io {

inline constexpr uint32_t kSrtMostPackets = 8192;  // of a window
inline constexpr uint32_t kSrtFewPackets = 32;     // the least that libsrt takes
inline constexpr size_t kSrtRefusedBytes = 23'000;

// Packets that wait for their time here, at `max_bitrate` (bits per second): the latency, and a
// quarter of it and 100 ms for packets on their way and for this server to take them.
uint32_t srt_receive_window(uint64_t max_bitrate, Millis latency);

// Packets that are on their way to a player and not acknowledged: a packet that was lost more than
// once holds the acknowledgement back for the latency. A quarter of it and 20 ms are for the way.
uint32_t srt_flight_window(uint64_t max_bitrate, Millis latency);

// Packets that libsrt may hold for a player: it copies them, and keeps the memory until the end. As
// many as two round trips and 16 ms take at twice the rate. That is the largest of `rate` (bits per
// second of its stream, 0: not known yet), 2 Mbit/s, and what sends the `waiting` bytes in 2 s.
uint32_t srt_send_buffer(uint64_t rate, uint64_t waiting, Micros rtt);

// Bytes of an accepted connection.
size_t srt_connection_bytes(uint32_t flight_window, uint32_t receive_window);

}  // namespace weir::io
