// A document by HTTP, wherever redirects lead within the rules of Hops.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/error.h"
#include "net/hops.h"
#include "proto/http/url.h"

namespace weir::io {
class Deadline;
}

namespace weir::net {

class HttpClient;

struct HttpDocument {
    http::Url url;
    bool named = true;     // the operator names the URL; else an answer of another server does
    size_t max_bytes = 0;  // of its body
    // Whether that URL may be asked, the first one and those of redirects; null: all.
    std::function<Error(const http::Url&)> may_ask = {};
};

inline constexpr int kMaxFetchRedirects = 3;

// Yields. The body of an answer with status 200. `hops`: where it may come from, if it is not
// `named`; afterwards, where its own content may lead. kDenied: a redirect leads to where it may
// not. kLimit: too large, or more than kMaxFetchRedirects. kNotFound: another status. Else as
// HttpClient::exchange().
Result<std::string> http_fetch(HttpClient& client,
                               const HttpDocument& what,
                               Hops& hops,
                               io::Deadline deadline);

}  // namespace weir::net
