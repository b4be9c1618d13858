#include "app/config/directives.h"

#include <array>

#include <fmt/format.h>

#include "base/config_number.h"

namespace weir::app {

namespace {

constexpr uint64_t kKilo = 1024;
constexpr uint64_t kMega = 1024 * kKilo;
constexpr uint64_t kGiga = 1024 * kMega;
constexpr uint64_t kSecond = 1000;
constexpr uint64_t kMinute = 60 * kSecond;
constexpr uint64_t kHour = 60 * kMinute;

Millis millis(const Value& value) {
    return Millis(static_cast<Millis::rep>(value.number));
}

void add_listeners(std::vector<ListenAddress>& list, const Target& target, const Value& value) {
    if (target.first) {
        list.clear();
    }
    list.insert(list.end(), value.addresses.begin(), value.addresses.end());
}

const Directive kDirectives[] = {
    {.name = "listen",
     .type = ValueType::kListen,
     .default_text = "1935",
     .repeatable = true,
     .doc = "Addresses for RTMP. A bare port means every IPv6 and IPv4 address.",
     .apply = [](const Target& t, const Value& v) { add_listeners(t.config.listen, t, v); }},
    {.name = "max_connections",
     .type = ValueType::kCount,
     .default_text = "10000",
     .min = 1,
     .max = 1000000,
     .doc = "Connections at the same time, of all kinds; one more is closed at once and counted. "
            "The limit of file "
            "descriptors is raised to fit.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.max_connections = static_cast<uint32_t>(v.number); }},
    {.name = "chunk_size",
     .type = ValueType::kCount,
     .default_text = "60000",
     .min = 128,
     .max = 16777215,
     .doc = "Bytes per RTMP chunk that the server sends. Large chunks cost less; the peer chooses "
            "its own for what "
            "it sends.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.chunk_size = static_cast<uint32_t>(v.number); }},
    {.name = "worker_threads",
     .type = ValueType::kCount,
     .default_text = "2",
     .min = 1,
     .max = 64,
     .reloadable = false,
     .doc = "Threads for work that may block (disk, names); media needs one thread of its own "
            "besides.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.worker_threads = static_cast<uint32_t>(v.number); }},
    {.name = "cpu_affinity",
     .type = ValueType::kCores,
     .reloadable = false,
     .example = "1",
     .doc =
         "Cores that the media thread may use; choose one without interrupts of the network card "
         "(doc/performance.md). Worker threads do not use this setting.",
     .apply = [](const Target& t, const Value& v) { t.config.cpu_affinity = v.cores; }},
    {.name = "worker_cpu_affinity",
     .type = ValueType::kCores,
     .reloadable = false,
     .example = "0 2-3",
     .doc = "Cores of the worker threads.",
     .apply = [](const Target& t, const Value& v) { t.config.worker_cpu_affinity = v.cores; }},
    {.name = "log_level",
     .type = ValueType::kChoice,
     .default_text = "info",
     .choices = "debug|info|warn|error",
     .doc = "Lines below this level are not written.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.log_level = static_cast<log::Level>(v.number); }},
    {.name = "pid",
     .type = ValueType::kPath,
     .reloadable = false,
     .example = "../objs/weir.pid",
     .doc = "File that holds the process id while the server runs.",
     .apply = [](const Target& t, const Value& v) { t.config.pid = v.text; }},
    {.name = "handshake_timeout",
     .type = ValueType::kDuration,
     .default_text = "10s",
     .min = kSecond,
     .max = 5 * kMinute,
     .unit = kSecond,
     .doc = "Time from accepting a connection to the end of its handshake; for HTTP, to the end of "
            "the request's "
            "header.",
     .apply = [](const Target& t, const Value& v) { t.config.handshake_timeout = millis(v); }},

    {.name = "http_server",
     .opens = kHttpServerContext,
     .doc = "Pages, HTTP-FLV and WebSocket-FLV."},
    {.name = "enabled",
     .contexts = kHttpServerContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "Whether there is an HTTP server for media and pages.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.http_server.enabled = v.number != 0; }},
    {.name = "listen",
     .contexts = kHttpServerContext,
     .type = ValueType::kListen,
     .default_text = "8080",
     .repeatable = true,
     .doc = "Addresses for media and pages.",
     .apply = [](const Target& t,
                 const Value& v) { add_listeners(t.config.http_server.listen, t, v); }},
    {.name = "dir",
     .contexts = kHttpServerContext,
     .type = ValueType::kPath,
     .default_text = "../objs/www",
     .doc = "Folder of the static files.",
     .apply = [](const Target& t, const Value& v) { t.config.http_server.dir = v.text; }},

    {.name = "http_api",
     .opens = kHttpApiContext,
     .doc = "HTTP API and /metrics. Whoever reaches it can end any stream, so it listens on "
            "loopback."},
    {.name = "enabled",
     .contexts = kHttpApiContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "Whether there is an API.",
     .apply = [](const Target& t, const Value& v) { t.config.http_api.enabled = v.number != 0; }},
    {.name = "listen",
     .contexts = kHttpApiContext,
     .type = ValueType::kListen,
     .default_text = "127.0.0.1:1985",
     .repeatable = true,
     .doc = "Addresses for the API and /metrics.",
     .apply = [](const Target& t,
                 const Value& v) { add_listeners(t.config.http_api.listen, t, v); }},

    {.name = "rtc_server",
     .opens = kRtcServerContext,
     .doc = "WebRTC: WHIP and WHEP, whose offers come over HTTP and whose media comes over UDP."},
    {.name = "enabled",
     .contexts = kRtcServerContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .doc = "Whether there is WebRTC.",
     .apply = [](const Target& t, const Value& v) { t.config.rtc_server.enabled = v.number != 0; }},
    {.name = "listen",
     .contexts = kRtcServerContext,
     .type = ValueType::kListen,
     .default_text = "8000",
     .repeatable = true,
     .doc = "Addresses for the media of all sessions: UDP, and TCP with the same port.",
     .apply = [](const Target& t,
                 const Value& v) { add_listeners(t.config.rtc_server.listen, t, v); }},
    {.name = "tcp",
     .contexts = kRtcServerContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "Media over TCP too, for clients whose network lets no UDP through; they try UDP "
            "first.",
     .apply = [](const Target& t, const Value& v) { t.config.rtc_server.tcp = v.number != 0; }},
    {.name = "candidate",
     .contexts = kRtcServerContext,
     .type = ValueType::kAddress,
     .repeatable = true,
     .example = "203.0.113.7",
     .doc = "Addresses at which clients reach this server, where that is not an address of its own "
            "(behind a NAT, in a container). The environment variable WEIR_CANDIDATE replaces "
            "them; without both, CANDIDATE counts, then the addresses of the interfaces.",
     .apply =
         [](const Target& t, const Value& v) {
             auto& list = t.config.rtc_server.candidates;
             list.insert(list.end(), v.candidates.begin(), v.candidates.end());
         }},
    {.name = "ice_server",
     .contexts = kRtcServerContext,
     .type = ValueType::kIceServer,
     .repeatable = true,
     .example = "turn:turn.example.net?transport=udp user password",
     .doc = "A STUN or TURN server that clients are told of, with user and password for TURN "
            "(Link of WHIP and WHEP). This server needs none itself. Whoever may publish or play "
            "learns the password.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.rtc_server.ice_servers.push_back(v.ice_server); }},
    {.name = "max_sessions",
     .contexts = kRtcServerContext,
     .type = ValueType::kCount,
     .default_text = "10000",
     .min = 1,
     .max = 1000000,
     .doc = "WebRTC sessions at the same time, publishers and players; one more is answered 503.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.rtc_server.max_sessions = static_cast<uint32_t>(v.number);
         }},
    {.name = "opus_bitrate",
     .contexts = kRtcServerContext,
     .type = ValueType::kCount,
     .default_text = "96000",
     .min = 6000,
     .max = 510000,
     .doc = "Bits per second of the Opus that is made of AAC and other sound for WebRTC players.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.rtc_server.opus_bitrate = static_cast<uint32_t>(v.number);
         }},
    {.name = "aac_bitrate",
     .contexts = kRtcServerContext,
     .type = ValueType::kCount,
     .default_text = "128000",
     .min = 16000,
     .max = 512000,
     .doc = "Bits per second of the AAC that is made of a WebRTC publisher's sound for players of "
            "other protocols.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.rtc_server.aac_bitrate = static_cast<uint32_t>(v.number);
         }},
    {.name = "key_frame_interval",
     .contexts = kRtcServerContext,
     .type = ValueType::kDuration,
     .default_text = "4s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = kSecond,
     .special = "0",
     .doc = "A WebRTC publisher is asked for a key frame when its last one is so old: browsers "
            "send none by themselves. With 0, only when somebody needs one.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.rtc_server.key_frame_interval = millis(v); }},

    {.name = "vhost",
     .type = ValueType::kVhost,
     .opens = kVhostContext,
     .repeatable = true,
     .doc = "Settings of one virtual host: the name a client asks for, as host or as ?vhost=NAME. "
            "__defaultVhost__ "
            "serves every name without a section of its own."},
    {.name = "enabled",
     .contexts = kVhostContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "off refuses every client of this vhost; for __defaultVhost__ that means every name "
            "without a section.",
     .apply = [](const Target& t, const Value& v) { t.vhost.enabled = v.number != 0; }},
    {.name = "publish_conflict",
     .contexts = kGlobalContext | kVhostContext,
     .type = ValueType::kChoice,
     .default_text = "refuse",
     .choices = "refuse|takeover",
     .doc =
         "A second publisher of a live name is refused, or takes over and the first one is closed.",
     .apply =
         [](const Target& t, const Value& v) {
             t.vhost.publish_conflict = static_cast<PublishConflict>(v.number);
         }},
    {.name = "write_stall_timeout",
     .contexts = kGlobalContext | kVhostContext,
     .type = ValueType::kDuration,
     .default_text = "20s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = kSecond,
     .doc = "A client whose connection takes not one byte for this long is closed.",
     .apply = [](const Target& t, const Value& v) { t.vhost.write_stall_timeout = millis(v); }},
    {.name = "send_buffer",
     .contexts = kGlobalContext | kVhostContext,
     .type = ValueType::kSize,
     .default_text = "512k",
     .min = 16 * kKilo,
     .max = 64 * kMega,
     .special = "0",
     .doc = "Bytes that the kernel may hold for one client (SO_SNDBUF). A stalled player then "
            "costs at most twice "
            "this, which is how the kernel counts, and not the 4 MB and more that it grows to "
            "otherwise; 512k "
            "carries 20 Mbit/s over a path of 200 ms. net.core.wmem_max (208k unless raised) is "
            "the upper bound. 0 "
            "leaves the size to the kernel.",
     .apply = [](const Target& t, const Value& v) { t.vhost.send_buffer = v.number; }},

    {.name = "security",
     .contexts = kGlobalContext | kVhostContext,
     .opens = kSecurityContext,
     .doc = "Who may publish and play. The first rule that matches decides; when none does, "
            "publishing is allowed "
            "from loopback only and playing from everywhere. In a vhost it replaces the one of the "
            "top level.",
     .apply = [](const Target& t, const Value&) { t.vhost.security = {}; }},
    {.name = "allow",
     .contexts = kSecurityContext,
     .type = ValueType::kAccess,
     .repeatable = true,
     .example = "publish 192.168.0.0/16",
     .doc = "Lets these addresses in.",
     .apply = [](const Target& t, const Value& v) { t.vhost.security.add(v.rule); }},
    {.name = "deny",
     .contexts = kSecurityContext,
     .type = ValueType::kAccess,
     .repeatable = true,
     .example = "play 2001:db8::/32",
     .doc = "Refuses these addresses.",
     .apply = [](const Target& t, const Value& v) { t.vhost.security.add(v.rule); }},

    {.name = "play",
     .contexts = kGlobalContext | kVhostContext,
     .opens = kPlayContext,
     .doc = "What players get."},
    {.name = "mw_latency",
     .contexts = kPlayContext,
     .type = ValueType::kDuration,
     .default_text = "auto",
     .min = 0,
     .max = 5 * kSecond,
     .unit = 1,
     .special = "auto",
     .doc = "Merge window of writes: a player is written to when this has passed since its last "
            "write. A longer one "
            "costs less processor time and adds as much latency. auto is 0 on an idle machine and "
            "grows to 100ms as "
            "it fills.",
     .apply =
         [](const Target& t, const Value& v) {
             t.vhost.play.mw_latency = v.special ? std::nullopt : std::optional(millis(v));
         }},
    {.name = "gop_cache_max_size",
     .contexts = kPlayContext,
     .type = ValueType::kSize,
     .default_text = "32m",
     .min = 64 * kKilo,
     .max = kGiga,
     .doc = "Bytes kept from the latest key frame on, per stream, so that a new player starts at "
            "once. Beyond that, "
            "new players wait for the next key frame.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.gop_cache_max_size = v.number; }},
    {.name = "queue_length",
     .contexts = kPlayContext,
     .type = ValueType::kDuration,
     .default_text = "10s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = kSecond,
     .doc = "A player further behind than this is moved to the newest key frame.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.queue_length = millis(v); }},
    {.name = "queue_size",
     .contexts = kPlayContext,
     .type = ValueType::kSize,
     .default_text = "16m",
     .min = 256 * kKilo,
     .max = kGiga,
     .doc = "The same in bytes; whichever is reached first.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.queue_size = v.number; }},
    {.name = "wait_publisher",
     .contexts = kPlayContext,
     .type = ValueType::kDuration,
     .default_text = "30s",
     .min = 0,
     .max = kHour,
     .unit = kSecond,
     .doc = "How long a player waits for a stream that is not live, or for the next publisher of "
            "one that ended. 0: "
            "not at all.",
     .apply = [](const Target& t, const Value& v) { t.vhost.play.wait_publisher = millis(v); }},

    {.name = "publish",
     .contexts = kGlobalContext | kVhostContext,
     .opens = kPublishContext,
     .doc = "What is asked of publishers."},
    {.name = "firstpkt_timeout",
     .contexts = kPublishContext,
     .type = ValueType::kDuration,
     .default_text = "20s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = 1,
     .doc = "A publisher that sends no media for this long after its publish command is closed.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.publish.firstpkt_timeout = millis(v); }},
    {.name = "normal_timeout",
     .contexts = kPublishContext,
     .type = ValueType::kDuration,
     .default_text = "10s",
     .min = kSecond,
     .max = 10 * kMinute,
     .unit = 1,
     .doc = "A publisher that falls silent for this long is closed and its name is free again.",
     .apply = [](const Target& t, const Value& v) { t.vhost.publish.normal_timeout = millis(v); }},
};

}  // namespace

std::string_view to_string(Context context) {
    switch (context) {
        case kGlobalContext: return "the top level";
        case kHttpServerContext: return "http_server";
        case kHttpApiContext: return "http_api";
        case kVhostContext: return "vhost";
        case kSecurityContext: return "security";
        case kPlayContext: return "play";
        case kPublishContext: return "publish";
        case kRtcServerContext: return "rtc_server";
    }
    return {};
}

std::span<const Directive> directives() {
    return kDirectives;
}

const Directive* find_directive(std::string_view name, Context context) {
    for (const Directive& directive : kDirectives) {
        if (directive.name == name && (directive.contexts & context) != 0) {
            return &directive;
        }
    }
    return nullptr;
}

bool is_directive_name(std::string_view name) {
    for (const Directive& directive : kDirectives) {
        if (directive.name == name) {
            return true;
        }
    }
    return false;
}

std::string expectation(const Directive& directive) {
    std::string special = directive.special.empty() ? "" : fmt::format("{} or ", directive.special);
    switch (directive.type) {
        case ValueType::kBlock: return "'{'";
        case ValueType::kVhost: return "the name of one virtual host";
        case ValueType::kFlag: return "on or off";
        case ValueType::kCount:
            return fmt::format("{}a number from {} to {}", special, directive.min, directive.max);
        case ValueType::kSize:
            return fmt::format("{}a size from {} to {} (bytes, or with k, m or g)", special,
                               size_text(directive.min), size_text(directive.max));
        case ValueType::kDuration:
            return fmt::format(
                "{}a duration from {} to {} (with ms, s, m or h; a bare number counts {})", special,
                duration_text(directive.min), duration_text(directive.max),
                directive.unit == 1 ? "milliseconds" : "seconds");
        case ValueType::kChoice: return either_of(directive.choices);
        case ValueType::kPath: return "a path";
        case ValueType::kListen: return "PORT, ADDRESS:PORT or [IPV6-ADDRESS]:PORT";
        case ValueType::kCores:
            return fmt::format("core numbers from 0 to {}, as in 1 or 0 2-3", kMaxCore);
        case ValueType::kAddress: return "numeric addresses, as in 203.0.113.7 or 203.0.113.7:8000";
        case ValueType::kAccess: return "publish or play, and an address, ADDRESS/BITS or all";
        case ValueType::kIceServer: return "stun:HOST, or turn:HOST USER PASSWORD";
    }
    return {};
}

}  // namespace weir::app
