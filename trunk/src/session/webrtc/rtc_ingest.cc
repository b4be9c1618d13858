#include "session/webrtc/rtc_ingest.h"

#include <algorithm>
#include <array>

#include "proto/rtp/header.h"

namespace weir::session {
namespace {

using media::TrackKind;

std::vector<const sdp::NegotiatedMedia*> in_use(const sdp::Answer& answer) {
    std::vector<const sdp::NegotiatedMedia*> all;
    for (const sdp::NegotiatedMedia& media : answer.media) {
        if (media.in_use()) {
            all.push_back(&media);
        }
    }
    return all;
}

std::vector<net::RtpIngestTrack> tracks_of(const std::vector<const sdp::NegotiatedMedia*>& media) {
    std::vector<net::RtpIngestTrack> tracks;
    for (const sdp::NegotiatedMedia* each : media) {
        net::RtpIngestTrack& track = tracks.emplace_back();
        track.kind = each->kind;
        track.codec = each->codec;
        track.payload_type = each->payload_type;
        track.rtx_payload_type = each->rtx_payload_type;
        track.clock_hz = each->clock_hz;
        track.nack = each->feedback.nack;
        for (const sdp::RemoteSsrc& remote : each->remote_ssrcs) {
            track.ssrcs.push_back({remote.ssrc, remote.rtx_ssrc});
        }
    }
    return tracks;
}

// Who sends simulcast is a browser, whose markers are right.
net::RtpIngestOptions ingest_options(const std::vector<const sdp::NegotiatedMedia*>& media,
                                     const RtcIngestOptions& options) {
    net::RtpIngestOptions plain;
    plain.local_ssrc = options.local_ssrc;
    plain.audio_audience = media::Audience::kWebRtc;
    plain.doubt_markers = std::ranges::all_of(
        media, [](const sdp::NegotiatedMedia* each) { return each->rids.empty(); });
    return plain;
}

}  // namespace

struct RtcIngest::RtcSource final : Source {
    enum class Role : uint8_t { kNone, kMain, kOther };

    RtcSource(const rtp::ReceiverOptions& options, Micros key_frame_interval)
        : Source(options), key_frames({.period = key_frame_interval}) {}

    bool is_flowing(MonoTime now) const {
        return last_frame != MonoTime{} && now - last_frame < kLayerGone;
    }

    uint64_t pixels() const { return uint64_t{width} * height; }

    void measure(MonoTime now, size_t bytes);

