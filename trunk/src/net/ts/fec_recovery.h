// FecRecovery: makes lost RTP packets of a group again from the parity packets that are sent beside
// it. Those of SMPTE ST 2022-1 (columns on the group's port + 2, rows on its port + 4) give them
// back one by one: what a row gives back may make a column whole, and so on. Reed-Solomon parities
// of a block (FecBlocks) give back as many as there are. Which of both a parity packet is, it shows
// by itself. Pure; time is a parameter.
//
// Bounded: the last packets of four matrices or blocks (kMaxPackets at most; kFirstPackets while
// their size is not known), and kMaxParities or FecBlocks::kMaxBlocks that wait for packets.
// Nothing is held up here: the owner puts packets in order (RtpOrder) with a window and a patience
// that let recovered ones come in time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "net/ts/fec_blocks.h"
#include "proto/fec/parity.h"

namespace weir::net {

class FecOutput {
  public:
    // A packet of RTP that was lost, good during the call only. Must not feed meanwhile.
    virtual void on_recovered(MonoTime now, ByteSpan datagram) = 0;

  protected:
    ~FecOutput() = default;
};

struct FecCounters {
    uint64_t media = 0;          // packets, without duplicates
    uint64_t parities = 0;       // parity packets
    uint64_t recovered = 0;      // packets
    uint64_t unrecoverable = 0;  // packets that were lost though a parity protects them
    uint64_t malformed = 0;      // parity packets that are none, or do not fit their media
    uint64_t dropped = 0;        // parity packets that came too late, or when too many waited
    uint64_t restarts = 0;       // another sender, or the same with other numbers
};

class FecRecovery {
  public:
    static constexpr size_t kMinPackets = 256;
    static constexpr size_t kFirstPackets = 1024;
    static constexpr size_t kMaxPackets = 2048;
    static constexpr size_t kMaxParities = 256;
    static constexpr Millis kMinPatience{100};
    static constexpr Millis kMaxPatience{2'000};

    // While no column has said how large the matrix is, and no more than so many packets have come.
    static constexpr Millis kFirstPatience{500};
    static constexpr uint64_t kFirstWait = 4'000;

    // `output` must outlive this.
    explicit FecRecovery(FecOutput& output);

    // A datagram of the group; what is no RTP is left alone.
    void feed_media(MonoTime now, ByteSpan datagram);

    // A datagram of the ports of parities.
    void feed_parity(MonoTime now, ByteSpan datagram);

    // How long a missing packet may take to come back, at the present rate and size of matrix: the
    // parities of one matrix come while the next one is sent.
    Millis patience() const;

    // Packets of the largest matrix or block so far; 0: none is known.
    size_t matrix() const { return matrix_; }

    const FecCounters& counters() const { return counters_; }

  private:
    struct Slot {
        Bytes datagram;
        uint16_t sequence = 0;
        bool filled = false;
        bool missed = false;  // counted as unrecoverable
    };

    // A parity packet that waits until only one of its packets is missing.
    struct Waiting {
        Bytes datagram;
        fec::ParityView view;  // of it
        size_t missing = 0;
    };

    // Packets that a parity protects.
    struct Places {
        uint16_t first = 0;
        uint8_t offset = 1;
        size_t count = 0;
    };

    static Places places(const fec::ParityView& view) {
        return {.first = view.first, .offset = view.offset, .count = view.count};
    }

    bool take(uint32_t ssrc, uint16_t sequence, ByteSpan datagram);
    bool follow(uint32_t ssrc, uint16_t sequence);
    void restart(uint32_t ssrc, uint16_t sequence);
    void feed_block(MonoTime now, const fec::BlockParityView& view);
    void fit(size_t matrix, bool is_row);
    void expire();
    void miss(const Places& places);
    void settle(MonoTime now);
    void settle_parities(MonoTime now, uint16_t settled);
    void settle_blocks(MonoTime now);
    bool recover(MonoTime now, const fec::ParityView& view, uint16_t& sequence);
    bool is_over(uint16_t first) const;
    bool is_far(uint16_t first) const;
    size_t missing(const Places& places) const;
    void measure(MonoTime now);

    Slot& slot(uint16_t sequence) { return slots_[sequence % slots_.size()]; }

    bool has(uint16_t sequence) const;

    FecOutput& output_;
    FecCounters counters_;
    std::vector<Slot> slots_;  // a power of two
    std::vector<Waiting> waiting_;
    std::vector<uint16_t> settled_;  // came or were recovered, and not looked at yet
    fec::Parity parity_;
    FecBlocks blocks_;
    size_t matrix_ = 0;
    bool has_column_ = false;
    bool started_ = false;
    uint32_t ssrc_ = 0;
    uint16_t newest_ = 0;
    MonoTime last_{};
    double interval_us_ = 0;  // between packets, smoothed
};

}  // namespace weir::net
