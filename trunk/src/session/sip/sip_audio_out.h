// The audio packets of a call on their way to the phone: the stream's, and between them what this
// side adds (digits of RFC 4733, comfort noise and keep-alive while the stream says nothing). All
// have numbers of one sequence. Pure.
//
// The owner gives each packet of the stream to take(), and asks poll() each 20 ms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "media/codec.h"
#include "proto/rtp/header.h"
#include "proto/rtp/telephone_event.h"

namespace weir::session {

class SipAudioOut {
  public:
    static constexpr Micros kKeepAlive = Seconds(15);  // RFC 6263 §5: Tr
    static constexpr Micros kTick = Millis(20);        // of a packet
    static constexpr Micros kPaused = Millis(200);     // without audio: the stream says nothing
    static constexpr uint8_t kNoiseLevel = 70;         // minus dBov, of comfort noise
    static constexpr size_t kMaxOwnPacket = rtp::kFixedHeaderSize + 160;

    struct Setup {
        media::Codec codec = media::Codec::kUnknown;
        uint8_t payload_type = 0;
        std::optional<uint8_t> event_type;
        std::optional<uint8_t> comfort_noise;
        uint32_t clock_hz = 8000;
        uint32_t ssrc = 0;
    };

    explicit SipAudioOut(uint16_t first_sequence) : last_(first_sequence) {}

    // What was agreed, at first and again. The sequence goes on, the stream's own numbers begin
    // anew with the next packet.
    void set_up(MonoTime now, const Setup& setup);

    // The stream's numbers begin anew with the next packet.
    void restart() { shift_.reset(); }

    // Puts digits in line, all or none. False: the phone takes no telephone-event, there is no room
    // for all, or one of them is no digit.
    bool send_digits(std::string_view digits, Micros duration);

    bool takes_digits() const { return events_.has_value(); }

    // A packet of the stream, whole; what goes in its place: the same with another number, or a
    // digit. The returned bytes are in `packet`.
    std::span<uint8_t> take(MonoTime now, std::span<uint8_t> packet);

    // A packet that has no number yet: payload type, time and payload as they are to be.
    std::span<uint8_t> number(MonoTime now, std::span<uint8_t> packet) {
        restart();
        return take(now, packet);
    }

    // What is to be sent besides, while no packet of the stream comes. `quiet`: the phone must get
    // no audio (hold). An empty span: nothing but an empty datagram, for NATs (RFC 6263 §4.1).
    std::optional<ByteSpan> poll(MonoTime now, bool quiet, std::span<uint8_t> out);

  private:
    std::span<uint8_t> put(const rtp::TelephoneEventSender::Packet& event,
                           uint16_t sequence,
                           std::span<uint8_t> out) const;
    ByteSpan own(MonoTime now, uint8_t type, ByteSpan payload, std::span<uint8_t> out);
    ByteSpan keep_alive(MonoTime now, std::span<uint8_t> out);
    uint32_t time_at(MonoTime now) const;

    Setup setup_;
    std::optional<rtp::TelephoneEventSender> events_;
    uint16_t last_;                  // number of the newest packet
    std::optional<uint16_t> shift_;  // from the stream's numbers to those here; none: begins anew
    uint32_t time_ = 0;              // RTP time of the newest audio packet
    MonoTime audio_at_{};            // when it went
    MonoTime sent_at_{};             // when anything went
    MonoTime event_due_{};
    bool began_ = false;  // audio has gone
    bool noise_sent_ = false;
};

}  // namespace weir::session
