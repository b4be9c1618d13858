// The top level: RTMP, limits, threads, the process.
#include "config/directive_tables.h"

namespace weir::config {
namespace {

const Directive kCoreDirectives[] = {
    {.name = "listen",
     .type = ValueType::kListen,
     .default_text = "1935",
     .repeatable = true,
     .doc = "Addresses for RTMP. A bare port means every IPv6 and IPv4 address.",
     .apply = [](const Target& t, const Value& v) { add_listeners(t.config.listen, t, v); }},
    {.name = "max_connections",
     .type = ValueType::kCount,
     .default_text = "10000",
     .min = 1,
     .max = 1000000,
     .doc = "Connections at the same time, of all kinds; one more is closed at once and counted. "
            "The limit of file "
            "descriptors is raised to fit.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.max_connections = static_cast<uint32_t>(v.number); }},
    {.name = "chunk_size",
     .type = ValueType::kCount,
     .default_text = "60000",
     .min = 128,
     .max = 16777215,
     .effect = Effect::kNewConnections,
     .doc = "Bytes per RTMP chunk that the server sends. Large chunks cost less; the peer chooses "
            "its own for what "
            "it sends.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.chunk_size = static_cast<uint32_t>(v.number); }},
    {.name = "sendfile",
     .type = ValueType::kFlag,
     .default_text = "on",
     .effect = Effect::kApplied,
     .doc = "Writes of 16 KiB and more to players that are not encrypted are sent without a copy, "
            "where the kernel can; off copies them.",
     .apply = [](const Target& t, const Value& v) { t.config.sendfile = v.number != 0; }},
    {.name = "processes",
     .type = ValueType::kCount,
     .default_text = "1",
     .min = 1,
     .max = 64,
     .special = "auto",
     .reloadable = false,
     .doc = "Processes that serve the same ports, for more than one core; auto: as many as there "
            "are cores. Each has its own players and streams; a stream that is in another process "
            "comes from there by itself. With 1 there is no supervisor. See "
            "[cluster.md](cluster.md#several-processes-on-one-machine).",
     .apply =
         [](const Target& t, const Value& v) {
             t.config.processes = v.special ? 0 : static_cast<uint32_t>(v.number);
         }},
    {.name = "process_max_busy",
     .type = ValueType::kCount,
     .default_text = "60",
     .max = 100,
     .effect = Effect::kNewConnections,
     .doc = "Percent. A process that works more of its time than this gets no players of the "
            "others: they stay where they came in, and the stream comes to them. With 0 all do, "
            "which spreads the work of every stream.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.process_max_busy = static_cast<uint32_t>(v.number); }},
    {.name = "worker_threads",
     .type = ValueType::kCount,
     .default_text = "2",
     .min = 1,
     .max = 64,
     .reloadable = false,
     .doc = "Threads for work that may block (disk, names). Media has another thread of its "
            "own.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.worker_threads = static_cast<uint32_t>(v.number); }},
    {.name = "cpu_affinity",
     .type = ValueType::kCores,
     .reloadable = false,
     .example = "1",
     .doc =
         "Cores that the media thread may use; choose one without interrupts of the network card "
         "(doc/performance.md). Worker threads do not use this setting.",
     .apply = [](const Target& t, const Value& v) { t.config.cpu_affinity = v.cores; }},
    {.name = "worker_cpu_affinity",
     .type = ValueType::kCores,
     .reloadable = false,
     .example = "0 2-3",
     .doc = "Cores of the worker threads.",
     .apply = [](const Target& t, const Value& v) { t.config.worker_cpu_affinity = v.cores; }},
    {.name = "log_level",
     .type = ValueType::kChoice,
     .default_text = "info",
     .choices = "debug|info|warn|error",
     .doc = "Lines below this level are not written.",
     .apply = [](const Target& t,
                 const Value& v) { t.config.log_level = static_cast<log::Level>(v.number); }},
    {.name = "pid",
     .type = ValueType::kPath,
     .reloadable = false,
     .example = "../objs/weir.pid",
     .doc = "File that holds the process id while the server runs.",
     .apply = [](const Target& t, const Value& v) { t.config.pid = v.text; }},
    {.name = "config_watch",
     .type = ValueType::kFlag,
     .default_text = "off",
     .doc = "Checks every second whether the configuration file, or one that it includes, "
            "has changed, and reloads it. SIGHUP and POST /api/v1/reload always reload.",
     .apply = [](const Target& t, const Value& v) { t.config.config_watch = v.number != 0; }},
    {.name = "include",
     .type = ValueType::kInclude,
     .repeatable = true,
     .example = "conf.d/*.conf",
     .doc = "Inserts another file here, in any block. A path starts at the folder of the "
            "file that it is written in; with *, ? or [ it names all files that match, "
            "sorted by name; there may be none. At most 256 files, 8 deep.",
     .apply = [](const Target&, const Value&) {}},
    {.name = "handshake_timeout",
     .type = ValueType::kDuration,
     .default_text = "10s",
     .min = kSecond,
     .max = 5 * kMinute,
     .unit = kSecond,
     .effect = Effect::kNewConnections,
     .doc = "Time from accepting a connection to the end of its handshake; for HTTP, to the end of "
            "the request's "
            "header.",
     .apply = [](const Target& t, const Value& v) { t.config.handshake_timeout = millis(v); }},
    {.name = kUnresolvedName,
     .contexts = kStreamContexts,
     .type = ValueType::kText,
     .repeatable = true,
     .example = "\"who may play application vip?\"",
     .doc = "Something that the operator must decide: a configuration with such a line is "
            "refused, with its text. weir --explain writes one for each line that restricted "
            "access in the old server and has no counterpart here.",
     .apply = [](const Target&, const Value&) {}},  // the checker refuses it
};

}  // namespace

std::span<const Directive> core_directives() {
    return kCoreDirectives;
}

}  // namespace weir::config
