#include "proto/rtcp/transport_feedback.h"

#include <algorithm>
#include <array>
#include <limits>

namespace weir::rtcp {
namespace {

// Statuses of a packet.
constexpr uint8_t kLost = 0;
constexpr uint8_t kSmallDelta = 1;
constexpr uint8_t kLargeDelta = 2;

// Chunks: a run of one status (0 | status 2 | length 13), or a vector of 14 statuses of one bit
// (10 | ...) or of 7 of two bits (11 | ...).
constexpr uint16_t kVectorBit = 0x8000;
constexpr uint16_t kTwoBitsBit = 0x4000;
constexpr uint16_t kRunLengthBits = 0x1FFF;
constexpr uint32_t kMaxRun = kRunLengthBits;
constexpr uint32_t kOneBitStatuses = 14;
constexpr uint32_t kTwoBitStatuses = 7;

constexpr size_t kFixedSize = kHeaderSize + 8 + 8;
constexpr size_t kChunkSize = 2;

constexpr uint32_t statuses_in(uint16_t chunk) {
    if ((chunk & kVectorBit) == 0) {
        return chunk & kRunLengthBits;
    }
    return (chunk & kTwoBitsBit) != 0 ? kTwoBitStatuses : kOneBitStatuses;
}

constexpr bool is_run(uint16_t chunk) {
    return (chunk & kVectorBit) == 0;
}

// `index`: from the chunk's first status on.
constexpr uint8_t status_in(uint16_t chunk, uint32_t index) {
    if (is_run(chunk)) {
        return chunk >> 13 & 3;
    }
    if ((chunk & kTwoBitsBit) != 0) {
        return chunk >> (2 * (kTwoBitStatuses - 1 - index)) & 3;
    }
    return chunk >> (kOneBitStatuses - 1 - index) & 1;
}

// Bytes of the deltas of the first `count` statuses; nothing for the reserved status.
std::optional<size_t> delta_bytes(uint16_t chunk, uint32_t count) {
    if (is_run(chunk)) {
        const uint8_t status = status_in(chunk, 0);
        return status > kLargeDelta ? std::nullopt : std::optional(size_t{count} * status);
    }
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t status = status_in(chunk, i);
        if (status > kLargeDelta) {
            return std::nullopt;
        }
        bytes += status;  // 0, 1 or 2 bytes, as it happens
    }
    return bytes;
}

}  // namespace

std::optional<TransportFeedbackView> TransportFeedbackView::parse(const PacketView& packet) {
    if (!packet.is_feedback(PacketType::kTransportFeedback, kTransportWideFeedback)) {
        return std::nullopt;
    }
    ByteReader reader(packet.body);
    TransportFeedbackView view;
    view.sources_.sender_ssrc = reader.u32();
    view.sources_.media_ssrc = reader.u32();
    view.base_sequence_ = reader.u16();
    view.status_count_ = reader.u16();
    view.reference_time_us_ = int64_t{reader.u24()} * kReferenceUnitUs;
    view.feedback_count_ = reader.u8();
    const size_t chunks_at = reader.position();
    size_t deltas = 0;
    uint32_t left = view.status_count_;
    while (left > 0 && reader.ok()) {
        const uint16_t chunk = reader.u16();
        const uint32_t count = std::min(statuses_in(chunk), left);
        const std::optional<size_t> bytes = delta_bytes(chunk, count);
        if (!bytes || count == 0) {
            return std::nullopt;
        }
        deltas += *bytes;
        left -= count;
    }
    const size_t chunks_end = reader.position();
    view.deltas_ = reader.take(deltas);
    if (!reader.ok() || view.status_count_ == 0) {
        return std::nullopt;
    }
    view.chunks_ = packet.body.subspan(chunks_at, chunks_end - chunks_at);
    return view;
}

TransportFeedbackView::Walk::Walk(const TransportFeedbackView& view)
    : chunks_(view.chunks_),
      deltas_(view.deltas_),
      left_(view.status_count_),
      sequence_(view.base_sequence_),
      time_us_(view.reference_time_us_) {}

bool TransportFeedbackView::Walk::next(Arrived& out) {
    while (left_ > 0) {
        if (in_chunk_ == 0) {
            chunk_ = chunks_.u16();
            in_chunk_ = statuses_in(chunk_);
        }
        const uint8_t status = status_in(chunk_, statuses_in(chunk_) - in_chunk_);
        const uint32_t step =
            status == kLost && is_run(chunk_) ? std::min(in_chunk_, left_) : uint32_t{1};
        out.sequence = sequence_;
        in_chunk_ -= step;
        left_ -= step;
        sequence_ = static_cast<uint16_t>(sequence_ + step);
        if (status != kLost) {
            const int delta = status == kSmallDelta ? int{deltas_.u8()}
                                                    : int{static_cast<int16_t>(deltas_.u16())};
            time_us_ += delta * kDeltaUnitUs;
            out.time_us = time_us_;
            return true;
        }
    }
    return false;
}

namespace {

// Packs statuses into chunks as they come, each chunk as full as it can be.
class ChunkPacker {
  public:
    explicit ChunkPacker(uint8_t* out) : out_(out) {}

    void add(uint8_t status) {
        while (!fits(status)) {
            emit(count_ == kOneBitStatuses);
        }
        if (count_ < pending_.size()) {
            pending_[count_] = status;
        }
        uniform_ = uniform_ && status == pending_[0];
        large_ = large_ || status == kLargeDelta;
        count_++;
    }

