// What a group of players plays: made from a URL by the protocol's maker. A new playing protocol is
// a PlayClient (or, without TCP, a Player), a maker and a line in the table of play_target.cc;
// groups, runs, metrics and scenarios know no protocol.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/socket_address.h"
#include "io/tls.h"

#include "bench/load/core/options.h"
#include "bench/load/core/play_client.h"
#include "bench/load/core/player_check.h"
#include "bench/load/core/units.h"
#include "bench/load/hls_play_options.h"
#include "bench/load/rtc_play_options.h"
#include "bench/load/rtsp_play_options.h"

namespace weir::load {

// Makes the client of one connection to the stream of the given number, feeding the check. Lives
// longer than the clients it made, so they may refer to what it holds.
using ClientFactory =
    std::function<std::unique_ptr<PlayClient>(uint32_t stream, PlayerCheck& check)>;

struct PlayTarget {
    std::string url;             // as given, with its %d
    std::string publish_url;     // where the same streams are published by default; may be empty
    io::SocketAddress address;   // every connection goes there
    std::string transport = {};  // "rtmp", "http-flv", "wss-flv": for reports
    ClientFactory make;
    // Makes the players instead, where they are no TCP connections.
    std::shared_ptr<class PlayerFactory> players = {};
    // Whether the frames of video and of audio arrive as they were published: not when the server
    // transcodes them.
    std::array<bool, 2> keeps = {true, true};
    // Of an encrypted connection, any certificate is good; null: it is plain.
    std::shared_ptr<const io::TlsContext> tls = {};
    std::string host = {};  // for the handshake
    // A shorter gap between frames is none: they come in segments.
    Millis least_stall{0};

    // What the URL says about it. kSystem.
    Error use_tls(const Url& parsed);
};

// What only some protocols look at.
struct ProtocolOptions {
    RtcPlayRunOptions rtc;
    RtspPlayRunOptions rtsp;
    HlsPlayRunOptions hls;
};

struct PlayProtocol {
    std::string_view name;  // of the subcommand: "rtmp-play"
    std::string_view default_url;
    std::string_view about;
    // Resolves the host (blocks for DNS). `streams`: numbers from 0, in place of the URL's %d.
    // kMalformed, kUnsupported (not this protocol's scheme), kNotFound.
    Result<PlayTarget> (*make)(const std::string& url,
                               uint32_t streams,
                               const ProtocolOptions& options);
    // Adds the options that only this protocol has; null: none.
    void (*add_options)(OptionTable& table, ProtocolOptions& options) = nullptr;
};

Result<PlayTarget> rtmp_play_target(const std::string& url,
                                    uint32_t streams,
                                    const ProtocolOptions& options);
Result<PlayTarget> flv_play_target(const std::string& url,
                                   uint32_t streams,
                                   const ProtocolOptions& options);
Result<PlayTarget> ts_play_target(const std::string& url,
                                  uint32_t streams,
                                  const ProtocolOptions& options);
Result<PlayTarget> rtc_play_target(const std::string& url,
                                   uint32_t streams,
                                   const ProtocolOptions& options);
void add_rtc_options(OptionTable& table, ProtocolOptions& options);
Result<PlayTarget> rtsp_play_target(const std::string& url,
                                    uint32_t streams,
                                    const ProtocolOptions& options);
Result<PlayTarget> srt_play_target(const std::string& url,
                                   uint32_t streams,
                                   const ProtocolOptions& options);
Result<PlayTarget> hls_play_target(const std::string& url,
                                   uint32_t streams,
                                   const ProtocolOptions& options);
void add_hls_options(OptionTable& table, ProtocolOptions& options);
void add_rtsp_options(OptionTable& table, ProtocolOptions& options);

std::span<const PlayProtocol> play_protocols();

// nullptr when there is none of that name.
const PlayProtocol* find_play_protocol(std::string_view name);

// kMalformed: several streams and no "%d" in the URL.
Error check_numbered(const std::string& url, uint32_t streams);

}  // namespace weir::load
