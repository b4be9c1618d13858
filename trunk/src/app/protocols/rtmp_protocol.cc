#include "app/protocols/rtmp_protocol.h"

#include "app/protocols/shown_port.h"
#include "app/run/listener_service.h"
#include "app/run/tls_scope.h"
#include "diagnosis/memory_report.h"
#include "net/source/sources.h"

namespace weir::app {
namespace {

session::RtmpServerOptions options_of(const config::Config& config) {
    session::RtmpServerOptions options;
    options.chunk_size = config.chunk_size;
    options.handshake = config.handshake_timeout;
    return options;
}

}  // namespace

RtmpProtocol::RtmpProtocol(const ProtocolContext& context)
    : server_(context.services, options_of(context.config)),
      port_(shown_port(context.config.listen)) {}

std::span<const Transport> RtmpProtocol::transports() const {
    static constexpr Transport kAll[] = {{"rtmp"}};
    return kAll;
}

void RtmpProtocol::add_sources(net::Sources& sources) {
    for (const char* scheme : {"rtmp", "rtmps"}) {
        sources.add(net::SourceRole::kPull, scheme, pull_);
        sources.add(net::SourceRole::kForward, scheme, forward_);
    }
}

std::vector<ListenerService> RtmpProtocol::listeners() {
    std::vector<ListenerService> all;
    all.push_back({.kind = "rtmp",
                   .scheme = "rtmp",
                   .path = "/live/livestream",
                   .tls = TlsScope::kRtmp,
                   .wanted = [](const config::Config& config) { return &config.listen; },
                   .acceptors = &server_.acceptors()});
    return all;
}

void RtmpProtocol::reconfigure(const config::Config& config) {
    server_.reconfigure(options_of(config));
    port_ = shown_port(config.listen);
}

void RtmpProtocol::add_features(net::Json& features) const {
    features["rtmp"] = true;
}

void RtmpProtocol::add_page_facts(net::Json& head) const {
    head["rtmp_port"] = port_;
}

void RtmpProtocol::add_memory(diagnosis::MemoryReport& report) const {
    report.add_tcp_kind("rtmp", {"rtmp"},
                        {"rtmp_connection", "rtmp_publish", "rtmp_player", "rtmp_line"});
}

}  // namespace weir::app
