// The configuration as plain values: read once, checked as a whole, then never changed.
//
// parse_config() and load_config() are the only makers: every default comes from the table of
// directives (directives.h), so a Config that was not made by them holds zeros. Only app/ knows
// this type; what a lower layer needs is copied into that layer's own options. Two configurations
// can be compared member by member (for a reload).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/config_diagnostic.h"
#include "base/log.h"
#include "base/net_address.h"
#include "config/access_config.h"
#include "config/access_rules.h"
#include "config/cluster_config.h"
#include "config/hls_config.h"
#include "config/hooks_config.h"
#include "config/listen_address.h"
#include "config/record_config.h"
#include "config/settings.h"
#include "config/sip_config.h"
#include "config/source_config.h"
#include "config/srt_config.h"
#include "config/tls_config.h"
#include "stream/stream_key.h"
#include "stream/stream_options.h"

namespace weir::config {

// The vhost that serves every name which has no section of its own.
inline constexpr std::string_view kDefaultVhost = stream::kDefaultVhost;

// The highest core number that can be written.
inline constexpr uint16_t kMaxCore = 1023;

struct CoreRange {
    uint16_t first = 0;
    uint16_t last = 0;  // not below first
    uint32_t line = 0;  // where it stands: whether the machine has these cores is looked at later
    uint32_t column = 0;

    // By cores only: where a line stands is no difference.
    bool operator==(const CoreRange& other) const {
        return first == other.first && last == other.last;
    }
};

struct CoreSet {
    std::vector<CoreRange> ranges;  // as written; empty: the directive was not given

    // Ascending, each once.
    std::vector<uint16_t> numbers() const;

    bool operator==(const CoreSet&) const = default;
};

// Strict-Transport-Security (RFC 6797): for how long browsers that came by TLS come by nothing
// else.
struct HstsConfig {
    bool is_auto = true;  // app/run/page_security.h decides
    Millis max_age{0};    // otherwise; 0: it is not sent

    bool operator==(const HstsConfig&) const = default;
};

struct HttpServerConfig {
    bool enabled = false;
    std::vector<ListenAddress> listen;
    std::string dir;  // static files; relative paths are already resolved against the configuration
                      // file's folder
    std::vector<CertificateConfig> certificates;  // empty: those of the top level
    StreamList stream_list = StreamList::kOpen;
    std::vector<std::string> frame_ancestors;  // as in Content-Security-Policy; at least one
    HstsConfig hsts;

    bool operator==(const HttpServerConfig&) const = default;
};

struct HttpApiConfig {
    bool enabled = false;
    std::vector<ListenAddress> listen;
    uint32_t metrics_per_stream = 0;              // live streams with series of their own
    std::vector<CertificateConfig> certificates;  // empty: those of the top level
    ApiAccessConfig access;

    bool operator==(const HttpApiConfig&) const = default;
};

// A STUN or TURN server that clients are told of.
struct IceServerConfig {
    std::string url;
    std::string username;  // of TURN; empty with STUN
    std::string credential;

    bool operator==(const IceServerConfig&) const = default;
};

struct RtcServerConfig {
    bool enabled = false;
    std::vector<ListenAddress> listen;  // UDP, and TCP where `tcp`
    bool tcp = true;
    bool single_port = false;            // of all processes, where there are several
    std::string_view candidates_from;    // a literal, for the log: who said so
    std::vector<NetAddress> candidates;  // at which peers reach it; empty: the interfaces'
    std::vector<IceServerConfig> ice_servers;
    uint32_t max_sessions = 0;
    uint32_t max_unproven_per_ip = 0;  // 0: any number
    uint32_t opus_bitrate = 0;         // bits per second, of sound made for WebRTC players
    uint32_t aac_bitrate = 0;          // and of that of WebRTC publishers for all others
    Millis key_frame_interval{0};      // WebRTC publishers are asked for one so often; 0: not

    bool operator==(const RtcServerConfig&) const = default;
};

struct RtspServerConfig {
    bool enabled = false;
    std::vector<ListenAddress> listen;
    bool udp = true;
    std::vector<ListenAddress> rtp_listen;   // UDP
    std::vector<ListenAddress> rtcp_listen;  // each beside one of those: the next port
    std::vector<IpNetwork> multicast;        // of the groups; empty: there is no multicast
    uint32_t ttl = 0;                        // of multicast
    uint32_t multicast_port = 0;

    bool operator==(const RtspServerConfig&) const = default;
};

using PublishConflict = stream::PublishConflict;

struct PlayConfig {
    std::optional<Millis> mw_latency;  // merge window of writes; none means auto
    uint64_t gop_cache_max_size = 0;   // bytes kept from the latest key frame on, per stream
    Millis queue_length{0};   // a player further behind than this is moved to the newest key frame
    uint64_t queue_size = 0;  // the same in bytes
    Millis wait_publisher{
        0};                 // how long a player waits for a stream that is not live; 0: not at all
    bool snapshots = true;  // key frames as pictures, by HTTP

    bool operator==(const PlayConfig&) const = default;
};

struct PublishConfig {
    Millis firstpkt_timeout{0};    // from the publish command to the first media message
    Millis normal_timeout{0};      // silence after that
    bool publisher_clock = false;  // players are told the wall clock of RTP publishers

