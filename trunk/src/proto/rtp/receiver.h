// Receives one RTP source: puts its packets in order, asks for missing ones (NACK), takes
// retransmissions (RFC 4588, or the packet itself again), gives up what does not come in time, and
// keeps the statistics. Knows no codec: a depacketizer reads what comes out.
//
// Driven as a machine: handle_packet() or handle_timeout(), then poll_event() until it is empty,
// then poll_transmit(). A packet that is next in order is given out as a view of the caller's
// bytes, so drain before they go. A missing packet holds up those behind it for at most wait():
// time for a few requests at the present round trip time, never more than `max_wait`.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/object_count.h"
#include "proto/rtcp/report.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/header.h"
#include "proto/rtp/jitter_buffer.h"
#include "proto/rtp/nack_tracker.h"
#include "proto/rtp/reception_stats.h"
#include "proto/rtp/unwrapper.h"

namespace weir::rtp {

struct ReceiverOptions {
    uint32_t ssrc = 0;
    uint8_t payload_type = 0;          // of packets that come by RTX
    uint32_t clock_hz = 90'000;        // not 0
    std::optional<uint32_t> rtx_ssrc;  // when negotiated
    bool nack = false;
    Micros max_wait = Millis(800);
};

struct ReceiverEvent {
    enum class Kind : uint8_t {
        kPacket,
        kLost,       // `lost` packets before the next one are given up
        kRestarted,  // the source started again; its sequence numbers and timestamps may jump
    };

    Kind kind = Kind::kPacket;
    PacketView packet;     // with a payload that is not empty; until the next call of the receiver
    int64_t sequence = 0;  // unwrapped
    MonoTime arrival{};
    bool recovered = false;
    int64_t lost = 0;
};

struct ReceiverCounters {
    uint64_t packets = 0;  // of the source itself, whatever became of them
    uint64_t bytes = 0;
    uint64_t retransmitted = 0;  // that came by RTX
    uint64_t recovered = 0;      // that were asked for and came
    uint64_t lost = 0;           // given up
    uint64_t late = 0;           // came after they were given out or given up
    uint64_t duplicates = 0;
    uint64_t malformed = 0;
    uint64_t restarts = 0;
    uint64_t overflows = 0;  // more was missing or held than there is room for
};

class Receiver final : private Counted<Receiver> {
  public:
    // The packets of one RTP source, put in order, with NACK.
    static constexpr ObjectName kObjectName{"rtp_receiver", "webrtc"};
    static constexpr size_t kCountedInside = sizeof(JitterBuffer);
    static constexpr Micros kDefaultRtt = Millis(100);
    static constexpr Micros kReorderDelay = Millis(10);  // before the first request
    static constexpr int64_t kMaxJump = kMaxHeldPackets;

    enum class Outcome : uint8_t {
        kAccepted,
        kRepeated,  // duplicate or late
        kIgnored,   // of another source, padding, or too far from what is expected
        kMalformed,
    };

    explicit Receiver(const ReceiverOptions& options);

    // A packet of the source or of its RTX stream, without SRTP.
    Outcome handle_packet(MonoTime now, ByteSpan packet);

    void handle_sender_report(MonoTime now, rtcp::NtpTime ntp_time);

    void handle_timeout(MonoTime now) { now_ = now; }

    // When handle_timeout() has something to do; nothing while nothing is missing.
    std::optional<MonoTime> next_timeout() const;

    bool poll_event(ReceiverEvent& out);

    // Appends the requests that are due; false when there is none. `local_ssrc` is ours.
    bool poll_transmit(uint32_t local_ssrc, rtcp::CompoundWriter& writer);

    // For a receiver report; false before the first packet.
    bool report(MonoTime now, rtcp::ReportBlock& out);

    // What is known from elsewhere; else it is measured by how long requests take.
    void set_rtt(Micros rtt);

    Micros rtt() const { return rtt_; }

    // RTX streams of simulcast are known by a header extension of their first packet only.
    void set_rtx_ssrc(uint32_t ssrc) { options_.rtx_ssrc = ssrc; }

    // How long a missing packet is waited for.
    Micros wait() const;

    const ReceiverOptions& options() const { return options_; }

    const ReceiverCounters& counters() const { return counters_; }

    const ReceptionStats& stats() const { return stats_; }

  private:
    Outcome handle_media(const PacketView& view, ByteSpan packet);
    Outcome handle_rtx(const PacketView& view, ByteSpan packet);
    bool is_far(int64_t sequence) const;
    Outcome handle_far(const PacketView& view);
    void restart(const PacketView& view);
    Outcome count_late(uint16_t sequence);
    Outcome place(int64_t sequence, const PacketView& view, ByteSpan packet);
    void find_gap(int64_t sequence);
    bool note_arrival(int64_t sequence, bool by_rtx);
    void measure(const NackTracker::Found& found, bool by_rtx);
    void overflow(int64_t sequence);
    void give(const PacketView& view, int64_t sequence, MonoTime arrival, bool recovered);

    ReceiverOptions options_;
    ReceptionStats stats_;
    SequenceUnwrapper unwrapper_;
    JitterBuffer buffer_;
    NackTracker missing_;
    ReceiverCounters counters_;
    MonoTime now_{};
    Micros rtt_ = kDefaultRtt;
    bool rtt_known_ = false;
    uint8_t ambiguous_ = 0;  // answers in a row that may be to one of several requests
    bool started_ = false;
    int64_t highest_ = 0;
    std::optional<uint16_t> suspect_;  // where a restarted source would go on
    uint16_t late_next_ = 0;
    uint16_t late_run_ = 0;  // late packets in a row, by sequence number
    bool restarted_ = false;
    int64_t lost_ = 0;  // to be told before what follows
    std::optional<ReceiverEvent> direct_;
};

}  // namespace weir::rtp
