#include "app/api/metrics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/api/health_monitor.h"
#include "app/api/stream_json.h"
#include "app/protocols/protocol.h"
#include "app/run/log_setup.h"
#include "base/object_count.h"
#include "base/version.h"
#include "diagnosis/process_stats.h"
#include "io/runtime.h"
#include "io/worker_pool.h"
#include "net/fanout.h"
#include "net/limits.h"
#include "net/pump_stats.h"
#include "stream/registry.h"
#include "stream/wire_log.h"

namespace weir::app {
namespace {

void process_part(net::Exposition& text, const MetricsSources& from) {
    const diagnosis::ProcessStats& process = from.process;
    const double uptime = static_cast<double>((MonoClock::now() - from.started).count()) / 1e6;
    text.head("weir_build_info", "gauge", "Version of the server; the value is always 1.");
    text.sample("weir_build_info", 1, fmt::format("{{version=\"{}\"}}", kVersion));
    text.single("weir_uptime_seconds", "gauge", "Time since the start.", uptime);
    text.single("process_start_time_seconds", "gauge", "When the process started, since 1970.",
                fmt::format("{:.3f}", static_cast<double>(wall_time_ms()) / 1000 - uptime));
    text.single("process_cpu_seconds_total", "counter", "User and system CPU time.",
                process.cpu_seconds);
    text.single("process_resident_memory_bytes", "gauge", "Resident memory.",
                process.resident_bytes);
    text.single("process_virtual_memory_bytes", "gauge", "Virtual memory.", process.virtual_bytes);
    text.single("process_open_fds", "gauge", "Open file descriptors.", process.open_descriptors);
    text.single("process_max_fds", "gauge", "Limit of open file descriptors.",
                process.max_descriptors);
}

void runtime_part(net::Exposition& text, const MetricsSources& from) {
    const io::RuntimeStats runtime = io::runtime_stats();
    const io::TurnStats turns = io::turn_stats();
    constexpr double kMicrosecond = 1e-6;
    text.single("weir_media_thread_busy_ratio", "gauge",
                "Share of the last 100 ms that the media thread worked.", io::busy_share());
    text.single("weir_media_thread_busy_seconds_total", "counter",
                "Time that the media thread worked; its rate is its load, 1 is saturated.",
                static_cast<double>(turns.busy_us) * kMicrosecond);
    text.histogram("weir_media_thread_turn_seconds",
                   "How long the media thread ran before it looked for events again: for so long "
                   "everybody waits.",
                   io::TurnStats::kBoundsUs, kMicrosecond, turns.counts,
                   static_cast<double>(turns.busy_us) * kMicrosecond);
    text.single("weir_media_thread_longest_turn_seconds", "gauge",
                "The longest of them in the last half minute to minute.",
                static_cast<double>(turns.longest.count()) * kMicrosecond);
    text.single("weir_coroutines", "gauge", "Live coroutines.", runtime.coroutines_live);
    text.single("weir_coroutine_stacks", "gauge", "Stacks mapped, in use or kept for reuse.",
                runtime.stacks);
    text.single("weir_reactor_loops_total", "counter", "Wake-ups of the reactor.",
                runtime.reactor_loops);
    text.single("weir_reactor_events_total", "counter", "Events of descriptors.",
                runtime.reactor_events);
    if (from.workers != nullptr) {
        text.single("weir_worker_jobs_refused_total", "counter",
                    "Jobs that the full queue of the worker threads refused.",
                    from.workers->refused());
    }
}

void clients_part(net::Exposition& text, const MetricsSources& from) {
    const net::Services& services = from.services;
    text.single("weir_connections", "gauge", "Connections that count against max_connections.",
                services.connections.used());
    text.single("weir_connections_limit", "gauge", "The limit: max_connections.",
                services.connections.limit());
    text.single("weir_connections_refused_total", "counter",
                "Connections refused by max_connections.", services.connections.refused());
    constexpr std::string_view kRefused = "weir_refused_total";
    text.head(kRefused, "counter", "Clients and requests refused or ended by a rule, by reason.");
    text.sample(kRefused, services.connections.refused(), "{reason=\"max_connections\"}");
    for (size_t i = 0; i < net::kRefusals; i++) {
        const auto refusal = static_cast<net::Refusal>(i);
        text.sample(kRefused, services.limits.refused(refusal),
                    fmt::format("{{reason=\"{}\"}}", net::to_string(refusal)));
    }
    text.single("weir_clients", "gauge", "Connected clients.", services.clients.size());
    text.single("weir_clients_accepted_total", "counter", "Clients since the start.",
                services.clients.total());
    if (from.health != nullptr) {
        constexpr std::string_view kSessions = "weir_sessions";
        text.head(kSessions, "gauge", "Clients by role and transport, a second ago at most.");
        for (const HealthMonitor::Sessions& each : from.health->sessions()) {
            text.sample(kSessions, each.count,
                        fmt::format("{{role=\"{}\",transport=\"{}\"}}", net::to_string(each.role),
                                    each.transport));
        }
    }
}

// Not inlined: the frame of metrics_text() would be larger than a coroutine's stack should have.
[[gnu::noinline]] void traffic_part(net::Exposition& text, const MetricsSources& from) {
    const net::Services& services = from.services;
    const net::PumpStats& pump = services.fanout.stats();
    const stream::Registry::Traffic traffic = services.registry.traffic();
    size_t live = 0;
    services.registry.for_each(
        [&](const stream::Stream& stream) { live += stream.live() ? 1U : 0U; });
    text.single("weir_streams", "gauge", "Streams that are published or waited for.",
                services.registry.size());
    text.single("weir_streams_live", "gauge", "Streams that are published.", live);
    text.single("weir_streams_without_series", "gauge",
                "Live streams beyond metrics_per_stream: the totals alone have them.",
                live - std::min(live, from.most_streams));
    text.single("weir_received_bytes_total", "counter", "Media from publishers.", traffic.received);
    text.single("weir_stray_messages_total", "counter",
                "Media messages of RTMP publishers dropped because their message stream publishes "
                "nothing.",
                services.registry.stray_messages());
    text.single("weir_sent_bytes_total", "counter", "Bytes sent to players, over all transports.",
                traffic.sent);
    text.single("weir_player_writes_total", "counter", "Write calls to TCP players.", pump.writes);
    text.single("weir_player_file_writes_total", "counter",
                "Those of them that went by sendfile, without a copy.", pump.file_writes);
    text.single("weir_player_sent_bytes_total", "counter", "Bytes written to TCP players.",
                pump.written_bytes);
    text.single("weir_player_would_block_total", "counter", "Writes that the socket did not take.",
                pump.would_block);
    text.single("weir_player_write_stalls_total", "counter",
                "Times that a player had to wait because its socket was full.", pump.blocked);
    text.single("weir_player_resyncs_total", "counter", "Slow players moved to a newer key frame.",
                pump.resyncs);
    text.single("weir_player_dropped_bytes_total", "counter", "What they missed by that.",
                pump.dropped_bytes);
    text.single("weir_player_dropped_frames_total", "counter", "The same in frames.",
                pump.dropped_frames);
    text.single("weir_player_stalled_total", "counter", "Players closed because they took nothing.",
                pump.stalled);
    const net::LagHistogram& lags = services.clients.lags();
    constexpr double kMillisecond = 1e-3;
    text.histogram("weir_player_lag_seconds",
                   "Stream time that players had not been sent yet: a look at each, every second.",
                   net::LagHistogram::kBoundsMs, kMillisecond, lags.counts,
                   static_cast<double>(lags.sum_ms) * kMillisecond);
    text.single("weir_wire_log_blocks", "gauge", "Live blocks of all wire logs.",
                stream::LogBlock::live_blocks());
    text.single("weir_wire_log_bytes", "gauge", "Bytes of the live blocks.",
                stream::LogBlock::live_bytes());
    text.single(
        "weir_merge_window_seconds", "gauge", "Current merge window of mw_latency auto.",
        static_cast<double>(services.fanout.automatic_window().window().count()) * kMillisecond);
}

struct Series {
    std::string_view name;
    std::string_view type;
    std::string_view help;
    uint64_t (*value)(const stream::Stream&, const net::Services&);
};

constexpr std::string_view kPlayers = "weir_stream_players";

constexpr Series kStreamSeries[] = {
    {"weir_stream_live", "gauge", "Always 1: somebody publishes the stream.",
     [](const stream::Stream& stream, const net::Services&) -> uint64_t {
         return stream.live() ? 1 : 0;
     }},
    {kPlayers, "gauge", "Players of the stream.",
     [](const stream::Stream& stream, const net::Services& services) -> uint64_t {
         return players_of(stream, services).all();
     }},
    {"weir_stream_received_bytes_total", "counter", "Bytes received from the current publisher.",
     [](const stream::Stream& stream, const net::Services&) { return stream.bytes_received(); }},
    {"weir_stream_sent_bytes_total", "counter", "Bytes sent to its players, over all transports.",
     [](const stream::Stream& stream, const net::Services&) { return stream.bytes_sent(); }},
    {"weir_stream_key_frames_total", "counter", "Key frames from the current publisher.",
     [](const stream::Stream& stream, const net::Services&) { return stream.gop().key_frames; }},
    {"weir_stream_video_frames_total", "counter", "Video frames from the current publisher.",
     [](const stream::Stream& stream, const net::Services&) { return stream.video().frames; }},
    {"weir_stream_audio_frames_total", "counter", "Audio frames from the current publisher.",
     [](const stream::Stream& stream, const net::Services&) { return stream.audio().frames; }},
    {"weir_stream_timestamp_shifts_total", "counter", "Corrections of a publisher's clock.",
     [](const stream::Stream& stream, const net::Services&) { return stream.timeline().shifts(); }},
    {"weir_stream_timestamp_clamps_total", "counter", "Frames whose time had to be corrected.",
     [](const stream::Stream& stream, const net::Services&) { return stream.timeline().clamps(); }},
    {"weir_stream_messages_joined_total", "counter",
     "Messages of a publisher that were put to the picture that they belong to.",
     [](const stream::Stream& stream, const net::Services&) {
         return stream.mended().messages_joined;
     }},
    {"weir_stream_units_left_out_total", "counter", "Broken NAL units and OBUs of a publisher.",
     [](const stream::Stream& stream, const net::Services&) {
         return stream.mended().units_left_out;
     }},
    {"weir_stream_pictures_damaged_total", "counter", "Pictures of a publisher that lost a part.",
     [](const stream::Stream& stream, const net::Services&) {
         return stream.mended().pictures_damaged;
     }},
    {"weir_stream_gop_bytes", "gauge", "Bytes of the current group of pictures.",
     [](const stream::Stream& stream, const net::Services&) { return stream.gop_bytes(); }},
};

// Live ones alone: what a player waits for has any name that it likes.
void streams_part(net::Exposition& text, const MetricsSources& from) {
    std::vector<std::pair<const stream::Stream*, std::string>> shown;
    from.services.registry.for_each([&](const stream::Stream& stream) {
        if (stream.live() && shown.size() < from.most_streams) {
            const stream::StreamKey& key = stream.key();
            shown.emplace_back(&stream,
                               fmt::format("{{vhost=\"{}\",app=\"{}\",stream=\"{}\"}}",
                                           net::label_value(key.vhost), net::label_value(key.app),
                                           net::label_value(key.name)));
        }
    });
    const std::vector<Transport> transports = from.protocols.transports();
    for (const Series& series : kStreamSeries) {
        text.head(series.name, series.type, series.help);
        for (const auto& [stream, labels] : shown) {
            text.sample(series.name, series.value(*stream, from.services), labels);
        }
        for (const Transport& transport : transports) {
            if (series.name != kPlayers || transport.counted_as.empty()) {
                continue;
            }
            const std::string name = fmt::format("weir_stream_{}_players", transport.name);
            text.head(name, "gauge",
                      fmt::format("Those of them that play by {}.", transport.counted_as));
            for (const auto& [stream, labels] : shown) {
                text.sample(name, players_of(*stream, from.services).of(transport.name), labels);
            }
        }
    }
}

struct ObjectSeries {
    std::string_view name;
    std::string_view type;
    std::string_view help;
    uint64_t (ObjectClass::*value)() const;
};

constexpr ObjectSeries kObjectSeries[] = {
    {"weir_objects_live", "gauge", "Live objects of the class.", &ObjectClass::live},
    {"weir_objects_bytes", "gauge", "Bytes of the live objects of the class.", &ObjectClass::bytes},
    {"weir_objects_high_water", "gauge", "The most objects of the class that ever lived at once.",
     &ObjectClass::high_water},
    {"weir_objects_high_water_bytes", "gauge", "The most bytes that the class ever had.",
     &ObjectClass::high_water_bytes},
    {"weir_objects_made_total", "counter", "Objects of the class since the start.",
     &ObjectClass::made},
};

// The classes are those of the program: a bounded number, whatever clients do.
void objects_part(net::Exposition& text) {
    for (const ObjectSeries& series : kObjectSeries) {
        text.head(series.name, series.type, series.help);
        for_each_object_class([&](const ObjectClass& each) {
            text.sample(
                series.name, (each.*series.value)(),
                fmt::format("{{class=\"{}\",subsystem=\"{}\"}}", each.name(), each.subsystem()));
        });
    }
}

}  // namespace

std::string metrics_text(const MetricsSources& from, std::span<const MetricsPart> more) {
    net::Exposition text;
    process_part(text, from);
    runtime_part(text, from);
    clients_part(text, from);
    traffic_part(text, from);
    write_ended_metrics(text, from.services.clients);
    write_log_metrics(text);
    for (const auto& protocol : from.protocols.all()) {
        protocol->add_metrics(text);
    }
    for (const MetricsPart& part : more) {
        part(text);
    }
    streams_part(text, from);
    objects_part(text);
    return text.take();
}

}  // namespace weir::app
