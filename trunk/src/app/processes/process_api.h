// ProcessApi: the HTTP API of a server of several processes: whichever process is asked answers for
// all. Lists and counts are those of all processes; an object is found wherever it is;
// `?process=N` asks that one alone.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/processes/answer_merge.h"
#include "app/processes/process_link.h"
#include "net/api/answer.h"
#include "net/http/exchange.h"
#include "net/http/router.h"
#include "proto/http/response_parser.h"

namespace weir::http {
struct Request;
}

namespace weir::io {
class Deadline;
}

namespace weir::app {

// GET /api/v1/processes. `link` null: this process is the only one, and `own` says how it is. All
// must outlive the router's server.
void add_processes_to(net::HttpRouter& router,
                      const net::ServerIdentity& identity,
                      const ProcessLink* link,
                      std::function<ProcessFigures()> own);

class ProcessApi {
  public:
    // For the answer of one process; one that does not answer by then is left out.
    static constexpr Millis kAnswerWait{2'000};
    // The same of what may take long: a profile, a reload.
    static constexpr Millis kLongWait{120'000};
    // For what pages ask again and again, of all together.
    static constexpr Millis kPageWait{1'000};
    static constexpr size_t kMaxAnswerBytes = size_t{32} << 20;

    // `link` must outlive this.
    explicit ProcessApi(ProcessLink& link) : link_(link) {}

    // Where a process answers others, without asking who they are: a name of the abstract
    // namespace, where only processes of the same user are let in.
    static std::string socket_of(const ProcessLink& link, uint32_t process);

    // Yields. What the other processes answer to GET `target`, which has no query or some of it,
    // for themselves: with their number as `process`. Those that do not answer in time are left
    // out.
    std::vector<std::string> ask_others(const std::string& target) const;

    // Yields. True: it was answered. False: this process answers for itself. The client has been
    // let in already.
    bool serve(net::HttpExchange& exchange);

  private:
    void serve_one(net::HttpExchange& exchange, uint32_t process, const std::string& target);
    bool serve_new_source(net::HttpExchange& exchange);
    void reload(net::HttpExchange& exchange);
    void serve_found(net::HttpExchange& exchange);
    void end_recording(net::HttpExchange& exchange);
    void serve_sums_found(net::HttpExchange& exchange);
    void serve_list(net::HttpExchange& exchange, std::string_view name);
    void serve_told(net::HttpExchange& exchange);
    void serve_sums(net::HttpExchange& exchange);
    void serve_metrics(net::HttpExchange& exchange);
    // Of all that answer. Empty: the exchange has been answered.
    std::vector<ProcessAnswer> ask_all(net::HttpExchange& exchange,
                                       const std::string& target,
                                       Millis wait) const;
    Result<http::Response> ask(uint32_t process,
                               const http::Request& request,
                               const std::string& target,
                               io::Deadline deadline) const;

    ProcessLink& link_;
};

}  // namespace weir::app
