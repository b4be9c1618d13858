// Payloads of RTP in memory: collected from a packetizer, fed to a depacketizer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/packetizer.h"

namespace weir::test {

struct Payload {
    Bytes bytes;
    bool marker = false;

    bool operator==(const Payload&) const = default;
};

class PayloadCollector final : public rtp::PayloadSink {
  public:
    void on_payload(std::span<const ByteSpan> parts, bool last) override {
        Payload payload;
        payload.marker = last;
        for (ByteSpan part : parts) {
            payload.bytes.insert(payload.bytes.end(), part.begin(), part.end());
        }
        payloads.push_back(std::move(payload));
    }

    std::vector<Payload> payloads;
};

// The payloads of a frame; none when the packetizer refuses it.
inline std::vector<Payload> packetize(rtp::Packetizer& packetizer, ByteSpan frame, size_t room) {
    PayloadCollector collector;
    const bool taken = packetizer.packetize(frame, room, collector);
    return taken ? collector.payloads : std::vector<Payload>();
}

// All payloads but the last are equally long, the last one is not longer, none is over `room`.
inline bool are_equal_sizes(const std::vector<Payload>& payloads, size_t room) {
    for (const Payload& payload : payloads) {
        const bool last = &payload == &payloads.back();
        const size_t first = payloads.front().bytes.size();
        if (payload.bytes.size() > room || payload.marker != last ||
            (last ? payload.bytes.size() > first : payload.bytes.size() != first)) {
            return false;
        }
    }
    return !payloads.empty();
}

// Bytes that tell frames and places in them apart.
inline Bytes counted(Bytes head, size_t size, uint32_t seed = 1) {
    while (head.size() < size) {
        seed = seed * 1664525 + 1013904223;
        head.push_back(static_cast<uint8_t>(seed >> 24U | 1U));  // no zeros: no emulation
    }
    return head;
}

// Length-prefixed NAL units.
inline Bytes nal_frame(const std::vector<Bytes>& nals) {
    Bytes frame;
    for (const Bytes& nal : nals) {
        ByteWriter(frame).u32(static_cast<uint32_t>(nal.size())).bytes(nal);
    }
    return frame;
}

// Feeds packets in order; some can be lost.
class Receiver {
  public:
    explicit Receiver(rtp::Depacketizer& depacketizer) : depacketizer_(depacketizer) {}

    // One frame, without the packets whose index is in `lost`; the statuses of the others.
    std::vector<rtp::FeedStatus> frame(const std::vector<Payload>& payloads,
                                       const std::set<size_t>& lost = {}) {
        std::vector<rtp::FeedStatus> statuses;
        time_ += 3000;
        for (size_t i = 0; i < payloads.size(); i++) {
            if (lost.contains(i)) {
                gap_ = true;
                continue;
            }
            statuses.push_back(one(payloads[i].bytes, payloads[i].marker));
        }
        return statuses;
    }

    // One packet of the frame that frame() or next_time() began.
    rtp::FeedStatus one(ByteSpan payload, bool marker) {
        const rtp::FeedStatus status = depacketizer_.feed(payload, {time_, marker, gap_});
        gap_ = false;
        for (rtp::Frame out; depacketizer_.next(out);) {
            frames.push_back(std::move(out));
        }
        return status;
    }

    void next_time() { time_ += 3000; }

    void lose() { gap_ = true; }

    std::vector<rtp::Frame> frames;

  private:
    rtp::Depacketizer& depacketizer_;
    uint32_t time_ = 0xFFFF'F000;  // soon to wrap
    bool gap_ = false;
};

}  // namespace weir::test
