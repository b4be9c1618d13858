#include "session/webrtc/rtc_publisher.h"

#include <algorithm>

#include "media/opus.h"
#include "proto/flv/packet_maker.h"
#include "proto/rtp/header.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;

constexpr Micros kReportInterval{1'000'000};
constexpr Micros kFirstReport{200'000};
// Packets of a source that another one has replaced are late ones for so long.
constexpr Micros kRetiredFor{2'000'000};
// AudioSpecificConfig of what AudioTranscoder makes: AAC-LC, 48 kHz, stereo.
constexpr std::array<uint8_t, 2> kAacConfig = {0x11, 0x90};

media::PacketInfo track_info(TrackKind kind, Codec codec) {
    media::PacketInfo info;
    info.kind = kind;
    info.codec = codec;
    return info;
}

}  // namespace

RtcPublisher::RtcPublisher(stream::Stream& stream,
                           const stream::Publisher& publisher,
                           const sdp::Answer& answer,
                           const RtcPublisherOptions& options)
    : stream_(stream), publisher_(publisher), options_(options), last_media_(MonoClock::now()) {
    bool remb = false;
    bool twcc = false;
    for (const sdp::NegotiatedMedia& media : answer.media) {
        if (!media.in_use()) {
            continue;
        }
        Section& section = sections_.emplace_back();
        section.kind = media.kind;
        section.codec = media.codec;
        section.payload_type = media.payload_type;
        section.rtx_payload_type = media.rtx_payload_type;
        section.clock_hz = media.clock_hz;
        section.nack = media.feedback.nack;
        section.abs_send_time_id = media.extensions[sdp::Extension::kAbsSendTime];
        section.ssrcs = media.remote_ssrcs;
        section.rids = media.rids;
        section.rid_id = media.extensions[sdp::Extension::kRid];
        section.repaired_rid_id = media.extensions[sdp::Extension::kRepairedRid];
        if (media.feedback.transport_cc) {
            section.twcc_id = media.extensions[sdp::Extension::kTransportCc];
        }
        twcc = twcc || section.twcc_id != 0;
        remb = remb || media.feedback.remb;
        wants_fir_ = wants_fir_ ||
                     (media.kind == TrackKind::kVideo && !media.feedback.pli && media.feedback.fir);
    }
    if (twcc) {
        twcc_.emplace();
    } else if (remb) {
        remb_.emplace(rtp::RateLimits{});
    }
    sources_.reserve(kMaxSources);
}

RtcPublisher::Source* RtcPublisher::add_source(
    MonoTime now, Section& section, uint32_t ssrc, uint32_t rtx_ssrc, uint8_t layer) {
    if (sources_.size() == kMaxSources) {
        return nullptr;
    }
    // A publisher that changes its SSRC goes on in the same section and layer; the old source is
    // over.
    std::optional<size_t> clock_track;
    for (Source& source : sources_) {
        if (source.section == &section && source.layer == layer && source.ssrc != ssrc) {
            source.receiver.reset();
            section.retired_ssrc = source.ssrc;
            section.retired_at = now;
            clock_track = source.clock_track;
            clock_.restart(source.clock_track);
        }
    }
    std::erase_if(sources_, [](const Source& source) { return source.receiver == nullptr; });
    rtp::ReceiverOptions options;
    options.ssrc = ssrc;
    options.payload_type = section.payload_type;
    options.clock_hz = section.clock_hz;
    options.nack = section.nack;
    if (rtx_ssrc != 0) {
        options.rtx_ssrc = rtx_ssrc;
    }
    Source& source = sources_.emplace_back();
    source.section = &section;
    source.ssrc = ssrc;
    source.layer = layer;
    source.receiver = std::make_unique<rtp::Receiver>(options);
    source.front = flv::body_header_size(track_info(section.kind, section.codec)).value_or(0);
    source.depacketizer = rtp::make_depacketizer(section.codec, source.front);
    source.clock_track =
        clock_track ? *clock_track
                    : clock_.add_track(section.clock_hz, section.kind == TrackKind::kAudio);
    if (section.kind == TrackKind::kVideo) {
        source.key_frames = rtp::KeyFrameRequester({.period = options_.key_frame_interval});
        source.key_frames.request();
    }
    return &source;
}

// By the header extension, which browsers send until they have heard of the SSRC from us.
RtcPublisher::Source* RtcPublisher::find_layer(MonoTime now,
                                               Section& section,
                                               const rtp::PacketView& packet) {
    const auto rid = packet.extension(section.rid_id);
    if (section.rid_id == 0 || !rid) {
        return nullptr;
    }
    const auto named = std::ranges::find(section.rids, as_text(*rid));
    if (named == section.rids.end()) {
        return nullptr;
    }
    const auto layer = static_cast<uint8_t>(named - section.rids.begin());
    return add_source(now, section, packet.ssrc(), 0, layer);
}

