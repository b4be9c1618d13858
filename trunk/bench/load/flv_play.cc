// weir-bench flv-play, and the targets of all that is played over HTTP.
#include <vector>

#include <fmt/format.h>

#include "base/random.h"

#include "bench/load/core/flv_play_client.h"
#include "bench/load/core/units.h"
#include "bench/load/play_run.h"
#include "bench/load/play_target.h"
#include "bench/load/run_control.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr uint16_t kRtmpPort = 1935;

// The RTMP address of the same stream on the same host.
std::string publish_url_of(const Url& url) {
    std::string path = url.path.substr(0, url.path.find('?'));
    for (const std::string_view suffix : {".flv", ".ts"}) {
        if (path.ends_with(suffix)) {
            path.erase(path.size() - suffix.size());
        }
    }
    Url rtmp = url;
    rtmp.port = kRtmpPort;
    return fmt::format("rtmp://{}{}", rtmp.authority(), path);
}

Result<PlayTarget> http_target(const std::string& url, uint32_t streams, std::string_view format) {
    WEIR_TRY_ASSIGN(Url parsed, parse_url(url));
    if (parsed.scheme.starts_with("rtmp")) {
        return make_error(ErrorCode::kUnsupported,
                          "'{}': expected an http:// or ws:// URL, or https:// or wss://", url);
    }
    WEIR_TRY(check_numbered(url, streams));
    std::vector<FlvTarget> targets;
    for (uint32_t i = 0; i < streams; i++) {
        targets.push_back({parsed.authority(), numbered(parsed.path, i),
                           parsed.scheme.starts_with("ws"), format == "ts"});
    }
    PlayTarget target;
    target.url = url;
    target.publish_url = publish_url_of(parsed);
    target.transport = fmt::format("{}-{}", parsed.scheme, format);
    WEIR_TRY(target.use_tls(parsed));
    WEIR_TRY_ASSIGN(target.address, resolve(parsed.host, parsed.port));
    target.make = [targets = std::move(targets)](uint32_t stream, PlayerCheck& check) {
        return std::make_unique<FlvPlayClient>(targets[stream], check, system_random(), now_ns());
    };
    return target;
}

}  // namespace

Result<PlayTarget> flv_play_target(const std::string& url,
                                   uint32_t streams,
                                   const ProtocolOptions&) {
    return http_target(url, streams, "flv");
}

Result<PlayTarget> ts_play_target(const std::string& url,
                                  uint32_t streams,
                                  const ProtocolOptions&) {
    return http_target(url, streams, "ts");
}

int flv_play(std::span<const char* const> arguments) {
    return play_command(*find_play_protocol("flv-play"), arguments);
}

}  // namespace weir::load
