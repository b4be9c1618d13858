// McastStream: the transport stream that 'weir-bench mcast' sends to a group, datagram by datagram.
// A valid programme (PAT, PMT, one video PID with PCR) at whatever rate its owner calls write();
// its payload is filler, but every TS packet carries a stamp. Every 500 ms a datagram begins with
// PAT, PMT and a random access point, so that a server may start players in between. Pure.
//
// The stamp is 26 bytes, at the start of the payload, or, of a packet with an adaptation field, in
// its private data. No byte of it is 0: it cannot look like a start code.
//
//    +-----+-----+------------+--------------+----------------+----------------+
//    | 'W' | 'm' | group, 2x7 | session, 2x7 | sequence, 10x7 | time, ns, 10x7 |
//    +-----+-----+------------+--------------+----------------+----------------+
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace weir::load {

inline constexpr size_t kTsPacketBytes = 188;

struct McastStamp {
    static constexpr size_t kBytes = 26;
    static constexpr uint32_t kGroups = 1U << 14;
    static constexpr uint32_t kSessions = 1U << 14;

    uint32_t group = 0;     // less than kGroups
    uint32_t session = 0;   // of the sender: another one begins at 0 again; less than kSessions
    uint64_t sequence = 0;  // of TS packets of the group, from 0
    uint64_t sent_ns = 0;   // CLOCK_MONOTONIC

    // `out`: kBytes.
    void write(uint8_t* out) const;

    // Of a whole TS packet; nothing where it carries none.
    static std::optional<McastStamp> of(ByteSpan ts_packet);

    bool operator==(const McastStamp&) const = default;
};

class McastStream {
  public:
    static constexpr size_t kTsPackets = 7;  // of a datagram
    static constexpr size_t kPayload = kTsPackets * kTsPacketBytes;
    static constexpr size_t kRtpHeader = 12;
    static constexpr size_t kMaxDatagram = kPayload + kRtpHeader;

    static constexpr uint16_t kPmtPid = 0x1000;
    static constexpr uint16_t kVideoPid = 0x100;
    static constexpr uint64_t kAccessEveryNs = 500'000'000;
    static constexpr uint64_t kPcrEveryNs = 40'000'000;

    // `group`: its number, for the stamps; as `session`, taken modulo what a stamp holds. `rtp`:
    // with headers of RTP (payload type 33).
    McastStream(uint32_t group, uint32_t session, bool rtp);

    size_t datagram_size() const { return rtp_ ? kMaxDatagram : kPayload; }

    // The next datagram, sent at `now_ns`. `out` has datagram_size() bytes.
    void write(uint64_t now_ns, std::span<uint8_t> out);

    // TS packets so far.
    uint64_t packets() const { return sequence_; }

  private:
    void write_rtp(uint64_t now_ns, uint8_t* out);
    void write_table(uint16_t pid, uint8_t& continuity, ByteSpan section, uint8_t* out);
    void write_access(uint64_t now_ns, uint8_t* out);
    void write_video(uint64_t now_ns, bool with_pcr, uint8_t* out);
    void write_stamp(uint8_t* out);

    uint32_t group_;
    uint32_t session_;
    bool rtp_;
    uint64_t now_ns_ = 0;
    uint64_t sequence_ = 0;
    uint64_t access_at_ns_ = 0;
    uint64_t pcr_at_ns_ = 0;
    uint16_t rtp_sequence_ = 0;
    uint8_t pat_continuity_ = 0;
    uint8_t pmt_continuity_ = 0;
    uint8_t video_continuity_ = 0;
    Bytes pat_;
    Bytes pmt_;
};

}  // namespace weir::load