// Whose RTX stream it is, where the description did not name it.
RtcPublisher::Source* RtcPublisher::find_repaired(const Section& section,
                                                  const rtp::PacketView& packet) {
    const auto rid =
        section.repaired_rid_id != 0 ? packet.extension(section.repaired_rid_id) : std::nullopt;
    if (!section.rids.empty() && !rid) {
        return nullptr;
    }
    for (Source& source : sources_) {
        if (source.section == &section && !source.receiver->options().rtx_ssrc &&
            (section.rids.empty() || section.rids[source.layer] == as_text(*rid))) {
            return &source;
        }
    }
    return nullptr;
}

RtcPublisher::Source* RtcPublisher::find_source(MonoTime now, const rtp::PacketView& packet) {
    for (Source& source : sources_) {
        if (source.ssrc == packet.ssrc() || source.receiver->options().rtx_ssrc == packet.ssrc()) {
            return &source;
        }
    }
    for (Section& section : sections_) {
        if (section.payload_type == packet.payload_type()) {
            if (section.retired_ssrc == packet.ssrc() && now - section.retired_at < kRetiredFor) {
                return nullptr;  // a late one
            }
            if (!section.rids.empty()) {
                return find_layer(now, section, packet);
            }
            const auto named =
                std::ranges::find(section.ssrcs, packet.ssrc(), &sdp::RemoteSsrc::ssrc);
            const uint32_t rtx = named == section.ssrcs.end() ? 0 : named->rtx_ssrc;
            return add_source(now, section, packet.ssrc(), rtx, 0);
        }
        if (section.rtx_payload_type == packet.payload_type()) {
            if (Source* source = find_repaired(section, packet)) {
                source->receiver->set_rtx_ssrc(packet.ssrc());
                return source;
            }
        }
    }
    return nullptr;
}

void RtcPublisher::note_arrival(MonoTime now, const rtp::PacketView& packet, size_t size) {
    for (const Section& section : sections_) {
        if (section.payload_type != packet.payload_type() &&
            section.rtx_payload_type != packet.payload_type()) {
            continue;
        }
        if (twcc_ && section.twcc_id != 0) {
            const auto value = packet.extension(section.twcc_id);
            if (value && value->size() >= 2) {
                twcc_->on_packet(now, static_cast<uint16_t>((*value)[0] << 8 | (*value)[1]),
                                 packet.ssrc());
            }
        } else if (remb_) {
            std::optional<uint32_t> sent;
            const auto value = packet.extension(section.abs_send_time_id);
            if (section.abs_send_time_id != 0 && value && value->size() >= 3) {
                sent = static_cast<uint32_t>((*value)[0] << 16 | (*value)[1] << 8 | (*value)[2]);
            }
            remb_->on_packet(now, sent, size);
        }
        return;
    }
}

void RtcPublisher::on_rtp(MonoTime now, ByteSpan bytes) {
    const std::optional<rtp::PacketView> packet = rtp::PacketView::parse(bytes);
    if (!packet) {
        stats_.unknown_packets++;
        return;
    }
    note_arrival(now, *packet, bytes.size());
    Source* source = find_source(now, *packet);
    if (source == nullptr) {
        stats_.unknown_packets++;
        return;
    }
    source->receiver->handle_packet(now, bytes);
    drain(now, *source);
}

void RtcPublisher::drain(MonoTime now, Source& source) {
    rtp::ReceiverEvent event;
    rtp::Frame frame;
    while (source.receiver->poll_event(event)) {
        switch (event.kind) {
            case rtp::ReceiverEvent::Kind::kLost: source.gap = true; break;
            case rtp::ReceiverEvent::Kind::kRestarted:
                source.gap = true;
                clock_.restart(source.clock_track);
                break;
            case rtp::ReceiverEvent::Kind::kPacket: {
                last_media_ = now;
                const rtp::PayloadInfo info{event.packet.timestamp(), event.packet.marker(),
                                            std::exchange(source.gap, false)};
                if (source.depacketizer->feed(event.packet.payload(), info) !=
                        rtp::FeedStatus::kTaken &&
                    source.section->kind == TrackKind::kVideo) {
                    source.awaits_key = true;
                    if (!main_layer_ || main_layer_ == source.layer ||
                        stream_.has_audience(media::Audience::kWebRtc)) {
                        source.key_frames.request();
                    }
                }
                while (source.depacketizer->next(frame)) {
                    take_frame(now, source, frame, event.arrival);
                }
                break;
            }
        }
    }
}

