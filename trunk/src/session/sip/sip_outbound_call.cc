#include "session/sip/sip_outbound_call.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "session/sip/sip_server.h"

namespace weir::session {
namespace {

constexpr std::string_view kOwnUser = "weir";  // of From, where nobody has said another one

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kDenied: return kSipForbidden;
        case ErrorCode::kNotFound: return kSipUnavailable;
        case ErrorCode::kUnsupported: return kSipNotAcceptable;
        default: return kSipTooMany;
    }
}

std::string host_text(const NetAddress& address) {
    return address.is_v4() ? address.ip_text() : fmt::format("[{}]", address.ip_text());
}

}  // namespace

SipOutboundCall::SipOutboundCall(SipServer& server, SipCallOrder order, SipCallObserver* observer)
    : SipCall(server, "out"), order_(std::move(order)), fork_(server, *this) {
    observer_ = observer;
    outlives_stream_ = true;
    play_key_ = order_.play;
    publish_key_ = order_.publish;
    wants_play_ = !play_key_.name.empty();
    wants_publish_ = !publish_key_.name.empty();
    to_ = order_.to;
    from_ = order_.from;
    tc_url_ = fmt::format("sip://{}/{}", wants_play_ ? play_key_.vhost : publish_key_.vhost,
                          wants_play_ ? play_key_.app : publish_key_.app);
}

// ---- up to the INVITE ----

void SipOutboundCall::begin() {
    io::set_log_id(std::string(name()));
    Error failed = prepare();
    if (!failed && !over_) {
        failed = place();
    }
    beginning_ = false;
    if (failed && !over_) {
        server_.counters().failed++;
        status_ = status_of(failed);
        reason_ = failed.message();
        log::info("call to {} failed: {}", log::token(to_), reason_);
        abandon(net::EndClass::kError, reason_);
    }
}

Error SipOutboundCall::prepare() {
    WEIR_TRY_ASSIGN(destination_, server_.dialer().find(order_, io::Deadline::after(kResolveTime)));
    trunk_ = destination_.trunk;
    flow_ = destination_.targets.front().flow;
    std::erase_if(destination_.targets, [&](const SipDestination::Target& each) {
        return !each.flow.local.same_ip(flow_.local);  // the offer names one address
    });
    if (from_.empty()) {
        from_ = destination_.from.empty()
                    ? fmt::format("sip:{}@{}", kOwnUser, host_text(flow_.local))
                    : destination_.from;
    }
    WEIR_TRY(take_own_rows());
    options_ = options_now();
    const bool video = choose_video();
    WEIR_TRY(open_ports(true, video));
    if (!video) {
        options_.video.codecs.clear();
    }
    return {};
}

// Many phones stumble over a section of video that they did not expect: it is offered where the
// stream has it, or whoever has ordered the call wants it.
bool SipOutboundCall::choose_video() {
    if (order_.codecs.empty()) {
        const stream::Stream* const stream = server_.services().registry.find(play_key_);
        return wants_play_ && stream != nullptr && stream->has_video();
    }
    choose_codecs(order_.codecs);
    return !options_.video.codecs.empty();
}

Error SipOutboundCall::place() {
    const auto target_user = sip::SipUri::parse(from_);
    server_.security().prepare(options_, server_.options().srtp, {}, nullptr);
    std::vector<sip::CallTarget> targets;
    for (const SipDestination::Target& each : destination_.targets) {
        sip::CallTarget target;
        target.flow = each.flow;
        target.uri = each.uri;
        target.from = from_;
        target.from_display = order_.display;
        target.contact_user = target_user ? target_user->user : std::string();
        target.login = destination_.login;
        target.sdp = sdp::write_phone_offer(options_);
        targets.push_back(std::move(target));
    }
    if (!order_.to.starts_with("sip")) {
        to_ = destination_.targets.front().uri;
    }
    server_.counters().placed++;
    if (!fork_.begin(targets)) {
        return make_error(ErrorCode::kFull, "there are too many calls, or From is no address");
    }
    return {};
}

// ---- from then on ----

void SipOutboundCall::on_event(const sip::CallEvent& event) {
    using Outcome = SipFork::Outcome;
    switch (fork_.on_event(event)) {
        case Outcome::kNothing: return;
        case Outcome::kRings:
            if (!over_ && event.status != 100) {
                ringing_ = true;
                if (observer_ != nullptr) {
                    observer_->on_ringing(event.status, event.reason);
                }
            }
            return;
        case Outcome::kAnswered: on_answered(event); return;
        case Outcome::kFailed:
            if (!over_) {
                server_.counters().failed++;
                status_ = fork_.status();
                reason_ = fork_.reason();
                log::info("call {} to {} failed: {} {}", name(), log::token(to_), status_,
                          log::token(reason_));
                abandon(net::EndClass::kPeerClosed, fmt::format("{} {}", status_, reason_));
            }
            return;
        case Outcome::kOfWinner: SipCall::on_event(event); return;
    }
}

void SipOutboundCall::on_answered(const sip::CallEvent& event) {
    id_ = fork_.winner();
    if (over_) {  // it was given up in the same moment
        say_goodbye();
        return;
    }
    flow_ = fork_.flow();
    call_id_ = server_.agent().call_id_text(event.call);
    if (Error failed = take_answer(fork_.sdp())) {
        status_ = failed.code() == ErrorCode::kBusy ? kSipBusyHere : kSipNotAcceptable;
        reason_ = failed.message();
        server_.counters().failed++;
        end(net::EndClass::kError, failed.message());
        return;
    }
    server_.counters().answered_out++;
    log::info("call {} to {} is answered", name(), log::token(to_));
}

Error SipOutboundCall::take_answer(const std::string& sdp) {
    WEIR_TRY_ASSIGN(const sdp::PhoneDescription answer, sdp::read_phone_description(sdp));
    WEIR_TRY_ASSIGN(sdp::PhoneAgreement agreed, sdp::accept_phone(answer, options_));
    take_agreement(std::move(agreed), sdp.size());
    if (wants_publish_) {
        WEIR_TRY(begin_publishing());
    }
    if (wants_play_) {
        WEIR_TRY(find_pump());
    }
    begin_media(true);
    return {};
}

void SipOutboundCall::say_goodbye() {
    fork_.give_up();
}

}  // namespace weir::session
