#include "app/protocols/rtsp_protocol.h"

namespace weir::app {
namespace {

constexpr std::string_view kRtp = "rtsp-rtp";
constexpr std::string_view kRtcp = "rtsp-rtcp";

session::RtspServerOptions options_of(const config::Config& config) {
    session::RtspServerOptions options;
    options.handshake = config.handshake_timeout;
    return options;
}

}  // namespace

RtspProtocol::RtspProtocol(const ProtocolContext& context)
    : server_(context.services, options_of(context.config)),
      enabled_(context.config.rtsp_server.enabled) {}

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

void RtspProtocol::reconfigure(const config::Config& config) {
    enabled_ = config.rtsp_server.enabled;
    server_.reconfigure(options_of(config));
}

void RtspProtocol::add_features(net::Json& features) const {
    features["rtsp"] = enabled_;
}

void RtspProtocol::add_memory(diagnosis::MemoryReport& report) const {
    report.add_tcp_kind("rtsp", {"rtsp"}, {"rtsp_connection", "rtsp_publish", "rtsp_player"});
}

}  // namespace weir::app
