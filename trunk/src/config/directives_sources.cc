// source URL { } and forward: streams that come from other servers, and go to them.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kSourceDirectives[] = {
    {.name = "source",
     .contexts = kStreamContexts,
     .type = ValueType::kSource,
     .repeatable = true,
     .effect = Effect::kApplied,
     .example = "rtsps://cam { stream live/a; on_demand on; linger 9s; transport tcp; "
                "tls_verify off; }",
     .doc =
         "Brings a stream from another server by RTMP, HTTP-FLV, RTSP (a camera) or WebRTC "
         "(whep+http), or the transport stream of a group (udp, rtp), and publishes it here. With "
         "`stream` that one; without it every stream of this section that somebody asks for, "
         "under the same name: what stands below the section in its address is put behind the "
         "URL; by WebRTC, [app] and [stream] in the URL are replaced. An application with a source "
         "of its own has none of its vhost's.",
     .apply =
         [](const Target& t, const Value& v) {
             if (t.first) {
                 t.vhost.sources.clear();
             }
             SourceConfig source;
             source.url = v.source_url;
             t.vhost.sources.push_back(std::move(source));
         }},
    {.name = "stream",
     .contexts = kSourceContext,
     .type = ValueType::kText,
     .example = "cam1",
     .doc = "Name of the stream here: STREAM in an application, APP/STREAM elsewhere.",
     .apply = [](const Target& t, const Value& v) { t.vhost.sources.back().stream = v.text; }},
    {.name = "on_demand",
     .contexts = kSourceContext,
     .type = ValueType::kFlag,
     .example = "on",
     .doc = "on connects when the first viewer comes and ends after the last one has left. Without "
            "it a source with `stream` runs always, any other on demand.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.sources.back().on_demand = v.number != 0; }},
    {.name = "linger",
     .contexts = kSourceContext,
     .type = ValueType::kDuration,
     .min = 0,
     .max = kHour,
     .unit = kSecond,
     .example = "10s",
     .doc = "How long a source on demand goes on after the last viewer has left; 10s unless given.",
     .apply = [](const Target& t, const Value& v) { t.vhost.sources.back().linger = millis(v); }},

    {.name = "transport",
     .contexts = kSourceContext,
     .type = ValueType::kChoice,
     .choices = "auto|tcp|udp|multicast",
     .example = "tcp",
     .doc =
         "How the media of an rtsp:// source comes. auto, which it is unless given, asks for UDP "
         "and takes TCP where UDP is refused or brings nothing for 4s; the source remembers "
         "that for 10m.",
     .apply =
         [](const Target& t, const Value& v) {
             t.vhost.sources.back().transport = static_cast<net::SourceTransport>(v.number);
         }},

    {.name = "tls_verify",
     .contexts = kSourceContext,
     .type = ValueType::kFlag,
     .example = "off",
     .doc = "off takes any certificate of an encrypted server, as the self-signed one of a camera: "
            "nobody on the way can listen, but whoever can change what is on the way may answer in "
            "its place, and get the login. On unless given.",
     .apply = [](const Target& t,
                 const Value& v) { t.vhost.sources.back().tls_verify = v.number != 0; }},

    {.name = "forward",
     .contexts = kStreamContexts,
     .type = ValueType::kForward,
     .repeatable = true,
     .effect = Effect::kApplied,
     .example = "rtmp://other.example/live",
     .doc = "Sends each stream that is published here to another server by RTMP or RTSP, under the "
            "same name or as the URL names it; `[app]` and `[stream]` in it stand for those of the "
            "stream. Each one has a connection of its own, which comes back when it fails.",
     .apply =
         [](const Target& t, const Value& v) {
             if (t.first) {
                 t.vhost.forwards.clear();
             }
             t.vhost.forwards.push_back(v.source_url);
         }},

    {.name = "sources_file",
     .type = ValueType::kPath,
     .reloadable = false,
     .example = "/var/lib/weir/sources.json",
     .doc = "Where sources that were added by the API (POST /api/v1/sources) are kept; read at the "
            "start, written with each change. It holds their logins: only the user of the server "
            "may read it. Without it they end with the process.",
     .apply = [](const Target& t, const Value& v) { t.config.sources_file = v.text; }},

    {.name = "max_sources",
     .type = ValueType::kCount,
     .default_text = "1000",
     .min = 1,
     .max = 100'000,
     .doc = "Streams that sources without `stream` bring at the same time.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.max_sources = static_cast<uint32_t>(v.number); }},
};

}  // namespace

std::span<const Directive> source_directives() {
    return kSourceDirectives;
}

}  // namespace weir::config
