// GET /healthz and /api/v1/health: for load balancers and orchestrators. 200 while the server takes
// clients, 503 while it drains.
#pragma once

#include <functional>

#include "app/run/drain.h"
#include "net/api/answer.h"
#include "net/http/router.h"

namespace weir::app {

struct Health {
    bool draining = false;
    Remaining clients;
};

class HealthApi {
  public:
    // `health` is asked at each request.
    HealthApi(net::ServerIdentity identity, std::function<Health()> health)
        : identity_(std::move(identity)), health_(std::move(health)) {}

    // Both addresses; this object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    // /healthz alone, which tells no more than that.
    void add_plain_to(net::HttpRouter& router);

  private:
    void plain(net::HttpExchange& exchange) const;
    void full(net::HttpExchange& exchange) const;

    net::ServerIdentity identity_;
    std::function<Health()> health_;
};

}  // namespace weir::app
