#include "session/sip/sip_call.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "base/strings.h"
#include "proto/rtmp/stream_name.h"
#include "proto/sip/name_addr.h"
#include "proto/sip/uri.h"
#include "session/sip/sip_server.h"

namespace weir::session {
namespace {

constexpr std::string_view kOwnApp = "sip";  // of what callers say
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kIdLength = 7;

// Statuses of SIP (RFC 3261 §21).
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kUnavailable = 480;
constexpr int kBusyHere = 486;
constexpr int kNotAcceptable = 488;
constexpr int kServerError = 500;
constexpr int kTooMany = 503;

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

std::string public_uri(std::string_view field) {
    const auto party = sip::NameAddr::parse(field);
    const auto uri = party ? party->address() : std::nullopt;
    return uri ? uri->write_public() : std::string();
}

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kDenied: return kForbidden;
        case ErrorCode::kNotFound: return kUnavailable;
        case ErrorCode::kBusy: return kBusyHere;
        case ErrorCode::kFull: return kTooMany;
        case ErrorCode::kMalformed: return kNotFound;
        default: return kServerError;
    }
}

const std::vector<sdp::PhoneCodec>& video_codecs() {
    static const std::vector<sdp::PhoneCodec> all{{media::Codec::kH264, 90'000, 99},
                                                  {media::Codec::kVp8, 90'000, 100}};
    return all;
}

std::string_view codec_text(const sdp::PhoneTrack& track) {
    return track.in_use ? media::to_string(track.codec) : std::string_view();
}

}  // namespace

SipCall::SipCall(SipServer& server, const sip::CallEvent& invited)
    : server_(server),
      id_(invited.call),
      name_("s" + random_id(system_random(), kIdLength)),
      flow_(invited.flow),
      peer_(io::SocketAddress::of(invited.flow.remote)),
      request_(invited.request),
      call_id_(invited.request.header("Call-ID")),
      from_(public_uri(invited.request.header("From"))),
      to_(public_uri(invited.request.header("To"))),
      offer_text_(invited.sdp),
      since_(MonoClock::now()) {}

SipCall::~SipCall() {
    WEIR_CHECK(!media_ && !player_ && !publisher_);
}

// ---- from the INVITE to the answer ----

void SipCall::answer() {
    io::set_log_id(name_);
    const Refusal refusal = prepare();
    answering_ = false;
    if (!over_ && refusal.status != 0) {
        if (refusal.status == kUnauthorized) {
            server_.counters().challenged++;
        } else {
            server_.counters().refused++;
            server_.log_refused(flow_, from_, refusal.why);
        }
        why_ = net::EndClass::kRefused;
        detail_ = refusal.why;
        over_ = true;
        server_.with_agent([&](sip::UserAgent& agent) {
            return agent.reject(MonoClock::now(), id_, refusal.status, refusal.headers);
        });
    }
}

SipCall::Refusal SipCall::prepare() {
    using Step = Refusal (SipCall::*)();
    for (const Step step :
         {&SipCall::find_streams, &SipCall::read_offer, &SipCall::admit_player,
          &SipCall::admit_publisher, &SipCall::open_media, &SipCall::wait_for_stream}) {
        Refusal refusal = (this->*step)();
        if (refusal.status != 0 || over_) {
            return refusal;
        }
    }
    begin();
    return {};
}

SipCall::Refusal SipCall::find_streams() {
    SipAccess::Answer who =
        server_.access().check(request_, flow_, server_.options(), MonoClock::now());
    if (who.kind == SipAccess::Answer::Kind::kChallenge) {
        return {kUnauthorized, "it has to show who it is", std::move(who.headers)};
    }
    if (who.kind == SipAccess::Answer::Kind::kRefused) {
        return {kForbidden, "calls of this address are not allowed (sip_server: user, trunk)"};
    }
    user_ = std::move(who.user);
    const auto uri = sip::SipUri::parse(request_.uri);
    if (!uri || uri->user.empty()) {
        return {kNotFound, "the call names no number and no stream"};
    }
    std::string play = uri->user;
    std::string publish = fmt::format("{}/{}", kOwnApp, name_of_call(call_id_));
    const auto& dial = server_.options().dial;
    const auto named =
        std::ranges::find_if(dial, [&](const SipDial& each) { return each.number == uri->user; });
    if (named != dial.end()) {
        play = named->play;
        publish = named->publish.empty() ? publish : named->publish;
    } else if (play.find('/') == std::string::npos) {
        return {kNotFound,
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
        return {kNotFound, "the call names no stream: sip:APP/STREAM@HOST"};
    }
    tc_url_ = fmt::format("sip://{}/{}", play_key_.vhost, play_key_.app);
    wants_play_ = wants_publish_ = true;
    return {};
}

SipCall::Refusal SipCall::read_offer() {
    if (offer_text_.empty()) {
        return {};
    }
    Result<sdp::PhoneDescription> offer = sdp::read_phone_description(offer_text_);
    if (!offer.ok()) {
        return {kNotAcceptable, std::string(offer.error().message())};
    }
    offer_ = std::move(*offer);
    bool hears = false;
    bool speaks = false;
    for (const sdp::PhoneMedia& media : offer_->media) {
        hears = hears || (!media.rejected && sdp::receives(media.direction));
        speaks = speaks || (!media.rejected && sdp::sends(media.direction));
    }
    wants_play_ = hears;
    wants_publish_ = speaks;
    return {};
}

net::NewcomerView SipCall::newcomer(const stream::StreamKey& key) const {
    return {.access = {.key = key,
                       .peer = peer_,
                       .user = user_,
                       .secure = flow_.transport == sip::Transport::kTls,
                       .transport = "sip"},
            .tc_url = tc_url_,
            .takes_address_place = true,
            .check = [this]() -> Error {
                return over_ ? make_error(ErrorCode::kClosed, "the caller hung up") : Error();
            }};
}

SipCall::Refusal SipCall::no_connections() {
    return {kTooMany, "max_connections is reached"};
}

// Yields.
SipCall::Refusal SipCall::admit_player() {
    if (!wants_play_) {
        return {};
    }
    Result<net::AdmittedPlayer> admitted = server_.admission().play(newcomer(play_key_));
    if (!admitted.ok()) {
        return {status_of(admitted.error()), std::string(admitted.error().message())};
    }
    player_place_ = std::move(*admitted);
    return take_row(player_, *player_place_, player_probe_) ? Refusal() : no_connections();
}

// Yields. A phone that may not publish may still hear.
SipCall::Refusal SipCall::admit_publisher() {
    if (!wants_publish_) {
        return {};
    }
    Result<net::AdmittedPublisher> admitted = server_.admission().publish(newcomer(publish_key_));
    if (!admitted.ok()) {
        wants_publish_ = false;
        return wants_play_
                   ? Refusal()
                   : Refusal{status_of(admitted.error()), std::string(admitted.error().message())};
    }
    publisher_place_ = std::move(*admitted);
    return take_row(publisher_, *publisher_place_, publisher_probe_) ? Refusal() : no_connections();
}

bool SipCall::take_row(std::unique_ptr<net::Client>& place, net::Admitted& admitted, Probe& probe) {
    place = std::move(admitted.client);
    if (!server_.services().connections.take()) {
        return false;
    }
    place->hold(server_.services().connections);
    place->tc_url = tc_url_;
    place->encrypted = flow_.transport == sip::Transport::kTls;
    place->probe = &probe;
    place->kick = [this] { end(net::EndClass::kKicked, "kicked by the API"); };
    return true;
}

SipCall::Refusal SipCall::open_media() {
    options_ = options_now();
    const bool video = !offer_ || offer_->find(media::TrackKind::kVideo) != nullptr;
    NetAddress local = flow_.local.with_port(0);
    if (!server_.options().address.empty()) {  // that is none of this host's own
        local = local.is_v4() ? NetAddress::from_v4({}, 0) : NetAddress::from_v6({}, 0);
    }
    media_ = std::make_unique<SipMedia>(static_cast<SipMediaOwner&>(*this), server_.unix_epoch());
    if (Error failed = media_->open(local, server_.options().rtp_ports, true, video)) {
        return {kTooMany, std::string(failed.message())};
    }
    player_probe_.media = publisher_probe_.media = media_.get();
    player_probe_.plays = true;
    options_.audio.port = media_->port(SipMedia::kAudio);
    options_.video.port = media_->port(SipMedia::kVideo);
    if (!video) {
        options_.video.codecs.clear();
    }
    if (!offer_) {
        return {};
    }
    Result<sdp::PhoneAgreement> agreed = sdp::answer_phone(*offer_, options_);
    if (!agreed.ok()) {
        return {kNotAcceptable, std::string(agreed.error().message())};
    }
    agreed_ = std::move(*agreed);
    return {};
}

sdp::PhoneOptions SipCall::options_now() const {
    sdp::PhoneOptions options;
    options.address = flow_.local.with_port(0);
    options.session_id = random_u32(system_random());
    const auto known = sip_audio_codecs();
    options.audio.codecs.assign(known.begin(), known.end());
    if (wants_publish_) {  // no other protocol carries it
        std::erase_if(options.audio.codecs, [](const sdp::PhoneCodec& each) {
            return each.codec == media::Codec::kG722;
        });
    }
    const stream::Stream* const stream = server_.services().registry.find(play_key_);
    const media::Codec played =
        stream != nullptr && stream->has_audio() ? stream->audio().codec : media::Codec::kUnknown;
    const auto same = [played](const sdp::PhoneCodec& each) { return each.codec == played; };
    if (std::ranges::any_of(options.audio.codecs, same)) {  // nothing has to be transcoded
        std::ranges::stable_partition(options.audio.codecs, same);
        options.own_order = true;
    }
    options.video.codecs = video_codecs();
    options.audio.direction = wants_play_ && wants_publish_ ? sdp::Direction::kSendRecv
                              : wants_publish_              ? sdp::Direction::kRecvOnly
                                                            : sdp::Direction::kSendOnly;
    options.video.direction = options.audio.direction;
    return options;
}

// Yields while nobody publishes: the phone rings.
SipCall::Refusal SipCall::wait_for_stream() {
    if (!wants_play_) {
        return {};
    }
    const sdp::PhoneTrack& audio = agreed_.audio;
    Result<SipPump*> pump = server_.pump_for(
        play_key_, player_place_->rules,
        audio.in_use ? sdp::PhoneCodec{audio.codec, audio.clock_hz, 0} : sdp::PhoneCodec{});
    if (!pump.ok()) {
        return {kServerError, std::string(pump.error().message())};
    }
    pump_ = *pump;
    pump_->hold();

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
    const io::Deadline deadline = io::Deadline::after(player_place_->rules.pump.wait_publisher);
    Error waited;
    while (!over_ && !stream.live() && !waited) {
        waited = changed_.wait_until(deadline, "a publisher");
    }
    stream.observers().remove(watch);
    if (waited.code() == ErrorCode::kInterrupted) {
        over_ = true;
        why_ = net::EndClass::kStopping;
        detail_ = "the server stops";
    }
    return stream.live() ? Refusal() : Refusal{kUnavailable, "nobody publishes the stream"};
}

void SipCall::begin() {
    if (wants_publish_) {
        const MonoTime now = MonoClock::now();
        stream::Registry& registry = server_.services().registry;
        stream::Stream& stream =
            registry.get_or_create(publish_key_, publisher_place_->rules.stream, now);
        if (const Error busy =
                stream.start_publish(*media_, publisher_place_->rules.conflict, now)) {
            registry.release(stream);
            publisher_->end_quietly(net::EndClass::kRefused, busy.message());
            publisher_.reset();
            wants_publish_ = false;
        } else {
            published_ = &stream;
            net::begin_turn(*publisher_, net::ClientRole::kPublisher, publish_key_);
        }
    }
    std::string answer = agreed_.answer;
    if (offer_) {
        media_->agree(agreed_, flow_.remote.with_port(0));
    } else {
        answer = sdp::write_phone_offer(options_);
    }
    if (published_ != nullptr) {
        media_->publish(*published_, publisher_place_->rules, *publisher_);
    }
    if (pump_ != nullptr) {
        net::begin_turn(*player_, net::ClientRole::kPlayer, play_key_);
        media_->play(*pump_, *player_);
        std::exchange(pump_, nullptr)->release();
    }
    answered_ = true;
    request_ = {};
    server_.counters().answered++;
    server_.with_agent([&](sip::UserAgent& agent) {
        return agent.accept(MonoClock::now(), id_, std::move(answer));
    });
}

// ---- while it is there ----

void SipCall::on_event(const sip::CallEvent& event) {
    using Kind = sip::CallEvent::Kind;
    switch (event.kind) {
        case Kind::kConfirmed:
            if (!event.sdp.empty() && media_) {
                const auto answer = sdp::read_phone_description(event.sdp);
                Result<sdp::PhoneAgreement> agreed =
                    answer.ok() ? sdp::accept_phone(*answer, options_)
                                : make_error(ErrorCode::kMalformed, "{}", answer.error().message());
                if (!agreed.ok()) {
                    end(net::EndClass::kError, agreed.error().message());
                    return;
                }
                agreed_ = std::move(*agreed);
                media_->agree(agreed_, flow_.remote.with_port(0));
            }
            return;
        case Kind::kOffer: on_offer(event); return;
        case Kind::kInfo: return;  // digits by INFO are not read yet
        case Kind::kCancelled:
        case Kind::kFailed:
        case Kind::kEnded:
            if (!over_) {
                over_ = true;
                why_ = event.status == 0 || event.status == 487 ? net::EndClass::kPeerClosed
                                                                : net::EndClass::kTimeout;
                detail_ = event.status == 0 ? "the phone hung up"
                                            : fmt::format("{} {}", event.status, event.reason);
            }
            changed_.notify_all();
            return;
        default: return;
    }
}

void SipCall::on_offer(const sip::CallEvent& event) {
    const MonoTime now = MonoClock::now();
    if (over_ || !answered_) {
        server_.with_agent(
            [&](sip::UserAgent& agent) { return agent.refuse_offer(now, id_, kUnavailable); });
        return;
    }
    if (event.sdp.empty()) {  // it wants an offer of ours: what holds already
        options_.version++;
        server_.with_agent([&](sip::UserAgent& agent) {
            return agent.answer_offer(now, id_, sdp::write_phone_offer(options_));
        });
        return;
    }
    const auto offer = sdp::read_phone_description(event.sdp);
    options_.version++;
    Result<sdp::PhoneAgreement> agreed =
        offer.ok() ? sdp::answer_phone(*offer, options_)
                   : make_error(ErrorCode::kMalformed, "{}", offer.error().message());
    const bool fits =
        agreed.ok() && (!media_->plays() || (agreed->audio.codec == agreed_.audio.codec &&
                                             agreed->audio.clock_hz == agreed_.audio.clock_hz));
    server_.with_agent([&](sip::UserAgent& agent) {
        return fits ? agent.answer_offer(now, id_, agreed->answer)
                    : agent.refuse_offer(now, id_, kNotAcceptable);
    });
    if (fits) {
        agreed_ = std::move(*agreed);
        media_->agree(agreed_, event.flow.remote.empty() ? flow_.remote.with_port(0)
                                                         : event.flow.remote.with_port(0));
    }
}

void SipCall::tick(MonoTime now) {
    if (over_ || !answered_) {
        return;
    }
    media_->tick(now);
    const bool hears_nothing =
        !sdp::receives(agreed_.audio.direction) && !sdp::receives(agreed_.video.direction);
    if (!hears_nothing && now - media_->last_heard() > server_.options().rtp_timeout) {
        end(net::EndClass::kTimeout, "no media from the phone (rtp_timeout)");
    }
}

void SipCall::on_digit(char digit) {
    digits_++;
    server_.counters().digits++;
    last_digits_ += digit;
    if (last_digits_.size() > kMaxDigits) {
        last_digits_.erase(0, 1);
    }
}

void SipCall::on_publish_over(net::EndClass why, std::string_view detail) {
    if (why == net::EndClass::kReplaced) {
        published_ = nullptr;  // the other one holds it
    }
    end(why, detail);
}

void SipCall::on_play_over(net::EndClass why, std::string_view detail) {
    end(why, detail);
}

// ---- the end ----

// By this side. It may be its own media that wants it: finish() comes later.
void SipCall::end(net::EndClass why, std::string_view detail) {
    if (over_) {
        return;
    }
    over_ = true;
    why_ = why;
    detail_ = detail;
    changed_.notify_all();
    server_.with_agent([&](sip::UserAgent& agent) { return agent.hang_up(MonoClock::now(), id_); });
    server_.look_soon();
}

void SipCall::abandon(net::EndClass why, std::string_view detail) {
    if (!over_) {
        over_ = true;
        why_ = why;
        detail_ = detail;
    }
    changed_.notify_all();
}

void SipCall::finish() {
    if (pump_ != nullptr) {
        std::exchange(pump_, nullptr)->release();
    }
    if (media_) {
        media_->stop();
        media_.reset();
    }
    if (published_ != nullptr) {
        server_.services().registry.release(*std::exchange(published_, nullptr));
    }
    for (std::unique_ptr<net::Client>* row : {&player_, &publisher_}) {
        if (*row) {
            (*row)->probe = nullptr;
            if ((*row)->role == net::ClientRole::kConnecting) {
                (*row)->end_quietly(why_, detail_);
            } else {
                (*row)->log_summary(why_, detail_);
            }
            row->reset();
        }
    }
}

SipCallFacts SipCall::facts(MonoTime now) const {
    SipCallFacts facts;
    facts.id = name_;
    facts.call_id = call_id_;
    facts.from = from_;
    facts.to = to_;
    facts.user = user_;
    facts.ip = flow_.remote.ip_text();
    facts.transport = to_lower(sip::to_string(flow_.transport));
    facts.state = answered_ ? "answered" : ringing_ ? "ringing" : "setup";
    facts.audio = codec_text(agreed_.audio);
    facts.video = codec_text(agreed_.video);
    facts.play = wants_play_ ? play_key_.to_string() : std::string();
    facts.publish = wants_publish_ ? publish_key_.to_string() : std::string();
    facts.play_client = player_ ? std::string(player_->id()) : std::string();
    facts.publish_client = publisher_ ? std::string(publisher_->id()) : std::string();
    facts.held = answered_ && !sdp::sends(agreed_.audio.direction);
    facts.digits = digits_;
    facts.last_digits = last_digits_;
    if (media_) {
        facts.packets_received = media_->counters().received;
        facts.strangers = media_->counters().strangers;
    }
    facts.age = std::chrono::duration_cast<Millis>(now - since_);
    return facts;
}

}  // namespace weir::session
