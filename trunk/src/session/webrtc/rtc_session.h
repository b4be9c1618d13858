// One WebRTC peer: a secure transport, and behind it a publisher or a player. Made by the
// RtcServer, owned by its RtcTransport, which gives it datagrams and timers and takes its bursts.
// No coroutine; nothing here yields.
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
#include "proto/sdp/negotiate.h"
#include "session/webrtc/rtc_ingest.h"
#include "session/webrtc/rtc_pump.h"
#include "session/webrtc/rtc_secure_transport.h"
#include "session/webrtc/rtc_sender.h"
#include "stream/stream.h"

namespace weir::session {

class RtcServer;

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
        if (pump_ != nullptr) {
            pump_->wake();
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

    // Whether its peer was ever shown to be where it says.
    bool was_proven() const { return agent().was_proven(); }

    const RtcSender* player() const { return player_.get(); }

    RtcSender* player() { return player_.get(); }

    RtcIngest* publisher() { return publisher_.get(); }

    bool publishes() const { return publishes_; }

    RtcSessionMemory memory() const;

    // ---- from its transport ----

    // Media begins when there are keys and a nominated path that is proven, whichever comes last:
    // to be called when any of that may be new.
    void begin_media(MonoTime now);

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

    bool takes_burst() const override { return transport_.takes_burst(); }

    bool send_burst(ByteSpan packets, size_t segment_bytes) override;
    void drain_publisher(MonoTime now);
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
    net::Limits::AddressPlace unproven_;
    MonoTime connect_deadline_;  // for media to begin
    RtcSecureTransport transport_;
    std::unique_ptr<RtcIngest> publisher_;
    std::unique_ptr<RtcSender> player_;
};

}  // namespace weir::session
