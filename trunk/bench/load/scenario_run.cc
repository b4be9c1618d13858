#include "bench/load/scenario_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/deadline.h"

#include "bench/load/play_target.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr Millis kLookEvery{200};
constexpr Millis kWarmUp{2'000};  // at most, for publishers to fill the server's GOP

std::string_view command_of(ScenarioProtocol protocol) {
    switch (protocol) {
        case ScenarioProtocol::kRtmp: return "rtmp-play";
        case ScenarioProtocol::kTs:
        case ScenarioProtocol::kWsTs: return "ts-play";
        case ScenarioProtocol::kRtc: return "rtc-play";
        case ScenarioProtocol::kRtsp:
        case ScenarioProtocol::kRtspUdp:
        case ScenarioProtocol::kRtspMulticast: return "rtsp-play";
        default: return "flv-play";
    }
}

ProtocolOptions options_of(ScenarioProtocol protocol) {
    ProtocolOptions options;
    if (protocol == ScenarioProtocol::kRtspUdp) {
        options.rtsp.transport = "udp";
    } else if (protocol == ScenarioProtocol::kRtspMulticast) {
        options.rtsp.transport = "multicast";
    }
    return options;
}

StreamOptions stream_options(const ScenarioPublishers& publishers) {
    StreamOptions options;
    options.shape = publishers.shape;
    options.file = publishers.file;
    options.streams = publishers.streams;
    options.serve = publishers.serve;
    options.outage_every = publishers.outage_every;
    options.outage_for = publishers.outage_for;
    return options;
}

// Figures that are summed up, or the worst of all phases.
void set_sum(MetricValues& whole, const MetricValues& phase, std::string_view name) {
    if (auto value = phase.get(name)) {
        whole.set(name, whole.get(name).value_or(0) + *value);
    }
}

void set_most(MetricValues& whole, const MetricValues& phase, std::string_view name) {
    if (auto value = phase.get(name)) {
        whole.set(name, std::max(whole.get(name).value_or(*value), *value));
    }
}

// A phase as one line, for the table of all phases.
std::string line_of(const MetricValues& metrics) {
    std::string line;
    for (std::string_view name : {"clients.playing", "rate", "packets.loss", "loss", "jitter.mean",
                                  "response.p50", "server.cpu", "server.memory"}) {
        const auto index = find_metric(name);
        if (const auto value = metrics.get(name); value && index) {
            line += fmt::format("{}{} {}", line.empty() ? "" : ", ", name,
                                metric_text(metric_table()[*index].quantity, *value));
        }
    }
    return line;
}

void set_last(MetricValues& whole, const MetricValues& phase, std::string_view name) {
    if (auto value = phase.get(name)) {
        whole.set(name, *value);
    }
}

}  // namespace

ScenarioRun::ScenarioRun(const Scenario& scenario, RunOptions options)
    : scenario_(scenario), options_(std::move(options)) {
    options_.connect_timeout = scenario.connect_timeout;
    if (!options_.has_server()) {
        options_.server_pid = scenario.server_pid;
        options_.server_api = scenario.server_api;
    }
}

int ScenarioRun::run() {
    if (Error error = start()) {
        complain(fmt::format("{}: {}", scenario_.file, error.message()));
        if (run_) {
            run_->stop();
        }
        return kExitUsage;
    }
    usage_.before_players();
    usage_.window_begins();
    for (const ScenarioPhase& phase : scenario_.phases) {
        if (!run_->running()) {
            break;
        }
        play(phase);
    }
    usage_.window_ends();
    judge_whole();
    return run_->finish();
}

Error ScenarioRun::start() {
    WEIR_TRY(check_server_conditions());
    WEIR_TRY(ensure_descriptors(descriptors()));
    WEIR_TRY_ASSIGN(run_,
                    LoadRun::create(options_, "scenario",
                                    scenario_.title.empty() ? scenario_.file : scenario_.title));
    WEIR_TRY_ASSIGN(usage_, UsageProbe::create(options_.server_pid, options_.server_api));
    WEIR_TRY(start_publishers());
    return make_groups();
}

Error ScenarioRun::check_server_conditions() const {
    if (options_.has_server()) {
        return {};
    }
    auto check = [](const std::vector<Expression>& conditions) -> Error {
        for (const Expression& each : conditions) {
            if (each.needs_server()) {
                return make_error(
                    ErrorCode::kUnsupported,
                    "'expect {}' needs {}: name the server by 'server {{ pid ...; }}' "
                    "or 'server {{ api ...; }}', --server-pid or --server-api",
                    each.text(), each.first_of_server());
            }
        }
        return {};
    };
    for (const ScenarioPhase& phase : scenario_.phases) {
        WEIR_TRY(check(phase.expects));
    }
    return check(scenario_.expects);
}

