#include "bench/load/core/rtsp_play_client.h"

#include <algorithm>
#include <cmath>

#include "base/version.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/writer.h"
#include "proto/rtmp/message.h"

#include "bench/load/core/flv_head.h"

namespace weir::load {
namespace {

rtsp::ClientOptions options_of(const rtsp::Url& url) {
    rtsp::ClientOptions options;
    options.url = url;
    options.user_agent = fmt::format("weir-bench/{}", kVersion);
    options.allow_basic = true;
    return options;
}

bool is_playable(const sdp::RtspTrack& track) {
    return track.is_supported() && !track.transport_stream && !track.is_secure() &&
           track.clock_hz > 0 && track.kind != media::TrackKind::kData &&
           rtp::make_depacketizer(track.codec, 0, track.parameters) != nullptr;
}

uint64_t ns_of(MonoTime time) {
    return static_cast<uint64_t>(time.time_since_epoch().count()) * 1'000;
}

}  // namespace

RtspPlayClient::Track::Track(const sdp::RtspTrack& of)
    : kind(of.kind),
      codec(of.codec),
      payload_type(of.payload_type),
      clock_hz(of.clock_hz),
      depacketizer(rtp::make_depacketizer(of.codec, flv_head_size(of.codec), of.parameters)) {
    for (const Bytes& nal : of.parameter_sets) {
        depacketizer->add_parameter_set(nal);
    }
}

RtspPlayClient::RtspPlayClient(const rtsp::Url& url,
                               const RtspPlayOptions& options,
                               PlayerCheck& check,
                               RandomSource& random,
                               Ports ports)
    : options_(options),
      totals_(check.totals().rtsp),
      check_(check),
      ports_(std::move(ports)),
      session_(options_of(url), random) {
    totals_.used = true;
    session_.play();
    collect();
}

void RtspPlayClient::collect() {
    if (session_.has_output()) {
        const std::string more = session_.take_output();
        output_.insert(output_.end(), more.begin(), more.end());
    }
}

bool RtspPlayClient::feed(ByteSpan bytes, uint64_t now_ns) {
    const MonoTime now{Micros(static_cast<int64_t>(now_ns / 1'000))};
    check_.received(bytes.size(), now_ns);
    const bool good = take(now, bytes);
    if (good && asked_ == MonoTime() && session_.is_set_up()) {
        asked_ = now;
        check_.joined(now_ns);
    }
    handle_timeout(now);
    return good;
}

bool RtspPlayClient::take(MonoTime now, ByteSpan bytes) {
    for (;;) {
        switch (session_.next(now, bytes)) {
            case rtsp::ClientEvent::kNeedMore: return true;
            case rtsp::ClientEvent::kDescribed:
                if (!set_up()) {
                    return false;
                }
                break;
            case rtsp::ClientEvent::kStarted:
            case rtsp::ClientEvent::kPaused: break;
            case rtsp::ClientEvent::kFrame:
                if (const auto use = session_.channel_use(session_.frame().channel)) {
                    Track& track = tracks_[use->track];
                    use->rtcp ? take_rtcp(now, track, session_.frame().payload)
                              : take_rtp(now, track, session_.frame().payload);
                }
                break;
            case rtsp::ClientEvent::kRedirected:
                return fail("the server redirects, which the load client does not follow");
            case rtsp::ClientEvent::kEnded: stream_ended_ = true; return true;
            case rtsp::ClientEvent::kError:
                return fail(std::string(session_.take_error().message()));
        }
    }
}

// All tracks that can be received.
bool RtspPlayClient::set_up() {
    const auto description = sdp::RtspDescription::parse(session_.description());
    if (!description.ok()) {
        return fail(std::string(description.error().message()));
    }
    std::vector<rtsp::ClientTrack> wanted;
    for (const sdp::RtspTrack& track : description->tracks) {
        if (!is_playable(track) || wanted.size() == rtsp::kMaxClientTracks) {
            continue;
        }
        const size_t index = tracks_.size();
        tracks_.emplace_back(track);
        rtsp::Transport offer;
        if (options_.way == RtspWay::kTcp) {
            offer.tcp = true;
            offer.interleaved = rtsp::ChannelPair{static_cast<uint8_t>(2 * index),
                                                  static_cast<uint8_t>(2 * index + 1)};
        } else if (options_.way == RtspWay::kMulticast) {
            offer.multicast = true;
        } else {
            offer.client_port = ports_(index);
            if (!offer.client_port) {
                return fail("no pair of UDP ports is free");
            }
        }
        wanted.push_back({track.control, {std::move(offer)}});
    }
    session_.set_up(std::move(wanted), description->control);
    return true;
}

// ---- media ----

bool RtspPlayClient::on_datagram(MonoTime now, size_t track, bool rtcp, ByteSpan bytes) {
    check_.received(bytes.size(), ns_of(now));
    if (track < tracks_.size()) {
        rtcp ? take_rtcp(now, tracks_[track], bytes) : take_rtp(now, tracks_[track], bytes);
    }
    handle_timeout(now);
    return true;
}

void RtspPlayClient::take_rtp(MonoTime now, Track& track, ByteSpan bytes) {
    const auto packet = rtp::PacketView::parse(bytes);
    if (!packet || packet->payload_type() != track.payload_type) {
        totals_.malformed++;
        return;
    }
    if (first_packet_ == MonoTime()) {
        first_packet_ = now;
        totals_.response.add(static_cast<uint64_t>((now - asked_).count()));
    }
    if (!track.receiver) {
        rtp::ReceiverOptions options;
        options.ssrc = packet->ssrc();
        options.payload_type = track.payload_type;
        options.clock_hz = track.clock_hz;
        track.receiver = std::make_unique<rtp::Receiver>(options);
        track.next_report = now + kReportInterval;
    }
    note_variation(track, *packet, now);
    if (track.receiver->handle_packet(now, bytes) == rtp::Receiver::Outcome::kMalformed) {
        totals_.malformed++;
    }
    drain(track);
}

// (Rj - Ri) - (Sj - Si) of a packet and the one before it.
void RtspPlayClient::note_variation(Track& track, const rtp::PacketView& packet, MonoTime now) {
    if (track.last_arrival != MonoTime()) {
        const auto sent = static_cast<int32_t>(packet.timestamp() - track.last_time);
        const double sent_us = static_cast<double>(sent) * 1e6 / track.clock_hz;
        const auto came_us = static_cast<double>((now - track.last_arrival).count());
        totals_.variation_us += std::abs(came_us - sent_us);
        totals_.variations++;
    }
    track.last_time = packet.timestamp();
    track.last_arrival = now;
}

void RtspPlayClient::take_rtcp(MonoTime now, Track& track, ByteSpan compound) {
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
        if (const auto report = rtcp::parse_sender_report(packet)) {
            totals_.reports++;
            if (track.receiver) {
                track.receiver->handle_sender_report(now, report->ntp_time);
            }
        }
    }
}

void RtspPlayClient::drain(Track& track) {
    rtp::ReceiverEvent event;
    rtp::Frame frame;
    while (track.receiver->poll_event(event)) {
        if (event.kind != rtp::ReceiverEvent::Kind::kPacket) {
            track.gap = true;
            continue;
        }
        const rtp::PayloadInfo info{event.packet.timestamp(), event.packet.marker(),
                                    std::exchange(track.gap, false)};
        if (track.depacketizer->feed(event.packet.payload(), info) == rtp::FeedStatus::kMalformed) {
            totals_.malformed++;
        }
        while (track.depacketizer->next(frame)) {
            take_frame(track, frame);
        }
    }
}

void RtspPlayClient::take_frame(Track& track, rtp::Frame& frame) {
    const bool is_video = track.kind == media::TrackKind::kVideo;
    const size_t head = flv_head_size(track.codec);
    // The first after a loss may lack what stood in front of its picture, the stamp above all.
    if (frame.data.size() <= head || (is_video && frame.after_loss && !frame.key)) {
        return;
    }
    write_flv_head(std::span(frame.data).first(head), track.codec, frame.key);
    int64_t time_ms = track.times.unwrap(frame.rtp_time) * 1000 / int64_t{track.clock_hz};
    if (is_video) {
        // B-frames come in the order of decoding, with times of presentation.
        time_ms = std::max(time_ms, track.last_ms);
        track.last_ms = time_ms;
    }
    ScannedMessage message;
    message.type = is_video ? rtmp::kVideo : rtmp::kAudio;
    message.timestamp = static_cast<uint32_t>(time_ms);
    message.length = static_cast<uint32_t>(frame.data.size());
    check_.begin(message);
    check_.part(message, frame.data);
    check_.end(message);
}

// ---- timers ----

void RtspPlayClient::handle_timeout(MonoTime now) {
    for (Track& track : tracks_) {
        if (track.receiver && track.receiver->next_timeout().value_or(MonoTime::max()) <= now) {
            track.receiver->handle_timeout(now);
            drain(track);
        }
    }
    session_.handle_timeout(now);
    if (!has_paused_ && options_.pause_after.count() > 0 && first_packet_ != MonoTime() &&
        now >= first_packet_ + options_.pause_after && session_.pause()) {
        has_paused_ = true;
        paused_at_ = now;
    }
    if (has_paused_ && now >= paused_at_ + options_.pause_for) {
        session_.resume();
    }
    collect();
}

size_t RtspPlayClient::poll_report(MonoTime now, size_t index, std::span<uint8_t> out) {
    if (index >= tracks_.size()) {
        return 0;
    }
    Track& track = tracks_[index];
    if (!track.receiver || now < track.next_report) {
        return 0;
    }
    track.next_report = now + kReportInterval;
    rtcp::ReportBlock block;
    rtcp::CompoundWriter writer(out);
    const uint32_t own = track.receiver->options().ssrc + 1;
    if (track.receiver->report(now, block)) {
        writer.receiver_report(own, {&block, 1});
        writer.source_description(own, "weir-bench");
    }
    return writer.size();
}

void RtspPlayClient::settle() {
    for (Track& track : tracks_) {
        if (!track.receiver) {
            continue;
        }
        totals_.jitter.add(static_cast<uint64_t>(track.receiver->stats().jitter().count()));
        const rtp::ReceiverCounters& now = track.receiver->counters();
        rtp::ReceiverCounters& before = track.settled;
        totals_.packets += now.packets - before.packets;
        totals_.lost += now.lost - before.lost;
        totals_.late += now.late + now.duplicates - before.late - before.duplicates;
        before = now;
    }
}

void RtspPlayClient::leave() {
    session_.teardown();
    collect();
}

}  // namespace weir::load
