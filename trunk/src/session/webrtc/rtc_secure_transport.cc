#include "session/webrtc/rtc_secure_transport.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "base/random.h"
#include "session/webrtc/rtc_server.h"
#include "session/webrtc/rtc_session.h"

namespace weir::session {
namespace {

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

RtcSecureTransport::RtcSecureTransport(RtcServer& server,
                                       RtcSession& session,
                                       const RtcSessionSetup& setup,
                                       MonoTime now)
    : server_(server),
      session_(session),
      dtls_options_(dtls_options(setup)),
      agent_(now,
             ice_options(server, setup),
             setup.credentials,
             remote_credentials(setup),
             system_random()) {}

// ---- datagrams ----

void RtcSecureTransport::on_stun(MonoTime now,
                                 const stun::MessageView& message,
                                 const ice::Path& from) {
    std::array<uint8_t, ice::kMaxResponseBytes> response;
    const ice::Reply reply = agent_.handle_message(now, message, from, response);
    if (reply.response_bytes > 0) {
        server_.transport().transmit(from, ByteSpan(response).first(reply.response_bytes), 0);
    }
    if (reply.verdict == ice::Verdict::kAccepted) {
        server_.transport().paths().note_check(now, from, session_);
    }
    drain_ice(now);  // the agent has room for one path that made room for another
}

void RtcSecureTransport::on_dtls(MonoTime now, ByteSpan datagram, const ice::Path& from) {
    agent_.note_received(now, from, datagram.size(), false);
    start_dtls(now);
    dtls_->handle_packet(now, datagram);
}

void RtcSecureTransport::start_dtls(MonoTime now) {
    if (!dtls_) {
        dtls_ = std::make_unique<dtls::Transport>(server_.identity(), dtls_options_, now);
    }
}

srtp::Unprotected RtcSecureTransport::open_rtp(std::span<uint8_t> datagram) {
    const srtp::Unprotected plain = unprotector_->unprotect_rtp(datagram);
    server_.transport().count(plain.status);
    return plain;
}

srtp::Unprotected RtcSecureTransport::open_rtcp(std::span<uint8_t> datagram) {
    const srtp::Unprotected plain = unprotector_ ? unprotector_->unprotect_rtcp(datagram)
                                                 : rtcp_unprotector_->unprotect(datagram);
    server_.transport().count(plain.status);
    return plain;
}

void RtcSecureTransport::note_authentic(MonoTime now, const ice::Path& from, size_t bytes) {
    dtls_->confirm();
    agent_.note_received(now, from, bytes, true);
}

bool RtcSecureTransport::takes_burst() const {
    const ice::Path* path = agent_.media_path();
    return path == nullptr || server_.transport().takes_burst(*path);
}

void RtcSecureTransport::restart(MonoTime now,
                                 const ice::Credentials& credentials,
                                 ice::RemoteCredentials remote) {
    agent_.restart(credentials, std::move(remote));
    drain_ice(now);
}

// ---- what they bring about ----

void RtcSecureTransport::drain_ice(MonoTime now) {
    while (const std::optional<ice::Event> event = agent_.poll_event()) {
        switch (event->type) {
            case ice::Event::Type::kPathAdded:
                server_.transport().paths().note_check(now, event->path, session_);
                if (RtcTransport::is_connection(event->path)) {
                    agent_.prove(now, event->path);  // TCP has shown that the peer is there
                }
                break;
            case ice::Event::Type::kPathRemoved:
                server_.transport().paths().remove(event->path, session_);
                break;
            case ice::Event::Type::kPathProven: on_path_proven(now, event->path); break;
            case ice::Event::Type::kConnected:
                if (dtls_options_.role == dtls::Role::kClient) {
                    start_dtls(now);
                }
                session_.begin_media(now);
                break;
            case ice::Event::Type::kPathSelected: session_.begin_media(now); break;
            case ice::Event::Type::kGenerationEnded:
                server_.transport().unbind_ufrag(event->ufrag_text(), session_);
                break;
            case ice::Event::Type::kFailed:
                session_.end(net::EndClass::kTimeout, "never connected");
                return;
            case ice::Event::Type::kExpired:
                session_.end(net::EndClass::kTimeout, "peer is gone (no consent)");
                return;
        }
    }
}

void RtcSecureTransport::on_path_proven(MonoTime now, const ice::Path& path) {
    if (session_.ended()) {
        return;  // an event before this one ended it, and its paths are given back
    }
    server_.transport().paths().take(now, path, session_);
    session_.begin_media(now);
}

void RtcSecureTransport::on_path_lost(MonoTime now, const ice::Path& path) {
    agent_.distrust(now, path);
    server_.transport().touch(session_);
}

void RtcSecureTransport::send_checks(MonoTime now) {
    std::array<uint8_t, ice::kMaxCheckBytes> check;
    size_t bytes = 0;
    while (const ice::Path* path = agent_.poll_check(now, check, bytes)) {
        server_.transport().transmit(*path, ByteSpan(check).first(bytes), 0);
    }
}

// What a path may not be sent yet waits: for its proof, or for more from there.
void RtcSecureTransport::send_dtls() {
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

void RtcSecureTransport::note_flight(const ice::Path& path) {
    flights_differ_ = flights_differ_ || (flight_path_ && *flight_path_ != path);
    flight_path_ = path;
}

void RtcSecureTransport::drain_dtls(MonoTime now) {
    if (!dtls_) {
        return;
    }
    send_dtls();
    while (const std::optional<dtls::Event> event = dtls_->poll_event()) {
        switch (*event) {
            case dtls::Event::kConnected: on_keys(now); break;
            case dtls::Event::kFailed: {
                const Error why = dtls_->take_error();
                server_.log_trouble(session_.client(), "DTLS failed",
                                    log::escaped(why.message(), 500));
                session_.end(net::EndClass::kError, "DTLS failed");
                return;
            }
            case dtls::Event::kClosed:
                session_.end(net::EndClass::kPeerClosed, "peer closed");
                return;
        }
    }
}

void RtcSecureTransport::on_keys(MonoTime now) {
    const srtp::Keys keys = dtls_->take_keys();
    protector_ =
        std::make_unique<srtp::Protector>(keys.profile, keys.local, server_.control_cipher());
    if (session_.publishes()) {
        Result<std::unique_ptr<srtp::Unprotector>> made =
            srtp::Unprotector::create(keys.profile, keys.remote);
        if (!made.ok()) {
            server_.log_trouble(session_.client(), "SRTP failed", made.error().message());
            session_.end(net::EndClass::kError, "system error");
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
    session_.begin_media(now);
}

// ---- timers ----

void RtcSecureTransport::handle_ice_timeout(MonoTime now) {
    agent_.handle_timeout(now);
    drain_ice(now);
}

void RtcSecureTransport::handle_dtls_timeout(MonoTime now) {
    if (dtls_) {
        dtls_->handle_timeout(now);
    }
}

void RtcSecureTransport::settle(MonoTime now) {
    drain_ice(now);
    if (!session_.ended()) {
        send_checks(now);
        drain_dtls(now);
    }
}

std::optional<MonoTime> RtcSecureTransport::next_timeout() const {
    const std::optional<MonoTime> ice = agent_.next_timeout();
    const std::optional<MonoTime> dtls = dtls_ ? dtls_->next_timeout() : std::nullopt;
    if (!ice || !dtls) {
        return ice ? ice : dtls;
    }
    return std::min(*ice, *dtls);
}

void RtcSecureTransport::close() {
    if (dtls_ && dtls_->is_connected()) {
        dtls_->close();
        send_dtls();
    }
}

void RtcSecureTransport::give_back_paths() {
    agent_.visit_paths(
        [this](const ice::Path& path) { server_.transport().paths().remove(path, session_); });
}

}  // namespace weir::session
