// The role of a session whose peer plays: an RtcSender that its stream's RtcPump gives turns to.
// Nothing here yields.
#pragma once

#include <memory>
#include <optional>

#include "base/object_count.h"
#include "net/link_facts.h"
#include "net/rtp/rtp_sender.h"
#include "session/webrtc/rtc_pump.h"
#include "session/webrtc/rtc_role.h"
#include "session/webrtc/rtc_sender.h"
#include "stream/stream.h"

namespace weir::session {

class RtcSession;

class RtcPlayer final : public RtcRole,
                        public net::RtpPlayer,
                        private net::RtpOutlet,
                        private Counted<RtcPlayer> {
  public:
    static constexpr ObjectName kObjectName{"rtc_player", "webrtc"};

    // `session` must outlive this. `pump` is held until end(). `layer`: the simulcast layer that
    // the viewer asked for.
    RtcPlayer(RtcSession& session, RtcPump& pump, std::optional<uint8_t> layer);

    void begin(MonoTime now, const sdp::Answer& answer) override;

    bool takes_rtp(MonoTime /*now*/, size_t /*bytes*/) override { return false; }

    void on_rtp(MonoTime /*now*/, ByteSpan /*packet*/) override {}

    void on_rtcp(MonoTime now, const rtcp::PacketView& packet) override;

    void on_writable() override { pump_->wake(); }

    void handle_timeout(MonoTime now) override { sender_->handle_timeout(now); }

    std::optional<MonoTime> next_timeout() const override { return sender_->next_report(); }

    size_t poll_transmit(MonoTime now, std::span<uint8_t> out) override;
    void end(MonoTime now) override;

    bool publishes() const override { return false; }

    void add_to(net::LinkFacts& facts) const override;
    std::optional<net::LagFacts> lag_facts() const override;

    size_t media_bytes() const override {
        return sender_ ? sizeof(RtcSender) + sender_->heap_bytes() : 0;
    }

    size_t own_bytes() const override { return sizeof(*this); }

  private:
    // From the pump.
    net::RtpFlush flush(MonoTime now, size_t most_runs) override;
    Fate look(MonoTime now) override;
    void end_playing(net::EndClass why, std::string_view reason) override;

    bool takes_burst() const override;
    bool send_burst(ByteSpan packets, size_t segment_bytes) override;

    void want_key_frame();
    bool fits_stream() const;

    RtcSession& session_;
    RtcPump* pump_;  // null after end()
    std::optional<uint8_t> fixed_layer_;
    media::Codec codecs_[2] = {};        // by track
    std::unique_ptr<RtcSender> sender_;  // from begin() on
};

}  // namespace weir::session
