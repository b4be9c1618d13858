// RecordStore: a folder of recordings as the media thread sees it: its writer's thread, its growing
// files, the list of those that are finished, and what of them has to go. Never yields.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "io/worker_pool.h"
#include "session/record/file_queue.h"
#include "session/record/record_disk.h"

namespace weir::session {

// Counters since the start.
struct RecordStats {
    uint64_t files = 0;  // that were finished
    uint64_t bytes = 0;  // that were written
    uint64_t gaps = 0;   // times that a recording lost something
    uint64_t frames_lost = 0;
    uint64_t bytes_lost = 0;
    uint64_t errors = 0;    // of disks
    uint64_t repaired = 0;  // files that a crash had left
    uint64_t removed = 0;   // files that went for `keep` and `min_free`
};

// Of a finished file, by its folder and its name in it; the same after a restart.
uint64_t file_id(std::string_view folder, std::string_view file);

class RecordStore {
  public:
    // Jobs of one folder that wait: each growing file has one at most.
    static constexpr size_t kMaxJobs = 65'536;
    // A folder that could not be opened is tried again so often.
    static constexpr Millis kRetry{2'000};
    // Files that go in one turn.
    static constexpr size_t kMaxGone = 10'000;

    // Both must outlive this.
    static Result<std::unique_ptr<RecordStore>> create(std::string path,
                                                       std::unique_ptr<RecordDisk> disk,
                                                       RecordRules& rules,
                                                       RecordStats& stats,
                                                       const io::MakeWorkers& make_workers);
    ~RecordStore();  // waits for the job that runs
    RecordStore(const RecordStore&) = delete;
    RecordStore& operator=(const RecordStore&) = delete;

    const std::string& path() const { return path_; }

    // ---- for recordings ----

    // The folder is opened again where that failed, and it is time.
    void prepare();

    // Nothing may be written: `min_free` holds, and there is nothing that could go.
    bool is_short_of_space() const { return short_of_space_; }

    FileQueue* begin(FileOrder order, RecordBudget& budget, FileQueueOwner& owner);

    size_t growing() const { return queues_.size(); }

    // The file that grows and will have that name; null: none does.
    const FileQueue* growing_named(std::string_view file) const;

    // visit(const FileQueue&) for all that grow and are made.
    template <typename Visit>
    void for_each_growing(Visit&& visit) const {
        for (const auto& queue : queues_) {
            if (!queue->name().empty()) {
                visit(*queue);
            }
        }
    }

    // ---- for its list ----

    // The oldest first, by numbers that grow: who yields goes on behind the number that he had.
    using Files = std::map<uint64_t, RecordedFile>;

    const Files& files() const { return files_; }

    // By what file_id() says of it. Null: there is none.
    const RecordedFile* find(uint64_t id) const;

    // Why nothing can be recorded here; empty: it can.
    const std::string& trouble() const { return trouble_; }

    uint64_t free_bytes() const { return free_bytes_; }

    // A finished file goes, from the list at once and soon from the disk. False: there is no such
    // file.
    bool remove(uint64_t id);

    // Every 10 s: free space, and what is too old or too much.
    void tick();

    // ---- for FileQueue ----

    RecordDisk& disk() { return *disk_; }

    Error submit(std::function<void()> work, std::function<void()> done) {
        return pool_->submit(std::move(work), std::move(done));
    }

    void drop(FileQueue& queue);

    void note_written(uint64_t bytes) { stats_.bytes += bytes; }

    // `loss`: what no recording has counted.
    void note_failure(const Error& why, const RecordLoss& loss);
    void add_finished(RecordedFile file);

    // Called when the last growing file has ended.
    void set_on_idle(std::function<void()> on_idle) { on_idle_ = std::move(on_idle); }

  private:
    RecordStore(std::string path,
                std::unique_ptr<RecordDisk> disk,
                RecordRules& rules,
                RecordStats& stats);

    struct Section {
        std::set<uint64_t> files;  // by number
        uint64_t bytes = 0;
    };

    void open();
    void take_files(std::vector<RecordedFile> files);
    void tidy();
    void make_room();
    void add(RecordedFile file);
    void add(uint64_t number, RecordedFile file);
    void unlink(Files::iterator at, bool makes_room);

    std::string path_;
    std::unique_ptr<RecordDisk> disk_;
    RecordRules& rules_;
    RecordStats& stats_;
    Files files_;
    std::unordered_map<uint64_t, uint64_t> numbers_;  // of files_, by id
    std::map<std::string, Section> sections_;         // of the configuration, whose files these are
    uint64_t next_number_ = 0;
    std::vector<std::unique_ptr<FileQueue>> queues_;
    std::function<void()> on_idle_;
    std::string trouble_;
    uint64_t free_bytes_ = 0;
    MonoTime retry_at_{};
    bool opening_ = false;
    bool opened_ = false;
    bool short_of_space_ = false;
    bool looking_ = false;
    log::Throttle throttle_{Millis(1000)};
    // Last: its thread ends before what its jobs refer to.
    std::unique_ptr<io::WorkerPool> pool_;
};

}  // namespace weir::session
