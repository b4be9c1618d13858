#include "io/service_notifier.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::io {
namespace {

std::string variable(const char* name) {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody changes it
    return text != nullptr ? text : "";
}

// A status is one line.
std::string one_line(std::string_view text) {
    std::string line(text);
    std::ranges::replace(line, '\n', ' ');
    return line;
}

int open_socket(const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const bool abstract = name.starts_with('@');
    if (name.size() < 2 || name.size() >= sizeof address.sun_path ||
        (!abstract && name[0] != '/')) {
        return -1;
    }
    name.copy(address.sun_path, name.size());
    if (abstract) {
        address.sun_path[0] = '\0';
    }
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

}  // namespace

ServiceNotifier::Environment ServiceNotifier::environment() {
    return {variable("NOTIFY_SOCKET"), variable("WATCHDOG_USEC"), variable("WATCHDOG_PID")};
}

ServiceNotifier::ServiceNotifier(const Environment& environment)
    : fd_(open_socket(environment.socket)) {
    const std::optional<uint64_t> period = parse_uint(environment.watchdog_usec, 2, 86'400'000'000);
    const bool meant =
        environment.watchdog_pid.empty() || environment.watchdog_pid == fmt::format("{}", getpid());
    if (connected() && period && meant) {
        watchdog_period_ = Micros(static_cast<Micros::rep>(*period / 2));
    }
}

ServiceNotifier::~ServiceNotifier() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

void ServiceNotifier::send(std::string_view state) {
    if (connected()) {
        (void)::send(fd_, state.data(), state.size(), MSG_NOSIGNAL);
    }
}

void ServiceNotifier::ready(std::string_view status) {
    last_status_ = one_line(status);
    send(fmt::format("READY=1\nSTATUS={}\nMAINPID={}\n", last_status_, getpid()));
}

void ServiceNotifier::reloading(std::string_view status) {
    last_status_ = one_line(status);
    send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS={}\n",
                     MonoClock::now().time_since_epoch().count(), last_status_));
}

void ServiceNotifier::stopping(std::string_view status) {
    last_status_ = one_line(status);
    send(fmt::format("STOPPING=1\nSTATUS={}\n", last_status_));
}

void ServiceNotifier::status(std::string_view text) {
    std::string line = one_line(text);
    if (line != last_status_) {
        last_status_ = std::move(line);
        send(fmt::format("STATUS={}\n", last_status_));
    }
}

void ServiceNotifier::watchdog() {
    send("WATCHDOG=1\n");
}

}  // namespace weir::io
