// HTTP/1.1 client: one request and its whole answer per call, from a coroutine.
//
// A deadline holds for all of it: the name, the connection, TLS, the request, the answer.
// Connections that may carry another request are kept, a few per server and not for long. Redirects
// are not followed: the answer is given as it came. What a server sends is bounded by
// http::ResponseLimits, and a broken answer is an error that says what is wrong with it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/hops.h"
#include "proto/http/response_limits.h"

namespace weir::http {
enum class Method : uint8_t;
class Fields;
struct Response;
struct Url;
}  // namespace weir::http

namespace weir::io {
class Deadline;
class Resolver;
class TcpStream;
class TlsContext;
class WorkerPool;
}  // namespace weir::io

namespace weir::net {

struct HttpClientOptions {
    http::ResponseLimits limits;
    size_t idle_per_server = 8;
    size_t idle_at_all = 64;
    Millis idle{10'000};  // a kept connection is closed after this long
};

struct HttpClientStats {
    uint64_t requests = 0;
    uint64_t connects = 0;  // connections that were opened
    uint64_t reused = 0;    // requests on a kept one
    uint64_t stale = 0;     // kept ones that the server had ended
};

class HttpClient {
  public:
    // `resolver` must outlive this.
    explicit HttpClient(io::Resolver& resolver, HttpClientOptions options = {});
    ~HttpClient();  // nobody may be in exchange()

    // For reading the system's certificates when an https:// server is asked first, which takes
    // some 30 ms. Must outlive this. Without it the calling thread does that.
    void set_workers(io::WorkerPool* workers) { workers_ = workers; }

    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    // Yields. Host, User-Agent, Content-Length and Connection are added to `fields`. A request on a
    // kept connection that the server ended meanwhile is sent once more on a new one. kTimeout,
    // kInterrupted, kNotFound (the name), kClosed, kSystem, kMalformed and kLimit (the answer),
    // kDenied (the certificate). The message names the step and the server, never the query.
    Result<http::Response> exchange(http::Method method,
                                    const http::Url& url,
                                    const http::Fields& fields,
                                    std::string_view body,
                                    io::Deadline deadline);

    // Yields. A new connection to the host and port of `url`, with TLS where it says so, for
    // whoever talks on it by himself. `verify` off: any certificate will do. `allows`: addresses of
    // the host that it refuses get no packet. kDenied: it refuses all of them. Errors as of
    // exchange().
    Result<std::unique_ptr<io::TcpStream>> connect(const http::Url& url,
                                                   io::Deadline deadline,
                                                   bool verify = true,
                                                   const AddressFilter& allows = {});

    // Closes connections that were kept for too long. Once in a while.
    void tidy(MonoTime now);

    size_t idle() const { return idle_; }

    const HttpClientStats& stats() const { return stats_; }

  private:
    struct Kept;

    Error start_tls(io::TcpStream& stream,
                    const http::Url& url,
                    io::Deadline deadline,
                    bool verify);
    std::unique_ptr<io::TcpStream> take_kept(const std::string& origin, MonoTime now);
    void keep(const std::string& origin, std::unique_ptr<io::TcpStream> stream, MonoTime now);

    io::Resolver& resolver_;
    HttpClientOptions options_;
    HttpClientStats stats_;
    io::WorkerPool* workers_ = nullptr;
    std::shared_ptr<const io::TlsContext> trusted_;  // shared with handshakes: io/tls.h
    MonoTime trusted_since_{};
    std::map<std::string, std::vector<Kept>> kept_;  // by origin, the longest kept first
    size_t idle_ = 0;
};

// The bytes of a request, as of HttpClient::exchange().
std::string http_request(http::Method method,
                         const http::Url& url,
                         const http::Fields& fields,
                         std::string_view body);

// Yields. Sends the bytes of a request and reads the answer, on a connection of the caller's.
// `untouched`, where given, tells whether the connection ended before a byte of the answer came.
Result<http::Response> http_exchange_on(io::TcpStream& stream,
                                        std::string_view request,
                                        const http::ResponseLimits& limits,
                                        io::Deadline deadline,
                                        bool* untouched = nullptr);

}  // namespace weir::net
