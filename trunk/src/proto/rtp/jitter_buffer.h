// Puts the packets of one RTP source in order: holds those that came early until what is missing
// before them arrives or is given up. It adds no delay of its own, and a packet that is next in
// order never enters it, so that nothing is copied or allocated while nothing is lost.
//
// Driven by its Receiver (proto/rtp/receiver.h), which decides when to give up. Memory: nothing
// until the first gap, then 8 bytes a slot and one block per held packet; spare blocks are kept
// for the next gap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/object_count.h"

namespace weir::rtp {

// The largest RTP packet that can be held: a datagram of Ethernet's MTU.
inline constexpr size_t kMaxPacketSize = 1500;

// How far ahead of the first missing packet one may be. 10 Mbit/s for two seconds.
inline constexpr int64_t kMaxHeldPackets = 2048;

struct HeldPacket {
    int64_t sequence = 0;
    MonoTime arrival{};
    bool recovered = false;  // came by a retransmission
    uint16_t size = 0;
    std::array<uint8_t, kMaxPacketSize> bytes;

    ByteSpan span() const { return ByteSpan(bytes).first(size); }
};

class JitterBuffer final : private Counted<JitterBuffer> {
  public:
    static constexpr ObjectName kObjectName{"jitter_buffer", "webrtc"};

    enum class Inserted : uint8_t {
        kHeld,
        kDuplicate,
        kLate,    // before next(): delivered, or given up
        kTooFar,  // kMaxHeldPackets or more beyond next(), or larger than kMaxPacketSize
    };

    JitterBuffer() = default;
    JitterBuffer(const JitterBuffer&) = delete;
    JitterBuffer& operator=(const JitterBuffer&) = delete;
    ~JitterBuffer();

    // The sequence number that is delivered next.
    int64_t next() const { return next_; }

    // Forgets what is held; `next` is delivered next.
    void restart(int64_t next);

    // The packet next() was delivered without having been held.
    void advance() { next_++; }

    // Copies a packet into a block.
    Inserted insert(int64_t sequence, ByteSpan packet, bool recovered, MonoTime now);

    // The same for a packet that is to be written into a block by the caller, at most
    // kMaxPacketSize bytes: fill(span) returns how many it wrote, 0 for none.
    template <typename Fill>
    Inserted insert_with(int64_t sequence, bool recovered, MonoTime now, Fill&& fill) {
        if (const Inserted refused = check(sequence); refused != Inserted::kHeld) {
            return refused;
        }
        std::unique_ptr<HeldPacket> block = take_block();
        block->size = static_cast<uint16_t>(fill(std::span<uint8_t>(block->bytes)));
        if (block->size == 0) {
            give_back(std::move(block));
            return Inserted::kTooFar;
        }
        block->sequence = sequence;
        block->arrival = now;
        block->recovered = recovered;
        hold(std::move(block));
        return Inserted::kHeld;
    }

    // The packet next() when it is held, and moves on; nullptr when it is missing. Valid until the
    // next call of anything here.
    const HeldPacket* pop();

    // Gives up what is missing before the first held packet: next() becomes that one. Returns how
    // many packets that were; 0 when nothing is held.
    int64_t skip_missing();

    bool holds(int64_t sequence) const;

    size_t held() const { return held_; }

  private:
    static constexpr size_t kMaxSpareBlocks = 16;

    static size_t slot(int64_t sequence) {
        return static_cast<size_t>(sequence & (kMaxHeldPackets - 1));
    }

    Inserted check(int64_t sequence) const;
    std::unique_ptr<HeldPacket> take_block();
    void give_back(std::unique_ptr<HeldPacket> block);
    void hold(std::unique_ptr<HeldPacket> block);

    int64_t next_ = 0;
    size_t held_ = 0;
    std::vector<std::unique_ptr<HeldPacket>> slots_;  // empty until the first gap
    std::vector<std::unique_ptr<HeldPacket>> spare_;
    std::unique_ptr<HeldPacket> popped_;
};

}  // namespace weir::rtp
