#include "app/metrics.h"

#include <fmt/format.h>

#include "app/process_stats.h"
#include "base/object_count.h"
#include "base/version.h"
#include "io/runtime.h"
#include "stream/wire_log.h"

namespace weir::app {
namespace {

class Exposition {
  public:
    void head(std::string_view name, std::string_view type, std::string_view help) {
        fmt::format_to(out(), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
    }

    template <typename Value>
    void sample(std::string_view name, Value value, std::string_view labels = {}) {
        fmt::format_to(out(), "{}{} {}\n", name, labels, value);
    }

    template <typename Value>
    void single(std::string_view name, std::string_view type, std::string_view help, Value value) {
        head(name, type, help);
        sample(name, value);
    }

    std::string take() { return std::move(text_); }

  private:
    std::back_insert_iterator<std::string> out() { return std::back_inserter(text_); }

    std::string text_;
};

// A label's value: quote and backslash escaped; what is not plain ASCII (and '%') as %XX, so that
// no two names fall together.
std::string label_value(std::string_view text) {
    std::string value;
    for (char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\\' || c == '"') {
            value += '\\';
            value += c;
        } else if (byte < 0x20 || byte >= 0x7f || c == '%') {
            fmt::format_to(std::back_inserter(value), "%{:02X}", byte);
        } else {
            value += c;
        }
    }
    return value;
}

void process_part(Exposition& text, MonoTime started) {
    const ProcessStats process = process_stats();
    const io::RuntimeStats runtime = io::runtime_stats();
    text.head("weir_build_info", "gauge", "Version of the server; the value is always 1.");
    text.sample("weir_build_info", 1, fmt::format("{{version=\"{}\"}}", kVersion));
    text.single("weir_uptime_seconds", "gauge", "Time since the start.",
                static_cast<double>((MonoClock::now() - started).count()) / 1e6);
    text.single("process_cpu_seconds_total", "counter", "User and system CPU time.",
                process.cpu_seconds);
    text.single("process_resident_memory_bytes", "gauge", "Resident memory.",
                process.resident_bytes);
    text.single("process_virtual_memory_bytes", "gauge", "Virtual memory.", process.virtual_bytes);
    text.single("process_open_fds", "gauge", "Open file descriptors.", process.open_descriptors);
    text.single("process_max_fds", "gauge", "Limit of open file descriptors.",
                process.max_descriptors);
    text.single("weir_media_thread_busy_ratio", "gauge",
                "Share of the last 100 ms that the media thread worked.", io::busy_share());
    text.single("weir_coroutines", "gauge", "Live coroutines.", runtime.coroutines_live);
    text.single("weir_coroutine_stacks", "gauge", "Stacks mapped, in use or kept for reuse.",
                runtime.stacks);
    text.single("weir_reactor_loops_total", "counter", "Wake-ups of the reactor.",
                runtime.reactor_loops);
    text.single("weir_reactor_events_total", "counter", "Events of descriptors.",
                runtime.reactor_events);
}

void traffic_part(Exposition& text, const net::Services& services) {
    const net::PumpStats& pump = services.fanout.stats();
    text.single("weir_connections", "gauge", "Connections that count against max_connections.",
                services.connections.used());
    text.single("weir_connections_refused_total", "counter",
                "Connections refused by max_connections.", services.connections.refused());
    text.single("weir_clients", "gauge", "Connected clients.", services.clients.size());
    text.single("weir_clients_total", "counter", "Clients since the start.",
                services.clients.total());
    text.single("weir_streams", "gauge", "Streams that are published or waited for.",
                services.registry.size());
    text.single("weir_player_writes_total", "counter", "Write calls to players.", pump.writes);
    text.single("weir_player_sent_bytes_total", "counter", "Bytes written to players.",
                pump.written_bytes);
    text.single("weir_player_would_block_total", "counter", "Writes that the socket did not take.",
                pump.would_block);
    text.single("weir_player_resyncs_total", "counter", "Slow players moved to a newer key frame.",
                pump.resyncs);
    text.single("weir_player_stalled_total", "counter", "Players closed because they took nothing.",
                pump.stalled);
    text.single("weir_wire_log_blocks", "gauge", "Live blocks of all wire logs.",
                stream::LogBlock::live_blocks());
    text.single("weir_wire_log_bytes", "gauge", "Bytes of the live blocks.",
                stream::LogBlock::live_bytes());
    text.single("weir_merge_window_ms", "gauge", "Current merge window of mw_latency auto.",
                services.fanout.automatic_window().window().count());
}

struct Series {
    std::string_view name;
    std::string_view type;
    std::string_view help;
    uint64_t (*value)(const stream::Stream&, const net::Services&);
};

constexpr Series kStreamSeries[] = {
    {"weir_stream_live", "gauge", "1 while somebody publishes the stream.",
     [](const stream::Stream& stream, const net::Services&) -> uint64_t {
         return stream.live() ? 1 : 0;
     }},
    {"weir_stream_players", "gauge", "Players of the stream.",
     [](const stream::Stream& stream, const net::Services& services) -> uint64_t {
         return services.fanout.players(stream);
     }},
    {"weir_stream_received_bytes_total", "counter", "Bytes received from the current publisher.",
     [](const stream::Stream& stream, const net::Services&) { return stream.bytes_received(); }},
    {"weir_stream_video_frames_total", "counter", "Video frames from the current publisher.",
     [](const stream::Stream& stream, const net::Services&) { return stream.video().frames; }},
    {"weir_stream_audio_frames_total", "counter", "Audio frames from the current publisher.",
     [](const stream::Stream& stream, const net::Services&) { return stream.audio().frames; }},
    {"weir_stream_timestamp_shifts_total", "counter", "Corrections of a publisher's clock.",
     [](const stream::Stream& stream, const net::Services&) { return stream.timeline().shifts(); }},
    {"weir_stream_gop_bytes", "gauge", "Bytes of the current group of pictures.",
     [](const stream::Stream& stream, const net::Services&) { return stream.gop_bytes(); }},
};

void streams_part(Exposition& text, const net::Services& services) {
    for (const Series& series : kStreamSeries) {
        text.head(series.name, series.type, series.help);
        size_t count = 0;
        services.registry.for_each([&](const stream::Stream& stream) {
            if (count++ < kMaxStreamSeries) {
                const stream::StreamKey& key = stream.key();
                text.sample(
                    series.name, series.value(stream, services),
                    fmt::format("{{vhost=\"{}\",app=\"{}\",stream=\"{}\"}}", label_value(key.vhost),
                                label_value(key.app), label_value(key.name)));
            }
        });
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
void objects_part(Exposition& text) {
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

std::string metrics_text(const net::Services& services, MonoTime started) {
    Exposition text;
    process_part(text, started);
    traffic_part(text, services);
    streams_part(text, services);
    objects_part(text);
    return text.take();
}

}  // namespace weir::app
