// weir-bench rtsp-play.
#include <algorithm>

#include <fmt/format.h>

#include "base/random.h"

#include "bench/load/core/rtsp_play_client.h"
#include "bench/load/core/units.h"
#include "bench/load/play_run.h"
#include "bench/load/play_target.h"
#include "bench/load/rtsp_player.h"
#include "bench/load/run_control.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr uint16_t kRtmpPort = 1935;

std::optional<RtspWay> way_of(std::string_view name) {
    if (name == "tcp") {
        return RtspWay::kTcp;
    }
    if (name == "udp") {
        return RtspWay::kUdp;
    }
    return name == "multicast" ? std::optional(RtspWay::kMulticast) : std::nullopt;
}

// The RTMP address of the same streams on the same host: the path with its %d, without the query.
std::string publish_url_of(std::string_view url, const std::string& host) {
    const size_t at = std::min(url.find('/', url.find("://") + 3), url.size());
    return fmt::format("rtmp://{}:{}{}",
                       host.find(':') == std::string::npos ? host : "[" + host + "]", kRtmpPort,
                       url.substr(at, url.find('?', at) - at));
}

}  // namespace

void add_rtsp_options(OptionTable& table, ProtocolOptions& options) {
    RtspPlayRunOptions& rtsp = options.rtsp;
    table.text("--transport", "HOW", "how media comes: tcp (interleaved), udp or multicast",
               rtsp.transport);
    table.duration("--pause-after", "a player sends PAUSE so long after its first packet; 0: never",
                   rtsp.pause_after);
    table.duration("--pause-for", "and PLAY so long after that", rtsp.pause_for);
}

Result<PlayTarget> rtsp_play_target(const std::string& url,
                                    uint32_t streams,
                                    const ProtocolOptions& options) {
    const std::optional<RtspWay> way = way_of(options.rtsp.transport);
    if (!way) {
        return make_error(ErrorCode::kMalformed,
                          "--transport: found '{}', expected tcp, udp or multicast",
                          options.rtsp.transport);
    }
    WEIR_TRY(check_numbered(url, streams));
    std::vector<rtsp::Url> urls;
    for (uint32_t i = 0; i < streams; i++) {
        WEIR_TRY_ASSIGN(rtsp::Url each, rtsp::Url::parse(numbered(url, i)));
        urls.push_back(std::move(each));
    }
    const rtsp::Url& first = urls.front();
    if (first.tls && *way != RtspWay::kTcp) {
        return make_error(ErrorCode::kUnsupported, "rtsps:// is played with --transport tcp");
    }
    RtspPlayOptions play;
    play.way = *way;
    play.pause_after = options.rtsp.pause_after;
    play.pause_for = options.rtsp.pause_for;
    PlayTarget target;
    target.url = first.shown();
    target.publish_url = publish_url_of(url, first.host);
    target.transport = fmt::format("rtsp-{}", options.rtsp.transport);
    WEIR_TRY_ASSIGN(target.address, resolve(first.host, first.port));
    if (first.tls) {
        WEIR_TRY_ASSIGN(target.tls, io::TlsContext::client({.verify = false, .ca_file = {}}));
        target.host = first.host;
    }
    if (play.way != RtspWay::kTcp || play.pause_after.count() > 0) {
        if (first.tls) {
            return make_error(ErrorCode::kUnsupported, "rtsps:// is played without --pause-after");
        }
        target.players = std::make_shared<RtspPlayerFactory>(
            RtspPlayerFactory::Target{target.address, std::move(urls), play});
        return target;
    }
    target.make = [urls = std::move(urls), play](uint32_t stream, PlayerCheck& check) {
        return std::make_unique<RtspPlayClient>(urls[stream], play, check, system_random());
    };
    return target;
}

int rtsp_play(std::span<const char* const> arguments) {
    return play_command(*find_play_protocol("rtsp-play"), arguments);
}

}  // namespace weir::load
