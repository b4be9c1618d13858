// weir-bench flv-play.
#include <fmt/format.h>

#include "base/random.h"

#include "bench/load/core/flv_play_client.h"
#include "bench/load/play_run.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr uint16_t kRtmpPort = 1935;

// The RTMP address of the same stream on the same host.
std::string publish_url_of(const Url& url) {
    std::string path = url.path.substr(0, url.path.find('?'));
    if (path.ends_with(".flv")) {
        path.resize(path.size() - 4);
    }
    Url rtmp = url;
    rtmp.port = kRtmpPort;
    return fmt::format("rtmp://{}{}", rtmp.authority(), path);
}

Error run(PlayOptions& options, std::string publish_url, int& exit_code) {
    WEIR_TRY_ASSIGN(Url url, parse_url(options.url));
    if (url.scheme == "rtmp") {
        return make_error(ErrorCode::kUnsupported, "'{}': expected an http:// or ws:// URL",
                          options.url);
    }
    if (options.stream.streams > 1 && !has_number(options.url)) {
        return make_error(ErrorCode::kMalformed,
                          "{} streams need a URL with %d for their number, found '{}'",
                          options.stream.streams, options.url);
    }
    std::vector<FlvTarget> targets;
    for (uint32_t i = 0; i < options.stream.streams; i++) {
        targets.push_back({url.authority(), numbered(url.path, i), url.scheme == "ws"});
    }
    WEIR_TRY_ASSIGN(io::SocketAddress address, resolve(url.host, url.port));
    if (publish_url.empty()) {
        publish_url = publish_url_of(url);
    }
    PlayRun run(options, "flv-play", [&](uint32_t number, PlayerCheck& check) {
        return std::make_unique<FlvPlayClient>(targets[number % targets.size()], check,
                                               system_random(), now_ns());
    });
    exit_code = run.run(address, publish_url);
    return {};
}

}  // namespace

int flv_play(std::span<const char* const> arguments) {
    PlayOptions options;
    options.url = "http://127.0.0.1:8080/live/livestream.flv";
    std::string publish_url;
    OptionTable table("flv-play [OPTIONS]",
                      "Plays a stream over HTTP-FLV (http://) or WebSocket-FLV (ws://) with many "
                      "clients and checks every "
                      "frame. Without --publish, the stream must come from 'weir-bench "
                      "rtmp-publish', or give --no-verify.");
    options.add_to(table);
    table.text("--publish-url", "URL",
               "rtmp:// address to publish to; default: port 1935 of the same host", publish_url);
    Error error = table.parse(arguments);
    if (!error && table.help_wanted()) {
        fmt::print("{}", table.help());
        return kExitPassed;
    }
    int exit_code = kExitUsage;
    if (!error) {
        error = run(options, publish_url, exit_code);
    }
    if (error) {
        complain(error.message());
    }
    return exit_code;
}

}  // namespace weir::load
