#include "session/sip/sip_line.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "proto/sdp/phone.h"
#include "proto/sip/name_addr.h"
#include "proto/sip/uri.h"
#include "session/sip/sip_line_call.h"
#include "session/sip/sip_lines.h"
#include "session/sip/sip_server.h"

namespace weir::session {
namespace {

using media::Codec;

constexpr size_t kTokenLength = 16;
constexpr int kLeastRefusal = 300;
constexpr int kGreatestRefusal = 699;
constexpr int kRequestTimeout = 408;

struct CodecName {
    std::string_view name;  // net::PhoneCodecNames
    std::string_view own;   // SipCall::choose_codecs()
    Codec codec;
    uint32_t clock_hz;
    bool audio;
};

// The first of several names of one codec is the one that the owner is told.
constexpr std::array<CodecName, 10> kCodecs{{
    {"wideband", "Speex/16000", Codec::kSpeex, 16'000, true},
    {"narrowband", "Speex/8000", Codec::kSpeex, 8'000, true},
    {"pcmu", "G711U", Codec::kG711U, 8'000, true},
    {"pcma", "G711A", Codec::kG711A, 8'000, true},
    {"ulaw", "G711U", Codec::kG711U, 8'000, true},
    {"alaw", "G711A", Codec::kG711A, 8'000, true},
    {"opus", "Opus", Codec::kOpus, 48'000, true},
    {"g722", "G722", Codec::kG722, 8'000, true},
    {"h264", "H264", Codec::kH264, 90'000, false},
    {"vp8", "VP8", Codec::kVp8, 90'000, false},
}};

std::string name_of(const sdp::PhoneTrack& track) {
    const auto found = std::ranges::find_if(kCodecs, [&](const CodecName& each) {
        return each.codec == track.codec && each.clock_hz == track.clock_hz;
    });
    return track.in_use && found != kCodecs.end() ? std::string(found->name) : std::string();
}

// As the server's calls take them. kUnsupported: there is no audio among them.
Result<std::vector<std::string>> own_names(net::PhoneCodecNames codecs) {
    std::vector<std::string> own;
    bool audio = codecs.empty();
    for (const std::string& name : codecs) {
        const auto found = std::ranges::find(kCodecs, name, &CodecName::name);
        if (found != kCodecs.end()) {
            own.emplace_back(found->own);
            audio = audio || found->audio;
        }
    }
    if (!audio) {
        return make_error(ErrorCode::kUnsupported,
                          "488 Not Acceptable Here: none of the audio codecs is known");
    }
    return own;
}

Error wrong_state() {
    return make_error(ErrorCode::kBusy, "491 Request Pending: not in this state of the call");
}

std::string reason_of(int status, std::string_view reason) {
    return fmt::format("{} {}", status, reason.empty() ? sip::status_text(status) : reason);
}

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kDenied: return kSipForbidden;
        case ErrorCode::kBusy: return kSipBusyHere;
        case ErrorCode::kMalformed: return kSipNotFound;
        default: return kSipTooMany;
    }
}

}  // namespace

// What the owner has.
class SipLine::Handle final : public net::PhoneLine {
  public:
    explicit Handle(SipLine& line) : line_(&line) { line.handle_ = this; }

    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    ~Handle() override {
        if (line_ != nullptr) {
            line_->handle_ = nullptr;
            line_->close();
        }
    }

    void forget() { line_ = nullptr; }

    Error invite(std::string_view to, net::PhoneCodecNames codecs) override {
        return line_ ? line_->invite(to, codecs) : gone();
    }

    Error accept(net::PhoneCodecNames codecs) override {
        return line_ ? line_->accept(codecs) : gone();
    }

    Error reject(int status) override { return line_ ? line_->reject(status) : gone(); }

    Error hang_up() override { return line_ ? line_->hang_up() : gone(); }

    Error hold(bool on) override { return line_ ? line_->hold(on) : gone(); }

    Error send_digits(std::string_view digits) override {
        return line_ ? line_->send_digits(digits) : gone();
    }

  private:
    static Error gone() { return make_error(ErrorCode::kBusy, "480 the line has ended"); }

    SipLine* line_;  // null: the server has ended it
};

SipLine::SipLine(SipLines& lines,
                 net::PhoneLineRequest request,
                 net::PhoneLineObserver& observer,
                 net::AddressPlace place)
    : place_(std::move(place)),
      lines_(lines),
      server_(lines.server()),
      token_("line" + random_id(system_random(), kTokenLength)),
      request_(std::move(request)),
      observer_(&observer) {}

SipLine::~SipLine() {
    WEIR_CHECK(handle_ == nullptr && state_ == State::kIdle);
}

std::unique_ptr<net::PhoneLine> SipLine::make_handle() {
    return std::make_unique<Handle>(*this);
}

// ---- life ----

void SipLine::start() {
    SipTrunkOptions options{.user = request_.user, .domain = request_.domain};
    options.login = request_.login;
    options.password = request_.password;
    options.display = request_.display;
    options.contact_user = token_;
    options.expires = kExpires;
    registration_ = lines_.registrations().add(std::move(options));
}

// A server that is away for a while is asked again; who has no line yet wants to know.
void SipLine::follow_registration() {
    const SipTrunk* const registration = lines_.registrations().find(registration_);
    if (registration == nullptr) {
        return;
    }
    if (registration->is_registered()) {
        become_ready();
        return;
    }
    if (!registration->has_failed()) {
        return;
    }
    const int status = registration->status();
    const bool refused = status >= kLeastRefusal && status != kRequestTimeout && status < 500;
    if (refused) {
        lines_.note_refusal(request_);
    }
    if (!ready_ || refused) {
        fail(status == 0 ? reason_of(kSipNotFound, registration->error()) : reason_of(status, {}));
    }
}

void SipLine::become_ready() {
    if (!std::exchange(ready_, true)) {
        lines_.take_over(*this);
        observer_->on_line_ready();
    }
}

void SipLine::fail(std::string_view reason) {
    if (net::PhoneLineObserver* const owner = std::exchange(observer_, nullptr)) {
        log::info("line ended user={} domain={}: {}", log::token(request_.user),
                  log::token(request_.domain), log::escaped(reason));
        owner->on_line_failed(reason);
    }
    close();
}

void SipLine::close() {
    observer_ = nullptr;
    if (Handle* const handle = std::exchange(handle_, nullptr)) {
        handle->forget();
    }
    if (forget_at_) {
        return;
    }
    forget_at_ = MonoClock::now() + kFarewellWait;
    if (state_ != State::kIdle && state_ != State::kOver) {
        (void)hang_up();
    }
    lines_.registrations().end(registration_);
    server_.look_soon();
}

bool SipLine::is_gone(MonoTime now) const {
    return forget_at_ && state_ == State::kIdle &&
           (now >= *forget_at_ || lines_.registrations().find(registration_) == nullptr);
}

void SipLine::tick(MonoTime /*now*/) {
    if (observer_ != nullptr && request_.password.empty()) {
        become_ready();
    } else if (observer_ != nullptr) {
        follow_registration();
    }
    tell_answered();
}

SipParty* SipLine::call() const {
    return server_.find(call_);
}

// ---- what the owner wants ----

Error SipLine::invite(std::string_view to, net::PhoneCodecNames codecs) {
    if (!ready_ || state_ != State::kIdle) {
        return make_error(ErrorCode::kBusy, "486 Busy Here: the line has a call");
    }
    // "<sip:bob@example.com>", "Bob <sip:...>", "bob@example.com", "100".
    const auto party = sip::NameAddr::parse(to);
    std::string address = party && party->address() ? party->uri : std::string(to);
    if (!address.starts_with("sip:")) {
        address = "sip:" + address;
    }
    if (address.find('@') == std::string::npos) {
        address += "@" + request_.domain;
    }
    const auto uri = sip::SipUri::parse(address);
    if (!uri || uri->scheme != sip::Scheme::kSip || uri->user.empty() || !uri->password.empty()) {
        return make_error(ErrorCode::kMalformed, "484 Address Incomplete: sip:USER@DOMAIN");
    }
    const std::string domain =
        uri->port != 0 ? fmt::format("{}:{}", uri->host, uri->port) : uri->host;
    if (!lines_.may_call(request_.domain, domain)) {
        return make_error(ErrorCode::kDenied,
                          "403 Forbidden: this domain must not be called (rtmp_lines)");
    }
    WEIR_TRY_ASSIGN(std::vector<std::string> names, own_names(codecs));
    SipCallOrder order;
    order.to = uri->write();
    order.from = "sip:" + request_.user + "@" + request_.domain;
    order.display = request_.display;
    if (!request_.password.empty()) {
        order.login = {request_.login.empty() ? request_.user : request_.login, request_.password};
    }
    order.proxy = request_.domain;
    order.by_line = true;
    order.play = request_.local;
    order.publish = request_.remote;
    order.codecs = std::move(names);
    Result<std::string> placed = server_.place_call(std::move(order), this);
    if (!placed.ok()) {
        return make_error(placed.error().code(), "{} {}", status_of(placed.error()),
                          placed.error().message());
    }
    state_ = State::kCalling;
    call_ = std::move(*placed);
    return {};
}

Error SipLine::accept(net::PhoneCodecNames codecs) {
    if (state_ != State::kInvited || call() == nullptr) {
        return wrong_state();
    }
    WEIR_TRY_ASSIGN(const std::vector<std::string> names, own_names(codecs));
    state_ = State::kAccepting;
    std::exchange(invited_, nullptr)->accept(names);
    return {};
}

Error SipLine::reject(int status) {
    if (state_ != State::kInvited || call() == nullptr) {
        return wrong_state();
    }
    if (status < kLeastRefusal || status > kGreatestRefusal) {
        return make_error(ErrorCode::kMalformed, "{} is no refusal", status);
    }
    state_ = State::kOver;
    std::exchange(invited_, nullptr)->reject(status, "rejected by the line");
    return {};
}

Error SipLine::hang_up() {
    if (state_ == State::kInvited) {
        return reject(kSipBusyHere);
    }
    SipParty* const call = this->call();
    if (call == nullptr || state_ == State::kIdle || state_ == State::kOver) {
        return wrong_state();
    }
    state_ = State::kOver;
    call->hang_up(net::EndClass::kPeerClosed, "hung up by the line");
    return {};
}

Error SipLine::hold(bool on) {
    SipParty* const call = this->call();
    if (state_ != State::kTalking || call == nullptr) {
        return wrong_state();
    }
    return call->hold(on);
}

Error SipLine::send_digits(std::string_view digits) {
    SipParty* const call = this->call();
    if (state_ != State::kTalking || call == nullptr) {
        return wrong_state();
    }
    return call->send_digits(digits, kDigitTime).take_error();
}

// ---- what the other party does ----

void SipLine::on_invited(const sip::CallEvent& event) {
    server_.counters().invited++;
    if (state_ != State::kIdle) {
        server_.counters().refused++;
        server_.with_agent([&](sip::UserAgent& agent) {
            return agent.reject(MonoClock::now(), event.call, kSipBusyHere);
        });
        return;
    }
    auto made = std::make_unique<SipLineCall>(server_, event, request_,
                                              static_cast<SipCallObserver&>(*this));
    state_ = State::kInvited;
    call_ = made->name();
    invited_ = made.get();
    server_.adopt(std::move(made));
    server_.route(event.call, *invited_);
    invited_->ring();
    observer_->on_invited(invited_->from(), invited_->to());
}

void SipLine::on_ringing(int status, std::string_view reason) {
    const bool rings = status == 180 || status == 183;
    if (rings && state_ == State::kCalling && observer_ != nullptr) {
        observer_->on_ringing(reason_of(status, reason));
    }
}

void SipLine::on_answered(const sdp::PhoneTrack& audio, const sdp::PhoneTrack& video) {
    if (state_ == State::kCalling || state_ == State::kAccepting) {
        state_ = State::kTalking;
        answered_ = {name_of(audio), name_of(video)};
        server_.look_soon();
    }
}

void SipLine::tell_answered() {
    if (const auto names = std::exchange(answered_, std::nullopt); names && observer_ != nullptr) {
        observer_->on_accepted(names->first, names->second);
    }
}

void SipLine::on_held(bool held) {
    tell_answered();
    if (state_ == State::kTalking && observer_ != nullptr) {
        observer_->on_held(held);
    }
}

void SipLine::on_digit(char digit) {
    tell_answered();
    if (state_ == State::kTalking && observer_ != nullptr) {
        observer_->on_digit(digit);
    }
}

void SipLine::on_over(bool /*answered*/, int status, std::string_view reason) {
    tell_answered();
    const State before = std::exchange(state_, State::kIdle);
    call_.clear();
    const SipLineCall* const invited = std::exchange(invited_, nullptr);
    server_.look_soon();
    if (observer_ == nullptr) {
        return;
    }
    switch (before) {
        case State::kCalling:
        case State::kAccepting: observer_->on_rejected(reason_of(status, reason)); return;
        case State::kInvited: observer_->on_cancelled(invited->from(), invited->to()); return;
        case State::kTalking: observer_->on_ended(); return;
        default: return;
    }
}

}  // namespace weir::session
