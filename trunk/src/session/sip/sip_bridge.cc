#include "session/sip/sip_bridge.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "base/strings.h"
#include "proto/sdp/phone_relay.h"
#include "session/sip/sip_call.h"
#include "session/sip/sip_server.h"

namespace weir::session {
namespace {

constexpr size_t kIdLength = 7;
constexpr int kLoop = 483;            // Too Many Hops
constexpr int kRequestPending = 491;  // two offers at once

std::string host_text(const NetAddress& address) {
    return address.is_v4() ? address.ip_text() : fmt::format("[{}]", address.ip_text());
}

// What the callee's refusal is for the caller: his own passwords and redirections do not concern
// it.
int passed_status(int status) {
    const bool fits = status >= 400 && status != 401 && status != 407 && status != 408 &&
                      status != 487 && status != 503;
    return fits ? status : kSipUnavailable;
}

std::string first_codec(const sdp::PhoneDescription& read, media::TrackKind kind) {
    const sdp::PhoneMedia* const media = read.find(kind);
    return media == nullptr || media->formats.empty() ? std::string() : media->formats.front().name;
}

}  // namespace

SipBridge::SipBridge(SipServer& server, SipBridgeCaller caller)
    : SipParty("b" + random_id(system_random(), kIdLength)),
      server_(server),
      caller_(std::move(caller)),
      fork_(server, *this),
      since_(MonoClock::now()) {
    sides_[kCaller].id = caller_.id;
    sides_[kCaller].flow = caller_.flow;
    if (caller_.proven) {
        sides_[kCaller].hosts.trust(caller_.flow.remote);
    }
    for (Side& side : sides_) {
        side.heard = since_;
    }
    if (caller_.asked) {
        caller_.asked->kick = [this] { end(net::EndClass::kKicked, "kicked by the API"); };
    }
}

SipBridge::~SipBridge() {
    WEIR_CHECK(!caller_.asked && !has_place_);
}

// ---- the beginning ----

SipBridge::Refusal SipBridge::begin(SipDestination destination) {
    std::vector<SipDestination::Target>& targets = destination.targets;
    const auto offer = sdp::read_phone_description(caller_.offer);
    if (!offer.ok() || offer->find(media::TrackKind::kAudio) == nullptr) {
        return {kSipNotAcceptable, "calls between phones begin with an offer of audio"};
    }
    if (caller_.max_forwards <= 1) {
        return {kLoop, "the call has gone too far (Max-Forwards)"};
    }
    if (!server_.services().connections.take()) {
        return {kSipTooMany, "max_connections is reached"};
    }
    has_place_ = true;
    sides_[kCallee].flow = targets.front().flow;
    std::erase_if(targets, [&](const SipDestination::Target& each) {
        return !each.flow.local.same_ip(sides_[kCallee].flow.local);
    });
    if (const Error failed = open_ports(*offer)) {
        return {kSipTooMany, std::string(failed.message())};
    }
    const std::string passed = pass_on(kCaller, caller_.offer);
    caller_.offer = {};
    const auto own = sip::SipUri::parse(destination.from);
    if (!destination.trunk.empty()) {
        caller_.trunk = destination.trunk;
    }
    std::vector<sip::CallTarget> all;
    for (const SipDestination::Target& each : targets) {
        sip::CallTarget target;
        target.flow = each.flow;
        target.uri = each.uri;
        target.from = !destination.from.empty() ? destination.from
                      : caller_.user.empty()
                          ? caller_.from
                          : fmt::format("sip:{}@{}", caller_.user, host_text(each.flow.local));
        target.from_display = caller_.display;
        target.contact_user = own ? own->user : caller_.user;
        target.login = destination.login;
        target.sdp = passed;
        target.headers.add("Max-Forwards", fmt::format("{}", caller_.max_forwards - 1));
        all.push_back(std::move(target));
    }
    if (!fork_.begin(all)) {
        return {kSipTooMany, "there are too many calls"};
    }
    return {};
}

void SipBridge::refuse(const Refusal& refusal) {
    server_.counters().refused++;
    server_.log_refused(caller_.flow, caller_.from, refusal.why);
    status_ = refusal.status;
    note_over(net::EndClass::kRefused, refusal.why);
    server_.with_agent([&](sip::UserAgent& agent) {
        return agent.reject(MonoClock::now(), caller_.id, refusal.status);
    });
}

Error SipBridge::open_ports(const sdp::PhoneDescription& offer) {
    const bool video = offer.find(media::TrackKind::kVideo) != nullptr;
    for (size_t side = 0; side < sides_.size(); side++) {
        NetAddress local = sides_[side].flow.local.with_port(0);
        if (!server_.options().address.empty()) {  // that is none of this host's own
            local = local.is_v4() ? NetAddress::from_v4({}, 0) : NetAddress::from_v6({}, 0);
        }
        for (size_t kind = 0; kind < (video ? kKinds : 1); kind++) {
            std::unique_ptr<net::RtpPorts>& ports = sides_[side].ways[kind].ports;
            WEIR_TRY_ASSIGN(ports, net::RtpPorts::bind_in(server_.options().rtp_ports, local,
                                                          side * kKinds + kind, *this));
            ports->listen();
        }
    }
    return {};
}

std::string SipBridge::pass_on(size_t from, const std::string& sdp) {
    const auto read = sdp::read_phone_description(sdp);
    if (!read.ok()) {
        return {};
    }
    learn(from, *read, sdp.size());
    Side& other = sides_[1 - from];
    const auto port = [&](size_t kind) -> uint16_t {
        return other.ways[kind].ports ? other.ways[kind].ports->ports().rtp : uint16_t{0};
    };
    Result<std::string> passed = sdp::relay_phone_description(sdp, other.flow.local.with_port(0),
                                                              {port(kAudio), port(kVideo)});
    return passed.ok() ? other.told = std::move(*passed) : std::string();
}

void SipBridge::learn(size_t index, const sdp::PhoneDescription& read, size_t bytes) {
    Side& side = sides_[index];
    for (const auto& [kind, track] :
         {std::pair(kAudio, media::TrackKind::kAudio), {kVideo, media::TrackKind::kVideo}}) {
        const sdp::PhoneMedia* const media = read.find(track);
        side.ways[kind].rtp = media != nullptr ? media->to : NetAddress();
        side.ways[kind].rtcp = media != nullptr ? media->rtcp_to : NetAddress();
        side.hosts.name(side.ways[kind].rtp, std::exchange(bytes, 0));
    }
    const sdp::PhoneMedia* const audio = read.find(media::TrackKind::kAudio);
    side.held = audio == nullptr || audio->direction != sdp::Direction::kSendRecv;
    side.heard = MonoClock::now();
}

// ---- signalling ----

void SipBridge::on_event(const sip::CallEvent& event) {
    using Kind = sip::CallEvent::Kind;
    if (event.call != caller_.id) {
        on_callee(event);
        return;
    }
    switch (event.kind) {
        case Kind::kCancelled:
        case Kind::kFailed:
        case Kind::kEnded:
            if (!over_) {
                note_over(net::EndClass::kPeerClosed,
                          answered_ ? "the caller hung up" : "the caller gave up");
                status_ = answered_ ? 0 : event.status;
                fork_.give_up();
            }
            return;
        case Kind::kConfirmed:
            caller_.unproven_place.release();
            sides_[kCaller].hosts.trust(caller_.flow.remote);
            return;
        default: on_inside(kCaller, event); return;
    }
}

void SipBridge::on_callee(const sip::CallEvent& event) {
    using Outcome = SipFork::Outcome;
    switch (fork_.on_event(event)) {
        case Outcome::kNothing: return;
        case Outcome::kRings: on_ringing(event); return;
        case Outcome::kAnswered: on_answered(); return;
        case Outcome::kFailed:
            if (!over_) {
                status_ = passed_status(fork_.status());
                note_over(net::EndClass::kPeerClosed,
                          fmt::format("{} {}", fork_.status(), fork_.reason()));
                server_.with_agent([&](sip::UserAgent& agent) {
                    return agent.reject(MonoClock::now(), caller_.id, status_);
                });
            }
            return;
        case Outcome::kOfWinner:
            if (event.kind != sip::CallEvent::Kind::kEnded &&
                event.kind != sip::CallEvent::Kind::kFailed) {
                on_inside(kCallee, event);
            } else if (!over_) {
                note_over(net::EndClass::kPeerClosed, "the callee hung up");
                server_.with_agent([&](sip::UserAgent& agent) {
                    return agent.hang_up(MonoClock::now(), caller_.id);
                });
            }
            return;
    }
}

void SipBridge::on_ringing(const sip::CallEvent& event) {
    if (over_ || event.status == 100) {
        return;
    }
    ringing_ = true;
    server_.with_agent(
        [&](sip::UserAgent& agent) { return agent.ring(MonoClock::now(), caller_.id); });
}

void SipBridge::on_answered() {
    sides_[kCallee].id = fork_.winner();
    sides_[kCallee].flow = fork_.flow();
    sides_[kCallee].hosts.trust(fork_.flow().remote);
    if (over_) {  // the caller gave up in the same moment
        fork_.give_up();
        return;
    }
    std::string answer = pass_on(kCallee, fork_.sdp());
    const auto read = sdp::read_phone_description(fork_.sdp());
    if (answer.empty() || !read.ok() || read->find(media::TrackKind::kAudio) == nullptr) {
        status_ = kSipNotAcceptable;
        end(net::EndClass::kError, "the callee's answer has no audio");
        return;
    }
    audio_ = first_codec(*read, media::TrackKind::kAudio);
    video_ = first_codec(*read, media::TrackKind::kVideo);
    answered_ = true;
    sides_[kCaller].heard = MonoClock::now();
    server_.counters().answered++;
    server_.counters().bridged++;
    log::info("call {} of {} is answered by {}", name(), log::token(caller_.from),
              log::token(caller_.to));
    server_.with_agent([&](sip::UserAgent& agent) {
        return agent.accept(MonoClock::now(), caller_.id, std::move(answer));
    });
}

// Within the call that both have.
void SipBridge::on_inside(size_t side, const sip::CallEvent& event) {
    using Kind = sip::CallEvent::Kind;
    if (over_) {
        return;
    }
    switch (event.kind) {
        case Kind::kOffer: on_offer(side, event); return;
        case Kind::kOfferAnswered:
        case Kind::kOfferRefused: on_offer_done(side, event); return;
        case Kind::kInfo:
            server_.with_agent([&](sip::UserAgent& agent) {
                return agent.send_info(MonoClock::now(), sides_[1 - side].id, event.type,
                                       event.body);
            });
            return;
        default: return;
    }
}

void SipBridge::on_offer(size_t side, const sip::CallEvent& event) {
    const MonoTime now = MonoClock::now();
    Side& from = sides_[side];
    Side& other = sides_[1 - side];
    if (event.sdp.empty()) {  // it wants an offer: what it was told last
        server_.with_agent(
            [&](sip::UserAgent& agent) { return agent.answer_offer(now, from.id, from.told); });
        return;
    }
    int refusal = !answered_ || offering_ ? kRequestPending : 0;
    if (refusal == 0) {
        const std::string passed = pass_on(side, event.sdp);
        const bool asked = !passed.empty() && server_.with_agent([&](sip::UserAgent& agent) {
            return agent.offer(now, other.id, passed);
        });
        refusal = passed.empty() ? kSipNotAcceptable : asked ? 0 : kRequestPending;
    }
    if (refusal == 0) {
        offering_ = side;
        return;
    }
    server_.with_agent(
        [&](sip::UserAgent& agent) { return agent.refuse_offer(now, from.id, refusal); });
}

void SipBridge::on_offer_done(size_t side, const sip::CallEvent& event) {
    const MonoTime now = MonoClock::now();
    if (!offering_ || *offering_ == side) {  // of a refresh, or an offer that it has asked for
        if (const auto read = sdp::read_phone_description(event.sdp); read.ok()) {
            learn(side, *read, event.sdp.size());
        }
        return;
    }
    const size_t asker = *std::exchange(offering_, std::nullopt);
    const bool taken = event.kind == sip::CallEvent::Kind::kOfferAnswered;
    const std::string answer = taken ? pass_on(side, event.sdp) : std::string();
    server_.with_agent([&](sip::UserAgent& agent) {
        return answer.empty() ? agent.refuse_offer(now, sides_[asker].id,
                                                   taken ? kSipNotAcceptable : event.status)
                              : agent.answer_offer(now, sides_[asker].id, answer);
    });
}

// ---- media ----

void SipBridge::on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress& from) {
    Side& side = sides_[track / kKinds];
    Way& way = side.ways[track % kKinds];
    if (!from.same_ip(way.rtp) && !from.same_ip(side.flow.remote)) {
        strangers_++;
        return;
    }
    side.heard = MonoClock::now();
    side.received += rtcp ? 0 : 1;
    side.hosts.note_received(from, bytes.size(), true);
    (rtcp ? way.rtcp : way.rtp) = from;
    Side& to_side = sides_[1 - track / kKinds];
    const Way& other = to_side.ways[track % kKinds];
    const NetAddress& to = rtcp ? other.rtcp : other.rtp;
    if (!to.empty() && other.ports && to_side.hosts.take(to, bytes.size())) {
        other.ports->send(rtcp, to, bytes);
    }
}