    bool operator==(const PublishConfig&) const = default;
};

// What holds in a vhost, or in one of its applications, which begins with all that its vhost says.
struct VhostConfig {
    std::string name;         // lower case, but for __defaultVhost__
    std::string application;  // "vip", "vip/inner"; empty: of the vhost itself
    bool enabled = false;
    PublishConflict publish_conflict = PublishConflict::kRefuse;
    AccessRules security;
    AccessConfig access;               // the rest of `security`
    uint32_t max_players = 0;          // of one stream; 0: any number
    uint64_t max_publish_bitrate = 0;  // bits per second; 0: any
    PlayConfig play;
    PublishConfig publish;
    Millis write_stall_timeout{0};  // a player whose socket takes nothing for this long is closed
    uint64_t send_buffer = 0;       // bytes the kernel may hold per player; 0: the kernel decides
    SrtConfig srt;
    HlsConfig hls;
    RecordConfig record;
    HttpHooksConfig http_hooks;
    std::vector<SourceConfig> sources;
    std::vector<net::SourceUrl> origins;  // servers that streams come from; tried in turn
    std::vector<net::SourceUrl> forwards;
    std::vector<std::vector<std::string>> commands;  // exec_push: programs beside each stream
    std::vector<GroupOutConfig> group_outs;
    std::vector<IpNetwork> allow_groups;  // that may be asked for; empty: none
    std::vector<IpNetwork> allow_fcc;     // servers of fast channel change; empty: none
    std::string group_interface;          // where they are looked for; empty: the routes say it
    Millis group_linger{0};
    std::vector<std::string> allow_rtsp;    // HOST or HOST:PORT whose streams may be asked for
    std::vector<VhostConfig> applications;  // those with a section; an application has none

    // "a.example", "a.example/vip": a name that no other section has.
    std::string section() const;

    // For people: "vhost a.example", "application vip of vhost a.example".
    std::string title() const;

    // The application whose section holds for that app (in normal form): `vip` for "vip" and all
    // below it, as "vip/room"; the longest name goes first. Upper and lower case count as the same
    // here, see has_spelling_of(). nullptr: the vhost itself.
    const VhostConfig* application_of(std::string_view app) const;

    // Of application_of(app): whether its name stands in `app` letter by letter. Where it does not,
    // nobody is let in: a client must not choose other rules by another spelling.
    bool has_spelling_of(std::string_view app) const;

    // What holds for that app; nullptr: nobody is let in, as the application is disabled or spelled
    // in another way.
    const VhostConfig* settings_of(std::string_view app) const;

    bool operator==(const VhostConfig&) const = default;
};

// Who the process is once it listens; empty: who started it.
struct UserConfig {
    std::string name;
    std::string group;  // empty: that of the user

    bool operator==(const UserConfig&) const = default;
};

struct Config {
    std::string file;    // as given; empty for a text without a file
    std::string folder;  // that relative paths refer to; "." for a text without a file

    std::vector<ListenAddress> listen;      // RTMP; at least one
    std::vector<std::string> server_names;  // of this server, for browsers
    uint32_t processes = 1;                 // 0: one for each core
    uint32_t process_max_busy = 60;         // %: above, players of its streams stay elsewhere
    uint32_t process = 0;                   // of these, this one; not a directive
    uint32_t max_connections = 0;
    uint32_t max_connections_per_ip = 0;  // 0: any number
    uint32_t chunk_size = 0;              // of what is sent, bytes
    std::string sources_file;             // of those that the API added; empty: none
    uint32_t max_sources = 0;             // of streams that no source names
    PlaylistConfig playlist;
    Millis group_rejoin{0};  // groups are joined again so often; 0: never
    bool sendfile = true;    // for large writes to players
    uint32_t worker_threads = 0;
    CoreSet cpu_affinity;         // of the media thread
    CoreSet worker_cpu_affinity;  // of the worker threads
    log::Level log_level = log::Level::kInfo;
    std::string log_file;     // empty: stderr
    bool log_json = false;    // log_format json
    Millis drain_timeout{0};  // from SIGQUIT to the end, at most
    std::string pid;          // file for the process id; empty: none
    UserConfig user;
    Millis handshake_timeout{0};
    TlsConfig tls;
    HttpServerConfig http_server;
    HttpApiConfig http_api;
    RtcServerConfig rtc_server;
    RtspServerConfig rtsp_server;
    SrtServerConfig srt_server;
    SipServerConfig sip_server;
    ClusterConfig cluster;
    bool config_watch = false;        // reload when a file changes
    std::vector<VhostConfig> vhosts;  // __defaultVhost__ is always among them

    Settings settings;  // what was written, for reports

    // The vhost for a name as the peer gave it (any case, empty allowed): its own section or else
    // the default one. nullptr when that section says `enabled off`.
    const VhostConfig* find_vhost(std::string_view name) const;

    // The same for an app of that vhost, in normal form: what its application says, or the vhost.
    const VhostConfig* find_settings(std::string_view vhost, std::string_view app) const;

    bool operator==(const Config&) const = default;
};

// Either a whole configuration or all that is wrong with it.
struct ParseOutcome {
    std::optional<Config> config;       // set exactly when there are no errors
    std::vector<Diagnostic> errors;     // in the order of the files, at most kMaxDiagnostics
    std::vector<std::string> warnings;  // for the log
    std::vector<std::string> secrets;   // of a configuration with errors: what was found of them
    std::string hint;                   // what may help with the errors as a whole; mostly empty
    // Files that were read or looked for, and patterns of include: when one of them changes, so may
    // the configuration.
    std::vector<std::string> watched;

    bool ok() const { return config.has_value(); }
};

struct ConfigDisk;  // include.h
using Environment = std::vector<std::pair<std::string, std::string>>;

// `file_name` is for messages, and its folder is what relative paths refer to. `environment`: what
// goes before the files (environment.h). Pure but for `disk`, from which included files come;
// null: there are none.
ParseOutcome parse_config(std::string_view text,
                          std::string_view file_name,
                          const Environment& environment = {},
                          const ConfigDisk* disk = nullptr);

// Reads the file (blocks on disk: at start, or on a worker) and parses it.
ParseOutcome load_config(const std::string& path, const Environment& environment = {});

}  // namespace weir::config