    // Bytes of all chunks, with the one that flush() will write.
    size_t size() const { return size_ + (count_ > 0 ? kChunkSize : 0); }

    void flush() {
        while (count_ > 0) {
            emit(true);
        }
    }

  private:
    bool fits(uint8_t status) const {
        return count_ < kTwoBitStatuses ||
               (count_ < kOneBitStatuses && !large_ && status != kLargeDelta) ||
               (count_ < kMaxRun && uniform_ && status == pending_[0]);
    }

    // `one_bit`: there are 14 statuses for a vector of one bit each, or no more will come.
    void emit(bool one_bit) {
        if (uniform_) {
            put(static_cast<uint16_t>(static_cast<size_t>(pending_[0]) << 13U | count_), count_);
        } else if (one_bit && !large_ && count_ > kTwoBitStatuses) {
            put(vector(kVectorBit, kOneBitStatuses, 1), std::min(count_, kOneBitStatuses));
        } else {
            put(vector(kVectorBit | kTwoBitsBit, kTwoBitStatuses, 2),
                std::min(count_, kTwoBitStatuses));
        }
    }

    uint16_t vector(unsigned bits, uint32_t statuses, unsigned width) const {
        for (uint32_t i = 0; i < std::min(count_, statuses); i++) {
            bits |= static_cast<unsigned>(pending_[i]) << (width * (statuses - 1 - i));
        }
        return static_cast<uint16_t>(bits);
    }

    // Writes a chunk and forgets the first `count` pending statuses, which are in it.
    void put(uint16_t chunk, uint32_t count) {
        store_u16(out_ + size_, chunk);
        size_ += kChunkSize;
        const uint32_t left = count_ - count;
        for (uint32_t i = 0; i < left; i++) {
            pending_[i] = pending_[i + count];
        }
        count_ = left;
        large_ = std::find(pending_.begin(), pending_.begin() + left, kLargeDelta) !=
                 pending_.begin() + left;
        uniform_ = std::all_of(pending_.begin(), pending_.begin() + left,
                               [this](uint8_t s) { return s == pending_[0]; });
    }

    uint8_t* out_;
    size_t size_ = 0;
    uint32_t count_ = 0;
    std::array<uint8_t, kOneBitStatuses> pending_{};  // the first of them; more only when uniform
    bool uniform_ = true;
    bool large_ = false;
};

constexpr bool is_small(int64_t delta) {
    return delta >= 0 && delta <= std::numeric_limits<uint8_t>::max();
}

constexpr bool is_representable(int64_t delta) {
    return delta >= std::numeric_limits<int16_t>::min() &&
           delta <= std::numeric_limits<int16_t>::max();
}

// An arrival adds at most so many bytes of chunks: what was pending (two), a run of lost packets,
// itself.
constexpr size_t kMaxChunksPerArrival = 5 * kChunkSize;

}  // namespace

WrittenFeedback write_transport_feedback(const FeedbackSources& sources,
                                         uint8_t feedback_count,
                                         std::span<const Arrival> arrivals,
                                         std::span<uint8_t> out,
                                         uint16_t lost_before) {
    const Arrival& first = arrivals.front();
    const int64_t base = first.sequence - lost_before;
    const int64_t reference = first.time_us / kReferenceUnitUs;
    const int64_t start = reference * (kReferenceUnitUs / kDeltaUnitUs);
    // First the chunks of as many as fit, then their deltas: the place of the deltas depends on how
    // many chunks there are.
    ChunkPacker packer(out.data() + kFixedSize);
    const size_t room = out.size() / 4 * 4;
    size_t used = 0;
    size_t deltas = 0;
    int64_t time = start;
    int64_t sequence = base;
    for (; used < arrivals.size(); used++) {
        const Arrival& arrival = arrivals[used];
        const int64_t delta = arrival.time_us / kDeltaUnitUs - time;
        const size_t bytes = is_small(delta) ? 1 : 2;
        if (!is_representable(delta) || arrival.sequence - base >= kMaxFeedbackStatuses ||
            kFixedSize + packer.size() + kMaxChunksPerArrival + deltas + bytes > room) {
            break;
        }
        for (; sequence < arrival.sequence; sequence++) {
            packer.add(kLost);
        }
        packer.add(is_small(delta) ? kSmallDelta : kLargeDelta);
        sequence++;
        time += delta;
        deltas += bytes;
    }
    packer.flush();
    size_t at = kFixedSize + packer.size();
    time = start;
    for (const Arrival& arrival : arrivals.first(used)) {
        const int64_t delta = arrival.time_us / kDeltaUnitUs - time;
        if (is_small(delta)) {
            out[at++] = static_cast<uint8_t>(delta);
        } else {
            store_u16(out.data() + at, static_cast<uint16_t>(delta));
            at += 2;
        }
        time += delta;
    }
    while (at % 4 != 0) {
        out[at++] = 0;
    }
    out[0] = 0x80 | kTransportWideFeedback;
    out[1] = static_cast<uint8_t>(PacketType::kTransportFeedback);
    store_u16(&out[2], static_cast<uint16_t>(at / 4 - 1));
    store_u32(&out[4], sources.sender_ssrc);
    store_u32(&out[8], sources.media_ssrc);
    store_u16(&out[12], static_cast<uint16_t>(base));
    store_u16(&out[14], static_cast<uint16_t>(sequence - base));
    store_u24(&out[16], static_cast<uint32_t>(reference) & 0xFFFFFF);
    out[19] = feedback_count;
    return {at, used};
}

}  // namespace weir::rtcp
