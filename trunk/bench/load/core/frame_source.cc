#include "bench/load/core/frame_source.h"

#include <algorithm>

#include "proto/amf/amf0.h"

#include "bench/load/core/file_stamp.h"
#include "bench/load/core/synthetic.h"

namespace weir::load {
namespace {

using media::Codec;
using media::TrackKind;

constexpr double kAvcCodecId = 7;
constexpr double kAacCodecId = 10;

Bytes synthetic_metadata(const StreamShape& shape) {
    Bytes out;
    amf::Writer writer(out);
    writer.string("onMetaData").begin_ecma_array(shape.audio_bits_per_second > 0 ? 8 : 5);
    writer.key("width").number(kPictureWidth);
    writer.key("height").number(kPictureHeight);
    writer.key("framerate").number(shape.fps);
    writer.key("videocodecid").number(kAvcCodecId);
    writer.key("videodatarate")
        .number(static_cast<double>(shape.bits_per_second - shape.audio_bits_per_second) / 1000);
    if (shape.audio_bits_per_second > 0) {
        writer.key("audiocodecid").number(kAacCodecId);
        writer.key("audiosamplerate").number(kAudioRate);
        writer.key("audiodatarate").number(static_cast<double>(shape.audio_bits_per_second) / 1000);
    }
    writer.end_object();
    return out;
}

class SyntheticSource final : public FrameSource {
  public:
    SyntheticSource(const BitratePlan& plan, uint32_t number, uint32_t epoch)
        : plan_(plan), number_(number), epoch_(epoch) {}

    std::vector<SourceMessage> opening() const override {
        std::vector<SourceMessage> messages;
        messages.push_back({TrackKind::kData, 0, synthetic_metadata(plan_.shape())});
        messages.push_back({TrackKind::kVideo, 0, video_config()});
        if (plan_.has_audio()) {
            messages.push_back({TrackKind::kAudio, 0, audio_config()});
        }
        return messages;
    }

    uint64_t next_due_us() const override {
        return audio_is_next() ? plan_.audio_due_us(audio_sequence_)
                               : plan_.video_due_us(video_sequence_);
    }

    Error next(uint64_t now_ns, SourceMessage& out) override {
        Stamp stamp;
        stamp.stream = number_;
        stamp.epoch = epoch_;
        stamp.send_ns = now_ns;
        if (audio_is_next()) {
            stamp.sequence = audio_sequence_;
            out.kind = TrackKind::kAudio;
            out.time_ms = plan_.audio_time_ms(audio_sequence_);
            build_audio(out.body, plan_.audio_size(audio_sequence_), stamp);
            audio_sequence_++;
        } else {
            stamp.sequence = video_sequence_;
            stamp.place = static_cast<uint16_t>(video_sequence_ % plan_.shape().gop);
            out.kind = TrackKind::kVideo;
            out.time_ms = plan_.video_time_ms(video_sequence_);
            build_video(out.body, plan_.video_size(video_sequence_), stamp);
            video_sequence_++;
        }
        return {};
    }

  private:
    bool audio_is_next() const {
        return plan_.has_audio() &&
               plan_.audio_due_us(audio_sequence_) < plan_.video_due_us(video_sequence_);
    }

    const BitratePlan& plan_;
    uint32_t number_;
    uint32_t epoch_;
    uint32_t video_sequence_ = 0;
    uint32_t audio_sequence_ = 0;
};

// A small one of its own: that of the file speaks of a duration, and may list every key frame.
Bytes file_metadata(const MediaFile& file) {
    const media::Description& said = file.description();
    Bytes out;
    amf::Writer writer(out);
    writer.string("onMetaData").begin_ecma_array(5);
    if (said.width > 0 && said.height > 0) {
        writer.key("width").number(said.width);
        writer.key("height").number(said.height);
    }
    if (said.frame_rate > 0) {
        writer.key("framerate").number(said.frame_rate);
    }
    if (file.video().codec == Codec::kH264) {
        writer.key("videocodecid").number(kAvcCodecId);
    }
    if (file.audio().codec == Codec::kAac) {
        writer.key("audiocodecid").number(kAacCodecId);
    }
    writer.end_object();
    return out;
}

class FileLoop final : public FrameSource {
  public:
    FileLoop(std::shared_ptr<const MediaFile> file, uint32_t number, uint32_t epoch)
        : file_(std::move(file)),
          video_(TrackKind::kVideo),
          audio_(TrackKind::kAudio),
          number_(number),
          epoch_(epoch) {
        for (TrackState* track : {&video_, &audio_}) {
            track->present = file_->track(track->kind).present;
            track->stamped = can_stamp(file_->track(track->kind), track->kind);
            find_frame(*track);
        }
    }

