// ServiceNotifier: tells the service manager (systemd, Type=notify) what the process is at, as
// sd_notify(3) describes it: datagrams to the socket that NOTIFY_SOCKET names. Without that
// variable every call does nothing.
//
// Never blocks: a datagram that does not fit the manager's socket is lost, as are all that come
// after the manager went. Media thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace weir::io {

class ServiceNotifier {
  public:
    // What the environment says. `socket`: a path, or '@' and a name of the abstract namespace.
    struct Environment {
        std::string socket;
        std::string watchdog_usec;  // WATCHDOG_USEC
        std::string watchdog_pid;   // WATCHDOG_PID; empty: any process
    };

    static Environment environment();

    explicit ServiceNotifier(const Environment& environment);
    ~ServiceNotifier();
    ServiceNotifier(const ServiceNotifier&) = delete;
    ServiceNotifier& operator=(const ServiceNotifier&) = delete;

    bool connected() const { return fd_ >= 0; }

    // READY=1: after the start, and after each reloading(), also one that failed.
    void ready(std::string_view status);

    // RELOADING=1 with the time, which Type=notify-reload wants.
    void reloading(std::string_view status);

    // STOPPING=1: the watchdog is off and the end has begun, or the drain before it.
    void stopping(std::string_view status);

    // One line for `systemctl status`; sent when it differs from the last one.
    void status(std::string_view text);

    // WATCHDOG=1: the media thread runs.
    void watchdog();

    // How often watchdog() is to be called: half of what the manager waits. None: there is no
    // watchdog for this process.
    std::optional<Micros> watchdog_period() const { return watchdog_period_; }

  private:
    void send(std::string_view state);

    int fd_ = -1;
    std::optional<Micros> watchdog_period_;
    std::string last_status_;
};

}  // namespace weir::io
