#include "session/webrtc/rtc_session.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "proto/rtp/header.h"
#include "session/webrtc/rtc_server.h"

namespace weir::session {
namespace {

constexpr size_t kRtcpBuffer = 1200;

dtls::TransportOptions dtls_options(const RtcSessionSetup& setup) {
    dtls::TransportOptions options;
    options.role = setup.answer.remote.dtls_client ? dtls::Role::kClient : dtls::Role::kServer;
    options.remote = setup.remote_fingerprint;
    return options;
}

ice::AgentOptions ice_options(const RtcServer& server, const RtcSessionSetup& setup) {
    ice::AgentOptions options = server.options().ice;
    options.check_tag = setup.number;
    return options;
}

ice::RemoteCredentials remote_credentials(const RtcSessionSetup& setup) {
    return {setup.answer.remote.ice_ufrag, setup.answer.remote.ice_pwd};
}

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
      dtls_options_(dtls_options(setup)),
      unproven_(std::move(setup.unproven)),
      connect_deadline_(now + 2 * server.options().ice.connect_timeout),
      agent_(now,
             ice_options(server, setup),
             setup.credentials,
             remote_credentials(setup),
             system_random()) {
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

void RtcSession::on_stun(MonoTime now, const stun::MessageView& message, const ice::Path& from) {
    std::array<uint8_t, ice::kMaxResponseBytes> response;
    const ice::Reply reply = agent_.handle_message(now, message, from, response);
    if (reply.response_bytes > 0) {
        server_.transport().transmit(from, ByteSpan(response).first(reply.response_bytes), 0);
    }
    if (reply.verdict == ice::Verdict::kAccepted) {
        server_.transport().paths().note_check(now, from, *this);
    }
    drain_ice(now);  // the agent has room for one path that made room for another
}

void RtcSession::on_dtls(MonoTime now, ByteSpan datagram, const ice::Path& from) {
    if (!ended_) {
        agent_.note_received(now, from, datagram.size(), false);
        start_dtls(now);
        dtls_->handle_packet(now, datagram);
    }
}

void RtcSession::start_dtls(MonoTime now) {
    if (!dtls_) {
        dtls_ = std::make_unique<dtls::Transport>(server_.identity(), dtls_options_, now);
    }
}

void RtcSession::on_media(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from) {
    client_->received_bytes += datagram.size();
    if (ended_ || !media_begun_) {
        return;
    }
    const bool rtcp = rtp::is_rtcp(datagram);
    srtp::Unprotected plain;
    if (rtcp) {
        plain = publishes_ ? unprotector_->unprotect_rtcp(datagram)
                           : rtcp_unprotector_->unprotect(datagram);
    } else if (publishes_) {
        if (rate_ && !rate_->take(now, datagram.size())) {
            server_.services().limits.count(net::Refusal::kPublishBitrate);
            end(net::EndClass::kRefused,
                fmt::format("the publisher sends more than {} kbit/s (max_publish_bitrate)",
                            rate_->bits_per_second() / 1000));
            return;
        }
        plain = unprotector_->unprotect_rtp(datagram);
    } else {
        return;
    }
    server_.transport().count(plain.status);
    if (!plain.ok()) {
        return;
    }
    dtls_->confirm();
    agent_.note_received(now, from, datagram.size(), true);
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

bool RtcSession::takes_burst() const {
    const ice::Path* path = agent_.media_path();
    return path == nullptr || server_.transport().takes_burst(*path);
}

bool RtcSession::send_burst(ByteSpan packets, size_t segment_bytes) {
    const ice::Path* path = agent_.media_path();
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
    const size_t whole = protector_->protect_rtcp(buffer, size);
    if (whole == 0) {
        end(net::EndClass::kError, "too many RTCP packets for one key");
        return;
    }
    send_burst(buffer.first(whole), 0);
}

void RtcSession::restart_ice(MonoTime now,
                             const ice::Credentials& credentials,
                             ice::RemoteCredentials remote) {
    agent_.restart(credentials, std::move(remote));
    drain_ice(now);
}

// ---- what they bring about ----

void RtcSession::drain_ice(MonoTime now) {
    while (const std::optional<ice::Event> event = agent_.poll_event()) {
        switch (event->type) {
            case ice::Event::Type::kPathAdded:
                server_.transport().paths().note_check(now, event->path, *this);
                if (RtcTransport::is_connection(event->path)) {
                    agent_.prove(now, event->path);  // TCP has shown that the peer is there
                }
                break;
            case ice::Event::Type::kPathRemoved:
                server_.transport().paths().remove(event->path, *this);
                break;
            case ice::Event::Type::kPathProven: on_path_proven(now, event->path); break;
            case ice::Event::Type::kConnected:
                if (dtls_options_.role == dtls::Role::kClient) {
                    start_dtls(now);
                }
                begin_media(now);
                break;
            case ice::Event::Type::kPathSelected: begin_media(now); break;
            case ice::Event::Type::kGenerationEnded:
                server_.transport().unbind_ufrag(event->ufrag_text(), *this);
                break;
            case ice::Event::Type::kFailed: end(net::EndClass::kTimeout, "never connected"); return;
            case ice::Event::Type::kExpired:
                end(net::EndClass::kTimeout, "peer is gone (no consent)");
                return;
        }
    }
}

void RtcSession::on_path_proven(MonoTime now, const ice::Path& path) {
    if (ended_) {
        return;  // an event before this one ended it, and its paths are given back
    }
    server_.transport().paths().take(now, path, *this);
    begin_media(now);
}

void RtcSession::on_path_lost(MonoTime now, const ice::Path& path) {
    agent_.distrust(now, path);
    server_.transport().touch(*this);
}

void RtcSession::send_checks(MonoTime now) {
    std::array<uint8_t, ice::kMaxCheckBytes> check;
    size_t bytes = 0;
    while (const ice::Path* path = agent_.poll_check(now, check, bytes)) {
        server_.transport().transmit(*path, ByteSpan(check).first(bytes), 0);
    }
}

// What a path may not be sent yet waits: for its proof, or for more from there.
void RtcSession::send_dtls() {
    while (const size_t bytes = dtls_->transmit_bytes()) {
        const ice::Path* path = agent_.selected();
        if (path == nullptr || !agent_.take(*path, bytes)) {
            return;
        }
        if (!protector_) {
            note_flight(*path);
        }
        server_.transport().transmit(*path, dtls_->poll_transmit(), 0);
    }
}

void RtcSession::note_flight(const ice::Path& path) {
    flights_differ_ = flights_differ_ || (flight_path_ && *flight_path_ != path);
    flight_path_ = path;
}

void RtcSession::drain_dtls(MonoTime now) {
    if (!dtls_) {
        return;
    }
    send_dtls();
    while (const std::optional<dtls::Event> event = dtls_->poll_event()) {
        switch (*event) {
            case dtls::Event::kConnected: on_keys(now); break;
            case dtls::Event::kFailed: {
                const Error why = dtls_->take_error();
                server_.log_trouble(*client_, "DTLS failed", log::escaped(why.message(), 500));
                end(net::EndClass::kError, "DTLS failed");
                return;
            }
            case dtls::Event::kClosed: end(net::EndClass::kPeerClosed, "peer closed"); return;
        }
    }
}

void RtcSession::on_keys(MonoTime now) {
    const srtp::Keys keys = dtls_->take_keys();
    protector_ =
        std::make_unique<srtp::Protector>(keys.profile, keys.local, server_.control_cipher());
    if (publishes_) {
        Result<std::unique_ptr<srtp::Unprotector>> made =
            srtp::Unprotector::create(keys.profile, keys.remote);
        if (!made.ok()) {
            server_.log_trouble(*client_, "SRTP failed", made.error().message());
            end(net::EndClass::kError, "system error");
            return;
        }
        unprotector_ = std::move(*made);
    } else {
        rtcp_unprotector_ = std::make_unique<srtp::RtcpUnprotector>(keys.profile, keys.remote,
                                                                    server_.control_cipher());
    }
    // A handshake is only done with what it was sent. So a peer that answers no checks is proven
    // too, as long as it stays where it is.
    if (flight_path_ && !flights_differ_) {
        agent_.prove(now, *flight_path_);
        drain_ice(now);
    }
    begin_media(now);
}

// Media begins when there are keys and a nominated path that is proven, whichever comes last.
void RtcSession::begin_media(MonoTime now) {
    if (ended_ || media_begun_ || !protector_ || agent_.media_path() == nullptr) {
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
                 agent_.media_path()->remote.to_string());
    return true;
}

void RtcSession::begin_playing(MonoTime now) {
    stream_ = &pump_->stream();
    client_->role = net::ClientRole::kPlayer;
    client_->turns++;
    const sdp::NegotiatedMedia* audio = answer_.find(media::TrackKind::kAudio);
    const sdp::NegotiatedMedia* video = answer_.find(media::TrackKind::kVideo);
    player_ = std::make_unique<RtcSender>(pump_->writer().log(), *protector_, audio, video,
                                          system_random(), now,
                                          RtcLayerOptions{&pump_->writer().layers(), fixed_layer_});
    log::info_as(client_->id(), "play stream={} transport=webrtc ip={} path={}",
                 log::token(client_->key.to_string()), client_->ip(),
                 agent_.media_path()->remote.to_string());
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
    agent_.handle_timeout(now);
    drain_ice(now);
    if (!ended_ && !media_begun_ && now >= connect_deadline_) {
        end(net::EndClass::kTimeout, "never connected");
    }
    if (ended_) {
        return;
    }
    if (dtls_) {
        dtls_->handle_timeout(now);
    }
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
        drain_ice(now);
    }
    if (!ended_) {
        send_checks(now);
        drain_dtls(now);
    }
    if (!ended_) {
        drain_publisher(now);
    }
}

std::optional<MonoTime> RtcSession::next_timeout() const {
    if (ended_) {
        return std::nullopt;
    }
    std::optional<MonoTime> due = agent_.next_timeout();
    const auto sooner = [&due](const std::optional<MonoTime>& other) {
        if (other && (!due || *other < *due)) {
            due = other;
        }
    };
    if (!media_begun_) {
        sooner(connect_deadline_);
    }
    if (dtls_) {
        sooner(dtls_->next_timeout());
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
                    ice::describe_arrivals(agent_), server_.transport().candidate_text()));
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
    if (dtls_ && dtls_->is_connected()) {
        dtls_->close();
        send_dtls();
    }
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
    agent_.visit_paths(
        [this](const ice::Path& path) { server_.transport().paths().remove(path, *this); });
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
