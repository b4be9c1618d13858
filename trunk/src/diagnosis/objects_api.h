// GET /api/v1/objects: the long-lived objects of the process per class, in every build. Growth can
// be seen there while the server runs, without a tool. Nothing here yields but the answer.
#pragma once

#include "net/api/answer.h"
#include "net/http/router.h"

namespace weir::diagnosis {

class ObjectsApi {
  public:
    explicit ObjectsApi(const net::ServerIdentity& identity) : identity_(identity) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    void objects(net::HttpExchange& exchange) const;

    net::ServerIdentity identity_;
};

}  // namespace weir::diagnosis