void SipBridge::tick(MonoTime now) {
    if (std::exchange(more_, false)) {
        for (Side& side : sides_) {
            for (Way& way : side.ways) {
                more_ = (way.ports && way.ports->read_more()) || more_;
            }
        }
    }
    for (Side& side : sides_) {
        if (!over_ && answered_ && !look_whether_it_is_there(now, side)) {
            end(net::EndClass::kTimeout, "no media from a phone (rtp_timeout)");
        }
    }
}

// On hold a phone may send no media, so its messages count, too.
bool SipBridge::look_whether_it_is_there(MonoTime now, Side& side) {
    const bool held = sides_[kCaller].held || sides_[kCallee].held;
    const MonoTime heard = held ? std::max(side.heard, server_.agent().heard(side.id)) : side.heard;
    const SipSilence::Due due = side.silence.look(now, heard, server_.options().rtp_timeout, held);
    if (due == SipSilence::Due::kAsk) {
        server_.with_agent([&](sip::UserAgent& agent) { return agent.ask(now, side.id); });
    }
    return due != SipSilence::Due::kGone;
}

// ---- the end ----

void SipBridge::note_over(net::EndClass why, std::string_view detail) {
    if (!over_) {
        over_ = true;
        over_at_ = MonoClock::now();
        why_ = why;
        detail_ = detail;
    }
    server_.look_soon();
}

