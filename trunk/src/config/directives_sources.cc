// source URL { } and forward: streams that come from other servers, and go to them.
#include "config/directive_tables.h"
#include "proto/rtmp/stream_name.h"

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

    {.name = "origin",
     .contexts = kStreamContexts,
     .type = ValueType::kOrigin,
     .repeatable = true,
     .effect = Effect::kApplied,
     .example = "http://origin.example:8080",
     .doc = "A server where streams of this section are published: one that nobody publishes here "
            "and that no `source` brings is pulled from there, under the same vhost, application "
            "and name, when somebody asks for it. Of several, those that fail are passed over. "
            "See [cluster.md](cluster.md).",
     .apply =
         [](const Target& t, const Value& v) {
             if (t.first) {
                 t.vhost.origins.clear();
             }
             t.vhost.origins.push_back(v.source_url);
         }},

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

    {.name = "exec_push",
     .contexts = kStreamContexts,
     .type = ValueType::kCommand,
     .repeatable = true,
     .effect = Effect::kApplied,
     .secret_from = 1,
     .example = "ffmpeg -i rtmp://127.0.0.1/$app/$name -c copy -f flv rtmp://127.0.0.1/copy/$name",
     .doc =
         "Runs a program beside each stream that is published here, and ends it with the stream; "
         "one that ends by itself is begun again, after a pause that grows. `$app`, `$name` and "
         "`$vhost` (in quotes also `${name}`) stand for those of the stream. No shell is "
         "between; what the program writes goes into the log. A stream that it publishes must "
         "not have this directive, too. See [sources.md](sources.md#programs).",
     .apply =
         [](const Target& t, const Value& v) {
             if (t.first) {
                 t.vhost.commands.clear();
             }
             t.vhost.commands.push_back(v.words);
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

    {.name = "multicast_out",
     .contexts = kStreamContexts,
     .type = ValueType::kGroupOut,
     .repeatable = true,
     .example = "live/tv1 udp://239.9.9.9:5000?ttl=4",
     .doc =
         "Sends a stream to a multicast group as an MPEG transport stream, as long as somebody "
         "publishes it: in plain datagrams (udp://) or in RTP (rtp://), at the pace of its "
         "clock. `@IF` behind the port says by which interface, `?ttl=N` how many routers it may "
         "pass (1 unless given).",
     .apply =
         [](const Target& t, const Value& v) {
             if (t.first) {
                 t.vhost.group_outs.clear();
             }
             rtmp::StreamName name;
             if (!rtmp::parse_path(t.vhost.application, v.text, name)) {
                 t.vhost.group_outs.push_back(
                     {std::move(name.app), std::move(name.stream), v.source_url});
             }
         }},

    {.name = "allow_groups",
     .contexts = kStreamContexts,
     .type = ValueType::kNetworks,
     .effect = Effect::kNewConnections,
     .example = "239.0.0.0/8",
     .doc = "Multicast groups whose transport streams may be asked for: `/udp/239.1.1.1:5000` and "
            "`/rtp/239.1.1.1:5000` by HTTP, the same as `app/stream` by every other protocol. "
            "Whoever asks makes the server join the group, so none may be asked for unless this "
            "names it.",
     .apply = [](const Target& t, const Value& v) { t.vhost.allow_groups = v.networks; }},
    {.name = "allow_fcc",
     .contexts = kStreamContexts,
     .type = ValueType::kNetworks,
     .effect = Effect::kNewConnections,
     .example = "10.0.0.0/8",
     .doc = "Servers of fast channel change that players may name with a group "
            "(`?fcc=10.0.0.1:15970`), and that such servers may redirect to. Whoever asks makes "
            "this server send to them, so those that this does not name are not spoken to: the "
            "group is then joined at once, as without `?fcc=`.",
     .apply = [](const Target& t, const Value& v) { t.vhost.allow_fcc = v.networks; }},
    {.name = "allow_rtsp",
     .contexts = kStreamContexts,
     .type = ValueType::kServers,
     .effect = Effect::kNewConnections,
     .example = "camera.example.org",
     .doc = "RTSP servers whose streams may be asked for: `/rtsp/HOST[:PORT]/PATH` by HTTP gives a "
            "transport stream. Whoever asks makes the server connect there, so none may be asked "
            "for unless this names it, and none may redirect to one that this does not name. "
            "HOST:PORT allows that port alone, HOST any.",
     .apply = [](const Target& t, const Value& v) { t.vhost.allow_rtsp = v.words; }},
    {.name = "group_interface",
     .contexts = kStreamContexts,
     .type = ValueType::kText,
     .effect = Effect::kNewConnections,
     .example = "eth1",
     .doc = "The network interface, by name or address, where groups are joined that are asked for "
            "without one; the system's routes say it unless given.",
     .apply = [](const Target& t, const Value& v) { t.vhost.group_interface = v.text; }},
    {.name = "group_linger",
     .contexts = kStreamContexts,
     .type = ValueType::kDuration,
     .default_text = "10s",
     .max = 86'400'000,
     .effect = Effect::kNewConnections,
     .doc = "How long a group that was asked for is kept after its last player has left: who comes "
            "back has a picture at once, and zapping makes no storm of joins.",
     .apply = [](const Target& t, const Value& v) { t.vhost.group_linger = millis(v); }},
    {.name = "group_rejoin",
     .type = ValueType::kDuration,
     .default_text = "0",
     .min = 5'000,
     .max = 86'400'000,
     .special = "0",
     .doc = "Leaves all groups and joins them again, at once, this often: for networks whose "
            "switches forget memberships since no router asks for them. 0: never; the system "
            "answers routers by itself.",
     .apply = [](const Target& t, const Value& v) { t.config.group_rejoin = millis(v); }},
    {.name = "playlist",
     .type = ValueType::kPlace,
     .example = "/etc/weir/channels.m3u",
     .doc = "A provider's playlist of multicast groups: a file, or a URL (http, https). `GET "
            "/playlist.m3u` is the same with the addresses of this server in place of the groups', "
            "and with the `key` or `token` that the client asks with; everything else in it stays. "
            "Which groups may be played `allow_groups` says.",
     .apply = [](const Target& t, const Value& v) { t.config.playlist.place = v.text; }},
    {.name = "playlist_guide",
     .type = ValueType::kPlace,
     .example = "https://provider.example/epg.xml.gz",
     .doc = "The programme guide (XMLTV) of `playlist`, a file or a URL, served as it is at "
            "`/epg.xml`. Unless given, the URL that the playlist itself names (x-tvg-url).",
     .apply = [](const Target& t, const Value& v) { t.config.playlist.guide = v.text; }},
    {.name = "playlist_refresh",
     .type = ValueType::kDuration,
     .default_text = "1h",
     .min = 10'000,
     .max = 604'800'000,
     .doc = "How often `playlist` and its guide are read again. What was read last stays while "
            "they cannot be.",
     .apply = [](const Target& t, const Value& v) { t.config.playlist.refresh = millis(v); }},
};

}  // namespace

std::span<const Directive> source_directives() {
    return kSourceDirectives;
}

}  // namespace weir::config
