// The directives of nginx's RTMP module and what they become. They stand in rtmp, server and
// application alike, so the block plays no part.
#include "app/config/explain.h"
#include "app/config/explain_convert.h"

namespace weir::app {
namespace {

// "1935 so_keepalive=on", "unix:/x": the address is what is kept.
Values address(const Statement& statement) {
    const std::string word = first_word(statement);
    return word.starts_with("unix:") ? Values{} : Values{quoted_word(word)};
}

// allow|deny [publish|play] ADDRESS
Values rule(const Statement& statement) {
    const auto& words = statement.arguments;
    if (words.size() == 2) {
        return keep(statement);
    }
    if (words.size() != 1) {
        return {};
    }
    return {"publish " + quoted_word(words[0].text), "play " + quoted_word(words[0].text)};
}

constexpr std::string_view kLater = "Not in this version.";
constexpr std::string_view kPrograms = "A hook can start programs; nothing is started from here.";
constexpr std::string_view kHook =
    "POST of JSON instead of a form; answer 0 or {\"code\":0} instead of 2xx. A redirect is not "
    "followed.";

const ForeignDirective kNginxDirectives[] = {
    {"rtmp", Fate::kBuiltIn, "", ""},
    {"server", Fate::kBuiltIn, "", "There is one server; all its listeners share the streams."},
    {"application", Fate::kDiffers, "",
     "Every application name is there by itself; rules are per vhost, not per application."},
    {"listen", Fate::kSame, "listen", "TCP options are set by themselves.", address},
    {"chunk_size", Fate::kSame, "chunk_size", "The default is 60000 instead of 4096."},
    {"max_connections", Fate::kSame, "max_connections", "For the whole server."},
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
    {"allow", Fate::kSame, "vhost.security",
     "The first rule that matches decides. Without one, publishing is allowed from loopback only; "
     "nginx allows it to everybody.",
     rule},
    {"deny", Fate::kSame, "vhost.security", "The first rule that matches decides.", rule},
    {"live", Fate::kBuiltIn, "", "Always on."},
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
    {"push", Fate::kNone, "", kLater},
    {"pull", Fate::kNone, "", kLater},
    {"push_reconnect", Fate::kNone, "", kLater},
    {"pull_reconnect", Fate::kNone, "", kLater},
    {"session_relay", Fate::kNone, "", kLater},
    {"relay_buffer", Fate::kNone, "", kLater},
    {"exec", Fate::kNone, "", kPrograms},
    {"exec_push", Fate::kNone, "", kPrograms},
    {"exec_pull", Fate::kNone, "", kPrograms},
    {"exec_play", Fate::kNone, "", kPrograms},
    {"exec_play_done", Fate::kNone, "", kPrograms},
    {"exec_publish", Fate::kNone, "", kPrograms},
    {"exec_publish_done", Fate::kNone, "", kPrograms},
    {"exec_record_done", Fate::kNone, "", kPrograms},
    {"exec_static", Fate::kNone, "", kPrograms},
    {"exec_kill_signal", Fate::kNone, "", kPrograms},
    {"exec_options", Fate::kNone, "", kPrograms},
    {"respawn", Fate::kNone, "", kPrograms},
    {"respawn_timeout", Fate::kNone, "", kPrograms},
    {"on_connect", Fate::kDiffers, "vhost.http_hooks.on_connect", kHook},
    {"on_disconnect", Fate::kDiffers, "vhost.http_hooks.on_close", kHook},
    {"on_publish", Fate::kDiffers, "vhost.http_hooks.on_publish", kHook},
    {"on_publish_done", Fate::kDiffers, "vhost.http_hooks.on_unpublish", kHook},
    {"on_play", Fate::kDiffers, "vhost.http_hooks.on_play", kHook},
    {"on_play_done", Fate::kDiffers, "vhost.http_hooks.on_stop", kHook},
    {"on_done", Fate::kDiffers, "", "on_unpublish and on_stop."},
    {"on_record_done", Fate::kNone, "", kLater},
    {"on_update", Fate::kNone, "", "See /metrics and the API."},
    {"notify_method", Fate::kBuiltIn, "", "POST."},
    {"notify_update_timeout", Fate::kNone, "", ""},
    {"notify_update_strict", Fate::kNone, "", ""},
    {"notify_relay_redirect", Fate::kNone, "", ""},
    {"netcall_timeout", Fate::kSame, "vhost.http_hooks.timeout", "Of hooks.", milliseconds},
    {"netcall_buffer", Fate::kBuiltIn, "", ""},
    {"record", Fate::kNone, "", kLater},
    {"record_*", Fate::kNone, "", kLater},
    {"recorder", Fate::kNone, "", kLater},
    {"hls", Fate::kNone, "", kLater},
    {"hls_*", Fate::kNone, "", kLater},
    {"dash", Fate::kNone, "", kLater},
    {"dash_*", Fate::kNone, "", kLater},
    {"play", Fate::kNone, "", "Files are not played (not in this version)."},
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
    {"pid", Fate::kSame, "pid", ""},
    {"user", Fate::kBuiltIn, "", "Start it as the user that it shall be."},
    {"error_log", Fate::kDiffers, "log_file", "",
     [](const Statement& s) { return Values{quoted_word(first_word(s))}; }},
    {"load_module", Fate::kBuiltIn, "", ""},
    {"events", Fate::kBuiltIn, "", ""},
    {"http", Fate::kDiffers, "",
     "Keep nginx for your other pages; HTTP-FLV, WebSocket-FLV, WHIP and WHEP are on port 8080 "
     "here."},
    {"include", Fate::kSame, "", "The same here; that file was not read: explain it by itself."},
};

constexpr std::string_view kNginxDifferences[] = {
    "Publishing is allowed from this machine only until `security { allow publish ADDRESS; }` "
    "names "
    "more; nginx lets everybody publish.",
    "Players start at the latest key frame at once; nginx's wait for the next one.",
    "HTTP-FLV, WebSocket-FLV and the API are there without being asked for: ports 8080 and 1985, "
    "the "
    "latter on loopback.",
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

}  // namespace weir::app
