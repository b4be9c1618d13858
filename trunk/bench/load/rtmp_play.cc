// weir-bench rtmp-play.
#include <fmt/format.h>

#include "base/random.h"

#include "bench/load/core/rtmp_play_client.h"
#include "bench/load/play_run.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

// What each stream number is called. kMalformed: several streams and no "%d".
Result<std::vector<RtmpTarget>> targets_of(const PlayOptions& options) {
    if (options.stream.streams > 1 && !has_number(options.url)) {
        return make_error(ErrorCode::kMalformed,
                          "{} streams need a URL with %d for their number, found '{}'",
                          options.stream.streams, options.url);
    }
    std::vector<RtmpTarget> targets;
    for (uint32_t i = 0; i < options.stream.streams; i++) {
        WEIR_TRY_ASSIGN(Url url, parse_url(numbered(options.url, i)));
        targets.push_back(
            {url.app, fmt::format("rtmp://{}/{}", url.authority(), url.app), url.stream});
    }
    return targets;
}

Error run(PlayOptions& options, int& exit_code) {
    WEIR_TRY_ASSIGN(Url url, parse_url(options.url));
    if (url.scheme != "rtmp") {
        return make_error(ErrorCode::kUnsupported, "'{}': expected an rtmp:// URL", options.url);
    }
    WEIR_TRY_ASSIGN(std::vector<RtmpTarget> targets, targets_of(options));
    WEIR_TRY_ASSIGN(io::SocketAddress address, resolve(url.host, url.port));
    PlayRun run(options, "rtmp-play", [&](uint32_t number, PlayerCheck& check) {
        return std::make_unique<RtmpPlayClient>(targets[number % targets.size()], check,
                                                system_random());
    });
    exit_code = run.run(address, options.url);
    return {};
}

}  // namespace

int rtmp_play(std::span<const char* const> arguments) {
    PlayOptions options;
    options.url = "rtmp://127.0.0.1:1935/live/livestream";
    OptionTable table("rtmp-play [OPTIONS]",
                      "Plays a stream with many clients and checks every frame. Without --publish, "
                      "the stream must come "
                      "from 'weir-bench rtmp-publish', or give --no-verify.");
    options.add_to(table);
    Error error = table.parse(arguments);
    if (!error && table.help_wanted()) {
        fmt::print("{}", table.help());
        return kExitPassed;
    }
    int exit_code = kExitUsage;
    if (!error) {
        error = run(options, exit_code);
    }
    if (error) {
        complain(error.message());
    }
    return exit_code;
}

}  // namespace weir::load
