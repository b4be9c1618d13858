#include "bench/load/core/rtc_publish_client.h"

#include <algorithm>

#include "proto/flv/tag.h"
#include "proto/rtcp/feedback.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/header.h"
#include "proto/rtp/rtx.h"

namespace weir::load {
namespace {

constexpr size_t kMaxPayload = 1150;
constexpr size_t kMaxBurst = 48'000;
constexpr size_t kMaxBurstPackets = 40;
constexpr size_t kRtcpBuffer = 1200;
constexpr uint32_t kVideoHz = 90'000;
constexpr uint32_t kOpusHz = 48'000;
constexpr std::array<uint8_t, 3> kSilence = {0xF8, 0xFF, 0xFE};  // 20 ms of Opus

}  // namespace

Result<std::unique_ptr<RtcPublishClient>> RtcPublishClient::create(
    const webrtc::ClientShared& shared,
    webrtc::ClientLink& link,
    RtcTotals& totals,
    RtcPublishStats& stats,
    const std::vector<SourceMessage>& opening,
    Micros connect_timeout) {
    // lint: allow-new - private constructor
    std::unique_ptr<RtcPublishClient> client(
        new RtcPublishClient(shared, link, totals, stats, connect_timeout));
    WEIR_TRY(client->open(opening));
    return client;
}

uint32_t RtcPublishClient::random_u32() {
    std::array<uint8_t, 4> bytes;
    random().fill(bytes);
    return ByteReader(bytes).u32();
}

Error RtcPublishClient::open(const std::vector<SourceMessage>& opening) {
    for (const SourceMessage& message : opening) {
        const auto info = flv::parse_tag_body(message.kind, message.body);
        if (!info || !info->config) {
            continue;
        }
        const bool is_video = message.kind == media::TrackKind::kVideo;
        Track track;
        track.codec =
            is_video || info->codec == media::Codec::kOpus ? info->codec : media::Codec::kOpus;
        silent_ = silent_ || (!is_video && track.codec != info->codec);
        track.packetizer = rtp::make_packetizer(track.codec);
        if (!track.packetizer) {
            return make_error(ErrorCode::kUnsupported, "WebRTC does not carry {}",
                              media::to_string(info->codec));
        }
        if (is_video) {
            track.packetizer->set_config(ByteSpan(message.body).subspan(info->payload_offset));
        }
        track.clock_hz = is_video ? kVideoHz : kOpusHz;
        track.ssrc = random_u32() | 1U;
        // In the lower half: libraries that guess the roll-over counter see no wrap at the start.
        track.first_sequence = random_u32() & 0x7FFFU;
        (is_video ? video_ : audio_).emplace(std::move(track));
    }
    if (!video_ && !audio_) {
        return make_error(ErrorCode::kUnsupported, "there is nothing to publish");
    }
    rtx_ssrc_ = random_u32() | 1U;
    history_.resize(kHistory);
    return {};
}

sdp::ClientOffer RtcPublishClient::offer_of_all() const {
    sdp::ClientOffer offer = plain_offer();
    offer.sends = true;
    if (video_) {
        offer.video = sdp::ClientTrack{video_->codec, "", video_->ssrc, rtx_ssrc_};
    }
    if (audio_) {
        offer.audio = sdp::ClientTrack{audio_->codec, "", audio_->ssrc, 0};
    }
    return offer;
}

void RtcPublishClient::on_connected(MonoTime now) {
    note_connected(now);
    for (std::optional<Track>* track : {&video_, &audio_}) {
        const sdp::NegotiatedMedia* const of =
            agreed(track == &video_ ? media::TrackKind::kVideo : media::TrackKind::kAudio);
        if (!*track || of == nullptr) {
            track->reset();
            continue;
        }
        (*track)->payload_type = of->payload_type;
        (*track)->transport_cc_id =
            of->feedback.transport_cc ? of->extensions[sdp::Extension::kTransportCc] : uint8_t{0};
        if (track == &video_) {
            rtx_payload_type_ = of->rtx_payload_type.value_or(0);
        }
    }
    began_ = now;
    next_report_ = now;
    if (audio_ && silent_) {
        next_sound_ = now;
    }
}

void RtcPublishClient::send(MonoTime, const SourceMessage& message) {
    const bool is_video = message.kind == media::TrackKind::kVideo;
    std::optional<Track>& track = is_video ? video_ : audio_;
    const auto info = flv::parse_tag_body(message.kind, message.body);
    if (!connected() || !track || !info || info->metadata || info->end || (!is_video && silent_)) {
        return;
    }
    const ByteSpan payload = ByteSpan(message.body).subspan(info->payload_offset);
    if (info->config) {
        track->packetizer->set_config(payload);
        return;
    }
    const int64_t shown_ms = int64_t{message.time_ms} + info->composition_ms;
    send_frame(*track, static_cast<uint32_t>(shown_ms * track->clock_hz / 1000), payload);
}

void RtcPublishClient::send_frame(Track& track, uint32_t rtp_time, ByteSpan frame) {
    open_ = &track;
    open_time_ = rtp_time;
    track.packetizer->packetize(frame, kMaxPayload, *this);
    send_burst();
}

void RtcPublishClient::on_payload(std::span<const ByteSpan> parts, bool last) {
    Track& track = *open_;
    const uint64_t full = track.first_sequence + track.next;
    const rtp::Header header{track.payload_type, last && track.codec != media::Codec::kOpus,
                             static_cast<uint16_t>(full), open_time_, track.ssrc};
    std::array<uint8_t, 2> number;
    store_u16(number.data(), next_transport_);
    const rtp::Extension extension{track.transport_cc_id, number};
    const std::span<const rtp::Extension> extensions(&extension,
                                                     track.transport_cc_id != 0 ? 1 : 0);
    next_transport_ = static_cast<uint16_t>(next_transport_ + extensions.size());
    plain_.resize(rtp::header_size(extensions));
    const size_t head = rtp::write_header(header, extensions, plain_.data());
    for (const ByteSpan part : parts) {
        plain_.insert(plain_.end(), part.begin(), part.end());
    }
    track.stats.on_packet(plain_.size() - head);
    if (video_ && &track == &*video_) {
        Kept& kept = history_[track.next % kHistory];
        kept.number = track.next;
        kept.used = true;
        kept.packet.assign(plain_.begin(), plain_.end());
    }
    track.next++;
    stats_.packets++;
    const size_t at = burst_.size();
    burst_.resize(at + plain_.size() + srtp::kMaxOverhead);
    const size_t size =
        protector().protect_rtp({ByteSpan(plain_).first(head), {}, ByteSpan(plain_).subspan(head)},
                                full, std::span(burst_).subspan(at));
    burst_.resize(at + size);
    put(size);
}

// A packet of that size stands at the end of the burst: packets of one size go out together, the
// last of them may be shorter.
void RtcPublishClient::put(size_t size) {
    const size_t before = burst_.size() - size;
    if (before == 0) {
        segment_ = size;
    } else if (size > segment_) {
        transmit(ByteSpan(burst_).first(before), segment_);
        stats_.bytes += before;
        burst_.erase(burst_.begin(), burst_.begin() + static_cast<std::ptrdiff_t>(before));
        segment_ = size;
    }
    if (size < segment_ || burst_.size() >= kMaxBurst ||
        burst_.size() / segment_ >= kMaxBurstPackets) {
        send_burst();
    }
}

void RtcPublishClient::send_burst() {
    if (!burst_.empty()) {
        transmit(burst_, segment_);
        stats_.bytes += burst_.size();
        burst_.clear();
    }
}

void RtcPublishClient::resend(uint16_t sequence) {
    const auto back = static_cast<uint16_t>(
        static_cast<uint16_t>(video_->first_sequence + video_->next - 1) - sequence);
    if (back >= video_->next) {
        return;
    }
    const uint64_t number = video_->next - 1 - back;
    const Kept& kept = history_[number % kHistory];
    if (!kept.used || kept.number != number) {
        stats_.too_late++;
        return;
    }
    Bytes out(kept.packet.size() + rtp::kRtxOverhead + srtp::kMaxOverhead);
    size_t size = 0;
    if (rtx_payload_type_ != 0) {
        size = rtp::wrap_rtx(
            kept.packet, {rtx_payload_type_, false, static_cast<uint16_t>(next_rtx_), 0, rtx_ssrc_},
            out);
        size = protector().protect_rtp(out, size, next_rtx_++);
    } else {  // byte for byte the first one: the key stream is the same
        std::copy(kept.packet.begin(), kept.packet.end(), out.begin());
        size = protector().protect_rtp(out, kept.packet.size(), video_->first_sequence + number);
    }
    transmit(ByteSpan(out).first(size), 0);
    stats_.bytes += size;
    stats_.retransmitted++;
}

void RtcPublishClient::on_rtcp(MonoTime now, ByteSpan compound) {
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
        if (const auto nack = rtcp::parse_nack(packet)) {
            if (video_ && nack->sources.media_ssrc == video_->ssrc) {
                nack->for_each_lost([this](uint16_t sequence) { resend(sequence); });
            }
        } else if (rtcp::parse_picture_loss(packet) ||
                   (video_ && rtcp::find_full_intra_request(packet, video_->ssrc))) {
            stats_.key_requests++;
        } else if (const auto report = rtcp::parse_receiver_report(packet)) {
            totals().reports++;
            for (std::optional<Track>* track : {&video_, &audio_}) {
                const auto block = *track ? report->blocks.find((*track)->ssrc) : std::nullopt;
                if (block) {
                    const rtcp::NtpTime ntp =
                        rtcp::ntp_from_unix_us(now.time_since_epoch().count());
                    stats_.lost += (*track)->stats.on_report_block(*block, ntp).lost;
                }
            }
        }
    }
}

