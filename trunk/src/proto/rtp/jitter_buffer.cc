#include "proto/rtp/jitter_buffer.h"

#include <algorithm>
#include <utility>

namespace weir::rtp {

static_assert((kMaxHeldPackets & (kMaxHeldPackets - 1)) == 0, "slots are found by masking");

namespace {

constexpr uint64_t kSlotsBytes =
    static_cast<uint64_t>(kMaxHeldPackets) * sizeof(std::unique_ptr<HeldPacket>);

}  // namespace

JitterBuffer::~JitterBuffer() {
    restart(0);
    object_class().remove_bytes((slots_.empty() ? 0 : kSlotsBytes) +
                                spare_.size() * sizeof(HeldPacket));
}

void JitterBuffer::restart(int64_t next) {
    if (held_ > 0) {
        for (std::unique_ptr<HeldPacket>& slot : slots_) {
            if (slot) {
                give_back(std::move(slot));
            }
        }
    }
    if (popped_) {
        give_back(std::move(popped_));
    }
    held_ = 0;
    next_ = next;
}

JitterBuffer::Inserted JitterBuffer::insert(int64_t sequence,
                                            ByteSpan packet,
                                            bool recovered,
                                            MonoTime now) {
    return insert_with(sequence, recovered, now, [packet](std::span<uint8_t> out) {
        if (packet.size() > out.size()) {
            return size_t{0};
        }
        std::copy(packet.begin(), packet.end(), out.begin());
        return packet.size();
    });
}

JitterBuffer::Inserted JitterBuffer::check(int64_t sequence) const {
    if (sequence < next_) {
        return Inserted::kLate;
    }
    if (sequence >= next_ + kMaxHeldPackets) {
        return Inserted::kTooFar;
    }
    return holds(sequence) ? Inserted::kDuplicate : Inserted::kHeld;
}

bool JitterBuffer::holds(int64_t sequence) const {
    return !slots_.empty() && sequence >= next_ && sequence < next_ + kMaxHeldPackets &&
           slots_[slot(sequence)] != nullptr;
}

std::unique_ptr<HeldPacket> JitterBuffer::take_block() {
    if (spare_.empty()) {
        object_class().add_bytes(sizeof(HeldPacket));
        return std::make_unique_for_overwrite<HeldPacket>();
    }
    std::unique_ptr<HeldPacket> block = std::move(spare_.back());
    spare_.pop_back();
    return block;
}

void JitterBuffer::give_back(std::unique_ptr<HeldPacket> block) {
    if (spare_.size() < kMaxSpareBlocks) {
        spare_.push_back(std::move(block));
    } else {
        object_class().remove_bytes(sizeof(HeldPacket));
    }
}

void JitterBuffer::hold(std::unique_ptr<HeldPacket> block) {
    if (slots_.empty()) {
        slots_.resize(static_cast<size_t>(kMaxHeldPackets));
        spare_.reserve(kMaxSpareBlocks);
        object_class().add_bytes(kSlotsBytes);
    }
    slots_[slot(block->sequence)] = std::move(block);
    held_++;
}

const HeldPacket* JitterBuffer::pop() {
    if (popped_) {
        give_back(std::move(popped_));
    }
    if (held_ == 0 || !slots_[slot(next_)]) {
        return nullptr;
    }
    popped_ = std::move(slots_[slot(next_)]);
    held_--;
    next_++;
    return popped_.get();
}

int64_t JitterBuffer::skip_missing() {
    if (held_ == 0) {
        return 0;
    }
    const int64_t from = next_;
    while (!slots_[slot(next_)]) {
        next_++;
    }
    return next_ - from;
}

}  // namespace weir::rtp
