// RecordStore: a folder of recordings as the media thread sees it: its writer's thread, its growing
// files, the list of those that are finished, and what of them has to go. Of a server of several
// processes also the files of the others, which a second thread reads of: they are found and played
// here, and removed by the process that has recorded them. Never yields.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
    // Files that others are to remove and have not yet, which are passed over in one turn.
    static constexpr size_t kMaxPassed = 100'000;
    // look_soon() looks that often.
    static constexpr Millis kLookPeriod{1'000};

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

    // Of a file, in the order of files(): the same in all processes. Who yields goes on behind it.
    struct Place {
        int64_t ended_ms = 0;
        uint64_t id = 0;  // file_id()

        auto operator<=>(const Place&) const = default;
    };

    // The oldest first; those of other processes are among them.
    using Files = std::map<Place, RecordedFile>;

    const Files& files() const { return files_; }

    // Files that this process has recorded.
    size_t own_files() const { return files_.size() - files_elsewhere_; }

    // By what file_id() says of it. Null: there is none.
    const RecordedFile* find(uint64_t id) const;

    // Files that grow in other processes, by the names that they will have.
    using GrowingElsewhere = std::map<std::string, RecordedFile, std::less<>>;

    const GrowingElsewhere& growing_elsewhere() const { return growing_elsewhere_; }

    // Why nothing can be recorded here; empty: it can.
    const std::string& trouble() const { return trouble_; }

    uint64_t free_bytes() const { return free_bytes_; }

    // A finished file goes, from the list at once and soon from the disk. False: there is no such
    // file of this process.
    bool remove(uint64_t id);

    // Another process that has not removed its oldest file for so long may not be there.
    static constexpr Millis kTrust{60'000};

    // Every 10 s: free space, and what is too old or too much.
    void tick();

    // ---- what other processes have done ----

    // What was done until now is in files() and growing_elsewhere() when looks() has the number
    // that this returns; a callback says so.
    uint64_t look_around();

    // The same for who can wait, at most every kLookPeriod.
    void look_soon();

    uint64_t looks() const { return looks_; }

    void set_on_looked(std::function<void()> on_looked) { on_looked_ = std::move(on_looked); }

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
        std::set<Place> files;
        uint64_t bytes = 0;
    };

    void open();
    void take_files(std::vector<RecordedFile> files);
    void tidy();
    void make_room();
    void add(RecordedFile file);
    RecordedFile take_out(Files::iterator at);
    void unlink(Files::iterator at, bool makes_room);
    void read_news();
    void take_news(RecordNews& news);
    void forget(const std::function<bool(const RecordedFile&)>& which);

    std::string path_;
    std::unique_ptr<RecordDisk> disk_;
    RecordRules& rules_;
    RecordStats& stats_;
    Files files_;
    std::unordered_map<uint64_t, int64_t> ended_;  // of files_, by id
    std::map<std::string, Section> sections_;      // of the configuration, whose files these are
    size_t files_elsewhere_ = 0;                   // of files_
    GrowingElsewhere growing_elsewhere_;
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
    // Null: there is one process. Of the thread of news_pool_.
    std::unique_ptr<RecordSiblings> siblings_;
    std::function<void()> on_looked_;
    uint64_t looks_ = 0;       // that have ended
    uint64_t look_ = 0;        // the newest that has begun
    bool look_again_ = false;  // one was asked for while that ran
    bool all_known_ = false;   // of what other processes have
    MonoTime look_soon_at_{};
    uint64_t tidy_after_ = 0;       // that look; 0: none
    std::optional<Place> awaited_;  // the oldest file, which another process is to remove
    MonoTime awaited_since_{};
    // Last: their threads end before what their jobs refer to.
    std::unique_ptr<io::WorkerPool> pool_;
    std::unique_ptr<io::WorkerPool> news_pool_;  // null: there is one process
};

}  // namespace weir::session
