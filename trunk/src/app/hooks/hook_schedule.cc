// Invariants: a line is kReady while it is in a lane's queue, kDelayed while in delayed_, kRunning
// while its first task is sent, kIdle otherwise, and then it is empty. A kReady line may have
// become empty, or its first task another one, by cancel(): take() looks again.
#include "app/hooks/hook_schedule.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"

namespace weir::app {

bool HookSchedule::add(HookLine& line, std::unique_ptr<HookTask> task) {
    if (!task->asks && (told_ >= kMaxTold || line.tasks_.size() >= kMaxInLine)) {
        on_drop_(*task);
        return false;
    }
    told_ += task->asks ? 0U : 1U;
    task->line_ = &line;
    line.tasks_.push_back(std::move(task));
    if (line.state_ == HookLine::State::kIdle) {
        enqueue(line);
    }
    return true;
}

// Behind the others of its lane.
void HookSchedule::enqueue(HookLine& line) {
    const HookTask& first = *line.tasks_.front();
    Lane& lane = lanes_[first.lane];
    (first.asks ? lane.asking : lane.telling).emplace_back(&line);
    line.state_ = HookLine::State::kReady;
}

void HookSchedule::remove_front(HookLine& line) {
    told_ -= line.tasks_.front()->asks ? 0U : 1U;
    line.tasks_.pop_front();
}

HookTask* HookSchedule::start(MonoTime now) {
    wake_due(now);
    do {
        moved_ = false;
        for (auto& [name, lane] : lanes_) {
            if (HookTask* task = start_in(lane, name, now)) {
                return task;
            }
        }
    } while (moved_);  // to a lane that had been looked at
    std::erase_if(lanes_, [](const auto& each) {
        const Lane& lane = each.second;
        return lane.running == 0 && lane.asking.empty() && lane.telling.empty();
    });
    return nullptr;
}

HookTask* HookSchedule::start_in(Lane& lane, const std::string& name, MonoTime now) {
    HookTask* task = nullptr;
    if (lane.running < kPerLane) {
        task = take(lane.asking, name, true, now);
    }
    if (task == nullptr && lane.running < kPerLane && lane.running_told < kToldPerLane) {
        task = take(lane.telling, name, false, now);
    }
    if (task != nullptr) {
        lane.running++;
        lane.running_told += task->asks ? 0U : 1U;
        running_++;
        task->attempts++;
    }
    return task;
}

HookTask* HookSchedule::take(std::deque<Ref<HookLine>>& from,
                             const std::string& name,
                             bool asks,
                             MonoTime now) {
    while (!from.empty()) {
        const Ref<HookLine> line = std::move(from.front());
        from.pop_front();
        while (!line->tasks_.empty() && !line->tasks_.front()->asks &&
               line->tasks_.front()->give_up < now) {
            on_drop_(*line->tasks_.front());
            remove_front(*line);
        }
        if (line->tasks_.empty()) {
            line->state_ = HookLine::State::kIdle;
            continue;
        }
        HookTask& first = *line->tasks_.front();
        if (first.lane != name || first.asks != asks) {
            enqueue(*line);
            moved_ = true;
            continue;
        }
        line->state_ = HookLine::State::kRunning;
        line->retain();  // until leave_lane(): a running task has its line
        return &first;
    }
    return nullptr;
}

void HookSchedule::leave_lane(const HookTask& task) {
    const auto found = lanes_.find(task.lane);
    WEIR_CHECK(found != lanes_.end() && task.line_->state_ == HookLine::State::kRunning);
    found->second.running--;
    found->second.running_told -= task.asks ? 0U : 1U;
    running_--;
}

void HookSchedule::done(HookTask& task, MonoTime) {
    HookLine& line = *task.line_;
    leave_lane(task);
    remove_front(line);
    line.state_ = HookLine::State::kIdle;
    if (!line.tasks_.empty()) {
        enqueue(line);
    }
    line.release();
}

bool HookSchedule::retry(HookTask& task, MonoTime now) {
    WEIR_CHECK(!task.asks);
    const MonoTime due = now + delay_after(task.attempts);
    if (hurried_ || due > task.give_up) {
        done(task, now);
        return false;
    }
    HookLine& line = *task.line_;
    leave_lane(task);
    line.state_ = HookLine::State::kDelayed;
    delayed_.emplace(due, Ref<HookLine>(&line));
    line.release();
    return true;
}

bool HookSchedule::cancel(HookTask& task) {
    HookLine& line = *task.line_;
    if (line.state_ == HookLine::State::kRunning && line.tasks_.front().get() == &task) {
        return false;
    }
    const auto found =
        std::ranges::find_if(line.tasks_, [&](const auto& each) { return each.get() == &task; });
    WEIR_CHECK(found != line.tasks_.end());
    told_ -= task.asks ? 0U : 1U;
    line.tasks_.erase(found);
    return true;
}

void HookSchedule::wake_due(MonoTime now) {
    while (!delayed_.empty() && delayed_.begin()->first <= now) {
        const Ref<HookLine> line = delayed_.begin()->second;
        delayed_.erase(delayed_.begin());
        line->state_ = HookLine::State::kIdle;
        if (!line->tasks_.empty()) {
            enqueue(*line);
        }
    }
}

void HookSchedule::hurry() {
    hurried_ = true;
    wake_due(MonoTime::max());
}

void HookSchedule::drop_all() {
    std::vector<Ref<HookLine>> lines;
    for (auto& [name, lane] : lanes_) {
        lines.insert(lines.end(), lane.asking.begin(), lane.asking.end());
        lines.insert(lines.end(), lane.telling.begin(), lane.telling.end());
    }
    for (auto& [due, line] : delayed_) {
        lines.push_back(line);
    }
    for (const Ref<HookLine>& line : lines) {
        std::erase_if(line->tasks_, [this](const std::unique_ptr<HookTask>& task) {
            if (task->asks) {
                return false;
            }
            on_drop_(*task);
            told_--;
            return true;
        });
    }
}

std::optional<MonoTime> HookSchedule::next_due() const {
    return delayed_.empty() ? std::nullopt : std::optional(delayed_.begin()->first);
}

// A quarter more or less, so that the events of one outage do not come back all at once.
Millis HookSchedule::delay_after(uint32_t attempts) {
    const uint32_t doublings = std::min(attempts - 1, 6U);
    const Millis base = std::min(kFirstDelay * (1U << doublings), kLongestDelay);
    std::array<uint8_t, 2> bytes;
    random_.fill(bytes);
    const auto share = static_cast<int64_t>(bytes[0] * 256U + bytes[1]);  // of 65536
    return base * 3 / 4 + base * share / (2 * 65536);
}

}  // namespace weir::app
