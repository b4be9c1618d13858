#include "proto/rtsp/client_session.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace weir::rtsp {
namespace {

constexpr size_t kMaxShownReason = 100;  // of a server's words
constexpr std::chrono::seconds kShortestKeepAlive{1};
constexpr std::chrono::seconds kLongestKeepAlive{5 * 60};

ErrorCode code_of(int status) {
    switch (status) {
        case 401:
        case 403:
        case 407: return ErrorCode::kDenied;
        case 404:
        case 410: return ErrorCode::kNotFound;
        case 453:
        case 503: return ErrorCode::kFull;
        case 454: return ErrorCode::kClosed;
        default: return ErrorCode::kUnsupported;
    }
}

std::string_view name_of(const Request& request) {
    return to_string(request.method);
}

// What a server can mean that says so of an offer.
std::optional<Transport> understood(const Transport& offer, std::string_view answer) {
    const std::vector<Transport> all = parse_transports(answer);
    if (all.empty()) {
        return trim(answer).empty() ? std::optional(offer) : std::nullopt;
    }
    Transport agreed = all.front();
    // "RTP/AVP;unicast;interleaved=0-1": the second part says it.
    agreed.tcp = agreed.tcp || (offer.tcp && agreed.interleaved);
    if (agreed.tcp != offer.tcp || agreed.multicast != offer.multicast ||
        agreed.secure != offer.secure) {
        return std::nullopt;
    }
    if (agreed.tcp && !agreed.interleaved) {
        agreed.interleaved = offer.interleaved;
    }
    if (!agreed.tcp && !agreed.multicast) {
        agreed.client_port = offer.client_port;
    }
    if (agreed.multicast && (!agreed.port || agreed.destination.empty())) {
        return std::nullopt;
    }
    return agreed;
}

}  // namespace

ClientSession::ClientSession(ClientOptions options, RandomSource& random)
    : options_(std::move(options)),
      random_(random),
      login_(options_.url.login, options_.allow_basic) {}

// ---- requests ----

void ClientSession::play() {
    begin();
}

void ClientSession::publish(std::string description, std::vector<ClientTrack> tracks) {
    publishes_ = true;
    description_ = std::move(description);
    wanted_ = std::move(tracks);
    begin();
}

// On a connection without a history.
void ClientSession::begin() {
    reader_ = {};
    output_.clear();
    session_.clear();
    timeout_ = kDefaultSessionTimeout;
    keep_alive_at_.reset();
    keep_alive_cseq_.reset();
    agreed_.clear();
    Request request;
    request.method = Method::kOptions;
    request.url = options_.url.full();
    ask(State::kOptions, std::move(request));
}

void ClientSession::ask(State state, Request request) {
    state_ = state;
    login_.begin_request();
    pending_ = std::move(request);
    send(*pending_);
}

// Also once more, with another login.
void ClientSession::send(Request& request) {
    request.cseq = ++cseq_;
    Request full = request;
    if (!options_.user_agent.empty()) {
        full.headers.add("User-Agent", options_.user_agent);
    }
    if (!session_.empty()) {
        full.headers.add("Session", session_);
    }
    std::string login = login_.authorization(name_of(request), request.url, random_);
    if (!login.empty()) {
        full.headers.add("Authorization", std::move(login));
    }
    output_ += write(full);
}

// After OPTIONS, ANNOUNCE and each SETUP.
void ClientSession::ask_next() {
    if (state_ == State::kOptions) {
        Request request;
        request.url = options_.url.full();
        if (publishes_) {
            request.method = Method::kAnnounce;
            request.headers.add("Content-Type", "application/sdp");
            request.body = description_;
            ask(State::kAnnounce, std::move(request));
        } else {
            request.method = Method::kDescribe;
            request.headers.add("Accept", "application/sdp");
            ask(State::kDescribe, std::move(request));
        }
        return;
    }
    if (track_ < wanted_.size()) {
        ask_set_up();
        return;
    }
    ask_start();
}

void ClientSession::set_up(std::vector<ClientTrack> tracks, std::string_view session_control) {
    base_ = base_url(options_.url, {content_base_, content_location_, session_control});
    content_base_ = {};
    content_location_ = {};
    wanted_ = std::move(tracks);
    wanted_.resize(std::min(wanted_.size(), kMaxClientTracks));
    for (const ClientTrack& track : wanted_) {
        WEIR_CHECK(!track.offers.empty());
    }
    agreed_.assign(wanted_.size(), std::nullopt);
    track_ = 0;
    offer_ = 0;
    if (wanted_.empty()) {
        state_ = State::kEnded;
        (void)fail(make_error(ErrorCode::kUnsupported, "there is no track to set up"));
        return;
    }
    ask_set_up();
}

