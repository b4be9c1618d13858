// GET /api/v1/sources: what this server brings from other servers, and what it sends to them; and
// its metrics.
#pragma once

#include "net/api/answer.h"
#include "net/api/exposition.h"
#include "net/http/router.h"
#include "net/source/sources.h"

namespace weir::app {

class SourcesApi {
  public:
    // `sources` must outlive this.
    SourcesApi(const net::ServerIdentity& identity, const net::Sources& sources)
        : identity_(identity), sources_(sources) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    void add_metrics(net::Exposition& text) const;

  private:
    void list(net::HttpExchange& exchange);

    net::ServerIdentity identity_;
    const net::Sources& sources_;
};

}  // namespace weir::app
