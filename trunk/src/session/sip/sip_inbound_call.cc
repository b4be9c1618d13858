#include "session/sip/sip_inbound_call.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "proto/rtmp/stream_name.h"
#include "proto/sip/name_addr.h"
#include "proto/sip/uri.h"
#include "session/sip/sip_bridge.h"
#include "session/sip/sip_pump.h"
#include "session/sip/sip_server.h"
#include "stream/life.h"

namespace weir::session {
namespace {

constexpr std::string_view kOwnApp = "sip";  // of what callers say
constexpr size_t kMaxNameBytes = 64;
constexpr uint64_t kUsualHops = 70;  // Max-Forwards

// A Call-ID may have anything in it; a name of a stream may not.
std::string name_of_call(std::string_view call_id) {
    std::string name;
    for (const char c : call_id.substr(0, kMaxNameBytes)) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_' || c == '@';
        name += plain ? c : '-';
    }
    return name;
}

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kDenied: return kSipForbidden;
        case ErrorCode::kNotFound: return kSipUnavailable;
        case ErrorCode::kBusy: return kSipBusyHere;
        case ErrorCode::kFull: return kSipTooMany;
        case ErrorCode::kMalformed: return kSipNotFound;
        default: return kSipServerError;
    }
}

}  // namespace

SipInboundCall::SipInboundCall(SipServer& server, const sip::CallEvent& invited, SipCaller caller)
    : SipCall(server, "in"), invite_(std::make_unique<Invite>()) {
    invite_->peer = io::SocketAddress::of(invited.flow.remote);
    invite_->request = invited.request;
    invite_->offer_text = invited.sdp;
    id_ = invited.call;
    flow_ = invited.flow;
    user_ = std::move(caller.user);
    trunk_ = std::move(caller.trunk);
    proven_ = caller.proven;
    unproven_place_ = std::move(caller.place);
    call_id_ = invited.request.header("Call-ID");
    from_ = public_uri(invited.request.header("From"));
    to_ = public_uri(invited.request.header("To"));
}

void SipInboundCall::answer() {
    io::set_log_id(name());
    const Refusal refusal = prepare();
    beginning_ = false;
    if (!over_ && refusal.status != 0) {
        server_.counters().refused++;
        server_.log_refused(flow_, from_, refusal.why);
        why_ = net::EndClass::kRefused;
        detail_ = refusal.why;
        over_ = true;
        over_at_ = MonoClock::now();
        status_ = refusal.status;
        server_.with_agent([&](sip::UserAgent& agent) {
            return agent.reject(MonoClock::now(), id_, refusal.status, refusal.headers);
        });
    }
    invite_.reset();
}

SipInboundCall::Refusal SipInboundCall::prepare() {
    using Step = Refusal (SipInboundCall::*)();
    for (const Step step : {&SipInboundCall::find_streams, &SipInboundCall::read_offer,
                            &SipInboundCall::ask_hooks, &SipInboundCall::ring_at_phones,
                            &SipInboundCall::admit_player, &SipInboundCall::admit_publisher,
                            &SipInboundCall::open_media, &SipInboundCall::wait_for_stream}) {
        Refusal refusal = (this->*step)();
        if (refusal.status != 0 || over_) {
            return refusal;
        }
    }
    if (invite_->callee.empty()) {
        begin();
    }
    return {};
}

// What a trunk calls us by may be this server's name there: then To says the number.
const SipDial* SipInboundCall::find_dial(const std::string& number) const {
    const auto find = [](const std::vector<SipDial>& plan, const std::string& wanted) {
        const auto found = std::ranges::find(plan, wanted, &SipDial::number);
        return found == plan.end() ? nullptr : &*found;
    };
    const auto to = sip::SipUri::parse(to_);
    const SipTrunk* const trunk = trunk_.empty() ? nullptr : server_.trunks().find(trunk_);
    const SipDial* found = nullptr;
    for (const std::string& each : {number, to ? to->user : std::string()}) {
        found = found == nullptr && trunk != nullptr ? find(trunk->options().dial, each) : found;
    }
    return found == nullptr ? find(server_.options().dial, number) : found;
}

