#include "session/webrtc/rtc_session.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "proto/rtp/header.h"
#include "session/webrtc/rtc_server.h"

namespace weir::session {
namespace {

constexpr size_t kRtcpBuffer = 1200;

}  // namespace

RtcSession::RtcSession(RtcServer& server, RtcSessionSetup setup, MonoTime now)
    : server_(server),
      id_(std::move(setup.id)),
      number_(setup.number),
      publishes_(setup.publishes),
      client_(std::move(setup.client)),
      rules_(setup.publish_rules),
      pump_(setup.pump),
      fixed_layer_(setup.layer),
      unproven_(std::move(setup.unproven)),
      connect_deadline_(now + 2 * server.options().ice.connect_timeout),
      transport_(server, *this, setup, now) {
    answer_ = std::move(setup.answer);
    if (pump_ != nullptr) {
        pump_->hold();
    }
    if (publishes_ && rules_.max_bits_per_second > 0) {
        rate_ = std::make_unique<net::RateGuard>(rules_.max_bits_per_second);
    }
    client_->kick = [this] { end(net::EndClass::kKicked, "kicked by the API"); };
    client_->probe = this;
    client_->encrypted = true;
}

RtcSession::~RtcSession() {
    WEIR_CHECK(ended_);
}

std::string RtcSession::describe() const {
    return fmt::format("client {} from {}", client_->id(), client_->ip());
}

void RtcSession::on_taken_over() {
    has_stream_ = false;
    stream_ = nullptr;  // the other one holds it: to release it here would delete it under its feet
    end(net::EndClass::kReplaced, "another publisher took the stream over");
}

void RtcSession::on_key_frame_wanted() {
    if (publisher_) {
        publisher_->request_key_frame();
    }
}

void RtcSession::on_layer_wanted(uint8_t layer) {
    if (publisher_) {
        publisher_->request_key_frame_of(layer);
    }
}

// ---- datagrams ----

void RtcSession::on_media(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from) {
    client_->received_bytes += datagram.size();
    if (ended_ || !media_begun_) {
        return;
    }
    const bool rtcp = rtp::is_rtcp(datagram);
    srtp::Unprotected plain;
    if (rtcp) {
        plain = transport_.open_rtcp(datagram);
    } else if (publishes_) {
        if (rate_ && !rate_->take(now, datagram.size())) {
            server_.services().limits.count(net::Refusal::kPublishBitrate);
            end(net::EndClass::kRefused,
                fmt::format("the publisher sends more than {} kbit/s (max_publish_bitrate)",
                            rate_->bits_per_second() / 1000));
            return;
        }
        plain = transport_.open_rtp(datagram);
    } else {
        return;
    }
    if (!plain.ok()) {
        return;
    }
    transport_.note_authentic(now, from, datagram.size());
    const std::span<uint8_t> bytes = datagram.first(plain.size);
    if (rtcp) {
        on_rtcp(now, bytes);
    } else {
        publisher_->on_rtp(now, bytes);
    }
}

void RtcSession::on_rtcp(MonoTime now, ByteSpan compound) {
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(compound); reader.next(packet) && !ended_;) {
        if (publisher_) {
            publisher_->on_rtcp(now, packet);
        } else if (player_ && player_->on_rtcp(now, packet, *this)) {
            want_key_frame();
        }
    }
}

void RtcSession::want_key_frame() {
    if (pump_->writer().layers().layered()) {
        stream_->want_key_frame_of(player_->layer());
    } else {
        stream_->want_key_frame();
    }
}

bool RtcSession::send_burst(ByteSpan packets, size_t segment_bytes) {
    const ice::Path* path = agent().media_path();
    if (path == nullptr) {
        return true;  // nowhere to send to: lost on the way
    }
    const bool sent = server_.transport().transmit(*path, packets, segment_bytes);
    client_->sent_bytes += sent ? packets.size() : 0;
    if (sent && player_) {
        stream_->note_sent(packets.size());
    }
    return sent;
}

