#include "net/segments/part_writer.h"

#include <algorithm>

#include "proto/mp4/fragment.h"
#include "proto/rtcp/report.h"

namespace weir::net {
namespace {

using media::Codec;

constexpr int64_t kTicksPerMs = mpegts::kClockHz / 1000;

class Mp4PartWriter final : public PartWriter {
  public:
    explicit Mp4PartWriter(bool apart) : apart_(apart) {}

    bool carries(Codec codec) const override { return mp4::carries(codec); }

    Bytes begin(const PartTracks& tracks) override {
        std::vector<mp4::Track> list;
        for (size_t i = 0; i < tracks.size(); i++) {
            ids_[i] = 0;
            next_[i] = 0;
            if (tracks[i]) {
                list.push_back(tracks[i]->track);
                ids_[i] = static_cast<uint32_t>(list.size());
                timescales_[i] = std::max<uint32_t>(list.back().timescale, 1);
                if (i < track_headers_.size()) {
                    track_headers_[i] = header_of({&list.back(), 1}, ids_[i]);
                }
            }
        }
        return header_of(list, 1);
    }

    Bytes track_header(size_t place) const override {
        return ids_[place] != 0 ? track_headers_[place] : Bytes();
    }

    void set_wall_offset(std::optional<int64_t> offset_us) override { wall_offset_us_ = offset_us; }

    bool keeps_tracks_apart() const override { return apart_; }

    void fill_from(std::optional<int64_t> start_ms) override { fill_ms_ = start_ms; }

    size_t write(const PartFrames& frames, bool first, Bytes& out) override {
        std::array<std::vector<mp4::SampleView>, kPartPlaces> samples;
        std::array<mp4::RunView, kPartPlaces> runs;
        size_t bytes = 0;
        size_t count = 0;
        for (size_t i = 0; i < frames.size(); i++) {
            if (ids_[i] == 0) {
                continue;
            }
            samples[i].reserve(frames[i].size());
            for (const PartFrame& frame : frames[i]) {
                const media::PacketInfo& info = frame.packet->info();
                samples[i].push_back(
                    {.data = mp4::sample_of(info.codec, frame.packet->payload()),
                     .duration = frame.duration,
                     .composition = static_cast<int32_t>(info.composition_ms * kTicksPerMs),
                     .key = i != kPartVideo || info.key});
                bytes += samples[i].back().data.size();
                next_[i] = frame.ticks + frame.duration;
            }
            count += samples[i].size();
            runs[i] = {.track_id = ids_[i],
                       .video = i == kPartVideo,
                       .decode_time = frames[i].empty() ? 0 : frames[i].front().ticks,
                       .samples = samples[i]};
        }
        constexpr size_t kBoxes = 512;  // and those of each sample
        out.reserve(out.size() + bytes + kBoxes + 16 * count);
        if (first) {
            mp4::write_segment_type(out);
        }
        if (!apart_) {
            mp4::write_fragment(++number_, runs, out);
            return out.size();
        }
        size_t audio_at = out.size();
        for (size_t i = 0; i < runs.size(); i++) {
            audio_at = i == kPartAudio ? out.size() : audio_at;
            if (!runs[i].samples.empty()) {
                // VLC takes a fragment whose number follows the one before for the continuation of
                // that, and leaves its time unread: of another track too.
                number_ += 2;
                write_reference_time(i, runs[i], out);
                mp4::write_fragment(number_, {&runs[i], 1}, out);
            } else if (fill_ms_ && ids_[i] != 0) {
                number_ += 2;
                runs[i].decode_time = std::max(next_[i], ticks_of(*fill_ms_, timescales_[i]));
                mp4::write_empty_fragment(number_, runs[i], out);
            }
        }
        return audio_at;
    }

  private:
    void write_reference_time(size_t place, const mp4::RunView& run, Bytes& out) const {
        if (!wall_offset_us_) {
            return;
        }
        const int64_t shown =
            static_cast<int64_t>(run.decode_time) + run.samples.front().composition;
        const auto ticks = static_cast<uint64_t>(std::max<int64_t>(shown, 0));
        const uint64_t scale = timescales_[place];
        const uint64_t us = ticks / scale * 1'000'000 + ticks % scale * 1'000'000 / scale;
        const int64_t wall_us = *wall_offset_us_ + static_cast<int64_t>(us);
        mp4::write_reference_time(run.track_id, rtcp::ntp_from_unix_us(wall_us), ticks, out);
    }

    static Bytes header_of(std::span<const mp4::Track> tracks, uint32_t first_id) {
        Bytes header;
        mp4::write_header(tracks, header, mp4::Length::kOpen, first_id);
        header.shrink_to_fit();
        return header;
    }

