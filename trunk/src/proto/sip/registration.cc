#include "proto/sip/registration.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "proto/sip/dialog.h"
#include "proto/sip/header_values.h"
#include "proto/sip/name_addr.h"

namespace weir::sip {
namespace {

constexpr size_t kIdLength = 20;
constexpr size_t kTagLength = 12;
constexpr uint32_t kMaxDoublings = 10;
constexpr Seconds kShortest{5};      // between two refreshes, whatever the server says
constexpr Seconds kLongest{86'400};  // that a server may ask for by Min-Expires or Retry-After

// Between one half and the whole.
Millis with_jitter(RandomSource& random, Seconds pause) {
    std::array<uint8_t, 2> bytes{};
    random.fill(bytes);
    ByteReader reader(bytes);
    const Millis whole = pause;
    return whole / 2 + whole / 2 * reader.u16() / UINT16_MAX;
}

}  // namespace

Registration::Registration(RegistrationOptions options, RandomSource& random)
    : options_(std::move(options)),
      random_(random),
      login_(options_.login, false),
      proxy_login_(options_.login, false),
      call_id_(random_id(random, kIdLength)),
      tag_(random_id(random, kTagLength)),
      wanted_(options_.expires) {
    WEIR_CHECK(!options_.servers.empty());
}

void Registration::start(MonoTime) {
    if (state_ != State::kIdle && state_ != State::kEnded) {
        return;
    }
    state_ = State::kTrying;
    stopping_ = false;
    login_.begin_request();
    proxy_login_.begin_request();
    ask(wanted_);
}

void Registration::stop(MonoTime) {
    stopping_ = true;
    ask_at_.reset();
    if (waiting_ && !outgoing_) {
        return;  // its outcome decides
    }
    outgoing_.reset();
    waiting_ = false;
    if (!expires_at_) {
        state_ = State::kEnded;
    } else if (state_ != State::kEnding) {
        state_ = State::kEnding;
        login_.begin_request();
        proxy_login_.begin_request();
        ask(Seconds(0));
    }
}

void Registration::ask(Seconds expires) {
    const Flow& flow = server();
    const std::string contact = make_contact(options_.contact_user, flow);
    NameAddr who{options_.display, options_.aor, {}};
    Request request;
    request.method = Method::kRegister;
    request.method_name = to_string(Method::kRegister);
    request.uri = options_.registrar;
    request.headers.add("To", who.write());
    who.parameters.set("tag", tag_);
    request.headers.add("From", who.write());
    request.headers.add("Call-ID", call_id_);
    cseq_ = cseq_ == kMaxSequence ? 1 : cseq_ + 1;
    request.headers.add("CSeq", fmt::format("{} REGISTER", cseq_));
    request.headers.add("Contact", fmt::format("{};expires={}", contact, expires.count()));
    request.headers.add("Expires", fmt::format("{}", expires.count()));
    const std::string_view method = to_string(Method::kRegister);
    if (std::string value = login_.authorization(method, request.uri, random_); !value.empty()) {
        request.headers.add("Authorization", std::move(value));
    }
    if (std::string value = proxy_login_.authorization(method, request.uri, random_);
        !value.empty()) {
        request.headers.add("Proxy-Authorization", std::move(value));
    }
    asked_ = expires;
    waiting_ = true;
    ask_at_.reset();
    outgoing_ = Outgoing{std::move(request), flow};
}

std::optional<Registration::Outgoing> Registration::poll_request() {
    return std::exchange(outgoing_, std::nullopt);
}

bool Registration::answer_challenge(const Response& response) {
    const bool proxy = response.status == 407;
    http::Login& login = proxy ? proxy_login_ : login_;
    return login.on_challenge(response.headers,
                              proxy ? "Proxy-Authenticate" : "WWW-Authenticate") ==
           http::Login::Outcome::kAnswer;
}

void Registration::on_response(MonoTime now, const Response& response) {
    if (!waiting_ || outgoing_ || response.status < 200) {
        return;
    }
    waiting_ = false;
    last_status_ = response.status;
    const int status = response.status;
    if ((status == 401 || status == 407) && answer_challenge(response)) {
        ask(asked_);
        return;
    }
    if (state_ == State::kEnding) {
        expires_at_.reset();
        state_ = State::kEnded;
        return;
    }
    if (status < 300) {
        on_accepted(now, response);
        return;
    }
    const Seconds minimum(parse_seconds(response.header("Min-Expires")).value_or(0));
    if (status == 423 && minimum > asked_ && minimum <= kLongest && !stopping_) {
        wanted_ = minimum;
        ask(wanted_);
        return;
    }
    const Seconds pause(parse_seconds(response.header("Retry-After")).value_or(0));
    try_next(now, std::min(pause, kLongest));
}

void Registration::on_accepted(MonoTime now, const Response& response) {
    failures_ = 0;
    rounds_ = 0;
    Seconds granted(
        parse_seconds(response.header("Expires")).value_or(static_cast<uint32_t>(asked_.count())));
    // The server lists all contacts; ours has the time that counts (§10.2.4).
    const std::optional<NameAddr> ours =
        NameAddr::parse(make_contact(options_.contact_user, server()));
    const std::optional<SipUri> uri = ours ? ours->address() : std::nullopt;
    for (const NameAddr& each :
         NameAddr::parse_all(response.headers, "Contact").value_or(std::vector<NameAddr>())) {
        const std::optional<SipUri> other = each.address();
        if (uri && other && other->equivalent(*uri)) {
            granted = Seconds(parse_seconds(each.parameters.get("expires").value_or(""))
                                  .value_or(static_cast<uint32_t>(granted.count())));
        }
    }
    granted = std::clamp(granted, kShortest, kLongest);
    state_ = State::kRegistered;
    expires_at_ = now + granted;
    ask_at_ = now + std::max(kShortest, granted * 4 / 5);
    if (stopping_) {
        stop(now);
    }
}

void Registration::on_failed(MonoTime now, int status) {
    if (!waiting_ || outgoing_) {
        return;
    }
    waiting_ = false;
    last_status_ = status;
    if (state_ == State::kEnding) {
        expires_at_.reset();
        state_ = State::kEnded;
        return;
    }
    try_next(now, Seconds(0));
}

// Another server at once; when all have failed, a pause (RFC 5626 §4.5).
void Registration::try_next(MonoTime now, Seconds at_least) {
    if (stopping_) {
        stop(now);
        return;
    }
    server_ = (server_ + 1) % options_.servers.size();
    failures_++;
    if (failures_ < options_.servers.size()) {
        login_.begin_request();
        proxy_login_.begin_request();
        ask(wanted_);
        return;
    }
    failures_ = 0;
    const Seconds pause = std::min(options_.first_pause * (1U << std::min(rounds_, kMaxDoublings)),
                                   options_.longest_pause);
    rounds_++;
    ask_at_ = now + std::max<Micros>(with_jitter(random_, pause), at_least);
    if (!expires_at_) {
        state_ = State::kFailed;
    }
}

void Registration::handle_timeout(MonoTime now) {
    if (expires_at_ && *expires_at_ <= now) {
        expires_at_.reset();
        if (state_ == State::kRegistered) {
            state_ = waiting_ ? State::kTrying : State::kFailed;
        }
    }
    if (ask_at_ && *ask_at_ <= now && !waiting_) {
        if (state_ == State::kFailed) {
            state_ = State::kTrying;
        }
        login_.begin_request();
        proxy_login_.begin_request();
        ask(wanted_);
    }
}

std::optional<MonoTime> Registration::next_timeout() const {
    return ask_at_ && expires_at_ ? std::min(*ask_at_, *expires_at_)
           : ask_at_              ? ask_at_
                                  : expires_at_;
}

}  // namespace weir::sip
