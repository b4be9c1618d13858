// weir-bench hls-play.
#include <vector>

#include <fmt/format.h>

#include "bench/load/core/hls_play_client.h"
#include "bench/load/core/units.h"
#include "bench/load/play_run.h"
#include "bench/load/play_target.h"
#include "bench/load/run_control.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr uint16_t kRtmpPort = 1935;
constexpr std::string_view kSuffix = ".m3u8";
// Frames come a segment at a time, and the longest that is usual has 10 s.
constexpr Millis kStall{15'000};
constexpr Millis kStallByParts{3'000};

// The RTMP address of the same stream on the same host.
std::string publish_url_of(const Url& url) {
    std::string path = url.path.substr(0, url.path.find('?'));
    if (path.ends_with(kSuffix)) {
        path.resize(path.size() - kSuffix.size());
    }
    Url rtmp = url;
    rtmp.port = kRtmpPort;
    return fmt::format("rtmp://{}{}", rtmp.authority(), path);
}

}  // namespace

void add_hls_options(OptionTable& table, ProtocolOptions& options) {
    table.flag("--plain", "whole segments, without low latency, also where it is offered",
               options.hls.plain);
}

Result<PlayTarget> hls_play_target(const std::string& url,
                                   uint32_t streams,
                                   const ProtocolOptions& options) {
    WEIR_TRY_ASSIGN(const Url parsed, parse_url(url));
    if (!parsed.scheme.starts_with("http")) {
        return make_error(ErrorCode::kUnsupported, "'{}': expected an http:// or https:// URL",
                          url);
    }
    WEIR_TRY(check_numbered(url, streams));
    std::vector<HlsTarget> targets;
    for (uint32_t i = 0; i < streams; i++) {
        targets.push_back({parsed.authority(), numbered(parsed.path, i), !options.hls.plain});
    }
    PlayTarget target;
    target.url = url;
    target.publish_url = publish_url_of(parsed);
    target.transport = fmt::format("{}-{}", parsed.scheme, options.hls.plain ? "hls" : "ll-hls");
    target.least_stall = options.hls.plain ? kStall : kStallByParts;
    WEIR_TRY(target.use_tls(parsed));
    WEIR_TRY_ASSIGN(target.address, resolve(parsed.host, parsed.port));
    target.make = [targets = std::move(targets)](uint32_t stream, PlayerCheck& check) {
        return std::make_unique<HlsPlayClient>(targets[stream], check, now_ns());
    };
    return target;
}

int hls_play(std::span<const char* const> arguments) {
    return play_command(*find_play_protocol("hls-play"), arguments);
}

}  // namespace weir::load
