// GET and POST /api/v1/calls, GET and DELETE /api/v1/calls/ID, POST /api/v1/calls/ID/dtmf: the
// calls of the SIP server. GET /api/v1/sip/registrations: where it is registered.
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

    // Calls are placed only while it is on.
    void set_enabled(bool enabled) { enabled_ = enabled; }

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    void handle(net::HttpExchange& exchange);
    void list(net::HttpExchange& exchange);
    void list_registrations(net::HttpExchange& exchange);
    void place(net::HttpExchange& exchange);
    Result<session::SipCallOrder> read_order(const nlohmann::json& json) const;
    void handle_one(net::HttpExchange& exchange, std::string_view id);
    void send_digits(net::HttpExchange& exchange, std::string_view id);

    net::ServerIdentity identity_;
    session::SipServer& server_;
    bool enabled_ = false;
};

}  // namespace weir::app