void RtcPublisher::take_frame(MonoTime now, Source& source, rtp::Frame& frame, MonoTime arrival) {
    const Section& section = *source.section;
    const int64_t time_ms = clock_.map(source.clock_track, frame.rtp_time, arrival).count() / 1000;
    if (section.kind == TrackKind::kVideo) {
        if (!take_picture(now, source, frame, time_ms)) {
            return;
        }
    } else if (!audio_described_) {
        audio_described_ = true;
        if (section.codec == Codec::kOpus) {
            publish_config(now, source, media::opus::build_head(2), time_ms);
        }
        if (options_.workers != nullptr) {
            publish_aac(kAacConfig, true, time_ms);
        }
    }
    stats_.frames++;
    media::PacketInfo info = info_of(source);
    info.key = frame.key && section.kind == TrackKind::kVideo;
    const media::PacketRef packet =
        publish(now, flv::make_packet(info, time_ms, std::move(frame.data), source.front));
    if (section.kind == TrackKind::kAudio && packet) {
        bridge(packet, section.codec);
    }
}

// ---- pictures ----

void RtcPublisher::Source::measure(MonoTime now, size_t bytes) {
    if (!is_flowing(now)) {
        flowing_since = now;
        measured_since = now;
        measured_bytes = measured_frames = 0;
    }
    last_frame = now;
    const auto passed = std::chrono::duration_cast<Micros>(now - measured_since);
    const double seconds = static_cast<double>(passed.count()) / 1e6;
    if (seconds >= 1) {
        bits_per_second = static_cast<int64_t>(static_cast<double>(measured_bytes) * 8 / seconds);
        frame_rate = static_cast<double>(measured_frames) / seconds;
        measured_since = now;
        measured_bytes = measured_frames = 0;
    }
    measured_bytes += bytes;
    measured_frames++;
}

// False: it is not to be published.
bool RtcPublisher::take_picture(MonoTime now, Source& source, rtp::Frame& frame, int64_t time_ms) {
    source.measure(now, frame.data.size());
    if (!frame.config.empty()) {
        source.config = std::move(frame.config);
        source.config_role = Source::Role::kNone;
        source.width = frame.width;
        source.height = frame.height;
    }
    if (frame.key) {
        source.awaits_key = false;
        source.key_frames.on_key_frame(now);
    } else if (frame.after_loss) {
        source.awaits_key = true;
    }
    choose_main(now, source, frame.key);
    const bool main = main_layer_ == source.layer;
    if (!main && !stream_.has_audience(media::Audience::kWebRtc)) {
        source.awaits_key = true;  // nobody needs it: begins anew when somebody does
        return false;
    }
    if (source.awaits_key) {
        source.key_frames.request();
        stats_.dropped_frames++;
        return false;
    }
    const Source::Role role = main ? Source::Role::kMain : Source::Role::kOther;
    if (source.config_role != role) {
        source.config_role = role;
        publish_config(now, source, source.config, time_ms);
        describe(source);
    }
    return true;
}

RtcPublisher::Source* RtcPublisher::main_source() {
    for (Source& source : sources_) {
        if (source.section->kind == TrackKind::kVideo && main_layer_ == source.layer) {
            return &source;
        }
    }
    return nullptr;
}

// A frame of `source` came: is it what everybody gets from here on? Only a key frame can be.
void RtcPublisher::choose_main(MonoTime now, Source& source, bool key) {
    const Source* main = main_source();
    if (main == &source) {
        return;
    }
    const bool wanted = [&] {
        if (main == nullptr) {
            return true;
        }
        if (main->is_flowing(now)) {
            return source.pixels() > main->pixels() &&
                   (now - source.flowing_since >= kLayerProven || now - main_since_ < kLayerProven);
        }
        // The best of those that are left.
        return std::ranges::none_of(sources_, [&](const Source& other) {
            return other.section == source.section && other.is_flowing(now) &&
                   other.pixels() > source.pixels();
        });
    }();
    if (!wanted) {
        return;
    }
    if (!key) {
        source.key_frames.request();
        return;
    }
    if (main != nullptr) {
        stats_.main_changes++;
    } else {
        main_since_ = now;
    }
    main_layer_ = source.layer;
    for (Source& each : sources_) {
        each.config_role = Source::Role::kNone;  // another one's is in force for everybody
    }
}