// At the same time, at most.
uint64_t ScenarioRun::descriptors() const {
    uint64_t count = 0;
    for (const ScenarioPublishers& each : scenario_.publishers) {
        count += each.streams;
    }
    for (const ScenarioPhase& phase : scenario_.phases) {
        for (const ScenarioStep& step : phase.steps) {
            count += step.join ? step.clients : 0U;
        }
    }
    return count;
}

Error ScenarioRun::start_publishers() {
    run_->phase("publishing");
    std::vector<std::unique_ptr<PublisherGroup>> made;
    Millis gop{0};
    for (const ScenarioPublishers& each : scenario_.publishers) {
        auto group = PublisherGroup::create(each.url, stream_options(each));
        if (!group.ok()) {
            return group.take_error().with_context(fmt::format("publishers '{}'", each.name));
        }
        publishers_.push_back(group->get());
        made.push_back(std::move(*group));
        gop = std::max(gop, Millis(1000 * uint64_t{each.shape.gop} / each.shape.fps));
    }
    for (size_t i = 0; i < made.size(); i++) {
        if (Error error = run_->add_publishers(std::move(made[i]), scenario_.publishers[i].ramp)) {
            return std::move(error).with_context(
                fmt::format("publishers '{}'", scenario_.publishers[i].name));
        }
    }
    run_->wait_for(std::min(gop, kWarmUp));
    return {};
}

Error ScenarioRun::make_groups() {
    for (const ScenarioPlayers& each : scenario_.players) {
        GroupOptions options;
        options.name = each.name;
        options.streams = scenario_.streams_of(each);
        options.connect_timeout = scenario_.connect_timeout;
        options.stay = each.stay;
        options.stall = each.stall;
        options.behind = each.behind;
        options.verify = each.verify;
        for (size_t i = 0; i < publishers_.size(); i++) {
            if (scenario_.publishers[i].name == each.publishers) {
                options.stamped = {publishers_[i]->is_stamped(media::TrackKind::kVideo),
                                   publishers_[i]->is_stamped(media::TrackKind::kAudio)};
                options.published_here = true;
                options.bits_per_second = publishers_[i]->bits_per_second();
            }
        }
        auto target = find_play_protocol(command_of(each.protocol))
                          ->make(each.url, options.streams, options_of(each.protocol));
        if (!target.ok()) {
            return target.take_error().with_context(fmt::format("players '{}'", each.name));
        }
        groups_.push_back(&run_->add_players(std::move(options), std::move(*target)));
    }
    return {};
}

void ScenarioRun::play(const ScenarioPhase& phase) {
    run_->phase(phase.name);
    run_->forget_joins();
    MonoTime begin = MonoClock::now();
    auto steps = io::Coroutine::spawn("scenario-steps", io::StackSize::kNormal,
                                      [&] { take_steps(phase, begin); });
    if (!steps.ok()) {
        problem_ = steps.error().message();
        run_->control().stop(problem_);
        return;
    }
    // Nobody may be connected for a while; take_steps() sees when that is for good.
    run_->measure(phase.duration, false);
    steps->interrupt();
    steps->join();
    report_phase(phase);
    add_to_whole(run_->window());
}

void ScenarioRun::take_steps(const ScenarioPhase& phase, MonoTime begin) {
    size_t next = 0;
    for (;;) {
        while (next < phase.steps.size() && MonoClock::now() >= begin + phase.steps[next].after) {
            take_step(phase.steps[next++]);
        }
        stop_when_hopeless();
        MonoTime look = MonoClock::now() + kLookEvery;
        if (next < phase.steps.size()) {
            look = std::min<MonoTime>(look, begin + phase.steps[next].after);
        }
        if (Error error = io::sleep_until(io::Deadline::at(look))) {  // by play()
            return;
        }
    }
}

void ScenarioRun::take_step(const ScenarioStep& step) {
    PlayerGroup& group = *groups_[step.group];
    if (!step.join) {
        group.shrink(step.clients);
        return;
    }
    if (Error error = run_->grow(group, step.clients, step.ramp)) {
        problem_ = error.message();
        run_->control().stop(problem_);
    }
}

void ScenarioRun::stop_when_hopeless() {
    bool all_failed = !publishers_.empty() &&
                      std::all_of(publishers_.begin(), publishers_.end(),
                                  [](const auto* each) { return each->failed() == each->size(); });
    if (all_failed) {
        run_->control().stop("no publisher is left");
        return;
    }
    GroupCounts counts;
    for (const PlayerGroup* each : groups_) {
        if (each->growing()) {
            return;
        }
        counts.add(each->counts());
    }
    if (counts.wanted > 0 && counts.open() == 0 && counts.left == 0) {
        run_->control().stop(counts.connected == 0 ? "no player could connect"
                                                   : "every player has ended");
    }
}

