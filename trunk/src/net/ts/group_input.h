// GroupInput: what comes for a group, to the bytes of its transport stream: order (RtpOrder), and,
// where parity packets are sent beside it, recovery of what is lost (FecRecovery). Pure.
//
// With recovery, a missing packet is waited for as long as its parities may take; without loss
// nothing waits.
#pragma once

#include <memory>
#include <optional>

#include "net/ts/fec_recovery.h"
#include "net/ts/rtp_order.h"

namespace weir::net {

class GroupInput final : private FecOutput {
  public:
    static constexpr size_t kFecWindow = 1024;  // packets that wait for one that is missing
    static constexpr size_t kFastChangeWindow = 2048;

    // From the port of the group, where ST 2022-1 has them.
    static constexpr uint16_t kColumnPort = 2;
    static constexpr uint16_t kRowPort = 4;

    struct Options {
        bool fec = false;          // feed_parity() will be called
        bool fast_change = false;  // it begins with a fast channel change
    };

    // `output` must outlive this.
    GroupInput(RtpOrderOutput& output, const Options& options);
    GroupInput(const GroupInput&) = delete;
    GroupInput& operator=(const GroupInput&) = delete;

    // A datagram of the group; Reed-Solomon parities may be among them.
    void feed(MonoTime now, ByteSpan datagram);

    // A datagram of the ports of its parities. Read the group first: what it holds needs no
    // recovery.
    void feed_parity(MonoTime now, ByteSpan datagram);

    // How long a missing packet is waited for at least.
    void set_patience(Millis patience);

    // As of RtpOrder.
    void handle_timeout(MonoTime now) { order_.handle_timeout(now); }

    std::optional<MonoTime> next_timeout() const { return order_.next_timeout(); }

    const RtpOrderCounters& counters() const { return order_.counters(); }

    // Null without recovery.
    const FecCounters* fec_counters() const { return fec_ ? &fec_->counters() : nullptr; }

  private:
    void on_recovered(MonoTime now, ByteSpan datagram) override { order_.feed(now, datagram); }

    void adjust();

    RtpOrder order_;
    Millis patience_ = RtpOrderOptions::kPatience;
    std::unique_ptr<FecRecovery> fec_;
};

}  // namespace weir::net