    static uint64_t ticks_of(int64_t time_ms, uint32_t timescale) {
        return static_cast<uint64_t>(std::max<int64_t>(time_ms, 0)) * timescale / 1'000;
    }

    bool apart_;
    std::optional<int64_t> fill_ms_;
    std::array<uint64_t, kPartPlaces>
        next_{};  // where the newest frame ends, in units of its track
    std::array<uint32_t, kPartPlaces> timescales_{};
    std::array<uint32_t, kPartPlaces> ids_{};  // 0: there is no such track
    std::array<Bytes, kPartMoreAudio> track_headers_;
    std::optional<int64_t> wall_offset_us_;
    uint32_t number_ = 0;
};

class TsPartWriter final : public PartWriter {
  public:
    bool carries(Codec codec) const override {
        return mp4::carries(codec) && mpegts::EsWriter::carries(codec);
    }

    Bytes begin(const PartTracks& tracks) override {
        Streams streams;
        for (size_t i = 0; i < tracks.size(); i++) {
            writers_[i].reset();
            if (tracks[i]) {
                timescales_[i] = std::max<uint32_t>(tracks[i]->track.timescale, 1);
                writers_[i].emplace(tracks[i]->track.codec);
                if (tracks[i]->config) {
                    writers_[i]->set_config(tracks[i]->config->payload());
                }
                languages_[i] = tracks[i]->track.language;
                streams[i] = stream_of(i);
            }
        }
        told_ = streams;
        writer_.set_streams(streams);
        return {};
    }

    size_t write(const PartFrames& frames, bool first, Bytes& out) override {
        std::vector<Entry> order;
        for (size_t i = 0; i < frames.size(); i++) {
            for (const PartFrame& frame : frames[i]) {
                order.push_back({i, frame.packet.get(), time_of(i, frame)});
            }
        }
        std::ranges::stable_sort(order, {}, &Entry::dts);
        if (first) {
            tell_streams(order);
            writer_.write_tables(out);  // RFC 8216 §3.2
        }
        for (const auto& [place, packet, dts] : order) {
            if (!writers_[place]) {
                continue;
            }
            const bool key = place == kPartVideo && packet->info().key;
            const auto parts = writers_[place]->write(packet->payload(), packet->info().key);
            if (parts.empty() || !writer_.has_stream(place)) {
                continue;
            }
            const int64_t pts =
                place != kPartVideo
                    ? dts
                    : (packet->time_ms() + packet->info().composition_ms) * kTicksPerMs;
            writer_.write({.stream = place,
                           .pts = std::max(pts, dts),  // ISO/IEC 13818-1 §2.4.3.7
                           .dts = dts,
                           .key = key,
                           .parts = parts},
                          out);
        }
        return out.size();
    }

  private:
    struct Entry {
        size_t place = 0;
        const media::MediaPacket* packet = nullptr;
        int64_t dts = 0;
    };

    using Streams = std::array<std::optional<mpegts::StreamInfo>, kPartPlaces>;

    std::optional<mpegts::StreamInfo> stream_of(size_t place) const {
        std::optional<mpegts::StreamInfo> stream = writers_[place]->stream();
        if (stream && languages_[place] != mp4::Track().language) {
            stream->language = languages_[place];
        }
        return stream;
    }

    int64_t time_of(size_t place, const PartFrame& frame) const {
        return static_cast<int64_t>(frame.ticks * mpegts::kClockHz / timescales_[place]);
    }

    // Some codecs say what they are with their first frame only.
    void tell_streams(const std::vector<Entry>& order) {
        for (size_t i = 0; i < writers_.size(); i++) {
            const auto frame = std::ranges::find(order, i, &Entry::place);
            if (writers_[i] && !told_[i] && frame != order.end()) {
                (void)writers_[i]->write(frame->packet->payload(), frame->packet->info().key);
                told_[i] = stream_of(i);
                writer_.set_streams(told_);
            }
        }
    }

    mpegts::Writer writer_;
    std::array<std::optional<mpegts::EsWriter>, kPartPlaces> writers_;
    Streams told_;
    std::array<uint32_t, kPartPlaces> timescales_{};
    std::array<std::array<char, 3>, kPartPlaces> languages_{};
};

}  // namespace

std::unique_ptr<PartWriter> PartWriter::create(SegmentContainer container) {
    if (container == SegmentContainer::kTs) {
        return std::make_unique<TsPartWriter>();
    }
    return std::make_unique<Mp4PartWriter>(container == SegmentContainer::kMp4);
}

}  // namespace weir::net
