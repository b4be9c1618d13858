// A recording as the publisher needs it: an index of frames in order of their decoding time, with
// the codec configuration of each track. FLV and MP4 become the same thing: bodies of RTMP messages
// (FLV tag bodies, Enhanced RTMP for HEVC and AV1).
//
// At most one video and one audio track. The index is in memory (32 bytes a frame), the frames are
// read when they are asked for. Shared by all publishers of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "media/codec.h"
#include "media/description.h"

#include "bench/load/core/byte_source.h"

namespace weir::load {

// 38 hours at 30 frames per second.
constexpr size_t kMaxFileFrames = 4'000'000;
constexpr uint32_t kMaxFileFrameSize = 8U << 20;

struct FileFrame {
    uint64_t offset = 0;         // of the bytes in the file
    uint32_t size = 0;           // of them
    int32_t composition_ms = 0;  // MP4: presentation minus decoding time; FLV: in the bytes
    int64_t time_ms = 0;         // decoding time; the first frame of the file is at 0
    media::TrackKind kind = media::TrackKind::kVideo;
    bool key = false;
};

struct FileTrack {
    bool present = false;
    media::Codec codec = media::Codec::kUnknown;
    Bytes config;          // body of the sequence header message; empty when the codec has none
    Bytes frame_prefix;    // MP4: what stands in front of each frame's bytes, see MediaFile::read()
    int64_t frame_ms = 0;  // duration of the last frame
    int64_t first_ms = 0;  // decoding, as in the file
    int64_t last_ms = 0;
    int64_t first_shown_ms = 0;  // presentation
    int64_t last_shown_ms = 0;
    int64_t frames = 0;
};

class MediaFile {
  public:
    // By the first bytes: FLV or MP4. Errors name the file, the place in bytes, what was found and
    // what was expected.
    static Result<std::shared_ptr<const MediaFile>> open(const std::string& path);

    // The same for bytes that are open already.
    static Result<std::shared_ptr<const MediaFile>> parse(std::unique_ptr<ByteSource> source);

    const std::vector<FileFrame>& frames() const { return frames_; }

    const FileTrack& video() const { return video_; }

    const FileTrack& audio() const { return audio_; }

    const FileTrack& track(media::TrackKind kind) const {
        return kind == media::TrackKind::kVideo ? video_ : audio_;
    }

    // What the file says of its picture; the frame rate is counted when it does not say it.
    const media::Description& description() const { return description_; }

    // The distance at which the file repeats: the length of the picture (of the sound, without
    // one). Sound that is longer is cut, so that no track has a jump where the file repeats.
    int64_t period_ms() const { return period_ms_; }

    // Mean bit rate of the messages.
    double bits_per_second() const;

    // The body of the frame's message, into `out`.
    Error read(const FileFrame& frame, Bytes& out) const;

  private:
    friend class FlvFileReader;
    friend class Mp4FileReader;

    MediaFile() = default;

    // What both readers do in the end: order, start at 0 with a key frame, last durations, period.
    Error finish();
    Error drop_before_first_key();
    void measure_track(FileTrack& track, media::TrackKind kind);

    std::unique_ptr<ByteSource> source_;
    std::vector<FileFrame> frames_;
    FileTrack video_;
    FileTrack audio_;
    media::Description description_;
    int64_t period_ms_ = 0;
};

}  // namespace weir::load
