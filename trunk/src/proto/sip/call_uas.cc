// A call to the server, up to its answer (RFC 3261 §13.3, RFC 3262 §3).
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "proto/sip/call.h"

namespace weir::sip {
namespace {

uint32_t random_rseq(RandomSource& random) {
    std::array<uint8_t, 4> bytes{};
    random.fill(bytes);
    ByteReader reader(bytes);
    return (reader.u32() >> 2U) + 1;  // RFC 3262 §3: from 1 to 2^31-1
}

void add_sdp(Response& response, std::string sdp) {
    if (!sdp.empty()) {
        response.headers.add("Content-Type", std::string(kSdpType));
        response.body = std::move(sdp);
    }
}

}  // namespace

bool Call::invited(MonoTime now, TransactionEvent event, std::string sdp) {
    Transactions& transactions = context_.transactions;
    invite_ = event.id;
    flow_ = event.flow;
    proven_ = flow_.reliable();
    heard_ = now;
    call_id_ = event.core.call_id;
    local_tag_ = transactions.local_tag(invite_);
    invite_number_ = event.core.cseq.number;
    const std::optional<SipUri> uri = SipUri::parse(event.request.uri);
    contact_ = make_contact(uri ? std::string_view(uri->user) : std::string_view(), flow_);
    dialog_ = Dialog::as_callee(event.request, event.core, local_tag_, contact_, flow_);
    if (!dialog_) {
        transactions.respond(now, invite_, 400, "Contact or Record-Route is malformed");
        return false;
    }
    const http::Fields& headers = event.request.headers;
    session_answer_ =
        answer_session(headers, context_.options.session_expires, context_.options.min_session);
    if (session_answer_.too_small) {
        Response response = transactions.make_response(invite_, 422);
        response.headers.add("Min-SE", fmt::format("{}", context_.options.min_session.count()));
        transactions.respond(now, invite_, response);
        return false;
    }
    peer_100rel_ = has_option(headers, "Require", "100rel");
    peer_updates_ = has_option(headers, "Allow", "UPDATE");
    offers_first_ = sdp.empty();
    answer_by_ = now + context_.options.answer_timeout;
    CallEvent invitation;
    invitation.kind = CallEvent::Kind::kInvited;
    invitation.sdp = std::move(sdp);
    invitation.request = std::move(event.request);
    invitation.flow = event.flow;
    emit(std::move(invitation));
    return true;
}

bool Call::ring(MonoTime now, int status, std::string sdp) {
    if (state_ != State::kInvited || unpracked_ || status <= 100 || status >= 200) {
        return false;
    }
    Transactions& transactions = context_.transactions;
    Response response = transactions.make_response(invite_, status);
    response.headers.add("Contact", contact_);
    add_capabilities(response.headers, false);
    if (peer_100rel_) {
        last_rseq_ = last_rseq_ == 0 ? random_rseq(context_.random) : last_rseq_ + 1;
        response.headers.add("Require", "100rel");
        response.headers.add("RSeq", fmt::format("{}", last_rseq_));
        unpracked_ = repeat(now, invite_, invite_number_);
        unpracked_->number = last_rseq_;
        early_answer_ = early_answer_ || (!sdp.empty() && !offers_first_);
    }
    if (!sdp.empty()) {
        local_sdp_ = sdp;
    }
    add_sdp(response, std::move(sdp));
    return transactions.respond(now, invite_, response);
}

void Call::on_provisional_due(MonoTime now) {
    if (now < unpracked_->deadline) {
        context_.transactions.respond_again(unpracked_->transaction);
        unpracked_->interval *= 2;  // RFC 3262 §3: without a longest pause
        unpracked_->next = std::min(now + unpracked_->interval, unpracked_->deadline);
        return;
    }
    unpracked_.reset();
    context_.transactions.respond(now, invite_, 504, "No PRACK");
    finish(CallEvent::Kind::kCancelled, 504, true);
}

void Call::on_prack(MonoTime now, const TransactionEvent& event) {
    const std::optional<RAck> rack = RAck::parse(event.request.header("RAck"));
    const bool ours = rack && unpracked_ && rack->rseq == unpracked_->number &&
                      rack->cseq.number == unpracked_->invite &&
                      rack->cseq.method == Method::kInvite;
    respond_simple(now, event, ours ? 200 : 481);
    if (!ours) {
        return;
    }
    unpracked_.reset();
    if (state_ == State::kAccepting) {
        send_ok(now);
    }
}

bool Call::accept(MonoTime now, std::string sdp) {
    if (state_ != State::kInvited) {
        return false;
    }
    accept_sdp_ = std::move(sdp);
    if (unpracked_) {
        state_ = State::kAccepting;  // RFC 3262 §3: the 2xx waits for the PRACK
        return true;
    }
    send_ok(now);
    return true;
}

void Call::send_ok(MonoTime now) {
    state_ = State::kEstablished;
    answer_by_.reset();
    if (!accept_sdp_.empty()) {
        local_sdp_ = accept_sdp_;
    }
    respond_ok(now, invite_, early_answer_ ? std::string() : std::exchange(accept_sdp_, {}),
               session_answer_);
    accept_sdp_ = {};
    unacked_ = repeat(now, invite_, invite_number_);
    unacked_->initial = true;
    unacked_->has_offer = offers_first_;
}

// 200 to INVITE or UPDATE, with what the session timer says.
void Call::respond_ok(MonoTime now,
                      TransactionId id,
                      std::string sdp,
                      const SessionAnswer& session) {
    Response response = context_.transactions.make_response(id, 200);
    response.headers.add("Contact", contact_);
    add_capabilities(response.headers, false);
    response.headers.add("Session-Expires", session.expires.write());
    if (session.require) {
        response.headers.add("Require", "timer");
    }
    add_sdp(response, std::move(sdp));
    if (context_.transactions.respond(now, id, response)) {
        session_.start(now, session.expires.seconds,
                       session.expires.refresher == SessionExpires::Refresher::kUas);
    }
}

bool Call::reject(MonoTime now, int status, const http::Fields& headers) {
    if (!waits_for_answer() || status < 300 || status > 699) {
        return false;
    }
    Response response = context_.transactions.make_response(invite_, status);
    for (const http::Field& field : headers) {
        response.headers.add(field.name, field.value);
    }
    context_.transactions.respond(now, invite_, response);
    finish(CallEvent::Kind::kCancelled, status, true);
    return true;
}

void Call::on_cancel(MonoTime now, TransactionId invite) {
    if (waits_for_answer() && invite == invite_) {
        context_.transactions.respond(now, invite_, 487);
        finish(CallEvent::Kind::kCancelled, 487, false);
    } else if (incoming_ && invite == incoming_->transaction) {
        context_.transactions.respond(now, invite, 487);
        incoming_.reset();
    }
}

void Call::on_ack(MonoTime now, const TransactionEvent& event) {
    if (!unacked_ || event.core.cseq.number != unacked_->invite) {
        return;
    }
    prove();
    heard_ = now;
    const Repeated acked = *std::exchange(unacked_, std::nullopt);
    if (state_ == State::kEnding) {
        if (bye_wanted_) {
            send_bye(now);
        }
        return;
    }
    if (!acked.initial && !acked.has_offer) {
        return;
    }
    CallEvent confirmed;
    confirmed.kind = acked.initial ? CallEvent::Kind::kConfirmed : CallEvent::Kind::kOfferAnswered;
    if (acked.has_offer) {
        confirmed.sdp = sdp_of(event.request).value_or("");
    }
    emit(std::move(confirmed));
}

}  // namespace weir::sip
