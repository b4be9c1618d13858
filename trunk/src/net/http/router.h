// Finds the handler of a request. Predicates first, in the order they were added (but
// HttpRouteOptions::first), then the longest path prefix.
//
// Answers OPTIONS (preflight or Allow), 404 and 405 itself. HEAD goes to handlers of GET. Filled
// before the server starts, not changed after.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http/exchange.h"
#include "proto/http/fields.h"
#include "proto/http/method.h"
#include "proto/http/response.h"

namespace weir::http {
struct Request;
}

namespace weir::net {

class Placement;

// What a route asks of HttpServerOptions::authorize, where there is one.
enum class HttpAccess : uint8_t {
    kByMethod,  // GET shows, every other method changes something
    kOperate,   // every other method does what a day of live streams needs: it ends, it records
    kAdmin,     // even GET does something, or costs much
    kOwnRules,  // the handler asks net::Policy
};

struct HttpRouteOptions {
    uint32_t methods = http::method_bit(http::Method::kGet);  // HEAD comes with GET, OPTIONS always
    bool cors = false;  // open to every origin; for media and static paths, never for the API
    http::ErrorFormat errors = http::ErrorFormat::kText;
    http::Fields options_fields = {};  // more for answers to OPTIONS: Accept-Post, Accept-Patch
    HttpAccess access = HttpAccess::kByMethod;
    bool first = false;  // a predicate that is asked before all that were added earlier
    // Which process should serve a request, as it has its stream; none: this one. Must not yield.
    std::function<std::optional<uint32_t>(Placement&, const http::Request&)> process_of = {};
    // No other process can serve it, so it goes there through TLS, too.
    bool only_there = false;
};

struct HttpRoute {
    HttpHandler handler;
    HttpRouteOptions options;
};

class HttpRouter {
  public:
    // `defaults` are for requests that no route takes: whether a 404 is JSON, whether it carries
    // CORS fields.
    explicit HttpRouter(HttpRouteOptions defaults = {});

    // "/api/v1/streams" takes itself and what lies below ("/api/v1/streams/7", not
    // "/api/v1/streamsx"). "/" takes all.
    void add_prefix(std::string prefix, HttpRouteOptions options, HttpHandler handler);

    // `matches` must not yield.
    void add_predicate(std::function<bool(const http::Request&)> matches,
                       HttpRouteOptions options,
                       HttpHandler handler);

    // "*.flv": predicate on the end of the path.
    void add_suffix(std::string suffix, HttpRouteOptions options, HttpHandler handler);

    // `visit(prefix, options)`, of what add_prefix() was given, longest first.
    template <typename Visit>
    void for_each_prefix(Visit&& visit) const {
        for (const Entry& entry : prefixes_) {
            visit(std::string_view(entry.prefix), entry.route.options);
        }
    }

    // nullptr when nothing takes it. Lives as long as the router.
    const HttpRoute* find(const http::Request& request) const;

    const HttpRouteOptions& defaults() const { return defaults_; }

  private:
    struct Entry {
        std::function<bool(const http::Request&)> matches;  // empty for a prefix
        std::string prefix;
        HttpRoute route;
    };

    HttpRouteOptions defaults_;
    std::vector<Entry> predicates_;
    std::vector<Entry> prefixes_;  // longest first
};

}  // namespace weir::net
