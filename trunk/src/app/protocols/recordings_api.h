// GET and POST /api/v1/recordings, GET and DELETE /api/v1/recordings/ID: what is recorded, and the
// files that are finished.
#pragma once

#include "net/api/answer.h"
#include "net/http/router.h"
#include "net/services.h"
#include "session/record/record_playback.h"
#include "session/record/record_service.h"

namespace weir::app {

class RecordingsApi {
  public:
    // The others must outlive this.
    RecordingsApi(const net::ServerIdentity& identity,
                  const net::Services& services,
                  session::RecordService& service,
                  const session::RecordPlayback& playback)
        : identity_(identity), services_(services), service_(service), playback_(playback) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    void handle(net::HttpExchange& exchange);
    void list(net::HttpExchange& exchange);
    void order(net::HttpExchange& exchange);
    void show(net::HttpExchange& exchange, std::string_view id);
    void end(net::HttpExchange& exchange, std::string_view id);

    net::ServerIdentity identity_;
    net::Services services_;
    session::RecordService& service_;
    const session::RecordPlayback& playback_;
};

}  // namespace weir::app
