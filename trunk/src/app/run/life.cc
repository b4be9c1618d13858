#include "app/run/life.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "io/deadline.h"

namespace weir::app {
namespace {

constexpr Millis kStatusPeriod{5'000};  // for `systemctl status`
constexpr Millis kLeastPeriod{10};      // of the watchdog

std::string_view name_of(int signal) {
    const char* name = sigabbrev_np(signal);
    return name != nullptr ? name : "?";
}

std::string status_text(const Server& server) {
    const Remaining now = server.remaining();
    return fmt::format("{}{} publishers, {} players", server.draining() ? "draining: " : "",
                       now.publishers, now.players);
}

}  // namespace

Life::Life(LogSetup& log, std::unique_ptr<io::SignalSet> signals)
    : log_(log), signals_(std::move(signals)), service_(io::ServiceNotifier::environment()) {}

Life::~Life() {
    teller_.interrupt();
    teller_.join();
}

Result<std::unique_ptr<Life>> Life::create(LogSetup& log) {
    WEIR_TRY_ASSIGN(std::unique_ptr<io::SignalSet> signals,
                    io::SignalSet::create({SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2}));
    return std::unique_ptr<Life>(new Life(log, std::move(signals)));  // NOLINT: private constructor
}

void Life::run(Server& server, const config::Config& config) {
    reconfigure(config);
    service_.ready(status_text(server));
    if (service_.connected()) {
        auto teller = io::Coroutine::spawn("service notifier", io::StackSize::kNormal,
                                           [this, &server] { keep_service_told(server); });
        if (teller.ok()) {
            teller_ = std::move(teller).value();
        } else {
            log::error("the service manager is told nothing: {}", teller.error().message());
        }
    }
    // As from outside, so that there is one way. This process takes it by a descriptor.
    server.on_drain_asked([] { ::kill(::getpid(), SIGQUIT); });
    for (;;) {
        // Without a drain ended by the operator's signal.
        Result<int> signal = signals_->wait(drain_.begun() ? io::Deadline::after(Drain::kLook)
                                                           : io::Deadline::forever());
        const bool end = signal.ok()                                    ? obey(server, *signal)
                         : signal.error().code() == ErrorCode::kTimeout ? false
                                                                        : true;
        if (end || (drain_.begun() && !go_on_draining(server))) {
            return;
        }
    }
}

bool Life::obey(Server& server, int signal) {
    switch (signal) {
        case SIGHUP:
            service_.reloading("reading the configuration");
            server.reload_soon("SIGHUP", [this, &server] { service_.ready(status_text(server)); });
            return false;
        case SIGUSR1: log_.reopen(); return false;
        case SIGUSR2: log::info("signal ignored signal=USR2"); return false;
        case SIGQUIT:
            server.start_drain();
            drain_.begin(MonoClock::now(), drain_timeout_);
            log::info("draining {} deadline={}s", to_string(server.remaining()),
                      drain_.left(MonoClock::now()).count());
            service_.status(status_text(server));
            return false;
        default: log::info("stopping signal={}", name_of(signal)); return true;
    }
}

bool Life::go_on_draining(const Server& server) {
    const MonoTime now = MonoClock::now();
    Remaining remaining = server.remaining();
    remaining.others += server.bridges();  // their clients are counted elsewhere, and need them
    switch (drain_.step(now, remaining)) {
        case Drain::Step::kWait: return true;
        case Drain::Step::kReport:
            log::info("draining {} deadline={}s", to_string(remaining), drain_.left(now).count());
            return true;
        case Drain::Step::kDrained: log::info("stopping drained=all"); return false;
        case Drain::Step::kExpired:
            log::warn("stopping after drain_timeout {}", to_string(remaining));
            return false;
    }
    return false;
}

void Life::keep_service_told(const Server& server) {
    const auto watchdog = service_.watchdog_period();
    const Millis period = watchdog ? std::clamp(std::chrono::duration_cast<Millis>(*watchdog),
                                                kLeastPeriod, kStatusPeriod)
                                   : kStatusPeriod;
    while (!io::sleep_for(period)) {
        if (watchdog) {
            service_.watchdog();
        }
        service_.status(status_text(server));
    }
}

void Life::stopping() {
    service_.stopping("stopping");
    for (const int number : {SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
        signal(number, SIG_IGN);
    }
    signals_.reset();  // SIGTERM and SIGINT do again what they do by default
    teller_.interrupt();
    teller_.join();
    teller_ = {};
}

}  // namespace weir::app
