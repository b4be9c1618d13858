// rtc_server { }.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kRtcDirectives[] = {
    {.name = "rtc_server",
     .opens = kRtcServerContext,
     .doc = "WebRTC: WHIP and WHEP, whose offers come over HTTP and whose media comes over UDP."},
    {.name = "enabled",
     .contexts = kRtcServerContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .doc = "Turns WebRTC on or off.",
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
     .doc = "Media over TCP, too, for clients whose network blocks UDP; they try UDP first.",
     .apply = [](const Target& t, const Value& v) { t.config.rtc_server.tcp = v.number != 0; }},
    {.name = "single_port",
     .contexts = kRtcServerContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .reloadable = false,
     .doc = "With several `processes`: all have the same port, instead of 8000, 8001, ... Each "
            "session then has a socket, so a process needs `max_sessions` file descriptors more. "
            "With one process it changes nothing.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.rtc_server.single_port = v.number != 0; }},
    {.name = "candidate",
     .contexts = kRtcServerContext,
     .type = ValueType::kAddress,
     .repeatable = true,
     .effect = Effect::kNewConnections,
     .example = "203.0.113.7",
     .doc = "Addresses at which clients reach this server, if these are not its own (behind "
            "a NAT, in a container). The environment variable WEIR_CANDIDATE replaces them; "
            "without both, CANDIDATE is used, then the addresses of the interfaces.",
     .apply =
         [](const Target& t, const Value& v) {
             auto& list = t.config.rtc_server.candidates;
             list.insert(list.end(), v.candidates.begin(), v.candidates.end());
         }},
    {.name = "ice_server",
     .contexts = kRtcServerContext,
     .type = ValueType::kIceServer,
     .repeatable = true,
     .effect = Effect::kNewConnections,
     .secret_from = 2,
     .example = "turn:turn.example.net?transport=udp user password",
     .doc = "A STUN or TURN server that clients are told about, with user and password for "
            "TURN (Link of WHIP and WHEP). This server needs none itself. Every client that "
            "may publish or play learns the password.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.rtc_server.ice_servers.push_back(v.ice_server); }},
    {.name = "max_sessions",
     .contexts = kRtcServerContext,
     .type = ValueType::kCount,
     .default_text = "10000",
     .min = 1,
     .max = 1000000,
     .doc = "WebRTC sessions at the same time, publishers and players; more are answered "
            "with 503.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.rtc_server.max_sessions = static_cast<uint32_t>(v.number);
         }},
    {.name = "max_unproven_per_ip",
     .contexts = kRtcServerContext,
     .type = ValueType::kCount,
     .default_text = "256",
     .min = 0,
     .max = 1000000,
     .effect = Effect::kNewConnections,
     .doc = "WebRTC offers of one address that have not connected yet, at the same time; "
            "more are answered with 503. An IPv6 /64 counts as one address. An offer that "
            "never connects holds its place for 15 s, so without this limit one address "
            "could use all of `max_sessions`. With 0, any number.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.rtc_server.max_unproven_per_ip = static_cast<uint32_t>(v.number);
         }},
    {.name = "opus_bitrate",
     .contexts = kRtcServerContext,
     .type = ValueType::kCount,
     .default_text = "96000",
     .min = 6000,
     .max = 510000,
     .effect = Effect::kNewConnections,
     .doc = "Bits per second of the Opus that is made from AAC and other audio for WebRTC "
            "players.",
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
     .effect = Effect::kNewConnections,
     .doc = "Bits per second of the AAC that is made from a WebRTC publisher's audio for "
            "players that need AAC.",
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
     .effect = Effect::kNewConnections,
     .doc = "A WebRTC publisher is asked for a key frame when its last one is older than "
            "this: browsers send none by themselves. With 0, only when a player needs one.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.rtc_server.key_frame_interval = millis(v); }},
};

}  // namespace

std::span<const Directive> rtc_directives() {
    return kRtcDirectives;
}

}  // namespace weir::config