    std::vector<SourceMessage> opening() const override {
        std::vector<SourceMessage> messages;
        messages.push_back({TrackKind::kData, 0, file_metadata(*file_)});
        for (TrackKind kind : {TrackKind::kVideo, TrackKind::kAudio}) {
            const FileTrack& track = file_->track(kind);
            if (track.present && !track.config.empty()) {
                messages.push_back({kind, 0, track.config});
            }
        }
        return messages;
    }

    uint64_t next_due_us() const override {
        return static_cast<uint64_t>(audio_is_next() ? time_ms(audio_) : time_ms(video_)) * 1000;
    }

    Error next(uint64_t now_ns, SourceMessage& out) override {
        TrackState& track = audio_is_next() ? audio_ : video_;
        const FileFrame& frame = file_->frames()[track.at];
        out.kind = track.kind;
        out.time_ms = static_cast<uint32_t>(time_ms(track));  // 32 bits that wrap, as in RTMP
        track.place = frame.key ? 0 : track.place;
        if (!track.stamped) {
            WEIR_TRY(file_->read(frame, out.body));
        } else {
            WEIR_TRY(file_->read(frame, bare_));
            Stamp stamp;
            stamp.stream = number_;
            stamp.epoch = epoch_;
            stamp.sequence = track.sequence;
            stamp.send_ns = now_ns;
            stamp.place = track.place;
            add_file_stamp(bare_, track.kind, stamp, out.body);
        }
        track.sequence++;
        track.place = static_cast<uint16_t>(std::min(track.place + 1, UINT16_MAX));
        track.at++;
        find_frame(track);
        return {};
    }

  private:
    // Each track goes its own turns: near the seam one may be ahead of the other.
    struct TrackState {
        explicit TrackState(TrackKind k) : kind(k) {}

        TrackKind kind;
        bool present = false;
        bool stamped = false;
        uint16_t place = 0;
        uint32_t sequence = 0;
        size_t at = 0;        // its next frame among those of the file
        int64_t turn_ms = 0;  // where the turn begins
    };

    void find_frame(TrackState& track) const {
        const std::vector<FileFrame>& frames = file_->frames();
        for (; track.present; track.at++) {
            if (track.at == frames.size()) {
                track.at = 0;
                track.turn_ms += file_->period_ms();
            }
            if (frames[track.at].kind == track.kind) {
                return;
            }
        }
    }

    bool audio_is_next() const {
        return audio_.present && (!video_.present || time_ms(audio_) < time_ms(video_));
    }

    int64_t time_ms(const TrackState& track) const {
        return track.turn_ms + file_->frames()[track.at].time_ms;
    }

    std::shared_ptr<const MediaFile> file_;
    TrackState video_;
    TrackState audio_;
    uint32_t number_;
    uint32_t epoch_;
    Bytes bare_;
};

}  // namespace

std::unique_ptr<FrameSource> synthetic_source(const BitratePlan& plan,
                                              uint32_t number,
                                              uint32_t epoch) {
    return std::make_unique<SyntheticSource>(plan, number, epoch);
}

std::unique_ptr<FrameSource> file_source(std::shared_ptr<const MediaFile> file,
                                         uint32_t number,
                                         uint32_t epoch) {
    return std::make_unique<FileLoop>(std::move(file), number, epoch);
}

}  // namespace weir::load
