// Sender and receiver reports, source descriptions and BYE (RFC 3550 §6.4 to §6.6): reading.
// CompoundWriter (proto/rtcp/writer.h) writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "proto/rtcp/packet.h"

namespace weir::rtcp {

inline constexpr size_t kReportBlockSize = 24;
inline constexpr size_t kMaxSdesText = 255;

// Seconds since 1900 in 32.32 fixed point (RFC 3550 §4).
using NtpTime = uint64_t;

// The middle 32 bits, 16.16 fixed point seconds: what LSR and DLSR count in.
constexpr uint32_t compact_ntp(NtpTime time) {
    return static_cast<uint32_t>(time >> 16U);
}

// A duration that is not negative; 65536 s and more become the largest value.
constexpr uint32_t compact_ntp_duration(int64_t duration_us) {
    const uint64_t value = ((static_cast<uint64_t>(duration_us) / 1'000'000U) << 16U) +
                           ((static_cast<uint64_t>(duration_us) % 1'000'000U) << 16U) / 1'000'000U;
    return value > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(value);
}

constexpr int64_t compact_ntp_to_us(uint32_t duration) {
    return static_cast<int64_t>((uint64_t{duration} * 1'000'000U) >> 16U);
}

// Converts microseconds since 1970, which are not negative.
constexpr NtpTime ntp_from_unix_us(int64_t unix_us) {
    constexpr uint64_t kSeconds1900To1970 = 2'208'988'800U;
    const uint64_t seconds = static_cast<uint64_t>(unix_us) / 1'000'000U + kSeconds1900To1970;
    const uint64_t fraction = ((static_cast<uint64_t>(unix_us) % 1'000'000U) << 32U) / 1'000'000U;
    return seconds << 32U | fraction;
}

// Microseconds since 1970, negative before that. The seconds wrap in 2036: values below 2^31 are
// after that (RFC 4330 §3), so the result is between 1968-01-20 and 2104-02-26.
constexpr int64_t ntp_to_unix_us(NtpTime time) {
    constexpr int64_t kSeconds1900To1970 = 2'208'988'800;
    constexpr int64_t kEra = int64_t{1} << 32U;
    const auto seconds = static_cast<int64_t>(time >> 32U);
    const auto fraction =
        static_cast<int64_t>(((time & UINT32_MAX) * 1'000'000U + (1U << 31U)) >> 32U);
    const int64_t since_1900 = seconds < kEra / 2 ? seconds + kEra : seconds;
    return (since_1900 - kSeconds1900To1970) * 1'000'000 + fraction;
}

// What a receiver says of one source (RFC 3550 §6.4.1).
struct ReportBlock {
    uint32_t ssrc = 0;              // the source
    uint8_t fraction_lost = 0;      // of 256, since the report before
    int32_t cumulative_lost = 0;    // 24 bits, signed
    uint32_t highest_sequence = 0;  // extended by the number of wraps
    uint32_t jitter = 0;            // in the clock of the source
    uint32_t last_sr = 0;           // compact NTP time of the last sender report; 0: none
    uint32_t delay_since_sr = 0;    // 1/65536 s
};

// The report blocks of a packet, which must outlive it.
class ReportBlocksView {
  public:
    ReportBlocksView() = default;

    explicit ReportBlocksView(ByteSpan blocks) : blocks_(blocks) {}

    size_t size() const { return blocks_.size() / kReportBlockSize; }

    // index < size().
    ReportBlock operator[](size_t index) const;

    std::optional<ReportBlock> find(uint32_t ssrc) const;

  private:
    ByteSpan blocks_;
};

struct SenderReport {
    uint32_t ssrc = 0;
    NtpTime ntp_time = 0;
    uint32_t rtp_time = 0;
    uint32_t packets = 0;
    uint32_t octets = 0;
    ReportBlocksView blocks;
};

struct ReceiverReport {
    uint32_t ssrc = 0;
    ReportBlocksView blocks;
};

// Nothing when the packet is of another type or shorter than it says.
std::optional<SenderReport> parse_sender_report(const PacketView& packet);
std::optional<ReceiverReport> parse_receiver_report(const PacketView& packet);

// The CNAME of that source in a source description; empty when it is not there or broken.
std::string_view find_cname(const PacketView& packet, uint32_t ssrc);

// Whether a BYE names that source; false for other packets.
bool says_bye(const PacketView& packet, uint32_t ssrc);

}  // namespace weir::rtcp
