#include "app/protocols/sip_protocol.h"

#include <utility>

#include <fmt/format.h>

#include "app/protocols/secret_text.h"
#include "app/run/listener_service.h"
#include "app/run/tls_scope.h"
#include "diagnosis/memory_report.h"
#include "net/api/exposition.h"

namespace weir::app {
namespace {

// Where this server itself reaches its SIP port by UDP; empty: it has none.
std::string own_domain(const config::SipServerConfig& sip) {
    if (sip.listen_udp.empty()) {
        return {};
    }
    const Result<io::SocketAddress> listen = io::SocketAddress::parse(sip.listen_udp[0].address);
    return !listen.ok()       ? std::string()
           : listen->is_any() ? fmt::format("127.0.0.1:{}", listen->port())
                              : listen->to_string();
}

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
    for (const config::SipExtensionConfig& each : sip.extensions) {
        options.extensions.push_back({each.number, each.user});
    }
    options.call_hosts = sip.call_hosts;
    for (const config::IpNetwork& network : sip.call_networks) {
        options.call_networks.push_back({network.address.bytes, network.bits});
    }
    for (const config::SipRegisterConfig& each : sip.registrations) {
        session::SipTrunkOptions trunk{.user = each.user, .domain = each.domain};
        trunk.login = each.login;
        if (each.password) {
            Result<std::string> password = read_secret(*each.password);
            if (!password.ok()) {
                return make_error(ErrorCode::kMalformed, "sip_server register {}@{}: {}", each.user,
                                  each.domain, password.error().message());
            }
            trunk.password = std::move(*password);
        }
        trunk.servers = each.servers;
        trunk.expires = std::chrono::duration_cast<Seconds>(each.expires);
        for (const config::SipDialConfig& dial : each.dial) {
            trunk.dial.push_back({dial.number, dial.play, dial.publish});
        }
        options.registrations.push_back(std::move(trunk));
    }
    for (const config::SipConferenceConfig& each : sip.conferences) {
        options.conferences.push_back({each.number, each.stream});
    }
    options.line_domains = sip.line_domains;
    options.own_domain = sip.phone_page ? own_domain(sip) : std::string();
    for (const config::SipOutsideConfig& each : sip.outside) {
        options.outside.push_back({each.prefix, each.via, each.max_calls, each.strip, each.users});
    }
    options.timer_t1 = sip.timer_t1;
    options.srtp = static_cast<sdp::PhoneSrtp>(sip.srtp);
    options.rtp_ports = {sip.first_port, sip.last_port};
    options.address = sip.address.empty() ? NetAddress() : sip.address.with_port(0);
    options.handshake = config.handshake_timeout;
    options.rtp_timeout = sip.rtp_timeout;
    options.max_unproven_per_address = sip.max_unproven_per_ip;
    options.jitter_buffer = sip.jitter_buffer;
    return options;
}

net::Json secure_json(const session::SipSecureCounters& secure) {
    return {{"sdes", secure.sdes},
            {"dtls", secure.dtls},
            {"dtls_failed", secure.dtls_failed},
            {"ice", secure.ice},
            {"ice_failed", secure.ice_failed},
            {"early", secure.early},
            {"unauthentic", secure.unauthentic},
            {"replayed", secure.replayed},
            {"malformed", secure.malformed},
            {"ignored", secure.ignored}};
}

}  // namespace

SipProtocol::SipProtocol(const ProtocolContext& context)
    : server_(context.services, {}),
      phone_page_(context.services, phone_book_),
      calls_api_(context.who, server_),
      phones_(context.services.phones),
      enabled_(context.config.sip_server.enabled) {
    calls_api_.set_enabled(enabled_);
    offer_lines();
    set_phones(context.config);
}

void SipProtocol::set_phones(const config::Config& config) {
    has_phone_page_ = enabled_ && config.sip_server.phone_page;
    phone_page_.reconfigure({.enabled = has_phone_page_, .server_names = config.server_names});
}

SipProtocol::~SipProtocol() {
    if (phones_ != nullptr) {
        phones_->set(nullptr);
    }
}

void SipProtocol::offer_lines() {
    if (phones_ != nullptr) {
        phones_->set(enabled_ ? &server_.lines() : nullptr);
    }
}

std::span<const Transport> SipProtocol::transports() const {
    static constexpr Transport kAll[] = {{"sip"}, {"phone"}};
    return kAll;
}

void SipProtocol::add_routes(net::HttpRouter& open, net::HttpRouter& api) {
    phone_page_.add_to(open);
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
    calls_api_.set_enabled(enabled_);
    offer_lines();
    if (enabled_) {
        server_.reconfigure(prepared_);
    }
    server_.lines().end_denied(enabled_);
    set_phones(config);
}

