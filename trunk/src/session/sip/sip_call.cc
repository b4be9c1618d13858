#include "session/sip/sip_call.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"
#include "base/strings.h"
#include "proto/sip/name_addr.h"
#include "session/sip/sip_pump.h"
#include "session/sip/sip_server.h"

namespace weir::session {
namespace {

constexpr size_t kIdLength = 7;

const std::vector<sdp::PhoneCodec>& video_codecs() {
    static const std::vector<sdp::PhoneCodec> all{{media::Codec::kH264, 90'000, 99},
                                                  {media::Codec::kVp8, 90'000, 100}};
    return all;
}

std::string_view codec_text(const sdp::PhoneTrack& track) {
    return track.in_use ? media::to_string(track.codec) : std::string_view();
}

}  // namespace

std::string_view sip_failure(int status) {
    switch (status) {
        case 0: return "";
        case 486:
        case 600: return "busy";
        case 408:
        case 480:
        case 487: return "no answer";
        case 401:
        case 403:
        case 407: return "not allowed";
        case 404:
        case 410:
        case 484:
        case 604: return "no such number";
        case 488:
        case 606: return "no common codec";
        case 502:
        case 503:
        case 504: return "unreachable";
        case 603: return "rejected";
        default: return status < 500 || status >= 600 ? "rejected" : "error";
    }
}

std::string public_uri(std::string_view field) {
    const auto party = sip::NameAddr::parse(field);
    const auto uri = party ? party->address() : std::nullopt;
    return uri ? uri->write_public() : std::string();
}

SipCall::SipCall(SipServer& server, const char* direction)
    : SipParty("s" + random_id(system_random(), kIdLength)),
      server_(server),
      direction_(direction),
      since_(MonoClock::now()) {}

SipCall::~SipCall() {
    WEIR_CHECK(!media_ && !player_ && !publisher_ && !asked_);
}

// ---- what it is made of ----

bool SipCall::take_row(std::unique_ptr<net::Client>& place,
                       std::unique_ptr<net::Client> row,
                       Probe& probe) {
    place = std::move(row);
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

Error SipCall::take_own_rows() {
    net::ClientTable& clients = server_.services().clients;
    const auto row = [&] {
        return std::make_unique<net::Client>(clients, "sip", flow_.remote.ip_text());
    };
    const net::Policy& policy = server_.services().policy;
    play_rules_ = policy.rules_of_forward(play_key_);
    publish_rules_ = policy.rules_of_source(publish_key_);
    if ((wants_play_ && !take_row(player_, row(), player_probe_)) ||
        (wants_publish_ && !take_row(publisher_, row(), publisher_probe_))) {
        return make_error(ErrorCode::kFull, "max_connections is reached");
    }
    return {};
}

Error SipCall::open_ports(bool audio, bool video) {
    NetAddress local = flow_.local.with_port(0);
    if (!server_.options().address.empty()) {  // that is none of this host's own
        local = local.is_v4() ? NetAddress::from_v4({}, 0) : NetAddress::from_v6({}, 0);
    }
    media_ = std::make_unique<SipMedia>(static_cast<SipMediaOwner&>(*this), server_.unix_epoch(),
                                        server_.security());
    WEIR_TRY(media_->open(local, server_.options().rtp_ports, audio, video));
    player_probe_.media = publisher_probe_.media = media_.get();
    player_probe_.plays = true;
    options_.audio.port = media_->port(SipMedia::kAudio);
    options_.video.port = media_->port(SipMedia::kVideo);
    return {};
}

sdp::PhoneOptions SipCall::options_now() const {
    sdp::PhoneOptions options;
    options.address = flow_.local.with_port(0);
    options.session_id = random_u32(system_random());
    const auto known = sip_audio_codecs();
    options.audio.codecs.assign(known.begin(), known.end());
    if (wants_publish_ && server_.options().workers == nullptr) {  // no other protocol carries it
        std::erase_if(options.audio.codecs, [](const sdp::PhoneCodec& each) {
            return each.codec == media::Codec::kG722;
        });
    }
    const stream::Stream* const stream = server_.services().registry.find(play_key_);
    const media::Codec played =
        stream != nullptr && stream->has_audio() ? stream->audio().codec : media::Codec::kUnknown;
    const auto same = [played](const sdp::PhoneCodec& each) { return each.codec == played; };
    if (conference_ != nullptr) {
        std::erase_if(options.audio.codecs, [&](const sdp::PhoneCodec& each) {
            return !ConferenceParty::takes(each.codec, server_.options().workers);
        });
    } else if (std::ranges::any_of(options.audio.codecs, same)) {  // nothing has to be transcoded
        std::ranges::stable_partition(options.audio.codecs, same);
        options.own_order = true;
    }
    options.video.codecs = conference_ != nullptr ? std::vector<sdp::PhoneCodec>() : video_codecs();
    options.audio.direction = wants_play_ && wants_publish_ ? sdp::Direction::kSendRecv
                              : wants_publish_              ? sdp::Direction::kRecvOnly
                                                            : sdp::Direction::kSendOnly;
    options.video.direction = options.audio.direction;
    return options;
}

void SipCall::choose_codecs(const std::vector<std::string>& wanted) {
    const auto place_of = [&](const sdp::PhoneCodec& each) {
        const std::string name = to_lower(media::to_string(each.codec));
        const auto found = std::ranges::find_if(wanted, [&](const std::string& one) {
            const std::string known = to_lower(one);
            return known == name || known == fmt::format("{}/{}", name, each.clock_hz);
        });
        return static_cast<size_t>(found - wanted.begin());
    };
    for (std::vector<sdp::PhoneCodec>* all : {&options_.audio.codecs, &options_.video.codecs}) {
        std::erase_if(*all,
                      [&](const sdp::PhoneCodec& each) { return place_of(each) == wanted.size(); });
        std::ranges::stable_sort(*all, {}, place_of);
    }
    options_.own_order = true;
}

std::string SipCall::take_agreement(sdp::PhoneAgreement agreed, size_t bytes) {
    described_ = bytes;
    std::string answer = std::move(agreed.answer);
    agreed.answer = {};
    agreed_ = std::make_shared<const sdp::PhoneAgreement>(std::move(agreed));
    return answer;
}

Error SipCall::find_pump() {
    const sdp::PhoneTrack& audio = agreed_->audio;
    WEIR_TRY_ASSIGN(pump_,
                    server_.pump_for(play_key_, play_rules_,
                                     audio.in_use ? sdp::PhoneCodec{audio.codec, audio.clock_hz, 0}
                                                  : sdp::PhoneCodec{}));
    pump_->hold();
    return {};
}

Error SipCall::begin_publishing() {
    const MonoTime now = MonoClock::now();
    stream::Registry& registry = server_.services().registry;
    stream::Stream& stream = registry.get_or_create(publish_key_, publish_rules_.stream, now);
    if (Error busy = stream.start_publish(*media_, publish_rules_.conflict, now)) {
        registry.release(stream);
        publisher_->end_quietly(net::EndClass::kRefused, busy.message());
        publisher_.reset();
        return busy;
    }
    published_ = &stream;
    net::begin_turn(*publisher_, net::ClientRole::kPublisher, publish_key_);
    return {};
}

void SipCall::begin_media(bool agreed) {
    if (proven_) {
        media_->trust(flow_.remote);
    }
    if (agreed) {
        media_->agree(agreed_, flow_.remote.with_port(0), described_);
    }
    media_->use_voice({server_.options().jitter_buffer, server_.options().workers});
    if (conference_ != nullptr) {
        net::begin_turn(*player_, net::ClientRole::kPlayer, play_key_);
        media_->join(*conference_, *player_);
    }
    if (published_ != nullptr) {
        media_->publish(*published_, publish_rules_, *publisher_);
    }
    if (pump_ != nullptr) {
        net::begin_turn(*player_, net::ClientRole::kPlayer, play_key_);
        media_->play(*pump_, *player_);
        std::exchange(pump_, nullptr)->release();
    }
    answered_ = true;
    if (agreed) {
        warn_of_keys();
        if (observer_ != nullptr) {
            observer_->on_answered(agreed_->audio, agreed_->video);
        }
    }
}

// Whose keys everybody on the way could read.
void SipCall::warn_of_keys() {
    if (media_->keys() == sdp::PhoneKeys::kSdes && flow_.transport != sip::Transport::kTls) {
        server_.log_clear_keys(flow_, from_);
    }
}

// ---- while it is there ----

void SipCall::on_event(const sip::CallEvent& event) {
    using Kind = sip::CallEvent::Kind;
    switch (event.kind) {
        case Kind::kConfirmed:
            on_confirmed();
            on_late_answer(event);
            return;
        case Kind::kOfferAnswered: on_late_answer(event); return;
        case Kind::kOffer: on_offer(event); return;
        case Kind::kInfo: on_info(event); return;
        case Kind::kOfferRefused:
            options_.audio.direction = before_hold_.first;
            options_.video.direction = before_hold_.second;
            return;
        case Kind::kCancelled:
        case Kind::kFailed:
        case Kind::kEnded: note_end(event); return;
        default: return;
    }
}

void SipCall::note_end(const sip::CallEvent& event) {
    if (!over_) {
        over_ = true;
        over_at_ = MonoClock::now();
        status_ = event.status;
        const bool peer = event.status == 0 || event.status == kSipCancelled;
        why_ = peer ? net::EndClass::kPeerClosed : net::EndClass::kTimeout;
        detail_ = event.status == 0 ? "the phone hung up"
                                    : fmt::format("{} {}", event.status, event.reason);
    }
    changed_.notify_all();
}

void SipCall::on_confirmed() {
    proven_ = true;
    unproven_place_.release();
    if (media_ && !over_) {
        media_->trust(flow_.remote);
    }
}

// The answer to an offer of ours, after the call was answered.
void SipCall::on_late_answer(const sip::CallEvent& event) {
    if (event.sdp.empty() || !media_ || over_) {
        return;
    }
    const auto answer = sdp::read_phone_description(event.sdp);
    Result<sdp::PhoneAgreement> agreed =
        answer.ok() ? sdp::accept_phone(*answer, options_)
                    : make_error(ErrorCode::kMalformed, "{}", answer.error().message());
    if (!agreed.ok()) {
        end(net::EndClass::kError, agreed.error().message());
        return;
    }
    const bool first = !agreed_->has_media();
    take_agreement(std::move(*agreed), event.sdp.size());
    media_->agree(agreed_, flow_.remote.with_port(0), described_);
    warn_of_keys();
    if (first && observer_ != nullptr) {
        observer_->on_answered(agreed_->audio, agreed_->video);
    }
}

void SipCall::on_offer(const sip::CallEvent& event) {
    const MonoTime now = MonoClock::now();
    if (over_ || !answered_) {
        server_.with_agent(
            [&](sip::UserAgent& agent) { return agent.refuse_offer(now, id_, kSipUnavailable); });
        return;
    }
    if (event.sdp.empty()) {  // it wants an offer of ours: what holds already
        options_.version++;
        server_.security().prepare(options_, options_.audio.security.srtp, *agreed_, nullptr);
        server_.with_agent([&](sip::UserAgent& agent) {
            return agent.answer_offer(now, id_, sdp::write_phone_offer(options_));
        });
        return;
    }
    const auto offer = sdp::read_phone_description(event.sdp);
    options_.version++;
    if (offer.ok()) {
        server_.security().prepare(options_, options_.audio.security.srtp, *agreed_, &*offer);
    }
    Result<sdp::PhoneAgreement> agreed =
        offer.ok() ? sdp::answer_phone(*offer, options_)
                   : make_error(ErrorCode::kMalformed, "{}", offer.error().message());
    const bool fits =
        agreed.ok() && (!media_->plays() || (agreed->audio.codec == agreed_->audio.codec &&
                                             agreed->audio.clock_hz == agreed_->audio.clock_hz));
    server_.with_agent([&](sip::UserAgent& agent) {
        return fits ? agent.answer_offer(now, id_, agreed->answer)
                    : agent.refuse_offer(now, id_, kSipNotAcceptable);
    });
    if (fits) {
        const NetAddress from =
            (event.flow.remote.empty() ? flow_ : event.flow).remote.with_port(0);
        take_agreement(std::move(*agreed), event.sdp.size());
        media_->agree(agreed_, from, described_);
        const bool held = !sdp::sends(agreed_->audio.direction) && agreed_->audio.in_use;
        if (std::exchange(held_, held) != held && observer_ != nullptr) {
            observer_->on_held(held);
        }
    }
}

void SipCall::on_info(const sip::CallEvent& event) {
    const MonoTime now = MonoClock::now();
    if (over_ || !answered_) {
        return;
    }
    if (const auto digit = sip::parse_info_digit(event.type, event.body)) {
        if (info_digits_.take(now)) {
            on_digit(digit->digit);
        }
    } else if (sip::asks_for_picture(event.type, event.body)) {
        media_->want_picture(now);
    }
}

Result<bool> SipCall::send_digits(std::string_view digits, Millis duration) {
    if (over_ || !answered_) {
        return make_error(ErrorCode::kUnsupported, "the call is not answered");
    }
    const bool known =
        std::ranges::all_of(digits, [](char each) { return rtp::event_of(each).has_value(); });
    if (digits.empty() || !known) {
        return make_error(ErrorCode::kMalformed, "digits are 0-9, *, #, A-D and ! (flash)");
    }
    const bool by_rtp = media_->takes_digits();
    const bool sent =
        by_rtp ? media_->send_digits(digits, duration) : digits.size() <= info_digits_.room();
    if (!sent) {
        return make_error(ErrorCode::kFull, "at most {} digits can wait", SipDigits::kMaxInLine);
    }
    digits_sent_ += digits.size();
    for (size_t i = 0; !by_rtp && i < digits.size(); i++) {
        info_digits_.send({digits[i], duration});
    }
    return by_rtp;
}

void SipCall::tick(MonoTime now) {
    if (over_ || !answered_) {
        return;
    }
    media_->tick(now);
    if (const auto digit = info_digits_.poll(now)) {
        server_.with_agent([&](sip::UserAgent& agent) {
            return agent.send_info(now, id_, std::string(sip::kDtmfRelayType),
                                   sip::write_info_digit(*digit));
        });
    }
    look_whether_it_is_there(now);
    if (!over_ && outlives_stream_ && wants_play_ && agreed_->has_media()) {
        play_again(now);
    }
}

// A phone that need not send media (it only listens, or holds) may send no RTCP either: then its
// messages say that it is there, but not that it is what receives media at another host.
void SipCall::look_whether_it_is_there(MonoTime now) {
    const bool hears = sdp::sends(agreed_->audio.direction) || sdp::sends(agreed_->video.direction);
    const bool asks = !has_to_send(*agreed_) && (!hears || media_->goes_to(flow_.remote));
    const MonoTime heard =
        asks ? std::max(media_->last_heard(), server_.agent().heard(id_)) : media_->last_heard();
    switch (silence_.look(now, heard, server_.options().rtp_timeout, asks)) {
        case SipSilence::Due::kNothing: return;
        case SipSilence::Due::kAsk:
            server_.with_agent([&](sip::UserAgent& agent) { return agent.ask(now, id_); });
            return;
        case SipSilence::Due::kGone:
            end(net::EndClass::kTimeout, asks ? "neither media nor SIP from the phone (rtp_timeout)"
                                              : "no media from the phone (rtp_timeout)");
            return;
    }
}

// Somebody publishes it again; or it is time to make a source on demand begin.
void SipCall::play_again(MonoTime now) {
    if (std::exchange(stops_playing_, false)) {
        media_->stop_playing();
        play_at_ = now + kPlayAgain;
    }
    if (media_->plays()) {
        return;
    }
    const stream::Stream* const stream = server_.services().registry.find(play_key_);
    if (now < play_at_ && (stream == nullptr || !stream->live())) {
        return;
    }
    play_at_ = now + kPlayAgain;
    if (const Error failed = find_pump()) {
        return;
    }
    if (player_->role == net::ClientRole::kConnecting) {
        net::begin_turn(*player_, net::ClientRole::kPlayer, play_key_);
    }
    media_->play(*pump_, *player_);
    std::exchange(pump_, nullptr)->release();
}

void SipCall::on_digit(char digit) {
    digits_++;
    server_.counters().digits++;
    last_digits_ += digit;
    if (last_digits_.size() > kMaxDigits) {
        last_digits_.erase(0, 1);
    }
    if (observer_ != nullptr) {
        observer_->on_digit(digit);
    }
}

void SipCall::on_publish_over(net::EndClass why, std::string_view detail) {
    if (why == net::EndClass::kReplaced) {
        published_ = nullptr;  // the other one holds it
    }
    end(why, detail);
}

void SipCall::on_play_over(net::EndClass why, std::string_view detail) {
    if (outlives_stream_ &&
        (why == net::EndClass::kNoPublisher || why == net::EndClass::kReplaced)) {
        stops_playing_ = true;
    } else {
        end(why, detail);
    }
}

Error SipCall::hold(bool on) {
    if (over_ || !answered_) {
        return make_error(ErrorCode::kBusy, "the call is not answered");
    }
    sdp::PhoneOptions wanted = options_;
    wanted.version++;
    server_.security().prepare(wanted, wanted.audio.security.srtp, *agreed_, nullptr);
    const bool hears = wants_play_ && !on;
    const bool speaks = wants_publish_ && !on;
    wanted.audio.direction = hears && speaks ? sdp::Direction::kSendRecv
                             : speaks        ? sdp::Direction::kRecvOnly
                             : hears         ? sdp::Direction::kSendOnly
                                             : sdp::Direction::kInactive;
    wanted.video.direction = wanted.audio.direction;
    const bool asked = server_.with_agent([&](sip::UserAgent& agent) {
        return agent.offer(MonoClock::now(), id_, sdp::write_phone_offer(wanted));
    });
    if (!asked) {
        return make_error(ErrorCode::kBusy, "another change of the call is under way");
    }
    before_hold_ = {options_.audio.direction, options_.video.direction};
    options_ = std::move(wanted);
    return {};
}

// ---- the end ----

void SipCall::say_goodbye() {
    server_.with_agent([&](sip::UserAgent& agent) { return agent.hang_up(MonoClock::now(), id_); });
}

void SipCall::end(net::EndClass why, std::string_view detail) {
    if (over_) {
        return;
    }
    abandon(why, detail);
    say_goodbye();
    server_.look_soon();
}

void SipCall::abandon(net::EndClass why, std::string_view detail) {
    if (!over_) {
        over_ = true;
        over_at_ = MonoClock::now();
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
    if (conference_ != nullptr) {
        server_.conferences().leave(*std::exchange(conference_, nullptr));
    }
    if (published_ != nullptr) {
        server_.services().registry.release(*std::exchange(published_, nullptr));
    }
    tell_hooks();
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
    if (SipCallObserver* const observer = std::exchange(observer_, nullptr)) {
        const bool failed = !answered_;
        observer->on_over(!failed, failed && status_ == 0 ? kSipCancelled : status_,
                          reason_.empty() ? detail_ : reason_);
    }
}

// Exactly once, since the ticket is.
void SipCall::tell_hooks() {
    if (!asked_) {
        return;
    }
    asked_->sent_bytes = player_ ? player_->sent_bytes : 0;
    asked_->received_bytes = publisher_ ? publisher_->received_bytes : 0;
    ticket_.end(*asked_, why_, detail_);
    asked_->count_end(why_);
    asked_.reset();
}

SipCallFacts SipCall::facts(MonoTime now) const {
    SipCallFacts facts;
    facts.id = name();
    facts.direction = direction_;
    facts.call_id = call_id_;
    facts.from = from_;
    facts.to = to_;
    facts.user = user_;
    facts.trunk = trunk_;
    facts.ip = flow_.remote.ip_text();
    facts.transport = to_lower(sip::to_string(flow_.transport));
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
    facts.audio = codec_text(agreed_->audio);
    facts.video = codec_text(agreed_->video);
    facts.play = wants_play_ ? play_key_.to_string() : std::string();
    facts.publish = wants_publish_ ? publish_key_.to_string() : std::string();
    facts.conference = meets_;
    facts.play_client = player_ ? std::string(player_->id()) : std::string();
    facts.publish_client = publisher_ ? std::string(publisher_->id()) : std::string();
    facts.held = answered_ && !sdp::sends(agreed_->audio.direction);
    facts.digits = digits_;
    facts.last_digits = last_digits_;
    facts.digits_sent = digits_sent_;
    if (media_) {
        facts.packets_received = media_->counters().received;
        facts.strangers = media_->counters().strangers;
        facts.unusable = media_->counters().unusable;
        facts.ice = media_->found_by_ice();
        facts.encryption = sdp::to_string(media_->keys());
        if (const rtp::PlayoutStats* const stats = media_->voice_stats()) {
            facts.voice = *stats;
        }
    }
    facts.age = std::chrono::duration_cast<Millis>(now - since_);
    return facts;
}

}  // namespace weir::session
