// HookService: what is told, the requests, and attempts to come.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/hooks/hook_service.h"
#include "app/hooks/hook_service_types.h"
#include "base/random.h"
#include "base/redact.h"
#include "io/deadline.h"
#include "proto/http/request.h"

namespace weir::app {

using net::HookAction;
using Verdict = HookAnswer::Verdict;

// ---- notifications ----

void HookService::tell(Ref<HookLine> line, std::unique_ptr<HookFacts> facts, HookEnd end) {
    const HookAction action = closing_of(facts->action);
    const Ref<Targets> targets = targets_of(facts->vhost, facts->app);
    if (!targets || !targets->config.has(action)) {
        return;
    }
    auto task = std::make_unique<Task>();
    task->action = action;
    task->targets = targets;
    task->lane = targets->lane_of(action);
    task->event_id = random_id(system_random(), kEventIdLength);
    task->time_ms = wall_time_ms();
    task->give_up = MonoClock::now() + std::max(targets->config.retry, targets->config.timeout);
    task->bytes = sizeof(Task) + facts->bytes() + end.detail.capacity();
    task->facts = std::move(facts);
    task->end = std::move(end);
    if (told_bytes_ + task->bytes > kMaxToldBytes) {
        task->bytes = 0;
        note_drop(*task);
        return;
    }
    told_bytes_ += task->bytes;
    if (!schedule_.add(*line, std::move(task))) {
        return;
    }
    go_on();
}

// Events of recordings are no client's: each stream has a line of its own, so they keep their
// order.
void HookService::tell_record(const net::RecordEventView& file) {
    if (stopping_) {
        return;
    }
    const std::string line = fmt::format("record {}/{}/{}", file.vhost, file.app, file.stream);
    for (const HookAction action : {HookAction::kRecord, HookAction::kDvr}) {
        net::HookRequestView what;
        what.action = action;
        what.vhost = file.vhost;
        what.app = file.app;
        what.stream = file.stream;
        auto facts = std::make_unique<HookFacts>("", "", "record", what);
        facts->folder = file.folder;
        facts->file = file.file;
        facts->format = file.format;
        facts->record_reason = file.reason;
        facts->started_ms = file.started_ms;
        facts->frames = file.frames;
        facts->repaired = file.repaired;
        HookEnd end;
        end.duration = file.duration;
        end.recv_bytes = file.bytes;
        tell(line_of(line), std::move(facts), std::move(end));
    }
}

// Each stream has a line of its own, as with recordings. The folder of the process is SRS's `cwd`.
void HookService::tell_segment(const net::SegmentEventView& segment) {
    if (stopping_ || !wants(HookAction::kHls, {std::string(segment.vhost), std::string(segment.app),
                                               std::string(segment.stream)})) {
        return;
    }
    net::HookRequestView what;
    what.action = HookAction::kHls;
    what.vhost = segment.vhost;
    what.app = segment.app;
    what.stream = segment.stream;
    auto facts = std::make_unique<HookFacts>("", "", "hls", what);
    std::error_code failed;
    facts->folder = std::filesystem::current_path(failed).string();
    facts->url = fmt::format("{}/{}", segment.folder, segment.file);
    facts->file = fmt::format("{}/{}", segment.root, facts->url);
    facts->playlist_url = fmt::format("{}/{}", segment.folder, segment.playlist);
    facts->playlist = fmt::format("{}/{}", segment.root, facts->playlist_url);
    facts->number = segment.number;
    HookEnd end;
    end.duration = segment.duration;
    tell(line_of(fmt::format("hls {}/{}/{}", segment.vhost, segment.app, segment.stream)),
         std::move(facts), std::move(end));
}

void HookService::note_drop(HookTask& dropped) {
    const auto& task = static_cast<const Task&>(dropped);
    told_bytes_ -= task.bytes;
    stats_.of(task.action).dropped++;
    dropped_at_stop_ += stopping_ ? 1 : 0;
    if (!stopping_ && drops_.allow(MonoClock::now())) {
        log::warn(
            "hook {} was not told to anybody: too many wait, or nobody took it in time ({} "
            "more in the last second)",
            net::to_string(task.action), drops_.suppressed());
    }
}

// ---- sending ----

// Begins what can be begun. Never yields.
void HookService::go_on() {
    while (HookTask* task = schedule_.start(MonoClock::now())) {
        Error failed = tasks_.spawn("hook", io::StackSize::kNormal, [this, task] { work(task); });
        if (failed) {
            auto& own = static_cast<Task&>(*task);
            log_failure(own.action, own.targets->config.urls_of(own.action).front(),
                        failed.message());
            if (own.asks) {
                answer(own, HookAnswer{Verdict::kError, "no coroutine", false});
            } else {
                const size_t bytes = own.bytes;
                if (!schedule_.retry(own, MonoClock::now())) {
                    told_bytes_ -= bytes;
                }
            }
        }
    }
    arm_timer();
}

void HookService::work(HookTask* task) {
    while (task != nullptr) {
        perform(static_cast<Task&>(*task));
        task = schedule_.start(MonoClock::now());
    }
    arm_timer();
    if (schedule_.running() == 0) {
        finished_.notify_all();
    }
}

// Ends with the task's end, or with its place among those that are tried again.
void HookService::perform(Task& task) {
    const std::vector<http::Url>& urls = task.targets->config.urls_of(task.action);
    if (task.asks) {
        if (task.question->waiter == nullptr || MonoClock::now() >= task.deadline) {
            // It left before anybody was asked, or is about to.
            answer(task, {.text = "no answer in time", .late = true});
            return;
        }
        const std::string body = hook_body(identity_, {task.action, task.question->record->facts(),
                                                       nullptr, task.event_id, task.time_ms});
        HookAnswer verdict;
        for (const http::Url& url : urls) {
            verdict = ask_server(task, url, body);
            if (verdict.verdict != Verdict::kAllow) {
                break;
            }
        }
        answer(task, std::move(verdict));
        return;
    }
    const std::string body =
        hook_body(identity_, {task.action, *task.facts, &task.end, task.event_id, task.time_ms});
    HookCounters& counters = stats_.of(task.action);
    counters.retried += task.attempts > 1 ? 1 : 0;
    bool again = true;
    while (task.url < urls.size() && tell_server(task, urls[task.url], body, again)) {
        task.url++;
    }
    const size_t bytes = task.bytes;
    const MonoTime now = MonoClock::now();
    if (task.url == urls.size()) {
        counters.told++;
        schedule_.done(task, now);
    } else if (again && task.targets->config.retry > Millis(0)) {
        if (schedule_.retry(task, now)) {
            return;
        }
        counters.dropped++;
        dropped_at_stop_ += stopping_ ? 1 : 0;
    } else {
        counters.dropped++;
        dropped_at_stop_ += stopping_ ? 1 : 0;
        schedule_.done(task, now);
    }
    told_bytes_ -= bytes;
}

void HookService::answer(Task& task, HookAnswer verdict) {
    const Ref<Question> question = task.question;
    question->task = nullptr;
    if (question->waiter != nullptr) {
        question->answer = std::move(verdict);
        question->waiter->notify_all();
    } else if (verdict.verdict == Verdict::kAllow && question->record) {
        question->record->end_unseen("the client hung up while a hook was asked");
    }
    schedule_.done(task, MonoClock::now());
}

Result<http::Response> HookService::post(Task& task,
                                         const http::Url& url,
                                         const std::string& body) {
    http::Fields fields{{"Content-Type", "application/json"},
                        {"Accept", "application/json"},
                        {"X-Weir-Event", task.event_id}};
    const config::HttpHooksConfig& config = task.targets->config;
    if (const std::string& secret = task.targets->secret; !secret.empty()) {
        const std::string timestamp = std::to_string(wall_time_ms() / 1000);
        fields.add("X-Weir-Timestamp", timestamp);
        fields.add("X-Weir-Signature", hook_signature(secret, timestamp, body));
    }
    HookCounters& counters = stats_.of(task.action);
    counters.requests++;
    const MonoTime begun = MonoClock::now();
    const MonoTime deadline = task.asks ? task.deadline : begun + config.timeout;
    Result<http::Response> response =
        http_.exchange(http::Method::kPost, url, fields, body, io::Deadline::at(deadline));
    counters.note_latency(MonoClock::now() - begun);
    return response;
}

HookAnswer HookService::ask_server(Task& task, const http::Url& url, const std::string& body) {
    Result<http::Response> response = post(task, url, body);
    HookAnswer verdict;
    if (response.ok()) {
        verdict = read_hook_answer(*response);
    } else {
        verdict.text = response.error().message();
        verdict.late = response.error().code() == ErrorCode::kTimeout;
    }
    if (verdict.verdict == Verdict::kError) {
        stats_.of(task.action).failed++;
        log_failure(task.action, url, verdict.text);
    } else if (verdict.bare_status != 0 && bare_refusals_.allow(MonoClock::now())) {
        log::warn(
            "hook {} refuses by status {} alone, without a code: is the address right? url={} ({} "
            "more in the last second)",
            net::to_string(task.action), verdict.bare_status, hidden_path(url.shown()),
            bare_refusals_.suppressed());
    }
    return verdict;
}

// False: it was not taken; `again` tells whether that may change.
bool HookService::tell_server(Task& task,
                              const http::Url& url,
                              const std::string& body,
                              bool& again) {
    Result<http::Response> response = post(task, url, body);
    if (response.ok() && hook_took_it(*response)) {
        return true;
    }
    stats_.of(task.action).failed++;
    if (response.ok()) {
        again = response->status >= 500 || response->status == 408 || response->status == 429;
        log_failure(task.action, url, fmt::format("it answers with status {}", response->status));
    } else if (response.error().code() != ErrorCode::kInterrupted) {
        log_failure(task.action, url, response.error().message());
    }
    return false;
}

void HookService::log_failure(HookAction action, const http::Url& url, std::string_view why) {
    if (failures_.allow(MonoClock::now())) {
        log::warn("hook {} failed url={}: {} ({} more in the last second)", net::to_string(action),
                  hidden_path(url.shown()), log::escaped(why), failures_.suppressed());
    }
}

// ---- attempts to come ----

void HookService::arm_timer() {
    if (!schedule_.next_due()) {
        return;
    }
    if (!timer_runs_ && !stopping_) {
        timer_runs_ = !tasks_.spawn("hook timer", io::StackSize::kNormal, [this] { run_timer(); });
    }
    timer_.notify_all();
}

void HookService::run_timer() {
    for (;;) {
        const std::optional<MonoTime> due = schedule_.next_due();
        // Without anything due it is ended by stop(), or woken by arm_timer().
        Error ended = timer_.wait_until(due ? io::Deadline::at(*due) : io::Deadline::forever());
        if (ended.code() == ErrorCode::kInterrupted) {
            return;
        }
        if (due && MonoClock::now() >= *due) {
            go_on();
        }
    }
}

}  // namespace weir::app