void SipProtocol::add_page_facts(net::Json& head) const {
    head["phone"] = has_phone_page_;
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
            {"lines", server_.lines().size()},
            {"invited", calls.invited},
            {"answered", calls.answered},
            {"refused", calls.refused},
            {"challenged", calls.challenged},
            {"digits", calls.digits},
            {"placed", calls.placed},
            {"placed_answered", calls.answered_out},
            {"placed_failed", calls.failed},
            {"bridged", calls.bridged},
            {"outside", calls.outside},
            {"registrations", server_.trunks().size()},
            {"registrations_up", server_.trunks().registered()},
            {"conferences", server_.conferences().size()},
            {"conference_parties", server_.conferences().parties()},
            {"phones", phone_page_.size()},
            {"phones_opened", phone_page_.counters().opened},
            {"phones_refused", phone_page_.counters().refused},
            {"phones_wrong_passwords", phone_page_.counters().wrong_passwords},
            {"messages_received", wires.received},
            {"messages_sent", wires.sent},
            {"messages_malformed", wires.malformed},
            {"messages_unsent", wires.unsent},
            {"secure", secure_json(server_.security().counters())}};
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
    text.single("weir_sip_conferences", "gauge", "Conferences of SIP callers.",
                server_.conferences().size());
    text.single("weir_sip_conference_parties", "gauge", "Callers in them.",
                server_.conferences().parties());
    text.single("weir_sip_lines", "gauge", "Telephone lines of other protocols' clients.",
                server_.lines().size());
    text.single("weir_sip_transactions", "gauge", "SIP transactions.",
                server_.agent().transactions().size());
    counter("weir_sip_invited_total", "Calls that came.", calls.invited);
    counter("weir_sip_answered_total", "Of them, those that were answered.", calls.answered);
    counter("weir_sip_refused_total", "Of them, those that were refused.", calls.refused);
    counter("weir_sip_placed_total", "Calls by this server.", calls.placed);
    counter("weir_sip_placed_answered_total", "Of them, those that were answered.",
            calls.answered_out);
    counter("weir_sip_placed_failed_total",
            "Calls by this server that nobody answered, or that could not be placed.",
            calls.failed);
    counter("weir_sip_bridged_total", "Calls between two phones that were answered.",
            calls.bridged);
    counter("weir_sip_outside_total", "Calls of phones that went to a provider.", calls.outside);
    text.single("weir_sip_registrations", "gauge", "Providers and PBXs of register.",
                server_.trunks().size());
    text.single("weir_sip_registrations_up", "gauge", "Of them, those that it is registered at.",
                server_.trunks().registered());
    text.single("weir_sip_phones", "gauge", "Pages that are telephones.", phone_page_.size());
    counter("weir_sip_phones_opened_total", "Lines that pages have opened.",
            phone_page_.counters().opened);
    counter("weir_sip_phones_refused_total", "Pages that were not let in, and lines of theirs.",
            phone_page_.counters().refused);
    counter("weir_sip_phones_wrong_passwords_total", "Of them, for a wrong password.",
            phone_page_.counters().wrong_passwords);
    counter("weir_sip_messages_received_total", "SIP messages received.", wires.received);
    counter("weir_sip_messages_malformed_total", "SIP messages that could not be read.",
            wires.malformed);
    counter("weir_sip_messages_unsent_total", "SIP messages that could not be sent.", wires.unsent);
    counter("weir_sip_messages_held_back_total",
            "SIP messages that were not sent: their address is not proven, and has had three times "
            "the bytes that came from it.",
            server_.agent().transactions().held_back());
    text.single("weir_sip_unproven", "gauge",
                "SIP transactions over UDP whose addresses are not proven.",
                server_.agent().transactions().strangers());
    add_secure_metrics(text);
}

void SipProtocol::add_secure_metrics(net::Exposition& text) const {
    const session::SipSecureCounters& secure = server_.security().counters();
    text.head("weir_sip_srtp_total", "counter", "Tracks of calls with SRTP, by who made the keys.");
    text.sample("weir_sip_srtp_total", secure.sdes, "{keys=\"sdes\"}");
    text.sample("weir_sip_srtp_total", secure.dtls, "{keys=\"dtls\"}");
    text.single("weir_sip_dtls_failed_total", "counter",
                "Handshakes of DTLS with phones that came to nothing.", secure.dtls_failed);
    text.single("weir_sip_ice_total", "counter", "Phones that ICE found.", secure.ice);
    text.single("weir_sip_ice_failed_total", "counter",
                "Phones that said ICE and did no checks in time.", secure.ice_failed);
    text.head("weir_sip_media_dropped_total", "counter",
              "Datagrams of encrypted calls, and of calls with ICE, that brought no media.");
    const auto dropped = [&](const char* labels, uint64_t value) {
        text.sample("weir_sip_media_dropped_total", value, labels);
    };
    dropped("{reason=\"early\"}", secure.early);
    dropped("{reason=\"unauthentic\"}", secure.unauthentic);
    dropped("{reason=\"replayed\"}", secure.replayed);
    dropped("{reason=\"malformed\"}", secure.malformed);
    dropped("{reason=\"ignored\"}", secure.ignored);
}

void SipProtocol::add_memory(diagnosis::MemoryReport& report) const {
    report.add_tcp_kind("sip", {"sip"},
                        {"sip_session", "sip_media", "sip_secure", "sip_connection", "sip_voice",
                         "sip_party", "sip_conference", "sip_line"});
    report.add_tcp_kind("phone", {"phone"}, {"phone_session"});
}

}  // namespace weir::app
