#include "bench/load/load_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/deadline.h"

namespace weir::load {
namespace {

constexpr Millis kTick{200};
constexpr Millis kPoll{20};
constexpr uint64_t kSampleEveryNs = 1'000'000'000;
constexpr int kQuarters = 4;

double seconds(uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

}  // namespace

Result<Expression> parse_condition(std::string_view text,
                                   const RunOptions& options,
                                   std::string_view option) {
    auto parsed = Expression::parse(text);
    if (!parsed.ok()) {
        return parsed.take_error().with_context(option);
    }
    if (parsed->needs_server() && !options.has_server()) {
        return make_error(ErrorCode::kUnsupported,
                          "{}: '{}' needs {}: name the server with --server-pid PID, or "
                          "--server-api http://HOST:1985",
                          option, text, parsed->first_of_server());
    }
    return parsed;
}

LoadRun::LoadRun(const RunOptions& options, std::string command, std::string target)
    : options_(options),
      report_(std::move(command), std::move(target)),
      facts_(gather_facts(options.command_line)),
      default_conditions_(options.default_conditions),
      began_ns_(now_ns()),
      sampled_ns_(began_ns_) {}

LoadRun::~LoadRun() = default;

Result<std::unique_ptr<LoadRun>> LoadRun::create(const RunOptions& options,
                                                 std::string command,
                                                 std::string target) {
    // lint: allow-new - private constructor
    std::unique_ptr<LoadRun> run(new LoadRun(options, std::move(command), std::move(target)));
    WEIR_TRY_ASSIGN(run->control_, RunControl::create(options));
    for (const std::string& text : options.expect) {
        WEIR_TRY_ASSIGN(Expression condition, parse_condition(text, options, "--expect"));
        run->conditions_.push_back(std::move(condition));
    }
    WEIR_TRY_ASSIGN(run->usage_, UsageProbe::create(options.server_pid, options.server_api));
    return run;
}

Error LoadRun::add_publishers(std::unique_ptr<PublisherGroup> group, Millis ramp) {
    PublisherGroup& added = *publishers_.emplace_back(std::move(group));
    WEIR_TRY(added.start(ramp, options_.connect_timeout));
    io::Deadline deadline = io::Deadline::after(ramp + options_.connect_timeout);
    while (running() && !deadline.passed() && added.started() + added.failed() < added.size()) {
        wait_for(kPoll);
    }
    return running() ? added.wait_started(deadline) : Error();
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
    series_.mark(since_start(now_ns()), name);
}

double LoadRun::since_start(uint64_t now) const {
    return seconds(now - began_ns_);
}

void LoadRun::forget_joins() {
    for (auto& each : players_) {
        each->forget_joins();
    }
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
        wait_for(kPoll);
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
        wait_for(kPoll);
    }
    return settled();
}

void LoadRun::begin_window() {
    at_window_begin_ = PlaySum();
    for (auto& each : players_) {
        each->begin_window();
        at_window_begin_.add(each->sum());
    }
    for (auto& each : publishers_) {
        each->reset_totals();
    }
    cut_short_ = false;
    usage_.window_begins();  // may yield
    window_begin_ns_ = expected_at_ns_ = now_ns();
    expected_bits_ = 0;
    expected_known_ = true;
}

void LoadRun::end_window() {
    usage_.window_ends();
    PlayResult result;
    result.window_s = last_window_s_ = seconds(now_ns() - window_begin_ns_);
    for (auto& each : players_) {
        each->set_quarter(0);
        each->settle();
        bool judge_gaps =
            !cut_short_ && Millis(static_cast<int64_t>(result.window_s * 1000)) / kQuarters >=
                               each->options().stall;
        result.add(*each, judge_gaps);
    }
    result.lost_in_window = result.media.lost - std::min(at_window_begin_.lost, result.media.lost);
    expect_more(now_ns());
    if (expected_known_ && result.window_s > 0) {
        result.expected_bps = expected_bits_ / result.window_s;
    }
    window_.result = std::move(result);
    window_.metrics = metrics();
    window_.usage = usage_;
    measured_ = true;
}

// Players come and go within a window: what is expected of them adds up.
void LoadRun::expect_more(uint64_t now) {
    const double rate = expected_rate();
    uint64_t playing = 0;
    for (const auto& each : players_) {
        playing += each->counts().playing;
    }
    expected_known_ = expected_known_ && (rate > 0 || playing == 0);
    expected_bits_ += rate * seconds(now - expected_at_ns_);
    expected_at_ns_ = now;
}

double LoadRun::expected_rate() const {
    double sum = 0;
    for (const auto& each : players_) {
        uint64_t playing = each->counts().playing;
        if (playing > 0 && each->options().bits_per_second <= 0) {
            return 0;
        }
        sum += static_cast<double>(playing) * each->options().bits_per_second;
    }
    return sum;
}

MetricValues LoadRun::metrics() const {
    const PlayResult& result = window_.result;
    const GroupCounts& clients = result.clients;
    MetricValues values;
    auto count = [&](std::string_view name, uint64_t value) {
        values.set(name, static_cast<double>(value));
    };
    count("clients.wanted", clients.wanted);
    count("clients.connected", clients.connected);
    count("clients.refused", clients.refused);
    count("clients.broken", clients.broken);
    count("clients.left", clients.left);
    count("clients.playing", clients.playing);
    uint64_t failed = 0;
    Histogram lag;
    for (const auto& each : publishers_) {
        failed += each->failed();
        lag.merge(each->totals().lag);
    }
    count("publishers.failed", failed);
    values.set_times("publishers.lag", lag);
    const PlaySum& before = at_window_begin_;
    count("stalls", result.media.counts.stalls - before.counts.stalls);
    if (clients.had_media > 0) {
        values.set("gap.max", static_cast<double>(result.media.counts.longest_gap_ns) / 1e6);
    }
    if (result.verify && clients.had_media > 0) {
        count("loss", result.media.lost - std::min(before.lost, result.media.lost));
        count("duplicated", result.media.duplicated - before.duplicated);
        count("reordered", result.media.reordered - before.reordered);
        count("corrupted", result.media.counts.corrupted - before.counts.corrupted);
        count("behind", result.behind.players);
        values.set("drift", static_cast<double>(result.behind.worst_us) / 1e3);
    }
    if (const RtcTotals& rtc = result.totals.rtc; rtc.used) {
        count("packets.lost", rtc.lost);
        values.set("packets.loss", rtc.loss_after());
        values.set("packets.loss_before", rtc.loss_before());
        values.set("packets.rate",
                   result.window_s > 0 ? static_cast<double>(rtc.packets) / result.window_s : 0);
        count("freezes", rtc.freezes);
        values.set_times("rtt", rtc.rtt);
    }
    if (const HlsTotals& hls = result.totals.hls; hls.used) {
        values.set("requests",
                   result.window_s > 0 ? static_cast<double>(hls.requests()) / result.window_s : 0);
        count("viewers.stalls", hls.stalls);
        values.set_times("viewers.behind", hls.behind);
    }
    if (const RtspTotals& rtsp = result.totals.rtsp; rtsp.used) {
        count("packets.lost", rtsp.lost);
        values.set("packets.loss", rtsp.loss());
        values.set("packets.rate",
                   result.window_s > 0 ? static_cast<double>(rtsp.packets) / result.window_s : 0);
        values.set_times("response", rtsp.response);
    }
    if (result.verify && result.jitter_players > 0) {
        values.set("jitter.mean", result.jitter_mean_us() / 1e3);
        values.set("jitter.max", static_cast<double>(result.jitter_max_us) / 1e3);
    }
    values.set_times("latency", result.totals.latency);
    values.set_times("latency.video", result.totals.latency_of[0]);
    values.set_times("latency.audio", result.totals.latency_of[1]);
    values.set_times("connect", result.totals.connect);
    values.set_times("first_byte", result.totals.first_byte);
    values.set_times("first_key", result.totals.first_key);
    values.set("rate", result.bits_per_second());
    if (result.expected_bps > 0) {
        values.set("rate.expected", result.expected_bps);
        values.set("rate.ratio", result.bits_per_second() / result.expected_bps);
    }
    usage_.add_to(values);
    return values;
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
            expect_more(now_ns());
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
    if (now - sampled_ns_ >= kSampleEveryNs) {
        sample(now);
    }
}

void LoadRun::sample(uint64_t now) {
    GroupCounts clients;
    PlaySum sum;
    Histogram recent;
    for (auto& each : players_) {
        clients.add(each->counts());
        sum.add(each->sum());
        recent.merge(each->totals().recent);
        each->totals().recent.clear();
    }
    TimeSample sample;
    sample.time_s = since_start(now);
    sample.span_s = seconds(now - sampled_ns_);
    sample.connected = clients.open();
    sample.playing = clients.playing;
    sample.received_bps =
        static_cast<double>(sum.counts.bytes - sampled_.counts.bytes) * 8 / sample.span_s;
    sample.expected_bps = expected_rate();
    sample.latency = LatencySample::of(recent);
    // What seemed lost may have come late.
    sample.lost = sum.lost - std::min(sum.lost, sampled_.lost);
    sample.stalls = sum.counts.stalls - sampled_.counts.stalls;
    UsageNow usage = usage_.now();
    sample.server_cpu_percent = usage.server_cpu_percent;
    sample.server_memory_bytes = usage.server_memory_bytes;
    sample.client_cpu_percent = usage.client_cpu_percent;
    sample.client_memory_bytes = usage.client_memory_bytes;
    series_.add(sample);
    sampled_ns_ = now;
    sampled_ = sum;
    show_progress(sample, clients, sum);
}

void LoadRun::show_progress(const TimeSample& sample,
                            const GroupCounts& clients,
                            const PlaySum& sum) {
    std::string text =
        fmt::format("{:.0f} s {}: {} playing, {} refused, {} broken, {}, lost {}, wrong {}",
                    sample.time_s, phase_, clients.playing, clients.refused, clients.broken,
                    bit_rate_text(sample.received_bps), sum.lost, sum.wrong());
    if (sample.latency.count > 0) {
        text += fmt::format(", delay p50 {:.1f} p99 {:.1f} ms", sample.latency.p50_ms,
                            sample.latency.p99_ms);
    }
    if (sample.server_cpu_percent) {
        text += fmt::format(", server CPU {:.0f} %", *sample.server_cpu_percent);
    }
    control_->progress(text);
}

void LoadRun::expect(const Expression& condition, std::string_view key) {
    auto holds = condition.holds(window_.metrics);
    report_.expect(key, holds.value_or(false), condition.text(), condition.found(window_.metrics));
}

void LoadRun::stop() {
    if (ended_) {
        return;
    }
    ended_ = true;
    if (!measured_) {  // ended before it came to that
        begin_window();
        end_window();
    }
    for (auto& each : players_) {
        each->stop();
    }
    make_report();
    for (auto& each : publishers_) {
        each->stop();
    }
}

void LoadRun::make_report() {
    add_rows(report_, window_.result);
    if (default_conditions_) {
        add_default_conditions(report_, window_.result);
    }
    for (const Expression& each : conditions_) {
        expect(each);
    }
    for (auto& each : publishers_) {
        each->add_to(report_, last_window_s_);
    }
    const GroupCounts& clients = window_.result.clients;
    // Memory per player says nothing when some have left.
    window_.usage.add_to(report_, clients.left == 0 ? clients.open() : 0,
                         static_cast<double>(window_.result.media.counts.window_bytes) * 8);
    report_.attach("metrics", window_.metrics.to_json("  "));
    report_.attach("series", series_.to_json("  "));
    if (options_.per_client) {
        std::string list;
        for (const auto& each : players_) {
            append_clients(list, *each);
        }
        report_.attach("per_client", "[" + list + "\n  ]");
    }
}

int LoadRun::finish() {
    stop();
    return control_->finish(report_, [this] { return html_report(report_, series_, facts_); });
}

}  // namespace weir::load
