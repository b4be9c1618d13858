// What one WebRTC player gets of its stream's RtpLog: an RtpSender that seals by SRTP, and what the
// player's feedback brings about: retransmission (NACK, RTX), an estimate of what its path can
// carry, a pace, and which simulcast layer it gets (rtc_layers.h). No socket. Never yields.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/object_count.h"
#include "base/random.h"
#include "net/rtp/rtp_sealer.h"
#include "net/rtp/rtp_sender.h"
#include "proto/rtcp/feedback.h"
#include "proto/rtcp/packet.h"
#include "proto/rtp/bandwidth_estimator.h"
#include "proto/rtp/twcc_history.h"
#include "proto/sdp/negotiate.h"
#include "proto/srtp/protector.h"
#include "session/webrtc/rtc_layers.h"
#include "session/webrtc/rtc_log_writer.h"
#include "stream/rtp_log.h"

namespace weir::session {

struct RtcSenderStats : net::RtpSenderStats {
    uint64_t retransmitted = 0;  // packets
    uint64_t too_late = 0;       // that were asked for and are gone
    uint64_t key_requests = 0;   // PLI and FIR of the player
};

// The stream's simulcast layers; the default is for streams without.
struct RtcLayerOptions {
    const RtcLayers* layers = nullptr;  // must outlive the sender
    std::optional<uint8_t> fixed;       // the one that the viewer asked for
};

class RtcSender final : private net::RtpSealer, private Counted<RtcSender> {
  public:
    static constexpr ObjectName kObjectName{"rtc_sender", "webrtc"};

    // `log` and `random` must outlive this, `protector` too. `audio`, `video`: what was negotiated,
    // null where the player takes none.
    RtcSender(const stream::RtpLog& log,
              srtp::Protector& protector,
              const sdp::NegotiatedMedia* audio,
              const sdp::NegotiatedMedia* video,
              RandomSource& random,
              MonoTime now,
              const RtcLayerOptions& layers = {});
    RtcSender(const RtcSender&) = delete;
    RtcSender& operator=(const RtcSender&) = delete;

    // Sends what is new, as far as the path allows, at most `most_runs` of it.
    net::RtpFlush flush(MonoTime now, net::RtpOutlet& outlet, size_t most_runs);

    MonoTime next_send() const { return sender_.next_send(); }

    // One packet of a compound that the peer sent. True when it asks for a key frame.
    bool on_rtcp(MonoTime now, const rtcp::PacketView& packet, net::RtpOutlet& outlet);

    // Sender reports, when they are due; the size of what was written to `out`, unprotected.
    // The rest as net::RtpSender has it.
    size_t report(MonoTime now,
                  MonoTime unix_epoch,
                  std::span<uint8_t> out,
                  std::optional<int64_t> wall_offset_us = {}) {
        return sender_.report(now, unix_epoch, out, wall_offset_us);
    }

    MonoTime next_report() const { return sender_.next_report(); }

    void postpone_report(MonoTime now) { sender_.postpone_report(now); }

    // The estimate's own timer.
    void handle_timeout(MonoTime now);

    RtcSenderStats stats() const {
        return {sender_.stats(), retransmitted_, too_late_, key_requests_};
    }

    // How far the newest video that was sent was behind the log's newest video.
    int64_t lag_ms() const { return sender_.lag_ms(); }

    // Whether anything was sent.
    bool has_sent() const { return sender_.stats().packets > 0; }

    // The layer that is sent.
    uint8_t layer() const { return sent_layer().value_or(wanted_); }

    // A layer whose key frame is needed now, each time once.
    std::optional<uint8_t> take_layer_request() {
        return std::exchange(layer_request_, std::nullopt);
    }

    // What it holds besides itself.
    size_t heap_bytes() const {
        return (history_ ? sizeof(rtp::TwccHistory) + history_->heap_bytes() : 0) +
               (estimator_ ? sizeof(rtp::BandwidthEstimator) : 0);
    }

    int64_t estimate_bps() const { return estimator_ ? estimator_->bps() : 0; }

  private:
    // What was negotiated for a track beyond plain RTP.
    struct Feedback {
        uint8_t rtx_payload_type = 0;
        uint8_t twcc_id = 0;  // of the header extension; 0: none
        bool nack = false;
        uint32_t rtx_ssrc = 0;  // 0: none
        uint64_t next_rtx = 0;
    };

    static Feedback feedback_of(const sdp::NegotiatedMedia* media);
    net::RtpBurst seal(MonoTime now,
                       const net::RtpRunHeader& header,
                       const stream::RtpRun& run,
                       std::span<uint8_t> out) override;
    void take_back(uint8_t track, size_t packets) override;
    size_t seal_packet(MonoTime now,
                       const Feedback& feedback,
                       const rtp::Header& header,
                       ByteSpan front,
                       ByteSpan payload,
                       uint64_t number,
                       std::span<uint8_t> out);
    size_t seal_again(MonoTime now,
                      Feedback& feedback,
                      const net::RtpSender::Sent& sent,
                      std::span<uint8_t> out);
    void resend(MonoTime now, uint8_t track, uint16_t sequence, net::RtpOutlet& outlet);
    void on_nack(MonoTime now, const rtcp::NackView& nack, net::RtpOutlet& outlet);

    bool layered() const { return layers_.layers != nullptr && layers_.layers->layered(); }

    std::optional<uint8_t> sent_layer() const;
    void choose_layer(MonoTime now);
    void update_pace();

    const stream::RtpLog& log_;
    srtp::Protector& protector_;
    std::array<Feedback, 2> feedback_;
    net::RtpSender sender_;
    RtcLayerOptions layers_;
    LayerChooser chooser_;
    uint8_t wanted_ = 0;  // layer, from its next key frame on
    std::optional<uint8_t> layer_request_;
    MonoTime next_choice_{};
    MonoTime next_layer_request_{};
    std::unique_ptr<rtp::TwccHistory> history_;
    std::unique_ptr<rtp::BandwidthEstimator> estimator_;
    int64_t resend_budget_ = 0;
    MonoTime resend_at_{};
    uint64_t retransmitted_ = 0;
    uint64_t too_late_ = 0;
    uint64_t key_requests_ = 0;
};

}  // namespace weir::session
