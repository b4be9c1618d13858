#include "app/run/reload.h"

#include <memory>
#include <utility>

#include "base/log.h"
#include "io/coroutine.h"
#include "io/deadline.h"

namespace weir::app {
namespace {

constexpr Millis kTurnWait{10'000};  // for a reload that is under way
constexpr Millis kDiskWait{10'000};  // for the files
constexpr Millis kWatchPeriod{1'000};
constexpr size_t kMaxLoggedChanges = 100;

}  // namespace

// What a worker and the coroutine that waits for it share: the worker may be the last.
struct Reloader::Job {
    bool done = false;
    io::Signal signal;
};

// Held by the one reload that is under way.
class Reloader::Turn {
  public:
    explicit Turn(Reloader& reloader) : reloader_(reloader) { reloader_.running_ = true; }

    ~Turn() {
        reloader_.running_ = false;
        reloader_.ended_.notify_all();
    }

    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

  private:
    Reloader& reloader_;
};

void Reloader::note_loaded(std::vector<std::string> watched, std::string signature) {
    watched_ = std::move(watched);
    signature_ = std::move(signature);
}

bool Reloader::on_worker(std::function<void()> work) {
    auto job = std::make_shared<Job>();
    Error refused = parts_.workers->submit(std::move(work), [job] {
        job->done = true;
        job->signal.notify_all();
    });
    jobs_.push_back(job.get());
    const io::Deadline deadline = io::Deadline::after(kDiskWait);
    while (!refused && !job->done && !stopping_) {
        refused = job->signal.wait_until(deadline);
    }
    std::erase(jobs_, job.get());
    return job->done;
}

ReloadReport Reloader::reload(std::string_view why) {
    ReloadReport report;
    const MonoTime began = MonoClock::now();
    const io::Deadline deadline = io::Deadline::after(kTurnWait);
    while (running_ && !stopping_) {
        if (ended_.wait_until(deadline)) {
            break;
        }
    }
    if (stopping_ || running_) {
        report.errors.push_back(
            {"", 0, 0,
             stopping_ ? "the server is stopping" : "another reload has not ended yet; try again"});
    } else {
        const Turn turn(*this);
        report = reload_now();
    }
    report.took = std::chrono::duration_cast<Millis>(MonoClock::now() - began);
    (report.outcome == ReloadReport::Outcome::kDone ? done_ : failed_)++;
    this->report(why, report);
    return report;
}

ReloadReport Reloader::reload_now() {
    ReloadReport report;
    const auto loaded = std::make_shared<LoadedConfig>();
    if (!on_worker([loaded, source = source_] { *loaded = load(source); })) {
        report.errors.push_back({source_.file, 0, 0, "could not be read in time"});
        return report;
    }
    note_loaded(loaded->outcome.watched, loaded->signature);
    report.warnings = std::move(loaded->outcome.warnings);
    if (!loaded->outcome.ok()) {
        report.outcome = ReloadReport::Outcome::kRefused;
        report.errors = std::move(loaded->outcome.errors);
        return report;
    }
    config::Config& next = *loaded->outcome.config;
    if (parts_.check) {
        report.errors = parts_.check(next);
    }
    if (!report.errors.empty()) {
        report.outcome = ReloadReport::Outcome::kRefused;
        return report;
    }
    for (ListenFailure& failure : parts_.listeners->prepare(parts_.listeners->wanted(next))) {
        report.errors.push_back({failure.address.file.empty() ? source_.file : failure.address.file,
                                 failure.address.line, failure.address.column,
                                 std::string(failure.error.message())});
    }
    if (!report.errors.empty()) {
        report.outcome = ReloadReport::Outcome::kConflict;
        if (parts_.listening) {
            parts_.listening();
        }
        return report;
    }
    report.changes = config::changes_between(parts_.config->settings, next.settings);
    next.settings = config::still_running(parts_.config->settings, std::move(next.settings));
    std::swap(*parts_.config, next);
    if (parts_.reconfigure) {
        parts_.reconfigure(next);
    }
    if (Error failed = parts_.listeners->commit()) {
        report.warnings.push_back(
            fmt::format("not every listener is served: {}", failed.message()));
    }
    if (parts_.listening) {
        parts_.listening();
    }
    report.outcome = ReloadReport::Outcome::kDone;
    return report;
}

void Reloader::report(std::string_view why, const ReloadReport& report) const {
    for (const std::string& warning : report.warnings) {
        log::warn("{}", warning);
    }
    for (const Diagnostic& error : report.errors) {
        log::error("reload: {}", log::escaped(error.to_string(), 1000));
    }
    if (report.outcome != ReloadReport::Outcome::kDone) {
        log::error("reload refused by={} file={} errors={}: the old configuration stays in force",
                   why, source_.file, report.errors.size());
        return;
    }
    size_t restarts = 0;
    for (size_t i = 0; i < report.changes.size(); i++) {
        restarts += report.changes[i].effect == config::ChangeEffect::kRestart ? 1U : 0U;
        if (i < kMaxLoggedChanges) {
            log::info("reload: {}", to_string(report.changes[i]));
        }
    }
    log::info("reloaded by={} file={} changes={} wait_for_restart={} took_ms={}", why, source_.file,
              report.changes.size(), restarts, report.took.count());
}

void Reloader::watch() {
    std::string last;  // of the look before
    while (!io::sleep_for(kWatchPeriod)) {
        if (!parts_.config->config_watch || running_) {
            last.clear();
            continue;
        }
        const auto now = std::make_shared<std::string>();
        if (!on_worker([now, watched = watched_] { *now = signature_of(watched); })) {
            continue;
        }
        // Somebody may be in the middle of writing: not before two looks see the same.
        if (*now != signature_ && *now == last) {
            (void)reload("config_watch");
            last.clear();
        } else {
            last = std::move(*now);
        }
    }
}

void Reloader::stop(io::Deadline deadline) {
    stopping_ = true;
    ended_.notify_all();
    for (Job* job : jobs_) {
        job->signal.notify_all();  // a dead disk may hold the worker
    }
    while (running_ && !ended_.wait_even_interrupted(deadline)) {
    }
}

}  // namespace weir::app
