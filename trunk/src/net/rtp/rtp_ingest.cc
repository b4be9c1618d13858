#include "net/rtp/rtp_ingest.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "media/avc.h"
#include "media/hevc.h"
#include "media/opus.h"
#include "proto/flv/metadata.h"
#include "proto/flv/packet_maker.h"
#include "proto/rtp/payload_ts.h"

namespace weir::net {
namespace {

using media::Codec;
using media::TrackKind;

constexpr Micros kReportInterval{1'000'000};
constexpr Micros kFirstReport{200'000};
// Packets of a source that another one has replaced are late ones for so long.
constexpr Micros kRetiredFor{2'000'000};

media::PacketInfo track_info(const RtpIngestTrack& track) {
    media::PacketInfo info;
    info.kind = track.kind;
    info.codec = track.codec;
    info.track_id = track.number;
    info.multitrack = track.number != 0;
    return info;
}

bool may_have_b_frames(Codec codec) {
    return codec == Codec::kH264 || codec == Codec::kHevc;
}

// How many frames may come before one that is shown earlier, as the configuration says.
std::optional<size_t> reorder_depth(Codec codec, ByteSpan config) {
    if (codec == Codec::kH264) {
        const auto record = media::avc::ConfigView::parse(config);
        const auto sps = record ? media::avc::parse_sps(record->sps()) : std::nullopt;
        return sps ? sps->max_reorder_frames : std::nullopt;
    }
    const auto record = media::hevc::ConfigView::parse(config);
    const auto sps = record ? media::hevc::parse_sps(record->sps()) : std::nullopt;
    return sps ? std::optional<size_t>(sps->max_reorder_pictures) : std::nullopt;
}

}  // namespace

RtpIngest::RtpIngest(stream::Stream& stream,
                     const stream::Publisher& publisher,
                     std::vector<RtpIngestTrack> tracks,
                     const RtpIngestOptions& options)
    : stream_(stream), publisher_(publisher), options_(options), last_media_(MonoClock::now()) {
    WEIR_CHECK(tracks.size() <= kMaxTracks);
    for (RtpIngestTrack& track : tracks) {
        WEIR_CHECK(track.number < audio_begun_.size());
        tracks_.push_back({std::move(track), {}, {}});
    }
    sources_.reserve(kMaxSources);
    // A transport stream has a clock of its own, which is related to no wall clock.
    const bool has_clock = std::ranges::any_of(
        tracks_, [](const Track& each) { return !each.setup.transport_stream; });
    if (stream::PublisherClock* const clock = stream_.clock_of(publisher_); clock && has_clock) {
        clock->await(stream_.live_since());
    }
}

RtpIngest::~RtpIngest() = default;

// ---- packets ----

std::unique_ptr<RtpIngest::Source> RtpIngest::make_source(const rtp::ReceiverOptions& options) {
    return std::make_unique<Source>(options);
}

RtpIngest::Source* RtpIngest::add_source(
    MonoTime now, size_t index, uint32_t ssrc, uint32_t rtx_ssrc, uint8_t layer) {
    if (sources_.size() == kMaxSources) {
        return nullptr;
    }
    Track& track = tracks_[index];
    // A publisher that changes its SSRC goes on in the same track and layer; the old source is
    // over.
    std::optional<size_t> clock_track;
    std::erase_if(sources_, [&](const std::unique_ptr<Source>& source) {
        if (source->track != index || source->layer != layer || source->ssrc == ssrc) {
            return false;
        }
        track.retired_ssrc = source->ssrc;
        track.retired_at = now;
        clock_track = source->clock_track;
        clock_.restart(source->clock_track);
        return true;
    });
    const RtpIngestTrack& setup = track.setup;
    rtp::ReceiverOptions options;
    options.ssrc = ssrc;
    options.payload_type = setup.payload_type;
    options.clock_hz = setup.clock_hz;
    options.nack = setup.nack;
    if (rtx_ssrc != 0) {
        options.rtx_ssrc = rtx_ssrc;
    }
    Source& source = *sources_.emplace_back(make_source(options));
    source.track = index;
    source.ssrc = ssrc;
    source.layer = layer;
    begin_frames(source);
    const bool reordered = is_video(source) && !options_.b_frames;
    source.clock_track =
        clock_track ? *clock_track : clock_.add_track(setup.clock_hz, !is_video(source), reordered);
    const auto early = std::ranges::find_if(early_, [&](const ReportedTime& each) {
        return each.track ? each.track == index : each.ssrc == ssrc;
    });
    if (early != early_.end()) {
        take_report(now, source, *early);
        early_.erase(early);
    }
    return &source;
}

// Makes what turns its payloads into frames.
void RtpIngest::begin_frames(Source& source) {
    const RtpIngestTrack& track = setup(source);
    if (track.transport_stream) {
        TsOutput& output = *this;
        source.transport_stream = std::make_unique<TsIngest>(output);
        return;
    }
    if (is_video(source) && options_.b_frames && may_have_b_frames(track.codec)) {
        source.reorder = std::make_unique<Reorder>(Reorder{{}, media::DecodeTimes(track.clock_hz)});
    }
    source.front = flv::body_header_size(track_info(track), source.reorder != nullptr).value_or(0);
    source.depacketizer = rtp::make_depacketizer(track.codec, source.front, track.parameters);
    WEIR_CHECK(source.depacketizer != nullptr);
    for (const Bytes& nal : track.parameter_sets) {
        source.depacketizer->add_parameter_set(nal);
    }
    if (is_video(source) && options_.doubt_markers) {
        source.depacketizer->hold_first_frame();
    }
}

// Whose RTX stream it is, where the description did not name it.
RtpIngest::Source* RtpIngest::find_repaired(size_t track, const rtp::PacketView&) {
    for (const std::unique_ptr<Source>& source : sources_) {
        if (source->track == track && !source->receiver.options().rtx_ssrc) {
            return source.get();
        }
    }
    return nullptr;
}

RtpIngest::Source* RtpIngest::find_new_source(MonoTime now,
                                              size_t track,
                                              const rtp::PacketView& packet) {
    const std::vector<RtpIngestTrack::Ssrc>& ssrcs = tracks_[track].setup.ssrcs;
    const auto named = std::ranges::find(ssrcs, packet.ssrc(), &RtpIngestTrack::Ssrc::ssrc);
    return add_source(now, track, packet.ssrc(), named == ssrcs.end() ? 0 : named->rtx_ssrc, 0);
}

RtpIngest::Source* RtpIngest::find_source(MonoTime now,
                                          const rtp::PacketView& packet,
                                          std::optional<size_t> only) {
    for (const std::unique_ptr<Source>& source : sources_) {
        if ((!only || source->track == *only) &&
            (source->ssrc == packet.ssrc() ||
             source->receiver.options().rtx_ssrc == packet.ssrc())) {
            return source.get();
        }
    }
    for (size_t index = 0; index < tracks_.size(); index++) {
        const Track& track = tracks_[index];
        if (only && index != *only) {
            continue;
        }
        if (track.setup.payload_type == packet.payload_type()) {
            if (track.retired_ssrc == packet.ssrc() && now - track.retired_at < kRetiredFor) {
                return nullptr;  // a late one
            }
            return find_new_source(now, index, packet);
        }
        if (track.setup.rtx_payload_type == packet.payload_type()) {
            if (Source* source = find_repaired(index, packet)) {
                source->receiver.set_rtx_ssrc(packet.ssrc());
                return source;
            }
        }
    }
    return nullptr;
}

void RtpIngest::on_rtp(MonoTime now, ByteSpan bytes, std::optional<size_t> track) {
    const std::optional<rtp::PacketView> packet = rtp::PacketView::parse(bytes);
    if (!packet) {
        stats_.unknown_packets++;
        return;
    }
    take_packet(now, *packet, bytes, track);
}

void RtpIngest::take_packet(MonoTime now,
                            const rtp::PacketView& packet,
                            ByteSpan bytes,
                            std::optional<size_t> track) {
    Source* source = find_source(now, packet, track);
    if (source == nullptr) {
        stats_.unknown_packets++;
        return;
    }
    source->receiver.handle_packet(now, bytes);
    drain(now, *source);
}

void RtpIngest::drain(MonoTime now, Source& source) {
    rtp::ReceiverEvent event;
    while (source.receiver.poll_event(event)) {
        switch (event.kind) {
            case rtp::ReceiverEvent::Kind::kLost: source.gap = true; break;
            case rtp::ReceiverEvent::Kind::kRestarted:
                source.gap = true;
                source.still_clock = {};
                restart_clock(source);
                break;
            case rtp::ReceiverEvent::Kind::kPacket:
                last_media_ = now;
                take_payload(now, source, event);
                break;
        }
    }
}

void RtpIngest::take_payload(MonoTime now, Source& source, const rtp::ReceiverEvent& event) {
    if (source.transport_stream) {
        take_transport_packets(event.arrival, source, event.packet.payload());
        return;
    }
    watch_clock(source, event.packet, event.arrival);
    const rtp::PayloadInfo info{event.packet.timestamp(), event.packet.marker(),
                                std::exchange(source.gap, false)};
    if (source.depacketizer->feed(event.packet.payload(), info) != rtp::FeedStatus::kTaken &&
        is_video(source)) {
        on_broken_video(source);
    }
    for (rtp::Frame frame; source.depacketizer->next(frame);) {
        // One that this packet ended by its time came with the packet before.
        const bool before = is_video(source) && frame.rtp_time != info.rtp_time;
        take_frame(now, source, frame, before ? source.last_arrival : event.arrival);
    }
    source.last_arrival = event.arrival;
}

void RtpIngest::give_held(MonoTime now, Source& source) {
    if (!source.depacketizer || !source.depacketizer->holds_frame() ||
        now < source.last_arrival + kMaxHeld) {
        return;
    }
    source.depacketizer->flush();
    for (rtp::Frame frame; source.depacketizer->next(frame);) {
        take_frame(now, source, frame, source.last_arrival);
    }
}

// ---- transport streams (RFC 2250 §2) ----

// Its clock is that of the programme: the RTP times, of sending, say no more than the arrivals.
void RtpIngest::take_transport_packets(MonoTime now, Source& source, ByteSpan payload) {
    if (std::exchange(source.gap, false)) {
        source.transport_stream->lose();
    }
    const std::optional<ByteSpan> packets = rtp::transport_packets(payload);
    if (!packets) {
        stats_.dropped_frames++;
        return;
    }
    const uint64_t dropped = source.transport_stream->stats().dropped_frames;
    Error failed = source.transport_stream->feed(now, *packets);
    const uint64_t broken = failed ? 1 : 0;  // three packets that begin as others than they are
    stats_.dropped_frames += source.transport_stream->stats().dropped_frames - dropped + broken;
}

void RtpIngest::on_ts_packet(MonoTime now, Ref<media::MediaPacket> packet) {
    stats_.frames += packet->info().config || packet->info().metadata ? 0U : 1U;
    publish(now, std::move(packet));
}

void RtpIngest::on_ts_description(media::Description description) {
    stream_.describe(publisher_, std::move(description));
}

// ---- frames ----

void RtpIngest::restart_clock(Source& source) {
    clock_.restart(source.clock_track);
    if (source.reorder) {
        source.reorder->unwrapper.reset();
        source.reorder->times.clear();
    }
}

void RtpIngest::watch_clock(Source& source, const rtp::PacketView& packet, MonoTime arrival) {
    StillClock& clock = source.still_clock;
    if (clock.time != packet.timestamp()) {
        if (clock.still) {
            restart_clock(source);
        }
        clock = {packet.timestamp(), arrival, 0, false};
    }
    // The packets of one frame of video have the same time, and the last one the marker.
    clock.count += !is_video(source) || packet.marker() ? 1U : 0U;
    if (!clock.still && clock.count >= kStillCount && arrival - clock.since >= kStillFor) {
        clock.still = true;
        restart_clock(source);
    }
}

// A picture of H.264 that has no B slices is not shown before one that came earlier. Of HEVC the
// encoder always names how many are (sps_max_num_reorder_pics).
bool RtpIngest::may_be_reordered(const Source& source, const rtp::Frame& frame) const {
    constexpr size_t kLengthSize = 4;
    return setup(source).codec != Codec::kH264 ||
           media::avc::inspect_frame(ByteSpan(frame.data).subspan(source.front), kLengthSize)
               .bidirectional;
}

RtpIngest::FrameTimes RtpIngest::times_of(Source& source,
                                          const rtp::Frame& frame,
                                          MonoTime arrival) {
    uint32_t rtp_time = frame.rtp_time;
    int64_t ahead = 0;  // of presentation before decoding
    if (source.still_clock.still) {
        const int64_t ticks =
            arrival.time_since_epoch().count() * setup(source).clock_hz / 1'000'000;
        rtp_time += static_cast<uint32_t>(ticks);  // frames of one packet are apart
    } else if (source.reorder) {
        const int64_t shown = source.reorder->unwrapper.unwrap(frame.rtp_time);
        const int64_t decoded = source.reorder->times.next(shown, may_be_reordered(source, frame));
        rtp_time = static_cast<uint32_t>(decoded);
        ahead = shown - decoded;
    }
    const Micros time = clock_.map(source.clock_track, rtp_time, arrival);
    note_wall_clock(time, arrival);
    const int64_t ahead_us = ahead * 1'000'000 / setup(source).clock_hz;
    int64_t decoded_ms = time.count() / 1000;
    if (is_video(source)) {
        // Encoders repeat a picture when they are asked for one, less than a millisecond later.
        if (decoded_ms <= source.last_ms && source.last_ms - decoded_ms < kMaxPushedMs) {
            decoded_ms = source.last_ms + 1;
        }
        source.last_ms = decoded_ms;
    }
    // Of the sum, so that times of presentation are as even as they came.
    const int64_t shown_ms = (time.count() + ahead_us) / 1000;
    return {decoded_ms, static_cast<int32_t>(std::max(shown_ms - decoded_ms, int64_t{0}))};
}

// With a frame: before the first one no report can be related to the stream. That of an earlier
// time is the same line: RTP times and NTP times are both of presentation.
void RtpIngest::note_wall_clock(Micros time, MonoTime arrival) {
    const std::optional<Micros> offset = wall_clock_news_ ? clock_.wall_offset() : std::nullopt;
    if (!offset) {
        return;
    }
    wall_clock_news_ = false;
    stream::PublisherClock* const clock = stream_.clock_of(publisher_);
    if (!clock) {
        return;
    }
    const auto news =
        clock->take({time.count(), (time + *offset).count(), wall_time_us(arrival)}, arrival);
    stream::log_publisher_clock(stream_.key(), *clock, news);
}

void RtpIngest::take_frame(MonoTime now, Source& source, rtp::Frame& frame, MonoTime arrival) {
    if (is_video(source) && !frame.config.empty()) {
        source.config = std::move(frame.config);
        source.config_published = false;
        source.width = frame.width;
        source.height = frame.height;
        const auto depth = reorder_depth(setup(source).codec, source.config);
        if (source.reorder && depth) {
            source.reorder->times.set_depth(*depth);
        }
    }
    const FrameTimes times = times_of(source, frame, arrival);
    if (is_video(source)) {
        if (!take_video(now, source, frame, times.decoded_ms)) {
            return;
        }
        first_video_ms_ = first_video_ms_.value_or(times.decoded_ms);
    } else if (!may_begin_audio(now, setup(source).number, times.decoded_ms)) {
        // Its configuration is kept, as it is not sent again.
        if (!frame.config.empty()) {
            source.config = std::move(frame.config);
        }
        return;
    } else if (!frame.config.empty() || !source.config.empty()) {
        audio_begun_[setup(source).number] = true;
        const Bytes kept = std::exchange(source.config, {});
        publish_config(now, source, frame.config.empty() ? kept : frame.config, times.decoded_ms);
    } else if (!std::exchange(audio_begun_[setup(source).number], true)) {
        begin_audio(now, source, times.decoded_ms);
    }
    stats_.frames++;
    media::PacketInfo info = info_of(source);
    info.key = frame.key && is_video(source);
    info.composition_ms = times.composition_ms;
    const media::PacketRef packet =
        publish(now, flv::make_packet(info, times.decoded_ms, std::move(frame.data), source.front));
    if (packet && !is_video(source)) {
        on_audio_frame(source, packet);
    }
    name_tracks(now, times.decoded_ms);
}

// A transport stream does it itself.
void RtpIngest::name_tracks(MonoTime now, int64_t time_ms) {
    if (!std::exchange(named_tracks_, true) && !stream_.description().audio_tracks.empty()) {
        publish(now, flv::make_metadata(stream_.description(), time_ms));
    }
}

// What is older than the first picture does not: times of its track would not rise.
bool RtpIngest::may_begin_audio(MonoTime now, uint8_t number, int64_t time_ms) {
    if (audio_begun_[number]) {
        return true;
    }
    if (time_ms < first_video_ms_.value_or(time_ms)) {
        return false;
    }
    if (number == 0 || audio_begun_[0]) {
        return true;
    }
    first_more_audio_ = first_more_audio_.value_or(now);
    return now - *first_more_audio_ >= kDefaultAudioWait;
}

bool RtpIngest::take_video(MonoTime now, Source& source, const rtp::Frame& frame, int64_t time_ms) {
    if (frame.key) {
        source.awaits_key = false;
    } else if (frame.after_loss) {
        source.awaits_key = true;
    }
    if (source.awaits_key) {
        stats_.dropped_frames++;
        return false;
    }
    if (!source.config_published) {
        source.config_published = true;
        publish_config(now, source, source.config, time_ms);
        media::Description description = stream_.description();
        description.width = source.width;
        description.height = source.height;
        stream_.describe(publisher_, std::move(description));
    }
    return true;
}

void RtpIngest::begin_audio(MonoTime now, const Source& source, int64_t time_ms) {
    const RtpIngestTrack& track = setup(source);
    if (!track.config.empty()) {
        publish_config(now, source, track.config, time_ms);
    } else if (track.codec == Codec::kOpus) {
        publish_config(now, source, media::opus::build_head(track.channels), time_ms);
    }
}

media::PacketInfo RtpIngest::info_of(const Source& source) const {
    media::PacketInfo info = track_info(setup(source));
    info.layer = source.layer;
    if (info.kind == TrackKind::kAudio) {
        info.audience = options_.audio_audience;
    }
    return info;
}

void RtpIngest::publish_config(MonoTime now,
                               const Source& source,
                               ByteSpan config,
                               int64_t time_ms) {
    media::PacketInfo info = info_of(source);
    info.config = true;
    publish(now, flv::make_packet(info, time_ms, config));
}

media::PacketRef RtpIngest::publish(MonoTime now, Ref<media::MediaPacket> packet) {
    if (!packet) {
        stats_.dropped_frames++;
        return {};
    }
    stream_.publish(publisher_, packet, now);
    return packet;
}

// ---- reports ----

void RtpIngest::on_rtcp(MonoTime now, const rtcp::PacketView& packet, std::optional<size_t> track) {
    const auto report = rtcp::parse_sender_report(packet);
    if (!report) {
        return;
    }
    const ReportedTime said{report->ssrc, report->ntp_time, report->rtp_time, track};
    if (Source* source = find_reported(said)) {
        take_report(now, *source, said);
    } else {
        keep_early(said);
    }
}

// Cameras write 0, another byte order or one SSRC for all tracks: where a track has a channel or
// port of its own, that tells. Of several sources of a track, which only come with layers, the
// SSRC.
RtpIngest::Source* RtpIngest::find_reported(const ReportedTime& report) const {
    Source* found = nullptr;
    for (const std::unique_ptr<Source>& source : sources_) {
        const bool same_track = !report.track || source->track == *report.track;
        if (same_track && source->ssrc == report.ssrc) {
            return source.get();
        }
        if (report.track && same_track) {
            found = source.get();
        }
    }
    return found;
}

// Senders report before their first packet, so that audio and video are in step from the beginning.
void RtpIngest::keep_early(const ReportedTime& report) {
    std::erase_if(early_, [&](const ReportedTime& each) {
        return each.track == report.track && (report.track || each.ssrc == report.ssrc);
    });
    if (early_.size() == kMaxEarlyReports) {
        early_.erase(early_.begin());
    }
    early_.reserve(kMaxEarlyReports);
    early_.push_back(report);
}

void RtpIngest::take_report(MonoTime now, Source& source, const ReportedTime& report) {
    source.receiver.handle_sender_report(now, report.ntp_time);
    if (!source.still_clock.still) {
        clock_.on_sender_report(source.clock_track, report.ntp_time, report.rtp_time);
        wall_clock_news_ = true;
    }
}

void RtpIngest::handle_timeout(MonoTime now) {
    for (const std::unique_ptr<Source>& source : sources_) {
        source->receiver.handle_timeout(now);
        drain(now, *source);
        give_held(now, *source);
    }
}

std::optional<MonoTime> RtpIngest::next_timeout() const {
    MonoTime due = next_report_;
    for (const std::unique_ptr<Source>& source : sources_) {
        due = std::min(due, source->receiver.next_timeout().value_or(due));
        if (source->depacketizer && source->depacketizer->holds_frame()) {
            due = std::min(due, source->last_arrival + kMaxHeld);
        }
    }
    return due;
}

bool RtpIngest::write_reports(MonoTime now, rtcp::CompoundWriter& writer) {
    if (now < next_report_) {
        return false;
    }
    next_report_ = now + (sources_.empty() ? kFirstReport : kReportInterval);
    std::array<rtcp::ReportBlock, kMaxSources> blocks;
    size_t count = 0;
    for (const std::unique_ptr<Source>& source : sources_) {
        if (source->receiver.report(now, blocks[count])) {
            count++;
        }
    }
    return count > 0 && writer.receiver_report(options_.local_ssrc, {blocks.data(), count}) &&
           writer.source_description(options_.local_ssrc, "weir");
}

void RtpIngest::write_feedback(MonoTime now, rtcp::CompoundWriter& writer) {
    write_reports(now, writer);
    for (const std::unique_ptr<Source>& source : sources_) {
        source->receiver.poll_transmit(options_.local_ssrc, writer);
    }
}

size_t RtpIngest::poll_transmit(MonoTime now, std::span<uint8_t> out) {
    rtcp::CompoundWriter writer(out);
    write_feedback(now, writer);
    return writer.size();
}

size_t RtpIngest::heap_bytes() const {
    size_t bytes = tracks_.capacity() * sizeof(Track) + sources_.capacity() * sizeof(void*) +
                   early_.capacity() * sizeof(ReportedTime);
    for (const Track& track : tracks_) {
        bytes += track.setup.ssrcs.capacity() * sizeof(RtpIngestTrack::Ssrc);
    }
    for (const std::unique_ptr<Source>& source : sources_) {
        bytes += sizeof(Source) + (source->reorder ? sizeof(Reorder) : 0) +
                 (source->transport_stream ? source->transport_stream->bytes()
                                           : sizeof(rtp::Depacketizer));
    }
    return bytes;
}

rtp::ReceiverCounters RtpIngest::counters() const {
    rtp::ReceiverCounters sum;
    for (const std::unique_ptr<Source>& source : sources_) {
        const rtp::ReceiverCounters& one = source->receiver.counters();
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

}  // namespace weir::net
