#include "io/srt/srt_sizes.h"

#include <algorithm>

#include "io/srt/srt_types.h"

namespace weir::io {
namespace {

constexpr uint64_t kBitsOfByte = 8;
constexpr uint64_t kBitsOfPacket = kSrtPayload * kBitsOfByte;
constexpr uint64_t kCatchUpSeconds = 2;
constexpr Millis kUnderway{100};
constexpr Millis kAcknowledged{20};
constexpr Micros kBuffered{16'000};
constexpr uint64_t kLeastRate = 2'000'000;  // of a player whose rate is not known yet
constexpr uint32_t kLeastFlight = 256;
constexpr uint32_t kFirstBlock = kSrtFewPackets - 1;  // a 32nd makes libsrt get another block

constexpr size_t kFixedBytes = 70'000;
constexpr size_t kFlightBytes = 24;
constexpr size_t kReceiveBytes = 28;

uint32_t packets(uint64_t rate, Micros span, uint32_t least) {
    const uint64_t a_second = rate / kBitsOfPacket + 1;
    const uint64_t time = static_cast<uint64_t>(std::clamp<int64_t>(span.count(), 0, 100'000'000));
    // Of more than the most a second, no short span is worth another number.
    const uint64_t many = std::min<uint64_t>(a_second, 1'000'000'000) * time / 1'000'000 + 1;
    return static_cast<uint32_t>(std::clamp<uint64_t>(many, least, kSrtMostPackets));
}

}  // namespace

uint32_t srt_receive_window(uint64_t max_bitrate, Millis latency) {
    return packets(max_bitrate, latency + latency / 4 + kUnderway, kLeastFlight);
}

uint32_t srt_flight_window(uint64_t max_bitrate, Millis latency) {
    return packets(max_bitrate, latency + latency / 4 + kAcknowledged, kLeastFlight);
}

uint32_t srt_send_buffer(uint64_t rate, uint64_t waiting, Micros rtt) {
    const uint64_t catch_up = waiting * kBitsOfByte / kCatchUpSeconds;
    return packets(2 * std::max({rate, catch_up, kLeastRate}), 2 * rtt + kBuffered, kFirstBlock);
}

size_t srt_connection_bytes(uint32_t flight_window, uint32_t receive_window) {
    return kFixedBytes + flight_window * kFlightBytes + receive_window * kReceiveBytes;
}

}  // namespace weir::io
