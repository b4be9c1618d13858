#include "session/hls/hls_folder.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "io/deadline.h"
#include "session/hls/hls_file_names.h"

namespace weir::session {

struct HlsFolder::AtDisk {
    HlsArchive* files = nullptr;  // null: nothing is at the disk
    HlsArchive::Turn turn;
    HlsWritten done;
};

HlsFolder::HlsFolder(std::string path,
                     std::unique_ptr<HlsDisk> disk,
                     HlsDiskStats& stats,
                     OnStored on_stored)
    : path_(std::move(path)),
      disk_(std::move(disk)),
      stats_(stats),
      on_stored_(std::move(on_stored)),
      at_disk_(std::make_unique<AtDisk>()) {}

HlsFolder::~HlsFolder() {
    pool_.reset();
}

Result<std::unique_ptr<HlsFolder>> HlsFolder::create(std::string path,
                                                     std::unique_ptr<HlsDisk> disk,
                                                     HlsDiskStats& stats,
                                                     OnStored on_stored,
                                                     const io::MakeWorkers& make_workers) {
    std::unique_ptr<HlsFolder> folder(  // NOLINT: private constructor
        new HlsFolder(std::move(path), std::move(disk), stats, std::move(on_stored)));
    WEIR_TRY_ASSIGN(folder->pool_, make_workers(1, kMaxJobs));
    folder->open();
    return folder;
}

// ---- opening ----

void HlsFolder::open() {
    const auto error = std::make_shared<Error>();
    opening_ = true;
    Error refused = pool_->submit([error, &disk = *disk_] { *error = disk.open(); },
                                  [this, error] {
                                      opening_ = false;
                                      opened_ = !*error;
                                      retry_at_ = MonoClock::now() + kRetry;
                                      if (*error) {
                                          stats_.errors++;
                                          note_trouble(error->message());
                                      } else {
                                          for (const auto& [name, files] : files_) {
                                              files->begin_anew();
                                          }
                                      }
                                      go_on();
                                  });
    opening_ = opening_ && !refused;
}

// Once for each reason in a row.
void HlsFolder::note_trouble(std::string_view why) {
    if (trouble_.empty()) {
        log::error("hls: segments are not written into {}: {}", log::token(path_), why);
        lost_in_trouble_ = 0;
    }
    trouble_ = why;
}

// ---- streams ----

HlsArchive* HlsFolder::begin(const stream::StreamKey& key, const HlsOptions& options) {
    auto files = std::make_unique<HlsArchive>(*this, key, options);
    const auto found = files_.find(files->folder_name());
    if (found != files_.end()) {
        if (!found->second->has_left()) {
            log::error("hls: stream={} is not written to disk: {}/{} is in use",
                       log::token(key.to_string()), log::token(path_),
                       log::token(files->folder_name()));
            return nullptr;
        }
        std::erase(queue_, found->second.get());
        if (at_disk_->files == found->second.get()) {
            replaced_ = std::move(found->second);
        }
        found->second = std::move(files);
        return found->second.get();
    }
    if (files_.size() >= kMaxStreams) {
        log::error("hls: stream={} is not written to disk: {} has {} streams already",
                   log::token(key.to_string()), log::token(path_), kMaxStreams);
        return nullptr;
    }
    const std::string name = files->folder_name();
    return (files_[name] = std::move(files)).get();
}

const HlsArchive* HlsFolder::find(const stream::StreamKey& key) const {
    const auto found = files_.find(hls_folder_of(key));
    return found == files_.end() ? nullptr : found->second.get();
}

void HlsFolder::tick() {
    const MonoTime now = MonoClock::now();
    std::erase_if(files_, [this](const auto& each) {
        HlsArchive* const files = each.second.get();
        if (!files->is_gone() || at_disk_->files == files) {
            return false;
        }
        std::erase(queue_, files);
        return true;
    });
    for (const auto& [name, files] : files_) {
        if (files->has_left() && now > files->kept_until()) {
            files->dispose();
            want_turn(*files);
        } else if (files->ended_ && files->lists_due_) {
            want_turn(*files);
        }
    }
    if (queue_.empty() && !opened_) {
        go_on();
    }
}

// ---- turns ----

void HlsFolder::want_turn(HlsArchive& files) {
    if (!std::exchange(files.queued_, true)) {
        queue_.push_back(&files);
    }
    go_on();
}

bool HlsFolder::is_idle() const {
    return at_disk_->files == nullptr && !opening_ && (queue_.empty() || !opened_);
}

void HlsFolder::go_on() {
    if (std::exchange(going_, true)) {
        return;
    }
    while (at_disk_->files == nullptr && !opening_ && !queue_.empty()) {
        if (!opened_ && MonoClock::now() >= retry_at_) {
            open();
            break;
        }
        HlsArchive& files = *queue_.front();
        queue_.pop_front();
        files.queued_ = false;
        *at_disk_ = {};
        if (!files.next_turn(at_disk_->turn)) {
            continue;
        }
        Error refused =
            opened_ ? pool_->submit([&at = *at_disk_,
                                     &disk = *disk_] { at.done = disk.write(at.turn.write); },
                                    [this] { take_back(); })
                    : make_error(ErrorCode::kNotFound, "{}", trouble_);
        if (!refused) {
            at_disk_->files = &files;
            break;
        }
        at_disk_->done.error = std::move(refused);
        files.take_back(at_disk_->turn, at_disk_->done);
        *at_disk_ = {};
    }
    going_ = false;
    if (is_idle()) {
        idle_.notify_all();
    }
}

void HlsFolder::take_back() {
    const std::unique_ptr<AtDisk> at = std::exchange(at_disk_, std::make_unique<AtDisk>());
    const HlsWritten& done = at->done;
    stats_.bytes += done.bytes;
    if (done.error) {
        stats_.errors++;
        note_trouble(done.error.message());
        opened_ = opened_ && done.error.code() != ErrorCode::kNotFound;
    } else if (!trouble_.empty()) {
        log::info("hls: segments are written into {} again: {} were not", log::token(path_),
                  lost_in_trouble_);
        trouble_.clear();
    }
    going_ = true;
    at->files->take_back(at->turn, done);
    going_ = false;
    if (replaced_.get() == at->files) {
        std::erase(queue_, at->files);
        replaced_.reset();
    }
    go_on();
}

const net::Segment* HlsFolder::segment_at_disk(const HlsArchive& files, uint64_t number) const {
    const auto& segment = at_disk_->turn.segment;
    return at_disk_->files == &files && segment && segment->number == number ? &*segment : nullptr;
}

void HlsFolder::note_lost() {
    stats_.lost++;
    lost_in_trouble_++;
}

void HlsFolder::note_too_slow() {
    note_trouble("the disk is too slow: too much waits for it");
}

void HlsFolder::note_stored(const HlsStoredView& stored) {
    stats_.segments++;
    on_stored_(stored);
}

Error HlsFolder::stop(io::Deadline deadline) {
    while (!is_idle()) {
        const Error error = idle_.wait_even_interrupted(deadline);
        if (error && !is_idle()) {
            return make_error(ErrorCode::kTimeout,
                              "the disk of {} is too slow: the last segments of HLS are missing "
                              "there",
                              path_);
        }
    }
    return {};
}

}  // namespace weir::session
