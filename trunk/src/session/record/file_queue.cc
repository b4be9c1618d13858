#include "session/record/file_queue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "session/record/record_store.h"

namespace weir::session {

// What one turn on the writer's thread takes and gives.
struct FileQueue::Job {
    std::vector<RecordUnit> units;
    size_t done = 0;
    std::optional<RecordedFile> finished;
    std::string name;
    Error error;
};

FileQueue::FileQueue(RecordStore& store,
                     FileOrder order,
                     RecordBudget& budget,
                     FileQueueOwner& owner)
    : store_(store),
      order_(std::move(order)),
      budget_(budget),
      owner_(&owner),
      file_(std::make_shared<std::unique_ptr<GrowingFile>>()) {}

FileQueue::~FileQueue() {
    budget_.bytes -= queued_;
}

bool FileQueue::add(RecordUnit unit) {
    const uint64_t size = unit.bytes.size();
    const bool empty = queued_ == 0;
    if (failed_ || ends_ || (!empty && queued_ + size > kMaxBytes) ||
        budget_.bytes + size > RecordBudget::kMaxBudget) {
        return false;
    }
    queued_ += size;
    budget_.bytes += size;
    waiting_.push_back(std::move(unit));
    go_on();
    return true;
}

void FileQueue::finish(std::string why) {
    owner_ = nullptr;
    ends_ = true;
    why_ = std::move(why);
    go_on();
}

void FileQueue::go_on() {
    if (busy_ || (waiting_.empty() && !ends_)) {
        return;
    }
    const auto job = std::make_shared<Job>();
    job->units = std::exchange(waiting_, {});
    const bool last = ends_;
    busy_ = true;
    Error refused = store_.submit(
        [job, file = file_, order = order_, &disk = store_.disk(), last, why = why_,
         fallback = std::max(written_end_ms_, job->units.empty() ? 0 : job->units.back().end_ms)] {
            if (!*file && !job->units.empty()) {
                auto made = disk.create(order);
                if (made.ok()) {
                    *file = std::move(*made);
                } else {
                    job->error = made.take_error();
                }
            }
            while (!job->error && job->done < job->units.size()) {
                job->error = (*file)->append(job->units[job->done].bytes);
                job->done += job->error ? 0U : 1U;
            }
            if (*file) {
                job->name = (*file)->name();
            }
            if (last || job->error) {
                if (*file) {
                    auto done = (*file)->finish(job->error ? "gap" : why, fallback);
                    if (done.ok()) {
                        job->finished = std::move(*done);
                    } else if (!job->error) {
                        job->error = done.take_error();
                    }
                }
                file->reset();
            }
        },
        [this, job, last] {
            busy_ = false;
            take_back(*job);
            if (last || failed_) {
                store_.drop(*this);  // deletes this
                return;
            }
            go_on();
        });
    if (refused) {
        busy_ = false;
        job->error = std::move(refused);
        take_back(*job);
        ends_ = true;
    }
}

void FileQueue::take_back(Job& job) {
    RecordLoss loss;
    for (size_t i = 0; i < job.units.size(); i++) {
        const RecordUnit& unit = job.units[i];
        queued_ -= unit.bytes.size();
        budget_.bytes -= unit.bytes.size();
        if (i < job.done) {
            written_ += unit.bytes.size();
            frames_ += unit.frames;
            written_end_ms_ = unit.end_ms;
            store_.note_written(unit.bytes.size());
        } else {
            loss.frames += unit.frames;
            loss.bytes += unit.bytes.size();
            loss.duration_ms = unit.end_ms - written_end_ms_;
        }
    }
    name_ = std::move(job.name);
    if (job.finished && job.finished->frames > 0) {
        store_.add_finished(std::move(*job.finished));
    }
    if (!job.error) {
        return;
    }
    failed_ = true;
    for (const RecordUnit& unit : waiting_) {
        queued_ -= unit.bytes.size();
        budget_.bytes -= unit.bytes.size();
        loss.frames += unit.frames;
        loss.bytes += unit.bytes.size();
        loss.duration_ms = unit.end_ms - written_end_ms_;
    }
    waiting_.clear();
    FileQueueOwner* const owner = std::exchange(owner_, nullptr);
    store_.note_failure(job.error, owner == nullptr ? loss : RecordLoss());
    if (owner != nullptr) {
        owner->on_file_failed(*this, job.error, loss);
    }
}

}  // namespace weir::session