void ClientSession::ask_set_up() {
    const ClientTrack& track = wanted_[track_];
    Transport offer = track.offers[offer_];
    offer.record = publishes_;
    Request request;
    request.method = Method::kSetup;
    request.url = resolve_control(base_, track.control).value_or(base_);
    request.headers.add("Transport", write(offer));
    ask(State::kSetup, std::move(request));
}

void ClientSession::ask_start() {
    Request request;
    request.method = publishes_ ? Method::kRecord : Method::kPlay;
    request.url = base_;
    request.headers.add("Range", publishes_               ? "npt=now-"
                                 : options_.range.empty() ? "npt=0.000-"
                                                          : options_.range);
    ranged_ = true;
    ask(State::kStart, std::move(request));
}

void ClientSession::send_frame(uint8_t channel, ByteSpan payload) {
    const auto header = frame_header(channel, static_cast<uint16_t>(payload.size()));
    output_.append(header.begin(), header.end());
    output_ += as_text(payload);
}

bool ClientSession::pause() {
    if (state_ != State::kStarted || publishes_) {
        return false;
    }
    Request request;
    request.method = Method::kPause;
    request.url = base_;
    ask(State::kPause, std::move(request));
    return true;
}

bool ClientSession::resume() {
    if (state_ != State::kPaused) {
        return false;
    }
    Request request;
    request.method = Method::kPlay;
    request.url = base_;
    ranged_ = false;
    ask(State::kStart, std::move(request));
    return true;
}

void ClientSession::teardown() {
    const bool has_session = !session_.empty() || state_ > State::kSetup;
    if (!has_session || state_ == State::kEnded) {
        return;
    }
    Request request;
    request.method = Method::kTeardown;
    request.url = base_;
    ask(State::kEnded, std::move(request));
    keep_alive_at_.reset();
}

// ---- keep-alive ----

void ClientSession::plan_keep_alive(MonoTime now) {
    keep_alive_at_ = now + std::clamp<Micros>(timeout_ / 2, kShortestKeepAlive, kLongestKeepAlive);
}

void ClientSession::handle_timeout(MonoTime now) {
    if (keep_alive_at_ && now >= *keep_alive_at_) {
        keep_alive_again_ = false;
        login_.begin_request();
        send_keep_alive(now);
    }
}

// The answer to the one before may never have come: not all servers answer.
void ClientSession::send_keep_alive(MonoTime now) {
    plan_keep_alive(now);
    Request request;
    request.method = got_parameter_ ? Method::kGetParameter : Method::kOptions;
    request.url = base_;
    send(request);
    keep_alive_cseq_ = request.cseq;
}

std::optional<ClientEvent> ClientSession::on_keep_alive(MonoTime now, const Response& response) {
    keep_alive_cseq_.reset();
    if (response.status == 401 && !keep_alive_again_ &&
        login_.on_challenge(response.headers) == http::Login::Outcome::kAnswer) {
        keep_alive_again_ = true;
        send_keep_alive(now);
    } else if (response.status >= 400 && got_parameter_) {
        got_parameter_ = false;  // the next one is an OPTIONS
        send_keep_alive(now);
    } else if (response.status == 454 && publishes_) {
        // Nothing comes back over UDP whose silence would tell.
        return fail(make_error(ErrorCode::kClosed, "the server has no such session any more"));
    }
    // Deviation: 454 (Session Not Found) is no end of what plays. Cameras answer so to a method
    // that they do not know while media comes; a session that is gone is told by its silence.
    return std::nullopt;
}

// ---- what comes ----

ClientEvent ClientSession::next(MonoTime now, ByteSpan& input) {
    if (state_ == State::kDescribed) {
        return ClientEvent::kDescribed;  // the owner's turn first
    }
    if (answer_given_) {
        answer_given_ = false;
        answer_ = {};
    }
    for (;;) {
        if (failed_) {
            return ClientEvent::kError;
        }
        std::optional<ClientEvent> event;
        switch (reader_.next(input)) {
            case ConnectionReader::Status::kNeedMore: return ClientEvent::kNeedMore;
            case ConnectionReader::Status::kFrame: return ClientEvent::kFrame;
            case ConnectionReader::Status::kResponse: event = on_response(now); break;
            case ConnectionReader::Status::kRequest: event = on_request(); break;
            case ConnectionReader::Status::kHttp:
                return fail(make_error(ErrorCode::kMalformed, "the answer is no RTSP"));
            case ConnectionReader::Status::kError:
                return fail(make_error(
                    reader_.error().status == 413 ? ErrorCode::kLimit : ErrorCode::kMalformed,
                    "what the server sends is no RTSP: {}", reader_.error().reason));
        }
        if (!event && output_.size() > kMaxClientOutput) {
            event = fail(make_error(ErrorCode::kLimit, "the server asks and does not listen"));
        }
        if (event) {
            return *event;
        }
    }
}