void RtcPublisher::describe(const Source& source) {
    media::Description description;
    const Source* main = main_source();
    description.width = main ? main->width : source.width;
    description.height = main ? main->height : source.height;
    for (const std::string& rid : source.section->rids) {
        media::Layer& layer = description.layers.emplace_back();
        layer.name = rid;
        for (const Source& of : sources_) {
            if (of.section == source.section && of.section->rids[of.layer] == rid) {
                layer.width = of.width;
                layer.height = of.height;
            }
        }
    }
    stream_.describe(publisher_, std::move(description));
}

void RtcPublisher::request_key_frame() {
    for (Source& source : sources_) {
        if (source.section->kind == TrackKind::kVideo &&
            (!main_layer_ || main_layer_ == source.layer)) {
            source.key_frames.request();
        }
    }
}

void RtcPublisher::request_key_frame_of(uint8_t layer) {
    for (Source& source : sources_) {
        if (source.section->kind == TrackKind::kVideo && source.layer == layer) {
            source.key_frames.request();
        }
    }
}

std::vector<RtcLayerStats> RtcPublisher::layers(MonoTime now) const {
    std::vector<RtcLayerStats> all;
    for (const Section& section : sections_) {
        for (size_t layer = 0; layer < section.rids.size(); layer++) {
            RtcLayerStats& one = all.emplace_back();
            one.name = section.rids[layer];
            one.main = main_layer_ == layer;
            for (const Source& source : sources_) {
                if (source.section == &section && source.layer == layer) {
                    one.ssrc = source.ssrc;
                    one.width = source.width;
                    one.height = source.height;
                    one.flowing = source.is_flowing(now);
                    one.bits_per_second = one.flowing ? source.bits_per_second : 0;
                    one.frame_rate = one.flowing ? source.frame_rate : 0;
                }
            }
        }
    }
    return all;
}

// ---- sound ----

// Only while somebody needs it: sound in AAC, for players of other protocols. Whoever comes first
// begins at a key frame that is older, and so may those who come after: the sound since then is
// made as well.
void RtcPublisher::bridge(const media::PacketRef& packet, Codec codec) {
    if (options_.workers == nullptr || !stream_.has_audience(media::Audience::kFlv)) {
        bridge_.reset();
        return;
    }
    if (!bridge_) {
        transcode::AudioOptions options;
        options.from = codec;
        options.to = Codec::kAac;
        options.bits_per_second = options_.aac_bits_per_second;
        bridge_ = std::make_unique<AudioBridge>(
            *options_.workers, options, stream_.key().to_string(),
            [this](ByteSpan frame, int64_t time_us) { publish_aac(frame, false, time_us / 1000); });
        const std::vector<media::PacketRef> made = stream_.kept_audio(media::Audience::kFlv);
        for (const media::PacketRef& kept : stream_.kept_audio(media::Audience::kWebRtc)) {
            const bool is_made = !made.empty() && kept->time_ms() <= made.back()->time_ms();
            if (!is_made && kept != packet) {
                bridge_->push(kept);
            }
        }
    }
    bridge_->push(packet);
}

void RtcPublisher::publish_aac(ByteSpan frame, bool config, int64_t time_ms) {
    media::PacketInfo info = track_info(TrackKind::kAudio, Codec::kAac);
    info.config = config;
    info.audience = media::Audience::kFlv;
    if (auto packet = flv::make_packet(info, time_ms, frame)) {
        stream_.publish_derived(publisher_, std::move(packet), MonoClock::now());
    }
}

void RtcPublisher::publish_config(MonoTime now,
                                  const Source& source,
                                  ByteSpan config,
                                  int64_t time_ms) {
    media::PacketInfo info = info_of(source);
    info.config = true;
    publish(now, flv::make_packet(info, time_ms, config));
}

media::PacketInfo RtcPublisher::info_of(const Source& source) const {
    media::PacketInfo info = track_info(source.section->kind, source.section->codec);
    info.layer = source.layer;
    if (info.kind == TrackKind::kAudio) {
        info.audience = media::Audience::kWebRtc;
    } else if (main_layer_ != source.layer) {
        info.audience = media::Audience::kWebRtc;
        info.track_id = static_cast<uint8_t>(source.layer + 1);
    }
    return info;
}

// The packet as it is in the stream, or nothing.
media::PacketRef RtcPublisher::publish(MonoTime now, Ref<media::MediaPacket> packet) {
    if (!packet) {
        stats_.dropped_frames++;
        return {};
    }
    if (packet->info().track_id != 0) {  // a layer for WebRTC players alone
        packet->set_time_ms(packet->time_ms() + shift_ms_);
        stream_.publish_derived(publisher_, packet, now);
        return packet;
    }
    const int64_t time_ms = packet->time_ms();
    stream_.publish(publisher_, packet, now);
    if (!packet->info().config) {
        shift_ms_ = packet->time_ms() - time_ms;
    }
    return packet;
}