// A name or number of a user, or a number outside: then there are no streams.
bool SipInboundCall::find_callee(const sip::SipUri& uri) {
    invite_->callee = server_.dialer().user_of(uri.user);
    if (invite_->callee.empty() && server_.dialer().outside_rule(uri.user) != nullptr) {
        invite_->goes_outside = true;
        invite_->callee = uri.user;
        to_ = uri.write_public();  // whom it really calls, for hooks: To may say anything
    }
    if (invite_->callee.empty()) {
        return false;
    }
    play_key_ = server_.services().policy.key_of(sip::without_brackets(uri.host), kOwnApp, "");
    tc_url_ = fmt::format("sip://{}/{}", play_key_.vhost, play_key_.app);
    return true;
}

SipInboundCall::Refusal SipInboundCall::find_streams() {
    const auto uri = sip::SipUri::parse(invite_->request.uri);
    if (!uri || uri->user.empty()) {
        return {kSipNotFound, "the call names no number and no stream"};
    }
    std::string play = uri->user;
    std::string publish = fmt::format("{}/{}", kOwnApp, name_of_call(call_id_));
    const auto& conferences = server_.options().conferences;
    const auto meeting = std::ranges::find(conferences, uri->user, &SipMeeting::number);
    if (meeting != conferences.end()) {
        meets_ = meeting->number;
        play = publish = meeting->stream;
    } else if (const SipDial* const named = find_dial(uri->user)) {
        play = named->play;
        publish = named->publish.empty() ? publish : named->publish;
    } else if (find_callee(*uri)) {
        return may_go_outside();
    } else if (play.find('/') == std::string::npos) {
        return {kSipNotFound,
                fmt::format("nobody has the number {} (sip_server: dial)", log::token(uri->user))};
    }
    const auto key_of = [&](std::string_view path, stream::StreamKey& key) -> Error {
        const size_t slash = path.rfind('/');
        rtmp::StreamName name;
        WEIR_TRY(rtmp::parse_path(path.substr(0, slash), path.substr(slash + 1), name));
        key = server_.services().policy.key_of(sip::without_brackets(uri->host), name.app,
                                               name.stream);
        return {};
    };
    if (key_of(play, play_key_) || key_of(publish, publish_key_)) {
        return {kSipNotFound, "the call names no stream: sip:APP/STREAM@HOST"};
    }
    tc_url_ = fmt::format("sip://{}/{}", play_key_.vhost, play_key_.app);
    wants_play_ = wants_publish_ = true;
    return {};
}

SipInboundCall::Refusal SipInboundCall::read_offer() {
    if (invite_->offer_text.empty() || !invite_->callee.empty()) {
        return {};
    }
    Result<sdp::PhoneDescription> offer = sdp::read_phone_description(invite_->offer_text);
    if (!offer.ok()) {
        return {kSipNotAcceptable, std::string(offer.error().message())};
    }
    invite_->offer = std::move(*offer);
    bool hears = false;
    bool speaks = false;
    for (const sdp::PhoneMedia& media : invite_->offer->media) {
        hears = hears || (!media.rejected && sdp::receives(media.direction));
        speaks = speaks || (!media.rejected && sdp::sends(media.direction));
    }
    wants_play_ = hears;
    wants_publish_ = speaks;
    return {};
}

// Yields.
SipInboundCall::Refusal SipInboundCall::ask_hooks() {
    net::Hooks& hooks = server_.services().hooks;
    if (!hooks.wants(net::HookAction::kCall, play_key_)) {
        return {};
    }
    asked_ =
        std::make_unique<net::Client>(server_.services().clients, "sip", flow_.remote.ip_text());
    asked_->kick = [this] { end(net::EndClass::kKicked, "kicked by the API"); };
    const net::HookRequestView what{.action = net::HookAction::kCall,
                                    .vhost = play_key_.vhost,
                                    .app = play_key_.app,
                                    .stream = play_key_.name,
                                    .param = {},
                                    .tc_url = tc_url_,
                                    .page_url = {},
                                    .call = call_id_,
                                    .from = from_,
                                    .to = to_,
                                    .user = user_.empty() ? trunk_ : user_};
    Result<net::HookTicket> ticket = hooks.ask(*asked_, what, nullptr);
    if (!ticket.ok()) {
        return {ticket.error().code() == ErrorCode::kDenied ? kSipForbidden : kSipTooMany,
                std::string(ticket.error().message())};
    }
    ticket_ = std::move(*ticket);
    return {};
}

