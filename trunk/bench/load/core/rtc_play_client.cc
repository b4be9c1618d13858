#include "bench/load/core/rtc_play_client.h"

#include <algorithm>
#include <span>

#include "proto/rtcp/writer.h"
#include "proto/rtmp/message.h"

#include "bench/load/core/flv_head.h"

namespace weir::load {
namespace {

constexpr size_t kRtcpBuffer = 1200;
constexpr size_t kVideo = 0;
constexpr size_t kAudio = 1;

// A freeze as webrtc-stats has it (freezeCount): the time between two pictures is longer than three
// times the mean of the last thirty or so, and by more than 150 ms.
constexpr double kFreezeFactor = 3;
constexpr double kFreezeUs = 150'000;
constexpr double kMeanOver = 30;
constexpr uint64_t kPicturesToJudge = 10;

uint32_t ssrc_of(const sdp::NegotiatedMedia& track) {
    return track.remote_ssrcs.front().ssrc;  // there is one: take_answer()
}

uint32_t rtx_ssrc_of(const sdp::NegotiatedMedia& track) {
    return track.remote_ssrcs.front().rtx_ssrc;
}

rtp::ReceiverOptions receiver_options(const sdp::NegotiatedMedia& track, bool nack) {
    rtp::ReceiverOptions options;
    options.ssrc = ssrc_of(track);
    options.payload_type = track.payload_type;
    options.clock_hz = track.clock_hz;
    options.nack = nack && track.feedback.nack;
    if (rtx_ssrc_of(track) != 0) {
        options.rtx_ssrc = rtx_ssrc_of(track);
    }
    return options;
}

}  // namespace

RtcPlayClient::Track::Track(const sdp::NegotiatedMedia& of, bool nack)
    : info(of),
      receiver(receiver_options(of, nack)),
      depacketizer(rtp::make_depacketizer(of.codec, flv_head_size(of.codec))) {}

RtcPlayClient::RtcPlayClient(const webrtc::ClientShared& shared,
                             webrtc::ClientLink& link,
                             RtcTotals& totals,
                             PlayerCheck& check,
                             const RtcPlayOptions& options,
                             Micros connect_timeout)
    : RtcLoadClient(shared, link, totals, connect_timeout), check_(check), options_(options) {
    std::array<uint8_t, 12> bytes;
    shared.random.fill(bytes);
    ByteReader reader(bytes);
    local_ssrc_ = reader.u32();
    drop_state_ = reader.u64() | 1U;
}

sdp::ClientOffer RtcPlayClient::offer_of_all() const {
    sdp::ClientOffer offer = plain_offer();
    offer.nack = options_.nack;
    offer.transport_cc = options_.transport_cc;
    return offer;
}

void RtcPlayClient::on_connected(MonoTime now) {
    note_connected(now);
    for (const size_t i : {kVideo, kAudio}) {
        const sdp::NegotiatedMedia* const of =
            agreed(i == kVideo ? media::TrackKind::kVideo : media::TrackKind::kAudio);
        if (of == nullptr) {
            continue;
        }
        tracks_[i].emplace(*of, options_.nack);
        if (!tracks_[i]->depacketizer) {
            fail(make_error(ErrorCode::kUnsupported,
                            "the answer has a codec that this client does not know"));
            return;
        }
    }
    next_report_ = now + kReportInterval;
    next_key_request_ = now + kKeyRequestInterval;
}

RtcPlayClient::Track* RtcPlayClient::track_of(uint32_t ssrc) {
    for (std::optional<Track>& track : tracks_) {
        if (track && (ssrc_of(track->info) == ssrc ||
                      (rtx_ssrc_of(track->info) != 0 && rtx_ssrc_of(track->info) == ssrc))) {
            return &*track;
        }
    }
    return nullptr;
}

// xorshift: which packets are thrown away need not be secret, only cheap.
bool RtcPlayClient::drops() {
    if (options_.drop <= 0) {
        return false;
    }
    drop_state_ ^= drop_state_ << 13U;
    drop_state_ ^= drop_state_ >> 7U;
    drop_state_ ^= drop_state_ << 17U;
    constexpr double kRange = static_cast<double>(uint64_t{1} << 53U);
    if (static_cast<double>(drop_state_ >> 11U) / kRange >= options_.drop) {
        return false;
    }
    totals().dropped++;
    return true;
}

void RtcPlayClient::on_rtp(MonoTime now, ByteSpan packet) {
    const auto view = rtp::PacketView::parse(packet);
    if (!view || drops()) {
        totals().malformed += view ? 0U : 1U;
        return;
    }
    Track* track = track_of(view->ssrc());
    if (track == nullptr) {
        return;
    }
    const uint8_t transport_cc = track->info.extensions[sdp::Extension::kTransportCc];
    if (transport_cc != 0) {
        const auto number = view->extension(transport_cc);
        if (number && number->size() == 2) {
            arrivals_.on_packet(now, ByteReader(*number).u16(), view->ssrc());
        }
    }
    if (track->receiver.handle_packet(now, packet) == rtp::Receiver::Outcome::kMalformed) {
        totals().malformed++;
    }
    drain(*track, now);
}

void RtcPlayClient::drain(Track& track, MonoTime now) {
    rtp::ReceiverEvent event;
    while (track.receiver.poll_event(event)) {
        if (event.kind == rtp::ReceiverEvent::Kind::kPacket) {
            take_packet(track, event, now);
        } else {
            track.gap = true;
            track.want_key = true;
        }
    }
}

void RtcPlayClient::take_packet(Track& track, const rtp::ReceiverEvent& event, MonoTime now) {
    if (event.packet.payload_type() != track.info.payload_type) {
        return;
    }
    const rtp::PayloadInfo info{event.packet.timestamp(), event.packet.marker(), track.gap};
    track.gap = false;
    if (track.depacketizer->feed(event.packet.payload(), info) == rtp::FeedStatus::kMalformed) {
        totals().malformed++;
    }
    rtp::Frame frame;
    while (track.depacketizer->next(frame)) {
        take_frame(track, frame, now);
    }
}

void RtcPlayClient::take_frame(Track& track, rtp::Frame& frame, MonoTime now) {
    const bool is_video = track.info.kind == media::TrackKind::kVideo;
    // The first after a loss may lack what stood in front of its picture, the stamp above all; what
    // it refers to is lost anyway.
    const size_t head = flv_head_size(track.info.codec);
    if (frame.data.size() <= head || (is_video && frame.after_loss && !frame.key)) {
        return;
    }
    write_flv_head(std::span(frame.data).first(head), track.info.codec, frame.key);
    ScannedMessage message;
    message.type = is_video ? rtmp::kVideo : rtmp::kAudio;
    message.timestamp = static_cast<uint32_t>(track.times.unwrap(frame.rtp_time) * 1000 /
                                              int64_t{track.info.clock_hz});
    message.length = static_cast<uint32_t>(frame.data.size());
    check_.begin(message);
    check_.part(message, frame.data);
    check_.end(message);
    if (is_video) {
        track.want_key = track.want_key && !frame.key;
        watch_freezes(now);
    }
}

void RtcPlayClient::watch_freezes(MonoTime now) {
    if (pictures_++ > 0) {
        const auto gap = static_cast<double>((now - last_picture_).count());
        if (pictures_ > kPicturesToJudge &&
            gap > std::max(kFreezeFactor * mean_interval_us_, mean_interval_us_ + kFreezeUs)) {
            totals().freezes++;
            totals().frozen_us += static_cast<uint64_t>(gap);
        }
        const double seen = std::min(kMeanOver, static_cast<double>(pictures_ - 1));
        mean_interval_us_ += (gap - mean_interval_us_) / seen;
    }
    last_picture_ = now;
}

void RtcPlayClient::on_rtcp(MonoTime now, ByteSpan compound) {
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
        if (const auto report = rtcp::parse_sender_report(packet)) {
            totals().reports++;
            if (Track* track = track_of(report->ssrc)) {
                track->receiver.handle_sender_report(now, report->ntp_time);
            }
        }
    }
}

