#include "app/protocols/srt_protocol.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "app/protocols/secret_text.h"
#include "app/protocols/shown_port.h"
#include "app/run/listener_service.h"
#include "diagnosis/memory_report.h"
#include "net/api/exposition.h"
#include "net/source/sources.h"

namespace weir::app {
namespace {

constexpr uint64_t kBitsPerByte = 8;

Error bad_passphrase(const config::VhostConfig& vhost, std::string_view what) {
    return make_error(ErrorCode::kMalformed, "srt_passphrase of {}: {}", vhost.title(), what);
}

// On a worker where it is in a file.
Error load_passphrase(const config::VhostConfig& vhost, std::string& out) {
    const config::SecretSource& source = vhost.srt.passphrase;
    Result<std::string> text = read_secret(source);
    if (!text.ok()) {
        return bad_passphrase(vhost, text.error().message());
    }
    out = std::move(*text);
    const bool fits =
        out.empty() ? !source.is_file
                    : out.size() >= io::kMinSrtPassphrase && out.size() <= io::kMaxSrtPassphrase;
    return fits ? Error() : bad_passphrase(vhost, "expected 10 to 79 bytes");
}

Result<std::shared_ptr<const session::SrtRules>> load_rules(const config::Config& config) {
    std::vector<session::SrtVhost> vhosts;
    for (const config::VhostConfig& vhost : config.vhosts) {
        session::SrtVhost one;
        one.name = config.find_vhost("") == &vhost || vhost.name.starts_with("__") ? std::string()
                                                                                   : vhost.name;
        one.enabled = vhost.enabled;
        WEIR_TRY(load_passphrase(vhost, one.options.passphrase));
        one.options.key_bytes = vhost.srt.key_bytes;
        one.options.latency = vhost.srt.latency;
        one.options.max_bandwidth = vhost.srt.max_bandwidth / kBitsPerByte;
        vhosts.push_back(std::move(one));
    }
    return std::shared_ptr<const session::SrtRules>(
        std::make_shared<session::SrtRules>(std::move(vhosts), config.srt_server.default_stream));
}

io::SrtLimits limits_of(const config::Config& config) {
    const config::SrtServerConfig& from = config.srt_server;
    io::SrtLimits out;
    out.connections = from.max_connections;
    out.connections_of_one = from.max_connections_per_ip == 0 ? std::numeric_limits<size_t>::max()
                                                              : from.max_connections_per_ip;
    out.max_bitrate = from.max_bitrate;
    out.latency = Millis(0);
    for (const config::VhostConfig& vhost : config.vhosts) {
        out.latency = std::max(out.latency, vhost.srt.latency);
    }
    return out;
}

uint16_t port_of(const config::SrtServerConfig& srt) {
    return srt.enabled ? shown_port(srt.listen) : 0;
}

}  // namespace

SrtProtocol::SrtProtocol(const ProtocolContext& context)
    : server_(context.services),
      enabled_(context.config.srt_server.enabled),
      port_(port_of(context.config.srt_server)) {}

std::span<const Transport> SrtProtocol::transports() const {
    static constexpr Transport kAll[] = {{"srt"}};
    return kAll;
}

std::vector<ListenerService> SrtProtocol::listeners() {
    std::vector<ListenerService> all;
    all.push_back({.kind = "srt",
                   .scheme = "srt",
                   .purpose = "SRT",
                   .wanted =
                       [](const config::Config& config) {
                           return config.srt_server.enabled ? &config.srt_server.listen : nullptr;
                       },
                   .datagrams = &server_});
    return all;
}

Error SrtProtocol::prepare(const config::Config& next, io::WorkerPool& workers) {
    if (!next.srt_server.enabled) {
        return {};
    }
    Result<std::shared_ptr<const session::SrtRules>> rules = make_error(ErrorCode::kInternal, "");
    WEIR_TRY(workers.run([&] { rules = load_rules(next); }));
    WEIR_TRY_ASSIGN(prepared_, std::move(rules));
    WEIR_TRY(server_.start());
    if (!serving_) {  // at the start nothing follows
        serving_ = true;
        server_.set_rules(prepared_);
        server_.engine().set_limits(limits_of(next));
    }
    return {};
}

void SrtProtocol::reconfigure(const config::Config& config) {
    enabled_ = config.srt_server.enabled;
    port_ = port_of(config.srt_server);
    if (enabled_ && prepared_) {
        server_.set_rules(prepared_);
        server_.engine().set_limits(limits_of(config));
    }
}

void SrtProtocol::add_sources(net::Sources& sources) {
    sources.add(net::SourceRole::kPull, "srt", pull_);
    sources.add(net::SourceRole::kForward, "srt", forward_);
}

void SrtProtocol::add_features(net::Json& features) const {
    features["srt"] = enabled_;
}

void SrtProtocol::add_page_facts(net::Json& head) const {
    head["srt_port"] = port_;
}

net::Json SrtProtocol::summary() const {
    if (!enabled_) {
        return nullptr;
    }
    const io::SrtCounters engine = server_.engine().counters();
    const session::SrtTotals& totals = server_.totals();
    return {{"connections", engine.connections},
            {"handshakes",
             {{"all", engine.handshakes},
              {"accepted", engine.accepted},
              {"refused_overload", engine.refused_overload},
              {"refused_full", engine.refused_full},
              {"refused_address", engine.refused_address},
              {"unheard", engine.unheard},
              {"refused_stream_id", engine.refused_gate},
              {"failed", engine.failed_handshakes}}},
            {"sent_bytes", totals.sent_bytes},
            {"received_bytes", totals.received_bytes},
            {"lost", totals.lost},
            {"retransmitted", totals.retransmitted},
            {"dropped", totals.dropped},
            {"too_slow", engine.slow},
            {"unread_dropped_bytes", engine.unread_dropped},
            {"unsent_dropped_bytes", engine.unsent_dropped}};
}

void SrtProtocol::add_metrics(net::Exposition& text) const {
    if (!enabled_) {
        return;
    }
    const io::SrtCounters engine = server_.engine().counters();
    const session::SrtTotals& totals = server_.totals();
    const auto counter = [&](const char* name, const char* help, uint64_t value) {
        text.single(name, "counter", help, value);
    };
    text.single("weir_srt_connections", "gauge", "SRT connections.", engine.connections);
    counter("weir_srt_handshakes_total", "SRT handshakes that named a stream.", engine.handshakes);
    counter("weir_srt_accepted_total", "Of them, those that became connections.", engine.accepted);
    counter("weir_srt_refused_overload_total", "Refused as too many at a time.",
            engine.refused_overload);
    counter("weir_srt_refused_full_total", "Refused by max_connections of srt_server.",
            engine.refused_full);
    counter("weir_srt_refused_address_total", "Refused by max_connections_per_ip of srt_server.",
            engine.refused_address);
    counter("weir_srt_unheard_total",
            "Handshakes that were not answered, as too many were refused before.", engine.unheard);
    counter("weir_srt_refused_stream_id_total", "Refused for their stream id or vhost.",
            engine.refused_gate);
    counter("weir_srt_failed_handshakes_total", "Failed: wrong passphrase, or given up.",
            engine.failed_handshakes);
    counter("weir_srt_sent_bytes_total", "Payload sent by SRT.", totals.sent_bytes);
    counter("weir_srt_received_bytes_total", "Payload received by SRT.", totals.received_bytes);
    counter("weir_srt_lost_total", "Packets lost, before they were sent again.", totals.lost);
    counter("weir_srt_retransmitted_total", "Packets sent again.", totals.retransmitted);
    counter("weir_srt_dropped_total", "Packets that were too late.", totals.dropped);
    counter("weir_srt_too_slow_total", "Peers that were ended as too slow.", engine.slow);
    counter("weir_srt_unread_dropped_bytes_total",
            "Bytes that came faster than the media thread took them.", engine.unread_dropped);
    counter("weir_srt_unsent_dropped_bytes_total",
            "Bytes for which the engine's queue had no room.", engine.unsent_dropped);
}

void SrtProtocol::add_memory(diagnosis::MemoryReport& report) const {
    report.add_tcp_kind("srt", {"srt"}, {"srt_connection", "srt_publish", "srt_link"});
}

}  // namespace weir::app
