// One WebRTC peer: a secure transport, and behind it a role, which publishes or plays. Made by the
// RtcServer, owned by its RtcTransport, which gives it datagrams and timers and takes its bursts.
// No coroutine; nothing here yields.
//
//   offer -> [ICE checks] -> [DTLS handshake] -> connected: media -> ended
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/object_count.h"
#include "net/client_probe.h"
#include "net/client_table.h"
#include "net/limits.h"
#include "net/link_facts.h"
#include "proto/sdp/negotiate.h"
#include "session/webrtc/rtc_role.h"
#include "session/webrtc/rtc_secure_transport.h"

namespace weir::session {

class RtcServer;

class RtcSession final : private net::ClientProbe, private Counted<RtcSession> {
  public:
    static constexpr ObjectName kObjectName{"rtc_session", "webrtc"};
    static constexpr size_t kCountedInside = sizeof(ice::LiteAgent);

    RtcSession(RtcServer& server, RtcSessionSetup setup, MonoTime now);
    ~RtcSession();
    RtcSession(const RtcSession&) = delete;
    RtcSession& operator=(const RtcSession&) = delete;

    const std::string& id() const { return id_; }

    const net::Client& client() const { return *client_; }

    // ---- from the server; settle() after any of them ----

    void on_stun(MonoTime now, const stun::MessageView& message, const ice::Path& from) {
        transport_.on_stun(now, message, from);
    }

    void on_dtls(MonoTime now, ByteSpan datagram, const ice::Path& from) {
        if (!ended_) {
            transport_.on_dtls(now, datagram, from);
        }
    }

    void on_media(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from);
    void handle_timeout(MonoTime now);

    // The link is gone (a closed TCP connection).
    void forget_link(uint32_t link) { transport_.forget_link(link); }

    // The TCP connection that it is on takes bursts again.
    void on_writable() {
        if (!ended_) {
            role_->on_writable();
        }
    }

    bool holds_path(MonoTime now, const ice::Path& path) const { return agent().holds(now, path); }

    // The path is another session's now.
    void on_path_lost(MonoTime now, const ice::Path& path) { transport_.on_path_lost(now, path); }

    // Does what the calls above have brought about: answers, events, the next timer.
    void settle(MonoTime now);

    std::optional<MonoTime> next_timeout() const;

    // New credentials of both sides, after the peer asked for an ICE restart.
    void restart_ice(MonoTime now,
                     const ice::Credentials& credentials,
                     ice::RemoteCredentials remote) {
        transport_.restart(now, credentials, std::move(remote));
    }

    const std::string& remote_ufrag() const { return agent().remote().ufrag; }

    uint32_t number() const { return number_; }

    const ice::LiteAgent& agent() const { return transport_.agent(); }

    // Says goodbye and goes; idempotent. `reason`: for the log. The object lives until the server
    // buries it.
    void end(net::EndClass why, std::string_view reason);

    bool ended() const { return ended_; }

    bool is_connected() const { return media_begun_; }

    // The path that its peer has nominated, once it is proven. nullptr: there is none.
    const ice::Path* proven_path() const {
        return agent().state() == ice::State::kConnected ? agent().media_path() : nullptr;
    }

    // Whether its peer was ever shown to be where it says.
    bool was_proven() const { return agent().was_proven(); }

    bool publishes() const { return role_->publishes(); }

    RtcSessionMemory memory() const;

    // ---- from its transport ----

    // Media begins when there are keys and a nominated path that is proven, whichever comes last:
    // to be called when any of that may be new.
    void begin_media(MonoTime now);

    // ---- from its role ----

    RtcServer& server() { return server_; }

    net::Client& client() { return *client_; }

    // Once it is connected.
    srtp::Protector& protector() { return transport_.protector(); }

    bool takes_burst() const { return transport_.takes_burst(); }

    // Packets of `segment_bytes` each but the last. False when the path takes nothing now.
    bool send_burst(ByteSpan packets, size_t segment_bytes);

    // " path=ADDRESS", for the line of the log that says that media begins.
    std::string path_text() const;

  private:
    std::optional<net::LinkFacts> link_facts() const override;
    std::optional<net::LagFacts> lag_facts() const override;

    void on_rtcp(MonoTime now, ByteSpan compound);
    void send_due_rtcp(MonoTime now);
    void log_never_connected() const;

    RtcServer& server_;
    std::string id_;
    uint32_t number_;
    bool ended_ = false;
    bool media_begun_ = false;
    sdp::Answer answer_;  // until media begins
    std::unique_ptr<net::Client> client_;
    net::Limits::AddressPlace unproven_;
    MonoTime connect_deadline_;  // for media to begin
    RtcSecureTransport transport_;
    std::unique_ptr<RtcRole> role_;
};

}  // namespace weir::session