void RtcPublisher::on_rtcp(MonoTime now, const rtcp::PacketView& packet) {
    if (const auto report = rtcp::parse_sender_report(packet)) {
        for (Source& source : sources_) {
            if (source.ssrc == report->ssrc) {
                source.receiver->handle_sender_report(now, report->ntp_time);
                clock_.on_sender_report(source.clock_track, report->ntp_time, report->rtp_time);
            }
        }
    }
}

void RtcPublisher::handle_timeout(MonoTime now) {
    for (Source& source : sources_) {
        source.receiver->handle_timeout(now);
        drain(now, source);
    }
}

std::optional<MonoTime> RtcPublisher::next_timeout() const {
    std::optional<MonoTime> due = next_report_;
    const auto sooner = [&due](const std::optional<MonoTime>& other) {
        if (other && (!due || *other < *due)) {
            due = other;
        }
    };
    for (const Source& source : sources_) {
        sooner(source.receiver->next_timeout());
        if (asks_for_key(source)) {
            sooner(source.key_frames.next_timeout());
        }
    }
    if (twcc_) {
        sooner(twcc_->next_timeout());
    }
    if (remb_) {
        sooner(remb_->next_timeout());
    }
    return due;
}

bool RtcPublisher::write_reports(MonoTime now, rtcp::CompoundWriter& writer) {
    if (now < next_report_) {
        return false;
    }
    next_report_ = now + (sources_.empty() ? kFirstReport : kReportInterval);
    std::array<rtcp::ReportBlock, kMaxSources> blocks;
    size_t count = 0;
    for (Source& source : sources_) {
        if (source.receiver->report(now, blocks[count])) {
            count++;
        }
    }
    return count > 0 && writer.receiver_report(options_.local_ssrc, {blocks.data(), count}) &&
           writer.source_description(options_.local_ssrc, "weir");
}

// Layers that nobody needs, or that have stopped, are not asked; key frames from time to time are
// for those who cannot ask, who get the main layer.
bool RtcPublisher::asks_for_key(const Source& source) const {
    return source.section->kind == TrackKind::kVideo &&
           (!main_layer_ || main_layer_ == source.layer ||
            (source.key_frames.wanted() && source.is_flowing(last_media_)));
}

size_t RtcPublisher::poll_transmit(MonoTime now, std::span<uint8_t> out) {
    rtcp::CompoundWriter writer(out);
    write_reports(now, writer);
    for (Source& source : sources_) {
        source.receiver->poll_transmit(options_.local_ssrc, writer);
    }
    if (twcc_) {
        twcc_->poll_transmit(now, options_.local_ssrc, writer);
    }
    if (remb_) {
        if (const std::optional<int64_t> bps = remb_->poll(now)) {
            std::array<uint32_t, kMaxSources> ssrcs;
            size_t count = 0;
            for (const Source& source : sources_) {
                ssrcs[count++] = source.ssrc;
            }
            writer.bitrate_limit(options_.local_ssrc, static_cast<uint64_t>(*bps),
                                 {ssrcs.data(), count});
        }
    }
    for (Source& source : sources_) {
        if (!asks_for_key(source) || !source.key_frames.poll(now)) {
            continue;
        }
        stats_.key_requests++;
        if (wants_fir_) {
            writer.full_intra_request(options_.local_ssrc, {source.ssrc, fir_sequence_++});
        } else {
            writer.picture_loss({options_.local_ssrc, source.ssrc});
        }
    }
    return writer.size();
}

size_t RtcPublisher::heap_bytes() const {
    size_t bytes = sections_.capacity() * sizeof(Section) + sources_.capacity() * sizeof(Source);
    for (const Section& section : sections_) {
        bytes += section.ssrcs.capacity() * sizeof(sdp::RemoteSsrc);
    }
    return bytes + sources_.size() * (sizeof(rtp::Receiver) + sizeof(rtp::Depacketizer));
}

rtp::ReceiverCounters RtcPublisher::counters() const {
    rtp::ReceiverCounters sum;
    for (const Source& source : sources_) {
        const rtp::ReceiverCounters& one = source.receiver->counters();
        sum.packets += one.packets;
        sum.bytes += one.bytes;
        sum.retransmitted += one.retransmitted;
        sum.recovered += one.recovered;
        sum.lost += one.lost;
        sum.late += one.late;
        sum.duplicates += one.duplicates;
        sum.malformed += one.malformed;
    }
    return sum;
}

}  // namespace weir::session
