#include "net/http/router.h"

#include <algorithm>
#include <utility>

#include "proto/http/request.h"

namespace weir::net {

namespace {

HttpRouteOptions completed(HttpRouteOptions options) {
    if ((options.methods & http::method_bit(http::Method::kGet)) != 0) {
        options.methods |= http::method_bit(http::Method::kHead);
    }
    options.methods |= http::method_bit(http::Method::kOptions);
    return options;
}

bool lies_below(std::string_view path, std::string_view prefix) {
    return path.starts_with(prefix) &&
           (path.size() == prefix.size() || prefix.ends_with('/') || path[prefix.size()] == '/');
}

}  // namespace

HttpRouter::HttpRouter(HttpRouteOptions defaults) : defaults_(completed(defaults)) {}

void HttpRouter::add_prefix(std::string prefix, HttpRouteOptions options, HttpHandler handler) {
    Entry entry{{}, std::move(prefix), {std::move(handler), completed(options)}};
    auto shorter = std::find_if(prefixes_.begin(), prefixes_.end(), [&](const Entry& other) {
        return other.prefix.size() < entry.prefix.size();
    });
    prefixes_.insert(shorter, std::move(entry));
}

void HttpRouter::add_predicate(std::function<bool(const http::Request&)> matches,
                               HttpRouteOptions options,
                               HttpHandler handler) {
    const auto place = options.first ? predicates_.begin() : predicates_.end();
    predicates_.insert(place, {std::move(matches), {}, {std::move(handler), completed(options)}});
}

void HttpRouter::add_suffix(std::string suffix, HttpRouteOptions options, HttpHandler handler) {
    add_predicate([suffix = std::move(suffix)](
                      const http::Request& request) { return request.path.ends_with(suffix); },
                  options, std::move(handler));
}

const HttpRoute* HttpRouter::find(const http::Request& request) const {
    for (const Entry& entry : predicates_) {
        if (entry.matches(request)) {
            return &entry.route;
        }
    }
    for (const Entry& entry : prefixes_) {
        if (lies_below(request.path, entry.prefix)) {
            return &entry.route;
        }
    }
    return nullptr;
}

}  // namespace weir::net
