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
    news_pool_.reset();
}

Result<std::unique_ptr<RecordStore>> RecordStore::create(std::string path,
                                                         std::unique_ptr<RecordDisk> disk,
                                                         RecordRules& rules,
                                                         RecordStats& stats,
                                                         const io::MakeWorkers& make_workers) {
    std::unique_ptr<RecordStore> store(  // NOLINT: private constructor
        new RecordStore(std::move(path), std::move(disk), rules, stats));
    WEIR_TRY_ASSIGN(store->pool_, make_workers(1, kMaxJobs));
    store->siblings_ = store->disk_->siblings();
    if (store->siblings_) {
        WEIR_TRY_ASSIGN(store->news_pool_, make_workers(1, 1));
        (void)store->look_around();
    }
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
    forget([](const RecordedFile& file) { return !file.elsewhere; });
    for (RecordedFile& file : files) {
        add(std::move(file));
    }
    log::info("record: {} has {} files, {} of them repaired now", log::token(path_), own_files(),
              repaired);
    for (auto& [place, file] : files_) {
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

// A name that comes again is that of a new file.
void RecordStore::add(RecordedFile file) {
    const Place place{file.ended_ms, file_id(file.folder, file.file)};
    if (const auto known = ended_.find(place.id); known != ended_.end()) {
        (void)take_out(files_.find({known->second, place.id}));
    }
    Section& section = sections_[file.section];
    section.files.insert(place);
    section.bytes += file.bytes;
    ended_[place.id] = place.ended_ms;
    files_elsewhere_ += file.elsewhere ? 1U : 0U;
    files_.emplace(place, std::move(file));
}

RecordedFile RecordStore::take_out(Files::iterator at) {
    RecordedFile file = std::move(at->second);
    Section& section = sections_[file.section];
    section.files.erase(at->first);
    section.bytes -= std::min(section.bytes, file.bytes);
    ended_.erase(at->first.id);
    files_elsewhere_ -= file.elsewhere ? 1U : 0U;
    files_.erase(at);
    return file;
}

void RecordStore::forget(const std::function<bool(const RecordedFile&)>& which) {
    for (auto at = files_.begin(); at != files_.end();) {
        const auto file = at++;
        if (which(file->second)) {
            (void)take_out(file);
        }
    }
}

const RecordedFile* RecordStore::find(uint64_t id) const {
    const auto ended = ended_.find(id);
    return ended == ended_.end() ? nullptr : &files_.at({ended->second, id});
}

// ---- what other processes have done ----

uint64_t RecordStore::look_around() {
    if (!siblings_) {
        return looks_;
    }
    if (look_ > looks_) {  // what runs may have looked already
        look_again_ = true;
        return look_ + 1;
    }
    look_++;
    read_news();
    return look_;
}

void RecordStore::look_soon() {
    if (MonoClock::now() >= look_soon_at_) {
        look_soon_at_ = MonoClock::now() + kLookPeriod;
        (void)look_around();
    }
}

void RecordStore::read_news() {
    const auto read = std::make_shared<RecordSiblings::Read>();
    const auto end = [this] {
        looks_ = look_;
        if (tidy_after_ != 0 && looks_ >= tidy_after_) {
            tidy_after_ = 0;
            tidy();
        }
        if (on_looked_) {
            on_looked_();
        }
        if (std::exchange(look_again_, false)) {
            (void)look_around();
        }
    };
    Error refused = news_pool_->submit([read, &siblings = *siblings_] { *read = siblings.read(); },
                                       [this, read, end] {
                                           for (RecordNews& news : read->news) {
                                               take_news(news);
                                           }
                                           if (read->more) {
                                               read_news();
                                               return;
                                           }
                                           all_known_ = all_known_ || read->whole;
                                           end();
                                       });
    if (refused) {
        end();
    }
}

void RecordStore::take_news(RecordNews& news) {
    RecordedFile& file = news.file;
    const auto is_theirs = [&news](const RecordedFile& other) {
        return other.elsewhere == news.process;
    };
    const auto growing = growing_elsewhere_.find(file.file);
    if (news.kind == RecordNews::Kind::kAnew) {
        all_known_ = false;
        forget(is_theirs);
        std::erase_if(growing_elsewhere_, [&](const auto& each) { return is_theirs(each.second); });
        return;
    }
    if (news.kind == RecordNews::Kind::kBegun) {
        growing_elsewhere_[file.file] = std::move(file);
        return;
    }
    if (growing != growing_elsewhere_.end() && is_theirs(growing->second)) {
        growing_elsewhere_.erase(growing);
    }
    if (news.kind == RecordNews::Kind::kEnded) {
        add(std::move(file));
        return;
    }
    // It may have had a name that is another process's file's now.
    const uint64_t id = file_id(path_, file.file);
    const RecordedFile* const known = find(id);
    if (known != nullptr && is_theirs(*known)) {
        (void)take_out(files_.find({known->ended_ms, id}));
    }
}

// ---- what has to go ----

bool RecordStore::remove(uint64_t id) {
    const RecordedFile* const file = find(id);
    if (file == nullptr || file->elsewhere) {
        return false;
    }
    unlink(files_.find({file->ended_ms, id}), false);
    return true;
}

// From the list at once; what cannot be removed from the disk comes back.
void RecordStore::unlink(Files::iterator at, bool makes_room) {
    struct Job {
        RecordedFile file;
        Error error;
    };

    const auto job = std::make_shared<Job>();
    job->file = take_out(at);
    const auto put_back = [this, job] { add(std::move(job->file)); };
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
    const uint64_t look = look_around();
    if (looks_ >= look) {
        tidy();
    } else {
        tidy_after_ = look;  // what others have removed is to be known before what is free
    }
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

// The oldest go first. What grows is not in the list. All processes come to the same files, and
// each removes its own: those of the others count as gone, as they soon will be.
void RecordStore::make_room() {
    if (siblings_ && !all_known_) {
        return;  // there may be older ones
    }
    const int64_t now_ms = wall_time_ms();
    uint64_t free_bytes = free_bytes_;
    size_t gone = 0;
    size_t passed = 0;
    const auto may_go_on = [&] { return gone < kMaxGone && passed < kMaxPassed; };
    const auto remove = [&](const Place& place, std::string_view why) {
        const auto at = files_.find(place);
        if (at->second.elsewhere) {
            passed++;
            return;
        }
        log::info("record: {} goes: {}", log::token(at->second.file), why);
        free_bytes += at->second.bytes;
        gone++;
        unlink(at, true);
    };
    for (auto& [name, section] : sections_) {
        uint64_t bytes = section.bytes;
        for (auto at = section.files.begin(); at != section.files.end() && may_go_on();) {
            const Place oldest = *at++;
            const RecordedFile& file = files_.at(oldest);
            const RecordOptions keep = rules_.record_options(file.key);
            const bool old = keep.keep_ms > 0 && file.ended_ms + keep.keep_ms < now_ms;
            const bool much = keep.keep_bytes > 0 && bytes > keep.keep_bytes;
            if (!old && !much) {
                break;
            }
            bytes -= std::min(bytes, file.bytes);
            remove(oldest,
                   old ? "it is older than keep" : "its vhost or application has more than keep");
        }
    }
    const uint64_t min_free = rules_.min_free_of(path_);
    const MonoTime now = MonoClock::now();
    std::optional<Place> awaited;
    for (auto at = files_.begin(); free_bytes < min_free && at != files_.end() && may_go_on();) {
        const Place oldest = at->first;
        if (at->second.elsewhere && !awaited) {
            awaited = oldest;
            awaited_since_ = awaited_ == awaited ? awaited_since_ : now;
        }
        const bool is_removed = at->second.elsewhere && now - awaited_since_ < kTrust;
        free_bytes += is_removed ? at->second.bytes : 0;
        ++at;
        remove(oldest, "the disk has less room than min_free");
    }
    awaited_ = awaited;
    const bool was_short = std::exchange(short_of_space_, free_bytes < min_free);
    if (short_of_space_ && !was_short) {
        log::error(
            "record: {} has {} bytes free, less than min_free ({}), and there is nothing that "
            "could go: recording waits",
            log::token(path_), free_bytes_, min_free);
    }
}

}  // namespace weir::session
