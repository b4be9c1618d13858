// The requests of a connection that plays, and those of everybody: each is handled once, from its
// check to its answer, and yields where it has to be asked or waited for.
#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/fanout.h"
#include "net/placement.h"
#include "net/source/wait.h"
#include "proto/rtsp/header_values.h"
#include "proto/rtsp/transport.h"
#include "proto/sdp/mikey.h"
#include "session/rtsp/rtsp_connection.h"
#include "session/rtsp/rtsp_profile.h"
#include "session/rtsp/rtsp_server.h"
#include "session/rtsp/rtsp_udp_pump.h"
#include "stream/registry.h"

namespace weir::session {
namespace {

using rtsp::Method;

constexpr uint32_t kMaxRefusals = 16;  // of one connection: whoever goes on is guessing
constexpr Millis kCodecWait{3'000};    // for a stream that has just begun
constexpr Millis kCodecPoll{20};
constexpr size_t kSessionIdLength = 16;
constexpr std::string_view kSdp = "application/sdp";

// Of somebody who may not publish or play.
int status_of(const Error& refused) {
    switch (refused.code()) {
        case ErrorCode::kNotFound: return 404;
        case ErrorCode::kFull: return 453;
        case ErrorCode::kTimeout:
        case ErrorCode::kUnavailable: return 503;
        case ErrorCode::kUnsupported: return 415;
        case ErrorCode::kMalformed: return 400;
        default: return 403;
    }
}

bool accepts_sdp(const rtsp::Request& request) {
    const auto accept = request.headers.get("Accept");
    return !accept || accept->find(kSdp) != std::string_view::npos ||
           accept->find("*/*") != std::string_view::npos ||
           accept->find("application/*") != std::string_view::npos;
}

}  // namespace

// Yields.
Error RtspConnection::answer(const rtsp::Request& request, int status) {
    return send(answer_to(request, status));
}

// Yields. What a person has to know stands in the reason.
Error RtspConnection::refuse(const rtsp::Request& request, int status, std::string_view why) {
    rtsp::Response out = answer_to(request, status);
    out.reason = fmt::format("{} ({})", rtsp::status_text(status), why);
    WEIR_TRY(send(out));
    return ++refusals_ < kMaxRefusals
               ? Error()
               : make_error(ErrorCode::kDenied, "{} requests of this connection were refused",
                            refusals_);
}

// Yields.
Result<RtspConnection::Next> RtspConnection::obey(const rtsp::Request& request) {
    const auto done = [](Error error) -> Result<Next> {
        return error ? Result<Next>(std::move(error)) : Result<Next>(Next::kGoOn);
    };
    if (!request.cseq) {
        return done(refuse(request, 400, "CSeq is missing or no number"));
    }
    if (const auto required = request.headers.get("Require")) {
        rtsp::Response out = answer_to(request, 551);
        out.headers.add("Unsupported", std::string(*required));
        return done(send(out));
    }
    if (!session_.is_named_by(request)) {
        return done(refuse(request, 454, "this connection has no such session"));
    }
    if (!session_.id.empty()) {
        phase_since_ = MonoClock::now();  // any request keeps a session alive
    }
    if (vod_ && (request.method == Method::kAnnounce || request.method == Method::kRecord)) {
        return done(refuse(request, 455, "it plays"));
    }
    switch (request.method) {
        case Method::kOptions: return done(handle_options(request));
        case Method::kDescribe:
            return move_to_its_stream(request) ? Result<Next>(Next::kHandedOver)
                                               : done(handle_describe(request));
        case Method::kSetup: return done(handle_setup(request));
        case Method::kPlay: return handle_play(request);
        case Method::kAnnounce: return done(handle_announce(request));
        case Method::kRecord: return done(handle_record(request));
        case Method::kTeardown: return done(handle_teardown(request));
        case Method::kGetParameter:
        case Method::kSetParameter: return done(handle_parameter(request));
        case Method::kPause: return done(handle_pause(request));
        default: return done(refuse(request, 501, "this method is not spoken here"));
    }
}

// True: another process has the connection, with this request; here it is over. Nothing was said
// before that it would have to know.
bool RtspConnection::move_to_its_stream(const rtsp::Request& request) {
    net::Placement* const placement = server_.services().placement;
    if (placement == nullptr || stream_->encrypted() || std::exchange(placed_, true) ||
        !session_.id.empty() || !announced_.empty() || vod_ || !unread_.empty()) {
        return false;
    }
    const Result<RtspTarget> target = RtspTarget::parse(request.url, server_.services().policy);
    const std::optional<uint32_t> process =
        target.ok() ? placement->better_process(target->key, net::PlaceBy::kLoad) : std::nullopt;
    return process && move_to(*process, rtsp::write(request));
}

// ---- for everybody ----

Error RtspConnection::handle_options(const rtsp::Request& request) {
    rtsp::Response out = answer_to(request, 200);
    out.headers.add("Public", kRtspMethods.write());
    if (!session_.id.empty()) {
        out.headers.add("Session", session_.field());
    }
    return send(out);
}

Error RtspConnection::handle_parameter(const rtsp::Request& request) {
    if (request.method == Method::kSetParameter && !request.body.empty()) {
        return refuse(request, 451, "there are no parameters to set");
    }
    rtsp::Response out = answer_to(request, 200);
    if (!session_.id.empty()) {
        out.headers.add("Session", session_.field());
    }
    return send(out);
}

Error RtspConnection::handle_teardown(const rtsp::Request& request) {
    if (session_.id.empty()) {
        return refuse(request, 454, "there is no session");
    }
    rtsp::Response out = answer_to(request, 200);
    out.headers.add("Session", session_.field());
    end_publish(net::EndClass::kPeerClosed, "stopped by the client");
    WEIR_TRY(stop_recording());
    end_session();
    return send(out);
}

void RtspConnection::end_session() {
    session_ = {};
    udp_ = {};
    group_.reset();
    announced_.clear();
    described_.clear();
    key_.reset();
    report_keys_ = {};
    phase_since_ = MonoClock::now();
}

// ---- who it is, and what it may ----

// Yields.
Result<bool> RtspConnection::begin_request(const rtsp::Request& request,
                                           bool publishes,
                                           RtspTarget& target) {
    Result<RtspTarget> parsed = RtspTarget::parse(request.url, server_.services().policy);
    if (!parsed.ok()) {
        WEIR_TRY(refuse(request, 400, parsed.error().message()));
        return false;
    }
    target = std::move(*parsed);
    if (!publishes) {
        WEIR_TRY_ASSIGN(const bool found, find_recording(request, target));
        if (!found) {
            return false;
        }
    }
    const bool recording = std::exchange(plays_recording_, recording_ != nullptr);
    const bool other_file =
        recording != plays_recording_ || (recording && target.path != target_.path);
    if (!session_.id.empty() && (target.key != target_.key || other_file)) {
        plays_recording_ = recording;
        WEIR_TRY(refuse(request, 459, "a session is of one stream; TEARDOWN ends it"));
        return false;
    }
    const bool same = target.key == target_.key && publishes == publishes_ && !other_file;
    if (!same) {
        login_ = {};
        described_.clear();
        key_.reset();
    } else if (target.token.empty()) {  // the addresses of tracks have none
        target.token = target_.token;
        target.query = target.query.empty() ? target_.query : target.query;
    }
    publishes_ = publishes;
    target_ = target;
    RtspAuth::Answer shown = server_.auth().check({.request = request,
                                                   .key = target_.key,
                                                   .peer = stream_->peer(),
                                                   .publishes = publishes,
                                                   .encrypted = stream_->encrypted()},
                                                  server_.services().policy);
    stale_ = shown.stale;
    if (shown.shown) {
        login_ = std::move(shown.login);
    }
    return true;
}

net::AccessRequest RtspConnection::access() const {
    return {.key = target_.key,
            .peer = stream_->peer(),
            .token = target_.token.empty() ? login_.token : target_.token,
            .user = login_.user,
            .user_scope = login_.scope,
            .secure = stream_->encrypted(),
            .transport = client_->transport(),
            .query = target_.query};
}

net::NewcomerView RtspConnection::newcomer() {
    return {.access = access(),
            .tc_url = target_.url,
            .connection = stream_.get(),
            .client = client_.get(),
            .needs_stream = !plays_recording_};
}

// Yields. The peer hears why; or it has left, or the server stops.
Error RtspConnection::refuse_access(const rtsp::Request& request, bool publishes, Error why) {
    if (why.code() == ErrorCode::kClosed || why.code() == ErrorCode::kInterrupted) {
        return why;
    }
    const bool shows = !target_.token.empty() || !login_.empty();
    if (why.code() != ErrorCode::kDenied || shows ||
        !server_.services().policy.asks_for_secret(target_.key, publishes)) {
        return refuse(request, status_of(why), why.message());
    }
    rtsp::Response out = answer_to(request, 401);
    server_.auth().challenge({.request = request,
                              .key = target_.key,
                              .peer = stream_->peer(),
                              .publishes = publishes,
                              .encrypted = stream_->encrypted()},
                             stale_, out);
    WEIR_TRY(send(out));
    return ++refusals_ < kMaxRefusals
               ? Error()
               : make_error(ErrorCode::kDenied, "{} requests of this connection were refused",
                            refusals_);
}

// Yields. What the policy alone was asked: Admission has not written its line.
Error RtspConnection::refuse_question(const rtsp::Request& request, bool publishes, Error why) {
    const bool shows = !target_.token.empty() || !login_.empty();
    if (shows || !server_.services().policy.asks_for_secret(target_.key, publishes)) {
        server_.admission().log_refused(
            publishes ? net::HookAction::kPublish : net::HookAction::kPlay, newcomer(), why);
    }
    return refuse_access(request, publishes, std::move(why));
}

// ---- playing ----

// Yields.
Error RtspConnection::handle_describe(const rtsp::Request& request) {
    if (!accepts_sdp(request)) {
        return refuse(request, 406, "descriptions are application/sdp");
    }
    if (!announced_.empty() || vod_) {
        return refuse(request, 455, vod_ ? "it plays" : "this connection publishes");
    }
    RtspTarget target;
    WEIR_TRY_ASSIGN(const bool begun, begin_request(request, false, target));
    if (!begun) {
        return {};
    }
    described_.clear();
    key_.reset();
    if (target.srtp && plays_recording_) {
        return refuse(request, 461, "recordings are not played by SRTP: leave ?srtp out");
    }
    if (target.srtp) {
        if (const std::string_view why = why_no_srtp(); !why.empty()) {
            return refuse(request, 461, why);
        }
        key_ = make_rtsp_srtp_key(system_random());
    }
    Result<net::PlayRules> rules = server_.services().policy.may_play(access());
    if (!rules.ok()) {
        return refuse_question(request, false, rules.take_error());
    }
    WEIR_TRY_ASSIGN(const bool known, look_at(request, *rules));
    if (!known) {
        return {};
    }
    phase_since_ = MonoClock::now();
    rtsp::Response out = answer_to(request, 200);
    out.headers.add("Content-Base", target_.url + "/");
    out.headers.add("Content-Type", std::string(kSdp));
    out.headers.add("Cache-Control", "no-store");
    out.body = described_;
    return send(out);
}

// Yields while a source brings the stream, or while its codecs are not known.
Result<bool> RtspConnection::look_at(const rtsp::Request& request, const net::PlayRules& rules) {
    if (plays_recording_) {
        return look_at_recording(request);
    }
    stream::Registry& registry = server_.services().registry;
    const stream::StreamKey key = target_.key;
    const stream::Stream* there = registry.find(key);
    const bool comes = (there == nullptr || !there->live()) && registry.want(key);
    Error refused;
    if ((there == nullptr || !there->live()) && !comes) {
        refused = make_error(ErrorCode::kNotFound, "no such stream: nobody publishes it");
    } else {
        stream::Stream& stream = registry.get_or_create(key, rules.stream, MonoClock::now());
        {
            RtspTracks tracks(stream, MonoClock::now());
            const io::Deadline deadline =
                io::Deadline::after(comes ? net::kSourceWait : kCodecWait);
            while (!tracks.complete(MonoClock::now()) && !deadline.passed()) {
                if (Error stopped = io::sleep_for(kCodecPoll)) {
                    refused = std::move(stopped);
                    break;
                }
            }
            described_ =
                tracks.any() ? tracks.describe(stream_->local().host(), key_) : std::string();
            for (uint8_t index = 0; index < has_track_.size(); index++) {
                has_track_[index] = tracks.has(index);
            }
            terms_ = tracks.terms();
            if (comes) {
                (void)registry.want(key);  // it plays soon: the source is kept for it
            }
            if (!refused && described_.empty()) {
                refused =
                    stream.live()
                        ? make_error(ErrorCode::kUnsupported,
                                     "the stream has nothing that RTSP carries{}{}",
                                     tracks.left_out().empty() ? "" : ", only ", tracks.left_out())
                        : make_error(ErrorCode::kNotFound,
                                     "no such stream: its source does not bring it");
            }
        }
        registry.release(stream);
    }
    if (!refused) {
        return true;
    }
    if (refused.code() != ErrorCode::kInterrupted) {
        server_.admission().log_refused(net::HookAction::kPlay, newcomer(), refused);
    }
    WEIR_TRY(refuse_access(request, false, std::move(refused)));
    return false;
}

// Yields.
Error RtspConnection::handle_setup(const rtsp::Request& request) {
    if (!announced_.empty()) {
        return handle_publisher_setup(request);
    }
    if (vod_) {
        return refuse(request, 455, "it plays");
    }
    RtspTarget target;
    WEIR_TRY_ASSIGN(const bool begun, begin_request(request, false, target));
    if (!begun) {
        return {};
    }
    if (described_.empty()) {
        Result<net::PlayRules> rules = server_.services().policy.may_play(access());
        if (!rules.ok()) {
            return refuse_question(request, false, rules.take_error());
        }
        WEIR_TRY_ASSIGN(const bool known, look_at(request, *rules));
        if (!known) {
            return {};
        }
    }
    return handle_player_setup(request, target);
}

// Yields.
Error RtspConnection::handle_player_setup(const rtsp::Request& request, const RtspTarget& target) {
    std::optional<uint8_t> track = target.track;
    if (!track && has_track_[net::kRtpVideoTrack] != has_track_[net::kRtpAudioTrack]) {
        track = has_track_[net::kRtpVideoTrack] ? net::kRtpVideoTrack : net::kRtpAudioTrack;
    }
    if (!track || !has_track_[*track]) {
        return refuse(request, 404, "the description names the addresses of the tracks");
    }
    std::unique_ptr<RtspUdpTrack> udp;
    WEIR_TRY_ASSIGN(std::optional<rtsp::Transport> chosen, choose_transport(request, *track, udp));
    if (!chosen) {
        return {};
    }
    // One log serves all of a player's tracks.
    const bool interleaves = session_.channels != RtspChannels();
    const bool unicast = udp_[0] || udp_[1];
    const bool other_way = udp                 ? interleaves || group_
                           : chosen->multicast ? interleaves || unicast
                                               : unicast || group_;
    if (other_way) {
        return refuse(request, 461, "all tracks of a session go by the same transport");
    }
    if (udp) {
        udp_[*track] = std::move(udp);
    } else if (chosen->multicast) {
        Result<net::PlayRules> rules = server_.services().policy.may_play(access());
        if (!rules.ok()) {
            return refuse_question(request, false, rules.take_error());
        }
        Result<std::shared_ptr<RtspGroup>> group =
            server_.group_for(target_.key, *rules, stream_->local());
        if (!group.ok()) {
            return refuse(request, 461, group.error().message());
        }
        group_ = std::move(*group);
        chosen = group_->transport(*track);
    } else {
        chosen->interleaved = take_channels(*track, chosen->interleaved);
    }
    report_keys_[*track] = key_of_setup(request);
    session_.url = target_.url;
    session_.has[*track] = true;
    session_.terms[*track] = terms_[*track];
    return answer_setup(request, *chosen);
}

// Yields.
Error RtspConnection::answer_setup(const rtsp::Request& request, const rtsp::Transport& transport) {
    if (session_.id.empty()) {
        session_.id = random_id(system_random(), kSessionIdLength);
        session_.timeout = server_.udp().session_timeout();
    }
    phase_since_ = MonoClock::now();
    rtsp::Response out = answer_to(request, 200);
    out.headers.add("Session", session_.field());
    out.headers.add("Transport", rtsp::write(transport));
    return send(out);
}

std::optional<RtspSrtpKey> RtspConnection::key_of_setup(const rtsp::Request& request) const {
    const auto field = request.headers.get("KeyMgmt");
    const std::optional<sdp::CryptoLine> line =
        field && why_no_srtp().empty() ? sdp::parse_key_mgmt_field(*field) : std::nullopt;
    return line ? find_rtsp_srtp_key({*line}) : std::nullopt;
}

std::string_view RtspConnection::why_no_srtp() const {
    return stream_->encrypted() ? ""
                                : "SRTP needs an encrypted connection, which its keys go through: "
                                  "use rtsps://";
}

// Yields where it answers.
Result<std::optional<rtsp::Transport>> RtspConnection::choose_transport(
    const rtsp::Request& request, size_t index, std::unique_ptr<RtspUdpTrack>& udp) {
    const auto field = request.headers.get("Transport");
    // Clients that write RTP/AVP whatever the description says (ffmpeg) get what it says.
    const bool secure = announced_.empty() ? key_.has_value() : announced_[index].key.has_value();
    std::string_view why = "RTP/AVP/TCP;unicast;interleaved=0-1 is possible";
    for (const rtsp::Transport& offer : rtsp::parse_transports(field.value_or(""))) {
        rtsp::Transport chosen;
        chosen.record = offer.record;
        chosen.secure = offer.secure;
        if (offer.secure && !secure) {
            why = !why_no_srtp().empty() ? why_no_srtp()
                  : announced_.empty()   ? "no keys were asked for: add ?srtp to the address"
                                       : "neither the description of the track nor SETUP has keys "
                                         "(a=crypto, a=key-mgmt, KeyMgmt)";
            continue;
        }
        if (offer.multicast) {
            if (!announced_.empty() || secure || plays_recording_ ||
                server_.options().multicast.network.empty()) {
                why = secure ? "there is no SRTP by multicast"
                             : "there is no multicast here; use RTP/AVP;unicast or RTP/AVP/TCP";
                continue;
            }
            chosen.multicast = true;
            return std::optional(chosen);
        }
        if (offer.tcp) {
            chosen.tcp = true;
            chosen.interleaved = offer.interleaved;
            return std::optional(chosen);
        }
        if (!offer.client_port || offer.client_port->rtp == 0) {
            why = "RTP/AVP needs client_port";
            continue;
        }
        // Media goes to the host of the connection and nowhere else.
        udp = server_.udp().add_track(stream_->peer(), stream_->local(), *offer.client_port, index);
        if (!udp) {
            why = "media by UDP is off here; use RTP/AVP/TCP";
            continue;
        }
        chosen.client_port = offer.client_port;
        chosen.server_port = udp->server_ports();
        return std::optional(chosen);
    }
    WEIR_TRY(refuse(request, 461, why));
    return std::optional<rtsp::Transport>();
}

// Without a wish, and where the wish is taken: the usual channels.
rtsp::ChannelPair RtspConnection::take_channels(uint8_t track,
                                                std::optional<rtsp::ChannelPair> wanted) {
    const auto usual = static_cast<uint8_t>(track == net::kRtpVideoTrack ? 0 : 2);
    const rtsp::ChannelPair usual_pair{usual, static_cast<uint8_t>(usual + 1)};
    rtsp::ChannelPair pair = wanted.value_or(usual_pair);
    RtspChannels channels = session_.channels;
    const std::optional<rtsp::ChannelPair>& other = channels[1 - track];
    if (other && (other->rtp == pair.rtp || other->rtp == pair.rtcp || other->rtcp == pair.rtp)) {
        const auto free = static_cast<uint8_t>(other->rtp >= 2 ? 0 : 2);
        pair = {free, static_cast<uint8_t>(free + 1)};
    }
    channels[track] = pair;
    if (server_.format(channels) == nullptr) {
        pair = usual_pair;
        channels[track] = pair;
    }
    session_.channels = channels;
    return pair;
}

// Yields.
Result<RtspConnection::Next> RtspConnection::handle_play(const rtsp::Request& request) {
    const auto done = [](Error error) -> Result<Next> {
        return error ? Result<Next>(std::move(error)) : Result<Next>(Next::kGoOn);
    };
    if (session_.id.empty() || !announced_.empty()) {
        return done(refuse(request, 455, "SETUP comes before PLAY"));
    }
    const auto range = request.headers.get("Range");
    const std::optional<rtsp::Range> parsed =
        range ? rtsp::parse_range(*range) : std::optional<rtsp::Range>();
    if (range && !parsed) {
        return done(refuse(request, 457, "a live stream plays npt=now-, a recording npt=10-20"));
    }
    RtspTarget target;
    WEIR_TRY_ASSIGN(const bool begun, begin_request(request, false, target));
    if (!begun) {
        return Next::kGoOn;
    }
    if (plays_recording_) {
        return done(play_recording(request, parsed));
    }
    const bool udp = udp_[0] || udp_[1] || group_ || key_;
    const RtspFormat* format = udp ? nullptr : server_.format(session_.channels);
    if (!udp && format == nullptr) {
        return done(refuse(request, 461, "use channels 0 to 3"));
    }
    const MonoTime asked_at = MonoClock::now();
    Result<net::AdmittedPlayer> admitted = server_.admission().play(newcomer());
    phase_since_ += MonoClock::now() - asked_at;
    if (!admitted.ok()) {
        return done(refuse_access(request, false, admitted.take_error()));
    }
    client_->turn_ticket = std::move(admitted->ticket);
    client_->hold(std::move(admitted->place));
    net::begin_turn(*client_, net::ClientRole::kPlayer, target_.key);
    client_->kick = nullptr;
    client_->probe = nullptr;
    if (udp) {
        WEIR_TRY(play_by_udp(request, admitted->rules));
        return Next::kHandedOver;
    }
    auto player = std::make_unique<RtspPlayer>(std::move(session_), request, std::move(reader_),
                                               std::exchange(unread_, {}), server_.resume());
    server_.services().fanout.play(admitted->rules, *format, std::move(stream_), std::move(player),
                                   std::move(client_));
    return Next::kHandedOver;
}

// The connection belongs to the player from then on.
Error RtspConnection::play_by_udp(const rtsp::Request& request, const net::PlayRules& rules) {
    WEIR_TRY_ASSIGN(RtspUdpPump* const pump, server_.pump_for(target_.key, rules));
    auto player = std::make_unique<RtspUdpPlayer>(
        server_, *pump,
        RtspUdpPlayer::Parts{std::move(session_), std::move(udp_), std::move(group_), key_,
                             report_keys_, std::move(reader_), std::move(stream_),
                             std::move(client_)});
    RtspUdpPlayer& playing = *player;
    server_.add(std::move(player));
    playing.begin(request, std::exchange(unread_, {}));
    return {};
}

}  // namespace weir::session
