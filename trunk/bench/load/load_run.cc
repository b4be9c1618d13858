#include "bench/load/load_run.h"

#include <algorithm>

#include <fmt/format.h>

namespace weir::load {
namespace {

constexpr Millis kTick{200};
constexpr uint64_t kProgressEveryNs = 1'000'000'000;
constexpr int kQuarters = 4;

double seconds(uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

double ms(uint64_t us) {
    return static_cast<double>(us) / 1e3;
}

}  // namespace

LoadRun::LoadRun(const RunOptions& options, std::string command, std::string target)
    : options_(options), report_(std::move(command), std::move(target)) {}

LoadRun::~LoadRun() = default;

Result<std::unique_ptr<LoadRun>> LoadRun::create(const RunOptions& options,
                                                 std::string command,
                                                 std::string target) {
    // lint: allow-new - private constructor
    std::unique_ptr<LoadRun> run(new LoadRun(options, std::move(command), std::move(target)));
    WEIR_TRY_ASSIGN(run->control_, RunControl::create(options));
    WEIR_TRY_ASSIGN(run->usage_, UsageProbe::create(options.server_pid));
    return run;
}

Error LoadRun::add_publishers(std::unique_ptr<PublisherGroup> group, Millis ramp) {
    PublisherGroup& added = *publishers_.emplace_back(std::move(group));
    WEIR_TRY(added.start(ramp, options_.connect_timeout));
    return added.wait_started(io::Deadline::after(ramp + options_.connect_timeout));
}

PlayerGroup& LoadRun::add_players(GroupOptions options, PlayTarget target) {
    return *players_.emplace_back(
        std::make_unique<PlayerGroup>(std::move(options), std::move(target)));
}

Error LoadRun::grow(PlayerGroup& group, uint32_t clients, Millis ramp) {
    uint64_t descriptors = clients;
    for (const auto& each : players_) {
        descriptors += each->clients().size();
    }
    for (const auto& each : publishers_) {
        descriptors += each->size();
    }
    WEIR_TRY(ensure_descriptors(descriptors));
    if (!started_) {
        started_ = true;
        usage_.before_players();
    }
    return group.grow(clients, ramp);
}

void LoadRun::phase(std::string_view name) {
    phase_ = name;
}

bool LoadRun::wait_until(io::Deadline deadline) {
    while (running() && !deadline.passed()) {
        io::Deadline next = io::Deadline::after(kTick);
        control_->wait_until(next.time() < deadline.time() ? next : deadline);
        tick();
    }
    return running();
}

bool LoadRun::wait_connected() {
    auto growing = [&] {
        return std::any_of(players_.begin(), players_.end(),
                           [](const auto& each) { return each->growing(); });
    };
    while (running() && growing()) {
        wait_for(Millis(20));
    }
    return running();
}

bool LoadRun::wait_settled(io::Deadline deadline) {
    auto settled = [&] {
        return std::all_of(players_.begin(), players_.end(),
                           [](const auto& each) { return each->settled(); });
    };
    while (running() && !deadline.passed()) {
        if (settled()) {
            return true;
        }
        wait_for(Millis(20));
    }
    return settled();
}

void LoadRun::begin_window() {
    for (auto& each : players_) {
        each->begin_window();
    }
    for (auto& each : publishers_) {
        each->reset_totals();
    }
    cut_short_ = false;
    window_begin_ns_ = now_ns();
    usage_.window_begins();
}

void LoadRun::end_window() {
    usage_.window_ends();
    result_ = PlayResult();
    result_.window_s = seconds(now_ns() - window_begin_ns_);
    for (auto& each : players_) {
        each->set_quarter(0);
        bool judge_gaps =
            !cut_short_ && Millis(static_cast<int64_t>(result_.window_s * 1000)) / kQuarters >=
                               each->options().stall;
        result_.add(*each, judge_gaps);
    }
}

void LoadRun::measure(Millis duration, bool until_empty) {
    begin_window();
    MonoTime begin = MonoClock::now();
    for (int quarter = 1; quarter <= kQuarters && running(); quarter++) {
        for (auto& each : players_) {
            each->set_quarter(quarter);
        }
        io::Deadline end = io::Deadline::at(begin + Micros(duration) * quarter / kQuarters);
        while (running() && !end.passed()) {
            if (until_empty) {
                stop_when_empty();
            }
            io::Deadline next = io::Deadline::after(kTick);
            wait_until(next.time() < end.time() ? next : end);
        }
    }
    cut_short_ = !running();
    end_window();
}

void LoadRun::stop_when_empty() {
    uint64_t connected = 0;
    uint64_t left = 0;
    for (const auto& each : players_) {
        GroupCounts counts = each->counts();
        if (counts.open() > 0 || each->growing()) {
            return;
        }
        connected += counts.connected;
        left += counts.left;
    }
    control_->stop(connected == 0 ? "no player could connect"
                   : left > 0     ? "every player has left or ended"
                                  : "every player has ended");
}

void LoadRun::tick() {
    uint64_t now = now_ns();
    if (now - progress_ns_ >= kProgressEveryNs) {
        show_progress(now);
    }
}

void LoadRun::show_progress(uint64_t now) {
    GroupCounts clients;
    PlaySum sum;
    Histogram recent;
    for (auto& each : players_) {
        clients.add(each->counts());
        sum.add(each->sum());
        recent.merge(each->totals().recent);
        each->totals().recent.clear();
    }
    uint64_t bytes = sum.counts.bytes;
    double rate = progress_ns_ == 0 ? 0
                                    : static_cast<double>(bytes - progress_bytes_) * 8 /
                                          seconds(now - progress_ns_);
    std::string text = fmt::format("{}: {} playing, {} refused, {} broken, {}, lost {}, wrong {}",
                                   phase_, clients.playing, clients.refused, clients.broken,
                                   bit_rate_text(rate), sum.lost, sum.wrong());
    if (recent.count() > 0) {
        text += fmt::format(", delay p50 {:.1f} p99 {:.1f} ms", ms(recent.quantile(0.5)),
                            ms(recent.quantile(0.99)));
    }
    if (auto cpu = usage_.recent_server_cpu()) {
        text += fmt::format(", server CPU {:.0f} %", *cpu * 100);
    }
    progress_bytes_ = bytes;
    progress_ns_ = now;
    control_->progress(text);
}

PlayResult LoadRun::result() const {
    return result_;
}

void LoadRun::stop() {
    if (ended_) {
        return;
    }
    ended_ = true;
    for (auto& each : players_) {
        each->stop();
    }
    make_report();
    for (auto& each : publishers_) {
        each->stop();
    }
}

void LoadRun::make_report() {
    add_rows(report_, result_);
    add_default_conditions(report_, result_);
    for (auto& each : publishers_) {
        each->add_to(report_, result_.window_s);
    }
    usage_.add_to(report_, result_.clients.open(),
                  static_cast<double>(result_.media.counts.window_bytes) * 8);
}

int LoadRun::finish() {
    stop();
    return control_->finish(report_);
}

}  // namespace weir::load
