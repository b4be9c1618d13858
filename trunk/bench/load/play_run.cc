#include "bench/load/play_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr size_t kReceiveBuffer = 256 * 1024;
constexpr uint32_t kConnectors = 256;  // connections in the making at a time
constexpr Millis kTick{200};
constexpr uint64_t kProgressEveryNs = 1'000'000'000;
constexpr int kQuarters = 4;
constexpr Millis kWarmUp{2'000};  // at most, for a publisher to fill the server's GOP

double seconds(uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

double ms(uint64_t us) {
    return static_cast<double>(us) / 1e3;
}

}  // namespace

void PlayOptions::add_to(OptionTable& table) {
    table.text("--url", "URL", "what to play; %d in it is the number of the stream", url);
    table.count("--clients", "players", clients, 1, 1'000'000);
    table.count("--streams", "streams that the players are spread over, numbers from 0",
                stream.streams, 1, 100'000);
    table.duration("--ramp", "time over which the players are started", ramp);
    stream.add_to(table, "--publish", "--publish-file");
    table.flag("--no-verify", "play any stream; frames are counted, not checked", verify, false);
    table.duration("--stall", "a gap between frames that counts as a stall", stall);
    table.duration("--behind", "growth of a player's mean delay that counts as falling behind",
                   behind);
    run.add_to(table);
}

PlayRun::PlayRun(const PlayOptions& options, std::string command, ClientFactory factory)
    : options_(options),
      command_(std::move(command)),
      factory_(std::move(factory)),
      buffer_(kReceiveBuffer) {
    totals_.verify = options.verify;
    totals_.stall_ns = static_cast<uint64_t>(options.stall.count()) * 1'000'000;
}

PlayRun::~PlayRun() = default;

void PlayRun::player_broke(const std::string& why) {
    broken_++;
    failures_[why]++;
}

void PlayRun::player_has_more(Player& player) {
    unread_.push_back(&player);
    unread_signal_.notify_one();
}

void PlayRun::resume_reading() {
    for (;;) {
        while (unread_.empty()) {
            if (Error error =
                    unread_signal_.wait_until(io::Deadline::forever())) {  // ended by run()
                return;
            }
        }
        std::vector<Player*> batch;
        batch.swap(unread_);
        for (Player* each : batch) {
            each->read();
        }
        io::yield();
        if (io::interrupted()) {
            return;
        }
    }
}

int PlayRun::run(const io::SocketAddress& address, const std::string& publish_url) {
    address_ = address;
    sources_ = SourceAddresses(address);
    if (Error error = prepare(publish_url)) {
        complain(error.message());
        if (publishers_) {
            publishers_->stop();
        }
        return kExitUsage;
    }
    auto resumer =
        io::Coroutine::spawn("resume", io::StackSize::kNormal, [this] { resume_reading(); });
    if (!resumer.ok()) {
        complain(resumer.error().message());
        return kExitUsage;
    }
    if (Error error = connect_all()) {
        complain(error.message());
    }
    wait_for_media();
    measure();
    totals_.quarter = 0;
    players_at_end_ = connected_ - broken_;
    resumer->interrupt();
    resumer->join();
    for (auto& each : players_) {
        each->close();
    }
    Report report = make_report();
    if (publishers_) {
        publishers_->stop();
    }
    return control_->finish(report);
}

Error PlayRun::prepare(const std::string& publish_url) {
    WEIR_TRY(ensure_descriptors(uint64_t{options_.clients} + options_.stream.streams));
    WEIR_TRY_ASSIGN(control_, RunControl::create(options_.run));
    if (options_.stream.wanted()) {
        WEIR_TRY(start_publishing(publish_url).with_context("publisher"));
    }
    WEIR_TRY_ASSIGN(usage_, UsageProbe::create(options_.run.server_pid));
    players_.reserve(options_.clients);
    PlayerListener& listener = *this;
    for (uint32_t i = 0; i < options_.clients; i++) {
        players_.push_back(
            std::make_unique<Player>(listener, totals_, buffer_, i % options_.stream.streams));
    }
    return {};
}

Error PlayRun::start_publishing(const std::string& url) {
    WEIR_TRY_ASSIGN(publishers_, PublisherGroup::create(url, options_.stream));
    totals_.stamped = {publishers_->is_stamped(media::TrackKind::kVideo),
                       publishers_->is_stamped(media::TrackKind::kAudio)};
    WEIR_TRY(publishers_->start(Millis(0), options_.run.connect_timeout));
    WEIR_TRY(publishers_->wait_started(io::Deadline::after(options_.run.connect_timeout)));
    Millis gop(1000 * uint64_t{options_.stream.shape.gop} / options_.stream.shape.fps);
    control_->wait_for(std::min(gop, kWarmUp));
    return {};
}

Error PlayRun::connect_all() {
    began_ = MonoClock::now();
    io::TaskGroup connectors;
    Error error;
    for (uint32_t i = 0; i < std::min(kConnectors, options_.clients) && !error; i++) {
        error = connectors.spawn("connector", io::StackSize::kNormal, [this] { connect_some(); });
    }
    while (connectors.size() > 0 && control_->wait_for(kTick)) {
        show_progress("connecting");
    }
    connectors.interrupt_all();
    if (Error late = connectors.join_all(io::Deadline::forever());
        late && !error) {  // interrupted: they end promptly
        error = std::move(late);
    }
    return error;
}

void PlayRun::connect_some() {
    while (next_ < options_.clients && !control_->stopped()) {
        uint32_t number = next_++;
        auto share = static_cast<double>(number) / static_cast<double>(options_.clients);
        Micros delay(
            static_cast<int64_t>(share * 1000.0 * static_cast<double>(options_.ramp.count())));
        if (Error error = io::sleep_until(io::Deadline::at(began_ + delay))) {
            return;
        }
        MonoTime start = MonoClock::now();
        auto stream = io::TcpStream::connect(
            address_, io::Deadline::after(options_.run.connect_timeout), sources_.of(number));
        if (!stream.ok()) {
            if (stream.error().code() == ErrorCode::kInterrupted) {
                return;
            }
            refused_++;
            failures_[std::string(stream.error().message())]++;
            continue;
        }
        totals_.connect.add(static_cast<uint64_t>((MonoClock::now() - start).count()));
        connected_++;
        Player& player = *players_[number];
        player.attach(std::move(stream).value(), factory_(number, player.check()));
    }
}

// Until every player has had its first frame, has failed, or had time enough for it.
void PlayRun::wait_for_media() {
    io::Deadline deadline = io::Deadline::after(options_.run.connect_timeout);
    auto all_there = [&] {
        uint64_t playing = 0;
        for (auto& each : players_) {
            playing += each->connected() && each->check().has_media() ? 1U : 0U;
        }
        return playing + broken_ >= connected_;
    };
    while (!deadline.passed() && !all_there() && control_->wait_for(kTick)) {
        show_progress("waiting for first frames");
    }
}

void PlayRun::measure() {
    window_begin_ns_ = window_end_ns_ = now_ns();
    usage_.window_begins();
    if (publishers_) {
        publishers_->reset_totals();
    }
    MonoTime begin = MonoClock::now();
    for (int quarter = 1; quarter <= kQuarters && !control_->stopped(); quarter++) {
        totals_.quarter = quarter;
        io::Deadline end =
            io::Deadline::at(begin + Micros(options_.run.duration) * quarter / kQuarters);
        while (!end.passed() && !control_->stopped()) {
            if (connected_ == broken_) {
                control_->stop(connected_ == 0 ? "no player could connect"
                                               : "every player has ended");
                break;
            }
            io::Deadline tick = io::Deadline::after(kTick);
            control_->wait_until(tick.time() < end.time() ? tick : end);
            show_progress("measuring");
        }
    }
    usage_.window_ends();
    window_end_ns_ = now_ns();
}

void PlayRun::show_progress(std::string_view phase) {
    uint64_t now = now_ns();
    if (now - progress_ns_ < kProgressEveryNs) {
        return;
    }
    uint64_t bytes = 0;
    uint64_t lost = 0;
    uint64_t wrong = 0;
    for (auto& each : players_) {
        const PlayerCheck& check = each->check();
        bytes += check.counts().bytes;
        lost += check.lost();
        wrong += check.counts().corrupted + check.duplicated() + check.reordered() +
                 check.counts().time_steps_back;
    }
    double rate = progress_ns_ == 0 ? 0
                                    : static_cast<double>(bytes - progress_bytes_) * 8 /
                                          seconds(now - progress_ns_);
    std::string text = fmt::format("{}: {} playing, {} refused, {} broken, {}, lost {}, wrong {}",
                                   phase, with_media_ - std::min(with_media_, broken_), refused_,
                                   broken_, bit_rate_text(rate), lost, wrong);
    if (totals_.recent.count() > 0) {
        text += fmt::format(", delay p50 {:.1f} p99 {:.1f} ms", ms(totals_.recent.quantile(0.5)),
                            ms(totals_.recent.quantile(0.99)));
    }
    if (auto cpu = usage_.recent_server_cpu()) {
        text += fmt::format(", server CPU {:.0f} %", *cpu * 100);
    }
    totals_.recent.clear();
    progress_bytes_ = bytes;
    progress_ns_ = now;
    control_->progress(text);
}

Report PlayRun::make_report() {
    Report report(command_, options_.url);
    add_clients(report);
    add_media(report);
    add_latency(report);
    if (publishers_) {
        publishers_->add_to(report, seconds(window_end_ns_ - window_begin_ns_));
    }
    uint64_t bytes = 0;
    for (auto& each : players_) {
        bytes += each->check().counts().window_bytes;
    }
    usage_.add_to(report, players_at_end_, static_cast<double>(bytes) * 8);
    return report;
}

void PlayRun::add_clients(Report& report) const {
    ReportSection& section = report.section("clients", "clients");
    section.count("asked", "asked for", options_.clients);
    section.count("connected", "connected", connected_);
    section.count("refused", "refused", refused_);
    section.count("broken", "broken", broken_);
    section.count("playing", "received media", with_media_);
    size_t shown = 0;
    for (const auto& [why, count] : failures_) {
        if (++shown > 5) {
            break;
        }
        section.text(fmt::format("failure_{}", shown), fmt::format("  {} x", count), why);
    }
    section.distribution("connect_ms", "connected after", totals_.connect);
    section.distribution("first_byte_ms", "first media after", totals_.first_byte);
    section.distribution("first_key_ms", "first key frame after", totals_.first_key);
    report.expect("connected", connected_ == options_.clients, "all clients connect",
                  fmt::format("{} of {}", connected_, options_.clients));
    report.expect("playing", with_media_ == options_.clients, "all clients receive media",
                  fmt::format("{} of {}", with_media_, options_.clients));
    report.expect("unbroken", broken_ == 0, "no connection breaks",
                  fmt::format("{} broke", broken_));
}

void PlayRun::add_media(Report& report) {
    PlayerCounts sum;
    uint64_t lost = 0;
    uint64_t duplicated = 0;
    uint64_t reordered = 0;
    uint64_t without_key = 0;
    uint64_t republished = 0;
    for (auto& each : players_) {
        const PlayerCheck& check = each->check();
        const PlayerCounts& counts = check.counts();
        sum.bytes += counts.bytes;
        sum.window_bytes += counts.window_bytes;
        sum.video_frames += counts.video_frames;
        sum.audio_frames += counts.audio_frames;
        sum.corrupted += counts.corrupted;
        sum.unstamped += counts.unstamped;
        sum.time_steps_back += counts.time_steps_back;
        sum.stalls += counts.stalls;
        sum.longest_gap_ns = std::max(sum.longest_gap_ns, counts.longest_gap_ns);
        republished += counts.sessions > 1 ? counts.sessions - 1 : 0;
        without_key += counts.began_without_key ? 1 : 0;
        lost += check.lost();
        duplicated += check.duplicated();
        reordered += check.reordered();
    }
    double window = seconds(window_end_ns_ - window_begin_ns_);
    double rate = window > 0 ? static_cast<double>(sum.window_bytes) * 8 / window : 0;
    ReportSection& section = report.section("media", "received");
    section.number("window_s", "measured", window, "s", 1);
    section.rate("bits_per_second", "rate", rate);
    double each = players_at_end_ > 0 ? rate / static_cast<double>(players_at_end_) : 0;
    section.rate("bits_per_second_per_player", "rate per player", each);
    section.count("bytes", "bytes, from the first", sum.bytes);
    section.count("video_frames", "video frames", sum.video_frames);
    section.count("audio_frames", "audio frames", sum.audio_frames);
    section.count("stalls", "stalls", sum.stalls);
    section.number("longest_gap_ms", "longest gap", static_cast<double>(sum.longest_gap_ns) / 1e6,
                   "ms", 1);
    section.count("time_steps_back", "timestamps that went back", sum.time_steps_back);
    report.expect("time", sum.time_steps_back == 0, "timestamps never go back",
                  fmt::format("{} did", sum.time_steps_back));
    if (!options_.verify) {
        return;
    }
    section.count("lost", "frames lost", lost);
    section.count("duplicated", "frames duplicated", duplicated);
    section.count("reordered", "frames reordered", reordered);
    section.count("corrupted", "frames corrupted", sum.corrupted);
    section.count("unstamped", "frames not synthetic", sum.unstamped);
    section.count("began_without_key", "began without a key frame", without_key);
    section.count("republished", "publisher changed", republished);
    report.expect("synthetic", sum.unstamped == 0,
                  "the stream is one of weir-bench (else use --no-verify)",
                  fmt::format("{} frames without a stamp", sum.unstamped));
    report.expect("lost", lost == 0, "no frame is lost", fmt::format("{} were", lost));
    report.expect("duplicated", duplicated == 0, "no frame comes twice",
                  fmt::format("{} did", duplicated));
    report.expect("reordered", reordered == 0, "no frame comes late",
                  fmt::format("{} did", reordered));
    report.expect("corrupted", sum.corrupted == 0, "every byte is as sent",
                  fmt::format("{} frames differ", sum.corrupted));
    report.expect("key_first", without_key == 0, "players begin with a key frame",
                  fmt::format("{} did not", without_key));
}

void PlayRun::add_latency(Report& report) {
    if (!options_.verify) {
        return;
    }
    uint64_t behind = 0;
    int64_t worst_us = 0;
    for (auto& each : players_) {
        const PlayerCheck& check = each->check();
        worst_us = std::max(worst_us, check.drift_us());
        bool judge_gaps =
            !control_->stopped() && options_.run.duration / kQuarters >= options_.stall;
        behind +=
            check.drift_us() > Micros(options_.behind).count() || (judge_gaps && check.dried_up())
                ? 1U
                : 0U;
    }
    ReportSection& section =
        report.section("latency", "end-to-end delay of frames sent after the join");
    section.distribution("all_ms", "whole window", totals_.latency);
    section.distribution("first_quarter_ms", "first quarter", totals_.latency_first);
    section.distribution("last_quarter_ms", "last quarter", totals_.latency_last);
    section.number("worst_drift_ms", "worst growth of a player",
                   static_cast<double>(worst_us) / 1e3, "ms", 1);
    section.count("behind", "players falling behind", behind);
    report.expect(
        "behind", behind == 0,
        fmt::format("no player's delay grows by {} ms", options_.behind.count()),
        fmt::format("{} players, worst by {:.0f} ms", behind, static_cast<double>(worst_us) / 1e3));
}

}  // namespace weir::load
