// hls { }: what is played by HTTP Live Streaming, and how it is cut.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kHlsDirectives[] = {
    {.name = "hls",
     .contexts = kStreamContexts,
     .opens = kHlsContext,
     .doc = "HTTP Live Streaming at /app/stream.m3u8 of the http_server. Segments are made while "
            "somebody watches."},
    {.name = "enabled",
     .contexts = kHlsContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "off answers 404 to who asks for HLS.",
     .apply = [](const Target& t, const Value& v) { t.vhost.hls.enabled = v.number != 0; }},
    {.name = "container",
     .contexts = kHlsContext,
     .type = ValueType::kChoice,
     .default_text = "fmp4",
     .choices = "fmp4|ts",
     .effect = Effect::kNewConnections,
     .doc = "fmp4 has low latency and all codecs. ts is for old players: MPEG transport streams, "
            "without low latency.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.hls.container = static_cast<HlsContainer>(v.number); }},
    {.name = "fragment",
     .contexts = kHlsContext,
     .type = ValueType::kDuration,
     .default_text = "2s",
     .min = kSecond,
     .max = kMinute,
     .unit = kSecond,
     .effect = Effect::kNewConnections,
     .doc = "Length of a segment, which is cut at the nearest key frame: a publisher with key "
            "frames further apart has longer ones, if its first two came before the first "
            "playlist was given. Else their GOP is cut, as playlists may not change the length "
            "that they have named: set it to the publisher's key frame interval or more. Times "
            "of this block hold for streams that nobody watches by HLS yet.",
     .apply = [](const Target& t, const Value& v) { t.vhost.hls.fragment = millis(v); }},
    {.name = "part",
     .contexts = kHlsContext,
     .type = ValueType::kDuration,
     .default_text = "200ms",
     .min = 100,
     .max = 5 * kSecond,
     .unit = 1,
     .effect = Effect::kNewConnections,
     .doc = "Length of the parts that low-latency players get before their segment is complete. "
            "Such a player is about three parts behind.",
     .apply = [](const Target& t, const Value& v) { t.vhost.hls.part = millis(v); }},
    {.name = "window",
     .contexts = kHlsContext,
     .type = ValueType::kCount,
     .default_text = "3",
     .min = 3,
     .max = 100,
     .effect = Effect::kNewConnections,
     .doc = "How many target durations (the longest segment's) the playlist covers. What has left "
            "it stays as long again and a segment more, so memory is a little more than twice as "
            "much.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.hls.window = static_cast<uint32_t>(v.number); }},
    {.name = "variants",
     .contexts = kHlsContext,
     .type = ValueType::kStreamNames,
     .effect = Effect::kNewConnections,
     .example = "ladder/[stream]_720 ladder/[stream]_360",
     .doc =
         "Streams that are other qualities of this one, for players that choose by their network: "
         "those that are live stand in its playlist, behind itself. `[app]` and `[stream]` stand "
         "for those of the stream. Who may play the stream may play them.",
     .apply = [](const Target& t, const Value& v) { t.vhost.hls.variants = v.words; }},
    {.name = "sessions",
     .contexts = kHlsContext,
     .type = ValueType::kFlag,
     .default_text = "on",
     .doc = "Each viewer has an id in the addresses of its playlist: it is listed as a client, "
            "counted and reported to hooks. off, behind a CDN, makes the addresses the same for "
            "all, so that caches answer; then players are not counted. Where on_play or on_stop is "
            "set, sessions stay on.",
     .apply = [](const Target& t, const Value& v) { t.vhost.hls.sessions = v.number != 0; }},
    {.name = "encrypt",
     .contexts = kHlsContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .effect = Effect::kNewConnections,
     .doc = "on encrypts segments (AES-128); whoever may play the stream is given the keys. There "
            "is no low latency then, and no DASH.",
     .apply = [](const Target& t, const Value& v) { t.vhost.hls.encrypt = v.number != 0; }},
    {.name = "rotate",
     .contexts = kHlsContext,
     .type = ValueType::kCount,
     .default_text = "30",
     .min = 1,
     .max = 100'000,
     .effect = Effect::kNewConnections,
     .doc = "With encrypt on, every so many segments have another key.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.hls.rotate = static_cast<uint32_t>(v.number); }},
    {.name = "always",
     .contexts = kHlsContext,
     .type = ValueType::kFlag,
     .default_text = "off",
     .effect = Effect::kNewConnections,
     .doc =
         "on makes segments from the publish on, so that the window is full when the first viewer "
         "comes; off makes them while somebody watches.",
     .apply = [](const Target& t, const Value& v) { t.vhost.hls.always = v.number != 0; }},
    {.name = "path",
     .contexts = kHlsContext,
     .type = ValueType::kPath,
     .effect = Effect::kNewConnections,
     .example = "/var/lib/weir/hls",
     .doc = "A folder that headers, segments and playlists are also written into, for a web server "
            "or an object storage: APP/STREAM.m3u8. It must exist; folders within it are made. "
            "Segments are made from the publish on, as with always. One server uses a folder at a "
            "time, and removes what it has left there when it starts.",
     .apply = [](const Target& t, const Value& v) { t.vhost.hls.path = v.text; }},
    {.name = "dvr",
     .contexts = kHlsContext,
     .type = ValueType::kDuration,
     .default_text = "0",
     .min = kMinute,
     .max = 12 * kHour,
     .unit = kSecond,
     .special = "0",
     .effect = Effect::kNewConnections,
     .example = "2h",
     .doc = "How far back the playlist of a live stream reaches, so that players can seek; needs "
            "path, and processes 1. Segments that are older than memory are read from the disk. 0: "
            "it has window only.",
     .apply = [](const Target& t, const Value& v) { t.vhost.hls.dvr = millis(v); }},
};

}  // namespace

std::span<const Directive> hls_directives() {
    return kHlsDirectives;
}

}  // namespace weir::config
