// srt_server { }, and what a vhost says of SRT.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

constexpr Contexts kSrtVhost = kGlobalContext | kVhostContext;

const Directive kSrtDirectives[] = {
    {.name = "srt_server",
     .opens = kSrtServerContext,
     .doc = "SRT: for encoders and contribution over lossy networks. The block turns it on.",
     .apply = [](const Target& t, const Value&) { t.config.srt_server.enabled = true; }},
    {.name = "enabled",
     .contexts = kSrtServerContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .doc = "Turns SRT on or off; in an srt_server block it is on unless this says off.",
     .apply = [](const Target& t, const Value& v) { t.config.srt_server.enabled = v.number != 0; }},
    {.name = "listen",
     .contexts = kSrtServerContext,
     .type = ValueType::kListen,
     .default_text = "10080",
     .repeatable = true,
     .doc = "UDP addresses for SRT.",
     .apply = [](const Target& t,
                 const Value& v) { add_listeners(t.config.srt_server.listen, t, v); }},
    {.name = "default_stream",
     .contexts = kSrtServerContext,
     .type = ValueType::kStreamName,
     .effect = Effect::kNewConnections,
     .example = "live/camera",
     .doc = "APP/STREAM of SRT callers whose stream id is empty or names no stream, for encoders "
            "that have no field for it. The first that sends publishes, the others play. Without "
            "it such callers are refused.",
     .apply = [](const Target& t, const Value& v) { t.config.srt_server.default_stream = v.text; }},
    {.name = "max_connections",
     .contexts = kSrtServerContext,
     .type = ValueType::kCount,
     .default_text = "4000",
     .min = 1,
     .max = 1000000,
     .effect = Effect::kNewConnections,
     .doc = "SRT connections that come in, at the same time. They count against the "
            "max_connections of the server too. One costs 0.1 MB.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.srt_server.max_connections = static_cast<uint32_t>(v.number);
         }},
    {.name = "max_connections_per_ip",
     .contexts = kSrtServerContext,
     .type = ValueType::kCount,
     .default_text = "0",
     .min = 1,
     .max = 1000000,
     .special = "0",
     .effect = Effect::kNewConnections,
     .doc =
         "SRT connections from one address (IPv6: from one /64) at the same time, refused "
         "during the handshake. Loopback is exempt. Callers behind one router or balancer share an "
         "address: leave room for them. 0: any number.",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.srt_server.max_connections_per_ip = static_cast<uint32_t>(v.number);
         }},
    {.name = "max_bitrate",
     .contexts = kSrtServerContext,
     .type = ValueType::kBitrate,
     .default_text = "50m",
     .min = 1'000'000,
     .max = 10'000'000'000,
     .effect = Effect::kNewConnections,
     .doc = "Bits per second of the largest stream that is published or played by SRT. With the "
            "latency it gives the number of packets for which a connection has room; a stream of "
            "a higher rate loses packets when the network does.",
     .apply = [](const Target& t, const Value& v) { t.config.srt_server.max_bitrate = v.number; }},
    {.name = "srt_passphrase",
     .contexts = kSrtVhost,
     .type = ValueType::kSecret,
     .min = 10,
     .max = 79,
     .effect = Effect::kNewConnections,
     .secret_from = 0,
     .example = "change-this-passphrase",
     .doc = "SRT connections to this vhost are encrypted, and have to know this passphrase of 10 "
            "to 79 bytes; file:PATH reads it from the first line of a file. Without it encrypted "
            "connections are refused.",
     .apply = [](const Target& t, const Value& v) { t.vhost.srt.passphrase = v.secrets.front(); }},
    {.name = "srt_pbkeylen",
     .contexts = kSrtVhost,
     .type = ValueType::kChoice,
     .default_text = "16",
     .choices = "16|24|32",
     .effect = Effect::kNewConnections,
     .doc = "Bytes of the key that is made of srt_passphrase: 16 is AES-128, 32 is AES-256. A "
            "caller that names another length has its own.",
     .apply =
         [](const Target& t, const Value& v) {
             t.vhost.srt.key_bytes = static_cast<uint8_t>(16 + 8 * v.number);
         }},
    {.name = "srt_latency",
     .contexts = kSrtVhost,
     .type = ValueType::kDuration,
     .default_text = "120ms",
     .min = 20,
     .max = 8'000,
     .effect = Effect::kNewConnections,
     .doc = "How long SRT waits at least for packets that are sent again. The longer one of both "
            "sides counts. Three to four round trips are usual.",
     .apply = [](const Target& t, const Value& v) { t.vhost.srt.latency = millis(v); }},
    {.name = "srt_max_bandwidth",
     .contexts = kSrtVhost,
     .type = ValueType::kBitrate,
     .default_text = "0",
     .min = 100'000,
     .max = 100'000'000'000,
     .special = "0",
     .effect = Effect::kNewConnections,
     .doc = "Bits per second that are sent to one SRT player at most, with what is sent again. 0: "
            "any rate.",
     .apply = [](const Target& t, const Value& v) { t.vhost.srt.max_bandwidth = v.number; }},
};

}  // namespace

std::span<const Directive> srt_directives() {
    return kSrtDirectives;
}

}  // namespace weir::config
