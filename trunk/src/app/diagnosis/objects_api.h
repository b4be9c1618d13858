// GET /api/v1/objects: the long-lived objects of the process per class, in every build. Growth can
// be seen there while the server runs, without a tool. Nothing here yields but the answer.
#pragma once

#include "app/api_answer.h"
#include "net/http/router.h"

namespace weir::app {

class ObjectsApi {
  public:
    explicit ObjectsApi(const ServerIdentity& identity) : identity_(identity) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    void objects(net::HttpExchange& exchange) const;

    ServerIdentity identity_;
};

}  // namespace weir::app
