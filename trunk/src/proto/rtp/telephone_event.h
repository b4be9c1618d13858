// Named telephone events in RTP (RFC 4733): digits of DTMF and the flash hook, in both directions.
//
//     0               1               2               3
//    +---------------+-+-+-----------+-------------------------------+
//    |    event      |E|R|  volume   |   duration in ticks           |
//    +---------------+-+-+-----------+-------------------------------+
//
// All packets of an event have the RTP time of its beginning. Not tones in audio.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"

namespace weir::rtp {

inline constexpr size_t kEventPayloadSize = 4;
inline constexpr uint8_t kFlashEvent = 16;

struct EventPayload {
    uint8_t event = 0;
    bool end = false;
    uint8_t volume = 10;    // minus dBm0, 0 to 63
    uint16_t duration = 0;  // ticks of the RTP clock

    // Of several events in one packet (RFC 2833 had them) the first. Nothing when it is too short.
    static std::optional<EventPayload> parse(ByteSpan payload);

    std::array<uint8_t, kEventPayloadSize> write() const;

    bool operator==(const EventPayload&) const = default;
};

// '0' to '9', '*', '#', 'A' to 'D' in any case, '!' for flash. Nothing for others.
std::optional<uint8_t> event_of(char digit);

// The other direction; 0 for events that are none of these.
char digit_of(uint8_t event);

// The events of a=fmtp ("0-15,66"): what the peer takes. Empty means 0-15 (RFC 4733 §2.4.1). Parts
// that cannot be read are left out.
using EventSet = std::bitset<256>;
EventSet parse_event_list(std::string_view text);
std::string write_event_list(const EventSet& events);

struct ReceivedEvent {
    uint8_t event = 0;
    char digit = 0;         // 0: no digit
    Micros duration{};      // as the last packet said it
    bool lost_end = false;  // no packet said that it is over
};

// Makes events of the packets of one source. Each event comes out once: with its first end packet,
// with the first packet of the next event, or when no packet came for kEndTimeout. Repeated and
// late packets mean nothing.
class TelephoneEventReceiver {
  public:
    static constexpr Micros kEndTimeout = Millis(200);
    static constexpr size_t kMaxHeard = 32;     // that are not polled
    static constexpr uint32_t kMaxBurst = 20;   // events at once; digits last 40 ms at least,
    static constexpr uint32_t kPerSecond = 20;  // and so do the pauses: 13 a second

    // `clock_hz`: of the RTP times, not 0.
    explicit TelephoneEventReceiver(uint32_t clock_hz);

    // A packet whose payload type is that of events. False when it cannot be read.
    bool handle_packet(MonoTime now, uint32_t rtp_time, ByteSpan payload);

    void handle_timeout(MonoTime now);
    std::optional<MonoTime> next_timeout() const;
    std::optional<ReceivedEvent> poll_event();

    // Another source: its times are not related to the ones before.
    void reset();

    // Events beyond the limits, which did not come out.
    uint64_t dropped() const { return dropped_; }

  private:
    void report(MonoTime now, bool lost_end);

    uint32_t clock_hz_;
    bool started_ = false;  // event_ and begin_ are of the last event
    bool open_ = false;     // it was not reported
    uint8_t event_ = 0;
    uint32_t begin_ = 0;   // RTP time of the event, or of the part of a long one that is under way
    uint32_t before_ = 0;  // ticks of the parts before
    uint16_t duration_ = 0;
    MonoTime last_{};  // packet of the event
    std::deque<ReceivedEvent> ready_;
    uint64_t dropped_ = 0;
    uint32_t tokens_ = kMaxBurst;
    MonoTime refilled_{};
};

// Makes the packets of events that are to be sent, one after the other with a pause between them.
// The owner calls tick() once for each packet of audio that it would send (20 ms); while an event
// is under way, its packet goes instead of the audio.
class TelephoneEventSender {
  public:
    static constexpr size_t kMaxWaiting = 64;
    static constexpr Micros kMinDuration = Millis(40);
    static constexpr Micros kMaxDuration = Millis(4000);
    static constexpr Micros kPause = Millis(60);
    static constexpr int kEndPackets = 3;  // RFC 4733 §2.5.1.4

    // `tick_size`: ticks of the RTP clock between two calls of tick(), clock_hz / 50.
    TelephoneEventSender(uint32_t clock_hz, uint32_t tick_size);

    // Puts an event in line. The duration is brought within the limits. False when the line is
    // full.
    bool send(uint8_t event, Micros duration = Millis(100));

    // How many more may be put in line.
    size_t room() const { return kMaxWaiting - queue_.size(); }

    struct Packet {
        bool marker = false;
        uint32_t rtp_time = 0;
        std::array<uint8_t, kEventPayloadSize> payload{};
    };

    // `rtp_time`: of the audio packet in whose place it would be. Nothing: send the audio.
    std::optional<Packet> tick(uint32_t rtp_time);

    bool idle() const { return queue_.empty() && !active_; }

    // What is in line is not sent, and the event under way ends with the next packet.
    void stop();

  private:
    struct Waiting {
        uint8_t event = 0;
        uint16_t duration = 0;
    };

    uint32_t clock_hz_;
    uint32_t tick_size_;
    std::deque<Waiting> queue_;
    Waiting current_;
    bool active_ = false;
    uint32_t begin_ = 0;
    uint32_t sent_ticks_ = 0;
    int ends_sent_ = 0;
    uint32_t pause_left_ = 0;  // ticks
};

}  // namespace weir::rtp
