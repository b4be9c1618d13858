// A network in memory for tests of state machines: one direction of a path with loss, reordering,
// duplicates, delay, jitter and a rate with a queue. Seeded, so that a failure repeats.
//
//     Netem up({.loss = 0.05, .delay = Millis(50)}, seed);
//     up.send(now, bytes);
//     while (std::optional<Bytes> packet = up.receive(now)) { ... }
//     now = earliest(up.next_time(), machine.next_timeout());
//
// A packet passes in this order: loss, the queue of the bottleneck (tail drop), the delay.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"

namespace weir::test {

// SplitMix64: small, and the same everywhere, which the distributions of the library are not.
class SeededRandom final : public RandomSource {
  public:
    explicit SeededRandom(uint64_t seed) : state_(seed) {}

    uint64_t u64() {
        state_ += 0x9E3779B97F4A7C15U;
        uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31U);
    }

    // 0 to less than 1.
    double unit() { return static_cast<double>(u64() >> 11U) * 0x1.0p-53; }

    // 0 to bound - 1; bound is not 0.
    uint64_t below(uint64_t bound) { return u64() % bound; }

    bool chance(double probability) { return unit() < probability; }

    void fill(std::span<uint8_t> out) override {
        for (uint8_t& byte : out) {
            byte = static_cast<uint8_t>(u64());
        }
    }

  private:
    uint64_t state_;
};

struct NetemOptions {
    double loss = 0;            // chance of each packet to be lost
    double loss_burst = 1;      // how many packets in a row a loss takes, on average
    double duplicate = 0;       // chance to arrive twice
    double reorder = 0;         // chance to be held back by reorder_delay
    Micros delay = Micros(0);   // of every packet
    Micros jitter = Micros(0);  // up to so much more, without reordering by itself
    Micros reorder_delay = Millis(20);
    int64_t rate_bps = 0;             // of the bottleneck; 0: no bottleneck
    int64_t queue_bytes = 64 * 1024;  // in front of the bottleneck
};

class Netem {
  public:
    explicit Netem(const NetemOptions& options, uint64_t seed = 1)
        : options_(options), random_(seed) {}

    // What holds from now on; what is under way stays so.
    void set_options(const NetemOptions& options) { options_ = options; }

    const NetemOptions& options() const { return options_; }

    void send(MonoTime now, ByteSpan packet) {
        sent_++;
        std::optional<MonoTime> out = lose() ? std::nullopt : through_queue(now, packet.size());
        if (!out) {
            lost_++;
            return;
        }
        push(arrival(*out), packet);
        if (random_.chance(options_.duplicate)) {
            push(arrival(*out), packet);
        }
    }

    // The next packet that has arrived by now, in order of arrival.
    std::optional<Bytes> receive(MonoTime now) {
        if (under_way_.empty() || under_way_.top().at > now) {
            return std::nullopt;
        }
        Bytes bytes = under_way_.top().bytes;
        under_way_.pop();
        delivered_++;
        return bytes;
    }

    // When the next packet arrives; nothing is under way when there is none.
    std::optional<MonoTime> next_time() const {
        return under_way_.empty() ? std::nullopt : std::optional(under_way_.top().at);
    }

    uint64_t sent() const { return sent_; }

    uint64_t lost() const { return lost_; }

    uint64_t delivered() const { return delivered_; }

  private:
    struct Packet {
        MonoTime at;
        uint64_t order;
        Bytes bytes;

        bool operator<(const Packet& other) const {  // the top of the queue is the largest
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    bool lose() {
        if (burst_left_ > 0) {
            burst_left_--;
            return true;
        }
        // A burst begins as often as it takes for the share of lost packets to be `loss`.
        const double length = std::max(options_.loss_burst, 1.0);
        const double start = options_.loss / (length - options_.loss * (length - 1));
        if (!random_.chance(start)) {
            return false;
        }
        while (random_.chance(1 - 1 / length)) {
            burst_left_++;
        }
        return true;
    }

    // When the packet leaves the bottleneck; nothing when its queue is full.
    std::optional<MonoTime> through_queue(MonoTime now, size_t size) {
        if (options_.rate_bps <= 0) {
            return now;
        }
        const MonoTime start = std::max(now, free_at_);
        const int64_t waiting = (start - now).count() * options_.rate_bps / 8'000'000;
        if (waiting + static_cast<int64_t>(size) > options_.queue_bytes) {
            return std::nullopt;
        }
        free_at_ = start + Micros(static_cast<int64_t>(size) * 8'000'000 / options_.rate_bps);
        return free_at_;
    }

    MonoTime arrival(MonoTime out) {
        MonoTime at = out + options_.delay;
        if (options_.jitter > Micros(0)) {
            at += Micros(static_cast<int64_t>(
                random_.below(static_cast<uint64_t>(options_.jitter.count()) + 1)));
        }
        at = std::max(at, last_in_order_);
        if (random_.chance(options_.reorder)) {
            return at + options_.reorder_delay;
        }
        last_in_order_ = at;
        return at;
    }

    void push(MonoTime at, ByteSpan packet) {
        under_way_.push({at, order_++, Bytes(packet.begin(), packet.end())});
    }

    NetemOptions options_;
    SeededRandom random_;
    std::priority_queue<Packet> under_way_;
    MonoTime free_at_{};
    MonoTime last_in_order_{};
    uint64_t burst_left_ = 0;
    uint64_t order_ = 0;
    uint64_t sent_ = 0;
    uint64_t lost_ = 0;
    uint64_t delivered_ = 0;
};

}  // namespace weir::test
