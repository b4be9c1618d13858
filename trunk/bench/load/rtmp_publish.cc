// weir-bench rtmp-publish, rtc-publish, rtsp-publish and srt-publish.
#include <fmt/format.h>

#include "io/deadline.h"

#include "bench/load/publishers.h"
#include "bench/load/run_control.h"
#include "bench/load/subcommand.h"
#include "bench/load/usage_probe.h"

namespace weir::load {
namespace {

constexpr Millis kTick{1'000};

struct PublishOptions {
    RunOptions run;
    StreamOptions stream;
    Millis ramp{0};
    std::string url;
    // Of RTSP:
    uint32_t serve_port = 0;  // 0: none
    uint32_t cameras = 1;
    std::string transport = "tcp";
};

// The options of rtsp-publish alone, from words to what they mean.
Error complete(PublishOptions& options) {
    if (options.transport != "tcp" && options.transport != "udp") {
        return make_error(ErrorCode::kMalformed, "--transport: found '{}', expected tcp or udp",
                          options.transport);
    }
    options.stream.by_udp = options.transport == "udp";
    if (options.serve_port == 0) {
        return {};
    }
    options.stream.serve = true;
    options.stream.streams = options.cameras;
    options.url = fmt::format("rtsp://0.0.0.0:{}/camera/%d", options.serve_port);
    return {};
}

void add_rtsp_publish_options(OptionTable& table, PublishOptions& options) {
    table.text("--transport", "HOW", "how packets go: tcp (interleaved) or udp", options.transport);
    table.count("--serve",
                "be cameras instead, which wait at rtsp://HOST:PORT/camera/0 and so on until they "
                "are played; the port",
                options.serve_port, 1, 65'535);
    table.count("--cameras", "with --serve: how many", options.cameras, 1, 100'000);
    table.duration("--outage-every", "with --serve: the last camera fails so often; 0: never",
                   options.stream.outage_every);
    table.duration("--outage-for", "and is away for so long", options.stream.outage_for);
}

// Until somebody plays each camera, or that takes too long.
void wait_played(const PublishOptions& options, RunControl& control, PublisherGroup& group) {
    const io::Deadline deadline = io::Deadline::after(2 * options.run.connect_timeout);
    while (group.played() < group.size() && !deadline.passed() && control.wait_for(Millis(50))) {
        control.progress(fmt::format("{} of {} cameras are played", group.played(), group.size()));
    }
}

Error run(const PublishOptions& options, std::string_view command, int& exit_code) {
    const bool serves = options.stream.serve;
    WEIR_TRY(
        ensure_descriptors(uint64_t{options.stream.streams} * (options.stream.by_udp ? 5 : 1)));
    WEIR_TRY_ASSIGN(auto control, RunControl::create(options.run));
    WEIR_TRY_ASSIGN(UsageProbe usage,
                    UsageProbe::create(options.run.server_pid, options.run.server_api));
    WEIR_TRY_ASSIGN(auto group, PublisherGroup::create(options.url, options.stream));
    usage.before_players();
    if (Error error = group->start(options.ramp, options.run.connect_timeout)) {
        group->stop();
        return error;
    }
    io::Deadline connected = io::Deadline::after(options.ramp + 2 * options.run.connect_timeout);
    while (group->started() + group->failed() < group->size() && !connected.passed() &&
           control->wait_for(Millis(50))) {
        control->progress(
            fmt::format("connecting: {} publishing, {} failed", group->started(), group->failed()));
    }
    if (serves) {
        wait_played(options, *control, *group);
    }
    uint64_t begin = now_ns();
    usage.window_begins();
    group->reset_totals();
    bool endless = options.run.duration == Millis(0);
    io::Deadline end =
        endless ? io::Deadline::forever() : io::Deadline::after(options.run.duration);
    while (!end.passed() && !control->stopped()) {
        if (group->started() == 0) {
            control->stop("no publisher is left");
            break;
        }
        io::Deadline tick = io::Deadline::after(kTick);
        control->wait_until(tick.time() < end.time() ? tick : end);
        double passed = static_cast<double>(now_ns() - begin) / 1e9;
        if (serves) {
            control->progress(fmt::format(
                "serving: {} cameras are played, {}", group->played(),
                bit_rate_text(static_cast<double>(group->totals().bytes) * 8 / passed)));
            continue;
        }
        control->progress(
            fmt::format("publishing: {} streams, {} failed, {}, behind schedule p99 {:.1f} ms",
                        group->started(), group->failed(),
                        bit_rate_text(static_cast<double>(group->totals().bytes) * 8 / passed),
                        static_cast<double>(group->totals().lag.quantile(0.99)) / 1e3));
    }
    usage.window_ends();
    Report report(std::string(command), options.url);
    group->add_to(report, static_cast<double>(now_ns() - begin) / 1e9);
    if (serves) {
        const size_t away = options.stream.outage_every.count() > 0 ? 1 : 0;
        report.expect("played", group->played() + away >= group->size(), "every camera is played",
                      fmt::format("{} of {}", group->played(), group->size()));
    }
    usage.add_to(report, serves ? group->size() : 0,
                 static_cast<double>(group->totals().bytes) * 8);
    group->stop();
    exit_code = control->finish(report);
    return {};
}

int publish_command(std::string_view command,
                    std::string_view about,
                    std::string url,
                    std::span<const char* const> arguments) {
    PublishOptions options;
    options.url = std::move(url);
    OptionTable table(fmt::format("{} [OPTIONS]", command), std::string(about));
    table.text("--url", "URL", "where to publish; %d in it is the number of the stream",
               options.url);
    table.count("--streams", "streams, numbers from 0", options.stream.streams, 1, 100'000);
    table.duration("--ramp", "time over which they are started", options.ramp);
    options.stream.add_to(table, "--bitrate", "--file");
    const bool is_rtsp = command == "rtsp-publish";
    if (is_rtsp) {
        add_rtsp_publish_options(table, options);
    }
    options.run.add_to(table);
    Error error = table.parse(arguments);
    if (!error && is_rtsp) {
        error = complete(options);
    }
    if (!error && table.help_wanted()) {
        fmt::print("{}  A --duration of 0 publishes until Ctrl+C.\n", table.help());
        return kExitPassed;
    }
    int exit_code = kExitUsage;
    if (!error) {
        error = run(options, command, exit_code);
    }
    if (error) {
        complain(error.message());
    }
    return exit_code;
}

}  // namespace

int rtmp_publish(std::span<const char* const> arguments) {
    return publish_command(
        "rtmp-publish",
        "Publishes synthetic streams (H.264 and AAC) at an exact bit rate, or a file in a loop; "
        "every frame can be verified by the play subcommands.",
        "rtmp://127.0.0.1:1935/live/livestream", arguments);
}

int rtc_publish(std::span<const char* const> arguments) {
    return publish_command(
        "rtc-publish",
        "Publishes synthetic streams or a file in a loop over WebRTC (WHIP): the pictures as they "
        "are, Opus as it is, silence for other sound. B-frames are none of WebRTC's.",
        "http://127.0.0.1:8080/rtc/v1/whip/?app=live&stream=livestream", arguments);
}

int rtsp_publish(std::span<const char* const> arguments) {
    return publish_command(
        "rtsp-publish",
        "Publishes synthetic streams or a file in a loop by RTSP (ANNOUNCE and RECORD), or serves "
        "them as cameras do; every frame can be verified by the play subcommands.",
        "rtsp://127.0.0.1:8554/live/livestream", arguments);
}

int srt_publish(std::span<const char* const> arguments) {
    return publish_command(
        "srt-publish",
        "Publishes synthetic streams or a file in a loop by SRT, as MPEG-TS; every frame can be "
        "verified by the play subcommands.",
        "srt://127.0.0.1:10080/live/livestream", arguments);
}

}  // namespace weir::load
