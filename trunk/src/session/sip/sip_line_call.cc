#include "session/sip/sip_line_call.h"

#include <utility>

#include <fmt/format.h>

#include "proto/sip/uri.h"
#include "session/sip/sip_server.h"

namespace weir::session {
namespace {

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kBusy: return kSipBusyHere;
        case ErrorCode::kFull: return kSipTooMany;
        case ErrorCode::kMalformed:
        case ErrorCode::kLimit:
        case ErrorCode::kUnsupported: return kSipNotAcceptable;
        default: return kSipServerError;
    }
}

}  // namespace

SipLineCall::SipLineCall(SipServer& server,
                         const sip::CallEvent& invited,
                         const net::PhoneLineRequest& line,
                         SipCallObserver& observer)
    : SipCall(server, "in"), offer_(invited.sdp) {
    observer_ = &observer;
    outlives_stream_ = true;
    beginning_ = false;
    id_ = invited.call;
    flow_ = invited.flow;
    proven_ = flow_.reliable();
    call_id_ = invited.request.header("Call-ID");
    from_ = public_uri(invited.request.header("From"));
    to_ = public_uri(invited.request.header("To"));
    const auto to = sip::SipUri::parse(to_);
    const auto called = sip::SipUri::parse(invited.request.uri);
    if (to && called && to->user == called->user) {  // the line's Contact, which says nothing
        to_ = fmt::format("sip:{}@{}", line.user, line.domain);
    }
    play_key_ = line.local;
    publish_key_ = line.remote;
    wants_play_ = wants_publish_ = true;
    tc_url_ = fmt::format("sip://{}/{}", play_key_.vhost, play_key_.app);
}

void SipLineCall::ring() {
    ringing_ = true;
    server_.with_agent([&](sip::UserAgent& agent) { return agent.ring(MonoClock::now(), id_); });
}

void SipLineCall::accept(const std::vector<std::string>& codecs) {
    std::string description;
    if (Error failed = prepare(codecs, description)) {
        reject(status_of(failed), failed.message());
        return;
    }
    begin_media(agreed_->has_media());
    server_.counters().answered++;
    server_.with_agent([&](sip::UserAgent& agent) {
        return agent.accept(MonoClock::now(), id_, std::move(description));
    });
}

Error SipLineCall::prepare(const std::vector<std::string>& codecs, std::string& description) {
    std::optional<sdp::PhoneDescription> offer;
    if (!offer_.empty()) {
        WEIR_TRY_ASSIGN(offer, sdp::read_phone_description(offer_));
    }
    options_ = options_now();
    if (!codecs.empty()) {
        choose_codecs(codecs);
    }
    const bool video = !options_.video.codecs.empty() &&
                       (!offer || offer->find(media::TrackKind::kVideo) != nullptr);
    WEIR_TRY(take_own_rows());
    WEIR_TRY(open_ports(true, video));
    if (!video) {
        options_.video.codecs.clear();
    }
    server_.security().prepare(options_, server_.options().srtp, {}, offer ? &*offer : nullptr);
    if (offer) {
        WEIR_TRY_ASSIGN(sdp::PhoneAgreement agreed, sdp::answer_phone(*offer, options_));
        description = take_agreement(std::move(agreed), offer_.size());
        WEIR_TRY(find_pump());
    } else {
        description = sdp::write_phone_offer(options_);
    }
    return begin_publishing();
}

void SipLineCall::reject(int status, std::string_view why) {
    if (over_) {
        return;
    }
    status_ = status;
    reason_ = why;
    server_.counters().refused++;
    abandon(net::EndClass::kRefused, why);
    server_.with_agent(
        [&](sip::UserAgent& agent) { return agent.reject(MonoClock::now(), id_, status); });
    server_.look_soon();
}

}  // namespace weir::session
