// GET /api/v1/calls, GET and DELETE /api/v1/calls/ID: the calls of the SIP server.
#pragma once

#include "net/api/answer.h"
#include "net/http/router.h"
#include "session/sip/sip_server.h"

namespace weir::app {

class SipCallsApi {
  public:
    // Both must outlive this.
    SipCallsApi(const net::ServerIdentity& identity, session::SipServer& server)
        : identity_(identity), server_(server) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    void handle(net::HttpExchange& exchange);
    void list(net::HttpExchange& exchange);
    void handle_one(net::HttpExchange& exchange, std::string_view id);

    net::ServerIdentity identity_;
    session::SipServer& server_;
};

}  // namespace weir::app