net::NewcomerView SipInboundCall::newcomer(const stream::StreamKey& key) const {
    return {.access = {.key = key,
                       .peer = invite_->peer,
                       .user = user_,
                       .secure = flow_.transport == sip::Transport::kTls,
                       .transport = "sip"},
            .tc_url = tc_url_,
            .takes_address_place = true,
            .check = [this]() -> Error {
                return over_ ? make_error(ErrorCode::kClosed, "the caller hung up") : Error();
            }};
}

SipInboundCall::Refusal SipInboundCall::no_connections() {
    return {kSipTooMany, "max_connections is reached"};
}

// Yields.
SipInboundCall::Refusal SipInboundCall::admit_player() {
    if (!meets_.empty()) {
        Refusal refusal = enter_conference();
        if (refusal.status != 0) {
            return refusal;
        }
    } else if (!wants_play_) {
        return {};
    }
    Result<net::AdmittedPlayer> admitted = server_.admission().play(newcomer(play_key_));
    if (!admitted.ok()) {
        return {status_of(admitted.error()), std::string(admitted.error().message())};
    }
    play_rules_ = admitted->rules;
    return take_row(player_, std::move(admitted->client), player_probe_) ? Refusal()
                                                                         : no_connections();
}

// Yields. The first caller of a conference begins its stream.
SipInboundCall::Refusal SipInboundCall::enter_conference() {
    net::NewcomerView who = newcomer(publish_key_);
    who.takes_address_place = false;  // that is the call's
    Result<SipConference*> entered =
        server_.conferences().enter(meets_, server_.admission(), who, server_.options().workers);
    if (!entered.ok()) {
        return {status_of(entered.error()), std::string(entered.error().message())};
    }
    conference_ = *entered;
    return {};
}

// Yields. A phone that may not publish may still hear.
SipInboundCall::Refusal SipInboundCall::admit_publisher() {
    if (!wants_publish_ || conference_ != nullptr) {
        return {};
    }
    Result<net::AdmittedPublisher> admitted = server_.admission().publish(newcomer(publish_key_));
    if (!admitted.ok()) {
        wants_publish_ = false;
        return wants_play_
                   ? Refusal()
                   : Refusal{status_of(admitted.error()), std::string(admitted.error().message())};
    }
    publish_rules_ = admitted->rules;
    return take_row(publisher_, std::move(admitted->client), publisher_probe_) ? Refusal()
                                                                               : no_connections();
}

// Toll fraud: a phone that has shown a password, and a rule that names the user.
SipInboundCall::Refusal SipInboundCall::may_go_outside() const {
    if (!invite_->goes_outside) {
        return {};
    }
    const SipOutside* const rule = server_.dialer().outside_rule(invite_->callee);
    const bool allowed =
        rule != nullptr && !user_.empty() &&
        (rule->users.empty() || std::ranges::find(rule->users, user_) != rule->users.end());
    return allowed
               ? Refusal()
               : Refusal{kSipForbidden, "that caller may not call outside (sip_server: outside)"};
}

// Where the phones of the callee are, or the provider.
SipInboundCall::Refusal SipInboundCall::find_way(SipDestination& way, std::string& outside) {
    if (!invite_->goes_outside) {
        way.targets = server_.dialer().phones_of(invite_->callee);
        if (!server_.wires().is_own(flow_)) {  // all lines come by the same
            std::erase_if(way.targets, [this](const SipDestination::Target& each) {
                return each.flow == flow_;  // its own
            });
        }
        return way.targets.empty() ? Refusal{kSipUnavailable, "no phone of that user is registered"}
                                   : Refusal();
    }
    if (Refusal refusal = may_go_outside(); refusal.status != 0) {
        return refusal;  // the rules have changed while a hook server was asked
    }
    const SipOutside rule = *server_.dialer().outside_rule(invite_->callee);
    SipCallOrder order;
    order.to = invite_->callee.substr(rule.strip);
    order.via = rule.via;
    Result<SipDestination> found =
        server_.dialer().find(order, io::Deadline::after(SipTrunk::kResolveTime));
    if (!found.ok()) {
        return {kSipUnavailable, std::string(found.error().message())};
    }
    // From here to the bridge nothing yields: no call is counted too late.
    if (server_.outside_calls(rule.prefix) >= rule.max_calls) {
        return {kSipTooMany, "max_calls of that line of outside is reached"};
    }
    server_.counters().outside++;
    log::info("call to {} goes outside user={} via={}", log::token(invite_->callee),
              log::token(user_), rule.via);
    way = std::move(*found);
    outside = rule.prefix;
    return {};
}

