#include "net/http/router.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::net {
namespace {

HttpRequest request_for(std::string path, HttpMethod method = HttpMethod::kGet) {
    HttpRequest request;
    request.method = method;
    request.path = std::move(path);
    return request;
}

// Routes are told apart by their methods.
HttpRouteOptions marked(HttpMethod method) {
    return {method_bit(method), false, HttpErrorFormat::kText};
}

HttpHandler nothing() {
    return [](HttpExchange&) {};
}

bool has(const HttpRoute* route, HttpMethod method) {
    return route != nullptr && (route->options.methods & method_bit(method)) != 0;
}

TEST(HttpRouterTest, PrefersTheLongestPrefix) {
    HttpRouter router;
    router.add_prefix("/", marked(HttpMethod::kGet), nothing());
    router.add_prefix("/api/v1/streams", marked(HttpMethod::kDelete), nothing());
    router.add_prefix("/api", marked(HttpMethod::kPost), nothing());
    EXPECT_TRUE(has(router.find(request_for("/api/v1/streams/7")), HttpMethod::kDelete));
    EXPECT_TRUE(has(router.find(request_for("/api/v1/streams")), HttpMethod::kDelete));
    EXPECT_TRUE(has(router.find(request_for("/api/v1/streamsx")), HttpMethod::kPost));
    EXPECT_TRUE(has(router.find(request_for("/apix")), HttpMethod::kGet));
    EXPECT_TRUE(has(router.find(request_for("/")), HttpMethod::kGet));
}

TEST(HttpRouterTest, AsksPredicatesFirstAndInOrder) {
    HttpRouter router;
    router.add_prefix("/live/a.flv", marked(HttpMethod::kPost), nothing());
    router.add_suffix(".flv", marked(HttpMethod::kGet), nothing());
    router.add_predicate([](const HttpRequest&) { return true; }, marked(HttpMethod::kDelete),
                         nothing());
    EXPECT_TRUE(has(router.find(request_for("/live/a.flv")), HttpMethod::kGet));
    EXPECT_TRUE(has(router.find(request_for("/live/a.ts")), HttpMethod::kDelete));
}

TEST(HttpRouterTest, FindsNothingWhereNothingWasAdded) {
    HttpRouter router;
    router.add_prefix("/api", marked(HttpMethod::kGet), nothing());
    EXPECT_EQ(router.find(request_for("/")), nullptr);
    EXPECT_EQ(router.find(request_for("*")), nullptr);
}

TEST(HttpRouterTest, GivesHeadToWhatTakesGetAndOptionsToAll) {
    HttpRouter router;
    router.add_prefix("/get", marked(HttpMethod::kGet), nothing());
    router.add_prefix("/post", marked(HttpMethod::kPost), nothing());
    EXPECT_TRUE(has(router.find(request_for("/get")), HttpMethod::kHead));
    EXPECT_FALSE(has(router.find(request_for("/post")), HttpMethod::kHead));
    EXPECT_TRUE(has(router.find(request_for("/get")), HttpMethod::kOptions));
    EXPECT_TRUE(has(router.find(request_for("/post")), HttpMethod::kOptions));
}

}  // namespace
}  // namespace weir::net
