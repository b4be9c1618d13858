// weir-bench rtmp-play.
#include <vector>

#include <fmt/format.h>

#include "base/random.h"

#include "bench/load/core/rtmp_play_client.h"
#include "bench/load/core/units.h"
#include "bench/load/play_run.h"
#include "bench/load/play_target.h"
#include "bench/load/run_control.h"
#include "bench/load/subcommand.h"

namespace weir::load {

Result<PlayTarget> rtmp_play_target(const std::string& url,
                                    uint32_t streams,
                                    const ProtocolOptions&) {
    WEIR_TRY_ASSIGN(Url first, parse_url(url));
    if (first.scheme != "rtmp" && first.scheme != "rtmps") {
        return make_error(ErrorCode::kUnsupported, "'{}': expected an rtmp:// URL, or rtmps://",
                          url);
    }
    WEIR_TRY(check_numbered(url, streams));
    std::vector<RtmpTarget> targets;
    for (uint32_t i = 0; i < streams; i++) {
        WEIR_TRY_ASSIGN(Url each, parse_url(numbered(url, i)));
        targets.push_back(
            {each.app, fmt::format("rtmp://{}/{}", each.authority(), each.app), each.stream});
    }
    PlayTarget target;
    target.url = url;
    target.publish_url = url;
    target.transport = first.scheme;
    WEIR_TRY(target.use_tls(first));
    WEIR_TRY_ASSIGN(target.address, resolve(first.host, first.port));
    target.make = [targets = std::move(targets)](uint32_t stream, PlayerCheck& check) {
        return std::make_unique<RtmpPlayClient>(targets[stream], check, system_random());
    };
    return target;
}

int rtmp_play(std::span<const char* const> arguments) {
    return play_command(*find_play_protocol("rtmp-play"), arguments);
}

}  // namespace weir::load
