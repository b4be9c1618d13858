// From "ready" to the end: signals, the drain, and what the service manager is told.
//
//   SIGTERM, SIGINT  end now (a second one while it ends: at once)
//   SIGQUIT          drain: nobody new, the end when the last client has left, or after
//   drain_timeout SIGHUP           read the configuration anew SIGUSR1          open the log file
//   again SIGUSR2          nothing, but for a line
#pragma once

#include <memory>

#include "app/run/drain.h"
#include "app/run/log_setup.h"
#include "app/run/server.h"
#include "io/coroutine.h"
#include "io/service_notifier.h"
#include "io/signals.h"

namespace weir::app {

class Life {
  public:
    static Result<std::unique_ptr<Life>> create(LogSetup& log);
    ~Life();
    Life(const Life&) = delete;
    Life& operator=(const Life&) = delete;

    // Yields. Tells the service manager that the server is ready, then obeys signals until the
    // server is to be stopped.
    void run(Server& server, const config::Config& config);

    // What a reload changed.
    void reconfigure(const config::Config& config) { drain_timeout_ = config.drain_timeout; }

    // Yields. run() is over and the server is about to stop: from here on a second SIGTERM or
    // SIGINT ends the process at once, and no other signal does anything.
    void stopping();

  private:
    Life(LogSetup& log, std::unique_ptr<io::SignalSet> signals);

    // True when the server is to be stopped.
    bool obey(Server& server, int signal);
    bool go_on_draining(const Server& server);
    void keep_service_told(const Server& server);

    LogSetup& log_;
    std::unique_ptr<io::SignalSet> signals_;
    io::ServiceNotifier service_;
    io::Coroutine teller_;
    Millis drain_timeout_{0};
    Drain drain_;
};

}  // namespace weir::app
