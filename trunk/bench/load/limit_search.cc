#include "bench/load/limit_search.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "io/deadline.h"

#include "bench/load/core/units.h"

namespace weir::load {
namespace {

constexpr Millis kRamp{1'000};
constexpr Millis kShortestHold{500};

std::string json_number(std::optional<double> value) {
    return value ? fmt::format("{:.10g}", *value) : "null";
}

}  // namespace

void LimitOptions::add_to(OptionTable& table) {
    table.text("--until", "CONDITION",
               "find the limit: adds players, from --clients on, until this holds, such as 'loss>0 "
               "or latency.p99>2s', or until a player is refused, breaks, starts late or falls "
               "behind",
               until);
    table.text("--step", "N|N%", "players that each step adds, or by how much it grows", step);
    table.duration("--hold", "how long each step is measured", hold);
    table.count("--max-clients", "where the search ends at the latest", max_clients, 1, 1'000'000);
}

Result<LimitStep> LimitStep::parse(std::string_view text) {
    LimitStep step;
    bool is_percent = text.ends_with('%');
    auto value = parse_count(is_percent ? text.substr(0, text.size() - 1) : text, 1,
                             is_percent ? 1'000 : 1'000'000);
    if (!value.ok()) {
        return make_error(
            ErrorCode::kMalformed,
            "--step: '{}': expected a number of players, or a growth from 1% to 1000%", text);
    }
    if (is_percent) {
        step.percent = static_cast<double>(*value);
    } else {
        step.players = static_cast<uint32_t>(*value);
    }
    return step;
}

uint32_t LimitStep::next(uint32_t now) const {
    uint64_t more =
        players > 0 ? players
                    : static_cast<uint64_t>(std::llround(static_cast<double>(now) * percent / 100));
    return static_cast<uint32_t>(std::min<uint64_t>(now + std::max<uint64_t>(more, 1), UINT32_MAX));
}

Result<LimitSearch> LimitSearch::create(const LimitOptions& options,
                                        const RunOptions& run_options) {
    WEIR_TRY_ASSIGN(Expression until, parse_condition(options.until, run_options, "--until"));
    WEIR_TRY_ASSIGN(LimitStep step, LimitStep::parse(options.step));
    if (options.hold < kShortestHold) {
        return make_error(ErrorCode::kMalformed, "--hold: found {} ms, expected {} ms or more",
                          options.hold.count(), kShortestHold.count());
    }
    return LimitSearch(options, std::move(until), step);
}

void LimitSearch::search(
    LoadRun& run, PlayerGroup& players, uint32_t first, Millis ramp, Millis settle_timeout) {
    run.drop_default_conditions();
    uint32_t clients = std::min(first, options_.max_clients);
    std::string end;
    for (;;) {
        Step step = take_step(run, players, clients, ramp, settle_timeout);
        if (!run.running() && step.broke.empty()) {
            end = run.control().stop_reason();  // the step was not measured to its end
            break;
        }
        if (step.broke.empty()) {
            held_ = std::move(last_);
        }
        steps_.push_back(std::move(step));
        if (!steps_.back().broke.empty()) {
            end = steps_.back().broke;
            break;
        }
        if (clients >= options_.max_clients) {
            end = "--max-clients reached";
            break;
        }
        clients = std::min(step_.next(clients), options_.max_clients);
    }
    add_to(run, end);
}

LimitSearch::Step LimitSearch::take_step(
    LoadRun& run, PlayerGroup& players, uint32_t clients, Millis ramp, Millis settle_timeout) {
    Step step;
    step.clients = clients;
    GroupCounts before = players.counts();
    run.phase(fmt::format("{} clients", clients));
    run.forget_joins();
    auto more = static_cast<uint32_t>(clients - before.wanted);
    if (Error error = run.grow(players, more, ramp.count() > 0 ? ramp : kRamp)) {
        step.broke = error.message();
        return step;
    }
    run.wait_connected();
    const bool is_settled = run.wait_settled(io::Deadline::after(settle_timeout));
    if (is_settled) {
        run.wait_for(options_.settle);
    }
    if (!run.running()) {
        return step;
    }
    const GroupCounts settled = players.counts();
    run.measure(is_settled ? options_.hold : std::min(options_.hold, Millis(1'000)));
    last_ = std::make_unique<LoadRun::Window>(run.window());
    step.metrics = last_->metrics;
    step.broke = verdict(*last_, before);
    if (step.broke.empty() && !is_settled) {
        step.broke = fmt::format("late start: {} without media", settled.wanted - settled.playing);
    }
    return step;
}

std::string LimitSearch::verdict(const LoadRun::Window& window, const GroupCounts& before) const {
    const GroupCounts& clients = window.result.clients;
    if (clients.refused > before.refused) {
        return fmt::format("{} refused", clients.refused - before.refused);
    }
    if (clients.broken > before.broken) {
        return fmt::format("{} broken", clients.broken - before.broken);
    }
    const std::optional<bool> reached = until_.holds(window.metrics);
    if (reached.value_or(true)) {  // what is not known cannot be held
        return fmt::format("{} ({})", until_.text(), until_.found(window.metrics));
    }
    if (clients.playing < clients.open() || clients.connected < clients.wanted) {
        return fmt::format("late start: {} without media", clients.wanted - clients.playing);
    }
    if (window.result.behind.players > 0) {
        return fmt::format("{} falling behind", window.result.behind.players);
    }
    return {};
}

void LimitSearch::add_to(LoadRun& run, const std::string& end) const {
    ReportSection& section = run.report().section("limit", "largest load held");
    const Step* held = nullptr;
    for (const Step& each : steps_) {
        held = each.broke.empty() ? &each : held;
    }
    auto shown = [](const MetricValues& metrics, std::string_view name) {
        auto value = metrics.get(name);
        return value ? metric_text(metric_table()[*find_metric(name)].quantity, *value)
                     : std::string("-");
    };
    section.count("clients", "clients", held != nullptr ? held->clients : 0);
    if (held != nullptr) {
        section.rate("bits_per_second", "rate", held_->result.bits_per_second());
    }
    section.text("ended_by", "ended by", end);
    std::string json = "[";
    std::string_view separator = "\n    ";
    for (size_t i = 0; i < steps_.size(); i++) {
        const Step& each = steps_[i];
        const MetricValues& metrics = each.metrics;
        section.text(fmt::format("step_{}", i + 1), fmt::format("  {} clients", each.clients),
                     fmt::format("{:>14}  server CPU {:>8}  p99 {:>10}  {}", shown(metrics, "rate"),
                                 shown(metrics, "server.cpu"), shown(metrics, "latency.p99"),
                                 each.broke.empty() ? "held" : each.broke));
        json += fmt::format("{}{{\"clients\": {}, \"held\": {}, \"why\": {}", separator,
                            each.clients, each.broke.empty(), json_string(each.broke));
        for (std::string_view name : {"rate", "server.cpu", "client.cpu", "latency.p50",
                                      "latency.p99", "first_key.p99", "loss", "behind"}) {
            json += fmt::format(", \"{}\": {}", name, json_number(metrics.get(name)));
        }
        json += "}";
        separator = ",\n    ";
    }
    run.report().attach("steps", json + "\n  ]");
    run.report().expect("limit", held != nullptr, "the first step is held",
                        steps_.empty() ? end : steps_.front().broke);
    if (held != nullptr) {
        run.report_about(*held_);
    }
}

}  // namespace weir::load
