// The API's routes, the lists of them, and the answer to paths that there are not.
#include <algorithm>
#include <map>

#include "app/api/http_api.h"
#include "app/api/openapi_document.h"
#include "base/log.h"
#include "net/http/router.h"
#include "proto/http/method.h"
#include "proto/http/request.h"
#include "proto/http/response.h"

namespace weir::app {
namespace {

constexpr size_t kMaxShownPath = 200;
constexpr std::string_view kRoot = "/api/v1/";

net::HttpRouteOptions json_options() {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    return options;
}

// Without a slash at its end.
std::string_view trimmed(std::string_view path) {
    return path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

// Path and what it is, by the OpenAPI document.
const std::map<std::string, std::string, std::less<>>& summaries_of_paths() {
    static const auto summaries = [] {
        std::map<std::string, std::string, std::less<>> texts;
        const net::Json document = net::Json::parse(openapi_document(), nullptr, false);
        const net::Json paths = document.value("paths", net::Json::object());
        for (const auto& [path, item] : paths.items()) {
            texts[std::string(trimmed(path))] = item.value("summary", "");
        }
        return texts;
    }();
    return summaries;
}

std::string summary_of(std::string_view path) {
    const auto& texts = summaries_of_paths();
    auto found = texts.find(trimmed(path));
    if (found == texts.end()) {
        found = texts.find(std::string(trimmed(path)) + "/{id}");  // there is no list of all
    }
    return found == texts.end() ? std::string() : found->second;
}

}  // namespace

HttpApi::HttpApi(const net::Services& services,
                 net::ServerIdentity identity,
                 const ProtocolSet& protocols)
    : services_(services),
      identity_(std::move(identity)),
      protocols_(protocols),
      live_(services, protocols),
      live_of_all_(services, protocols) {}

void HttpApi::add_exact(net::HttpRouter& router, const char* path, Handler handler) {
    router.add_prefix(path, json_options(), [this, path, handler](net::HttpExchange& exchange) {
        if (trimmed(exchange.request().path) == path) {
            (this->*handler)(exchange);
        } else {
            not_found(exchange);
        }
    });
}

void HttpApi::add_to(net::HttpRouter& router) {
    router_ = &router;
    add_exact(router, "/api/v1/versions", &HttpApi::versions);
    add_exact(router, "/api/v1/summaries", &HttpApi::summaries);
    add_exact(router, "/api/v1/rusages", &HttpApi::rusages);
    add_exact(router, "/api/v1/self_proc_stats", &HttpApi::self_proc_stats);
    add_exact(router, "/api/v1/system_proc_stats", &HttpApi::system_proc_stats);
    add_exact(router, "/api/v1/meminfos", &HttpApi::meminfos);
    add_exact(router, "/api/v1/authors", &HttpApi::authors);
    add_exact(router, "/api/v1/features", &HttpApi::features);
    add_exact(router, "/api/v1/openapi.json", &HttpApi::openapi);
    add_exact(router, "/metrics", &HttpApi::metrics);
    const net::HttpRouteOptions json = json_options();
    net::HttpRouteOptions deletes = json;
    deletes.access = net::HttpAccess::kOperate;
    deletes.methods |= http::method_bit(http::Method::kDelete);
    router.add_prefix("/api/v1/vhosts", json, [this](auto& exchange) { vhosts(exchange); });
    router.add_prefix("/api/v1/streams", deletes, [this](auto& exchange) { streams(exchange); });
    router.add_prefix("/api/v1/clients", deletes, [this](auto& exchange) { clients(exchange); });
    net::HttpRouteOptions all = json;
    for (const http::Method method :
         {http::Method::kPost, http::Method::kPut, http::Method::kPatch, http::Method::kDelete}) {
        all.methods |= http::method_bit(method);  // a path that is not there is 404 for all of them
    }
    router.add_prefix("/", all, [this](auto& exchange) { index(exchange); });
}

// {"urls": {"streams": "what it is", ..}}: of /api/v1/, its resources; of /api/ and /, what is
// there besides.
void HttpApi::index(net::HttpExchange& exchange) {
    const http::Request& request = exchange.request();
    const std::string_view path = trimmed(request.path);
    const bool resources = path == trimmed(kRoot);
    if (!resources && path != "/" && path != "/api") {
        not_found(exchange);
        return;
    }
    if (request.method != http::Method::kGet && request.method != http::Method::kHead) {
        (void)exchange.respond_error(405, "this is a list: GET it", {{"Allow", "GET, HEAD"}});
        return;
    }
    std::map<std::string, std::string> sorted;
    router_->for_each_prefix([&](std::string_view prefix, const net::HttpRouteOptions&) {
        const bool resource = prefix.starts_with(kRoot);
        if (resources && resource) {
            sorted.emplace(prefix.substr(kRoot.size()), summary_of(prefix));
        } else if (path == "/" && !resource && prefix != "/") {
            sorted.emplace(prefix, summary_of(prefix));
        }
    });
    if (path == "/") {
        sorted.emplace("/api/", summary_of("/api/"));
    } else if (path == "/api") {
        sorted.emplace("v1", summary_of(kRoot));
    }
    net::Json urls = net::Json::object();
    for (const auto& [name, text] : sorted) {
        urls[name] = text;
    }
    net::Json body = net::envelope(identity_);
    body["urls"] = std::move(urls);
    answer(exchange, body);
}

void HttpApi::not_found(net::HttpExchange& exchange) {
    net::Json paths = net::Json::array();
    std::vector<std::string> sorted{"/", "/api/", "/api/v1/"};
    router_->for_each_prefix([&](std::string_view prefix, const net::HttpRouteOptions&) {
        if (prefix != "/") {
            sorted.emplace_back(prefix);
        }
    });
    std::ranges::sort(sorted);
    for (std::string& path : sorted) {
        paths.push_back(std::move(path));
    }
    net::Json body = {{"code", 404},
                      {"error", fmt::format("there is nothing at {}; paths lists what there is",
                                            exchange.request().path.substr(0, kMaxShownPath))},
                      {"paths", std::move(paths)}};
    (void)exchange.respond(404, "application/json", net::dumped(body) + "\n");
}

void HttpApi::openapi(net::HttpExchange& exchange) {
    (void)exchange.respond(200, "application/json", openapi_document());
}

}  // namespace weir::app
