// A call by the server, up to its answer (RFC 3261 §13.2), and what its INVITE brings later.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "proto/sip/call.h"

namespace weir::sip {
namespace {

constexpr size_t kIdLength = 20;
constexpr size_t kTagLength = 12;

}  // namespace

bool Call::start(MonoTime now, const CallTarget& target) {
    NameAddr from{target.from_display, target.from, {}};
    if (!from.address() || !SipUri::parse(target.uri)) {
        return false;
    }
    caller_ = true;
    proven_ = true;
    state_ = State::kCalling;
    flow_ = target.flow;
    login_ = http::Login(target.login, false);
    proxy_login_ = http::Login(target.login, false);
    local_tag_ = random_id(context_.random, kTagLength);
    call_id_ = random_id(context_.random, kIdLength);
    local_sdp_ = target.sdp;
    invite_number_ = 1;
    contact_ = make_contact(target.contact_user, flow_);
    from.parameters.set("tag", local_tag_);
    Request request;
    request.method = Method::kInvite;
    request.method_name = to_string(Method::kInvite);
    request.uri = target.uri;
    for (const std::string& route : target.routes) {
        request.headers.add("Route", route);
    }
    request.headers.add("From", from.write());
    request.headers.add("To", NameAddr{{}, target.uri, {}}.write());
    request.headers.add("Call-ID", call_id_);
    request.headers.add("CSeq", fmt::format("{} INVITE", invite_number_));
    request.headers.add("Contact", contact_);
    add_capabilities(request.headers, true);
    add_session(request, false);
    for (const http::Field& field : target.headers) {
        request.headers.add(field.name, field.value);
    }
    if (!target.sdp.empty()) {
        request.headers.add("Content-Type", std::string(kSdpType));
        request.body = target.sdp;
    }
    answer_by_ = now + context_.options.answer_timeout;
    return send(now, std::move(request), Purpose::kInvite, flow_);
}

// The owner, or time, ends a call that nobody has answered. CANCEL may be sent only after a
// provisional answer (RFC 3261 §9.1); a 2xx that crosses it is ended by BYE.
void Call::give_up(MonoTime now, int status) {
    cancelling_ = true;
    finish(CallEvent::Kind::kFailed, status, true);
    if (provisional_) {
        context_.transactions.cancel(now, invite_);
    }
}

void Call::on_provisional(MonoTime now, const TransactionEvent& event) {
    provisional_ = true;
    if (cancelling_) {
        context_.transactions.cancel(now, invite_);
        return;
    }
    const Response& response = event.response;
    if (response.status == 100 || state_ != State::kCalling) {
        return;
    }
    if (has_option(response.headers, "Require", "100rel")) {
        Early* const early = early_dialog(event);
        const std::optional<uint32_t> rseq = parse_rseq(response.header("RSeq"));
        // RFC 3262 §4: in order, each once.
        if (early == nullptr || !rseq || (early->rseq != 0 && *rseq != early->rseq + 1)) {
            return;
        }
        early->rseq = *rseq;
        acknowledge_reliably(now, event, *early);
    }
    CallEvent progress;
    progress.kind = CallEvent::Kind::kProgress;
    progress.status = response.status;
    progress.reason = response.reason;
    progress.sdp = sdp_of(response).value_or("");
    emit(std::move(progress));
}

// The dialog of a provisional answer; nullptr: it makes none, or the INVITE forks too often.
Call::Early* Call::early_dialog(const TransactionEvent& event) {
    for (Early& each : early_) {
        if (each.dialog.remote_tag() == event.core.to.tag()) {
            return &each;
        }
    }
    std::optional<Dialog> made =
        Dialog::as_caller(event.response, event.core, contact_, event.flow);
    if (!made || early_.size() >= kMaxEarlyDialogs) {
        return nullptr;
    }
    return &early_.emplace_back(Early{std::move(*made), 0});
}

void Call::acknowledge_reliably(MonoTime now, const TransactionEvent& event, Early& early) {
    Request prack = early.dialog.make_request(Method::kPrack);
    prack.headers.add("RAck", RAck{early.rseq, event.core.cseq}.write());
    send(now, std::move(prack), Purpose::kPrack, early.dialog.flow());
}

void Call::on_invite_response(MonoTime now, const TransactionEvent& event, Pending pending) {
    if (event.response.status < 300) {
        on_accepted(now, event);
    } else {
        on_refused(now, event, std::move(pending));
    }
}

void Call::on_refused(MonoTime now, const TransactionEvent& event, Pending pending) {
    const Response& response = event.response;
    if (state_ != State::kCalling) {
        return;
    }
    early_.clear();
    if ((response.status == 401 || response.status == 407) && send_again(now, pending, response)) {
        return;
    }
    const uint32_t minimum = parse_seconds(response.header("Min-SE")).value_or(0);
    if (response.status == 422 && minimum > min_session_) {  // RFC 4028 §7.4
        min_session_ = minimum;
        Request& request = pending.request;
        request.headers.set("CSeq", fmt::format("{} INVITE", ++invite_number_));
        request.headers.set("Session-Expires", SessionExpires{minimum, {}}.write());
        request.headers.set("Min-SE", fmt::format("{}", minimum));
        if (send(now, std::move(request), Purpose::kInvite, flow_)) {
            return;
        }
    }
    CallEvent event_out;
    event_out.kind = CallEvent::Kind::kFailed;
    event_out.status = response.status;
    event_out.reason = response.reason;
    if (response.status < 400) {
        for (const NameAddr& contact :
             NameAddr::parse_all(response.headers, "Contact").value_or(std::vector<NameAddr>())) {
            event_out.contacts.push_back(contact.uri);
        }
    }
    event_out.response = response;
    state_ = State::kEnding;
    answer_by_.reset();
    emit(std::move(event_out));
}

void Call::on_accepted(MonoTime now, const TransactionEvent& event) {
    std::optional<Dialog> made =
        Dialog::as_caller(event.response, event.core, contact_, event.flow);
    if (!made) {
        finish(CallEvent::Kind::kFailed, 502, false);  // nothing says where the ACK should go
        return;
    }
    if (state_ != State::kCalling) {
        acknowledge_fork(now, event);
        return;
    }
    for (const Early& each : early_) {
        if (each.dialog.remote_tag() == made->remote_tag()) {
            made->set_local_number(std::max(made->local_number(), each.dialog.local_number()));
        }
    }
    dialog_ = std::move(made);
    early_ = {};
    state_ = State::kEstablished;
    answer_by_.reset();
    acknowledge(event.core.cseq.number);
    peer_updates_ = has_option(event.response.headers, "Allow", "UPDATE");
    start_session(now, event.response);
    CallEvent answered;
    answered.kind = CallEvent::Kind::kAnswered;
    answered.status = event.response.status;
    answered.sdp = sdp_of(event.response).value_or("");
    emit(std::move(answered));
}

void Call::acknowledge(uint32_t number) {
    Request ack = dialog_->make_ack(number);
    for (const http::Field& field : credentials_) {
        ack.headers.add(field.name, field.value);
    }
    ack_ = context_.transactions.send_ack(std::move(ack), requests_flow());
    ack_number_ = number;
}

// A 2xx that nobody wants: acknowledged and ended at once. Nothing is kept of it; if it comes
// again, it is ended again.
void Call::acknowledge_fork(MonoTime now, const TransactionEvent& event) {
    std::optional<Dialog> other =
        Dialog::as_caller(event.response, event.core, contact_, event.flow);
    if (!other) {
        return;
    }
    context_.transactions.send_ack(other->make_ack(event.core.cseq.number), other->flow());
    context_.transactions.send_request(now, other->make_request(Method::kBye), other->flow(),
                                       user_of_call(id_));
}

// RFC 4028 §7.2: without the field the peer has no timer, and so there is none.
void Call::start_session(MonoTime now, const Response& response) {
    const std::optional<SessionExpires> expires =
        SessionExpires::parse(response.header("Session-Expires"));
    if (!expires || expires->seconds == 0) {
        session_.stop();
        return;
    }
    session_.start(now, expires->seconds, expires->refresher != SessionExpires::Refresher::kUas);
}

}  // namespace weir::sip
