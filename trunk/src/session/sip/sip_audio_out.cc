#include "session/sip/sip_audio_out.h"

#include <algorithm>

#include "media/g711.h"

namespace weir::session {
namespace {

using media::Codec;

// A frame of 20 ms in which an encoder has nothing to say (RFC 6716 §3.1, §3.2.1: SILK narrowband).
constexpr uint8_t kOpusNothing = 0x08;

}  // namespace

void SipAudioOut::set_up(MonoTime now, const Setup& setup) {
    const bool other_events =
        setup.event_type != setup_.event_type || setup.clock_hz != setup_.clock_hz;
    setup_ = setup;
    if (other_events || !events_) {
        events_.reset();
        if (setup.event_type) {
            events_.emplace(setup.clock_hz, setup.clock_hz / 50);
        }
    }
    if (!began_) {
        audio_at_ = sent_at_ = now;
    }
    restart();
}

bool SipAudioOut::send_digits(std::string_view digits, Micros duration) {
    if (!events_ || digits.size() > events_->room() ||
        !std::ranges::all_of(digits, [](char each) { return rtp::event_of(each).has_value(); })) {
        return false;
    }
    for (const char digit : digits) {
        events_->send(*rtp::event_of(digit), duration);
    }
    return true;
}

std::span<uint8_t> SipAudioOut::take(MonoTime now, std::span<uint8_t> packet) {
    if (packet.size() < rtp::kFixedHeaderSize) {
        return packet;
    }
    const uint16_t theirs = rtp::sequence_of(packet.data());
    if (!shift_) {
        shift_ = static_cast<uint16_t>(last_ + 1 - theirs);
    }
    last_ = static_cast<uint16_t>(theirs + *shift_);
    time_ = ByteReader(packet.subspan(4)).u32();
    audio_at_ = sent_at_ = now;
    began_ = true;
    noise_sent_ = false;
    if (events_) {
        if (const auto event = events_->tick(time_)) {
            return put(*event, last_, packet);
        }
    }
    store_u16(packet.data() + 2, last_);
    return packet;
}

std::span<uint8_t> SipAudioOut::put(const rtp::TelephoneEventSender::Packet& event,
                                    uint16_t sequence,
                                    std::span<uint8_t> out) const {
    constexpr size_t kSize = rtp::kFixedHeaderSize + rtp::kEventPayloadSize;
    if (out.size() < kSize) {
        return {};
    }
    rtp::write_header({*setup_.event_type, event.marker, sequence, event.rtp_time, setup_.ssrc},
                      out.data());
    std::copy(event.payload.begin(), event.payload.end(), out.begin() + rtp::kFixedHeaderSize);
    return out.first(kSize);
}

uint32_t SipAudioOut::time_at(MonoTime now) const {
    return time_ +
           static_cast<uint32_t>((now - audio_at_).count() * int64_t{setup_.clock_hz} / 1'000'000);
}

ByteSpan SipAudioOut::own(MonoTime now, uint8_t type, ByteSpan payload, std::span<uint8_t> out) {
    const size_t size = rtp::kFixedHeaderSize + payload.size();
    if (out.size() < size) {
        return {};
    }
    last_++;
    if (shift_) {
        (*shift_)++;
    }
    rtp::write_header({type, false, last_, time_at(now), setup_.ssrc}, out.data());
    std::copy(payload.begin(), payload.end(), out.begin() + rtp::kFixedHeaderSize);
    return out.first(size);
}

ByteSpan SipAudioOut::keep_alive(MonoTime now, std::span<uint8_t> out) {
    if (setup_.comfort_noise) {
        return own(now, *setup_.comfort_noise, ByteSpan(&kNoiseLevel, 1), out);
    }
    if (setup_.codec == Codec::kOpus) {
        return own(now, setup_.payload_type, ByteSpan(&kOpusNothing, 1), out);
    }
    if (setup_.codec == Codec::kG711A || setup_.codec == Codec::kG711U) {
        std::array<uint8_t, media::g711::kSampleRate / 50> silence;
        silence.fill(setup_.codec == Codec::kG711A ? media::g711::kSilenceA
                                                   : media::g711::kSilenceMu);
        return own(now, setup_.payload_type, silence, out);
    }
    return {};
}

std::optional<ByteSpan> SipAudioOut::poll(MonoTime now, bool quiet, std::span<uint8_t> out) {
    if (!quiet && events_ && now - audio_at_ >= kPaused && now >= event_due_) {
        event_due_ = std::max(event_due_ + kTick, now - kTick);
        if (const auto event = events_->tick(time_at(now))) {
            last_++;
            if (shift_) {
                (*shift_)++;
            }
            sent_at_ = now;
            return put(*event, last_, out);
        }
    }
    const bool noise =
        !quiet && began_ && setup_.comfort_noise && !noise_sent_ && now - audio_at_ >= kPaused;
    if (!noise && now - sent_at_ < kKeepAlive) {
        return std::nullopt;
    }
    noise_sent_ = true;
    sent_at_ = now;
    return quiet ? ByteSpan() : keep_alive(now, out);
}

}  // namespace weir::session
