#include "app/protocols/rtsp_protocol.h"

#include "app/processes/process_link.h"
#include "app/protocols/shown_port.h"
#include "app/run/listener_service.h"
#include "app/run/tls_scope.h"
#include "diagnosis/memory_report.h"
#include "net/api/exposition.h"
#include "net/source/sources.h"

namespace weir::app {
namespace {

constexpr uint8_t kMappedBits = 96;  // of IPv4 in its mapped form
constexpr std::string_view kRtp = "rtsp-rtp";
constexpr std::string_view kRtcp = "rtsp-rtcp";

session::RtspServerOptions options_of(const config::Config& config) {
    session::RtspServerOptions options;
    options.handshake = config.handshake_timeout;
    const config::RtspServerConfig& rtsp = config.rtsp_server;
    if (!rtsp.multicast.empty()) {
        const config::IpNetwork& network = rtsp.multicast.front();
        options.multicast.network =
            NetAddress::parse_ip(network.address.to_string(), 0).value_or(NetAddress());
        options.multicast.bits = static_cast<uint8_t>(network.bits - kMappedBits);
    }
    options.multicast.ttl = static_cast<uint8_t>(rtsp.ttl);
    options.multicast.port = static_cast<uint16_t>(rtsp.multicast_port);
    return options;
}

uint16_t port_of(const config::RtspServerConfig& rtsp) {
    return rtsp.enabled ? shown_port(rtsp.listen) : 0;
}

}  // namespace

RtspProtocol::RtspProtocol(const ProtocolContext& context)
    : server_(context.services, options_of(context.config)),
      enabled_(context.config.rtsp_server.enabled),
      port_(port_of(context.config.rtsp_server)) {
    if (context.link != nullptr) {
        server_.share_nonces(context.link->secret("rtsp nonces"));
    }
}

std::span<const Transport> RtspProtocol::transports() const {
    static constexpr Transport kAll[] = {{"rtsp"}};
    return kAll;
}

std::vector<ListenerService> RtspProtocol::listeners() {
    std::vector<ListenerService> all;
    all.push_back({.kind = "rtsp",
                   .scheme = "rtsp",
                   .path = "/live/livestream",
                   .tls = TlsScope::kRtsp,
                   .wanted =
                       [](const config::Config& config) {
                           return config.rtsp_server.enabled ? &config.rtsp_server.listen : nullptr;
                       },
                   .acceptors = &server_.acceptors()});
    all.push_back({.kind = kRtp,
                   .scheme = "udp",
                   .purpose = "RTP of RTSP",
                   .wanted =
                       [](const config::Config& config) {
                           const config::RtspServerConfig& rtsp = config.rtsp_server;
                           return rtsp.enabled && rtsp.udp ? &rtsp.rtp_listen : nullptr;
                       },
                   .datagrams = &server_.udp().rtp()});
    all.push_back({.kind = kRtcp,
                   .scheme = "udp",
                   .purpose = "RTCP of RTSP",
                   .wanted =
                       [](const config::Config& config) {
                           const config::RtspServerConfig& rtsp = config.rtsp_server;
                           return rtsp.enabled && rtsp.udp ? &rtsp.rtcp_listen : nullptr;
                       },
                   .datagrams = &server_.udp().rtcp()});
    return all;
}

// A group elsewhere would be no group.
Error RtspProtocol::prepare(const config::Config& next, io::WorkerPool&) {
    constexpr uint8_t kFirst = 224;  // 224.0.0.0/4
    constexpr uint8_t kLast = 239;
    const auto& networks = next.rtsp_server.multicast;
    for (const config::IpNetwork& network : networks) {
        const auto address = NetAddress::parse_ip(network.address.to_string(), 0);
        const bool group = address && address->is_v4() && address->v4()[0] >= kFirst &&
                           address->v4()[0] <= kLast && network.bits >= kMappedBits + 4;
        if (!group || networks.size() > 1) {
            return make_error(ErrorCode::kMalformed,
                              "rtsp_server multicast {}: expected one network of IPv4 groups, such "
                              "as 239.10.0.0/16",
                              network.to_string());
        }
    }
    return {};
}

void RtspProtocol::add_sources(net::Sources& sources) {
    for (const char* scheme : {"rtsp", "rtsps"}) {
        sources.add(net::SourceRole::kPull, scheme, pull_);
        sources.add(net::SourceRole::kForward, scheme, forward_);
    }
}

void RtspProtocol::reconfigure(const config::Config& config) {
    enabled_ = config.rtsp_server.enabled;
    port_ = port_of(config.rtsp_server);
    server_.reconfigure(options_of(config));
}

void RtspProtocol::add_features(net::Json& features) const {
    features["rtsp"] = enabled_;
}

void RtspProtocol::add_page_facts(net::Json& head) const {
    head["rtsp_port"] = port_;
}

net::Json RtspProtocol::summary() const {
    if (!enabled_) {
        return nullptr;
    }
    const io::UdpStats udp = server_.udp().udp_stats();
    return {{"udp_players", server_.udp_players()},
            {"tunnels", server_.tunnels().size()},
            {"udp",
             {{"received", udp.received},
              {"received_bytes", udp.received_bytes},
              {"sent", udp.sent},
              {"sent_bytes", udp.sent_bytes},
              {"send_calls", udp.send_calls},
              {"send_blocked", udp.send_blocked},
              {"send_refused", udp.send_refused},
              {"kernel_drops", udp.kernel_drops},
              {"strangers", server_.udp().stats().strangers}}}};
}

void RtspProtocol::add_metrics(net::Exposition& text) const {
    if (!enabled_) {
        return;
    }
    const io::UdpStats udp = server_.udp().udp_stats();
    text.single("weir_rtsp_udp_players", "gauge", "RTSP players by UDP and multicast.",
                server_.udp_players());
    text.single("weir_rtsp_tunnels", "gauge", "RTSP connections through HTTP.",
                server_.tunnels().size());
    text.single("weir_rtsp_udp_received_total", "counter", "Datagrams received.", udp.received);
    text.single("weir_rtsp_udp_sent_total", "counter", "Datagrams sent.", udp.sent);
    text.single("weir_rtsp_udp_sent_bytes_total", "counter", "Their bytes.", udp.sent_bytes);
    text.single("weir_rtsp_udp_send_calls_total", "counter", "System calls that sent them.",
                udp.send_calls);
    text.single("weir_rtsp_udp_send_blocked_total", "counter",
                "Calls that found the send buffer full.", udp.send_blocked);
    text.single("weir_rtsp_udp_kernel_drops_total", "counter",
                "Datagrams that the kernel dropped because the receive buffer was full.",
                udp.kernel_drops);
    text.single("weir_rtsp_udp_strangers_total", "counter",
                "Datagrams from addresses of no session.", server_.udp().stats().strangers);
}

void RtspProtocol::add_memory(diagnosis::MemoryReport& report) const {
    report.add_tcp_kind("rtsp", {"rtsp"}, {"rtsp_connection", "rtsp_publish", "rtsp_player"});
}

}  // namespace weir::app
