// FileQueue: one growing file on the media thread. What is written goes into a bounded queue, and
// from there in batches to the writer's thread of its folder; at most one job of a file is under
// way, so the order is kept. Never waits, never yields.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/object_count.h"
#include "session/record/record_disk.h"
#include "session/record/record_muxer.h"

namespace weir::session {

class FileQueue;
class RecordStore;

// Bytes that wait for disks, of all recordings together.
struct RecordBudget {
    static constexpr uint64_t kMaxBudget = 256u << 20;

    uint64_t bytes = 0;
};

// What was not written.
struct RecordLoss {
    uint64_t frames = 0;
    uint64_t bytes = 0;
    int64_t duration_ms = 0;
};

// Who fills a queue. May not yield.
class FileQueueOwner {
  public:
    // The disk refused something. The file is finished with what it has; add() takes no more.
    virtual void on_file_failed(FileQueue& queue, const Error& why, const RecordLoss& loss) = 0;

  protected:
    ~FileQueueOwner() = default;
};

class FileQueue : private Counted<FileQueue> {
  public:
    static constexpr ObjectName kObjectName{"record_file", "record"};
    static constexpr uint64_t kMaxBytes = 16u << 20;  // that wait, of one file

    // All must outlive this, the owner until forget_owner() or finish().
    FileQueue(RecordStore& store, FileOrder order, RecordBudget& budget, FileQueueOwner& owner);
    ~FileQueue();
    FileQueue(const FileQueue&) = delete;
    FileQueue& operator=(const FileQueue&) = delete;

    // False: too much waits already, or it failed.
    bool add(RecordUnit unit);

    // No more follows.
    void finish(std::string why);

    // It failed before it had a job that ends it.
    bool is_dead() const { return failed_ && !busy_; }

    const FileOrder& order() const { return order_; }

    // Within the folder; empty until it was made.
    const std::string& name() const { return name_; }

    uint64_t queued_bytes() const { return queued_; }

    uint64_t written_bytes() const { return written_; }

    uint64_t frames() const { return frames_; }

    int64_t duration_ms() const { return written_end_ms_; }

  private:
    struct Job;

    void go_on();
    void take_back(Job& job);
    void fail(const Error& why);

    RecordStore& store_;
    FileOrder order_;
    RecordBudget& budget_;
    FileQueueOwner* owner_;
    // Shared with the job that runs: of its thread until it is done, which may be after this.
    std::shared_ptr<std::unique_ptr<GrowingFile>> file_;
    std::vector<RecordUnit> waiting_;
    std::string name_;
    std::string why_;
    uint64_t queued_ = 0;  // of waiting_ and of the job
    uint64_t written_ = 0;
    uint64_t frames_ = 0;
    int64_t written_end_ms_ = 0;
    bool busy_ = false;
    bool ends_ = false;
    bool failed_ = false;
};

}  // namespace weir::session
