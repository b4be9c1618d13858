#include "proto/rtp/telephone_event.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::rtp {
namespace {

constexpr std::string_view kDigits = "0123456789*#ABCD!";  // by event
constexpr uint8_t kEndBit = 0x80;
constexpr uint8_t kVolumeBits = 0x3F;
constexpr size_t kMaxListParts = 64;

uint32_t ticks_of(Micros time, uint32_t clock_hz) {
    return static_cast<uint32_t>(time.count() * clock_hz / 1'000'000);
}

}  // namespace

std::optional<EventPayload> EventPayload::parse(ByteSpan payload) {
    ByteReader reader(payload);
    EventPayload out;
    out.event = reader.u8();
    const uint8_t flags = reader.u8();
    out.end = (flags & kEndBit) != 0;
    out.volume = flags & kVolumeBits;
    out.duration = reader.u16();
    return reader.ok() ? std::optional(out) : std::nullopt;
}

std::array<uint8_t, kEventPayloadSize> EventPayload::write() const {
    std::array<uint8_t, kEventPayloadSize> out{};
    out[0] = event;
    out[1] = static_cast<uint8_t>((end ? kEndBit : 0) | (volume & kVolumeBits));
    store_u16(out.data() + 2, duration);
    return out;
}

std::optional<uint8_t> event_of(char digit) {
    const char upper = digit >= 'a' && digit <= 'd' ? static_cast<char>(digit - 'a' + 'A') : digit;
    const size_t at = kDigits.find(upper);
    return at == std::string_view::npos ? std::nullopt : std::optional(static_cast<uint8_t>(at));
}

char digit_of(uint8_t event) {
    return event < kDigits.size() ? kDigits[event] : '\0';
}

EventSet parse_event_list(std::string_view text) {
    EventSet out;
    text = trim(text);
    if (text.empty()) {
        text = "0-15";
    }
    for (const std::string_view part : split(text, ',', kMaxListParts)) {
        const Halves ends = split_once(trim(part), '-');
        const std::optional<uint64_t> from = parse_uint(trim(ends.before), 0, 255);
        const std::optional<uint64_t> to = ends.found ? parse_uint(trim(ends.after), 0, 255) : from;
        if (from && to) {
            for (uint64_t event = *from; event <= *to; event++) {
                out.set(event);
            }
        }
    }
    return out;
}

std::string write_event_list(const EventSet& events) {
    std::string out;
    for (size_t first = 0; first < events.size(); first++) {
        if (!events[first]) {
            continue;
        }
        size_t last = first;
        while (last + 1 < events.size() && events[last + 1]) {
            last++;
        }
        out += out.empty() ? "" : ",";
        out += last > first ? fmt::format("{}-{}", first, last) : fmt::format("{}", first);
        first = last;
    }
    return out;
}

TelephoneEventReceiver::TelephoneEventReceiver(uint32_t clock_hz) : clock_hz_(clock_hz) {}

bool TelephoneEventReceiver::handle_packet(MonoTime now, uint32_t rtp_time, ByteSpan payload) {
    const std::optional<EventPayload> packet = EventPayload::parse(payload);
    if (!packet) {
        return false;
    }
    handle_timeout(now);
    const auto distance = static_cast<int32_t>(rtp_time - begin_);
    if (started_ && distance != 0) {
        // A late packet of an event before. What is further back than that is another clock.
        const auto late = static_cast<int32_t>(5 * clock_hz_);
        if (distance < 0 && distance > -late) {
            return true;
        }
        // RFC 4733 §2.5.1.3: a long event goes on in a part with a time of its own.
        const bool goes_on = open_ && packet->event == event_ && rtp_time - begin_ == duration_ &&
                             duration_ > UINT16_MAX / 2;
        if (goes_on) {
            before_ += duration_;
            begin_ = rtp_time;
            duration_ = 0;
        } else if (open_) {
            report(now, true);
        }
        started_ = goes_on;
    }
    if (!started_) {
        started_ = true;
        open_ = true;
        event_ = packet->event;
        begin_ = rtp_time;
        before_ = 0;
        duration_ = 0;
    }
    if (!open_ || packet->event != event_) {
        return true;
    }
    last_ = now;
    duration_ = std::max(duration_, packet->duration);
    if (packet->end) {
        report(now, false);
    }
    return true;
}

