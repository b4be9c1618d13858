#include "bench/load/core/rtsp_publish_client.h"

#include "base/version.h"
#include "media/aac.h"
#include "proto/flv/tag.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/header.h"
#include "proto/sdp/rtsp_writer.h"

namespace weir::load {
namespace {

constexpr size_t kRtcpBuffer = 200;

rtsp::ClientOptions options_of(const rtsp::Url& url) {
    rtsp::ClientOptions options;
    options.url = url;
    options.user_agent = fmt::format("weir-bench/{}", kVersion);
    options.allow_basic = true;
    return options;
}

}  // namespace

RtspPublishClient::RtspPublishClient(const rtsp::Url& url, RandomSource& random)
    : random_(random), url_(url), session_(options_of(url), random) {}

Result<std::unique_ptr<RtspPublishClient>> RtspPublishClient::create(
    const rtsp::Url& url, const std::vector<SourceMessage>& opening, RandomSource& random) {
    // lint: allow-new - private constructor
    std::unique_ptr<RtspPublishClient> client(new RtspPublishClient(url, random));
    WEIR_TRY(client->open(opening));
    return client;
}

uint32_t RtspPublishClient::random_u32() {
    std::array<uint8_t, 4> bytes;
    random_.fill(bytes);
    return ByteReader(bytes).u32();
}

Error RtspPublishClient::open(const std::vector<SourceMessage>& opening) {
    for (const SourceMessage& message : opening) {
        WEIR_TRY(add_track(message));
    }
    if (!video_ && !audio_) {
        return make_error(ErrorCode::kUnsupported, "there is nothing to publish");
    }
    announce();
    return {};
}

Error RtspPublishClient::add_track(const SourceMessage& message) {
    const auto info = flv::parse_tag_body(message.kind, message.body);
    if (!info || !info->config) {
        return {};
    }
    const bool is_video = message.kind == media::TrackKind::kVideo;
    Track track;
    track.codec = info->codec;
    track.packetizer = rtp::make_packetizer(info->codec);
    if (!track.packetizer) {
        return make_error(ErrorCode::kUnsupported, "RTSP does not carry {}",
                          media::to_string(info->codec));
    }
    const ByteSpan config = ByteSpan(message.body).subspan(info->payload_offset);
    track.config.assign(config.begin(), config.end());
    track.packetizer->set_config(config);
    track.channel = is_video ? 0 : 2;
    track.payload_type = sdp::rtsp_payload_type(info->codec)
                             .value_or(static_cast<uint8_t>(sdp::kFirstDynamicType + !is_video));
    track.clock_hz = sdp::rtsp_clock(info->codec, config);
    if (track.clock_hz == 0) {
        return make_error(ErrorCode::kUnsupported, "the configuration of {} cannot be read",
                          media::to_string(info->codec));
    }
    track.ssrc = random_u32() | 1U;
    track.sequence = static_cast<uint16_t>(random_u32());
    track.time_offset = random_u32();
    (is_video ? video_ : audio_).emplace(std::move(track));
    return {};
}

void RtspPublishClient::announce() {
    sdp::RtspOffer offer;
    offer.name = "weir-bench";
    offer.address = "0.0.0.0";
    std::vector<rtsp::ClientTrack> tracks;
    for (std::optional<Track>* track : {&video_, &audio_}) {
        if (!*track) {
            continue;
        }
        sdp::RtspTrackOffer& out = offer.tracks.emplace_back();
        out.codec = (*track)->codec;
        out.payload_type = (*track)->payload_type;
        out.clock_hz = (*track)->clock_hz;
        out.config = (*track)->config;
        if (const auto aac = media::aac::parse_config(out.config);
            out.codec == media::Codec::kAac && aac) {
            out.channels = aac->channels;
        }
        out.control = fmt::format("trackID={}", tracks.size());
        rtsp::Transport tcp;
        tcp.tcp = true;
        const uint8_t channel = (*track)->channel;
        tcp.interleaved = rtsp::ChannelPair{channel, static_cast<uint8_t>(channel + 1)};
        tracks.push_back({out.control, {std::move(tcp)}});
    }
    session_.publish(sdp::write_rtsp_description(offer), std::move(tracks));
}

Error RtspPublishClient::feed(MonoTime now, ByteSpan bytes) {
    for (;;) {
        switch (session_.next(now, bytes)) {
            case rtsp::ClientEvent::kNeedMore: return {};
            case rtsp::ClientEvent::kError: return session_.take_error();
            case rtsp::ClientEvent::kEnded:
                return make_error(ErrorCode::kClosed, "the server ended the session");
            case rtsp::ClientEvent::kRedirected:
                return make_error(ErrorCode::kUnsupported,
                                  "the server redirects, which the load client does not follow");
            default: break;
        }
    }
}

void RtspPublishClient::send(MonoTime now, const SourceMessage& message) {
    const bool is_video = message.kind == media::TrackKind::kVideo;
    std::optional<Track>& track = is_video ? video_ : audio_;
    const auto info = flv::parse_tag_body(message.kind, message.body);
    if (!started() || !track || !info || info->metadata || info->end) {
        return;
    }
    const ByteSpan payload = ByteSpan(message.body).subspan(info->payload_offset);
    if (info->config) {
        track->packetizer->set_config(payload);
        return;
    }
    session_.handle_timeout(now);
    report(now, *track, message.time_ms);
    const int64_t shown_ms = int64_t{message.time_ms} + info->composition_ms;
    open_ = &*track;
    open_time_ = track->time_offset + static_cast<uint32_t>(shown_ms * track->clock_hz / 1000);
    track->packetizer->packetize(payload, kMaxPayload, *this);
}

void RtspPublishClient::on_payload(std::span<const ByteSpan> parts, bool last) {
    Track& track = *open_;
    packet_.resize(rtp::kFixedHeaderSize);
    rtp::write_header({track.payload_type, last, track.sequence++, open_time_, track.ssrc},
                      packet_.data());
    for (const ByteSpan part : parts) {
        packet_.insert(packet_.end(), part.begin(), part.end());
    }
    const auto channel = session_.transport(video_ && &track != &*video_ ? 1 : 0);
    track.stats.on_packet(packet_.size() - rtp::kFixedHeaderSize);
    session_.send_frame(channel ? channel->interleaved->rtp : track.channel, packet_);
}

// The frame that comes next is of this moment.
void RtspPublishClient::report(MonoTime now, Track& track, uint32_t time_ms) {
    if (now < track.next_report) {
        return;
    }
    track.next_report = now + kReportInterval;
    std::array<uint8_t, kRtcpBuffer> room;
    rtcp::CompoundWriter writer(room);
    const rtcp::NtpTime ntp = rtcp::ntp_from_unix_us(now.time_since_epoch().count());
    const uint32_t rtp_time =
        track.time_offset + static_cast<uint32_t>(int64_t{time_ms} * track.clock_hz / 1000);
    writer.sender_report(track.stats.report(track.ssrc, ntp, rtp_time), {});
    writer.source_description(track.ssrc, "weir-bench");
    const auto agreed = session_.transport(video_ && &track != &*video_ ? 1 : 0);
    session_.send_frame(
        agreed ? agreed->interleaved->rtcp : static_cast<uint8_t>(track.channel + 1),
        ByteSpan(room).first(writer.size()));
}

}  // namespace weir::load