void SipBridge::end(net::EndClass why, std::string_view detail) {
    if (!over_) {
        note_over(why, detail);
        say_goodbye();
    }
}

void SipBridge::say_goodbye() {
    fork_.give_up();
    server_.with_agent(
        [&](sip::UserAgent& agent) { return agent.hang_up(MonoClock::now(), caller_.id); });
}

void SipBridge::abandon(net::EndClass why, std::string_view detail) {
    note_over(why, detail);
}

void SipBridge::finish() {
    for (Side& side : sides_) {
        for (Way& way : side.ways) {
            way.ports.reset();
        }
    }
    if (std::exchange(has_place_, false)) {
        server_.services().connections.give_back();
    }
    if (caller_.asked) {
        caller_.ticket.end(*caller_.asked, why_, detail_);
        caller_.asked->count_end(why_);
        caller_.asked.reset();
    }
}

SipCallFacts SipBridge::facts(MonoTime now) const {
    SipCallFacts facts;
    facts.id = name();
    facts.direction = "bridge";
    facts.call_id = caller_.call_id;
    facts.from = caller_.from;
    facts.to = caller_.to;
    facts.user = caller_.user;
    facts.trunk = caller_.trunk;
    facts.ip = caller_.flow.remote.ip_text();
    facts.transport = to_lower(sip::to_string(caller_.flow.transport));
    facts.state = over_ ? (answered_ ? "ended" : "failed")
                        : (answered_  ? "answered"
                           : ringing_ ? "ringing"
                                      : "setup");
    if (over_) {
        facts.status = answered_ ? 0 : status_;
        facts.reason = answered_ || status_ == 0 ? net::to_string(why_) : sip_failure(status_);
        facts.detail = detail_;
        facts.over = std::chrono::duration_cast<Millis>(now - over_at_);
    }
    facts.audio = audio_;
    facts.video = video_;
    facts.held = answered_ && (sides_[kCaller].held || sides_[kCallee].held);
    facts.packets_received = sides_[kCaller].received + sides_[kCallee].received;
    facts.strangers = strangers_;
    facts.age = std::chrono::duration_cast<Millis>(now - since_);
    return facts;
}

}  // namespace weir::session