bool RtcPlayClient::wants_key() const {
    const std::optional<Track>& video = tracks_[kVideo];
    return video && (video->want_key || !check_.has_key());
}

void RtcPlayClient::on_timeout(MonoTime now) {
    for (std::optional<Track>& track : tracks_) {
        if (track) {
            track->receiver.handle_timeout(now);
            drain(*track, now);
        }
    }
    send_feedback(now);
}

void RtcPlayClient::send_feedback(MonoTime now) {
    std::array<uint8_t, kRtcpBuffer> buffer;
    const std::span<uint8_t> room = std::span(buffer).first(kRtcpBuffer - srtp::kMaxOverhead);
    rtcp::CompoundWriter writer(room);
    if (now >= next_report_) {
        next_report_ = now + kReportInterval;
        std::array<rtcp::ReportBlock, 2> blocks;
        size_t count = 0;
        for (std::optional<Track>& track : tracks_) {
            count += track && track->receiver.report(now, blocks[count]) ? 1U : 0U;
        }
        writer.receiver_report(local_ssrc_, std::span(blocks).first(count));
        if (const auto& video = tracks_[kVideo]; video && video->receiver.stats().started()) {
            totals().jitter.add(static_cast<uint64_t>(video->receiver.stats().jitter().count()));
        }
        settle();
    }
    for (std::optional<Track>& track : tracks_) {
        if (track && track->receiver.poll_transmit(local_ssrc_, writer)) {
            totals().nacks++;
        }
    }
    if (wants_key() && now >= next_key_request_) {
        next_key_request_ = now + kKeyRequestInterval;
        writer.picture_loss({local_ssrc_, ssrc_of(tracks_[kVideo]->info)});
        totals().key_requests++;
    }
    while (arrivals_.poll_transmit(now, local_ssrc_, writer)) {
        totals().transport_feedback++;
    }
    if (writer.size() > 0) {
        send_rtcp(buffer, writer.size());
    }
}

MonoTime RtcPlayClient::next_media_timeout() const {
    MonoTime due = next_report_;
    for (const std::optional<Track>& track : tracks_) {
        if (track) {
            due = std::min(due, track->receiver.next_timeout().value_or(due));
        }
    }
    if (wants_key()) {
        due = std::min(due, next_key_request_);
    }
    return std::min(due, arrivals_.next_timeout().value_or(due));
}

void RtcPlayClient::settle() {
    for (std::optional<Track>& track : tracks_) {
        if (!track) {
            continue;
        }
        const rtp::ReceiverCounters& now = track->receiver.counters();
        rtp::ReceiverCounters& before = track->settled;
        totals().packets += now.packets - before.packets;
        totals().retransmitted += now.retransmitted - before.retransmitted;
        totals().recovered += now.recovered - before.recovered;
        totals().lost += now.lost - before.lost;
        before = now;
    }
}

}  // namespace weir::load