void ScenarioRun::report_phase(const ScenarioPhase& phase) {
    const LoadRun::Window& window = run_->window();
    const PlayResult& result = window.result;
    ReportSection& section = run_->report().section(fmt::format("phase_{}", phase.name),
                                                    fmt::format("phase {}", phase.name));
    section.number("window_s", "measured", result.window_s, "s", 1);
    section.count("playing", "playing at its end", result.clients.playing);
    section.rate("bits_per_second", "rate", result.bits_per_second());
    section.distribution("first_key_ms", "first key frame after", result.totals.first_key);
    section.distribution("latency_ms", "delay", result.totals.latency);
    lines_.emplace_back(phase.name, line_of(window.metrics));
    for (std::string_view name :
         {"packets.loss", "loss", "corrupted", "stalls", "behind", "server.cpu"}) {
        auto index = find_metric(name);
        if (auto value = window.metrics.get(name); value && index) {
            const MetricInfo& info = metric_table()[*index];
            section.text(name, name, metric_text(info.quantity, *value));
        }
    }
    for (const Expression& each : phase.expects) {
        auto holds = each.holds(window.metrics);
        run_->report().expect(fmt::format("phase_{}", phase.name), holds.value_or(false),
                              fmt::format("phase {}: {}", phase.name, each.text()),
                              each.found(window.metrics));
    }
    phases_json_ += fmt::format("{}{{\"name\": {}, \"seconds\": {:.3f}, \"metrics\": {}}}",
                                phases_json_.empty() ? "" : ",\n    ", json_string(phase.name),
                                result.window_s, window.metrics.to_json("    "));
    phases_played_++;
}

// Clients and media count from the beginning anyhow; what belongs to a window is summed up.
void ScenarioRun::add_to_whole(const LoadRun::Window& window) {
    PlayResult merged = window.result;
    const PlayResult& before = whole_.result;
    if (phases_played_ > 1) {
        merge(merged.totals, before.totals);
        merged.window_s += before.window_s;
        merged.media.counts.window_bytes += before.media.counts.window_bytes;
        merged.behind.players += before.behind.players;
        merged.behind.worst_us = std::max(merged.behind.worst_us, before.behind.worst_us);
    }
    merged.expected_bps = 0;  // it changes while players come and go
    whole_.result = std::move(merged);
    for (std::string_view name :
         {"clients.wanted", "clients.connected", "clients.refused", "clients.broken",
          "clients.left", "clients.playing", "publishers.failed", "jitter.mean", "jitter.max"}) {
        set_last(whole_.metrics, window.metrics, name);
    }
    for (std::string_view name :
         {"stalls", "loss", "duplicated", "reordered", "corrupted", "behind"}) {
        set_sum(whole_.metrics, window.metrics, name);
    }
    for (std::string_view name : {"gap.max", "drift"}) {
        set_most(whole_.metrics, window.metrics, name);
    }
}

void ScenarioRun::judge_whole() {
    Report& report = run_->report();
    const RunTotals& totals = whole_.result.totals;
    whole_.metrics.set_times("latency", totals.latency);
    whole_.metrics.set_times("latency.video", totals.latency_of[0]);
    whole_.metrics.set_times("latency.audio", totals.latency_of[1]);
    whole_.metrics.set_times("connect", totals.connect);
    whole_.metrics.set_times("first_byte", totals.first_byte);
    whole_.metrics.set_times("first_key", totals.first_key);
    whole_.metrics.set("rate", whole_.result.bits_per_second());
    usage_.add_to(whole_.metrics);
    whole_.usage = usage_;
    report.attach("phases", fmt::format("[{}]", phases_json_));
    ReportSection& lines = report.section("lines", "phases, a line each");
    for (const auto& [phase, line] : lines_) {
        lines.text(phase, phase, line);
    }
    if (!problem_.empty()) {
        report.expect("started", false, "every player can be started", problem_);
    }
    for (size_t i = phases_played_; i < scenario_.phases.size(); i++) {
        const ScenarioPhase& phase = scenario_.phases[i];
        for (const Expression& each : phase.expects) {
            report.expect(fmt::format("phase_{}", phase.name), false,
                          fmt::format("phase {}: {}", phase.name, each.text()), "not reached");
        }
    }
    if (phases_played_ > 0) {
        run_->report_about(whole_);
        for (const Expression& each : scenario_.expects) {
            run_->expect(each, "whole");
        }
    } else {
        report.expect("played", false, "the scenario is played", "it ended before its first phase");
    }
}

}  // namespace weir::load
