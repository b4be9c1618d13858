#include "session/webrtc/rtc_sender.h"

#include <algorithm>

#include "proto/rtp/header.h"

namespace weir::session {
namespace {

using net::RtpFlush;
using net::RtpOutlet;
using net::RtpSender;

constexpr int64_t kStartBps = 4'000'000;
constexpr double kPace = 2.5;                   // times the estimate, to spread frames out
constexpr int64_t kResendShareBps = 3'000'000;  // what a player may make us send again
constexpr int64_t kResendBurst = 256 * 1024;    // bytes
constexpr Micros kChoiceInterval{200'000};      // of the layer
constexpr Micros kLayerRequestInterval{1'000'000};
constexpr double kStrainedLoss = 0.1;
constexpr size_t kMaxHeader = 24;
constexpr size_t kMaxResentBytes = 2048;  // a packet with all that is around it; payloads are cut
                                          // to kMaxRtcPayload

static_assert(kMaxHeader + 2 + kMaxRtcPayload + srtp::kMaxOverhead <= kMaxResentBytes);

// Null for no media.
class Setup {
  public:
    explicit Setup(const sdp::NegotiatedMedia* media) : used_(media != nullptr) {
        if (used_) {
            setup_ = {media->payload_type, media->ssrc, media->clock_hz};
        }
    }

    const net::RtpTrackSetup* get() const { return used_ ? &setup_ : nullptr; }

  private:
    bool used_;
    net::RtpTrackSetup setup_;
};

}  // namespace

RtcSender::Feedback RtcSender::feedback_of(const sdp::NegotiatedMedia* media) {
    Feedback feedback;
    if (media == nullptr) {
        return feedback;
    }
    feedback.nack = media->feedback.nack;
    if (media->rtx_ssrc != 0 && media->rtx_payload_type) {
        feedback.rtx_ssrc = media->rtx_ssrc;
        feedback.rtx_payload_type = *media->rtx_payload_type;
    }
    // A packet that is resent without RTX must be the first one byte for byte, transport-wide
    // number included, and that one is not kept: such a track has none.
    if (feedback.rtx_ssrc != 0 && media->feedback.transport_cc) {
        feedback.twcc_id = media->extensions[sdp::Extension::kTransportCc];
    }
    return feedback;
}

RtcSender::RtcSender(const stream::RtpLog& log,
                     srtp::Protector& protector,
                     const sdp::NegotiatedMedia* audio,
                     const sdp::NegotiatedMedia* video,
                     RandomSource& random,
                     MonoTime now,
                     const RtcLayerOptions& layers)
    : log_(log),
      protector_(protector),
      feedback_{feedback_of(audio), feedback_of(video)},
      sender_(log,
              *this,
              Setup(audio).get(),
              Setup(video).get(),
              random,
              now,
              static_cast<int64_t>(kPace * static_cast<double>(kStartBps))),
      layers_(layers),
      chooser_(layers.fixed) {
    if (feedback_[kRtpVideoTrack].twcc_id != 0) {
        history_ = std::make_unique<rtp::TwccHistory>();
    }
    rtp::RateLimits limits;
    limits.start_bps = kStartBps;
    estimator_ = std::make_unique<rtp::BandwidthEstimator>(limits);
}

// ---- layers ----

std::optional<uint8_t> RtcSender::sent_layer() const {
    const std::optional<uint8_t> track = sender_.video_track();
    return track ? std::optional(static_cast<uint8_t>(*track - kRtpVideoTrack)) : std::nullopt;
}

void RtcSender::choose_layer(MonoTime now) {
    if (now < next_choice_) {
        return;
    }
    next_choice_ = now + kChoiceInterval;
    if (!layered()) {
        wanted_ = 0;
        return;
    }
    PathView path;
    path.estimate_bps = estimator_->bps();
    path.strained = estimator_->load() == rtp::PathLoad::kOver ||
                    estimator_->loss() > kStrainedLoss ||
                    sender_.lag_ms() > RtpSender::kLagToThinMs;
    wanted_ = chooser_.choose(now, *layers_.layers, path, sent_layer());
    if (const int64_t carried = chooser_.take_carried()) {
        estimator_->on_carried(carried);
    }
    update_pace();
    const auto track = static_cast<uint8_t>(kRtpVideoTrack + wanted_);
    const bool missing = sender_.placed() ? sent_layer() != wanted_ : !log_.newest_key(track);
    if (missing && now >= next_layer_request_) {
        next_layer_request_ = now + kLayerRequestInterval;
        layer_request_ = wanted_;
    }
}

// ---- sending ----

RtpFlush RtcSender::flush(MonoTime now, RtpOutlet& outlet, size_t most_runs) {
    choose_layer(now);
    sender_.want_video(static_cast<uint8_t>(kRtpVideoTrack + wanted_), layered());
    return sender_.flush(now, outlet, most_runs);
}

net::RtpBurst RtcSender::seal(MonoTime now,
                              const net::RtpRunHeader& first,
                              const stream::RtpRun& run,
                              std::span<uint8_t> out) {
    const Feedback& feedback = feedback_[first.track];
    return net::seal_run(
        first, run, out,
        [&](const rtp::Header& header, ByteSpan payload, uint64_t number, std::span<uint8_t> to) {
            return seal_packet(now, feedback, header, {}, payload, number, to);
        });
}

// Or the peer would report them as lost.
void RtcSender::take_back(uint8_t track, size_t packets) {
    if (feedback_[track].twcc_id != 0) {
        history_->take_back(packets);
    }
}

// `front`: in front of the payload. `number`: the packet's, in full, of its SSRC.
size_t RtcSender::seal_packet(MonoTime now,
                              const Feedback& feedback,
                              const rtp::Header& header,
                              ByteSpan front,
                              ByteSpan payload,
                              uint64_t number,
                              std::span<uint8_t> out) {
    std::array<uint8_t, kMaxHeader> bytes;
    size_t size = 0;
    if (feedback.twcc_id != 0) {
        std::array<uint8_t, 2> value;
        store_u16(value.data(), history_->add(now, payload.size() + kMaxHeader));
        const rtp::Extension extension{feedback.twcc_id, value};
        size = rtp::write_header(header, {&extension, 1}, bytes.data());
    } else {
        size = rtp::write_header(header, bytes.data());
    }
    return protector_.protect_rtp({ByteSpan(bytes).first(size), front, payload}, number, out);
}

// By RTX (RFC 4588), or, where that was not negotiated, the packet as it was.
size_t RtcSender::seal_again(MonoTime now,
                             Feedback& feedback,
                             const RtpSender::Sent& sent,
                             std::span<uint8_t> out) {
    const bool marker = sent.run->marker && sent.index + 1 == sent.run->packets;
    const auto sequence = static_cast<uint16_t>(sent.header.number);
    const ByteSpan payload = sent.run->packet(sent.index);
    if (feedback.rtx_ssrc == 0) {
        const rtp::Header header{sent.header.payload_type, marker, sequence, sent.header.rtp_time,
                                 sent.header.ssrc};
        return seal_packet(now, feedback, header, {}, payload, sent.header.number, out);
    }
    const rtp::Header header{feedback.rtx_payload_type, marker,
                             static_cast<uint16_t>(feedback.next_rtx), sent.header.rtp_time,
                             feedback.rtx_ssrc};
    std::array<uint8_t, 2> original;
    store_u16(original.data(), sequence);
    return seal_packet(now, feedback, header, original, payload, feedback.next_rtx++, out);
}

void RtcSender::resend(MonoTime now, uint8_t track, uint16_t sequence, RtpOutlet& outlet) {
    const std::optional<RtpSender::Sent> sent = sender_.find_sent(track, sequence);
    if (!sent) {
        return;
    }
    if (sent->run == nullptr) {
        too_late_++;
        return;
    }
    if (resend_budget_ < static_cast<int64_t>(sent->run->packet(sent->index).size())) {
        return;
    }
    std::array<uint8_t, kMaxResentBytes> out;
    const size_t size = seal_again(now, feedback_[track], *sent, out);
    if (size > 0 && outlet.send_burst(ByteSpan(out).first(size), 0)) {
        resend_budget_ -= static_cast<int64_t>(size);
        retransmitted_++;
        sender_.note_sent(now, size);
    } else {
        take_back(track, 1);
    }
}

// ---- feedback ----

void RtcSender::on_nack(MonoTime now, const rtcp::NackView& nack, RtpOutlet& outlet) {
    const std::optional<uint8_t> track = sender_.track_of(nack.sources.media_ssrc);
    if (!track || !feedback_[*track].nack) {
        return;
    }
    const Micros elapsed = std::min<Micros>(now - resend_at_, Seconds(1));
    resend_budget_ =
        std::min(resend_budget_ + elapsed.count() * kResendShareBps / 8'000'000, kResendBurst);
    resend_at_ = now;
    nack.for_each_lost([&](uint16_t sequence) { resend(now, *track, sequence, outlet); });
}

bool RtcSender::on_rtcp(MonoTime now, const rtcp::PacketView& packet, RtpOutlet& outlet) {
    if (const auto nack = rtcp::parse_nack(packet)) {
        on_nack(now, *nack, outlet);
    } else if (const auto feedback = rtcp::TransportFeedbackView::parse(packet)) {
        if (history_) {
            estimator_->on_feedback(now, *history_, *feedback);
        }
    } else if (const auto limit = rtcp::parse_bitrate_limit(packet)) {
        estimator_->on_remote_limit(
            static_cast<int64_t>(std::min<uint64_t>(limit->bits_per_second, INT64_MAX)));
    } else if (rtcp::parse_picture_loss(packet) ||
               rtcp::find_full_intra_request(packet, sender_.setup(kRtpVideoTrack).ssrc)) {
        key_requests_++;
        return true;
    } else {
        const net::RtpReception reception = sender_.on_rtcp(now, packet);
        if (reception.rtt) {
            estimator_->set_rtt(*reception.rtt);
        }
        if (!history_ && reception.received + reception.lost > 0) {
            estimator_->on_loss_report(now, reception.received, reception.lost);
        }
    }
    update_pace();
    return false;
}

void RtcSender::update_pace() {
    const int64_t bps = std::max(estimator_->bps(), chooser_.trial_bps());
    sender_.set_pace(static_cast<int64_t>(kPace * static_cast<double>(bps)));
}

void RtcSender::handle_timeout(MonoTime now) {
    const std::optional<MonoTime> due = estimator_->next_timeout();
    if (due && *due <= now) {
        estimator_->handle_timeout(now, history_ && history_->has_unanswered());
        update_pace();
    }
}

}  // namespace weir::session
