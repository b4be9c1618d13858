// GET /healthz: whether this process works, for supervisors, which restart it when it does not.
// GET /readyz: whether new clients should come here, for load balancers. GET /api/v1/health says
// both and why. POST /api/v1/drain begins the end.
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

#include "app/run/drain.h"
#include "app/run/readiness.h"
#include "net/api/answer.h"
#include "net/http/router.h"

namespace weir::app {

struct Health {
    Readiness::State state = Readiness::State::kStarting;
    double busy_ratio = 0;  // of the media thread, 0 to 1
    Remaining clients;
    std::string registry;  // "ok", "away"; empty: none is configured
    pid_t pid = 0;         // whom signals go to
};

class HealthApi {
  public:
    struct Asks {
        // At each request.
        std::function<Health(net::HttpExchange&)> health;
        // Whether somebody on this machine asks, who may know more.
        std::function<bool(const net::HttpExchange&)> is_local;
        // Begins a drain, soon. False: nobody is there to do it.
        std::function<bool()> drain;
    };

    HealthApi(net::ServerIdentity identity, Asks asks)
        : identity_(std::move(identity)), asks_(std::move(asks)) {}

    // All addresses; this object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    // /healthz and /readyz alone.
    void add_plain_to(net::HttpRouter& router);

  private:
    void live(net::HttpExchange& exchange) const;
    void ready(net::HttpExchange& exchange) const;
    void full(net::HttpExchange& exchange) const;
    void drain(net::HttpExchange& exchange) const;

    net::ServerIdentity identity_;
    Asks asks_;
};

}  // namespace weir::app
