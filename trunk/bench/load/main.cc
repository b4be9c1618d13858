// weir-bench: the load client. Chooses the subcommand and starts the runtime; see
// doc/load-client.md.
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "io/runtime.h"

#include "bench/load/core/metrics.h"
#include "bench/load/subcommand.h"

namespace weir::load {
namespace {

constexpr std::array<Subcommand, 15> kSubcommands = {{
    {"rtmp-play", "players of an RTMP stream, with or without its publisher", &rtmp_play},
    {"rtmp-publish", "publishers of RTMP streams, synthetic or from a file", &rtmp_publish},
    {"flv-play", "players of an HTTP-FLV or WebSocket-FLV stream", &flv_play},
    {"ts-play", "players of an HTTP-TS or WebSocket-TS stream", &ts_play},
    {"hls-play", "players of a stream by HLS or low-latency HLS", &hls_play},
    {"rtc-play", "players of a stream over WebRTC (WHEP)", &rtc_play},
    {"rtc-publish", "publishers of streams over WebRTC (WHIP)", &rtc_publish},
    {"rtsp-play", "players of a stream by RTSP, over TCP, UDP or multicast", &rtsp_play},
    {"rtsp-publish", "publishers of streams by RTSP, or cameras", &rtsp_publish},
    {"mcast", "senders of multicast groups, and receivers by a gateway or by joining", &mcast},
    {"srt-play", "players of a stream by SRT", &srt_play},
    {"srt-publish", "publishers of streams by SRT", &srt_publish},
    {"sip-call", "telephones that call, are called, or register by SIP", &sip_call},
    {"scenario", "a whole test that a file describes", &scenario},
    {"garbage", "connections that send random bytes and leave", &garbage},
}};

std::string usage() {
    std::string out = "usage: weir-bench SUBCOMMAND [OPTIONS]\n\n";
    for (const Subcommand& each : kSubcommands) {
        out += fmt::format("  {:<14} {}\n", each.name, each.about);
    }
    out += fmt::format("  {:<14} {}\n", "metrics", "lists the figures that conditions may use");
    return out +
           "\n'weir-bench SUBCOMMAND --help' lists its options. Exit code: 0 passed, 1 failed, 2 "
           "could not start, 3 ended by a signal.\n";
}

int run(std::span<const char* const> arguments) {
    if (arguments.empty()) {
        fmt::print(stderr, "{}", usage());
        return kExitUsage;
    }
    std::string_view name = arguments[0];
    if (name == "metrics") {
        fmt::print("Figures for --expect and --until, and their units:\n\n{}", metrics_help());
        return kExitPassed;
    }
    if (name == "--help" || name == "-h") {
        fmt::print("{}", usage());
        return kExitPassed;
    }
    for (const Subcommand& each : kSubcommands) {
        if (each.name == name) {
            if (Error error = io::init_runtime()) {
                fmt::print(stderr, "weir-bench: {}\n", error.message());
                return kExitUsage;
            }
            return each.run(arguments.subspan(1));
        }
    }
    fmt::print(stderr, "weir-bench: unknown subcommand '{}'\n{}", name, usage());
    return kExitUsage;
}

}  // namespace
}  // namespace weir::load

int main(int count, char** arguments) {
    std::span<const char* const> all(arguments, static_cast<size_t>(count));
    return weir::load::run(all.subspan(count > 0 ? 1 : 0));
}
