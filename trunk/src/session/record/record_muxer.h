// RecordMuxer: from the frames of a stream to the bytes of its files. It is the PartWriter of a
// Segmenter of its own, so a part is a fragment of a file; its bytes go to a RecordOutput and are
// not kept. It decides where a file begins: at a start (a key frame, or any frame of an audio-only
// stream or of one whose video has been missing for 10 s), when there is none, the tracks have
// changed, the file is long or large enough, or the day has changed. Times of a file begin at 0,
// but in transport streams. FLV files have the default audio track, the others have all. Never
// yields.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "net/segments/part_writer.h"
#include "session/record/record_options.h"

namespace weir::session {

// What a unit of a file is made of.
struct RecordUnit {
    Bytes bytes;
    uint32_t frames = 0;
    int64_t end_ms = 0;  // of the file's media, behind this
};

// Where the bytes go. Never yields.
class RecordOutput {
  public:
    // The next file begins with `beginning`. `start_ms`: of its first frame, on the stream's
    // timeline. False: not now.
    virtual bool begin_file(int64_t start_ms, Bytes beginning) = 0;

    // Of the open file. False: it could not be taken, and the file ends before it.
    virtual bool add(RecordUnit unit) = 0;

    virtual void end_file(const char* why) = 0;

    // These are in no file.
    virtual void lose(uint64_t frames, uint64_t bytes, int64_t duration_ms) = 0;

    virtual int64_t wall_now_ms() const = 0;

    // The publisher's onMetaData message, until something is published; empty: none.
    virtual ByteSpan metadata() const = 0;

  protected:
    ~RecordOutput() = default;
};

struct SplitRules {
    int64_t after_ms = 0;  // 0: not for that reason
    uint64_t after_bytes = 0;
    bool midnight = false;
};

class RecordMuxer final : public net::PartWriter {
  public:
    static constexpr int64_t kVideoGoneMs = 10'000;

    // `output` must outlive this.
    RecordMuxer(RecordFormat format, const SplitRules& split, RecordOutput& output);

    // The open file cannot go on; the next start begins another.
    void abandon() { open_ = false; }

    // Nothing follows for now.
    void end(const char* why);

    // net::PartWriter
    bool carries(media::Codec codec) const override;

    bool has_more_audio() const override { return format_ != RecordFormat::kFlv; }

    Bytes begin(const net::PartTracks& tracks) override;
    size_t write(const net::PartFrames& frames, bool first, Bytes& out) override;

  private:
    // Frames of a part with times that begin at the file's.
    struct Moved;

    bool may_begin_with(const net::PartFrames& frames, int64_t duration_ms);
    const char* reason_to_split(const net::PartFrames& frames) const;
    bool begin_file(const net::PartFrames& frames);
    Bytes write_beginning();
    void write_flv(const net::PartFrames& frames, Bytes& out);
    void put_tag(const media::PacketRef& packet, int64_t time_ms, Bytes& out) const;

    RecordFormat format_;
    SplitRules split_;
    RecordOutput& output_;
    std::unique_ptr<net::PartWriter> writer_;  // null: of FLV
    net::PartTracks tracks_;
    bool renew_ = false;  // the tracks are others than those of the open file
    bool open_ = false;
    int64_t origin_ms_ = 0;  // of the open file, on the stream's timeline
    int64_t end_ms_ = 0;     // of its media
    int64_t midnight_ms_ = 0;
    uint64_t bytes_ = 0;
    uint64_t last_bytes_ = 0;  // since the last start: a file is split before it gets too large
    uint64_t since_start_ = 0;
    int64_t without_video_ms_ = 0;  // the length of the newest parts, of audio alone
};

}  // namespace weir::session
