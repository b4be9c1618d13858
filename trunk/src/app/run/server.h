// The server: everything that a configuration asks for, wired together. One per process.
#pragma once

#include <functional>
#include <memory>

#include "app/protocols/wiring.h"
#include "app/run/drain.h"
#include "app/run/load.h"
#include "base/error.h"
#include "config/config.h"

namespace weir::app {

class ProcessLink;

class Server {
  public:
    // Yields. Opens all listeners; the error names the directive that cannot be had and what to do.
    // `loaded` must hold a configuration. `source`: from where a reload reads it. `before_serving`
    // is called when every port and file is open and nobody is served yet; an error ends the start.
    // `link`: of one of several processes; it must outlive the server. `wire`: which protocols
    // there are.
    static Result<std::unique_ptr<Server>> start(ConfigSource source,
                                                 LoadedConfig loaded,
                                                 const std::function<Error()>& before_serving = {},
                                                 ProcessLink* link = nullptr,
                                                 const Wiring& wire = wire_protocols);
    ~Server();  // stop() must have been called
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Reads the configuration anew, by a coroutine of the server. `why`: a literal, for the log.
    // `done` is called when it is over, whatever became of it.
    void reload_soon(const char* why, std::function<void()> done = {});

    // Told of each configuration that has come into force by a reload; must not yield.
    void on_reconfigure(std::function<void(const config::Config&)> told);

    // Who is connected.
    Remaining remaining() const;

    // Connections here whose clients are those of other processes.
    size_t bridges() const;

    // `drain` is called for POST /api/v1/drain, and is to begin one soon; must not yield.
    void on_drain_asked(std::function<void()> drain);

    // Yields. Closes the listeners for media and takes no new session; the API goes on, and says
    // so. Idempotent.
    void start_drain();

    bool draining() const;

    // Yields. Ends everything: publishers, players, requests. Bounded by a deadline of its own.
    void stop();

  private:
    struct Impl;
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir::app
