#include "bench/load/play_target.h"

#include <array>

#include "bench/load/core/units.h"

namespace weir::load {
namespace {

constexpr std::array<PlayProtocol, 7> kProtocols = {{
    {"rtmp-play", "rtmp://127.0.0.1:1935/live/livestream",
     "Plays a stream with many clients and checks every frame.", &rtmp_play_target},
    {"flv-play", "http://127.0.0.1:8080/live/livestream.flv",
     "Plays a stream over HTTP-FLV (http://) or WebSocket-FLV (ws://) with many clients and checks "
     "every frame.",
     &flv_play_target},
    {"ts-play", "http://127.0.0.1:8080/live/livestream.ts",
     "Plays a stream over HTTP-TS (http://) or WebSocket-TS (ws://) with many clients and checks "
     "every frame.",
     &ts_play_target},
    {"hls-play", "http://127.0.0.1:8080/live/livestream.m3u8",
     "Plays a stream by HLS or low-latency HLS with many clients and checks every frame.",
     &hls_play_target, &add_hls_options},
    {"rtc-play", "http://127.0.0.1:8080/rtc/v1/whep/?app=live&stream=livestream",
     "Plays a stream over WebRTC (WHEP) with many clients, each with a socket of its own.",
     &rtc_play_target, &add_rtc_options},
    {"rtsp-play", "rtsp://127.0.0.1:8554/live/livestream",
     "Plays a stream by RTSP with many clients, over TCP, UDP or multicast.", &rtsp_play_target,
     &add_rtsp_options},
    {"srt-play", "srt://127.0.0.1:10080/live/livestream",
     "Plays a stream by SRT with many clients and checks every frame.", &srt_play_target},
}};

}  // namespace

std::span<const PlayProtocol> play_protocols() {
    return kProtocols;
}

const PlayProtocol* find_play_protocol(std::string_view name) {
    for (const PlayProtocol& each : kProtocols) {
        if (each.name == name) {
            return &each;
        }
    }
    return nullptr;
}

Error PlayTarget::use_tls(const Url& parsed) {
    if (parsed.tls()) {
        WEIR_TRY_ASSIGN(tls, io::TlsContext::client({.verify = false, .ca_file = {}}));
        host = parsed.host;
    }
    return {};
}

Error check_numbered(const std::string& url, uint32_t streams) {
    if (streams > 1 && !has_number(url)) {
        return make_error(ErrorCode::kMalformed,
                          "{} streams need a URL with %d for their number, found '{}'", streams,
                          url);
    }
    return {};
}

}  // namespace weir::load