// The call goes to a SipBridge, and is not this object's any more.
SipInboundCall::Refusal SipInboundCall::ring_at_phones() {
    if (invite_->callee.empty()) {
        return {};
    }
    SipDestination way;
    std::string outside;
    if (Refusal refusal = find_way(way, outside); refusal.status != 0 || over_) {
        return refusal;
    }
    const auto party = sip::NameAddr::parse(invite_->request.header("From"));
    const auto hops = parse_uint(invite_->request.header("Max-Forwards"));
    SipBridgeCaller caller{.id = id_,
                           .flow = flow_,
                           .call_id = call_id_,
                           .from = from_,
                           .display = party ? party->display : std::string(),
                           .to = to_,
                           .user = user_,
                           .trunk = trunk_,
                           .proven = proven_,
                           .unproven_place = std::move(unproven_place_),
                           .outside = std::move(outside),
                           .offer = std::move(invite_->offer_text),
                           .max_forwards = static_cast<uint32_t>(
                               std::min<uint64_t>(hops.value_or(kUsualHops), kUsualHops)),
                           .asked = std::move(asked_),
                           .ticket = std::move(ticket_)};
    auto made = std::make_unique<SipBridge>(server_, std::move(caller));
    SipBridge& bridge = *made;
    server_.adopt(std::move(made));
    server_.route(id_, bridge);
    handed_over_ = true;
    over_ = true;
    if (SipBridge::Refusal refusal = bridge.begin(std::move(way)); refusal.status != 0) {
        bridge.refuse(refusal);
    }
    return {};
}

SipInboundCall::Refusal SipInboundCall::open_media() {
    options_ = options_now();
    const bool video =
        conference_ == nullptr &&
        (!invite_->offer || invite_->offer->find(media::TrackKind::kVideo) != nullptr);
    if (Error failed = open_ports(true, video)) {
        return {kSipTooMany, std::string(failed.message())};
    }
    if (!video) {
        options_.video.codecs.clear();
    }
    server_.security().prepare(options_, server_.options().srtp, {},
                               invite_->offer ? &*invite_->offer : nullptr);
    if (!invite_->offer) {
        return {};
    }
    Result<sdp::PhoneAgreement> agreed = sdp::answer_phone(*invite_->offer, options_);
    if (!agreed.ok()) {
        return {kSipNotAcceptable, std::string(agreed.error().message())};
    }
    invite_->answer = take_agreement(std::move(*agreed), invite_->offer_text.size());
    return {};
}

// Yields while nobody publishes: the phone rings.
SipInboundCall::Refusal SipInboundCall::wait_for_stream() {
    if (!wants_play_ || conference_ != nullptr) {
        return {};
    }
    if (const Error failed = find_pump()) {
        return {kSipServerError, std::string(failed.message())};
    }

    struct Watch final : stream::LifeObserver {
        explicit Watch(io::Signal& to) : signal(to) {}

        void on_publish(stream::Stream&) override { signal.notify_all(); }

        io::Signal& signal;
    } watch(changed_);

    stream::Stream& stream = pump_->stream();
    if (stream.live()) {
        return {};
    }
    ringing_ = true;
    server_.with_agent([&](sip::UserAgent& agent) { return agent.ring(MonoClock::now(), id_); });
    stream.observers().add(watch);
    const io::Deadline deadline = io::Deadline::after(play_rules_.pump.wait_publisher);
    Error waited;
    while (!over_ && !stream.live() && !waited) {
        waited = changed_.wait_until(deadline, "a publisher");
    }
    stream.observers().remove(watch);
    if (waited.code() == ErrorCode::kInterrupted) {
        abandon(net::EndClass::kStopping, "the server stops");
    }
    return stream.live() ? Refusal() : Refusal{kSipUnavailable, "nobody publishes the stream"};
}

void SipInboundCall::begin() {
    if (wants_publish_ && conference_ == nullptr && begin_publishing()) {
        wants_publish_ = false;
    }
    std::string answer =
        invite_->offer ? std::move(invite_->answer) : sdp::write_phone_offer(options_);
    begin_media(invite_->offer.has_value());
    server_.counters().answered++;
    server_.with_agent([&](sip::UserAgent& agent) {
        return agent.accept(MonoClock::now(), id_, std::move(answer));
    });
}

}  // namespace weir::session
