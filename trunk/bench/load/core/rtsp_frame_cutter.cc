#include "bench/load/core/rtsp_frame_cutter.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "media/aac.h"
#include "proto/flv/tag.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/header.h"
#include "proto/sdp/rtsp_writer.h"

namespace weir::load {
namespace {

constexpr size_t kRtcpBuffer = 200;

}  // namespace

Result<std::unique_ptr<RtspFrameCutter>> RtspFrameCutter::create(
    const std::vector<SourceMessage>& opening, RandomSource& random) {
    // lint: allow-new - private constructor
    std::unique_ptr<RtspFrameCutter> cutter(new RtspFrameCutter());
    for (const media::TrackKind kind : {media::TrackKind::kVideo, media::TrackKind::kAudio}) {
        for (const SourceMessage& message : opening) {
            if (message.kind == kind) {
                WEIR_TRY(cutter->add_track(message, random));
            }
        }
    }
    if (cutter->tracks_.empty()) {
        return make_error(ErrorCode::kUnsupported, "there is nothing to send by RTSP");
    }
    return cutter;
}

Error RtspFrameCutter::add_track(const SourceMessage& message, RandomSource& random) {
    const auto info = flv::parse_tag_body(message.kind, message.body);
    if (!info || !info->config) {
        return {};
    }
    Track track;
    track.kind = message.kind;
    track.codec = info->codec;
    track.packetizer = rtp::make_packetizer(info->codec);
    if (!track.packetizer) {
        return make_error(ErrorCode::kUnsupported, "RTSP does not carry {}",
                          media::to_string(info->codec));
    }
    const ByteSpan config = ByteSpan(message.body).subspan(info->payload_offset);
    track.config.assign(config.begin(), config.end());
    track.packetizer->set_config(config);
    track.payload_type =
        sdp::rtsp_payload_type(info->codec)
            .value_or(static_cast<uint8_t>(sdp::kFirstDynamicType + tracks_.size()));
    track.clock_hz = sdp::rtsp_clock(info->codec, config);
    if (track.clock_hz == 0) {
        return make_error(ErrorCode::kUnsupported, "the configuration of {} cannot be read",
                          media::to_string(info->codec));
    }
    track.ssrc = random_u32(random) | 1U;
    track.sequence = static_cast<uint16_t>(random_u32(random));
    track.time_offset = random_u32(random);
    tracks_.push_back(std::move(track));
    return {};
}

std::string RtspFrameCutter::control_of(size_t track) {
    return fmt::format("trackID={}", track);
}

std::string RtspFrameCutter::describe(std::string_view address) const {
    sdp::RtspOffer offer;
    offer.name = "weir-bench";
    offer.address = address;
    for (const Track& track : tracks_) {
        sdp::RtspTrackOffer& out = offer.tracks.emplace_back();
        out.codec = track.codec;
        out.payload_type = track.payload_type;
        out.clock_hz = track.clock_hz;
        out.config = track.config;
        if (const auto aac = media::aac::parse_config(out.config);
            out.codec == media::Codec::kAac && aac) {
            out.channels = aac->channels;
        }
        out.control = control_of(offer.tracks.size() - 1);
    }
    return sdp::write_rtsp_description(offer);
}

uint32_t RtspFrameCutter::rtp_time(size_t track, uint32_t time_ms) const {
    const Track& of = tracks_[track];
    return of.time_offset + static_cast<uint32_t>(int64_t{time_ms} * of.clock_hz / 1000);
}

void RtspFrameCutter::send(MonoTime now, const SourceMessage& message, RtspPacketSink& sink) {
    const auto found = std::ranges::find(tracks_, message.kind, &Track::kind);
    const auto info = flv::parse_tag_body(message.kind, message.body);
    if (found == tracks_.end() || !info || info->metadata || info->end) {
        return;
    }
    const ByteSpan payload = ByteSpan(message.body).subspan(info->payload_offset);
    if (info->config) {
        found->packetizer->set_config(payload);
        return;
    }
    sink_ = &sink;
    open_ = static_cast<size_t>(found - tracks_.begin());
    report(now, open_, message.time_ms);
    const int64_t shown_ms = int64_t{message.time_ms} + info->composition_ms;
    open_time_ = rtp_time(open_, static_cast<uint32_t>(shown_ms));
    found->packetizer->packetize(payload, kMaxPayload, *this);
}

void RtspFrameCutter::on_payload(std::span<const ByteSpan> parts, bool last) {
    Track& track = tracks_[open_];
    packet_.resize(rtp::kFixedHeaderSize);
    rtp::write_header({track.payload_type, last, track.sequence++, open_time_, track.ssrc},
                      packet_.data());
    for (const ByteSpan part : parts) {
        packet_.insert(packet_.end(), part.begin(), part.end());
    }
    track.stats.on_packet(packet_.size() - rtp::kFixedHeaderSize);
    sink_->on_rtsp_packet(open_, false, packet_);
}

// The frame that comes next is of this moment.
void RtspFrameCutter::report(MonoTime now, size_t index, uint32_t time_ms) {
    Track& track = tracks_[index];
    if (now < track.next_report) {
        return;
    }
    track.next_report = now + kReportInterval;
    std::array<uint8_t, kRtcpBuffer> room;
    rtcp::CompoundWriter writer(room);
    const rtcp::NtpTime ntp = rtcp::ntp_from_unix_us(now.time_since_epoch().count());
    writer.sender_report(track.stats.report(track.ssrc, ntp, rtp_time(index, time_ms)), {});
    writer.source_description(track.ssrc, "weir-bench");
    sink_->on_rtsp_packet(index, true, ByteSpan(room).first(writer.size()));
}

}  // namespace weir::load
