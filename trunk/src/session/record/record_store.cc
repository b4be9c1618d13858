#include "session/record/record_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace weir::session {

RecordStore::RecordStore(std::string path,
                         std::unique_ptr<RecordDisk> disk,
                         RecordRules& rules,
                         RecordStats& stats)
    : path_(std::move(path)), disk_(std::move(disk)), rules_(rules), stats_(stats) {}

RecordStore::~RecordStore() {
    pool_.reset();
}

Result<std::unique_ptr<RecordStore>> RecordStore::create(std::string path,
                                                         std::unique_ptr<RecordDisk> disk,
                                                         RecordRules& rules,
                                                         RecordStats& stats) {
    std::unique_ptr<RecordStore> store(  // NOLINT: private constructor
        new RecordStore(std::move(path), std::move(disk), rules, stats));
    WEIR_TRY_ASSIGN(store->pool_, io::WorkerPool::create(1, kMaxJobs));
    store->open();
    return store;
}

// ---- opening ----

void RecordStore::prepare() {
    if (!opened_ && !opening_ && MonoClock::now() >= retry_at_) {
        open();
    }
}

void RecordStore::open() {
    struct Job {
        std::vector<RecordedFile> files;
        Error error;
    };

    const auto job = std::make_shared<Job>();
    opening_ = true;
    Error refused = submit(
        [job, &disk = *disk_] {
            auto files = disk.open();
            if (files.ok()) {
                job->files = std::move(*files);
            } else {
                job->error = files.take_error();
            }
        },
        [this, job] {
            opening_ = false;
            opened_ = !job->error;
            retry_at_ = MonoClock::now() + kRetry;
            if (job->error) {
                stats_.errors++;
                if (trouble_ != job->error.message()) {
                    log::error("record: nothing can be recorded into {}: {}", log::token(path_),
                               job->error.message());
                }
                trouble_ = job->error.message();
                return;
            }
            trouble_.clear();
            take_files(std::move(job->files));
            tidy();
        });
    opening_ = opening_ && !refused;
}

// All that the folder has. Those that were repaired just now are reported.
void RecordStore::take_files(std::vector<RecordedFile> files) {
    uint64_t repaired = 0;
    for (const RecordedFile& file : files) {
        if (file.fresh) {
            repaired++;
            log::warn("record: {} was not finished, and is repaired: {} frames, {} ms, {} bytes",
                      log::token(file.file), file.frames, file.duration_ms, file.bytes);
        }
    }
    stats_.repaired += repaired;
    files_.assign(std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
    log::info("record: {} has {} files, {} of them repaired now", log::token(path_), files_.size(),
              repaired);
    for (RecordedFile& file : files_) {
        if (std::exchange(file.fresh, false)) {
            rules_.on_recorded(file);
        }
    }
}

// ---- growing files ----

FileQueue* RecordStore::begin(FileOrder order, RecordBudget& budget, FileQueueOwner& owner) {
    queues_.push_back(std::make_unique<FileQueue>(*this, std::move(order), budget, owner));
    return queues_.back().get();
}

void RecordStore::drop(FileQueue& queue) {
    std::erase_if(queues_, [&](const auto& each) { return each.get() == &queue; });
    if (queues_.empty() && on_idle_) {
        on_idle_();
    }
}

void RecordStore::note_failure(const Error& why, const RecordLoss& loss) {
    stats_.errors++;
    stats_.frames_lost += loss.frames;
    stats_.bytes_lost += loss.bytes;
    if (why.code() == ErrorCode::kNotFound) {
        opened_ = false;  // it may come back
    }
    trouble_ = why.message();
    tidy();  // a full disk may get room
}

void RecordStore::add_finished(RecordedFile file) {
    stats_.files++;
    trouble_.clear();
    log::info("record end file={} stream={} duration_ms={} bytes={} frames={} why={}",
              log::token(file.file), log::token(file.key.to_string()), file.duration_ms, file.bytes,
              file.frames, file.why);
    rules_.on_recorded(file);
    files_.push_back(std::move(file));
}

// ---- what has to go ----

bool RecordStore::remove(const std::string& file) {
    const auto found = std::ranges::find(files_, file, &RecordedFile::file);
    if (found == files_.end()) {
        return false;
    }
    files_.erase(found);
    unlink(file);
    return true;
}

void RecordStore::unlink(const std::string& file) {
    const auto failed = std::make_shared<Error>();
    (void)submit([file, failed, &disk = *disk_] { *failed = disk.remove(file); },
                 [this, file, failed] {
                     if (*failed && failed->code() != ErrorCode::kNotFound) {
                         stats_.errors++;
                         log::error("record: {}", failed->message());
                     }
                 });
}

void RecordStore::tick() {
    std::erase_if(queues_, [](const auto& each) { return each->is_dead(); });
    tidy();
}

void RecordStore::tidy() {
    if (looking_ || !opened_) {
        prepare();
        return;
    }
    const auto found = std::make_shared<std::optional<uint64_t>>();
    looking_ = true;
    Error refused = submit(
        [found, &disk = *disk_] {
            auto bytes = disk.free_bytes();
            if (bytes.ok()) {
                *found = *bytes;
            }
        },
        [this, found] {
            looking_ = false;
            if (*found) {
                free_bytes_ = **found;
                make_room();
            } else {
                opened_ = false;
            }
        });
    looking_ = looking_ && !refused;
}

// The oldest go first. What grows is not in the list.
void RecordStore::make_room() {
    struct Section {
        RecordOptions options;
        uint64_t bytes = 0;
    };

    std::map<std::string, Section, std::less<>> sections;
    for (const RecordedFile& file : files_) {
        const auto found = sections.find(file.section);
        if (found == sections.end()) {
            sections[file.section] = {rules_.record_options(file.key), file.bytes};
        } else {
            found->second.bytes += file.bytes;
        }
    }
    const int64_t now_ms = wall_time_ms();
    uint64_t free_bytes = free_bytes_;
    size_t looked = 0;
    for (auto file = files_.begin(); file != files_.end() && looked < kMaxLooked; looked++) {
        Section& section = sections[file->section];
        const RecordOptions& keep = section.options;
        const bool old = keep.keep_ms > 0 && file->ended_ms + keep.keep_ms < now_ms;
        const bool much = keep.keep_bytes > 0 && section.bytes > keep.keep_bytes;
        const bool full = min_free_ > 0 && free_bytes < min_free_;
        if (!old && !much && !full) {
            ++file;
            continue;
        }
        log::info("record: {} goes: {}", log::token(file->file),
                  old    ? "it is older than keep"
                  : much ? "its vhost or application has more than keep"
                         : "the disk has less room than min_free");
        stats_.removed++;
        section.bytes -= std::min(section.bytes, file->bytes);
        free_bytes += file->bytes;
        unlink(file->file);
        file = files_.erase(file);
    }
    const bool was_short = std::exchange(short_of_space_, min_free_ > 0 && free_bytes < min_free_);
    if (short_of_space_ && !was_short) {
        log::error(
            "record: {} has {} bytes free, less than min_free ({}), and there is nothing that "
            "could go: recording waits",
            log::token(path_), free_bytes_, min_free_);
    }
}

}  // namespace weir::session
