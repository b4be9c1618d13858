// weir-bench srt-play.
#include <fmt/format.h>

#include "bench/load/core/units.h"
#include "bench/load/play_run.h"
#include "bench/load/play_target.h"
#include "bench/load/run_control.h"
#include "bench/load/srt_player.h"
#include "bench/load/srt_url.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr uint16_t kRtmpPort = 1935;

// The RTMP address of the same stream on the same host.
std::string publish_url_of(const Url& url) {
    Url rtmp = url;
    rtmp.port = kRtmpPort;
    return fmt::format("rtmp://{}{}", rtmp.authority(), url.path.substr(0, url.path.find('?')));
}

}  // namespace

Result<PlayTarget> srt_play_target(const std::string& url,
                                   uint32_t streams,
                                   const ProtocolOptions&) {
    WEIR_TRY_ASSIGN(const Url parsed, parse_url(url));
    if (parsed.scheme != "srt") {
        return make_error(ErrorCode::kUnsupported, "'{}': expected an srt:// URL", url);
    }
    WEIR_TRY(check_numbered(url, streams));
    SrtPlayerFactory::Target target;
    WEIR_TRY_ASSIGN(target.server, resolve(parsed.host, parsed.port));
    for (uint32_t i = 0; i < streams; i++) {
        WEIR_TRY_ASSIGN(const Url each, parse_url(numbered(url, i)));
        target.calls.push_back(srt_options_of(each, srt::StreamMode::kRequest));
    }
    PlayTarget out;
    out.url = url;
    out.publish_url = publish_url_of(parsed);
    out.transport = "srt";
    out.address = target.server;
    out.players = std::make_shared<SrtPlayerFactory>(std::move(target));
    return out;
}

int srt_play(std::span<const char* const> arguments) {
    return play_command(*find_play_protocol("srt-play"), arguments);
}

}  // namespace weir::load
