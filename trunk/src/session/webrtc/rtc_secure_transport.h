// RtcSecureTransport: what is between a session and its peer: ICE finds the way, DTLS makes the
// keys, SRTP opens what comes and protects what goes. What it brings about it tells its session:
// begin_media(), end(). No coroutine; nothing here yields.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "net/client_table.h"
#include "net/limits.h"
#include "net/play_rules.h"
#include "net/services.h"
#include "proto/dtls/transport.h"
#include "proto/ice/lite_agent.h"
#include "proto/sdp/negotiate.h"
#include "proto/srtp/protector.h"
#include "proto/srtp/rtcp_unprotector.h"
#include "proto/srtp/unprotector.h"
#include "session/webrtc/rtc_pump.h"

namespace weir::session {

class RtcServer;
class RtcSession;

struct RtcSessionSetup {
    std::string id;  // of its URL; nobody may guess it
    sdp::Answer answer;
    ice::Credentials credentials;
    dtls::Fingerprint remote_fingerprint;
    std::unique_ptr<net::Client> client;
    net::PublishRules publish_rules;  // of a publisher
    RtcPump* pump = nullptr;          // of a player; null: the peer publishes
    std::optional<uint8_t> layer;     // that it asked for
    uint32_t number = 0;              // that no other session has; marks its ICE checks
    // Its place among the offers of its address that come to nothing, until it is proven.
    net::Limits::AddressPlace unproven;
};

// Live bytes of one session, by what they are for.
struct RtcSessionMemory {
    size_t ice = 0;
    size_t dtls = 0;  // the handshake included, while there is one
    size_t srtp = 0;
    size_t media = 0;  // player or publisher: numbers, estimates, what is out of order
    size_t other = 0;  // the session itself, its client, its places in tables

    size_t sum() const { return ice + dtls + srtp + media + other; }

    RtcSessionMemory& operator+=(const RtcSessionMemory& more);
};

class RtcSecureTransport {
  public:
    // `server` and `session` must outlive this.
    RtcSecureTransport(RtcServer& server,
                       RtcSession& session,
                       const RtcSessionSetup& setup,
                       MonoTime now);

    // ---- datagrams; settle() after any of them ----

    void on_stun(MonoTime now, const stun::MessageView& message, const ice::Path& from);
    void on_dtls(MonoTime now, ByteSpan datagram, const ice::Path& from);

    // In place. Once it is ready(); RTP of publishers alone. What is not ok() is counted.
    srtp::Unprotected open_rtp(std::span<uint8_t> datagram);
    srtp::Unprotected open_rtcp(std::span<uint8_t> datagram);

    // What was opened has come from there.
    void note_authentic(MonoTime now, const ice::Path& from, size_t bytes);

    // ---- sending ----

    // Whether there are keys, and a nominated path that is proven.
    bool ready() const { return protector_ && agent_.media_path() != nullptr; }

    // Once it is ready().
    srtp::Protector& protector() { return *protector_; }

    bool takes_burst() const;

    // ---- ways ----

    // New credentials of both sides.
    void restart(MonoTime now, const ice::Credentials& credentials, ice::RemoteCredentials remote);

    // The link is gone.
    void forget_link(uint32_t link) { agent_.forget_link(link); }

    // The path is another session's now.
    void on_path_lost(MonoTime now, const ice::Path& path);

    const ice::LiteAgent& agent() const { return agent_; }

    // ---- timers ----

    void handle_ice_timeout(MonoTime now);
    void handle_dtls_timeout(MonoTime now);

    // Sends and tells what the calls above have brought about.
    void settle(MonoTime now);

    std::optional<MonoTime> next_timeout() const;

    // ---- the end ----

    // Says goodbye.
    void close();
    void give_back_paths();

    void add_to(RtcSessionMemory& memory) const;

  private:
    void drain_ice(MonoTime now);
    void send_checks(MonoTime now);
    void send_dtls();
    void drain_dtls(MonoTime now);
    void note_flight(const ice::Path& path);
    void start_dtls(MonoTime now);
    void on_keys(MonoTime now);
    void on_path_proven(MonoTime now, const ice::Path& path);

    RtcServer& server_;
    RtcSession& session_;
    dtls::TransportOptions dtls_options_;
    ice::LiteAgent agent_;
    // Where the flights of the handshake went: what answers all of them is there.
    std::optional<ice::Path> flight_path_;
    bool flights_differ_ = false;
    std::unique_ptr<dtls::Transport> dtls_;
    std::unique_ptr<srtp::Protector> protector_;
    std::unique_ptr<srtp::Unprotector> unprotector_;           // of a publisher
    std::unique_ptr<srtp::RtcpUnprotector> rtcp_unprotector_;  // of a player
};

}  // namespace weir::session
