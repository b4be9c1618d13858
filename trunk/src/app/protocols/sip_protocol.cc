#include "app/protocols/sip_protocol.h"

#include <utility>

#include "app/protocols/secret_text.h"

namespace weir::app {
namespace {

// On a worker: secrets may be in files.
Result<session::SipServerOptions> load_options(const config::Config& config) {
    const config::SipServerConfig& sip = config.sip_server;
    session::SipServerOptions options;
    options.realm = sip.realm;
    options.digest = static_cast<session::SipDigest>(sip.digest);
    for (const config::SipUserConfig& user : sip.users) {
        Result<std::string> password = read_secret(user.password);
        if (!password.ok()) {
            return make_error(ErrorCode::kMalformed, "sip_server user {}: {}", user.name,
                              password.error().message());
        }
        options.users.push_back({user.name, std::move(*password)});
    }
    for (const config::IpNetwork& network : sip.trunks) {
        options.trunks.push_back({network.address.bytes, network.bits});
    }
    for (const config::SipDialConfig& dial : sip.dial) {
        options.dial.push_back({dial.number, dial.play, dial.publish});
    }
    options.rtp_ports = {sip.first_port, sip.last_port};
    options.address = sip.address.empty() ? NetAddress() : sip.address.with_port(0);
    options.handshake = config.handshake_timeout;
    options.rtp_timeout = sip.rtp_timeout;
    return options;
}

}  // namespace

SipProtocol::SipProtocol(const ProtocolContext& context)
    : server_(context.services, {}),
      calls_api_(context.who, server_),
      enabled_(context.config.sip_server.enabled) {}

std::span<const Transport> SipProtocol::transports() const {
    static constexpr Transport kAll[] = {{"sip"}};
    return kAll;
}

void SipProtocol::add_routes(net::HttpRouter& open, net::HttpRouter& api) {
    (void)open;
    calls_api_.add_to(api);
}

std::vector<ListenerService> SipProtocol::listeners() {
    std::vector<ListenerService> all;
    all.push_back({.kind = "sip",
                   .scheme = "sip",
                   .purpose = "SIP by TCP",
                   .tls = TlsScope::kSip,
                   .wanted =
                       [](const config::Config& config) {
                           return config.sip_server.enabled ? &config.sip_server.listen : nullptr;
                       },
                   .acceptors = &server_.wires().acceptors()});
    all.push_back({.kind = "sip-udp",
                   .scheme = "udp",
                   .purpose = "SIP",
                   .wanted =
                       [](const config::Config& config) {
                           return config.sip_server.enabled ? &config.sip_server.listen_udp
                                                            : nullptr;
                       },
                   .datagrams = &server_.wires()});
    return all;
}

Error SipProtocol::prepare(const config::Config& next, io::WorkerPool& workers) {
    if (!next.sip_server.enabled) {
        return {};
    }
    Result<session::SipServerOptions> options = make_error(ErrorCode::kInternal, "");
    WEIR_TRY(workers.run([&] { options = load_options(next); }));
    WEIR_TRY_ASSIGN(prepared_, std::move(options));
    prepared_.workers = &workers;
    if (!serving_) {  // at the start nothing follows
        serving_ = true;
        server_.reconfigure(prepared_);
    }
    return {};
}

void SipProtocol::reconfigure(const config::Config& config) {
    enabled_ = config.sip_server.enabled;
    if (enabled_) {
        server_.reconfigure(prepared_);
    }
}

void SipProtocol::add_features(net::Json& features) const {
    features["sip"] = enabled_;
}

net::Json SipProtocol::summary() const {
    if (!enabled_) {
        return nullptr;
    }
    const session::SipCounters& calls = server_.counters();
    const session::SipWireCounters& wires = server_.wires().counters();
    return {{"calls", server_.calls()},
            {"connections", server_.wires().connections()},
            {"transactions", server_.agent().transactions().size()},
            {"registered", server_.registrar().size()},
            {"invited", calls.invited},
            {"answered", calls.answered},
            {"refused", calls.refused},
            {"challenged", calls.challenged},
            {"digits", calls.digits},
            {"messages_received", wires.received},
            {"messages_sent", wires.sent},
            {"messages_malformed", wires.malformed},
            {"messages_unsent", wires.unsent}};
}

void SipProtocol::add_metrics(net::Exposition& text) const {
    if (!enabled_) {
        return;
    }
    const session::SipCounters& calls = server_.counters();
    const session::SipWireCounters& wires = server_.wires().counters();
    const auto counter = [&](const char* name, const char* help, uint64_t value) {
        text.single(name, "counter", help, value);
    };
    text.single("weir_sip_calls", "gauge", "SIP calls.", server_.calls());
    text.single("weir_sip_transactions", "gauge", "SIP transactions.",
                server_.agent().transactions().size());
    counter("weir_sip_invited_total", "Calls that came.", calls.invited);
    counter("weir_sip_answered_total", "Of them, those that were answered.", calls.answered);
    counter("weir_sip_refused_total", "Of them, those that were refused.", calls.refused);
    counter("weir_sip_messages_received_total", "SIP messages received.", wires.received);
    counter("weir_sip_messages_malformed_total", "SIP messages that could not be read.",
            wires.malformed);
    counter("weir_sip_messages_unsent_total", "SIP messages that could not be sent.", wires.unsent);
}

void SipProtocol::add_memory(diagnosis::MemoryReport& report) const {
    report.add_tcp_kind("sip", {"sip"}, {"sip_session", "sip_media", "sip_connection"});
}

}  // namespace weir::app