void RtcSession::send_rtcp(std::span<uint8_t> buffer, size_t size) {
    const size_t whole = transport_.protector().protect_rtcp(buffer, size);
    if (whole == 0) {
        end(net::EndClass::kError, "too many RTCP packets for one key");
        return;
    }
    send_burst(buffer.first(whole), 0);
}

// Media begins when there are keys and a nominated path that is proven, whichever comes last.
void RtcSession::begin_media(MonoTime now) {
    if (ended_ || media_begun_ || !transport_.ready()) {
        return;
    }
    media_begun_ = true;
    unproven_.release();
    if (publishes_) {
        if (!begin_publishing(now)) {
            return;
        }
    } else {
        begin_playing(now);
    }
    answer_ = {};
}

bool RtcSession::begin_publishing(MonoTime now) {
    stream::Registry& registry = server_.services().registry;
    stream_ = &registry.get_or_create(client_->key, rules_.stream, now);
    if (Error busy = stream_->start_publish(*this, rules_.conflict, now)) {
        server_.log_trouble(
            *client_, "publish refused",
            log::escaped(std::string(busy.message()) + stream_->describe_holder(now), 500));
        registry.release(*stream_);
        stream_ = nullptr;
        end(net::EndClass::kRefused, "stream is busy");
        return false;
    }
    has_stream_ = true;
    client_->role = net::ClientRole::kPublisher;
    client_->turns++;
    RtcIngestOptions options;
    options.key_frame_interval = server_.options().key_frame_interval;
    options.workers = server_.workers();
    options.aac_bits_per_second = server_.options().aac_bits_per_second;
    publisher_ = std::make_unique<RtcIngest>(*stream_, *this, answer_, options);
    log::info_as(client_->id(), "publish stream={} transport=webrtc ip={} path={}",
                 log::token(client_->key.to_string()), client_->ip(),
                 transport_.agent().media_path()->remote.to_string());
    return true;
}

void RtcSession::begin_playing(MonoTime now) {
    stream_ = &pump_->stream();
    client_->role = net::ClientRole::kPlayer;
    client_->turns++;
    const sdp::NegotiatedMedia* audio = answer_.find(media::TrackKind::kAudio);
    const sdp::NegotiatedMedia* video = answer_.find(media::TrackKind::kVideo);
    player_ = std::make_unique<RtcSender>(pump_->writer().log(), transport_.protector(), audio,
                                          video, system_random(), now,
                                          RtcLayerOptions{&pump_->writer().layers(), fixed_layer_});
    log::info_as(client_->id(), "play stream={} transport=webrtc ip={} path={}",
                 log::token(client_->key.to_string()), client_->ip(),
                 transport_.agent().media_path()->remote.to_string());
    codecs_[kRtpAudioTrack] = audio ? audio->codec : media::Codec::kUnknown;
    codecs_[kRtpVideoTrack] = video ? video->codec : media::Codec::kUnknown;
    pump_->add(*this);
    stream_->note_new_player();
}

void RtcSession::drain_publisher(MonoTime now) {
    std::array<uint8_t, kRtcpBuffer> buffer;
    while (publisher_ && !ended_) {
        const size_t size = publisher_->poll_transmit(
            now, std::span(buffer).first(kRtcpBuffer - srtp::kMaxOverhead));
        if (size == 0) {
            return;
        }
        send_rtcp(buffer, size);
    }
}

void RtcSession::handle_timeout(MonoTime now) {
    transport_.handle_ice_timeout(now);
    if (!ended_ && !media_begun_ && now >= connect_deadline_) {
        end(net::EndClass::kTimeout, "never connected");
    }
    if (ended_) {
        return;
    }
    transport_.handle_dtls_timeout(now);
    if (publisher_) {
        publisher_->handle_timeout(now);
        const bool begun = publisher_->has_frames();
        if (now - publisher_->last_media() > (begun ? rules_.silent : rules_.first_packet)) {
            end(net::EndClass::kTimeout, begun ? "publisher silent" : "no media");
        }
    }
    if (player_) {
        std::array<uint8_t, kRtcpBuffer> buffer;
        const size_t size = player_->report(
            now, server_.unix_epoch(), std::span(buffer).first(kRtcpBuffer - srtp::kMaxOverhead));
        if (size > 0) {
            send_rtcp(buffer, size);
        }
        player_->handle_timeout(now);
    }
}

