#include "session/record/record_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/fnv.h"
#include "session/record/record_folder.h"

namespace weir::session {

uint64_t file_id(std::string_view folder, std::string_view file) {
    return fnv1a(file, fnv1a("\n", fnv1a(folder)));
}

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
                                                         RecordStats& stats,
                                                         const io::MakeWorkers& make_workers) {
    std::unique_ptr<RecordStore> store(  // NOLINT: private constructor
        new RecordStore(std::move(path), std::move(disk), rules, stats));
    WEIR_TRY_ASSIGN(store->pool_, make_workers(1, kMaxJobs));
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
    files_.clear();
    numbers_.clear();
    sections_.clear();
    for (RecordedFile& file : files) {
        add(std::move(file));
    }
    log::info("record: {} has {} files, {} of them repaired now", log::token(path_), files_.size(),
              repaired);
    for (auto& [number, file] : files_) {
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

const FileQueue* RecordStore::growing_named(std::string_view file) const {
    for (const auto& queue : queues_) {
        const std::string_view name = queue->name();
        if (name.size() == file.size() + kGrowingEnd.size() && name.starts_with(file) &&
            name.ends_with(kGrowingEnd)) {
            return queue.get();
        }
    }
    return nullptr;
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
    add(std::move(file));
}

// ---- the list ----

void RecordStore::add(RecordedFile file) {
    add(next_number_++, std::move(file));
}

void RecordStore::add(uint64_t number, RecordedFile file) {
    Section& section = sections_[file.section];
    section.files.insert(number);
    section.bytes += file.bytes;
    numbers_[file_id(file.folder, file.file)] = number;
    files_.emplace(number, std::move(file));
}

const RecordedFile* RecordStore::find(uint64_t id) const {
    const auto number = numbers_.find(id);
    return number == numbers_.end() ? nullptr : &files_.at(number->second);
}

// ---- what has to go ----

bool RecordStore::remove(uint64_t id) {
    const auto number = numbers_.find(id);
    if (number == numbers_.end()) {
        return false;
    }
    unlink(files_.find(number->second), false);
    return true;
}

// From the list at once; what cannot be removed from the disk comes back.
void RecordStore::unlink(Files::iterator at, bool makes_room) {
    struct Job {
        uint64_t number = 0;
        RecordedFile file;
        Error error;
    };

    const auto job = std::make_shared<Job>();
    job->number = at->first;
    job->file = std::move(at->second);
    files_.erase(at);
    numbers_.erase(file_id(job->file.folder, job->file.file));
    Section& section = sections_[job->file.section];
    section.files.erase(job->number);
    section.bytes -= std::min(section.bytes, job->file.bytes);
    const auto put_back = [this, job] { add(job->number, std::move(job->file)); };
    const Error refused =
        submit([job, &disk = *disk_] { job->error = disk.remove(job->file.file); },
               [this, job, put_back, makes_room] {
                   if (job->error && job->error.code() != ErrorCode::kNotFound) {
                       stats_.errors++;
                       trouble_ = job->error.message();
                       log::error("record: {}", trouble_);
                       put_back();
                       return;
                   }
                   stats_.removed += makes_room ? 1 : 0;
               });
    if (refused) {
        put_back();
    }
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
    const int64_t now_ms = wall_time_ms();
    uint64_t free_bytes = free_bytes_;
    size_t gone = 0;
    const auto remove = [&](uint64_t number, std::string_view why) {
        const auto at = files_.find(number);
        log::info("record: {} goes: {}", log::token(at->second.file), why);
        free_bytes += at->second.bytes;
        gone++;
        unlink(at, true);
    };
    for (auto& [name, section] : sections_) {
        while (!section.files.empty() && gone < kMaxGone) {
            const uint64_t oldest = *section.files.begin();
            const RecordedFile& file = files_.at(oldest);
            const RecordOptions keep = rules_.record_options(file.key);
            const bool old = keep.keep_ms > 0 && file.ended_ms + keep.keep_ms < now_ms;
            const bool much = keep.keep_bytes > 0 && section.bytes > keep.keep_bytes;
            if (!old && !much) {
                break;
            }
            remove(oldest,
                   old ? "it is older than keep" : "its vhost or application has more than keep");
        }
    }
    const uint64_t min_free = rules_.min_free_of(path_);
    while (free_bytes < min_free && !files_.empty() && gone < kMaxGone) {
        remove(files_.begin()->first, "the disk has less room than min_free");
    }
    const bool was_short = std::exchange(short_of_space_, free_bytes < min_free);
    if (short_of_space_ && !was_short) {
        log::error(
            "record: {} has {} bytes free, less than min_free ({}), and there is nothing that "
            "could go: recording waits",
            log::token(path_), free_bytes_, min_free);
    }
}

}  // namespace weir::session
