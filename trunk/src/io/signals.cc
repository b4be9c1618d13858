#include "io/signals.h"

#include <cerrno>

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"
#include "io/reactor.h"
#include "io/scheduler.h"

namespace weir::io {

struct SignalSet::Impl final : EventHandler {
    ~Impl() {
        registration.remove();
        if (fd >= 0) {
            ::close(fd);
        }
        sigprocmask(SIG_SETMASK, &mask_before, nullptr);
    }

    void on_ready(uint8_t) override { arrived.notify_all(); }

    int fd = -1;
    sigset_t mask_before{};
    Signal arrived;
    Registration registration;
};

SignalSet::SignalSet(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SignalSet::~SignalSet() = default;

Result<std::unique_ptr<SignalSet>> SignalSet::create(std::initializer_list<int> signals) {
    sigset_t set;
    sigemptyset(&set);
    for (int number : signals) {
        sigaddset(&set, number);
    }
    auto impl = std::make_unique<Impl>();
    if (sigprocmask(SIG_BLOCK, &set, &impl->mask_before) != 0) {
        return Error::from_errno(errno, "sigprocmask");
    }
    impl->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (impl->fd < 0) {
        return Error::from_errno(errno, "signalfd");
    }
    WEIR_TRY_ASSIGN(impl->registration, Registration::add(impl->fd, *impl));
    return std::unique_ptr<SignalSet>(
        new SignalSet(std::move(impl)));  // NOLINT: private constructor
}

Result<int> SignalSet::wait(Deadline deadline) {
    for (;;) {
        signalfd_siginfo info{};
        ssize_t got = read(impl_->fd, &info, sizeof info);
        if (got == static_cast<ssize_t>(sizeof info)) {
            return static_cast<int>(info.ssi_signo);
        }
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            return Error::from_errno(errno, "signalfd");
        }
        WEIR_TRY(impl_->arrived.wait_until(deadline));
    }
}

}  // namespace weir::io
