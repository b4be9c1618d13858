// POST /api/v1/reload: reads the configuration anew and says what has changed.
//
// 200 with the changes; 400 when the configuration is wrong, 409 when it cannot be had (a port is
// taken) or another reload is under way. Errors name file, line and column.
#pragma once

#include "app/run/reload.h"
#include "net/api/answer.h"
#include "net/http/router.h"

namespace weir::app {

class ReloadApi {
  public:
    // `reloader` must outlive this.
    ReloadApi(net::ServerIdentity identity, Reloader& reloader)
        : identity_(std::move(identity)), reloader_(reloader) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    void reload(net::HttpExchange& exchange);

    net::ServerIdentity identity_;
    Reloader& reloader_;
};

// The answer's body, and its status.
net::Json reload_json(const net::ServerIdentity& identity, const ReloadReport& report);
int status_of(const ReloadReport& report);

}  // namespace weir::app
