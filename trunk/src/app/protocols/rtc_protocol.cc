#include "app/protocols/rtc_protocol.h"

#include <fmt/format.h>

#include "app/run/listener_service.h"
#include "app/run/tls_scope.h"
#include "base/log.h"
#include "diagnosis/memory_report.h"
#include "io/deadline.h"
#include "net/api/exposition.h"
#include "net/source/sources.h"
#include "session/webrtc/rtc_candidates.h"
#include "session/webrtc/rtc_playable.h"
#include "session/webrtc/rtc_tcp.h"

namespace weir::app {
namespace {

using session::RtcServer;

constexpr std::string_view kUdp = "webrtc-udp";
constexpr std::string_view kTcp = session::RtcTcpConnection::kKind;

session::RtcServerOptions options_of(const config::Config& config) {
    const config::RtcServerConfig& from = config.rtc_server;
    session::RtcServerOptions options;
    options.candidates = from.candidates;
    options.max_sessions = from.max_sessions;
    options.max_unproven_per_address = from.max_unproven_per_ip;
    options.opus_bits_per_second = from.opus_bitrate;
    options.aac_bits_per_second = from.aac_bitrate;
    options.key_frame_interval = from.key_frame_interval;
    options.max_tcp_connections = config.max_connections;
    return options;
}

session::RtcIngestOptions pull_options(const config::Config& config, io::WorkerPool* workers) {
    session::RtcIngestOptions options;
    options.key_frame_interval = config.rtc_server.key_frame_interval;
    options.aac_bits_per_second = config.rtc_server.aac_bitrate;
    options.workers = workers;
    return options;
}

std::vector<session::IceServer> ice_servers_of(const config::Config& config) {
    std::vector<session::IceServer> servers;
    for (const config::IceServerConfig& each : config.rtc_server.ice_servers) {
        servers.push_back({each.url, each.username, each.credential});
    }
    return servers;
}

const char* value_of(const config::Environment& environment, std::string_view name) {
    for (const auto& [each, value] : environment) {
        if (each == name) {
            return value.c_str();
        }
    }
    return nullptr;
}

// ---- metrics ----

struct Series {
    std::string_view name;
    std::string_view type;
    std::string_view help;
    uint64_t (*value)(const RtcServer&, const io::UdpStats&);
};

constexpr Series kSeries[] = {
    {"weir_rtc_sessions", "gauge", "WebRTC sessions.",
     [](const RtcServer& rtc, const io::UdpStats&) -> uint64_t { return rtc.sessions(); }},
    {"weir_rtc_sessions_made_total", "counter", "WebRTC sessions since the start.",
     [](const RtcServer& rtc, const io::UdpStats&) { return rtc.stats().sessions_made; }},
    {"weir_rtc_sessions_refused_total", "counter", "Offers refused by max_sessions.",
     [](const RtcServer& rtc, const io::UdpStats&) { return rtc.stats().sessions_refused; }},
    {"weir_rtc_never_connected_total", "counter", "Sessions that ended before their media began.",
     [](const RtcServer& rtc, const io::UdpStats&) { return rtc.stats().never_connected; }},
    {"weir_rtc_history_bytes", "gauge", "RTP payloads kept for players and for retransmission.",
     [](const RtcServer& rtc, const io::UdpStats&) { return rtc.history_bytes(); }},
    {"weir_rtc_udp_received_total", "counter", "Datagrams received.",
     [](const RtcServer&, const io::UdpStats& udp) { return udp.received; }},
    {"weir_rtc_udp_received_bytes_total", "counter", "Their bytes.",
     [](const RtcServer&, const io::UdpStats& udp) { return udp.received_bytes; }},
    {"weir_rtc_udp_sent_total", "counter", "Datagrams sent.",
     [](const RtcServer&, const io::UdpStats& udp) { return udp.sent; }},
    {"weir_rtc_udp_sent_bytes_total", "counter", "Their bytes.",
     [](const RtcServer&, const io::UdpStats& udp) { return udp.sent_bytes; }},
    {"weir_rtc_udp_send_calls_total", "counter", "System calls that sent them.",
     [](const RtcServer&, const io::UdpStats& udp) { return udp.send_calls; }},
    {"weir_rtc_udp_send_blocked_total", "counter", "Calls that found the send buffer full.",
     [](const RtcServer&, const io::UdpStats& udp) { return udp.send_blocked; }},
    {"weir_rtc_udp_send_refused_total", "counter", "Datagrams that the kernel did not take.",
     [](const RtcServer&, const io::UdpStats& udp) { return udp.send_refused; }},
    {"weir_rtc_udp_kernel_drops_total", "counter",
     "Datagrams that the kernel dropped because the receive buffer was full.",
     [](const RtcServer&, const io::UdpStats& udp) { return udp.kernel_drops; }},
};

struct Drop {
    std::string_view reason;
    uint64_t (*value)(const RtcServer&, const io::UdpStats&);
};

constexpr Drop kDrops[] = {
    {"unknown_datagram",
     [](const RtcServer& rtc, const io::UdpStats&) { return rtc.stats().unknown_datagrams; }},
    {"unknown_stun",
     [](const RtcServer& rtc, const io::UdpStats&) { return rtc.stats().unknown_stun; }},
    {"malformed", [](const RtcServer& rtc, const io::UdpStats&) { return rtc.stats().malformed; }},
    {"unauthentic",
     [](const RtcServer& rtc, const io::UdpStats&) { return rtc.stats().unauthentic; }},
    {"replayed", [](const RtcServer& rtc, const io::UdpStats&) { return rtc.stats().replayed; }},
    {"oversized", [](const RtcServer&, const io::UdpStats& udp) { return udp.oversized; }},
};

// Of `single_port`.
void add_shared_metrics(net::Exposition& text,
                        const session::RtcServerStats& stats,
                        const session::RtcSharedPort& shared) {
    text.single("weir_rtc_peer_sockets", "gauge", "Sockets that get what one peer sends.",
                shared.peer_sockets());
    text.single("weir_rtc_peer_sockets_failed_total", "counter",
                "Sockets for a peer that could not be had; its datagrams are passed on.",
                stats.peer_sockets_failed);
    text.single("weir_rtc_passed_total", "counter",
                "Datagrams passed to the process whose session they are for.", stats.passed_on);
    text.single("weir_rtc_taken_total", "counter", "Datagrams that other processes passed here.",
                stats.taken_over);
    constexpr std::string_view kNotPassed = "weir_rtc_pass_drops_total";
    text.head(kNotPassed, "counter", "Datagrams for other processes that were dropped, by reason.");
    text.sample(kNotPassed, stats.pass_limited, "{reason=\"limit\"}");
    text.sample(kNotPassed, shared.lost(), "{reason=\"not_taken\"}");
}

}  // namespace

RtcProtocol::RtcProtocol(const ProtocolContext& context)
    : one_port_(context.config.processes > 1 && context.config.rtc_server.single_port),
      server_(context.services, options_of(context.config)),
      pull_(pull_options(context.config, nullptr)),
      routes_(context.services, server_, ice_servers_of(context.config)),
      json_(context.who, routes_) {}

Error RtcProtocol::apply_environment(config::Config& config,
                                     const config::Environment& environment) {
    config::RtcServerConfig& rtc = config.rtc_server;
    if (!rtc.enabled) {
        return {};
    }
    WEIR_TRY_ASSIGN(
        session::RtcCandidates chosen,
        session::choose_candidates(rtc.candidates, value_of(environment, "WEIR_CANDIDATE"),
                                   value_of(environment, "CANDIDATE")));
    rtc.candidates = std::move(chosen.addresses);
    rtc.candidates_from = chosen.source;
    return {};
}

std::span<const Transport> RtcProtocol::transports() const {
    static constexpr Transport kAll[] = {{"webrtc", "WebRTC"}};
    return kAll;
}

// ---- life ----

void RtcProtocol::add_routes(net::HttpRouter& open, net::HttpRouter& api) {
    for (net::HttpRouter* router : {&open, &api}) {  // of the API: clients made for SRS expect it
        routes_.add_to(*router);
        json_.add_to(*router);
    }
}

// By TCP it is where it is by UDP.
std::vector<ListenerService> RtcProtocol::listeners() {
    std::vector<ListenerService> all;
    all.push_back(
        {.kind = kUdp,
         .scheme = "udp",
         .purpose = "WebRTC",
         .wanted =
             [](const config::Config& config) {
                 return config.rtc_server.enabled ? &config.rtc_server.listen : nullptr;
             },
         .datagrams = &server_.transport(),
         .one_port = one_port_,
         .changed =
             [this] { log::info("webrtc candidates {}", server_.transport().candidate_text()); }});
    all.push_back({.kind = kTcp,
                   .scheme = "tcp",
                   .purpose = "WebRTC",
                   .tls = TlsScope::kHttp,
                   .wanted =
                       [](const config::Config& config) {
                           const config::RtcServerConfig& rtc = config.rtc_server;
                           return rtc.enabled && rtc.tcp ? &rtc.listen : nullptr;
                       },
                   .acceptors = &server_.transport().acceptors(),
                   .beside = kUdp});
    return all;
}

Error RtcProtocol::prepare(const config::Config& next, io::WorkerPool& workers) {
    if (workers_ == nullptr) {  // at the start, before the first source
        workers_ = &workers;
        pull_.reconfigure(pull_options(next, workers_));
    }
    if (!next.rtc_server.enabled) {
        return {};
    }
    if (!told_source_) {
        told_source_ = true;
        log::info("webrtc candidates from={}", next.rtc_server.candidates_from);
    }
    return server_.start(&workers);
}

void RtcProtocol::reconfigure(const config::Config& config) {
    server_.reconfigure(options_of(config));
    pull_.reconfigure(pull_options(config, workers_));
    routes_.set_ice_servers(ice_servers_of(config));
}

void RtcProtocol::add_sources(net::Sources& sources) {
    for (const char* scheme : {"whep+http", "whep+https"}) {
        sources.add(net::SourceRole::kPull, scheme, pull_);
    }
}

Error RtcProtocol::stop(io::Deadline deadline) {
    Error late = pull_.stop(deadline);
    Error later = server_.stop(deadline);
    return late ? std::move(late) : std::move(later);
}

void RtcProtocol::tick() {
    if (!server_.serving()) {
        return;
    }
    if (const std::optional<std::string> line = log_.line(session::RtcFigures::of(server_))) {
        if (log_.dropped()) {
            log::warn("{}", *line);
        } else {
            log::info("{}", *line);
        }
    }
}

// ---- what is shown ----

void RtcProtocol::add_features(net::Json& features) const {
    for (const char* each : {"webrtc", "whip", "whep"}) {
        features[each] = server_.serving();
    }
}

net::Json RtcProtocol::summary() const {
    if (!server_.serving()) {
        return nullptr;
    }
    const session::RtcServerStats& stats = server_.stats();
    const io::UdpStats udp = server_.transport().udp_stats();
    return {{"sessions", server_.sessions()},
            {"sessions_made", stats.sessions_made},
            {"sessions_refused", stats.sessions_refused},
            {"never_connected", stats.never_connected},
            {"candidates", server_.transport().candidate_text()},
            {"udp",
             {{"received", udp.received},
              {"received_bytes", udp.received_bytes},
              {"sent", udp.sent},
              {"sent_bytes", udp.sent_bytes},
              {"send_calls", udp.send_calls},
              {"send_blocked", udp.send_blocked},
              {"send_refused", udp.send_refused},
              {"kernel_drops", udp.kernel_drops},
              {"app_drops", stats.dropped() + udp.oversized}}},
            {"app_drops",
             {{"unknown_datagrams", stats.unknown_datagrams},
              {"unknown_stun", stats.unknown_stun},
              {"malformed", stats.malformed},
              {"unauthentic", stats.unauthentic},
              {"replayed", stats.replayed},
              {"oversized", udp.oversized}}}};
}

void RtcProtocol::add_stream_facts(const stream::Stream& stream, net::Json& json) const {
    if (!server_.serving()) {
        json["webrtc"] = {{"playable", false},
                          {"why", "WebRTC is off on this server (rtc_server)"}};
        return;
    }
    const session::RtcPlayable told = session::rtc_playable(stream, server_.refusal(stream));
    json["webrtc"] = {{"playable", told.playable ? net::Json(*told.playable) : net::Json(nullptr)},
                      {"why", told.why}};
}

void RtcProtocol::add_metrics(net::Exposition& text) const {
    if (!server_.serving()) {
        return;
    }
    const io::UdpStats udp = server_.transport().udp_stats();
    for (const Series& series : kSeries) {
        text.single(series.name, series.type, series.help, series.value(server_, udp));
    }
    if (const session::RtcSharedPort* const shared = server_.transport().shared_port()) {
        add_shared_metrics(text, server_.stats(), *shared);
    }
    constexpr std::string_view kDropped = "weir_rtc_udp_app_drops_total";
    text.head(kDropped, "counter", "Datagrams that came and were for nothing, by reason.");
    for (const Drop& drop : kDrops) {
        text.sample(kDropped, drop.value(server_, udp),
                    fmt::format("{{reason=\"{}\"}}", drop.reason));
    }
}

void RtcProtocol::add_memory(diagnosis::MemoryReport& report) const {
    report.add_uncounted("rtp_history", server_.history_bytes());
    if (!server_.serving()) {
        return;
    }
    const auto add = [&report](std::string_view name, const RtcServer::Kinds::Kind& kind) {
        const session::RtcSessionMemory& memory = kind.memory;
        report.add_kind(name, kind.sessions, memory.sum(),
                        {{"ice", memory.ice},
                         {"dtls", memory.dtls},
                         {"srtp", memory.srtp},
                         {"media", memory.media},
                         {"other", memory.other}});
    };
    const RtcServer::Kinds kinds = server_.kinds();
    add("webrtc-connecting", kinds.connecting);
    add("webrtc-publish", kinds.publishers);
    add("webrtc-play", kinds.players);
}

}  // namespace weir::app