std::optional<ClientEvent> ClientSession::on_response(MonoTime now) {
    Response& response = reader_.response();
    if (response.status < 200) {
        return std::nullopt;
    }
    const bool to_keep_alive = keep_alive_cseq_ && (response.cseq == keep_alive_cseq_ || !pending_);
    if (to_keep_alive) {
        return on_keep_alive(now, response);
    }
    // Only one request waits, so an answer with another CSeq, or without one, is its answer: some
    // servers count by themselves.
    return pending_ ? on_answer(now, response) : std::nullopt;
}

std::optional<ClientEvent> ClientSession::on_answer(MonoTime now, Response& response) {
    if (response.status == 401) {
        return on_challenge(response);
    }
    const bool may_redirect = state_ < State::kStarted;
    if (response.status / 100 == 3 && may_redirect) {
        return on_redirect(response);
    }
    if (state_ != State::kOptions && response.status / 100 != 2) {
        return on_refusal(response);
    }
    pending_.reset();
    switch (state_) {
        case State::kOptions: {
            const auto methods = MethodSet::parse(response.headers.get("Public").value_or(""));
            got_parameter_ = methods.has(Method::kGetParameter);
            ask_next();  // also after a refusal: DESCRIBE says what is wrong
            return std::nullopt;
        }
        case State::kDescribe:
            if (response.body.empty()) {
                return fail(make_error(ErrorCode::kMalformed,
                                       "the server answers DESCRIBE without a description"));
            }
            content_base_ = response.headers.get("Content-Base").value_or("");
            content_location_ = response.headers.get("Content-Location").value_or("");
            description_ = std::move(response.body);
            state_ = State::kDescribed;
            return ClientEvent::kDescribed;
        case State::kAnnounce:
            // As of set_up(), but for what a description is relative to.
            set_up(std::move(wanted_), {});
            return std::nullopt;
        case State::kSetup: return on_set_up(response);
        case State::kStart:
            state_ = State::kStarted;
            plan_keep_alive(now);
            answer_ = std::move(response);
            answer_given_ = true;
            wanted_ = {};
            description_ = {};
            return ClientEvent::kStarted;
        case State::kPause: state_ = State::kPaused; return ClientEvent::kPaused;
        case State::kEnded: return ClientEvent::kEnded;
        default: return std::nullopt;
    }
}

std::optional<ClientEvent> ClientSession::on_challenge(const Response& response) {
    switch (login_.on_challenge(response.headers)) {
        case http::Login::Outcome::kAnswer: send(*pending_); return std::nullopt;
        case http::Login::Outcome::kMissing:
            return fail(make_error(ErrorCode::kDenied,
                                   "the server asks for a login; expected USER:PASSWORD@ in front "
                                   "of the host of the URL"));
        case http::Login::Outcome::kUnsupported:
            return fail(make_error(ErrorCode::kDenied,
                                   "the server asks for a login in a way that is not supported "
                                   "here; Digest with MD5 or SHA-256 is, and Basic{}",
                                   options_.allow_basic ? "" : " over TLS"));
        case http::Login::Outcome::kWrong: break;
    }
    return fail(make_error(ErrorCode::kDenied, "the server does not take the user and password"));
}

ClientEvent ClientSession::on_redirect(const Response& response) {
    if (++redirects_ > kMaxRedirects) {
        return fail(make_error(ErrorCode::kLimit, "more than {} redirects", kMaxRedirects));
    }
    Result<Url> to = Url::parse(trim(response.headers.get("Location").value_or("")));
    if (!to.ok()) {
        return fail(make_error(ErrorCode::kMalformed, "a redirect without the URL of a stream"));
    }
    // The login stays with the server that it was given for.
    const Url& from = options_.url;
    if (to->login.empty() && to->host == from.host && (to->tls || !from.tls)) {
        to->login = from.login;
    }
    options_.url = std::move(*to);
    login_ = http::Login(options_.url.login, options_.allow_basic);
    begin();
    return ClientEvent::kRedirected;
}

