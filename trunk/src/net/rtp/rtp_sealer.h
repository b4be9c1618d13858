// From a run of an RtpLog to packets of the wire: headers and what protects them. One call per run,
// not per packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/clock.h"
#include "proto/rtp/header.h"
#include "stream/rtp_log.h"

namespace weir::net {

// What the headers of a run's packets say to one player.
struct RtpRunHeader {
    uint8_t track = 0;
    uint8_t payload_type = 0;
    uint32_t ssrc = 0;
    uint32_t rtp_time = 0;
    uint64_t number = 0;  // of the first packet: roll-over counter * 65536 + sequence number
};

// Packets of `segment_bytes` each, end to end; the last may be shorter.
struct RtpBurst {
    size_t bytes = 0;
    size_t segment_bytes = 0;
};

class RtpSealer {
  public:
    // Writes the run's packets to `out`. Nothing (0 bytes) when they do not fit.
    virtual RtpBurst seal(MonoTime now,
                          const RtpRunHeader& header,
                          const stream::RtpRun& run,
                          std::span<uint8_t> out) = 0;

    // The newest so many packets of a track could not be sent; they will be sealed again.
    virtual void take_back(uint8_t /*track*/, size_t /*packets*/) {}

  protected:
    ~RtpSealer() = default;
};

// For sealers: calls seal(rtp::Header, payload, number, out), which gives the bytes that it wrote
// or 0, for each packet.
template <typename SealPacket>
RtpBurst seal_run(const RtpRunHeader& first,
                  const stream::RtpRun& run,
                  std::span<uint8_t> out,
                  SealPacket&& seal) {
    RtpBurst burst;
    for (size_t i = 0; i < run.packets; i++) {
        const uint64_t number = first.number + i;
        const rtp::Header header{first.payload_type, run.marker && i + 1 == run.packets,
                                 static_cast<uint16_t>(number), first.rtp_time, first.ssrc};
        const size_t size = seal(header, run.packet(i), number, out.subspan(burst.bytes));
        if (size == 0) {
            return {};
        }
        burst.segment_bytes = i == 0 ? size : burst.segment_bytes;
        burst.bytes += size;
    }
    return burst;
}

// Plain RTP.
class PlainRtpSealer final : public RtpSealer {
  public:
    RtpBurst seal(MonoTime now,
                  const RtpRunHeader& header,
                  const stream::RtpRun& run,
                  std::span<uint8_t> out) override;
};

}  // namespace weir::net
