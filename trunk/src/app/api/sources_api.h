// /api/v1/sources: what this server brings from other servers, and what it sends to them. Sources
// may be added and removed (added_sources.h). And their metrics.
#pragma once

#include <functional>
#include <string_view>

#include "app/run/added_sources.h"
#include "net/api/answer.h"
#include "net/api/exposition.h"
#include "net/http/router.h"
#include "net/source/sources.h"

namespace weir::app {

class SourcesApi {
  public:
    // `has_vhost`: whether there is a vhost of that name. All must outlive this.
    SourcesApi(const net::ServerIdentity& identity,
               net::Sources& sources,
               AddedSources& added,
               std::function<bool(std::string_view)> has_vhost)
        : identity_(identity), sources_(sources), added_(added), has_vhost_(std::move(has_vhost)) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    void add_metrics(net::Exposition& text) const;

  private:
    void handle(net::HttpExchange& exchange);
    void list(net::HttpExchange& exchange);
    void add(net::HttpExchange& exchange);
    const net::Source* find(const std::function<bool(const net::Source&)>& wanted) const;
    void handle_one(net::HttpExchange& exchange, std::string_view id);

    net::ServerIdentity identity_;
    net::Sources& sources_;
    AddedSources& added_;
    std::function<bool(std::string_view)> has_vhost_;
};

}  // namespace weir::app
