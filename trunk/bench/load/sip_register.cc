// weir-bench sip-call --register: users that register, all within a time, and refresh.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/random.h"
#include "io/deadline.h"
#include "proto/sip/registration.h"

#include "bench/load/core/condition.h"
#include "bench/load/core/units.h"
#include "bench/load/load_run.h"
#include "bench/load/sip_call_options.h"
#include "bench/load/sip_signals.h"
#include "bench/load/usage_probe.h"

namespace weir::load {
namespace {

constexpr Millis kTick{100};
constexpr Millis kClock{2};
constexpr Millis kGoodbye{3'000};

class SipRegisterRun final : private SipSignalsOwner {
  public:
    explicit SipRegisterRun(const SipCallOptions& options)
        : options_(options),
          report_("sip-call", options.url),
          signals_(static_cast<SipSignalsOwner&>(*this)) {}

    Error run(int& exit_code);

  private:
    struct User {
        std::unique_ptr<sip::Registration> registration;
        uint64_t asked_ns = 0;
        bool registered = false;
    };

    Error prepare();
    void run_clock();
    void begin_due();
    void pump(size_t number);
    void on_sip(sip::CallEvent event) override;
    void wait(Millis time, std::string_view phase, bool until_done);
    size_t registered() const;
    void make_report();

    const SipCallOptions& options_;
    Report report_;
    std::unique_ptr<RunControl> control_;
    std::optional<UsageProbe> usage_;
    std::vector<Expression> expected_;
    SipTarget target_;
    SipSignals signals_;
    std::vector<User> users_;
    size_t begun_ = 0;
    uint64_t begin_ns_ = 0;
    io::Coroutine clock_;
    std::map<int, uint64_t> statuses_;
    uint64_t requests_ = 0;
    uint64_t failed_ = 0;
    size_t registered_at_end_ = 0;
    size_t unregistered_ = 0;
    double seconds_ = 0;
    double ramp_s_ = 0;
    Histogram register_;  // microseconds from the first request to 200
    Histogram refresh_;
};

Error SipRegisterRun::prepare() {
    for (const std::string& each : options_.run.expect) {
        WEIR_TRY_ASSIGN(Expression condition, parse_condition(each, options_.run, "--expect"));
        expected_.push_back(std::move(condition));
    }
    WEIR_TRY_ASSIGN(target_, sip_target(options_.url));
    WEIR_TRY_ASSIGN(const NetAddress local, local_address_to(target_.address, options_.local));
    WEIR_TRY_ASSIGN(control_, RunControl::create(options_.run));
    WEIR_TRY_ASSIGN(usage_, UsageProbe::create(options_.run.server_pid, options_.run.server_api));
    if (options_.transport == "tcp") {
        WEIR_TRY(
            signals_.connect(target_.address, io::Deadline::after(options_.run.connect_timeout)));
    } else {
        WEIR_TRY(signals_.bind(local));
    }
    users_.resize(options_.calls);
    for (uint32_t i = 0; i < options_.calls; i++) {
        sip::RegistrationOptions user;
        const std::string name = numbered(options_.user, i);
        user.registrar = fmt::format("sip:{}", target_.domain);
        user.aor = fmt::format("sip:{}@{}", name, target_.domain);
        user.contact_user = name;
        user.login = {name, numbered(options_.password, i)};
        user.expires = std::chrono::duration_cast<Seconds>(options_.expires);
        user.servers = {signals_.flow_to(target_.address.net_address())};
        users_[i].registration =
            std::make_unique<sip::Registration>(std::move(user), system_random());
    }
    usage_->before_players();
    return {};
}

Error SipRegisterRun::run(int& exit_code) {
    WEIR_TRY(prepare());
    usage_->window_begins();
    begin_ns_ = now_ns();
    WEIR_TRY_ASSIGN(
        clock_, io::Coroutine::spawn("sip users", io::StackSize::kNormal, [this] { run_clock(); }));
    const auto ramp =
        std::chrono::duration_cast<Millis>(Seconds(options_.calls / options_.rate + 1));
    wait(ramp + options_.run.connect_timeout, "registering", true);
    ramp_s_ = static_cast<double>(now_ns() - begin_ns_) / 1e9;
    wait(options_.run.duration, "refreshing", false);
    seconds_ = static_cast<double>(now_ns() - begin_ns_) / 1e9;
    usage_->window_ends();
    registered_at_end_ = registered();
    for (size_t i = 0; i < users_.size(); i++) {
        users_[i].registration->stop(MonoClock::now());
        pump(i);
    }
    const io::Deadline end = io::Deadline::after(kGoodbye);
    while (registered() > 0 && !end.passed() && !io::sleep_for(kTick)) {
    }
    unregistered_ = registered_at_end_ - std::min(registered_at_end_, registered());
    clock_.interrupt();
    clock_.join();
    make_report();
    exit_code = control_->finish(report_);
    return {};
}

size_t SipRegisterRun::registered() const {
    using State = sip::Registration::State;
    return static_cast<size_t>(std::ranges::count_if(users_, [](const User& user) {
        return user.registration->state() == State::kRegistered ||
               user.registration->state() == State::kEnding;
    }));
}

void SipRegisterRun::wait(Millis time, std::string_view phase, bool until_done) {
    const io::Deadline end = io::Deadline::after(time);
    while (!control_->stopped() && !end.passed()) {
        const size_t done = registered();
        if (until_done && begun_ == users_.size() && done + failed_ >= users_.size()) {
            return;
        }
        control_->wait_for(kTick);
        control_->progress(fmt::format("{}: {} of {} registered, {} failed, {} requests", phase,
                                       done, users_.size(), failed_, requests_));
    }
}

void SipRegisterRun::run_clock() {
    size_t next = 0;
    while (!io::sleep_for(kClock)) {
        begin_due();
        const MonoTime now = MonoClock::now();
        signals_.look(now);
        // A tenth of a second is soon enough for a refresh.
        const size_t share = users_.size() * static_cast<size_t>(kClock.count()) / 100 + 1;
        for (size_t i = 0; i < share && begun_ > 0; i++) {
            next = next + 1 >= begun_ ? 0 : next + 1;
            sip::Registration& each = *users_[next].registration;
            if (const auto due = each.next_timeout(); due && *due <= now) {
                each.handle_timeout(now);
                pump(next);
            }
        }
    }
}

void SipRegisterRun::begin_due() {
    const uint64_t due = (now_ns() - begin_ns_) * options_.rate / 1'000'000'000 + 1;
    while (begun_ < users_.size() && begun_ < due && !control_->stopped()) {
        const size_t number = begun_++;
        users_[number].registration->start(MonoClock::now());
        pump(number);
    }
}

void SipRegisterRun::pump(size_t number) {
    User& user = users_[number];
    while (auto out = user.registration->poll_request()) {
        requests_++;
        if (user.asked_ns == 0) {
            user.asked_ns = now_ns();
        }
        const bool sent = signals_.with_agent([&](sip::UserAgent& agent, MonoTime now) {
            return agent.send_request(now, std::move(out->request), out->flow, number);
        });
        if (!sent) {
            user.registration->on_failed(MonoClock::now(), 503);
        }
    }
}

void SipRegisterRun::on_sip(sip::CallEvent event) {
    using Kind = sip::CallEvent::Kind;
    using State = sip::Registration::State;
    const MonoTime now = MonoClock::now();
    if ((event.kind != Kind::kResponse && event.kind != Kind::kRequestFailed) ||
        event.user >= users_.size()) {
        return;
    }
    User& user = users_[event.user];
    if (event.kind == Kind::kResponse) {
        statuses_[event.response.status]++;
        user.registration->on_response(now, event.response);
    } else {
        statuses_[event.status]++;
        user.registration->on_failed(now, event.status);
    }
    if (user.registration->state() == State::kRegistered && user.asked_ns != 0 &&
        event.response.status / 100 == 2) {
        (user.registered ? refresh_ : register_).add((now_ns() - user.asked_ns) / 1000);
        user.registered = true;
        user.asked_ns = 0;
    } else if (user.registration->state() == State::kFailed && !user.registered) {
        failed_++;
    }
    pump(event.user);
}

void SipRegisterRun::make_report() {
    MetricValues metrics;
    usage_->add_to(metrics);
    usage_->add_to(report_, registered_at_end_, 0);
    metrics.set("clients.wanted", static_cast<double>(users_.size()));
    metrics.set("clients.connected", static_cast<double>(registered_at_end_));
    metrics.set("clients.refused", static_cast<double>(failed_));
    metrics.set_times("connect", register_);
    ReportSection& section = report_.section("registrations", "registrations");
    section.count("asked", "users", users_.size());
    section.count("registered", "registered at the end", registered_at_end_);
    section.count("failed", "failed the first time", failed_);
    section.count("unregistered", "that took their leave", unregistered_);
    section.count("requests", "requests", requests_);
    section.number("requests_per_s", "in a second",
                   static_cast<double>(requests_) / std::max(seconds_, 1e-9), "", 1);
    section.number("registered_in_s", "until all were registered or had failed", ramp_s_, "s", 2);
    section.distribution("register_ms", "first request to 200", register_);
    section.distribution("refresh_ms", "refresh to 200", refresh_);
    for (const auto& [status, count] : statuses_) {
        section.count(fmt::format("status_{}", status), fmt::format("answers {}", status), count);
    }
    report_.attach("metrics", metrics.to_json("  "));
    if (options_.run.default_conditions) {
        report_.expect("registered", registered_at_end_ == users_.size(), "all users register",
                       fmt::format("{} of {}", registered_at_end_, users_.size()));
        report_.expect("unregistered", unregistered_ == registered_at_end_, "all take their leave",
                       fmt::format("{} of {}", unregistered_, registered_at_end_));
    }
    for (const Expression& each : expected_) {
        report_.expect("expect", each.holds(metrics).value_or(false), each.text(),
                       each.found(metrics));
    }
}

}  // namespace

Error sip_registers(const SipCallOptions& options, int& exit_code) {
    return SipRegisterRun(options).run(exit_code);
}

}  // namespace weir::load