uint32_t RtcPublishClient::rtp_now(const Track& track, MonoTime now) const {
    return static_cast<uint32_t>((now - began_).count() * track.clock_hz / 1'000'000);
}

void RtcPublishClient::report(MonoTime now) {
    std::array<uint8_t, kRtcpBuffer> buffer;
    const std::span<uint8_t> room = std::span(buffer).first(kRtcpBuffer - srtp::kMaxOverhead);
    rtcp::CompoundWriter writer(room);
    const rtcp::NtpTime ntp = rtcp::ntp_from_unix_us(now.time_since_epoch().count());
    for (std::optional<Track>* track : {&video_, &audio_}) {
        if (*track) {
            writer.sender_report((*track)->stats.report((*track)->ssrc, ntp, rtp_now(**track, now)),
                                 {});
            writer.source_description((*track)->ssrc, "weir-bench");
        }
    }
    send_rtcp(buffer, writer.size());
}

void RtcPublishClient::on_timeout(MonoTime now) {
    while (now >= next_sound_) {
        send_frame(*audio_, rtp_now(*audio_, next_sound_), kSilence);
        next_sound_ += kSound;
    }
    if (now >= next_report_) {
        next_report_ = now + kReportInterval;
        report(now);
    }
}

MonoTime RtcPublishClient::next_media_timeout() const {
    return std::min(next_sound_, next_report_);
}

}  // namespace weir::load
