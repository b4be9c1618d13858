// One WebRTC peer: ICE, DTLS, SRTP, and behind them a publisher or a player. Made by the RtcServer,
// owned by its RtcTransport, which gives it datagrams and timers and takes its bursts. No
// coroutine; nothing here yields.
//
//   offer -> [ICE checks] -> [DTLS handshake] -> connected: media -> ended
//
// A publisher takes its stream when it is connected, not before: an offer that comes to nothing
// holds no name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/object_count.h"
#include "net/client_table.h"
#include "net/rate_guard.h"
#include "net/services.h"
#include "proto/dtls/transport.h"
#include "proto/ice/lite_agent.h"
#include "proto/sdp/negotiate.h"
#include "proto/srtp/protector.h"
#include "proto/srtp/rtcp_unprotector.h"
#include "proto/srtp/unprotector.h"
#include "session/webrtc/rtc_ingest.h"
#include "session/webrtc/rtc_pump.h"
#include "session/webrtc/rtc_sender.h"
#include "stream/stream.h"

namespace weir::session {

class RtcServer;

struct RtcSessionSetup {
    std::string id;  // of its URL; nobody may guess it
    bool publishes = false;
    sdp::Answer answer;
    ice::Credentials credentials;
    dtls::Fingerprint remote_fingerprint;
    std::unique_ptr<net::Client> client;
    net::PublishRules publish_rules;  // of a publisher
    RtcPump* pump = nullptr;          // of a player
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

class RtcSession final : public net::RtpPlayer,
                         public stream::Publisher,
                         private net::RtpOutlet,
                         private net::ClientProbe,
                         private Counted<RtcSession> {
  public:
    static constexpr ObjectName kObjectName{"rtc_session", "webrtc"};
    static constexpr size_t kCountedInside = sizeof(ice::LiteAgent);

    RtcSession(RtcServer& server, RtcSessionSetup setup, MonoTime now);
    ~RtcSession() override;
    RtcSession(const RtcSession&) = delete;
    RtcSession& operator=(const RtcSession&) = delete;

    const std::string& id() const { return id_; }

    const net::Client& client() const { return *client_; }

    // ---- from the server; settle() after any of them ----

    void on_stun(MonoTime now, const stun::MessageView& message, const ice::Path& from);
    void on_dtls(MonoTime now, ByteSpan datagram, const ice::Path& from);
    void on_media(MonoTime now, std::span<uint8_t> datagram, const ice::Path& from);
    void handle_timeout(MonoTime now);

    // The link is gone (a closed TCP connection).
    void forget_link(uint32_t link) { agent_.forget_link(link); }

    // The TCP connection that it is on takes bursts again.
    void on_writable() {
        if (pump_ != nullptr) {
            pump_->wake();
        }
    }

    bool holds_path(MonoTime now, const ice::Path& path) const { return agent_.holds(now, path); }

    // The path is another session's now.
    void on_path_lost(MonoTime now, const ice::Path& path);

    // Does what the calls above have brought about: answers, events, the next timer.
    void settle(MonoTime now);

    std::optional<MonoTime> next_timeout() const;

    // New credentials of both sides, after the peer asked for an ICE restart.
    void restart_ice(MonoTime now,
                     const ice::Credentials& credentials,
                     ice::RemoteCredentials remote);

    const std::string& remote_ufrag() const { return agent_.remote().ufrag; }

    uint32_t number() const { return number_; }

    const ice::LiteAgent& agent() const { return agent_; }

    // Says goodbye and goes; idempotent. `reason`: for the log. The object lives until the server
    // buries it.
    void end(net::EndClass why, std::string_view reason);

    bool ended() const { return ended_; }

    bool is_connected() const { return media_begun_; }

    // Whether its peer was ever shown to be where it says.
    bool was_proven() const { return agent_.was_proven(); }

    const RtcSender* player() const { return player_.get(); }

    RtcSender* player() { return player_.get(); }

    RtcIngest* publisher() { return publisher_.get(); }

    bool publishes() const { return publishes_; }

    RtcSessionMemory memory() const;

    // ---- from the pump ----

    net::RtpFlush flush(MonoTime now, size_t most_runs) override;
    Fate look(MonoTime now) override;

    void end_playing(net::EndClass why, std::string_view reason) override { end(why, reason); }

  private:
    std::string describe() const override;

    std::optional<net::LinkFacts> link_facts() const override;
    std::optional<net::LagFacts> lag_facts() const override;

    std::string_view client_id() const override { return client_->id(); }

    std::string_view client_ip() const override { return client_->ip(); }

    std::string_view client_transport() const override { return client_->transport(); }

    void on_taken_over() override;
    void on_key_frame_wanted() override;
    void on_layer_wanted(uint8_t layer) override;

    bool takes_burst() const override;
    bool send_burst(ByteSpan packets, size_t segment_bytes) override;
    void drain_ice(MonoTime now);
    void send_checks(MonoTime now);
    void send_dtls();
    void drain_dtls(MonoTime now);
    void note_flight(const ice::Path& path);
    void drain_publisher(MonoTime now);
    void start_dtls(MonoTime now);
    void on_keys(MonoTime now);
    void on_path_proven(MonoTime now, const ice::Path& path);
    void begin_media(MonoTime now);
    bool begin_publishing(MonoTime now);
    void begin_playing(MonoTime now);
    void on_rtcp(MonoTime now, ByteSpan compound);
    void send_rtcp(std::span<uint8_t> buffer, size_t size);
    void want_key_frame();
    bool fits_stream() const;
    void log_never_connected() const;

    RtcServer& server_;
    std::string id_;
    uint32_t number_;
    bool publishes_;
    bool ended_ = false;
    bool media_begun_ = false;
    bool has_stream_ = false;  // publishes into stream_
    sdp::Answer answer_;       // until media begins
    std::unique_ptr<net::Client> client_;
    net::PublishRules rules_;
    std::unique_ptr<net::RateGuard> rate_;  // of a publisher with a limit
    stream::Stream* stream_ = nullptr;
    RtcPump* pump_ = nullptr;
    std::optional<uint8_t> fixed_layer_;
    media::Codec codecs_[2] = {};  // of a player, by track
    dtls::TransportOptions dtls_options_;
    net::Limits::AddressPlace unproven_;
    MonoTime connect_deadline_;  // for media to begin
    ice::LiteAgent agent_;
    // Where the flights of the handshake went: what answers all of them is there.
    std::optional<ice::Path> flight_path_;
    bool flights_differ_ = false;
    std::unique_ptr<dtls::Transport> dtls_;
    std::unique_ptr<srtp::Protector> protector_;
    std::unique_ptr<srtp::Unprotector> unprotector_;           // of a publisher
    std::unique_ptr<srtp::RtcpUnprotector> rtcp_unprotector_;  // of a player
    std::unique_ptr<RtcIngest> publisher_;
    std::unique_ptr<RtcSender> player_;
};

}  // namespace weir::session
