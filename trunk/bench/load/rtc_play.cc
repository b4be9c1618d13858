// weir-bench rtc-play.
#include <fmt/format.h>

#include "bench/load/core/units.h"
#include "bench/load/play_run.h"
#include "bench/load/play_target.h"
#include "bench/load/rtc_player.h"
#include "bench/load/run_control.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr uint16_t kRtmpPort = 1935;

std::string_view parameter(std::string_view path, std::string_view name) {
    const std::string key = fmt::format("{}=", name);
    size_t at = path.find('?');
    while (at != std::string_view::npos && at + 1 < path.size()) {
        std::string_view rest = path.substr(at + 1);
        if (rest.starts_with(key)) {
            rest.remove_prefix(key.size());
            return rest.substr(0, rest.find('&'));
        }
        at = path.find('&', at + 1);
    }
    return {};
}

// The RTMP address of the same stream on the same host.
std::string publish_url_of(const Url& url) {
    Url rtmp = url;
    rtmp.port = kRtmpPort;
    return fmt::format("rtmp://{}/{}/{}", rtmp.authority(), parameter(url.path, "app"),
                       parameter(url.path, "stream"));
}

}  // namespace

void add_rtc_options(OptionTable& table, ProtocolOptions& options) {
    RtcPlayRunOptions& rtc = options.rtc;
    table.text("--token", "TOKEN", "bearer token of the requests", rtc.token);
    table.text("--leave", "HOW",
               "how players leave: 'delete' asks the server to end the session, 'close' says so in "
               "DTLS, 'vanish' says nothing",
               rtc.leave);
    table.text("--halt", "WHERE",
               "players stop there, to see what the server holds for them: 'created' sends no "
               "datagram, 'ice' begins no handshake",
               rtc.halt);
    table.flag("--no-nack", "no packet is asked for again", rtc.nack, false);
    table.flag("--no-transport-cc", "no transport-wide feedback", rtc.transport_cc, false);
    table.count("--drop", "media packets of a thousand that are thrown away unseen",
                rtc.drop_per_mille, 0, 1000);
}

Result<PlayTarget> rtc_play_target(const std::string& url,
                                   uint32_t streams,
                                   const ProtocolOptions& options) {
    WEIR_TRY_ASSIGN(Url parsed, parse_url(url));
    if (parsed.scheme != "http") {
        return make_error(ErrorCode::kUnsupported, "'{}': expected an http:// URL", url);
    }
    WEIR_TRY(check_numbered(url, streams));
    PlayTarget target;
    target.url = url;
    target.publish_url = publish_url_of(parsed);
    target.transport = "webrtc";
    target.keeps[1] = false;  // sound that is not Opus is transcoded
    WEIR_TRY_ASSIGN(target.address, resolve(parsed.host, parsed.port));
    RtcPlayerFactory::Target of{target.address, parsed.authority(), {}};
    for (uint32_t i = 0; i < streams; i++) {
        of.paths.push_back(numbered(parsed.path, i));
    }
    WEIR_TRY_ASSIGN(target.players, RtcPlayerFactory::create(std::move(of), options.rtc));
    return target;
}

int rtc_play(std::span<const char* const> arguments) {
    return play_command(*find_play_protocol("rtc-play"), arguments);
}

}  // namespace weir::load
