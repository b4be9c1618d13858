#include "session/webrtc/rtc_player.h"

#include <string>

#include "net/admission.h"
#include "net/link_facts.h"
#include "session/webrtc/rtc_server.h"
#include "session/webrtc/rtc_session.h"

namespace weir::session {

RtcPlayer::RtcPlayer(RtcSession& session, RtcPump& pump, std::optional<uint8_t> layer)
    : session_(session), pump_(&pump), fixed_layer_(layer) {
    pump_->hold();
}

void RtcPlayer::begin(MonoTime now, const sdp::Answer& answer) {
    const sdp::NegotiatedMedia* audio = answer.find(media::TrackKind::kAudio);
    const sdp::NegotiatedMedia* video = answer.find(media::TrackKind::kVideo);
    sender_ = std::make_unique<RtcSender>(pump_->writer().log(), session_.protector(), audio, video,
                                          system_random(), now,
                                          RtcLayerOptions{&pump_->writer().layers(), fixed_layer_});
    codecs_[kRtpAudioTrack] = audio ? audio->codec : media::Codec::kUnknown;
    codecs_[kRtpVideoTrack] = video ? video->codec : media::Codec::kUnknown;
    net::Client& client = session_.client();
    net::begin_turn(client, net::ClientRole::kPlayer, client.key, session_.path_text());
    pump_->add(*this);
    pump_->stream().note_new_player();
}

void RtcPlayer::on_rtcp(MonoTime now, const rtcp::PacketView& packet) {
    if (sender_->on_rtcp(now, packet, *this)) {
        want_key_frame();
    }
}

void RtcPlayer::want_key_frame() {
    if (pump_->writer().layers().layered()) {
        pump_->stream().want_key_frame_of(sender_->layer());
    } else {
        pump_->stream().want_key_frame();
    }
}

size_t RtcPlayer::poll_transmit(MonoTime now, std::span<uint8_t> out) {
    const stream::Stream& stream = pump_->stream();
    if (stream.publisher_clock().awaited(now)) {
        sender_->postpone_report(now);  // a clock that changes later would set players back
        return 0;
    }
    return sender_->report(now, session_.server().unix_epoch(), out,
                           stream.publisher_clock().wall_offset_us(stream.timeline()));
}

void RtcPlayer::end(MonoTime /*now*/) {
    pump_->remove(*this);
    pump_->release();
    pump_ = nullptr;
}

// ---- playing ----

// Its stream may have another publisher by now, with other codecs.
bool RtcPlayer::fits_stream() const {
    const RtcLogWriter& writer = pump_->writer();
    for (uint8_t index : {kRtpAudioTrack, kRtpVideoTrack}) {
        if (codecs_[index] != media::Codec::kUnknown &&
            codecs_[index] != writer.track(index).codec.codec) {
            return false;
        }
    }
    return true;
}

net::RtpFlush RtcPlayer::flush(MonoTime now, size_t most_runs) {
    if (!fits_stream()) {
        return net::RtpFlush::kCaughtUp;  // look() ends it
    }
    const net::RtpFlush done = sender_->flush(now, *this, most_runs);
    net::Client& client = session_.client();
    if (client.first_frame_ms < 0 && sender_->has_sent()) {
        client.first_frame_ms =
            static_cast<int32_t>(std::chrono::duration_cast<Millis>(now - client.since()).count());
    }
    client.write_stalls += done == net::RtpFlush::kBlocked ? 1 : 0;
    if (const std::optional<uint8_t> layer = sender_->take_layer_request()) {
        pump_->stream().want_key_frame_of(*layer);
    }
    return done;
}

net::RtpPlayer::Fate RtcPlayer::look(MonoTime /*now*/) {
    session_.client().resyncs = sender_->stats().resyncs;
    if (!pump_->writer().refusal().empty()) {
        return {false, "stream cannot be played by WebRTC (B-frames)"};
    }
    if (!fits_stream()) {
        return {false, "codec of the stream changed"};
    }
    return {};
}

void RtcPlayer::end_playing(net::EndClass why, std::string_view reason) {
    session_.end(why, reason);
}

bool RtcPlayer::takes_burst() const {
    return session_.takes_burst();
}

bool RtcPlayer::send_burst(ByteSpan packets, size_t segment_bytes) {
    const bool sent = session_.send_burst(packets, segment_bytes);
    if (sent) {
        pump_->stream().note_sent(packets.size());
    }
    return sent;
}

// ---- for the API ----

std::optional<net::LagFacts> RtcPlayer::lag_facts() const {
    if (!sender_) {
        return std::nullopt;
    }
    return net::LagFacts{sender_->has_sent() ? "flowing" : "waiting", sender_->lag_ms(),
                         std::nullopt};
}

void RtcPlayer::add_to(net::LinkFacts& facts) const {
    if (!sender_) {
        return;
    }
    const RtcSenderStats stats = sender_->stats();
    if (stats.rtt > Micros(0)) {
        facts.rtt = stats.rtt;
    }
    facts.loss = stats.loss;
    facts.packets = stats.packets;
    facts.retransmitted = stats.retransmitted;
    facts.lost = stats.too_late;
    facts.skipped = stats.skipped_runs;
    facts.key_requests = stats.key_requests;
    facts.estimate_bps = sender_->estimate_bps();
    if (pump_ != nullptr && pump_->writer().layers().layered()) {
        facts.layer = std::to_string(sender_->layer());
    }
}

}  // namespace weir::session
