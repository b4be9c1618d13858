// The role of a session whose peer publishes: it holds the stream's name while media flows, and
// gives what comes to an RtcIngest. Nothing here yields.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/object_count.h"
#include "net/link_facts.h"
#include "net/play_rules.h"
#include "net/rate_guard.h"
#include "net/services.h"
#include "session/webrtc/rtc_ingest.h"
#include "session/webrtc/rtc_role.h"
#include "stream/stream.h"

namespace weir::session {

class RtcSession;

class RtcPublisher final : public RtcRole, public stream::Publisher, private Counted<RtcPublisher> {
  public:
    static constexpr ObjectName kObjectName{"rtc_publisher", "webrtc"};

    // `session` must outlive this.
    RtcPublisher(RtcSession& session, const net::PublishRules& rules);

    // Takes the stream: an offer that comes to nothing holds no name.
    void begin(MonoTime now, const sdp::Answer& answer) override;
    bool takes_rtp(MonoTime now, size_t bytes) override;

    void on_rtp(MonoTime now, ByteSpan packet) override { ingest_->on_rtp(now, packet); }

    void on_rtcp(MonoTime now, const rtcp::PacketView& packet) override {
        ingest_->on_rtcp(now, packet);
    }

    void on_writable() override {}

    void handle_timeout(MonoTime now) override;

    std::optional<MonoTime> next_timeout() const override { return ingest_->next_timeout(); }

    size_t poll_transmit(MonoTime now, std::span<uint8_t> out) override {
        return ingest_->poll_transmit(now, out);
    }

    void end(MonoTime now) override;

    bool publishes() const override { return true; }

    void add_to(net::LinkFacts& facts) const override;

    std::optional<net::LagFacts> lag_facts() const override { return std::nullopt; }

    size_t media_bytes() const override {
        return ingest_ ? sizeof(RtcIngest) + ingest_->heap_bytes() : 0;
    }

    size_t own_bytes() const override {
        return sizeof(*this) + (rate_ ? sizeof(net::RateGuard) : 0);
    }

  private:
    std::string describe() const override;
    std::string_view client_id() const override;
    std::string_view client_ip() const override;
    std::string_view client_transport() const override;
    void on_taken_over() override;
    void on_sink() override;
    void on_key_frame_wanted() override;
    void on_layer_wanted(uint8_t layer) override;

    RtcSession& session_;
    net::PublishRules rules_;
    std::unique_ptr<net::RateGuard> rate_;  // with a limit
    stream::Stream* stream_ = nullptr;      // published; null before begin() and after end()
    std::unique_ptr<RtcIngest> ingest_;     // from begin() on
};

}  // namespace weir::session
