#include "net/http/fetch.h"

#include <memory>
#include <string_view>
#include <utility>

#include "base/redact.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "net/http/client.h"
#include "proto/http/request.h"
#include "proto/http/response_parser.h"

namespace weir::net {
namespace {

Result<http::Response> get(HttpClient& client,
                           const http::Url& url,
                           size_t max_bytes,
                           Hops& hops,
                           bool named,
                           io::Deadline deadline) {
    if (!named) {
        WEIR_TRY(hops.follow(url.tls));
    }
    WEIR_TRY_ASSIGN(const std::unique_ptr<io::TcpStream> stream,
                    client.connect(url, deadline, true, named ? AddressFilter() : hops.filter()));
    if (named) {
        hops.begin(stream->connection_peer().net_address(), url.tls);
    }
    http::ResponseLimits limits;
    limits.body_bytes = max_bytes;
    return http_exchange_on(*stream, http_request(http::Method::kGet, url, {}, {}), limits,
                            deadline);
}

}  // namespace

Result<std::string> http_fetch(HttpClient& client,
                               const HttpDocument& what,
                               Hops& hops,
                               io::Deadline deadline) {
    http::Url url = what.url;
    for (int i = 0; i <= kMaxFetchRedirects; i++) {
        if (what.may_ask) {
            WEIR_TRY(what.may_ask(url));
        }
        Result<http::Response> answer =
            get(client, url, what.max_bytes, hops, what.named && i == 0, deadline);
        if (!answer.ok()) {
            return answer.take_error().with_context(i == 0 ? url.origin()
                                                           : "redirected to " + url.origin());
        }
        if (answer->status == 200) {
            return std::move(answer->body);
        }
        const std::string_view location = answer->headers.get("Location").value_or("");
        if (answer->status / 100 != 3 || location.empty()) {
            return make_error(ErrorCode::kNotFound, "{}: the answer is {}",
                              hidden_path(url.shown()), answer->status);
        }
        WEIR_TRY_ASSIGN(url, url.resolve(location));
    }
    return make_error(ErrorCode::kLimit, "{}: more than {} redirects", hidden_path(url.shown()),
                      kMaxFetchRedirects);
}

}  // namespace weir::net
