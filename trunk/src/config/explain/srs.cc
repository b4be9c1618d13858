// The directives of SRS (its full.conf of version 7) and what they become.
#include <cstdlib>

#include "config/explain/convert.h"
#include "config/explain/explain.h"
#include "proto/srt/stream_id.h"

namespace weir::config {
namespace {

Values of_trace_level(const Statement& statement) {
    const std::string level = first_word(statement);
    if (level == "verbose" || level == "trace" || level == "debug") {
        return {level == "trace" ? "info" : "debug"};
    }
    return level == "warn" || level == "error" || level == "info" ? Values{level} : Values{};
}

// The words without the brackets of IPv6 addresses.
std::string plain_addresses(const Statement& statement) {
    std::string out;
    for (const Token& token : statement.arguments) {
        const std::string& word = token.text;
        const bool brackets = word.size() > 2 && word.front() == '[' && word.back() == ']';
        out += (out.empty() ? "" : " ") +
               quoted_word(brackets ? word.substr(1, word.size() - 2) : word);
    }
    return out;
}

Values candidates(const Statement& statement) {
    const std::string word = first_word(statement);
    return word == "*" || word == "0.0.0.0" || word == "::" || word.starts_with('$')
               ? Values{}
               : Values{plain_addresses(statement)};
}

// A bare port is every address there; here whoever reaches the API can end any stream.
Values api_address(const Statement& statement) {
    Values values;
    for (const Token& token : statement.arguments) {
        const size_t colon = token.text.find(':');
        values.push_back((colon == std::string::npos ? "127.0.0.1:"
                          : colon == 0               ? "127.0.0.1"
                                                     : "") +
                         quoted_word(token.text));
    }
    return values;
}

Values tcp_of_protocol(const Statement& statement) {
    return first_word(statement) == "udp" ? Values{"off"} : Values{"on"};
}

// 1 to 60 s here.
Values hls_fragment(const Statement& statement) {
    const double seconds_wanted = std::strtod(first_word(statement).c_str(), nullptr);
    return seconds_wanted >= 1 && seconds_wanted <= 60 ? seconds(statement) : Values{};
}

Values stream_of_srt_id(const Statement& statement) {
    const Result<srt::StreamId> id = srt::StreamId::parse(first_word(statement));
    return id.ok() && id->resource.find('/') != std::string::npos
               ? Values{quoted_word(id->resource)}
               : Values{};
}

constexpr std::string_view kOneThread = "There is one media thread; workers do what may block.";

const ForeignDirective kSrsDirectives[] = {
    // The process.
    {"listen", Fate::kSame, "listen",
     "Several addresses, IPv6 and [::] too; a bare port is IPv4 only, as there.", addresses, true},
    {"max_connections", Fate::kSame, "max_connections",
     "Counts connections of all protocols. Where it is not written: 1000, as there.", nullptr,
     true},
    {"chunk_size", Fate::kSame, "chunk_size", ""},
    {"daemon", Fate::kBuiltIn, "", "Runs in the foreground: systemd or a container starts it."},
    {"pid", Fate::kDiffers, "",
     "Not taken over, as SRS may still write that file: pid FILE; names another."},
    {"srs_log_tank", Fate::kDiffers, "log_file",
     "Logs go to standard error unless log_file names a file.",
     [](const Statement& s) { return when(s, "console", "stderr"); }},
    {"srs_log_file", Fate::kDiffers, "",
     "Not taken over, as SRS may still write that file: log_file FILE; names another."},
    {"srs_log_level", Fate::kDiffers, "log_level", "debug, info, warn or error; trace is info.",
     of_trace_level},
    {"srs_log_level_v2", Fate::kDiffers, "log_level", "debug, info, warn or error; trace is info.",
     of_trace_level},
    {"ff_log_dir", Fate::kBuiltIn, "", "Programs write into the log."},
    {"ff_log_level", Fate::kBuiltIn, "", "Programs write into the log."},
    {"utc_time", Fate::kBuiltIn, "", "Times in logs are UTC."},
    {"work_dir", Fate::kBuiltIn, "", "Relative paths start at the folder of the configuration."},
    {"asprocess", Fate::kBuiltIn, "", "The service manager looks after the process."},
    {"server_id", Fate::kBuiltIn, "", "Random at each start; the API shows it."},
    {"inotify_auto_reload", Fate::kSame, "config_watch", "", only_on},
    {"auto_reload_for_docker", Fate::kDiffers, "config_watch",
     "Off unless said, in containers too.", only_on},
    {"pithy_print_ms", Fate::kBuiltIn, "",
     "Logs have a line for an event and one summary for a client; figures are in /metrics."},
    {"grace_start_wait", Fate::kNone, "", "SIGQUIT drains at once."},
    {"grace_final_wait", Fate::kNone, "", "SIGQUIT drains with a deadline."},
    {"force_grace_quit", Fate::kNone, "", "Send SIGQUIT instead of SIGTERM."},
    {"disable_daemon_for_docker", Fate::kBuiltIn, "", "There is no daemon mode."},
    {"empty_ip_ok", Fate::kBuiltIn, "", ""},
    {"in_docker", Fate::kBuiltIn, "", ""},
    {"is_full", Fate::kBuiltIn, "", ""},
    {"tcmalloc_release_rate", Fate::kNone, "", "Another allocator."},
    {"query_latest_version", Fate::kBuiltIn, "", "Never: the server calls nobody."},
    {"first_wait_for_qlv", Fate::kBuiltIn, "", "Never: the server calls nobody."},
    {"threads.*", Fate::kNone, "", kOneThread},
    {"circuit_breaker.*", Fate::kNone, "",
     "Under load players get larger writes (mw_latency auto); no packet is dropped for it."},
    {"heartbeat.*", Fate::kLost, "",
     "No server is told that this one lives: ask /metrics or /api/v1/health.", nullptr, false,
     "heartbeat"},
    {"stats.*", Fate::kNone, "", "See /metrics."},
    {"tencentcloud_cls.*", Fate::kLost, "", "Send the log of standard error there.", nullptr, false,
     "tencentcloud_cls"},
    {"tencentcloud_apm.*", Fate::kLost, "", "Traces are not made.", nullptr, false,
     "tencentcloud_apm"},
    {"exporter.enabled", Fate::kDiffers, "", "/metrics is part of http_api, on its port."},
    {"exporter.*", Fate::kDiffers, "", "/metrics is part of http_api, on its port."},
    {"include", Fate::kNone, "", "Not read: put the file in its place, and explain the whole.",
     nullptr, true},

    // HTTP.
    {"http_api.enabled", Fate::kSame, "http_api.enabled",
     "Off unless said, as there: enabled off; is written.", only_on, true},
    {"http_api.listen", Fate::kDiffers, "http_api.listen",
     "On loopback, where SRS listens on every address: whoever reaches it can end any stream.",
     api_address, true},
    {"http_api.crossdomain", Fate::kDiffers, "",
     "Off for the API: http_api { allow_origin SCHEME://HOST; } names the pages that may use it. "
     "Media paths always have CORS."},
    {"http_api.raw_api.*", Fate::kDiffers, "", "POST /api/v1/reload is always there."},
    {"http_api.auth.enabled", Fate::kBuiltIn, "", "A user is enough."},
    {"http_api.auth.username", Fate::kDiffers, "http_api.user",
     "One line: user admin NAME PASSWORD. Here it is asked for by every path of the API.", nullptr,
     true},
    {"http_api.auth.password", Fate::kDiffers, "http_api.user", "See username.", nullptr, true},
    {"http_api.https.listen", Fate::kDiffers, "http_api.listen",
     "On loopback, as without TLS: others are let in by an address.",
     [](const Statement& s) {
         Values values = api_address(s);
         for (std::string& value : values) {
             value += " ssl";
         }
         return values;
     },
     true},
    {"http_api.https.key", Fate::kSame, "http_api.ssl_certificate_key", ""},
    {"http_api.https.cert", Fate::kSame, "http_api.ssl_certificate", ""},
    {"http_api.https.*", Fate::kBuiltIn, "", "listen says ssl."},
    {"http_server.enabled", Fate::kSame, "http_server.enabled",
     "Where no vhost has http_remux it is off: it would serve HTTP-FLV.", only_on, true},
    {"http_server.listen", Fate::kSame, "http_server.listen", "", addresses, true},
    {"http_server.dir", Fate::kSame, "http_server.dir", "Folder of the pages."},
    {"http_server.crossdomain", Fate::kBuiltIn, "", "Media paths always have CORS."},
    {"http_server.https.listen", Fate::kDiffers, "http_server.listen", "listen says ssl.",
     tls_addresses, true},
    {"http_server.https.key", Fate::kSame, "http_server.ssl_certificate_key", ""},
    {"http_server.https.cert", Fate::kSame, "http_server.ssl_certificate", ""},
    {"http_server.https.*", Fate::kBuiltIn, "", "listen says ssl."},

    // WebRTC, SRT and the others.
    {"rtc_server.enabled", Fate::kSame, "rtc_server.enabled", "Off where no vhost has rtc.",
     only_on, true},
    {"rtc_server.listen", Fate::kSame, "rtc_server.listen", "UDP, and TCP on the same port.",
     addresses, true},
    {"rtc_server.candidate", Fate::kSame, "rtc_server.candidate",
     "Numeric addresses; * (the interfaces) is the default. $CANDIDATE is read from the "
     "environment.",
     candidates},
    {"rtc_server.protocol", Fate::kDiffers, "rtc_server.tcp", "UDP is always there.",
     tcp_of_protocol},
    {"rtc_server.tcp.*", Fate::kDiffers, "rtc_server.tcp", "On the port of UDP.",
     [](const Statement&) { return Values{}; }},
    {"rtc_server.ip_family", Fate::kBuiltIn, "", "Both, by what listen says."},
    {"rtc_server.use_auto_detect_network_ip", Fate::kBuiltIn, "", "Where there is no candidate."},
    {"rtc_server.api_as_candidates", Fate::kBuiltIn, "", "The address that a client used is one."},
    {"rtc_server.resolve_api_domain", Fate::kBuiltIn, "", "See api_as_candidates."},
    {"rtc_server.keep_api_domain", Fate::kBuiltIn, "", "See api_as_candidates."},
    {"rtc_server.ecdsa", Fate::kBuiltIn, "", "Always."},
    {"rtc_server.encrypt", Fate::kBuiltIn, "", "Always."},
    {"rtc_server.reuseport", Fate::kBuiltIn, "", "One socket."},
    {"rtc_server.merge_nalus", Fate::kNone, "", ""},
    {"rtc_server.black_hole.*", Fate::kNone, "", ""},
    {"srt_server.enabled", Fate::kSame, "srt_server.enabled", "Off where no vhost has srt.",
     only_on, true},
    {"srt_server.listen", Fate::kSame, "srt_server.listen", "", addresses, true},
    {"srt_server.default_streamid", Fate::kDiffers, "srt_server.default_stream",
     "APP/STREAM, whether such callers publish or play; without it they are refused.",
     stream_of_srt_id},
    {"srt_server.passphrase", Fate::kSame, "srt_passphrase", "For all vhosts.", nullptr, true},
    {"srt_server.pbkeylen", Fate::kSame, "srt_pbkeylen", "16 where it was 0.",
     [](const Statement& s) { return first_word(s) == "0" ? Values{} : keep(s); }},
    {"srt_server.latency", Fate::kSame, "srt_latency", "20ms and more; the default is 120ms.",
     [](const Statement& s) {
         return std::strtod(first_word(s).c_str(), nullptr) < 20 ? Values{} : milliseconds(s);
     }},
    {"srt_server.*", Fate::kBuiltIn, "", "Buffers and times are set by themselves."},
    {"rtsp_server.enabled", Fate::kSame, "rtsp_server.enabled", "Off where no vhost has rtsp.",
     only_on, true},
    {"rtsp_server.listen", Fate::kSame, "rtsp_server.listen", "", addresses, true},
    {"stream_caster.*", Fate::kDiffers, "vhost.source",
     "mpegts_over_udp is source udp://0.0.0.0:PORT { stream APP/STREAM; }, rtsp is rtsp_server; "
     "flv "
     "(POST) and gb28181 are lost."},
    {"rtmps.listen", Fate::kDiffers, "listen", "listen says ssl.", tls_addresses, true},
    {"rtmps.key", Fate::kSame, "ssl_certificate_key",
     "HTTP listeners without a certificate of their own use it too."},
    {"rtmps.cert", Fate::kSame, "ssl_certificate", ""},
    {"rtmps.*", Fate::kBuiltIn, "", "listen says ssl."},

    // Virtual hosts.
    {"vhost.enabled", Fate::kSame, "vhost.enabled", "", flag, true},
    {"vhost.chunk_size", Fate::kDiffers, "chunk_size", "One size for all vhosts: not taken over.",
     [](const Statement&) { return Values{}; }},
    {"vhost.min_latency", Fate::kDiffers, "",
     "Latency is as low as the machine allows: mw_latency auto (0: audio does not wait for "
     "video)."},
    {"vhost.tcp_nodelay", Fate::kBuiltIn, "", "Always on."},
    {"vhost.in_ack_size", Fate::kBuiltIn, "", "As the peer asks."},
    {"vhost.out_ack_size", Fate::kBuiltIn, "", ""},
    {"vhost.play.gop_cache", Fate::kBuiltIn, "",
     "A player always starts at the latest key frame, whatever the GOP."},
    {"vhost.play.gop_cache_max_frames", Fate::kDiffers, "",
     "The cap is in bytes: gop_cache_max_size, 32m."},
    {"vhost.play.queue_length", Fate::kDiffers, "vhost.play.queue_length",
     "Who is further behind is moved to the newest key frame, and nothing else is dropped. The "
     "default is 10s instead of 30.",
     seconds},
    {"vhost.play.mw_latency", Fate::kDiffers, "vhost.play.mw_latency",
     "How long media is held back at most. The default, auto, is 0 on an idle machine; SRS's is "
     "350ms.",
     milliseconds},
    {"vhost.play.mw_msgs", Fate::kBuiltIn, "", "Writes are merged by time only."},
    {"vhost.play.time_jitter", Fate::kBuiltIn, "", "Each player's time begins near 0 and rises."},
    {"vhost.play.atc", Fate::kLost, "", "Times of a player begin near 0; they are never absolute.",
     nullptr, false, "atc"},
    {"vhost.play.atc_auto", Fate::kNone, "", "See atc."},
    {"vhost.play.mix_correct", Fate::kBuiltIn, "", ""},
    {"vhost.play.send_min_interval", Fate::kNone, "", "See mw_latency."},
    {"vhost.play.reduce_sequence_header", Fate::kBuiltIn, "", ""},
    {"vhost.publish.firstpkt_timeout", Fate::kSame, "vhost.publish.firstpkt_timeout", "",
     milliseconds},
    {"vhost.publish.normal_timeout", Fate::kSame, "vhost.publish.normal_timeout",
     "The default is 10s instead of 5.", milliseconds},
    {"vhost.publish.mr", Fate::kBuiltIn, "", "Reads are merged by themselves."},
    {"vhost.publish.mr_latency", Fate::kBuiltIn, "", ""},
    {"vhost.publish.parse_sps", Fate::kBuiltIn, "", "Always."},
    {"vhost.publish.try_annexb_first", Fate::kBuiltIn, "", ""},
    {"vhost.publish.kickoff_for_idle", Fate::kLost, "",
     "A publisher stays connected when nobody plays the stream: DELETE /api/v1/clients/ID ends it.",
     nullptr, false, "kickoff_for_idle"},
    {"vhost.refer.*", Fate::kNone, "",
     "Pages are not told apart by their address, which a client writes itself: ask for a key or a "
     "token.",
     nullptr, true},
    {"vhost.refer", Fate::kNone, "", "As the block refer.", nullptr, true},
    {"vhost.refer_play", Fate::kNone, "", "As the block refer.", nullptr, true},
    {"vhost.refer_publish", Fate::kNone, "", "As the block refer.", nullptr, true},
    {"vhost.security.enabled", Fate::kDiffers, "", "off leaves the rules out."},
    {"vhost.security.allow", Fate::kSame, "vhost.security.allow",
     "Behind all deny lines; what no allow line names is refused, as there.", nullptr, true},
    {"vhost.security.deny", Fate::kSame, "vhost.security.deny",
     "Before all allow lines, as SRS reads them.", nullptr, true},
    {"vhost.http_hooks.enabled", Fate::kSame, "vhost.http_hooks.enabled", "", only_on, true},
    {"vhost.http_hooks.on_connect", Fate::kSame, "vhost.http_hooks.on_connect", "", nullptr, true},
    {"vhost.http_hooks.on_close", Fate::kSame, "vhost.http_hooks.on_close", ""},
    {"vhost.http_hooks.on_publish", Fate::kSame, "vhost.http_hooks.on_publish", "", nullptr, true},
    {"vhost.http_hooks.on_unpublish", Fate::kSame, "vhost.http_hooks.on_unpublish", ""},
    {"vhost.http_hooks.on_play", Fate::kSame, "vhost.http_hooks.on_play", "", nullptr, true},
    {"vhost.http_hooks.on_stop", Fate::kSame, "vhost.http_hooks.on_stop", ""},
    {"vhost.http_hooks.on_dvr", Fate::kSame, "vhost.http_hooks.on_dvr", "See also on_record."},
    {"vhost.http_hooks.on_hls", Fate::kSame, "vhost.http_hooks.on_hls",
     "Where hls { path FOLDER; } writes segments to disk."},
    {"vhost.http_hooks.on_hls_notify", Fate::kLost, "",
     "No server is told of segments by GET: http_hooks { on_hls URL; } tells each.", nullptr, false,
     "on_hls_notify"},
    {"vhost.http_remux.enabled", Fate::kDiffers, "",
     "HTTP-FLV and WebSocket-FLV are there for every vhost, where http_server is on."},
    {"vhost.http_remux.mount", Fate::kDiffers, "",
     "Always /APP/STREAM.flv and .ts; another path is to be decided, and .mp3 and .aac are lost."},
    {"vhost.http_remux.*", Fate::kBuiltIn, "", ""},
    {"vhost.http_static.*", Fate::kLost, "",
     "One folder for all vhosts: http_server { dir FOLDER; }", nullptr, false, "http_static"},
    {"vhost.rtc.enabled", Fate::kDiffers, "", "Every vhost has WebRTC where rtc_server is on."},
    {"vhost.rtc.rtmp_to_rtc", Fate::kBuiltIn, "", "Always; off is to be decided."},
    {"vhost.rtc.rtc_to_rtmp", Fate::kBuiltIn, "", "Always; off is to be decided."},
    {"vhost.rtc.opus_bitrate", Fate::kDiffers, "rtc_server.opus_bitrate",
     "In rtc_server, for all vhosts."},
    {"vhost.rtc.aac_bitrate", Fate::kDiffers, "rtc_server.aac_bitrate",
     "In rtc_server, for all vhosts."},
    {"vhost.rtc.pli_for_rtmp", Fate::kDiffers, "rtc_server.key_frame_interval",
     "In rtc_server, for all vhosts.", seconds},
    {"vhost.rtc.nack", Fate::kBuiltIn, "", "Always on."},
    {"vhost.rtc.nack_no_copy", Fate::kBuiltIn, "", "Lost packets are sent again without a copy."},
    {"vhost.rtc.twcc", Fate::kBuiltIn, "", "Always on."},
    {"vhost.rtc.stun_timeout", Fate::kNone, "",
     "A session that nothing is heard of ends after 30 s."},
    {"vhost.rtc.stun_strict_check", Fate::kBuiltIn, "", "Each check must be authentic."},
    {"vhost.rtc.dtls_role", Fate::kBuiltIn, "", "As the offer asks."},
    {"vhost.rtc.dtls_version", Fate::kBuiltIn, "", "DTLS 1.2."},
    {"vhost.rtc.keep_bframe", Fate::kNone, "",
     "B-frames that no other frame refers to are left out by WebRTC. Streams with other B-frames "
     "are refused there (x264: bframes=0)."},
    {"vhost.rtc.keep_avc_nalu_sei", Fate::kNone, "", "SEI units are sent as they come."},
    {"vhost.rtc.drop_for_pt", Fate::kNone, "", ""},
    {"vhost.rtc.init_rate", Fate::kNone, "", ""},
    {"vhost.rtc.bframe", Fate::kNone, "", "See keep_bframe."},
    {"vhost.rtc.aac", Fate::kBuiltIn, "", "AAC becomes Opus."},
    {"vhost.hls.enabled", Fate::kDiffers, "vhost.hls.enabled",
     "Every stream has it at /APP/STREAM.m3u8, from memory, also where this is not written.", flag},
    {"vhost.hls.hls_fragment", Fate::kDiffers, "vhost.hls.fragment",
     "Made while somebody watches, and cut at the key frame that is nearest.", hls_fragment},
    {"vhost.hls.hls_window", Fate::kDiffers, "vhost.hls.window",
     "As a number of segments, from 3 to 100."},
    {"vhost.hls.hls_path", Fate::kDiffers, "vhost.hls.path",
     "A folder that exists. Players do not need it: segments are served from memory."},
    {"vhost.hls.hls_m3u8_file", Fate::kDiffers, "", "Always APP/STREAM.m3u8; another one is lost."},
    {"vhost.hls.hls_ts_file", Fate::kDiffers, "",
     "Below hls { path; } always APP/STREAM/N.m4s, or N.ts with container ts."},
    {"vhost.hls.hls_cleanup", Fate::kBuiltIn, "", "What has left the playlist goes."},
    {"vhost.hls.hls_dispose", Fate::kBuiltIn, "",
     "Files of a stream that has ended go after a minute, or when dvr is over."},
    {"vhost.hls.hls_wait_keyframe", Fate::kBuiltIn, "", "Segments begin with key frames."},
    {"vhost.hls.hls_keys", Fate::kDiffers, "vhost.hls.encrypt",
     "Keys are served beside the segments."},
    {"vhost.hls.hls_fragments_per_key", Fate::kSame, "vhost.hls.rotate", ""},
    {"vhost.hls.hls_key_*", Fate::kNone, "", "Keys are made and served, not written to files."},
    {"vhost.hls.hls_use_fmp4", Fate::kDiffers, "vhost.hls.container", "fmp4 is the default here."},
    {"vhost.hls.hls_entry_prefix", Fate::kLost, "",
     "Addresses in playlists are relative; no other server can be named in them.", nullptr, false,
     "base_url"},
    {"vhost.hls.*", Fate::kBuiltIn, "", "Set by itself."},
    {"vhost.dash.*", Fate::kBuiltIn, "", "Every stream has it at /APP/STREAM.mpd, from memory."},
    {"vhost.hds.*", Fate::kLost, "", "HDS is not made; every stream has HLS and DASH.", nullptr,
     false, "hds"},
    {"vhost.dvr.enabled", Fate::kDiffers, "vhost.record.enabled", ""},
    {"vhost.dvr.dvr_path", Fate::kDiffers, "vhost.record.path",
     "With record { name; }: the folder in front of the first variable must exist."},
    {"vhost.dvr.dvr_plan", Fate::kDiffers, "vhost.record.split",
     "A file for each publish, or segments, cut at key frames."},
    {"vhost.dvr.dvr_duration", Fate::kDiffers, "vhost.record.split", ""},
    {"vhost.dvr.dvr_wait_keyframe", Fate::kBuiltIn, "", "A file begins with a key frame."},
    {"vhost.dvr.time_jitter", Fate::kBuiltIn, "", "Times of a file begin at 0 and rise."},
    {"vhost.dvr.dvr_apply", Fate::kDiffers, "",
     "Write record in an application, or start recordings by POST /api/v1/recordings."},
    {"vhost.dvr.*", Fate::kBuiltIn, "", "Set by itself."},
    {"vhost.forward.backend", Fate::kLost, "",
     "No server is asked where a stream goes: forward names them. It could refuse a publisher: use "
     "on_publish.",
     nullptr, true, "forward_backend"},
    {"vhost.forward.*", Fate::kDiffers, "vhost.forward",
     "forward rtmp://HOST/[app]/[stream]; for each destination."},
    {"vhost.cluster.token_traverse", Fate::kDiffers, "",
     "The origin is asked once for a stream, not for each player: to be decided."},
    {"vhost.cluster.mode", Fate::kDiffers, "vhost.origin",
     "remote: what nobody publishes here comes from an origin."},
    {"vhost.cluster.origin", Fate::kDiffers, "vhost.origin",
     "origin rtmp://HOST; for each, and forward to the first for what is published at the edge."},
    {"vhost.cluster.*", Fate::kDiffers, "",
     "Another vhost of the origin, and origin_cluster, are lost: see cluster { }"},
    {"vhost.token_traverse", Fate::kDiffers, "", "As in cluster."},
    {"vhost.mode", Fate::kDiffers, "", "As in cluster."},
    {"vhost.origin", Fate::kDiffers, "", "As in cluster."},
    {"vhost.gop_cache", Fate::kBuiltIn, "", "A player always starts at the latest key frame."},
    {"vhost.queue_length", Fate::kDiffers, "vhost.play.queue_length", "", seconds},
    {"vhost.debug_srs_upnode", Fate::kNone, "", ""},
    {"vhost.ingest.*", Fate::kDiffers, "vhost.source",
     "source URL { stream APP/STREAM; }; files, and engines that transcode, are lost."},
    {"vhost.transcode.*", Fate::kDiffers, "vhost.exec_push",
     "ffmpeg beside each stream. Copies are in a vhost of their own, or they would be copied too."},
    {"vhost.exec.*", Fate::kDiffers, "vhost.exec_push", "The same words, with $app and $name."},
    {"vhost.bandcheck.*", Fate::kLost, "", "Bandwidth is not measured for players.", nullptr, false,
     "bandcheck"},
    {"vhost.srt.enabled", Fate::kDiffers, "", "Every vhost has SRT where srt_server is on."},
    {"vhost.srt.*", Fate::kBuiltIn, "", "Always; off is to be decided."},
    {"vhost.rtsp.enabled", Fate::kDiffers, "", "Every vhost has RTSP where rtsp_server is on."},
    {"vhost.rtsp.rtmp_to_rtsp", Fate::kBuiltIn, "", "Always; off is to be decided."},
};

constexpr std::string_view kSrsDifferences[] = {
    "Publishing is allowed from this machine only until `security { allow publish ADDRESS; }` "
    "names "
    "more; SRS lets everybody publish.",
    "The API is off unless SRS had it on; then a bare port is 127.0.0.1 alone, and there is no "
    "CORS.",
    "The port of HTTP lists no streams (http_server { stream_list none; }), as there.",
    "Where WebRTC is on, it and RTMP always reach one another's streams; SRS wants rtmp_to_rtc and "
    "rtc_to_rtmp.",
    "By WebRTC, SRS leaves out all B-frames; Weir leaves out those that no other frame refers to, "
    "and refuses to play streams with others (x264: bframes=0).",
    "http_server is off unless SRS had it on with http_remux, hls or dash, rtc_server unless a "
    "vhost had rtc.",
    "HLS is fragmented MP4 where hls_use_fmp4 did not say off (hls { container ts; } is for old "
    "players).",
    "Names without a vhost section are refused, as there: vhost __defaultVhost__ { enabled off; }.",
    "A player waits 30 s for a stream that nobody publishes (play { wait_publisher }), then it is "
    "told.",
    "A second publisher of a live name is refused (publish_conflict takeover; lets it in).",
};

}  // namespace

std::span<const ForeignDirective> srs_directives() {
    return kSrsDirectives;
}

std::span<const std::string_view> srs_differences() {
    return kSrsDifferences;
}

}  // namespace weir::config