void RtcSession::settle(MonoTime now) {
    if (!ended_) {
        transport_.settle(now);
    }
    if (!ended_) {
        drain_publisher(now);
    }
}

std::optional<MonoTime> RtcSession::next_timeout() const {
    if (ended_) {
        return std::nullopt;
    }
    std::optional<MonoTime> due = transport_.next_timeout();
    const auto sooner = [&due](const std::optional<MonoTime>& other) {
        if (other && (!due || *other < *due)) {
            due = other;
        }
    };
    if (!media_begun_) {
        sooner(connect_deadline_);
    }
    if (publisher_) {
        sooner(publisher_->next_timeout());
    }
    if (player_) {
        sooner(player_->next_report());
    }
    return due;
}

// ---- playing ----

// Its stream may have another publisher by now, with other codecs.
bool RtcSession::fits_stream() const {
    const RtcLogWriter& muxer = pump_->writer();
    for (uint8_t index : {kRtpAudioTrack, kRtpVideoTrack}) {
        if (codecs_[index] != media::Codec::kUnknown &&
            codecs_[index] != muxer.track(index).codec.codec) {
            return false;
        }
    }
    return true;
}

net::RtpFlush RtcSession::flush(MonoTime now, size_t most_runs) {
    if (!fits_stream()) {
        return net::RtpFlush::kCaughtUp;  // look() ends it
    }
    const net::RtpFlush done = player_->flush(now, *this, most_runs);
    if (client_->first_frame_ms < 0 && player_->has_sent()) {
        client_->first_frame_ms = static_cast<int32_t>(
            std::chrono::duration_cast<Millis>(now - client_->since()).count());
    }
    client_->write_stalls += done == net::RtpFlush::kBlocked ? 1 : 0;
    if (const std::optional<uint8_t> layer = player_->take_layer_request()) {
        stream_->want_key_frame_of(*layer);
    }
    return done;
}

net::RtpPlayer::Fate RtcSession::look(MonoTime) {
    client_->resyncs = player_->stats().resyncs;
    if (!pump_->writer().refusal().empty()) {
        return {false, "stream cannot be played by WebRTC (B-frames)"};
    }
    if (!fits_stream()) {
        return {false, "codec of the stream changed"};
    }
    return {};
}

// ---- the end ----

void RtcSession::log_never_connected() const {
    server_.log_trouble(
        *client_, "never connected",
        fmt::format("stream={} {}; offered candidates: {}", log::token(client_->key.to_string()),
                    ice::describe_arrivals(agent()), server_.transport().candidate_text()));
}

void RtcSession::end(net::EndClass why, std::string_view reason) {
    if (ended_) {
        return;
    }
    ended_ = true;
    const bool never_connected = !media_begun_ && why == net::EndClass::kTimeout;
    if (never_connected) {
        log_never_connected();
    }
    transport_.close();
    if (pump_ != nullptr) {
        pump_->remove(*this);
        pump_->release();
        pump_ = nullptr;
    }
    publisher_.reset();  // sound that a worker is at must not come to a stream that is gone
    if (publishes_ && stream_ != nullptr) {
        if (has_stream_) {
            stream_->end_publish(*this, MonoClock::now());
        }
        server_.services().registry.release(*stream_);
    }
    stream_ = nullptr;
    transport_.give_back_paths();
    if (never_connected) {
        client_->end_quietly(why, reason);  // log_never_connected() has said it
    } else {
        client_->log_summary(why, reason);
    }
    client_->kick = nullptr;
    client_->probe = nullptr;
    server_.transport().forget(*this);
}

}  // namespace weir::session
