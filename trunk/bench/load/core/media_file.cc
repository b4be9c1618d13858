#include "bench/load/core/media_file.h"

#include <algorithm>
#include <array>

#include "bench/load/core/flv_file.h"
#include "bench/load/core/mp4_file.h"

namespace weir::load {
namespace {

constexpr int64_t kDefaultFrameMs = 40;  // of a track with a single frame
constexpr size_t kProbeSize = 12;

}  // namespace

Result<std::shared_ptr<const MediaFile>> MediaFile::open(const std::string& path) {
    auto source = open_source(path);
    if (!source.ok()) {
        return source.take_error();
    }
    auto file = parse(std::move(*source));
    if (!file.ok()) {
        return file.take_error().with_context(fmt::format("'{}'", path));
    }
    return file;
}

Result<std::shared_ptr<const MediaFile>> MediaFile::parse(std::unique_ptr<ByteSource> source) {
    std::array<uint8_t, kProbeSize> head{};
    if (source->size() < kProbeSize) {
        return make_error(ErrorCode::kMalformed, "{} bytes only: expected an FLV or MP4 file",
                          source->size());
    }
    WEIR_TRY(source->read(0, head));
    std::shared_ptr<MediaFile> file(new MediaFile);  // lint: allow-new - private constructor
    file->source_ = std::move(source);
    std::string_view text = as_text(head);
    if (text.starts_with("FLV")) {
        WEIR_TRY(FlvFileReader(*file).read());
    } else if (is_mp4(text.substr(4, 4))) {
        WEIR_TRY(Mp4FileReader(*file).read());
    } else {
        return make_error(ErrorCode::kUnsupported,
                          "at byte 0: expected 'FLV' or the box 'ftyp' of MP4, found bytes {:02x} "
                          "{:02x} {:02x} {:02x} {:02x} {:02x} {:02x} {:02x}",
                          head[0], head[1], head[2], head[3], head[4], head[5], head[6], head[7]);
    }
    WEIR_TRY(file->finish());
    return std::shared_ptr<const MediaFile>(std::move(file));
}

double MediaFile::bits_per_second() const {
    uint64_t bytes = 0;
    for (const FileFrame& frame : frames_) {
        bytes += frame.size + track(frame.kind).frame_prefix.size();
    }
    return static_cast<double>(bytes) * 8000 / static_cast<double>(period_ms_);
}

Error MediaFile::read(const FileFrame& frame, Bytes& out) const {
    const Bytes& prefix = track(frame.kind).frame_prefix;
    out.resize(prefix.size() + frame.size);
    WEIR_TRY(source_->read(frame.offset, std::span(out).subspan(prefix.size())));
    std::copy(prefix.begin(), prefix.end(), out.begin());
    if (!prefix.empty() && frame.kind == media::TrackKind::kVideo) {
        complete_video_prefix(out, frame);
    }
    return {};
}

// A picture that refers to one before the file's beginning cannot be decoded: what is before the
// first key frame goes, with its sound.
Error MediaFile::drop_before_first_key() {
    if (!video_.present) {
        return {};
    }
    bool skipped = false;
    for (const FileFrame& frame : frames_) {
        if (frame.kind != media::TrackKind::kVideo) {
            continue;
        }
        if (frame.key) {
            if (skipped) {
                std::erase_if(frames_, [begin_ms = frame.time_ms](const FileFrame& each) {
                    return each.time_ms < begin_ms;
                });
            }
            return {};
        }
        skipped = true;
    }
    return make_error(ErrorCode::kMalformed, "no key frame among {} frames", frames_.size());
}

void MediaFile::measure_track(FileTrack& track, media::TrackKind kind) {
    for (const FileFrame& frame : frames_) {
        if (frame.kind == kind) {
            track.first_ms = track.frames == 0 ? frame.time_ms : track.first_ms;
            track.last_ms = frame.time_ms;
            int64_t shown_ms = frame.time_ms + frame.composition_ms;
            track.first_shown_ms =
                track.frames == 0 ? shown_ms : std::min(track.first_shown_ms, shown_ms);
            track.last_shown_ms =
                track.frames == 0 ? shown_ms : std::max(track.last_shown_ms, shown_ms);
            track.frames++;
        }
    }
    int64_t count = track.frames;
    int64_t span_ms = track.last_ms - track.first_ms;
    if (count == 0) {
        track.present = false;
    } else if (track.frame_ms == 0) {
        // Rounded up, so that the first frame of the next turn never meets the last of this one.
        track.frame_ms = count < 2 ? kDefaultFrameMs : (span_ms + count - 2) / (count - 1);
        track.frame_ms = std::max<int64_t>(track.frame_ms, 1);
    }
    if (kind == media::TrackKind::kVideo && count > 1 && description_.frame_rate == 0) {
        description_.frame_rate = static_cast<double>(count - 1) * 1000 /
                                  static_cast<double>(std::max<int64_t>(span_ms, 1));
    }
}

Error MediaFile::finish() {
    std::stable_sort(
        frames_.begin(), frames_.end(),
        [](const FileFrame& one, const FileFrame& other) { return one.time_ms < other.time_ms; });
    WEIR_TRY(drop_before_first_key());
    if (frames_.empty()) {
        return make_error(ErrorCode::kMalformed, "no frame of audio or video in the file");
    }
    measure_track(video_, media::TrackKind::kVideo);
    measure_track(audio_, media::TrackKind::kAudio);
    int64_t begin_ms = frames_.front().time_ms;
    for (FileFrame& frame : frames_) {
        frame.time_ms -= begin_ms;
    }
    const FileTrack& leading = video_.frames > 1 ? video_ : audio_.present ? audio_ : video_;
    // A file that was cut may end with a picture that is shown after others that are missing.
    period_ms_ = std::max(leading.last_ms - leading.first_ms,
                          leading.last_shown_ms - leading.first_shown_ms) +
                 leading.frame_ms;
    // What the other track has beyond would meet its own next turn.
    std::erase_if(frames_, [this, begin_ms](const FileFrame& frame) {
        return frame.time_ms >= track(frame.kind).first_ms - begin_ms + period_ms_;
    });
    return {};
}

}  // namespace weir::load
