// The leak API (doc/memory.md): GET /api/v1/valgrind, /api/v1/leaks, their /ID, and
// /api/v1/leaks/capabilities.
//
// A caller waits for the answer, or asks with ?wait=0 and gets 202 and an id. Without a tool in
// this build or process every check is a 501 that names the command.
#pragma once

#include <memory>

#include "diagnosis/leak_checker.h"
#include "net/api/answer.h"
#include "net/client_table.h"
#include "net/http/router.h"

namespace weir::diagnosis {

class LeakApi {
  public:
    // `clients` must outlive this object.
    LeakApi(const net::ClientTable& clients, net::ServerIdentity identity);
    ~LeakApi();
    LeakApi(const LeakApi&) = delete;
    LeakApi& operator=(const LeakApi&) = delete;

    // Makes the coroutine of the checks, when there is a tool (nullptr: there is none, and nothing
    // is made). `connections`: how many to the API are open. kSystem.
    Error start(std::unique_ptr<LeakTool> tool, std::function<size_t()> connections);

    // Yields. Ends the checks; who waits is closed. After the HTTP server was stopped.
    void stop();

    // nullptr without a tool, and when stopped.
    LeakChecker* checker() const { return checker_.get(); }

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

  private:
    void valgrind(net::HttpExchange& exchange);
    void leaks(net::HttpExchange& exchange);
    void capabilities(net::HttpExchange& exchange);
    void check(net::HttpExchange& exchange, const std::vector<LeakCheck>& checks);
    void poll(net::HttpExchange& exchange, std::string_view id, std::string_view path);
    std::string body(uint64_t id, int status, std::string_view text) const;
    std::string queued_body(uint64_t id, std::string_view path) const;

    const net::ClientTable& clients_;
    net::ServerIdentity identity_;
    std::unique_ptr<LeakChecker> checker_;
};

}  // namespace weir::diagnosis
