#include "session/sip/sip_lines.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "net/limits.h"
#include "proto/sip/uri.h"
#include "session/sip/sip_server.h"

namespace weir::session {
namespace {

// Requests of lines are known by numbers above it, those of `register` by numbers below.
constexpr uint64_t kFirstNumber = uint64_t{1} << 40U;

bool is_plain(std::string_view text) {
    return text.size() <= SipLines::kMaxText && std::ranges::none_of(text, [](char c) {
               return static_cast<unsigned char>(c) < ' ' || c == '\x7F';
           });
}

constexpr std::string_view kTooManyWrong = "403 Forbidden: too many wrong passwords";

NetAddress guesser_of(const net::PhoneLineRequest& request) {
    return net::limited_address(io::SocketAddress::of(request.peer));
}

}  // namespace

SipLines::SipLines(SipServer& server,
                   SipTrunksOwner& owner,
                   SipWires& wires,
                   io::Resolver& resolver)
    : server_(server), owner_(owner), registrations_(owner, wires, resolver, kFirstNumber) {}

SipLines::~SipLines() {
    WEIR_CHECK(lines_.empty());
}

bool SipLines::allows(std::string_view domain) const {
    return std::ranges::any_of(server_.options().line_domains, [&](const std::string& each) {
        return equals_ignore_case(each, domain);
    });
}

bool SipLines::is_own(std::string_view domain) const {
    const std::string& own = server_.options().own_domain;
    return !own.empty() && equals_ignore_case(own, domain);
}

bool SipLines::may_call(std::string_view from, std::string_view to) const {
    return (equals_ignore_case(from, to) && is_own(to)) || (allows(from) && allows(to));
}

Result<std::unique_ptr<net::PhoneLine>> SipLines::open(const net::PhoneLineRequest& asked,
                                                       net::PhoneLineObserver& observer) {
    if (stopping_) {
        return make_error(ErrorCode::kInterrupted, "the server stops");
    }
    net::PhoneLineRequest request = asked;
    const bool own = asked.domain.empty();
    if (own) {
        request.domain = server_.options().own_domain;
    }
    if (request.domain.empty() || (!own && !allows(request.domain))) {
        return make_error(ErrorCode::kDenied, "lines of this domain are not allowed (rtmp_lines)");
    }
    const std::string address = "sip:" + request.user + "@" + request.domain;
    const auto uri = sip::SipUri::parse(address);
    if (!uri || uri->user.empty() || !is_plain(address) || !is_plain(request.login) ||
        !is_plain(request.password) || !is_plain(request.display)) {
        return make_error(ErrorCode::kMalformed,
                          "user, login, password or name of the line is malformed or too long");
    }
    if (refusals_.wait_for(guesser_of(request), kRefusals, MonoClock::now()) > Millis(0)) {
        return make_error(ErrorCode::kDenied, "{}", kTooManyWrong);
    }
    if (lines_.size() >= kMaxLines) {
        return make_error(ErrorCode::kFull, "{} lines are in use", lines_.size());
    }
    for (const auto& line : lines_) {
        if (line->has_owner() && line->is_same_user(request) && line->is_proven() &&
            request.password.empty()) {
            return make_error(ErrorCode::kBusy, "somebody with a password has this line");
        }
    }
    WEIR_TRY_ASSIGN(net::AddressPlace place,
                    server_.services().limits.enter(
                        net::Share::kPhoneLines, io::SocketAddress::of(request.peer),
                        {.of_one = kMaxLinesOfOne, .places = kMaxLines}));
    lines_.push_back(std::make_unique<SipLine>(*this, request, observer, std::move(place)));
    std::unique_ptr<net::PhoneLine> handle = lines_.back()->make_handle();
    owner_.on_trunk_change();  // the clock does the rest
    return handle;
}

bool SipLines::keeps(const stream::StreamKey& key) const {
    return std::ranges::any_of(lines_, [&](const auto& line) {
        return line->has_owner() && (line->request().local == key || line->request().remote == key);
    });
}

void SipLines::take_over(const SipLine& line) {
    for (size_t i = 0; i < lines_.size(); i++) {  // an owner that is told may open another one
        SipLine& other = *lines_[i];
        // One that comes with a password takes over when it has shown it.
        const bool guest = line.request().password.empty() && !other.request().password.empty();
        if (&other != &line && !guest && other.has_owner() && other.is_same_user(line.request())) {
            other.fail("another connection has taken the line");
        }
    }
}

void SipLines::note_refusal(const net::PhoneLineRequest& request) {
    (void)refusals_.take(guesser_of(request), kRefusals, MonoClock::now());
}

void SipLines::end_denied(bool enabled) {
    for (size_t i = 0; i < lines_.size(); i++) {  // an owner that is told may open another one
        SipLine& line = *lines_[i];
        const std::string& domain = line.request().domain;
        if (line.has_owner() && !(enabled && (is_own(domain) || allows(domain)))) {
            line.fail("403 lines of this domain are not allowed any more");
        }
    }
}

// Passwords that are being asked about count as wrong ones until it is known: so many at once are
// no more guesses than one behind the other.
void SipLines::start_those_whose_turn_it_is(MonoTime now) {
    const auto waits = [](const auto& line) { return line->waits_for_turn(); };
    if (std::ranges::none_of(lines_, waits)) {
        return;
    }
    std::unordered_map<NetAddress, size_t> asked;
    for (const auto& line : lines_) {
        asked[guesser_of(line->request())] += line->is_judged() ? 1U : 0U;
    }
    for (size_t i = 0; i < lines_.size(); i++) {  // an owner that is told may open another one
        SipLine& line = *lines_[i];
        if (!line.waits_for_turn()) {
            continue;
        }
        const NetAddress guesser = guesser_of(line.request());
        const double left = refusals_.left(guesser, kRefusals, now);
        if (left < 1) {
            line.fail(kTooManyWrong);
        } else if (static_cast<double>(asked[guesser]) + 1 <= left) {
            asked[guesser]++;
            line.start();
        }
    }
}

bool SipLines::take_invited(const sip::CallEvent& event) {
    if (lines_.empty()) {
        return false;
    }
    const auto uri = sip::SipUri::parse(event.request.uri);
    const auto found = std::ranges::find_if(lines_, [&](const auto& line) {
        return uri && line->has_owner() && line->is_ready() && line->token() == uri->user;
    });
    if (found == lines_.end()) {
        return false;
    }
    (*found)->on_invited(event);
    return true;
}

// ---- time ----

void SipLines::tick(MonoTime now) {
    start_those_whose_turn_it_is(now);
    registrations_.work(now);
    for (size_t i = 0; i < lines_.size(); i++) {  // an owner that is told may open another one
        lines_[i]->tick(now);
    }
    std::erase_if(lines_, [&](const auto& line) {
        const bool gone = line->is_gone(now);
        if (gone) {
            registrations_.forget(line->registration());
        }
        return gone;
    });
}

std::optional<MonoTime> SipLines::next_timeout() const {
    std::optional<MonoTime> first = registrations_.next_timeout();
    for (const auto& line : lines_) {
        const auto due = line->next_timeout();
        first = due && (!first || *due < *first) ? due : first;
    }
    return first;
}

void SipLines::end_all() {
    stopping_ = true;
    for (const auto& line : lines_) {
        line->fail("the server stops");
    }
    registrations_.work(MonoClock::now());
}

}  // namespace weir::session
