#include "session/sip/sip_dialing.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/deadline.h"
#include "session/sip/sip_trunks.h"

namespace weir::session {
namespace {

constexpr std::string_view kLocalDomain = "local";

}  // namespace

std::string local_aor(std::string_view user) {
    sip::SipUri uri;
    uri.user = user;
    uri.host = kLocalDomain;
    return uri.address_of_record();
}

Result<SipHop> parse_sip_hop(std::string_view text) {
    const bool is_uri = text.starts_with("sip:") || text.starts_with("sips:");
    const auto uri = sip::SipUri::parse(is_uri ? std::string(text) : fmt::format("sip:{}", text));
    if (!uri || uri->host.empty() || uri->scheme == sip::Scheme::kTel) {
        return make_error(ErrorCode::kMalformed, "no address of a SIP server: HOST[:PORT]");
    }
    SipHop hop;
    hop.host = uri->host;
    const std::string_view transport = uri->parameters.get("transport").value_or("");
    hop.transport = uri->scheme == sip::Scheme::kSips || transport == "tls" ? sip::Transport::kTls
                    : transport == "tcp"                                    ? sip::Transport::kTcp
                                                                            : sip::Transport::kUdp;
    const bool tls = hop.transport == sip::Transport::kTls;
    hop.port = uri->port != 0 ? uri->port : tls ? 5061 : 5060;
    return hop;
}

bool allows_sip_address(const SipServerOptions& options, const NetAddress& address) {
    return std::ranges::any_of(options.call_networks, [&](const net::AddressRange& range) {
        return range.contains(address.with_port(0));
    });
}

bool allows_sip_host(const SipServerOptions& options, std::string_view host) {
    if (const auto address = NetAddress::parse_ip(sip::without_brackets(host), 0)) {
        return allows_sip_address(options, *address);
    }
    return std::ranges::any_of(options.call_hosts, [&](const std::string& each) {
        return each.starts_with("*.") ? host.ends_with(std::string_view(each).substr(1))
                                      : host == each;
    });
}

// ---- where a call goes ----

std::string SipDialer::user_of(std::string_view number) const {
    for (const SipExtension& each : options_.extensions) {
        if (each.number == number) {
            return each.user;
        }
    }
    const auto user = std::ranges::find(options_.users, number, &SipUser::name);
    return user != options_.users.end() ? user->name : std::string();
}

// Nothing else than digits: a provider may do other things with what is not a number.
const SipOutside* SipDialer::outside_rule(std::string_view number) const {
    const std::string_view digits = number.substr(number.starts_with('+') ? 1 : 0);
    if (digits.empty() || digits.size() > kMaxDialled ||
        digits.find_first_not_of("0123456789") != std::string_view::npos) {
        return nullptr;
    }
    const SipOutside* found = nullptr;
    for (const SipOutside& each : options_.outside) {
        const bool longer = found == nullptr || each.prefix.size() > found->prefix.size();
        if (number.starts_with(each.prefix) && number.size() > each.strip && longer) {
            found = &each;
        }
    }
    return found;
}

std::vector<SipDestination::Target> SipDialer::phones_of(std::string_view user) const {
    std::vector<SipDestination::Target> all;
    for (const sip::Binding* each : registrar_.lookup(MonoClock::now(), local_aor(user))) {
        all.push_back({each->flow, each->contact});
    }
    return all;
}

bool SipDialer::is_own_host(std::string_view host) const {
    const auto address = NetAddress::parse_ip(sip::without_brackets(host), 0);
    return host == kLocalDomain || host == options_.realm ||
           (address && (address->same_ip(options_.address) || wires_.has_address(*address)));
}

Result<SipDialer::Plan> SipDialer::plan(const SipCallOrder& order) const {
    Plan plan;
    plan.trunk = order.via.empty() ? nullptr : trunks_.find(order.via);
    if (!order.via.empty() && plan.trunk == nullptr) {
        return make_error(ErrorCode::kMalformed,
                          "via names no registration (sip_server: register)");
    }
    const bool is_uri = order.to.starts_with("sip:") || order.to.starts_with("sips:");
    if (!is_uri && order.to.find('@') == std::string::npos) {
        if (plan.trunk != nullptr) {
            plan.uri = plan.trunk->uri_of(order.to);
        } else if (plan.user = user_of(order.to); plan.user.empty()) {
            return make_error(ErrorCode::kDenied,
                              "nobody here has that name or number (sip_server: user, extension)");
        }
    } else {
        plan.uri = is_uri ? order.to : "sip:" + order.to;
    }
    if (!plan.user.empty()) {
        return plan;
    }
    const auto uri = sip::SipUri::parse(plan.uri);
    if (!uri || uri->user.empty() || uri->scheme == sip::Scheme::kTel) {
        return make_error(ErrorCode::kMalformed, "to is neither a name nor sip:USER@HOST");
    }
    plan.uri = uri->write();
    if (plan.trunk != nullptr) {
        return plan;
    }
    if (is_own_host(uri->host) && order.proxy.empty()) {
        plan.user = user_of(uri->user);
        if (!plan.user.empty()) {
            return plan;
        }
    }
    plan.trunk =
        order.proxy.empty() && order.login.empty() ? trunks_.find_domain(uri->host) : nullptr;
    if (plan.trunk != nullptr) {
        return plan;
    }
    WEIR_TRY_ASSIGN(plan.hop, parse_sip_hop(order.proxy.empty() ? plan.uri : order.proxy));
    const bool numeric = NetAddress::parse_ip(sip::without_brackets(plan.hop.host), 0).has_value();
    plan.by_name = order.by_line || allows_sip_host(options_, plan.hop.host);
    if (!plan.by_name && (numeric || options_.call_networks.empty())) {
        return make_error(ErrorCode::kDenied,
                          "calls to {} are not allowed (sip_server: allow_calls)", uri->host);
    }
    return plan;
}

Result<SipDestination> SipDialer::find(const SipCallOrder& order, io::Deadline deadline) {
    WEIR_TRY_ASSIGN(const Plan plan, this->plan(order));
    SipDestination found;
    found.login = order.login;
    if (!plan.user.empty()) {
        found.targets = phones_of(plan.user);
        if (found.targets.empty()) {
            return make_error(ErrorCode::kNotFound, "no phone of {} is registered", plan.user);
        }
        return found;
    }
    if (plan.trunk != nullptr) {
        const std::optional<sip::Flow> flow = plan.trunk->flow(wires_);
        if (!flow) {
            return make_error(ErrorCode::kNotFound, "the trunk is not registered");
        }
        found.targets.push_back({*flow, plan.uri});
        found.trunk = plan.trunk->name();
        found.from = plan.trunk->aor();
        found.login = order.login.empty() ? plan.trunk->login() : order.login;
        return found;
    }
    WEIR_TRY_ASSIGN(
        const std::vector<io::SocketAddress> addresses,
        resolver_.resolve(sip::without_brackets(plan.hop.host), plan.hop.port, deadline));
    for (const io::SocketAddress& each : addresses) {
        const NetAddress address = each.net_address();
        if (!plan.by_name && !allows_sip_address(options_, address)) {
            continue;
        }
        WEIR_TRY_ASSIGN(const sip::Flow flow,
                        wires_.flow_to(plan.hop.transport, address, plan.hop.host));
        found.targets.push_back({flow, plan.uri});
        return found;
    }
    return make_error(ErrorCode::kDenied, "calls to {} are not allowed (sip_server: allow_calls)",
                      plan.hop.host);
}

}  // namespace weir::session
