#include "net/ts/ts_muxer.h"

#include "stream/stream.h"

namespace weir::net {
namespace {

using media::TrackKind;

constexpr int64_t kTicksPerMs = mpegts::kClockHz / 1000;

bool is_frame(const media::PacketInfo& info) {
    return info.kind != TrackKind::kData && !info.config && !info.metadata && !info.end;
}

}  // namespace

void TsMuxer::on_attach(const stream::Stream& stream) {
    stream_ = &stream;
    tracks_[kAudio].id = stream.default_audio();
}

// The track that a packet is of; null: of one that is not carried.
TsMuxer::Track* TsMuxer::track_of(const media::PacketInfo& info) {
    if (info.kind == TrackKind::kData || info.metadata || info.end) {
        return nullptr;
    }
    Track& track = tracks_[info.kind == TrackKind::kVideo ? kVideo : kAudio];
    if (!track.id && stream_ != nullptr && info.kind == TrackKind::kAudio) {
        track.id = stream_->default_audio();
    }
    track.id = track.id.value_or(info.track_id);
    if (*track.id != info.track_id) {
        return nullptr;
    }
    if (!track.frames || track.frames->codec() != info.codec) {
        track.frames.reset();
        if (mpegts::EsWriter::carries(info.codec)) {
            track.frames.emplace(info.codec);
        }
    }
    return track.frames ? &track : nullptr;
}

void TsMuxer::take_config(const media::MediaPacket& packet) {
    if (Track* const track = track_of(packet.info())) {
        track->frames->set_config(packet.payload());  // where it cannot, stream() says so
    }
}

void TsMuxer::tell_streams() {
    std::array<std::optional<mpegts::StreamInfo>, 2> streams;
    for (size_t i = 0; i < streams.size(); i++) {
        streams[i] = tracks_[i].frames ? tracks_[i].frames->stream() : std::nullopt;
    }
    writer_.set_streams(streams);
}

mpegts::Writer::Frame TsMuxer::frame_of(const media::MediaPacket& packet,
                                        std::span<const ByteSpan> parts) {
    const bool video = packet.info().kind == TrackKind::kVideo;
    const int64_t dts = packet.time_ms() * kTicksPerMs;
    return {video ? kVideo : kAudio, dts + packet.info().composition_ms * kTicksPerMs, dts,
            video && packet.info().key, parts};
}

void TsMuxer::on_packet(const media::PacketRef& packet, const stream::Configs* start) {
    const media::PacketInfo& info = packet->info();
    if (start != nullptr) {
        early_.clear();
        for (const media::PacketRef& each : *start) {
            if (each->info().config) {
                take_config(*each);
            } else if (is_frame(each->info())) {
                early_.push_back(each);
            }
        }
    }
    if (info.config) {
        take_config(*packet);
        return;
    }
    Track* const track = is_frame(info) ? track_of(info) : nullptr;
    std::span<const ByteSpan> parts;
    if (track != nullptr) {
        parts = track->frames->write(packet->payload(), info.key);
    }
    tell_streams();
    packets_.clear();
    if (start != nullptr) {
        start_ = writer_;
        start_audio_ = tracks_[kAudio];
    }
    if (!parts.empty()) {
        writer_.write(frame_of(*packet, parts), packets_);
    } else if (start != nullptr) {
        writer_.write_tables(packets_);  // players begin here whatever can be carried
    } else {
        return;
    }
    log().begin_entry(packet->time_ms(), start != nullptr, rides(*packet, start));
    log().write(packets_);
    log().end_entry();
}

void TsMuxer::front(bool moved, Bytes& out) const {
    std::vector<mpegts::EsWriter> writers;  // each has the bytes before its frame
    writers.reserve(early_.size());
    std::vector<std::vector<ByteSpan>> parts;
    std::vector<mpegts::Writer::Frame> frames;
    parts.reserve(early_.size());
    for (const media::PacketRef& packet : early_) {
        const media::PacketInfo& info = packet->info();
        if (!start_audio_.frames || info.kind != TrackKind::kAudio ||
            info.codec != start_audio_.frames->codec() || info.track_id != start_audio_.id ||
            !start_.has_stream(kAudio)) {
            continue;
        }
        const auto written =
            writers.emplace_back(*start_audio_.frames).write(packet->payload(), false);
        if (!written.empty()) {
            parts.emplace_back(written.begin(), written.end());
            frames.push_back(frame_of(*packet, parts.back()));
        }
    }
    start_.write_beginning(frames, moved, out);
}

}  // namespace weir::net
