#include "app/processes/supervisor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/processes/message_socket.h"
#include "app/processes/process_seat.h"
#include "app/processes/shared_listeners.h"
#include "app/processes/stream_owners.h"
#include "app/run/run_as.h"
#include "base/log.h"
#include "base/random.h"
#include "io/service_notifier.h"

namespace weir::app {
namespace {

constexpr Millis kTick{250};
constexpr Millis kPeersPeriod{1'000};
constexpr Millis kStopWait{3'000};   // from SIGTERM to SIGKILL
constexpr Millis kSilence{30'000};   // of a process that runs: it is aborted
constexpr Millis kAbortWait{5'000};  // and then killed
// One that says nothing for so long gets no players of others.
constexpr Millis kSpeaks{3'000};
constexpr Millis kStartWait{60'000};  // for a process to come up
// The processes, of another user perhaps, make a new log file first.
constexpr Millis kReopenWait{1'000};
// In a row: then the listeners of the process are closed until it comes up.
constexpr uint32_t kMaxFailedStarts = 5;
constexpr Millis kFirstRestart{100};  // doubled with each end that follows soon
constexpr Millis kLongestRestart{5'000};
constexpr Millis kSettled{10'000};      // a process that ran for so long failed for the first time
constexpr size_t kMaxUnsent = 200'000;  // messages that wait for a process

// That waits until a process reads.
struct Unsent {
    ProcessMessage message;
    io::OwnFd attached;
};

struct Member {
    uint32_t index = 0;
    pid_t pid = -1;  // -1: it does not run
    MessageSocket socket;
    std::deque<Unsent> unsent;
    uint32_t failed_starts = 0;  // in a row
    bool ready = false;
    ProcessFigures figures;  // as it said itself
    uint64_t restarts = 0;
    std::vector<int> signals;  // that came while it started, for when it is ready
    MonoTime since{};          // it was started
    MonoTime heard{};
    MonoTime aborted{};
    MonoTime restart_at{};
    Millis backoff{0};
};

std::string end_of(int status) {
    if (WIFSIGNALED(status)) {
        const char* const name = sigabbrev_np(WTERMSIG(status));
        return fmt::format("ended by signal {} ({})", WTERMSIG(status), name ? name : "?");
    }
    return fmt::format("ended with code {}", WEXITSTATUS(status));
}

class Supervisor {
  public:
    Supervisor(const ConfigSource& source,
               const config::Config& config,
               char** arguments,
               LogSetup& log)
        : source_(source),
          config_(config),
          arguments_(arguments),
          log_(log),
          token_(random_id(system_random(), 16)),
          listeners_(user_to_become(config.user)) {
        members_.resize(config.processes);
        for (uint32_t i = 0; i < members_.size(); i++) {
            members_[i].index = i;
        }
    }

    int run() {
        if (Error failed = take_signals()) {
            log::error("cannot start: {}", failed.message());
            return 1;
        }
        log::info("supervisor pid={} processes={}", getpid(), members_.size());
        for (Member& member : members_) {
            start(member);
        }
        while (!done()) {
            wait();
            const MonoTime now = MonoClock::now();
            for (Member& member : members_) {
                look_at(member, now);
            }
            if (stopping_ && now >= kill_at_) {
                signal_all(SIGKILL);
            }
            if (reopen_at_ != MonoTime{} && now >= reopen_at_) {
                reopen_log();
            }
            tell_peers(now);
            service_.watchdog();
        }
        log::info("stopped");
        return failed_start_ ? 1 : 0;
    }

  private:
    bool done() const {
        return (stopping_ || draining_) &&
               std::ranges::all_of(members_, [](const Member& m) { return m.pid < 0; });
    }

    // ---- signals ----

    Error take_signals() {
        sigset_t wanted;
        sigemptyset(&wanted);
        for (const int number :
             {SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE}) {
            sigaddset(&wanted, number);
        }
        if (pthread_sigmask(SIG_BLOCK, &wanted, nullptr) != 0) {
            return make_error(ErrorCode::kSystem, "signals cannot be blocked");
        }
        signals_ = io::OwnFd(signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
        return signals_ ? Error() : Error::from_errno(errno, "signalfd");
    }

    void obey_signals() {
        signalfd_siginfo info{};
        while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
            obey(static_cast<int>(info.ssi_signo));
        }
    }

    void obey(int number) {
        switch (number) {
            case SIGCHLD: reap(); break;
            case SIGHUP: reload(); break;
            case SIGUSR1:
                signal_ready(SIGUSR1);
                reopen_at_ = MonoClock::now() + kReopenWait;
                break;
            case SIGQUIT: drain(); break;
            case SIGTERM:
            case SIGINT: stop(number); break;
            default: break;
        }
    }

    void drain() {
        log::info("draining processes={}", members_.size());
        draining_ = true;
        service_.status("draining");
        for (const Member& member : members_) {
            if (member.pid < 0) {
                listeners_.keep(member.index, {});  // it does not come back
            }
        }
        signal_all(SIGQUIT);
    }

    // A second signal ends all at once, as in a server without a supervisor.
    void stop(int number) {
        if (stopping_) {
            kill_at_ = MonoClock::now();
            return;
        }
        log::info("stopping signal={}", sigabbrev_np(number));
        begin_stop();
    }

    void begin_stop() {
        stopping_ = true;
        kill_at_ = MonoClock::now() + kStopWait;
        service_.stopping("stopping");
        signal_all(SIGTERM);
    }

    // One that starts would be ended by a signal, and may have read already what is new now.
    void signal_ready(int number) {
        for (Member& member : members_) {
            if (member.pid > 0 && member.ready) {
                ::kill(member.pid, number);
            } else if (member.pid > 0 &&
                       std::ranges::find(member.signals, number) == member.signals.end()) {
                member.signals.push_back(number);
            }
        }
    }

    void signal_all(int number) {
        for (const Member& member : members_) {
            if (member.pid > 0) {
                ::kill(member.pid, number);
            }
        }
    }

    // The processes read it again: what is here is only whether they are to.
    void reload() {
        service_.reloading("reading the configuration");
        LoadedConfig loaded = load(source_);
        if (!loaded.outcome.ok()) {
            log::error("reload refused: {}", to_string(loaded.outcome.errors));
        } else {
            if (loaded.outcome.config->processes != members_.size()) {
                log::warn("reload: processes {} takes a restart; there are {}",
                          loaded.outcome.config->processes, members_.size());
            }
            signal_ready(SIGHUP);
            next_log_ = std::make_unique<config::Config>(std::move(*loaded.outcome.config));
            reopen_at_ = MonoClock::now() + kReopenWait;
        }
        service_.ready(summary());
    }

    void reopen_log() {
        reopen_at_ = {};
        if (const auto next = std::exchange(next_log_, nullptr)) {
            log_.reconfigure(*next);
        } else {
            log_.reopen();
        }
    }

    // ---- processes ----

    void start(Member& member) {
        Result<std::array<io::OwnFd, 2>> ends = MessageSocket::pair();
        if (!ends.ok()) {
            log::error("process {}: {}", member.index, ends.error().message());
            retry(member);
            return;
        }
        const std::string seat =
            seat_argument({.index = member.index, .count = static_cast<uint32_t>(members_.size())},
                          (*ends)[1].get(), config_.rtc_server.single_port);
        const pid_t pid = ::fork();
        if (pid == 0) {
            run_process(seat);
        }
        if (pid < 0) {
            log::error("process {}: fork: {}", member.index, std::strerror(errno));
            retry(member);
            return;
        }
        member.pid = pid;
        member.socket = MessageSocket(std::move((*ends)[0]));
        member.unsent.clear();
        member.ready = false;
        member.figures = {};
        member.since = member.heard = MonoClock::now();
        member.aborted = {};
        member.signals.clear();
        tell(member, peers(member.since));
        tell(member,
             {"seat", {std::to_string(member.index), std::to_string(members_.size()), token_}});
        for (const auto& [key, owner] : owners_.all()) {
            tell_owner(member, key, owner);
        }
    }

    // Between fork and exec; never comes back.
    [[noreturn]] void run_process(const std::string& seat) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        std::vector<char*> words;
        for (char** each = arguments_; *each != nullptr; each++) {
            words.push_back(*each);
        }
        words.push_back(const_cast<char*>(seat.c_str()));
        words.push_back(nullptr);
        ::unsetenv("NOTIFY_SOCKET");  // the supervisor speaks for all
        ::unsetenv("WATCHDOG_USEC");
        ::execv("/proc/self/exe", words.data());
        _exit(127);
    }

    void retry(Member& member) {
        member.backoff = member.backoff == Millis(0)
                             ? kFirstRestart
                             : std::min(member.backoff * 2, kLongestRestart);
        member.restart_at = MonoClock::now() + member.backoff;
    }

    void reap() {
        for (;;) {
            int status = 0;
            const pid_t pid = ::waitpid(-1, &status, WNOHANG);
            if (pid <= 0) {
                return;
            }
            const auto found = std::ranges::find(members_, pid, &Member::pid);
            if (found != members_.end()) {
                take_end(*found, status);
            }
        }
    }

    void take_end(Member& member, int status) {
        member.pid = -1;
        member.signals.clear();  // the next one reads what there is then
        read(member);            // what it had said before
        const MonoTime now = MonoClock::now();
        const bool was_ready = member.ready;
        member.socket.close();
        member.unsent.clear();
        member.ready = false;
        member.figures = {};
        for (const stream::StreamKey& key : owners_.drop(member.index)) {
            tell_all_owner(key, {});
        }
        listeners_.close_udp(member.index);
        peers_told_ = {};  // nobody is to give it connections
        if (stopping_ || draining_) {
            listeners_.keep(member.index, {});  // the others get what comes from now on
            log::info("process {} {}", member.index, end_of(status));
            return;
        }
        if (!was_ready && !all_ready_) {
            log::error("cannot start: process {} {}", member.index, end_of(status));
            failed_start_ = true;
            begin_stop();
            return;
        }
        restarts_++;
        member.restarts++;
        member.failed_starts = was_ready ? 0 : member.failed_starts + 1;
        if (member.failed_starts == kMaxFailedStarts) {
            log::error("process {} does not come up: the others do its work until it does",
                       member.index);
            listeners_.keep(member.index, {});  // whoever waits there would wait for ever
        }
        if (now - member.since > kSettled) {
            member.backoff = Millis(0);
        }
        retry(member);
        log::error("process {} {}: it begins again in {} ms; its clients are lost", member.index,
                   end_of(status), member.backoff.count());
        service_.status(summary());
    }

    void look_at(Member& member, MonoTime now) {
        if (member.pid < 0) {
            if (!stopping_ && !draining_ && now >= member.restart_at) {
                start(member);
            }
            return;
        }
        if (!member.ready && now - member.since > kStartWait) {
            log::error("process {} does not come up: it is ended", member.index);
            end(member);
        }
        if (member.ready && now - member.heard > kSilence) {
            if (member.aborted == MonoTime{}) {
                log::error("process {} says nothing for {} s: it is ended", member.index,
                           std::chrono::duration_cast<Seconds>(now - member.heard).count());
                member.aborted = now;
                ::kill(member.pid, SIGABRT);
            } else if (now - member.aborted > kAbortWait) {
                ::kill(member.pid, SIGKILL);
            }
        }
    }

    // ---- messages ----

    void wait() {
        std::vector<pollfd> waits{{signals_.get(), POLLIN, 0}};
        std::vector<Member*> of;
        for (Member& member : members_) {
            if (member.socket.open()) {
                const short events = member.unsent.empty() ? POLLIN : POLLIN | POLLOUT;
                waits.push_back({member.socket.fd(), events, 0});
                of.push_back(&member);
            }
        }
        ::poll(waits.data(), waits.size(), static_cast<int>(kTick.count()));
        for (size_t i = 0; i < of.size(); i++) {
            if ((waits[i + 1].revents & POLLOUT) != 0) {
                send_waiting(*of[i]);
            }
            if ((waits[i + 1].revents & ~POLLOUT) != 0) {
                read(*of[i]);
            }
        }
        if (waits[0].revents != 0) {
            obey_signals();
        }
    }

    void tell(Member& member, const ProcessMessage& message, int attached = -1) {
        if (!member.socket.open()) {
            return;
        }
        if (member.unsent.empty()) {
            const Error failed = member.socket.send(message, attached);
            if (failed.code() != ErrorCode::kFull) {
                return;  // of one that has gone its end is told by another way
            }
        }
        if (member.unsent.size() >= kMaxUnsent) {
            log::error("process {} does not read: it is ended", member.index);
            end(member);
            member.unsent.clear();
            return;
        }
        member.unsent.push_back(
            {message, io::OwnFd(attached < 0 ? -1 : ::fcntl(attached, F_DUPFD_CLOEXEC, 0))});
    }

    static void send_waiting(Member& member) {
        while (!member.unsent.empty()) {
            const Unsent& next = member.unsent.front();
            if (member.socket.send(next.message, next.attached.get()).code() == ErrorCode::kFull) {
                return;
            }
            member.unsent.pop_front();
        }
    }

    static void end(const Member& member) {
        if (member.pid > 0) {
            ::kill(member.pid, SIGKILL);
        }
    }

    void read(Member& member) {
        while (member.socket.open()) {
            Result<std::optional<MessageSocket::Received>> got = member.socket.receive();
            if (!got.ok()) {
                if (got.error().code() != ErrorCode::kClosed) {
                    log::error("process {}: {}: it is ended", member.index, got.error().message());
                    end(member);
                }
                member.socket.close();
                return;
            }
            if (!*got) {
                return;
            }
            member.heard = MonoClock::now();
            take(member, (*got)->message);
        }
    }

    void take(Member& member, const ProcessMessage& message) {
        if (message.verb == "listen") {
            take_listen(member, message);
        } else if (message.verb == "keep") {
            listeners_.keep(member.index, message.words);
        } else if (message.verb == "claim") {
            take_claim(member, message);
        } else if (message.verb == "release") {
            take_release(member, message);
        } else if (message.verb == "beat") {
            if (const std::vector<ProcessFigures> own = peers_of(message); own.size() == 1) {
                member.figures = own.front();
                member.figures.busy = std::min(own.front().busy, ProcessFigures::kNotThere - 1);
            }
        } else if (message.verb == "drain") {
            drain();
        } else if (message.verb == "ready") {
            take_ready(member);
        } else if (message.verb == kCannotStart && !message.words.empty()) {
            log::error("process {} cannot start: {}", member.index, message.words[0]);
        }
    }

    void take_ready(Member& member) {
        member.ready = true;
        member.failed_starts = 0;
        peers_told_ = {};
        log::info("process {} is ready pid={}", member.index, member.pid);
        for (const int number : std::exchange(member.signals, {})) {
            if (member.pid > 0) {  // else all processes of the machine would get it
                ::kill(member.pid, number);
            }
        }
        if (!all_ready_ && std::ranges::all_of(members_, &Member::ready)) {
            all_ready_ = true;
            log::info("ready");
        }
        if (all_ready_) {
            service_.ready(summary());
        }
    }

    void take_listen(Member& member, const ProcessMessage& message) {
        if (message.words.size() != 2) {
            return;
        }
        const Result<int> socket = listeners_.socket_for(member.index, message.words[1]);
        tell(member,
             {"listening",
              {message.words[0], socket.ok() ? "" : std::string(socket.error().message()),
               socket.ok() ? "" : std::string(to_string(socket.error().code()))}},
             socket.ok() ? *socket : -1);
    }

    void take_claim(Member& member, const ProcessMessage& message) {
        const Result<stream::StreamKey> key = message.key(1);
        if (!key.ok() || member.pid < 0) {
            return;
        }
        const StreamOwner before = owners_.find(*key);
        const uint64_t epoch =
            owners_.claim(*key, member.index, message.number(4).value_or(0) != 0);
        tell(member, {"claimed", {message.words[0], std::to_string(epoch)}});
        if (epoch != 0 && before.epoch != epoch) {
            tell_all_owner(*key, {member.index, epoch});
        }
    }

    void take_release(const Member& member, const ProcessMessage& message) {
        const Result<stream::StreamKey> key = message.key(0);
        if (key.ok() && owners_.release(*key, member.index, message.number(3).value_or(0))) {
            tell_all_owner(*key, {});
        }
    }

    void tell_owner(Member& member, const stream::StreamKey& key, const StreamOwner& owner) {
        tell(member, {"owner",
                      {key.vhost, key.app, key.name, std::to_string(owner.process),
                       std::to_string(owner.epoch)}});
    }

    void tell_all_owner(const stream::StreamKey& key, const StreamOwner& owner) {
        for (Member& member : members_) {
            tell_owner(member, key, owner);
        }
    }

    void tell_peers(MonoTime now) {
        if (now - peers_told_ < kPeersPeriod) {
            return;
        }
        peers_told_ = now;
        const ProcessMessage message = peers(now);
        for (Member& member : members_) {
            if (member.unsent.empty()) {
                tell(member, message);
            }
        }
    }

    ProcessMessage peers(MonoTime now) const {
        std::vector<ProcessFigures> all;
        for (const Member& member : members_) {
            const bool speaks = now - member.heard < kSpeaks;
            ProcessFigures figures = speaks ? member.figures : ProcessFigures();
            figures.pid = member.pid > 0 ? static_cast<uint64_t>(member.pid) : 0;
            figures.restarts = member.restarts;
            figures.given_up = member.failed_starts >= kMaxFailedStarts ? 1 : 0;
            all.push_back(figures);
        }
        return {"peers", peers_words(all)};
    }

    std::string summary() const {
        const auto there = std::ranges::count_if(members_, &Member::ready);
        return fmt::format("{} of {} processes, {} restarts", there, members_.size(), restarts_);
    }

    ConfigSource source_;
    const config::Config& config_;
    char** arguments_;
    LogSetup& log_;
    std::string token_;
    std::vector<Member> members_;
    io::OwnFd signals_;
    SharedListeners listeners_;
    StreamOwners owners_;
    io::ServiceNotifier service_{io::ServiceNotifier::environment()};
    MonoTime peers_told_{};
    MonoTime kill_at_{};
    MonoTime reopen_at_{};
    std::unique_ptr<config::Config> next_log_;  // of a reload: what it says of the log
    uint64_t restarts_ = 0;
    bool all_ready_ = false;
    bool stopping_ = false;
    bool draining_ = false;
    bool failed_start_ = false;
};

}  // namespace

int supervise(const ConfigSource& source,
              const config::Config& config,
              char** arguments,
              LogSetup& log) {
    Supervisor supervisor(source, config, arguments, log);
    return supervisor.run();
}

}  // namespace weir::app
