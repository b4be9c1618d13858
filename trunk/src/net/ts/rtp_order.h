// RtpOrder: from the datagrams of a group to the bytes of its transport stream. RTP (RFC 3550) is
// put in order of its sequence numbers within a window; datagrams without RTP are taken as they
// come. Which of both it is, each datagram shows. Pure; time is a parameter.
//
// No sender can hold anything up or fill memory: what waits is a window of packets for a time, both
// as its owner says (RtpOrderOptions). What is neither RTP with a transport stream nor in step with
// one is counted, and dropped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"

namespace weir::net {

// Takes what comes out. Must not feed meanwhile.
class RtpOrderOutput {
  public:
    // The next bytes, good during the call only.
    virtual void on_ordered(MonoTime now, ByteSpan bytes) = 0;

    // Bytes are missing here.
    virtual void on_gap() = 0;

  protected:
    ~RtpOrderOutput() = default;
};

struct RtpOrderOptions {
    static constexpr size_t kWindow = 64;  // packets
    static constexpr Millis kPatience{100};
    static constexpr size_t kMaxWindow = 4096;

    size_t window = kWindow;  // rounded up to a power of two
    Millis patience = kPatience;
};

struct RtpOrderCounters {
    uint64_t packets = 0;    // of RTP, without duplicates and those that came too late
    uint64_t plain = 0;      // datagrams without RTP
    uint64_t lost = 0;       // packets that were not there when their turn was over
    uint64_t reordered = 0;  // came after one with a higher number, and in time
    uint64_t late = 0;       // came when their turn was over; they are among the lost
    uint64_t duplicates = 0;
    uint64_t restarts = 0;  // another sender, or the same with other numbers
    uint64_t foreign = 0;   // datagrams that are of no transport stream
};

class RtpOrder {
  public:
    static constexpr size_t kWindow = RtpOrderOptions::kWindow;
    static constexpr Millis kPatience = RtpOrderOptions::kPatience;
    static constexpr uint16_t kMaxJump = 3000;  // RFC 3550 §A.1: more is a sender that restarted

    // `output` must outlive this.
    explicit RtpOrder(RtpOrderOutput& output, const RtpOrderOptions& options = {});

    // Also of what waits now; at least a millisecond.
    void set_patience(Millis patience) { patience_ = std::max(patience, Millis(1)); }

    void feed(MonoTime now, ByteSpan datagram);

    // Does not wait any longer for what is due.
    void handle_timeout(MonoTime now);

    // When handle_timeout() is due; none: nothing waits.
    std::optional<MonoTime> next_timeout() const;

    size_t window() const { return slots_.size(); }

    const RtpOrderCounters& counters() const { return counters_; }

  private:
    struct Slot {
        Bytes payload;
        MonoTime arrived{};
        bool filled = false;
        bool was_there = false;  // the packet `delivered` was given out
        uint16_t delivered = 0;
    };

    // A sender that might take over: its first packet.
    struct Candidate {
        uint32_t ssrc = 0;
        uint16_t next = 0;
        Bytes payload;
    };

    void take(MonoTime now, ByteSpan datagram);
    void take_rtp(MonoTime now, uint32_t ssrc, uint16_t sequence, ByteSpan payload);
    void take_plain(MonoTime now, ByteSpan datagram);
    void take_behind(uint16_t sequence);
    void take_stranger(MonoTime now, uint32_t ssrc, uint16_t sequence, ByteSpan payload);
    void deliver(MonoTime now, ByteSpan payload);
    void give_up(size_t packets);
    void drain(MonoTime now);

    Slot& slot(uint16_t sequence) { return slots_[sequence % slots_.size()]; }

    size_t hole() const;
    void skip_hole(MonoTime now);
    void flush(MonoTime now);
    void begin(uint32_t ssrc, uint16_t next);

    RtpOrderOutput& output_;
    Millis patience_;
    RtpOrderCounters counters_;
    bool started_ = false;
    uint32_t ssrc_ = 0;
    uint16_t next_ = 0;        // the sequence number that is due
    uint16_t highest_ = 0;     // of those that are held, if any is
    std::vector<Slot> slots_;  // sequence modulo their number: next_ + 1 and those behind it
    size_t held_ = 0;
    std::optional<Candidate> candidate_;
    std::optional<size_t> phase_;  // plain: offset of the next sync byte in the next datagram
};

}  // namespace weir::net