// ---- SETUP ----

std::optional<ClientEvent> ClientSession::on_set_up(const Response& response) {
    if (const auto session = parse_session(response.headers.get("Session").value_or(""))) {
        session_ = session->id;
        timeout_ = session->timeout.value_or(kDefaultSessionTimeout);
    }
    if (agree(response)) {
        track_++;
        ask_next();
        return std::nullopt;
    }
    if (++offer_ < wanted_[track_].offers.size()) {
        ask_set_up();
        return std::nullopt;
    }
    offer_--;
    return leave_track_out(
        make_error(ErrorCode::kUnsupported, "the server answers SETUP with another transport"));
}

bool ClientSession::agree(const Response& response) {
    std::optional<Transport> agreed =
        understood(wanted_[track_].offers[offer_], response.headers.get("Transport").value_or(""));
    if (!agreed) {
        return false;
    }
    // A server that gives all tracks the same channels means those that it was asked for.
    if (agreed->interleaved && channel_use(agreed->interleaved->rtp)) {
        agreed->interleaved = wanted_[track_].offers[offer_].interleaved;
    }
    agreed_[track_] = std::move(agreed);
    return true;
}

// A player goes on with the other tracks.
std::optional<ClientEvent> ClientSession::leave_track_out(Error why) {
    track_++;
    const bool any = std::ranges::any_of(agreed_, [](const auto& one) { return one.has_value(); });
    if (publishes_ || (track_ == wanted_.size() && !any)) {
        return fail(std::move(why));
    }
    ask_next();
    return std::nullopt;
}

std::optional<ClientSession::ChannelUse> ClientSession::channel_use(uint8_t channel) const {
    for (size_t i = 0; i < agreed_.size(); i++) {
        if (agreed_[i] && agreed_[i]->interleaved) {
            const ChannelPair& pair = *agreed_[i]->interleaved;
            if (channel == pair.rtp || channel == pair.rtcp) {
                return ChannelUse{static_cast<uint8_t>(i), channel != pair.rtp};
            }
        }
    }
    return std::nullopt;
}

// ---- refusals ----

std::optional<ClientEvent> ClientSession::on_refusal(const Response& response) {
    if (state_ == State::kSetup) {
        const bool other_transport = response.status == 461 || response.status == 462;
        if (other_transport && offer_ + 1 < wanted_[track_].offers.size()) {
            offer_++;
            ask_set_up();
            return std::nullopt;
        }
        return leave_track_out(refusal(response));
    }
    if (state_ == State::kStart && ranged_ && (response.status == 457 || response.status == 456)) {
        Request again = std::move(*pending_);
        again.headers = {};
        ranged_ = false;
        ask(State::kStart, std::move(again));
        return std::nullopt;
    }
    if (state_ == State::kEnded) {
        return ClientEvent::kEnded;
    }
    return fail(refusal(response));
}

Error ClientSession::refusal(const Response& response) const {
    const std::string_view reason =
        response.reason.empty() ? status_text(response.status) : std::string_view(response.reason);
    return make_error(code_of(response.status), "the server answers {} with {} {}",
                      name_of(*pending_), response.status, reason.substr(0, kMaxShownReason));
}

ClientEvent ClientSession::fail(Error error) {
    error_ = std::move(error);
    failed_ = true;
    pending_.reset();
    keep_alive_at_.reset();
    return ClientEvent::kError;
}

// ---- requests of the server ----

std::optional<ClientEvent> ClientSession::on_request() {
    const Request& request = reader_.request();
    Response response;
    response.cseq = request.cseq;
    bool ended = false;
    switch (request.method) {
        case Method::kOptions:
            response.headers.add(
                "Public", MethodSet{Method::kOptions, Method::kGetParameter, Method::kSetParameter,
                                    Method::kTeardown, Method::kRedirect}
                              .write());
            break;
        case Method::kGetParameter:
        case Method::kSetParameter:
        case Method::kAnnounce: break;
        // The source that comes back is told where to go by the answer to DESCRIBE.
        case Method::kTeardown:
        case Method::kRedirect: ended = true; break;
        default: response.status = 501;
    }
    output_ += write(response);
    if (!ended) {
        return std::nullopt;
    }
    state_ = State::kEnded;
    keep_alive_at_.reset();
    return ClientEvent::kEnded;
}

}  // namespace weir::rtsp
