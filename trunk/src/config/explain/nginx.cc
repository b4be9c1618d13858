// The directives of nginx's RTMP module and what they become. They stand in rtmp, server and
// application alike, so the block plays no part.
#include "config/explain/convert.h"
#include "config/explain/explain.h"

namespace weir::config {
namespace {

constexpr std::string_view kExecPush =
    "The same words with $app and $name; output goes into the log. What the program publishes goes "
    "into another application.";
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
    {"push", Fate::kDiffers, "vhost.forward",
     "One stream alone (name=) is lost: forward sends each stream of its application."},
    {"pull", Fate::kDiffers, "vhost.source",
     "Without name= every stream that somebody asks for; with it source URL { stream NAME; "
     "on_demand on; }, without on_demand where it was static."},
    {"push_reconnect", Fate::kBuiltIn, "", "After 0.5 s, then longer each time up to 10 s."},
    {"pull_reconnect", Fate::kBuiltIn, "", "After 0.5 s, then longer each time up to 10 s."},
    {"session_relay", Fate::kBuiltIn, "", ""},
    {"relay_buffer", Fate::kBuiltIn, "", ""},
    {"exec", Fate::kDiffers, "vhost.exec_push", kExecPush},
    {"exec_push", Fate::kDiffers, "vhost.exec_push", kExecPush},
    {"exec_pull", Fate::kLost, "",
     "Nothing is started for the first viewer: let a service publish the stream, or use source.",
     nullptr, false, "exec_pull"},
    {"exec_play", Fate::kLost, "",
     "Nothing is started for a player: http_hooks { on_play URL; } asks. If it decided who may "
     "come, the hook has to.",
     nullptr, true, "exec_play"},
    {"exec_play_done", Fate::kLost, "",
     "Nothing is started when a player leaves: http_hooks { on_stop URL; } tells it.", nullptr,
     false, "exec_play_done"},
    {"exec_publish", Fate::kLost, "",
     "Nothing is started once for a publisher: http_hooks { on_publish URL; } asks, exec_push runs "
     "beside the stream. If it decided who may come, the hook has to.",
     nullptr, true, "exec_publish"},
    {"exec_publish_done", Fate::kLost, "",
     "Nothing is started when a publisher leaves: http_hooks { on_unpublish URL; } tells it.",
     nullptr, false, "exec_publish_done"},
    {"exec_record_done", Fate::kLost, "",
     "Nothing is started when a recording is finished: http_hooks { on_record URL; } tells it.",
     nullptr, false, "exec_record_done"},
    {"exec_static", Fate::kLost, "",
     "Nothing is started with the server: let the service manager start it beside Weir.", nullptr,
     false, "exec_static"},
    {"exec_kill_signal", Fate::kBuiltIn, "", "SIGTERM, and SIGKILL 5 s later."},
    {"exec_options", Fate::kBuiltIn, "", "Words stand as the program gets them."},
    {"respawn", Fate::kBuiltIn, "",
     "A program of exec_push is begun again while its stream is published."},
    {"respawn_timeout", Fate::kBuiltIn, "", "0.5 s, then longer each time up to 10 s."},
    {"on_connect", Fate::kDiffers, "vhost.http_hooks.on_connect", kHook, nullptr, true},
    {"on_disconnect", Fate::kDiffers, "vhost.http_hooks.on_close", kHook},
    {"on_publish", Fate::kDiffers, "vhost.http_hooks.on_publish", kHook, nullptr, true},
    {"on_publish_done", Fate::kDiffers, "vhost.http_hooks.on_unpublish", kHook},
    {"on_play", Fate::kDiffers, "vhost.http_hooks.on_play", kHook, nullptr, true},
    {"on_play_done", Fate::kDiffers, "vhost.http_hooks.on_stop", kHook},
    {"on_done", Fate::kDiffers, "vhost.http_hooks.on_unpublish", "on_unpublish and on_stop, both."},
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
    {"record", Fate::kDiffers, "vhost.record.enabled",
     "Audio and video, as FLV; manual is enabled off, and POST /api/v1/recordings."},
    {"record_path", Fate::kSame, "vhost.record.path", "A folder that exists."},
    {"record_suffix", Fate::kDiffers, "", "Names are {stream}-{time}.flv: record { name; }"},
    {"record_unique", Fate::kBuiltIn, "", "Names have the time, and a number where it is needed."},
    {"record_append", Fate::kBuiltIn, "",
     "Each publish has a file of its own; nothing is written over."},
    {"record_lock", Fate::kBuiltIn, "", "A file that grows is locked, and called NAME.part."},
    {"record_max_size", Fate::kDiffers, "vhost.record.split_size",
     "1m and more; another file begins then."},
    {"record_max_frames", Fate::kLost, "",
     "Files are not limited by frames: record { split; } or record { split_size; } limits them.",
     nullptr, false, "split_frames"},
    {"record_interval", Fate::kSame, "vhost.record.split", "5s and more."},
    {"record_notify", Fate::kLost, "", "Publishers are not told that a recording begins or ends.",
     nullptr, false, "record_notify"},
    {"recorder", Fate::kDiffers, "vhost.record",
     "A stream has one recording: the first is taken over."},
    {"hls", Fate::kDiffers, "vhost.hls.enabled",
     "HTTP is on then, at the port of nginx's server: /APP/STREAM.m3u8, from memory."},
    {"hls_fragment", Fate::kSame, "vhost.hls.fragment", "From 1s to 60s, cut at key frames."},
    {"hls_playlist_length", Fate::kDiffers, "vhost.hls.window",
     "As a number of segments, from 3 to 100."},
    {"hls_path", Fate::kDiffers, "vhost.hls.path",
     "As APP/STREAM.m3u8. Players do not need it: segments are served from memory."},
    {"hls_nested", Fate::kBuiltIn, "", "Each stream has a folder below hls { path; }."},
    {"hls_cleanup", Fate::kBuiltIn, "", "What has left the playlist goes."},
    {"hls_continuous", Fate::kBuiltIn, "",
     "Numbers go on; a start removes what an earlier one has left."},
    {"hls_fragment_naming", Fate::kBuiltIn, "",
     "Numbers, which begin with the second of the clock."},
    {"hls_fragment_slicing", Fate::kBuiltIn, "", "At the key frame that is nearest."},
    {"hls_variant", Fate::kDiffers, "vhost.hls.variants",
     "Behind a stream NAME of its own, which has to be published too."},
    {"hls_keys", Fate::kDiffers, "vhost.hls.encrypt", "Keys are served beside the segments."},
    {"hls_fragments_per_key", Fate::kSame, "vhost.hls.rotate", ""},
    {"hls_base_url", Fate::kLost, "",
     "Addresses in playlists are relative; no other server can be named in them.", nullptr, false,
     "base_url"},
    {"hls_type", Fate::kDiffers, "",
     "live; a playlist of the whole stream is lost, and hls { dvr; } reaches far back."},
    {"hls_key_*", Fate::kNone, "", "Keys are made and served, not written to files."},
    {"hls_*", Fate::kNone, "", ""},
    {"dash", Fate::kBuiltIn, "", "Every stream has it at /APP/STREAM.mpd."},
    {"dash_fragment", Fate::kDiffers, "vhost.hls.fragment",
     "HLS and DASH have the same segments: hls_fragment counts where both are on."},
    {"dash_playlist_length", Fate::kDiffers, "vhost.hls.window",
     "HLS and DASH have the same segments: hls_playlist_length counts where both are on."},
    {"dash_*", Fate::kNone, "", "Segments are those of hls { }, served from memory."},
    {"play", Fate::kLost, "",
     "Files of others are not played; own recordings are, as vod/FILE, with record { path FOLDER; "
     "playback on; }.",
     nullptr, false, "vod"},
    {"play_temp_path", Fate::kNone, "", ""},
    {"play_local_path", Fate::kNone, "", ""},
    {"access_log", Fate::kDiffers, "", "One log with a summary line for each client that leaves."},
    {"log_format", Fate::kDiffers, "", "log_format text or json."},
    {"rtmp_auto_push", Fate::kBuiltIn, "", "One process: every player finds every stream."},
    {"rtmp_auto_push_reconnect", Fate::kBuiltIn, "", ""},
    {"rtmp_socket_dir", Fate::kBuiltIn, "", ""},
    // Outside of rtmp { }.
    {"rtmp_stat", Fate::kDiffers, "http_api.enabled",
     "GET /api/v1/streams (JSON) and /metrics, on 127.0.0.1:1985 until listen and user say more.",
     [](const Statement&) { return Values{"on"}; }},
    {"rtmp_stat_stylesheet", Fate::kDiffers, "", "The page at / of the HTTP server."},
    {"rtmp_control", Fate::kDiffers, "http_api.enabled",
     "DELETE /api/v1/clients/ID ends a client, POST /api/v1/recordings records; on 127.0.0.1:1985 "
     "until listen and user say more.",
     [](const Statement&) { return Values{"on"}; }},
    {"worker_processes", Fate::kBuiltIn, "", "One process with one media thread."},
    {"worker_connections", Fate::kDiffers, "max_connections", "The limit of the whole server."},
    {"daemon", Fate::kBuiltIn, "", "Runs in the foreground."},
    {"pid", Fate::kDiffers, "",
     "Not taken over, as nginx may still write that file: pid FILE; names another."},
    {"user", Fate::kSame, "user", "", nullptr, true},
    {"error_log", Fate::kDiffers, "",
     "Not taken over, as nginx may still write that file: log_file FILE; names another."},
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
    "Without hls, dash or flv_live the HTTP server is off: http_server { enabled off; }. With one "
    "of them it is on, with HTTP-FLV too, and the rules for playing hold for all viewers by HTTP.",
    "HLS is at /APP/STREAM.m3u8, as fragmented MP4 (hls { container ts; } is for old players).",
    "The API is off unless nginx had rtmp_stat or rtmp_control; then it is on 127.0.0.1:1985.",
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
