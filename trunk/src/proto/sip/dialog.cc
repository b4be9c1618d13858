#include "proto/sip/dialog.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/address_reach.h"
#include "base/strings.h"
#include "proto/sip/uri.h"

namespace weir::sip {
namespace {

std::optional<std::string> contact_of(const MessageBase& message) {
    const std::optional<std::vector<NameAddr>> all =
        NameAddr::parse_all(message.headers, "Contact");
    if (!all || all->size() != 1 || !all->front().address()) {
        return std::nullopt;
    }
    return all->front().uri;
}

bool is_loose(const NameAddr& route) {
    const std::optional<SipUri> uri = route.address();
    return uri && uri->parameters.has("lr");
}

}  // namespace

std::string make_contact(std::string_view user, const Flow& flow) {
    SipUri uri;
    uri.user = user;
    uri.host =
        flow.local.is_v4() ? flow.local.ip_text() : fmt::format("[{}]", flow.local.ip_text());
    uri.port = flow.local.port();
    if (flow.reliable()) {
        uri.parameters.set("transport", to_lower(to_string(flow.transport)));
    }
    return "<" + uri.write() + ">";
}

Flow requests_flow(const Flow& arrived, std::string_view target) {
    const std::optional<SipUri> uri = SipUri::parse(target);
    if (!uri || (arrived.reliable() && arrived.connection != 0)) {
        return arrived;
    }
    const std::optional<NetAddress> address =
        NetAddress::parse_ip(without_brackets(uri->host), uri->port_or_default());
    const bool other_family = address && address->is_v4() != arrived.remote.is_v4();
    if (!address || other_family || address->is_any()) {
        return arrived;
    }
    if (!address->same_ip(arrived.remote) && reach_of(*address) != AddressReach::kPublic) {
        return arrived;
    }
    Flow out = arrived;
    out.remote = *address;
    const std::string_view transport = uri->parameters.get("transport").value_or("");
    const bool tls = uri->scheme == Scheme::kSips || equals_ignore_case(transport, "tls");
    if (!out.reliable() && (tls || equals_ignore_case(transport, "tcp"))) {
        out.transport = tls ? Transport::kTls : Transport::kTcp;
        out.connection = 0;
    }
    return out;
}

std::optional<Dialog> Dialog::as_callee(const Request& request,
                                        const CoreHeaders& core,
                                        std::string_view local_tag,
                                        std::string contact,
                                        const Flow& flow) {
    std::optional<std::vector<NameAddr>> routes =
        NameAddr::parse_all(request.headers, "Record-Route");
    std::optional<std::string> target = contact_of(request);
    if (!routes || routes->size() > kMaxRoutes || !target) {
        return std::nullopt;
    }
    Dialog out;
    out.call_id_ = core.call_id;
    out.local_ = core.to;
    out.local_.parameters.set("tag", std::string(local_tag));
    out.remote_ = core.from;
    out.contact_ = std::move(contact);
    out.target_ = std::move(*target);
    out.routes_ = std::move(*routes);
    out.remote_number_ = core.cseq.number;
    out.choose_flow(flow);
    return out;
}

std::optional<Dialog> Dialog::as_caller(const Response& response,
                                        const CoreHeaders& core,
                                        std::string contact,
                                        const Flow& flow) {
    std::optional<std::vector<NameAddr>> routes =
        NameAddr::parse_all(response.headers, "Record-Route");
    std::optional<std::string> target = contact_of(response);
    if (!routes || routes->size() > kMaxRoutes || !target || core.to.tag().empty()) {
        return std::nullopt;
    }
    Dialog out;
    out.call_id_ = core.call_id;
    out.local_ = core.from;
    out.remote_ = core.to;
    out.contact_ = std::move(contact);
    out.target_ = std::move(*target);
    std::ranges::reverse(*routes);  // §12.1.2
    out.routes_ = std::move(*routes);
    out.local_number_ = core.cseq.number;
    out.choose_flow(flow);
    return out;
}

void Dialog::choose_flow(const Flow& arrived) {
    arrived_ = arrived;
    flow_ = routes_.empty() ? requests_flow(arrived, target_) : arrived;
}

// RFC 3261 §12.2.1.1: a strict router takes its own address from the Request-URI, and the target is
// the last route.
void Dialog::put_target(Request& request) const {
    const bool strict = !routes_.empty() && !is_loose(routes_.front());
    request.uri = strict ? routes_.front().uri : target_;
    for (size_t i = strict ? 1 : 0; i < routes_.size(); i++) {
        NameAddr route = routes_[i];
        route.display.clear();
        request.headers.add("Route", route.write());
    }
    if (strict) {
        request.headers.add("Route", fmt::format("<{}>", target_));
    }
    request.headers.add("From", local_.write());
    request.headers.add("To", remote_.write());
    request.headers.add("Call-ID", call_id_);
}

Request Dialog::make_request(Method method) {
    Request out;
    out.method = method;
    out.method_name = to_string(method);
    put_target(out);
    local_number_ = std::min(local_number_ + 1, kMaxSequence);
    out.headers.add("CSeq", fmt::format("{} {}", local_number_, to_string(method)));
    if (method != Method::kBye && method != Method::kPrack) {
        out.headers.add("Contact", contact_);
    }
    return out;
}

Request Dialog::make_ack(uint32_t invite_number) const {
    Request out;
    out.method = Method::kAck;
    out.method_name = to_string(Method::kAck);
    put_target(out);
    out.headers.add("CSeq", fmt::format("{} ACK", invite_number));
    return out;
}

bool Dialog::on_request(const CoreHeaders& core) {
    if (remote_number_ && core.cseq.number < *remote_number_) {
        return false;
    }
    remote_number_ = core.cseq.number;
    return true;
}

void Dialog::refresh_target(const MessageBase& message) {
    if (std::optional<std::string> target = contact_of(message)) {
        target_ = std::move(*target);
        choose_flow(arrived_);
    }
}

}  // namespace weir::sip
