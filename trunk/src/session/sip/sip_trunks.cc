#include "session/sip/sip_trunks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/random.h"
#include "io/deadline.h"

namespace weir::session {
namespace {

using State = sip::Registration::State;

constexpr Millis kFarewell{500};  // for the answers to the last requests
constexpr Millis kLook{20};

std::string_view state_text(State state) {
    switch (state) {
        case State::kRegistered: return "registered";
        case State::kFailed: return "failed";
        case State::kEnding:
        case State::kEnded: return "ending";
        default: return "trying";
    }
}

}  // namespace

// ---- one ----

SipTrunk::SipTrunk(uint64_t number, SipTrunkOptions options)
    : number_(number), options_(std::move(options)) {}

std::string SipTrunk::uri_of(std::string_view number) const {
    sip::SipUri uri;
    uri.user = number;
    uri.host = options_.domain;
    return uri.write();
}

bool SipTrunk::is_registered() const {
    return registration_ != nullptr && registration_->expires_at().has_value();
}

bool SipTrunk::has_failed() const {
    return registration_ ? registration_->state() == State::kFailed : !error_.empty();
}

std::optional<sip::Flow> SipTrunk::flow(SipWires& wires) const {
    if (!is_registered()) {
        return std::nullopt;
    }
    const sip::Flow& used = registration_->server();
    const auto server = std::ranges::find(servers_, used.remote, &Server::address);
    Result<sip::Flow> fresh = wires.flow_to(
        used.transport, used.remote, server != servers_.end() ? server->hop.host : std::string());
    return fresh.ok() ? std::optional(std::move(*fresh)) : std::nullopt;
}

// Over UDP its port, too: a host may have others, which are strangers.
bool SipTrunk::comes_by(const sip::Flow& flow) const {
    return is_registered() && std::ranges::any_of(servers_, [&](const Server& each) {
               return flow.reliable() ? each.address.same_ip(flow.remote)
                                      : each.address == flow.remote;
           });
}

SipTrunkFacts SipTrunk::facts(MonoTime now) const {
    SipTrunkFacts facts;
    facts.id = name();
    facts.state = registration_ ? state_text(registration_->state()) : "resolving";
    facts.error = error_;
    facts.attempts = attempts_;
    facts.failures = failures_;
    if (registration_) {
        facts.server = registration_->server().remote.to_string();
        facts.status = registration_->last_status();
        if (const auto end = registration_->expires_at()) {
            facts.expires_in = std::chrono::duration_cast<Millis>(*end - now);
        }
    }
    return facts;
}

// ---- all ----

void SipTrunks::configure(const std::vector<SipTrunkOptions>& wanted) {
    const MonoTime now = MonoClock::now();
    for (const auto& trunk : all_) {
        if (std::ranges::find(wanted, trunk->options_) == wanted.end()) {
            end(*trunk, now);
        }
    }
    for (const SipTrunkOptions& each : wanted) {
        const bool there = std::ranges::any_of(
            all_, [&](const auto& trunk) { return !trunk->ending_ && trunk->options_ == each; });
        if (!there) {
            all_.push_back(std::make_unique<SipTrunk>(++last_number_, each));
        }
    }
    owner_.on_trunk_change();
}

void SipTrunks::end(SipTrunk& trunk, MonoTime now) {
    if (!std::exchange(trunk.ending_, true) && trunk.registration_) {
        trunk.registration_->stop(now);
    }
}

uint64_t SipTrunks::add(SipTrunkOptions options) {
    all_.push_back(std::make_unique<SipTrunk>(++last_number_, std::move(options)));
    owner_.on_trunk_change();
    return last_number_;
}

void SipTrunks::end(uint64_t number) {
    if (SipTrunk* const trunk = find_one(number)) {
        end(*trunk, MonoClock::now());
        owner_.on_trunk_change();
    }
}

void SipTrunks::forget(uint64_t number) {
    std::erase_if(all_, [number](const auto& each) { return each->number_ == number; });
}

SipTrunk* SipTrunks::find_one(uint64_t number) const {
    const auto found =
        std::ranges::lower_bound(all_, number, {}, [](const auto& each) { return each->number_; });
    return found == all_.end() || (*found)->number_ != number ? nullptr : found->get();
}

const SipTrunk* SipTrunks::find(std::string_view name) const {
    const auto found = std::ranges::find_if(
        all_, [&](const auto& each) { return !each->ending_ && each->name() == name; });
    return found == all_.end() ? nullptr : found->get();
}

const SipTrunk* SipTrunks::find_domain(std::string_view host) const {
    const auto found = std::ranges::find_if(
        all_, [&](const auto& each) { return !each->ending_ && each->options_.domain == host; });
    return found == all_.end() ? nullptr : found->get();
}

const SipTrunk* SipTrunks::find_source(const sip::Flow& flow) const {
    const auto found = std::ranges::find_if(
        all_, [&](const auto& each) { return !each->ending_ && each->comes_by(flow); });
    return found == all_.end() ? nullptr : found->get();
}

size_t SipTrunks::registered() const {
    return static_cast<size_t>(
        std::ranges::count_if(all_, [](const auto& each) { return each->is_registered(); }));
}

void SipTrunks::begin_to_resolve(SipTrunk& trunk) {
    if (std::exchange(trunk.resolving_, true)) {
        return;
    }
    const Error failed = tasks_.spawn("sip trunk", io::StackSize::kNormal,
                                      [this, number = trunk.number_] { resolve(number); });
    if (failed) {
        trunk.resolving_ = false;
        trunk.resolve_at_ = MonoClock::now() + SipTrunk::kResolvePause;
    }
}

// Yields. One address of each name: which of several is better is the resolver's word.
void SipTrunks::resolve(uint64_t number) {
    SipTrunk* trunk = find_one(number);
    if (trunk == nullptr) {
        return;
    }
    std::vector<std::string> names = trunk->options_.servers;
    if (names.empty()) {
        names.push_back(trunk->options_.domain);
    }
    std::vector<SipTrunk::Server> servers;
    Error last;
    for (const std::string& name : names) {
        const Result<SipHop> hop = parse_sip_hop(name);
        if (!hop.ok()) {
            last = make_error(ErrorCode::kMalformed, "{}", hop.error().message());
            continue;
        }
        auto addresses = resolver_.resolve(sip::without_brackets(hop->host), hop->port,
                                           io::Deadline::after(SipTrunk::kResolveTime));
        if (addresses.ok() && servers.size() < SipTrunk::kMaxServers) {
            servers.push_back({*hop, addresses->front().net_address()});
        } else if (!addresses.ok()) {
            last = addresses.take_error();
        }
    }
    trunk = find_one(number);
    if (trunk == nullptr || stopping_) {
        return;
    }
    trunk->resolving_ = false;
    if (trunk->ending_) {
        owner_.on_trunk_change();
        return;
    }
    trunk->error_ = last ? std::string(last.message()) : std::string();
    trunk->resolve_at_ = MonoClock::now() + SipTrunk::kResolvePause;
    if (!servers.empty() && (!trunk->registration_ || servers != trunk->servers_)) {
        begin(*trunk, std::move(servers));
    } else if (servers.empty()) {
        log::warn("sip register {}: {}", log::token(trunk->name()), log::escaped(trunk->error_));
    }
    owner_.on_trunk_change();
}

void SipTrunks::begin(SipTrunk& trunk, std::vector<SipTrunk::Server> servers) {
    sip::RegistrationOptions options;
    options.registrar = fmt::format("sip:{}", trunk.options_.domain);
    options.aor = trunk.aor();
    options.display = trunk.options_.display;
    options.contact_user =
        trunk.options_.contact_user.empty() ? trunk.options_.user : trunk.options_.contact_user;
    options.login = trunk.login();
    options.expires = trunk.options_.expires;
    for (const SipTrunk::Server& each : servers) {
        Result<sip::Flow> flow = wires_.flow_to(each.hop.transport, each.address, each.hop.host);
        if (flow.ok()) {
            options.servers.push_back(std::move(*flow));
        } else {
            trunk.error_ = flow.error().message();
        }
    }
    if (options.servers.empty()) {
        trunk.registration_.reset();
        log::warn("sip register {}: {}", log::token(trunk.name()), log::escaped(trunk.error_));
        return;
    }
    trunk.servers_ = std::move(servers);
    trunk.registration_ = std::make_unique<sip::Registration>(std::move(options), system_random());
    trunk.registration_->start(MonoClock::now());
}

void SipTrunks::work(MonoTime now) {
    if (!wires_.is_open()) {
        return;
    }
    for (const auto& trunk : all_) {
        if (trunk->registration_) {
            trunk->registration_->handle_timeout(now);
            pump(now, *trunk);
        } else if (!trunk->ending_ && trunk->resolve_at_ <= now && !stopping_) {
            begin_to_resolve(*trunk);
        }
    }
    std::erase_if(all_, [](const auto& trunk) {
        return trunk->ending_ && !trunk->resolving_ &&
               (!trunk->registration_ || trunk->registration_->state() == State::kEnded);
    });
}

void SipTrunks::pump(MonoTime now, SipTrunk& trunk) {
    while (std::optional<sip::Registration::Outgoing> out = trunk.registration_->poll_request()) {
        const auto server =
            std::ranges::find(trunk.servers_, out->flow.remote, &SipTrunk::Server::address);
        const Result<sip::Flow> flow =
            wires_.flow_to(out->flow.transport, out->flow.remote,
                           server != trunk.servers_.end() ? server->hop.host : std::string());
        trunk.attempts_++;
        if (!flow.ok() || !owner_.send_request(std::move(out->request), *flow, trunk.number_)) {
            trunk.failures_++;
            trunk.registration_->on_failed(now, 503);
        }
    }
    note(trunk);
}

// Changes, for the log. After all servers have failed their names are asked for again.
void SipTrunks::note(SipTrunk& trunk) {
    const bool registered = trunk.is_registered();
    const bool failed = trunk.registration_->state() == State::kFailed;
    if (registered && !std::exchange(trunk.was_registered_, registered)) {
        log::info("sip register {}: registered at {}", log::token(trunk.name()),
                  trunk.registration_->server().remote.to_string());
    }
    trunk.was_registered_ = registered;
    if (failed && !std::exchange(trunk.had_failed_, failed)) {
        log::warn("sip register {} has failed: status {}", log::token(trunk.name()),
                  trunk.registration_->last_status());
        begin_to_resolve(trunk);
    }
    trunk.had_failed_ = failed;
}

std::optional<MonoTime> SipTrunks::next_timeout() const {
    std::optional<MonoTime> next;
    if (!wires_.is_open()) {
        return next;
    }
    for (const auto& trunk : all_) {
        std::optional<MonoTime> due;
        if (trunk->registration_) {
            due = trunk->registration_->next_timeout();
        } else if (!trunk->resolving_) {
            due = trunk->resolve_at_;
        }
        if (due && (!next || *due < *next)) {
            next = due;
        }
    }
    return next;
}

void SipTrunks::on_response(MonoTime now, uint64_t user, const sip::Response& response) {
    SipTrunk* const trunk = find_one(user);
    if (trunk == nullptr || !trunk->registration_) {
        return;
    }
    trunk->failures_ += response.status >= 300 && response.status != 401 && response.status != 407;
    trunk->registration_->on_response(now, response);
    pump(now, *trunk);
    owner_.on_trunk_change();
}

void SipTrunks::on_failed(MonoTime now, uint64_t user, int status) {
    SipTrunk* const trunk = find_one(user);
    if (trunk == nullptr || !trunk->registration_) {
        return;
    }
    trunk->failures_++;
    trunk->registration_->on_failed(now, status);
    pump(now, *trunk);
    owner_.on_trunk_change();
}

void SipTrunks::stop(io::Deadline deadline) {
    stopping_ = true;
    configure({});
    const io::Deadline last =
        io::Deadline::at(std::min(deadline.time(), MonoClock::now() + kFarewell));
    const auto waits = [this] {
        return std::ranges::any_of(all_, [](const auto& each) { return each->is_registered(); });
    };
    work(MonoClock::now());
    while (waits() && !last.passed() && !io::sleep_for(kLook)) {
    }
    tasks_.interrupt_all();
    (void)tasks_.join_all(deadline).code();
    all_.clear();
}

}  // namespace weir::session
