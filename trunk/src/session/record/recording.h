// Recording: one stream that is being recorded, for as long as somebody publishes it. A viewer of
// the stream that writes files: a Segmenter makes fragments, a RecordMuxer makes files of them, a
// FileQueue brings each to its disk. What the disk does not take is a gap: the file ends, and the
// next one begins at a key frame. Never yields.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/object_count.h"
#include "net/segments/segmenter.h"
#include "session/record/file_queue.h"
#include "session/record/record_muxer.h"
#include "session/record/record_options.h"
#include "session/record/record_store.h"
#include "stream/stream.h"

namespace weir::session {

class Recording final : private RecordOutput, private FileQueueOwner, private Counted<Recording> {
  public:
    static constexpr ObjectName kObjectName{"recording", "record"};
    // After an error of the disk.
    static constexpr Millis kRetry{2'000};

    // All must outlive this. Takes what is kept of the stream at once.
    Recording(stream::Stream& stream,
              const RecordOptions& options,
              RecordStore& store,
              RecordBudget& budget,
              RecordStats& stats,
              std::string id);
    ~Recording();

    // The last words, before it is destroyed.
    void end(const char* why);

    const std::string& id() const { return id_; }

    const stream::StreamKey& key() const { return stream_.key(); }

    const RecordOptions& options() const { return options_; }

    int64_t started_ms() const { return started_ms_; }

    // Null: no file is open.
    const FileQueue* file() const { return queue_; }

    uint64_t files() const { return files_; }

    uint64_t gaps() const { return gaps_; }

    const RecordLoss& loss() const { return loss_; }

    // Frames in codecs that the format does not have.
    uint64_t frames_left_out() const { return segmenter_ ? segmenter_->frames_left_out() : 0; }

    // What went wrong last; empty: nothing since the last file began.
    const std::string& trouble() const { return trouble_; }

  private:
    bool begin_file(int64_t start_ms, Bytes beginning) override;
    bool add(RecordUnit unit) override;
    void end_file(const char* why) override;
    void lose(uint64_t frames, uint64_t bytes, int64_t duration_ms) override;
    int64_t wall_now_ms() const override;
    ByteSpan metadata() const override;
    void on_file_failed(FileQueue& queue, const Error& why, const RecordLoss& loss) override;

    void begin_gap(std::string_view why);
    void end_gap();

    stream::Stream& stream_;
    RecordOptions options_;
    RecordStore& store_;
    RecordBudget& budget_;
    RecordStats& stats_;
    std::string id_;
    int64_t started_ms_;
    FileQueue* queue_ = nullptr;  // the store's
    MonoTime retry_at_{};
    uint64_t files_ = 0;
    uint64_t gaps_ = 0;
    RecordLoss loss_;
    RecordLoss gap_;  // of the gap that is open
    bool in_gap_ = false;
    std::string trouble_;
    net::SegmentStore segments_;    // of parts without bytes: it only counts
    RecordMuxer* muxer_ = nullptr;  // the segmenter's
    std::unique_ptr<net::Segmenter> segmenter_;
};

}  // namespace weir::session
