// The server: everything that a configuration asks for, wired together. One per process.
#pragma once

#include <memory>

#include "app/config/config.h"
#include "base/error.h"

namespace weir::app {

class Server {
  public:
    // Yields. Opens all listeners; the error names the directive that cannot be had and what to do.
    static Result<std::unique_ptr<Server>> start(Config config);
    ~Server();  // stop() must have been called
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Yields. Ends everything: publishers, players, requests. Bounded by a deadline of its own.
    void stop();

  private:
    struct Impl;
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir::app
