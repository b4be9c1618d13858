#include "bench/load/core/voice.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace weir::load {
namespace {

constexpr size_t kBytes = kVoiceSamples / 8;
constexpr size_t kSummed = kBytes - 3;
constexpr uint32_t kMark = 0x5756;
constexpr uint32_t kSecond = media::g711::kSampleRate;

// FNV-1a, folded to 24 bits.
uint32_t checksum(std::span<const uint8_t, kSummed> bytes) {
    uint32_t sum = 2'166'136'261U;
    for (const uint8_t byte : bytes) {
        sum = (sum ^ byte) * 16'777'619U;
    }
    return (sum ^ (sum >> 24U)) & 0xFFFFFFU;
}

std::array<uint8_t, kBytes> write(const VoiceStamp& stamp) {
    std::array<uint8_t, kBytes> out{};
    size_t at = 0;
    const auto put = [&](uint64_t value, size_t bytes) {
        for (size_t i = bytes; i > 0; i--) {
            out[at++] = static_cast<uint8_t>(value >> (8 * (i - 1)));
        }
    };
    put(kMark, 2);
    put(stamp.voice, 3);
    put(stamp.sequence, 4);
    put(stamp.sent_ns, 8);
    put(checksum(std::span(out).first<kSummed>()), 3);
    return out;
}

std::optional<VoiceStamp> parse(std::span<const uint8_t, kBytes> bytes) {
    size_t at = 0;
    const auto get = [&](size_t count) {
        uint64_t value = 0;
        for (size_t i = 0; i < count; i++) {
            value = value << 8U | bytes[at++];
        }
        return value;
    };
    VoiceStamp stamp;
    const bool marked = get(2) == kMark;
    stamp.voice = static_cast<uint32_t>(get(3));
    stamp.sequence = static_cast<uint32_t>(get(4));
    stamp.sent_ns = get(8);
    return marked && get(3) == checksum(bytes.first<kSummed>()) ? std::optional(stamp)
                                                                : std::nullopt;
}

}  // namespace

void VoiceSource::next(uint64_t now_ns, std::span<uint8_t, kVoiceSamples> out) {
    std::array<int16_t, kVoiceSamples> samples;
    tone_.fill(samples);
    media::g711::encode(media::g711::Law::kMu, samples, out);
    stamp_.sent_ns = now_ns;
    const std::array<uint8_t, kBytes> bits = write(stamp_);
    stamp_.sequence++;
    for (size_t i = 0; i < kVoiceSamples; i++) {
        const unsigned bit = bits[i / 8] >> (7 - i % 8) & 1U;
        out[i] = static_cast<uint8_t>((out[i] & 0xFEU) | bit);
    }
}

void VoiceCounts::add(const VoiceCounts& other) {
    samples += other.samples;
    seconds += other.seconds;
    wrong_seconds += other.wrong_seconds;
    stamped += other.stamped;
    lost += other.lost;
    duplicated += other.duplicated;
    reordered += other.reordered;
    foreign += other.foreign;
    worst_share = std::min(worst_share, other.worst_share);
}

void VoiceCheck::set_measuring(bool measuring) {
    measuring_ = measuring;
    if (measuring) {
        counts_ = VoiceCounts();
        order_ = SequenceWindow();
        filled_ = 0;
        first_ = true;
    }
}

void VoiceCheck::feed_mu(ByteSpan codes, uint64_t now_ns) {
    for (const uint8_t code : codes) {
        take(media::g711::decode(media::g711::Law::kMu, code));
        take_bit((code & 1U) != 0, now_ns);
    }
}

void VoiceCheck::feed_a(ByteSpan codes, uint64_t) {
    for (const uint8_t code : codes) {
        take(media::g711::decode(media::g711::Law::kA, code));
    }
}

void VoiceCheck::take(int16_t sample) {
    counts_.samples++;
    if (filled_ == 0) {
        last_ = before_ = energy_ = 0;
        factor_ = 2 * std::cos(2 * std::numbers::pi * std::round(hertz_) / kSecond);
    }
    const double value = sample;
    const double now = value + factor_ * last_ - before_;
    before_ = last_;
    last_ = now;
    energy_ += value * value;
    if (++filled_ == kSecond) {
        judge();
        filled_ = 0;
    }
}

void VoiceCheck::judge() {
    if (std::exchange(first_, false) || hertz_ <= 0) {
        return;
    }
    const double power = last_ * last_ + before_ * before_ - factor_ * last_ * before_;
    const double share = energy_ > 0 ? 2 * power / (kSecond * energy_) : 0;
    counts_.seconds++;
    counts_.wrong_seconds += share < kLeastShare ? 1 : 0;
    counts_.worst_share = std::min(counts_.worst_share, share);
}

void VoiceCheck::take_bit(bool bit, uint64_t now_ns) {
    for (size_t i = 0; i + 1 < bits_.size(); i++) {
        bits_[i] = bits_[i] << 1U | bits_[i + 1] >> 31U;
    }
    bits_.back() = bits_.back() << 1U | (bit ? 1U : 0U);
    if (bits_.front() >> 16U == kMark) {
        take_stamp(now_ns);
    }
}

void VoiceCheck::take_stamp(uint64_t now_ns) {
    std::array<uint8_t, kBytes> bytes;
    for (size_t i = 0; i < bytes.size(); i++) {
        bytes[i] = static_cast<uint8_t>(bits_[i / 4] >> (8 * (3 - i % 4)));
    }
    const std::optional<VoiceStamp> stamp = parse(bytes);
    if (!stamp) {
        return;
    }
    if (voice_.value_or(stamp->voice) != stamp->voice) {
        counts_.foreign++;
        return;
    }
    voice_ = stamp->voice;
    counts_.stamped++;
    order_.see(stamp->sequence);
    if (measuring_ && now_ns > stamp->sent_ns) {
        delays_.add((now_ns - stamp->sent_ns) / 1000);
    }
}

VoiceCounts VoiceCheck::counts() const {
    VoiceCounts out = counts_;
    out.lost = order_.lost();
    out.duplicated = order_.duplicated();
    out.reordered = order_.reordered();
    return out;
}

}  // namespace weir::load
