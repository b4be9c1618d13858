// The keys of MediaMTX (its mediamtx.yml of version 1) and what they become. Those of a path stand
// in pathDefaults as well.
#include "config/explain/mediamtx.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "config/explain/convert.h"
#include "config/explain/explain.h"
#include "config/explain/translate.h"

namespace weir::config {
namespace {

Values yes_or_no(const Statement& statement) {
    return {is_yes(first_word(statement)) ? "on" : "off"};
}

// A length within the range of the directive.
template <int kMinMs, int kMaxMs>
Values length(const Statement& statement) {
    const std::optional<double> wanted = seconds_of(first_word(statement));
    return wanted ? Values{seconds_text(std::clamp(*wanted, kMinMs / 1000.0, kMaxMs / 1000.0))}
                  : Values{};
}

constexpr std::string_view kCertificate = "listen ADDRESS ssl; names the certificate.";
constexpr std::string_view kOrigins = "Media paths always have CORS.";
constexpr std::string_view kProxies = "trusted_proxies, for all servers.";
constexpr std::string_view kPi = "Cameras of a Raspberry Pi are no source: let a program publish.";

const ForeignDirective kMediaMtxDirectives[] = {
    // The process.
    {"logLevel", Fate::kSame, "log_level", ""},
    {"logDestinations", Fate::kDiffers, "",
     "Logs go to standard error; log_file FILE; names a file."},
    {"logFile", Fate::kDiffers, "",
     "Not taken over, as MediaMTX may still write that file: log_file FILE; names another."},
    {"logStructured", Fate::kSame, "log_format", "",
     [](const Statement& s) { return Values{is_yes(first_word(s)) ? "json" : "text"}; }},
    {"sysLogPrefix", Fate::kNone, "", "The service manager passes standard error on."},
    {"dumpPackets", Fate::kNone, "", ""},
    {"readTimeout", Fate::kSame, "vhost.publish.normal_timeout", "", length<1000, 600'000>},
    {"writeTimeout", Fate::kSame, "vhost.write_stall_timeout", "", length<1000, 600'000>},
    {"writeQueueSize", Fate::kBuiltIn, "", "play { queue_length; queue_size; }"},
    {"readBufferCount", Fate::kBuiltIn, "", ""},
    {"udpMaxPayloadSize", Fate::kBuiltIn, "", ""},
    {"udpReadBufferSize", Fate::kBuiltIn, "", "As large as the system allows."},
    {"runOnConnect", Fate::kLost, "",
     "Nothing is started for a connection: http_hooks { on_connect URL; } asks.", nullptr, false,
     "exec_connect"},
    {"runOnConnectRestart", Fate::kBuiltIn, "", ""},
    {"runOnDisconnect", Fate::kLost, "",
     "Nothing is started at the end of a connection: http_hooks { on_close URL; } tells it.",
     nullptr, false, "exec_close"},

    // Who may do what.
    {"authMethod", Fate::kDiffers, "", "internal; http is http_hooks; jwt is to be decided."},
    {"authInternalUsers", Fate::kDiffers, "vhost.security",
     "any is allow and deny; others are publish_user, play_key and http_api { user }. Hashed "
     "passwords, and rights for one path, are to be decided."},
    {"authHTTPAddress", Fate::kDiffers, "vhost.http_hooks.on_publish",
     "on_publish and on_play: POST of other JSON, and answer 0 or {\"code\":0} instead of 2xx."},
    {"authJWTJWKS", Fate::kDiffers, "",
     "To be decided: security { jwks_file FILE; }, and tokens with other claims."},
    {"auth*", Fate::kBuiltIn, "", "As authMethod."},

    // Servers.
    {"rtmp", Fate::kDiffers, "listen", "Off: on this machine alone."},
    {"rtmpAddress", Fate::kSame, "listen", ""},
    {"rtmpsAddress", Fate::kSame, "listen", "With ssl."},
    {"rtmpServerCert", Fate::kSame, "ssl_certificate", ""},
    {"rtmpServerKey", Fate::kSame, "ssl_certificate_key", ""},
    {"rtmp*", Fate::kBuiltIn, "", kCertificate},
    {"rtsp", Fate::kSame, "rtsp_server.enabled", ""},
    {"rtspAddress", Fate::kSame, "rtsp_server.listen", ""},
    {"rtspsAddress", Fate::kSame, "rtsp_server.listen", "With ssl."},
    {"rtspTransports", Fate::kDiffers, "rtsp_server.udp", "TCP is always there."},
    {"protocols", Fate::kDiffers, "", "See rtspTransports."},
    {"encryption", Fate::kDiffers, "", "See rtspEncryption."},
    {"rtpAddress", Fate::kSame, "rtsp_server.rtp_listen", "RTCP is on the port after it."},
    {"multicastIPRange", Fate::kSame, "rtsp_server.multicast", ""},
    {"multicastRTPPort", Fate::kSame, "rtsp_server.multicast_ports", ""},
    {"multicast*", Fate::kBuiltIn, "", "On the ports after it."},
    {"srtpAddress", Fate::kBuiltIn, "", "On the port of RTP."},
    {"srtcpAddress", Fate::kBuiltIn, "", "On the port after it."},
    {"rtspAuthMethods", Fate::kBuiltIn, "", "Digest; Basic by RTSPS only."},
    {"authMethods", Fate::kBuiltIn, "", "Digest; Basic by RTSPS only."},
    {"rtspTrustedProxies", Fate::kDiffers, "trusted_proxies", kProxies},
    {"rtsp*", Fate::kBuiltIn, "", kCertificate},
    {"hls", Fate::kSame, "vhost.hls.enabled", "At http_server."},
    {"hlsAddress", Fate::kSame, "http_server.listen",
     "/APP/STREAM.m3u8, in place of /PATH/index.m3u8."},
    {"hlsServerCert", Fate::kSame, "http_server.ssl_certificate", ""},
    {"hlsServerKey", Fate::kSame, "http_server.ssl_certificate_key", ""},
    {"hlsAllowOrigin", Fate::kBuiltIn, "", kOrigins},
    {"hlsAllowOrigins", Fate::kBuiltIn, "", kOrigins},
    {"hlsTrustedProxies", Fate::kDiffers, "trusted_proxies", kProxies},
    {"hlsAlwaysRemux", Fate::kSame, "vhost.hls.always", "", yes_or_no},
    {"hlsVariant", Fate::kDiffers, "vhost.hls.container", "fmp4 always has low latency.",
     [](const Statement& s) { return Values{first_word(s) == "mpegts" ? "ts" : "fmp4"}; }},
    {"hlsSegmentCount", Fate::kDiffers, "vhost.hls.window", "From 3 to 100.",
     [](const Statement& s) {
         const int wanted = std::atoi(first_word(s).c_str());
         return Values{fmt::format("{}", std::clamp(wanted, 3, 100))};
     }},
    {"hlsSegmentDuration", Fate::kSame, "vhost.hls.fragment", "From 1s to 60s.",
     length<1000, 60'000>},
    {"hlsPartDuration", Fate::kSame, "vhost.hls.part", "From 100ms to 5s.", length<100, 5000>},
    {"hlsDirectory", Fate::kBuiltIn, "",
     "Segments are in memory; hls { path FOLDER; } copies them."},
    {"hlsCDNSecret", Fate::kLost, "",
     "Players behind a cache are asked as all others: hls { sessions off; } lets caches answer.",
     nullptr, false, "cdn_secret"},
    {"hls*", Fate::kBuiltIn, "", "Set by itself."},
    {"webrtc", Fate::kSame, "rtc_server.enabled", ""},
    {"webrtcAddress", Fate::kSame, "http_server.listen",
     "/APP/STREAM/whip and /APP/STREAM/whep, at the ports of HLS too."},
    {"webrtcLocalUDPAddress", Fate::kSame, "rtc_server.listen", ""},
    {"webrtcLocalTCPAddress", Fate::kDiffers, "rtc_server.tcp", "On the port of UDP."},
    {"webrtcAdditionalHosts", Fate::kDiffers, "rtc_server.candidate",
     "Numeric addresses; a name is lost. They stand in place of those of the interfaces."},
    {"webrtcICEServers2", Fate::kDiffers, "rtc_server.ice_server",
     "Passwords that are made of a secret are lost."},
    {"webrtcICEServers", Fate::kDiffers, "", "See webrtcICEServers2."},
    {"webrtcIPsFromInterfaces", Fate::kBuiltIn, "", "Where there is no candidate."},
    {"webrtcIPsFromInterfacesList", Fate::kDiffers, "",
     "rtc_server { candidate ADDRESS; } names them."},
    {"webrtcTrustedProxies", Fate::kDiffers, "trusted_proxies", kProxies},
    {"webrtc*", Fate::kBuiltIn, "", "Set by itself."},
    {"srt", Fate::kSame, "srt_server.enabled", ""},
    {"srtAddress", Fate::kSame, "srt_server.listen", ""},
    {"moq", Fate::kLost, "", "Media over QUIC is no protocol of this server.", nullptr, false,
     "moq_server"},
    {"moq*", Fate::kNone, "", "As moq."},
    {"api", Fate::kSame, "http_api.enabled", "Other paths and other JSON (doc/api.md)."},
    {"apiAddress", Fate::kDiffers, "http_api.listen",
     "A bare port is that of this machine: whoever reaches it can end any stream."},
    {"apiAllowOrigin", Fate::kDiffers, "", "http_api { allow_origin ORIGIN; }"},
    {"apiAllowOrigins", Fate::kDiffers, "", "http_api { allow_origin ORIGIN; }"},
    {"api*", Fate::kBuiltIn, "", kCertificate},
    {"metrics", Fate::kDiffers, "http_api.enabled",
     "/metrics is part of http_api, with other names."},
    {"metrics*", Fate::kBuiltIn, "", "As the API."},
    {"pprof", Fate::kNone, "", "Of Go; doc/debugging.md has what is here."},
    {"pprof*", Fate::kNone, "", "As pprof."},
    {"playback", Fate::kDiffers, "vhost.record.playback",
     "/vod/APP/STREAM.m3u8?from=TIME&to=TIME of http_server (doc/recording.md).", yes_or_no},
    {"playback*", Fate::kBuiltIn, "", "At http_server."},

    // Paths.
    {"paths.source", Fate::kDiffers, "vhost.source",
     "RTMP, RTSP, SRT, WHEP and groups; URL/$G1 of a pattern is a source without stream. HLS, "
     "files, cameras of the machine, RTP and redirects are lost."},
    {"paths.sourceOnDemand", Fate::kSame, "vhost.source.on_demand", ""},
    {"paths.sourceOnDemandCloseAfter", Fate::kSame, "vhost.source.linger", ""},
    {"paths.sourceOnDemandStartTimeout", Fate::kBuiltIn, "", "10 s."},
    {"paths.sourceFingerprint", Fate::kDiffers, "vhost.source.tls_verify",
     "A certificate is valid for its name; one that is known by its fingerprint is lost."},
    {"paths.rtspTransport", Fate::kSame, "vhost.source.transport", ""},
    {"paths.rtspAnyPort", Fate::kBuiltIn, "", ""},
    {"paths.rtspDemuxMpegts", Fate::kNone, "", ""},
    {"paths.rtspRange*", Fate::kNone, "", ""},
    {"paths.rtspScale", Fate::kNone, "", ""},
    {"paths.rtspUDP*", Fate::kBuiltIn, "", "Ports that the system gives."},
    {"paths.rtpSDP", Fate::kNone, "", "As the source."},
    {"paths.whepBearerToken", Fate::kLost, "",
     "Write it into the URL: source whep+https://:TOKEN@HOST/PATH { stream NAME; }", nullptr, false,
     "bearer_token"},
    {"paths.whep*", Fate::kBuiltIn, "", ""},
    {"paths.moqTransport", Fate::kNone, "", "As moq."},
    {"paths.sourceRedirect", Fate::kNone, "", "As the source."},
    {"paths.rpiCamera*", Fate::kNone, "", kPi},
    {"paths.maxReaders", Fate::kDiffers, "vhost.max_players", "Of each stream."},
    {"paths.srtReadPassphrase", Fate::kNone, "",
     "srt_passphrase PASSPHRASE; of a vhost, for publishers and players.", nullptr, true},
    {"paths.srtPublishPassphrase", Fate::kNone, "",
     "srt_passphrase PASSPHRASE; of a vhost, for publishers and players.", nullptr, true},
    {"paths.useAbsoluteTimestamp", Fate::kNone, "", "Each player's time begins near 0."},
    {"paths.alwaysAvailable", Fate::kLost, "",
     "Nothing is played while nobody publishes: players wait, play { wait_publisher 30s; }.",
     nullptr, false, "fallback"},
    {"paths.alwaysAvailable*", Fate::kNone, "", "As alwaysAvailable."},
    {"paths.fallback", Fate::kLost, "", "No other stream is played while nobody publishes.",
     nullptr, false, "fallback"},
    {"paths.forward", Fate::kDiffers, "vhost.forward",
     "RTMP, RTSP and SRT; WHIP and MoQ are lost."},
    {"paths.record", Fate::kSame, "vhost.record.enabled", ""},
    {"paths.recordPath", Fate::kDiffers, "vhost.record.path",
     "The folder in front of the first variable, which must exist; names are "
     "{app}/{stream}/{time}."},
    {"paths.recordFormat", Fate::kSame, "vhost.record.format", "mp4 or ts."},
    {"paths.recordPartDuration", Fate::kSame, "vhost.record.fragment", ""},
    {"paths.recordMaxPartSize", Fate::kBuiltIn, "", "Bounded."},
    {"paths.recordSegmentDuration", Fate::kSame, "vhost.record.split", ""},
    {"paths.recordDeleteAfter", Fate::kSame, "vhost.record.keep", "In hours."},
    {"paths.overridePublisher", Fate::kSame, "vhost.publish_conflict", "takeover or refuse."},
    {"paths.publishUser", Fate::kNone, "", "security { publish_user NAME PASSWORD; }", nullptr,
     true},
    {"paths.publishPass", Fate::kNone, "", "security { publish_user NAME PASSWORD; }", nullptr,
     true},
    {"paths.publishIPs", Fate::kNone, "", "security { allow publish ADDRESS; }", nullptr, true},
    {"paths.readUser", Fate::kNone, "", "security { play_key KEY; }", nullptr, true},
    {"paths.readPass", Fate::kNone, "", "security { play_key KEY; }", nullptr, true},
    {"paths.readIPs", Fate::kNone, "", "security { allow play ADDRESS; }", nullptr, true},
    {"paths.runOnAvailable", Fate::kDiffers, "vhost.exec_push",
     "The same words, with $app/$name for $MTX_PATH; runOnReady and runOnOnline too."},
    {"paths.runOnAvailableRestart", Fate::kBuiltIn, "", "Always, while the stream is published."},
    {"paths.runOnReadyRestart", Fate::kBuiltIn, "", "Always, while the stream is published."},
    {"paths.runOnOnlineRestart", Fate::kBuiltIn, "", "Always, while the stream is published."},
    {"paths.runOnInit", Fate::kLost, "",
     "Nothing is started with the server: let the service manager start it beside Weir.", nullptr,
     false, "exec_static"},
    {"paths.runOnInitRestart", Fate::kBuiltIn, "", ""},
    {"paths.runOnDemand", Fate::kLost, "",
     "Nothing is started for the first viewer: let a service publish the stream, or use source.",
     nullptr, false, "exec_pull"},
    {"paths.runOnDemand*", Fate::kBuiltIn, "", "As runOnDemand."},
    {"paths.runOnUnDemand", Fate::kLost, "",
     "Nothing is started when the last viewer leaves: http_hooks { on_stop URL; } tells of each.",
     nullptr, false, "exec_play_done"},
    {"paths.runOnUnavailable", Fate::kLost, "",
     "Nothing is started when a publisher leaves: http_hooks { on_unpublish URL; } tells it.",
     nullptr, false, "exec_publish_done"},
    {"paths.runOnNotReady", Fate::kLost, "",
     "Nothing is started when a publisher leaves: http_hooks { on_unpublish URL; } tells it.",
     nullptr, false, "exec_publish_done"},
    {"paths.runOnOffline", Fate::kLost, "",
     "Nothing is started when a publisher leaves: http_hooks { on_unpublish URL; } tells it.",
     nullptr, false, "exec_publish_done"},
    {"paths.runOnRead", Fate::kLost, "",
     "Nothing is started for a player: http_hooks { on_play URL; } asks.", nullptr, false,
     "exec_play"},
    {"paths.runOnReadRestart", Fate::kBuiltIn, "", ""},
    {"paths.runOnUnread", Fate::kLost, "",
     "Nothing is started when a player leaves: http_hooks { on_stop URL; } tells it.", nullptr,
     false, "exec_play_done"},
    {"paths.runOnRecordSegmentCreate", Fate::kLost, "",
     "Nothing is started when a recording begins: GET /api/v1/recordings lists it.", nullptr, false,
     "exec_record"},
    {"paths.runOnRecordSegmentComplete", Fate::kLost, "",
     "Nothing is started when a recording is finished: http_hooks { on_record URL; } tells it.",
     nullptr, false, "exec_record_done"},
};

constexpr std::string_view kMediaMtxDifferences[] = {
    "A path is APP/STREAM, and its settings are those of APP; NAME alone is live/NAME, in each "
    "address.",
    "HLS is at /APP/STREAM.m3u8, WHIP and WHEP are at /APP/STREAM/whip and /whep, all of them at "
    "every port of http_server, with HTTP-FLV and HTTP-TS.",
    "Where authInternalUsers is not written, publishing is allowed from this machine only; "
    "MediaMTX lets everybody publish.",
    "RTMP players and publishers show user and password by Adobe's challenge, or a key in the "
    "address (?key=), in place of ?user= and ?pass=.",
    "The API has other paths and other JSON, and listens on this machine.",
};

}  // namespace

std::span<const ForeignDirective> mediamtx_directives() {
    return kMediaMtxDirectives;
}

std::span<const std::string_view> mediamtx_differences() {
    return kMediaMtxDifferences;
}

}  // namespace weir::config
