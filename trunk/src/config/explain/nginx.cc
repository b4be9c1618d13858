// The directives of nginx's RTMP module and what they become. They stand in rtmp, server and
// application alike, so the block plays no part.
#include "config/explain/convert.h"
#include "config/explain/explain.h"

namespace weir::config {
namespace {

constexpr std::string_view kLater = "Not in this version.";
constexpr std::string_view kPrograms = "A hook can start programs; nothing is started from here.";
constexpr std::string_view kExecPush =
    "Write exec_push in the application: the same words; $app and $name are known, and braces of "
    "${name} need quotes. What the program publishes goes into another application.";
constexpr std::string_view kProgramsDecide =
    "A hook can start programs; nothing is started from here. If it decided who may come, a hook "
    "has to.";
constexpr std::string_view kHook =
    "POST of JSON instead of a form; answer 0 or {\"code\":0} instead of 2xx. A redirect is not "
    "followed.";

const ForeignDirective kNginxDirectives[] = {
    {"rtmp", Fate::kBuiltIn, "", ""},
    {"server", Fate::kBuiltIn, "", "There is one server; all its listeners share the streams."},
    {"application", Fate::kSame, "vhost.application",
     "Names without one are refused, as there: the top level denies everything."},
    {"listen", Fate::kSame, "listen",
     "TCP options are set by themselves; a bare port is IPv4 only, as there. proxy_protocol "
     "believes trusted_proxies alone.",
     nullptr, true},
    {"chunk_size", Fate::kSame, "chunk_size", "The default is 60000 instead of 4096."},
    {"max_connections", Fate::kSame, "max_connections", "For the whole server.", nullptr, true},
    {"timeout", Fate::kDiffers, "vhost.write_stall_timeout",
     "For players that take nothing; silent publishers: publish { normal_timeout }.", milliseconds},
    {"ping", Fate::kBuiltIn, "", ""},
    {"ping_timeout", Fate::kBuiltIn, "", ""},
    {"max_streams", Fate::kBuiltIn, "", ""},
    {"ack_window", Fate::kBuiltIn, "", ""},
    {"max_message", Fate::kBuiltIn, "", "Bounded."},
    {"out_queue", Fate::kDiffers, "", "play { queue_length; queue_size; }"},
    {"out_cork", Fate::kDiffers, "", "play { mw_latency; }"},
    {"buflen", Fate::kNone, "", ""},
    {"busy", Fate::kNone, "", ""},
    {"play_time_fix", Fate::kBuiltIn, "", "Each player's time begins near 0 and rises."},
    {"publish_time_fix", Fate::kBuiltIn, "", ""},
    {"so_keepalive", Fate::kBuiltIn, "", "Always on."},
    {"allow", Fate::kSame, "vhost.security.allow",
     "The first rule that matches decides, those of an application before those of the blocks "
     "around. Without one, publishing is allowed from loopback only; nginx allows it to everybody.",
     nullptr, true},
    {"deny", Fate::kSame, "vhost.security.deny", "The first rule that matches decides.", nullptr,
     true},
    {"live", Fate::kDiffers, "",
     "Always on; where it was not said nobody could watch, so deny play all; is written."},
    {"sync", Fate::kBuiltIn, "", ""},
    {"interleave", Fate::kBuiltIn, "", "Always."},
    {"wait_key", Fate::kBuiltIn, "",
     "Players always start at a key frame, and the latest is kept for them."},
    {"wait_video", Fate::kBuiltIn, "", ""},
    {"publish_notify", Fate::kBuiltIn, "", ""},
    {"play_restart", Fate::kBuiltIn, "", "Players wait for the next publisher: wait_publisher."},
    {"drop_idle_publisher", Fate::kSame, "vhost.publish.normal_timeout", "The default is 10s.",
     milliseconds},
    {"idle_streams", Fate::kDiffers, "vhost.play.wait_publisher",
     "off refuses who plays a stream that is not live; otherwise it waits 30 s.",
     [](const Statement& s) { return when(s, "off", "0"); }},
    {"meta", Fate::kBuiltIn, "", "Passed on."},
    {"stream_buckets", Fate::kBuiltIn, "", ""},
    {"buffer", Fate::kDiffers, "", "play { mw_latency; }"},
    {"push", Fate::kDiffers, "",
     "Write forward rtmp://HOST/APP; in the application: under the same name as there."},
    {"pull", Fate::kDiffers, "",
     "Write source rtmp://HOST/APP; in the application; with name=NAME: source "
     "rtmp://HOST/APP/NAME { stream NAME; on_demand on; }, where on_demand off; is static."},
    {"push_reconnect", Fate::kBuiltIn, "", "After 0.5 s, then longer each time up to 10 s."},
    {"pull_reconnect", Fate::kBuiltIn, "", "After 0.5 s, then longer each time up to 10 s."},
    {"session_relay", Fate::kBuiltIn, "", ""},
    {"relay_buffer", Fate::kBuiltIn, "", ""},
    {"exec", Fate::kDiffers, "", kExecPush},
    {"exec_push", Fate::kDiffers, "", kExecPush},
    {"exec_pull", Fate::kNone, "", kPrograms},
    {"exec_play", Fate::kNone, "", kProgramsDecide, nullptr, true},
    {"exec_play_done", Fate::kNone, "", kPrograms},
    {"exec_publish", Fate::kNone, "", kProgramsDecide, nullptr, true},
    {"exec_publish_done", Fate::kNone, "", kPrograms},
    {"exec_record_done", Fate::kNone, "", kPrograms},
    {"exec_static", Fate::kNone, "", kPrograms},
    {"exec_kill_signal", Fate::kNone, "", kPrograms},
    {"exec_options", Fate::kNone, "", kPrograms},
    {"respawn", Fate::kNone, "", kPrograms},
    {"respawn_timeout", Fate::kNone, "", kPrograms},
    {"on_connect", Fate::kDiffers, "vhost.http_hooks.on_connect", kHook, nullptr, true},
    {"on_disconnect", Fate::kDiffers, "vhost.http_hooks.on_close", kHook},
    {"on_publish", Fate::kDiffers, "vhost.http_hooks.on_publish", kHook, nullptr, true},
    {"on_publish_done", Fate::kDiffers, "vhost.http_hooks.on_unpublish", kHook},
    {"on_play", Fate::kDiffers, "vhost.http_hooks.on_play", kHook, nullptr, true},
    {"on_play_done", Fate::kDiffers, "vhost.http_hooks.on_stop", kHook},
    {"on_done", Fate::kDiffers, "", "on_unpublish and on_stop."},
    {"on_record_done", Fate::kDiffers, "vhost.http_hooks.on_record", kHook},
    {"on_update", Fate::kNone, "",
     "Its answer could end a client while it played or published; end it by DELETE "
     "/api/v1/clients/ID.",
     nullptr, true},
    {"notify_method", Fate::kBuiltIn, "", "POST."},
    {"notify_update_timeout", Fate::kNone, "", ""},
    {"notify_update_strict", Fate::kNone, "", ""},
    {"notify_relay_redirect", Fate::kNone, "", ""},
    {"netcall_timeout", Fate::kSame, "vhost.http_hooks.timeout", "Of hooks.", milliseconds},
    {"netcall_buffer", Fate::kBuiltIn, "", ""},
    {"record", Fate::kDiffers, "",
     "record { enabled on; path FOLDER; } records audio and video; manual is enabled off, and "
     "POST /api/v1/recordings."},
    {"record_path", Fate::kDiffers, "", "record { path; }, a folder that exists."},
    {"record_suffix", Fate::kDiffers, "", "record { name; }"},
    {"record_unique", Fate::kBuiltIn, "", "Names have the time, and a number where it is needed."},
    {"record_append", Fate::kNone, "", "Each publish has a file of its own."},
    {"record_lock", Fate::kBuiltIn, "", "A file that grows is locked, and called NAME.part."},
    {"record_max_size", Fate::kDiffers, "", "record { split_size; }"},
    {"record_max_frames", Fate::kNone, "", "record { split; } or { split_size; }"},
    {"record_interval", Fate::kDiffers, "", "record { split; }"},
    {"record_notify", Fate::kNone, "", ""},
    {"recorder", Fate::kNone, "", "A stream has one recording."},
    {"hls", Fate::kDiffers, "",
     "Every stream has it at /APP/STREAM.m3u8, from memory; hls { enabled off; } ends that."},
    {"hls_fragment", Fate::kDiffers, "", "hls { fragment; }"},
    {"hls_playlist_length", Fate::kDiffers, "", "hls { window; }, in target durations."},
    {"hls_path", Fate::kDiffers, "",
     "hls { path FOLDER; }, a folder that exists. Players do not need it: segments are served from "
     "memory."},
    {"hls_nested", Fate::kBuiltIn, "", "Each stream has a folder below hls { path; }."},
    {"hls_cleanup", Fate::kBuiltIn, "", "What has left the playlist goes."},
    {"hls_continuous", Fate::kBuiltIn, "",
     "Numbers go on; a start removes what an earlier one has left."},
    {"hls_fragment_naming", Fate::kBuiltIn, "",
     "Numbers, which begin with the second of the clock."},
    {"hls_fragment_slicing", Fate::kBuiltIn, "", "At the key frame that is nearest."},
    {"hls_variant", Fate::kDiffers, "", "hls { variants APP/STREAM ...; }"},
    {"hls_keys", Fate::kDiffers, "", "hls { encrypt on; }; keys are served beside the segments."},
    {"hls_fragments_per_key", Fate::kDiffers, "", "hls { rotate; }"},
    {"hls_key_*", Fate::kNone, "", "Keys are made and served, not written to files."},
    {"hls_*", Fate::kNone, "", ""},
    {"dash", Fate::kBuiltIn, "", "Every stream has it at /APP/STREAM.mpd."},
    {"dash_*", Fate::kNone, "", "Segments are those of hls { }, served from memory."},
    {"play", Fate::kDiffers, "",
     "Recordings are played, as vod/FILE: record { path FOLDER; playback on; }."},
    {"play_temp_path", Fate::kNone, "", ""},
    {"play_local_path", Fate::kNone, "", ""},
    {"access_log", Fate::kDiffers, "", "One log with a summary line for each client that leaves."},
    {"log_format", Fate::kDiffers, "", "log_format text or json."},
    {"rtmp_auto_push", Fate::kBuiltIn, "", "One process: every player finds every stream."},
    {"rtmp_auto_push_reconnect", Fate::kBuiltIn, "", ""},
    {"rtmp_socket_dir", Fate::kBuiltIn, "", ""},
    // Outside of rtmp { }.
    {"rtmp_stat", Fate::kDiffers, "",
     "GET /api/v1/streams (JSON), /metrics, and the page at / of the HTTP server."},
    {"rtmp_stat_stylesheet", Fate::kDiffers, "", "The page at / of the HTTP server."},
    {"rtmp_control", Fate::kDiffers, "", "DELETE /api/v1/clients/ID ends a client."},
    {"worker_processes", Fate::kBuiltIn, "", "One process with one media thread."},
    {"worker_connections", Fate::kDiffers, "max_connections", "The limit of the whole server."},
    {"daemon", Fate::kBuiltIn, "", "Runs in the foreground."},
    {"pid", Fate::kDiffers, "",
     "Not taken over, as nginx may still write that file: pid FILE; names another."},
    {"user", Fate::kSame, "user", "", nullptr, true},
    {"error_log", Fate::kDiffers, "log_file", "",
     [](const Statement& s) { return Values{quoted_word(first_word(s))}; }},
    {"load_module", Fate::kBuiltIn, "", ""},
    {"events", Fate::kBuiltIn, "", ""},
    {"http", Fate::kDiffers, "",
     "Keep nginx for your other pages; HTTP-FLV, WebSocket-FLV, WHIP and WHEP are on port 8080 "
     "here."},
    {"include", Fate::kNone, "", "Not read: put the file in its place, and explain the whole.",
     nullptr, true},
};

constexpr std::string_view kNginxDifferences[] = {
    "Publishing is allowed from this machine only until `security { allow publish ADDRESS; }` "
    "names "
    "more; nginx lets everybody publish.",
    "Players start at the latest key frame at once; nginx's wait for the next one.",
    "The HTTP server is off, as nginx's module has none: without http_server { enabled off; } it "
    "serves HTTP-FLV, WebRTC's offers and pages on port 8080, under the same rules. So is the "
    "API, as nginx has none: http_api { enabled on; } opens it on 127.0.0.1:1985.",
    "Applications that are not written are refused, as there.",
    "A second publisher of a live name is refused, as there (publish_conflict takeover; lets it "
    "in).",
};

}  // namespace

std::span<const ForeignDirective> nginx_directives() {
    return kNginxDirectives;
}

std::span<const std::string_view> nginx_differences() {
    return kNginxDifferences;
}

}  // namespace weir::config