void TelephoneEventReceiver::handle_timeout(MonoTime now) {
    if (open_ && now >= last_ + kEndTimeout) {
        report(now, true);
    }
}

std::optional<MonoTime> TelephoneEventReceiver::next_timeout() const {
    return open_ ? std::optional(last_ + kEndTimeout) : std::nullopt;
}

std::optional<ReceivedEvent> TelephoneEventReceiver::poll_event() {
    if (ready_.empty()) {
        return std::nullopt;
    }
    const ReceivedEvent event = ready_.front();
    ready_.pop_front();
    return event;
}

void TelephoneEventReceiver::reset() {
    started_ = false;
    open_ = false;
}

void TelephoneEventReceiver::report(MonoTime now, bool lost_end) {
    open_ = false;
    constexpr Micros kPerToken = Micros(1'000'000 / kPerSecond);
    const int64_t earned = (now - refilled_) / kPerToken;
    if (earned >= kMaxBurst) {
        tokens_ = kMaxBurst;
        refilled_ = now;
    } else if (earned > 0) {
        tokens_ = std::min(kMaxBurst, tokens_ + static_cast<uint32_t>(earned));
        refilled_ += earned * kPerToken;
    }
    if (tokens_ == 0 || ready_.size() == kMaxHeard) {
        dropped_++;
        return;
    }
    tokens_--;
    const uint64_t ticks = uint64_t{before_} + duration_;
    ready_.push_back({event_, digit_of(event_),
                      Micros(static_cast<int64_t>(ticks * 1'000'000 / clock_hz_)), lost_end});
}

TelephoneEventSender::TelephoneEventSender(uint32_t clock_hz, uint32_t tick_size)
    : clock_hz_(clock_hz), tick_size_(tick_size) {}

bool TelephoneEventSender::send(uint8_t event, Micros duration) {
    if (queue_.size() >= kMaxWaiting) {
        return false;
    }
    const uint32_t ticks = ticks_of(std::clamp(duration, kMinDuration, kMaxDuration), clock_hz_);
    queue_.push_back({event, static_cast<uint16_t>(std::min<uint32_t>(ticks, UINT16_MAX))});
    return true;
}

std::optional<TelephoneEventSender::Packet> TelephoneEventSender::tick(uint32_t rtp_time) {
    if (!active_) {
        if (pause_left_ > 0) {
            pause_left_ -= std::min(pause_left_, tick_size_);
            return std::nullopt;
        }
        if (queue_.empty()) {
            return std::nullopt;
        }
        current_ = queue_.front();
        queue_.pop_front();
        active_ = true;
        begin_ = rtp_time;
        sent_ticks_ = 0;
        ends_sent_ = 0;
    }
    Packet packet;
    packet.marker = sent_ticks_ == 0;
    packet.rtp_time = begin_;
    sent_ticks_ = std::min<uint32_t>(sent_ticks_ + tick_size_, current_.duration);
    EventPayload payload;
    payload.event = current_.event;
    payload.end = sent_ticks_ >= current_.duration;
    payload.duration = static_cast<uint16_t>(sent_ticks_);
    packet.payload = payload.write();
    if (payload.end && ++ends_sent_ == kEndPackets) {
        active_ = false;
        pause_left_ = ticks_of(kPause, clock_hz_);
    }
    return packet;
}

void TelephoneEventSender::stop() {
    queue_.clear();
    if (active_) {
        const uint32_t next = std::min<uint32_t>(sent_ticks_ + tick_size_, current_.duration);
        current_.duration = static_cast<uint16_t>(ends_sent_ > 0 ? current_.duration : next);
    }
}

}  // namespace weir::rtp
