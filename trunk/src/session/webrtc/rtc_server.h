// RtcServer: WebRTC's signalling: from an offer (rtc_routes.h) to an answer and a session, and what
// all sessions share. Their datagrams are RtcTransport's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "io/worker_pool.h"
#include "net/services.h"
#include "proto/dtls/identity.h"
#include "proto/srtp/control_cipher.h"
#include "session/webrtc/rtc_guest.h"
#include "session/webrtc/rtc_pump.h"
#include "session/webrtc/rtc_server_options.h"
#include "session/webrtc/rtc_session.h"
#include "session/webrtc/rtc_transport.h"

namespace weir::io {
class Deadline;
}

namespace weir::net {
struct PlayRules;
struct PublishRules;
}  // namespace weir::net

namespace weir::session {

class RtcServer {
  public:
    RtcServer(const net::Services& services, RtcServerOptions options);
    ~RtcServer() = default;  // stop() must have been called
    RtcServer(const RtcServer&) = delete;
    RtcServer& operator=(const RtcServer&) = delete;

    // `workers`, for sound: must outlive this; null: none. Once; again it does nothing.
    Error start(io::WorkerPool* workers);

    // Its ports and the ways to peers.
    RtcTransport& transport() { return transport_; }

    const RtcTransport& transport() const { return transport_; }

    // For sessions that begin from now on.
    void reconfigure(RtcServerOptions options) { options_ = std::move(options); }

    // Whether sessions may begin.
    bool serving() const { return transport_.serving(); }

    // Ends all sessions with a goodbye. Yields.
    Error stop(io::Deadline deadline);

    // For a drain: no new session; those that are there go on.
    void stop_accepting() { draining_ = true; }

    // A line about a session's failure, which a peer can cause at will: throttled over the server.
    // `detail` is escaped.
    void log_trouble(const net::Client& client, std::string_view what, std::string_view detail);

    // ---- signalling ----

    // Whether an offer can be taken at all: there is room, and it can be read. kLimit, kMalformed,
    // kUnsupported.
    Error may_begin(std::string_view offer);

    // kBusy when somebody publishes it, and may not be taken over.
    Error is_free(const stream::StreamKey& key, stream::PublishConflict conflict) const;

    // A place among the offers of one address that have not connected yet. kFull.
    Result<net::Limits::AddressPlace> enter_unproven(const io::SocketAddress& peer);

    // `offer`: SDP of the peer. kMalformed, kUnsupported, kLimit: sdp::http_status(); kBusy:
    // somebody else publishes the stream; kNotFound: nobody publishes what is to be played.
    Result<RtcAnswer> publish(std::string_view offer,
                              const stream::StreamKey& key,
                              const net::PublishRules& rules,
                              RtcGuest guest);
    // Yields: a stream that has just begun is waited for until its codecs are known. `layer`: of
    // its simulcast, by name; empty or "auto": as the path allows.
    Result<RtcAnswer> play(std::string_view offer,
                           const stream::StreamKey& key,
                           const net::PlayRules& rules,
                           RtcGuest guest,
                           std::string_view layer = {});

    // nullptr when there is none.
    RtcSession* find(std::string_view id) const { return transport_.find(id); }

    // The answer to a fragment of trickle ICE: nothing for candidates (they are not needed), new
    // credentials for a restart. kMalformed.
    Result<std::string> patch(RtcSession& session, std::string_view fragment);

    // Whether patch() would restart ICE; false for a malformed fragment.
    static bool is_restart(const RtcSession& session, std::string_view fragment);

    // Fits If-Match of RFC 9725 §4.3.
    static std::string etag_of(const RtcSession& session);

    size_t sessions() const { return transport_.sessions(); }

    // One session more would be refused.
    bool is_full() const { return sessions() >= options_.max_sessions; }

    // Why nobody can play it, as its WebRTC players have found out; empty when there are none, or
    // they can.
    std::string_view refusal(const stream::Stream& stream) const;

    // Of streams that have WebRTC players: payloads kept for them and for retransmission.
    uint64_t history_bytes() const;

    // How many sessions there are of each kind, and their live bytes. Walks all of them.
    struct Kinds {
        struct Kind {
            size_t sessions = 0;
            RtcSessionMemory memory;
        };

        Kind connecting;  // no media yet
        Kind publishers;
        Kind players;
    };

    Kinds kinds() const;

    const RtcServerStats& stats() const { return stats_; }

    // ---- for the sessions ----

    const net::Services& services() const { return services_; }

    const dtls::Identity& identity() const { return *identity_; }

    srtp::ControlCipher& control_cipher() { return control_cipher_; }

    const RtcServerOptions& options() const { return options_; }

    io::WorkerPool* workers() const { return workers_; }

    // What MonoTime 0 is in microseconds since 1970, negated: now - unix_epoch() is wall time.
    MonoTime unix_epoch() const { return unix_epoch_; }

  private:
    Result<RtcPump*> pump_for(const stream::StreamKey& key, const net::PlayRules& rules);
    sdp::LocalTransport local_transport(const ice::Credentials& credentials,
                                        const NetAddress& reached_at) const;
    RtcAnswer add(RtcSessionSetup setup);
    Error room() const;
    Error make_identity();

    net::Services services_;
    RtcServerOptions options_;
    io::WorkerPool* workers_ = nullptr;
    std::unique_ptr<dtls::Identity> identity_;
    srtp::ControlCipher control_cipher_;
    MonoTime unix_epoch_{};
    RtcServerStats stats_;
    RtcTransport transport_;
    bool stopping_ = false;
    bool draining_ = false;
    log::Throttle trouble_{Millis(1000)};
};

}  // namespace weir::session