    Role config_role = Role::kNone;  // as which its configuration was published last
    rtp::KeyFrameRequester key_frames;
    MonoTime flowing_since{};
    MonoTime last_frame{};
    // Of about the last second.
    MonoTime measured_since{};
    uint64_t measured_bytes = 0;
    uint64_t measured_frames = 0;
    int64_t bits_per_second = 0;
    double frame_rate = 0;
};

void RtcIngest::RtcSource::measure(MonoTime now, size_t bytes) {
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

RtcIngest::RtcIngest(stream::Stream& stream,
                     const stream::Publisher& publisher,
                     const sdp::Answer& answer,
                     const RtcIngestOptions& options)
    : RtcIngest(stream, publisher, in_use(answer), options) {}

RtcIngest::RtcIngest(stream::Stream& stream,
                     const stream::Publisher& publisher,
                     const std::vector<const sdp::NegotiatedMedia*>& media,
                     const RtcIngestOptions& options)
    : RtpIngest(stream, publisher, tracks_of(media), ingest_options(media, options)),
      rtc_options_(options) {
    bool remb = false;
    bool twcc = false;
    for (const sdp::NegotiatedMedia* each : media) {
        Section& section = sections_.emplace_back();
        section.abs_send_time_id = each->extensions[sdp::Extension::kAbsSendTime];
        section.rids = each->rids;
        section.rid_id = each->extensions[sdp::Extension::kRid];
        section.repaired_rid_id = each->extensions[sdp::Extension::kRepairedRid];
        if (each->feedback.transport_cc) {
            section.twcc_id = each->extensions[sdp::Extension::kTransportCc];
        }
        twcc = twcc || section.twcc_id != 0;
        remb = remb || each->feedback.remb;
        wants_fir_ = wants_fir_ ||
                     (each->kind == TrackKind::kVideo && !each->feedback.pli && each->feedback.fir);
    }
    if (twcc) {
        twcc_.emplace();
    } else if (remb) {
        remb_.emplace(rtp::RateLimits{});
    }
}

template <typename Visit>
void RtcIngest::for_each_video(Visit&& visit) const {
    for (const std::unique_ptr<Source>& source : sources()) {
        if (is_video(*source)) {
            visit(static_cast<RtcSource&>(*source));
        }
    }
}

// ---- packets ----

std::unique_ptr<RtcIngest::Source> RtcIngest::make_source(const rtp::ReceiverOptions& options) {
    auto source = std::make_unique<RtcSource>(options, rtc_options_.key_frame_interval);
    source->key_frames.request();  // of video; of audio nobody asks
    return source;
}

// Of simulcast by the header extension, which browsers send until they have heard of the SSRC from
// us.
RtcIngest::Source* RtcIngest::find_new_source(MonoTime now,
                                              size_t track,
                                              const rtp::PacketView& packet) {
    const Section& section = sections_[track];
    if (section.rids.empty()) {
        return RtpIngest::find_new_source(now, track, packet);
    }
    const auto rid = packet.extension(section.rid_id);
    if (section.rid_id == 0 || !rid) {
        return nullptr;
    }
    const auto named = std::ranges::find(section.rids, as_text(*rid));
    if (named == section.rids.end()) {
        return nullptr;
    }
    return add_source(now, track, packet.ssrc(), 0,
                      static_cast<uint8_t>(named - section.rids.begin()));
}

RtcIngest::Source* RtcIngest::find_repaired(size_t track, const rtp::PacketView& packet) {
    const Section& section = sections_[track];
    if (section.rids.empty()) {
        return RtpIngest::find_repaired(track, packet);
    }
    const auto rid =
        section.repaired_rid_id != 0 ? packet.extension(section.repaired_rid_id) : std::nullopt;
    for (const std::unique_ptr<Source>& source : sources()) {
        if (rid && source->track == track && !source->receiver.options().rtx_ssrc &&
            section.rids[source->layer] == as_text(*rid)) {
            return source.get();
        }
    }
    return nullptr;
}

void RtcIngest::note_arrival(MonoTime now, const rtp::PacketView& packet, size_t size) {
    for (size_t i = 0; i < sections_.size(); i++) {
        const net::RtpIngestTrack& track = tracks()[i].setup;
        const Section& section = sections_[i];
        if (track.payload_type != packet.payload_type() &&
            track.rtx_payload_type != packet.payload_type()) {
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

void RtcIngest::on_rtp(MonoTime now, ByteSpan bytes) {
    const std::optional<rtp::PacketView> packet = rtp::PacketView::parse(bytes);
    if (!packet) {
        count_unknown();
        return;
    }
    note_arrival(now, *packet, bytes.size());
    take_packet(now, *packet, bytes, std::nullopt);
}

// ---- video ----

bool RtcIngest::is_main(const Source& source) const {
    return main_layer_ == source.layer;
}

void RtcIngest::on_broken_video(Source& source) {
    RtpIngest::on_broken_video(source);
    if (!main_layer_ || is_main(source) || stream().has_audience(media::Audience::kWebRtc)) {
        static_cast<RtcSource&>(source).key_frames.request();
    }
}

bool RtcIngest::take_video(MonoTime now, Source& plain, const rtp::Frame& frame, int64_t time_ms) {
    auto& source = static_cast<RtcSource&>(plain);
    source.measure(now, frame.data.size());
    if (frame.key) {
        source.awaits_key = false;
        source.key_frames.on_key_frame(now);
    } else if (frame.after_loss) {
        source.awaits_key = true;
    }
    choose_main(now, source, frame.key);
    const bool main = is_main(source);
    if (!main && !stream().has_audience(media::Audience::kWebRtc)) {
        source.awaits_key = true;  // nobody needs it: begins anew when somebody does
        return false;
    }
    if (source.awaits_key) {
        source.key_frames.request();
        count_dropped();
        return false;
    }
    const RtcSource::Role role = main ? RtcSource::Role::kMain : RtcSource::Role::kOther;
    if (!source.config_published || source.config_role != role) {
        source.config_published = true;
        source.config_role = role;
        publish_config(now, source, source.config, time_ms);
        describe(source);
    }
    return true;
}

RtcIngest::RtcSource* RtcIngest::main_source() const {
    RtcSource* main = nullptr;
    for_each_video([&](RtcSource& source) {
        if (main == nullptr && is_main(source)) {
            main = &source;
        }
    });
    return main;
}

// A frame of `source` came: is it what everybody gets from here on? Only a key frame can be.
void RtcIngest::choose_main(MonoTime now, RtcSource& source, bool key) {
    const RtcSource* main = main_source();
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
        bool best = true;
        for_each_video([&](const RtcSource& other) {
            best = best && !(other.track == source.track && other.is_flowing(now) &&
                             other.pixels() > source.pixels());
        });
        return best;
    }();
    if (!wanted) {
        return;
    }
    if (!key) {
        source.key_frames.request();
        return;
    }
    if (main != nullptr) {
        main_changes_++;
    } else {
        main_since_ = now;
    }
    main_layer_ = source.layer;
    // Another one's is in force for everybody.
    for_each_video([](RtcSource& each) { each.config_role = RtcSource::Role::kNone; });
}

void RtcIngest::describe(const RtcSource& source) {
    media::Description description;
    const RtcSource* main = main_source();
    description.width = main ? main->width : source.width;
    description.height = main ? main->height : source.height;
    const std::vector<std::string>& rids = sections_[source.track].rids;
    for (size_t i = 0; i < rids.size(); i++) {
        media::Layer& layer = description.layers.emplace_back();
        layer.name = rids[i];
        for_each_video([&](const RtcSource& of) {
            if (of.track == source.track && of.layer == i) {
                layer.width = of.width;
                layer.height = of.height;
            }
        });
    }
    stream().describe(publisher(), std::move(description));
}

void RtcIngest::request_key_frame() {
    for_each_video([this](RtcSource& source) {
        if (!main_layer_ || is_main(source)) {
            source.key_frames.request();
        }
    });
}

void RtcIngest::request_key_frame_of(uint8_t layer) {
    for_each_video([layer](RtcSource& source) {
        if (source.layer == layer) {
            source.key_frames.request();
        }
    });
}

std::vector<RtcLayerStats> RtcIngest::layers(MonoTime now) const {
    std::vector<RtcLayerStats> all;
    for (size_t track = 0; track < sections_.size(); track++) {
        for (size_t layer = 0; layer < sections_[track].rids.size(); layer++) {
            RtcLayerStats& one = all.emplace_back();
            one.name = sections_[track].rids[layer];
            one.main = main_layer_ == layer;
            for_each_video([&](const RtcSource& source) {
                if (source.track == track && source.layer == layer) {
                    one.ssrc = source.ssrc;
                    one.width = source.width;
                    one.height = source.height;
                    one.flowing = source.is_flowing(now);
                    one.bits_per_second = one.flowing ? source.bits_per_second : 0;
                    one.frame_rate = one.flowing ? source.frame_rate : 0;
                }
            });
        }
    }
    return all;
}

// ---- audio ----

void RtcIngest::begin_audio(MonoTime now, const Source& source, int64_t time_ms) {
    RtpIngest::begin_audio(now, source, time_ms);
    if (rtc_options_.workers != nullptr) {
        aac_.emplace(stream(), publisher(), *rtc_options_.workers,
                     net::DerivedAacOptions{.from = setup(source).codec,
                                            .bits_per_second = rtc_options_.aac_bits_per_second});
        aac_->announce(time_ms);
    }
}

// Made only while a player needs AAC.
void RtcIngest::on_audio_frame(const Source& /*source*/, const media::PacketRef& packet) {
    if (aac_) {
        aac_->on_audio(packet);
    }
}

// ---- to the stream ----

media::PacketInfo RtcIngest::info_of(const Source& source) const {
    media::PacketInfo info = RtpIngest::info_of(source);
    if (info.kind == TrackKind::kVideo && !is_main(source)) {
        info.audience = media::Audience::kWebRtc;
        info.track_id = static_cast<uint8_t>(source.layer + 1);
    }
    return info;
}

media::PacketRef RtcIngest::publish(MonoTime now, Ref<media::MediaPacket> packet) {
    if (!packet || packet->info().track_id == 0) {
        const int64_t time_ms = packet ? packet->time_ms() : 0;
        media::PacketRef published = RtpIngest::publish(now, std::move(packet));
        // One of which the entrance has made another one was not moved to the stream's timeline.
        if (published && !published->info().config && published->time_ms() != time_ms) {
            shift_ms_ = published->time_ms() - time_ms;
        }
        return published;
    }
    packet->set_time_ms(packet->time_ms() + shift_ms_);  // a layer for WebRTC players alone
    stream().publish_derived(publisher(), packet, now);
    return packet;
}

// ---- feedback ----

// Layers that nobody needs, or that have stopped, are not asked; key frames from time to time are
// for those who cannot ask, who get the main layer. A first picture that is held may be the key
// frame.
bool RtcIngest::asks_for_key(const RtcSource& source) const {
    if (source.depacketizer->holds_frame()) {
        return false;
    }
    return !main_layer_ || is_main(source) ||
           (source.key_frames.wanted() && source.is_flowing(last_media()));
}

std::optional<MonoTime> RtcIngest::next_timeout() const {
    std::optional<MonoTime> due = RtpIngest::next_timeout();
    const auto sooner = [&due](const std::optional<MonoTime>& other) {
        if (other && (!due || *other < *due)) {
            due = other;
        }
    };
    for_each_video([&](const RtcSource& source) {
        if (asks_for_key(source)) {
            sooner(source.key_frames.next_timeout());
        }
    });
    if (twcc_) {
        sooner(twcc_->next_timeout());
    }
    if (remb_) {
        sooner(remb_->next_timeout());
    }
    return due;
}

void RtcIngest::write_estimate(MonoTime now, rtcp::CompoundWriter& writer) {
    const std::optional<int64_t> bps = remb_->poll(now);
    if (!bps) {
        return;
    }
    std::array<uint32_t, kMaxSources> ssrcs;
    size_t count = 0;
    for (const std::unique_ptr<Source>& source : sources()) {
        ssrcs[count++] = source->ssrc;
    }
    writer.bitrate_limit(options().local_ssrc, static_cast<uint64_t>(*bps), {ssrcs.data(), count});
}

size_t RtcIngest::poll_transmit(MonoTime now, std::span<uint8_t> out) {
    rtcp::CompoundWriter writer(out);
    const uint32_t local_ssrc = options().local_ssrc;
    write_feedback(now, writer);
    if (twcc_) {
        twcc_->poll_transmit(now, local_ssrc, writer);
    }
    if (remb_) {
        write_estimate(now, writer);
    }
    for_each_video([&](RtcSource& source) {
        if (!asks_for_key(source) || !source.key_frames.poll(now)) {
            return;
        }
        key_requests_++;
        if (wants_fir_) {
            writer.full_intra_request(local_ssrc, {source.ssrc, fir_sequence_++});
        } else {
            writer.picture_loss({local_ssrc, source.ssrc});
        }
    });
    return writer.size();
}

size_t RtcIngest::heap_bytes() const {
    return RtpIngest::heap_bytes() + sections_.capacity() * sizeof(Section) +
           sources().size() * (sizeof(RtcSource) - sizeof(Source));
}

}  // namespace weir::session
