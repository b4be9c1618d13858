#include "net/http/router.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/http/request.h"

namespace weir::net {
namespace {

http::Request request_for(std::string path, http::Method method = http::Method::kGet) {
    http::Request request;
    request.method = method;
    request.path = std::move(path);
    return request;
}

// Routes are told apart by their methods.
HttpRouteOptions marked(http::Method method) {
    return {http::method_bit(method), false, http::ErrorFormat::kText};
}

HttpHandler nothing() {
    return [](HttpExchange&) {};
}

bool has(const HttpRoute* route, http::Method method) {
    return route != nullptr && (route->options.methods & http::method_bit(method)) != 0;
}

TEST(HttpRouterTest, PrefersTheLongestPrefix) {
    HttpRouter router;
    router.add_prefix("/", marked(http::Method::kGet), nothing());
    router.add_prefix("/api/v1/streams", marked(http::Method::kDelete), nothing());
    router.add_prefix("/api", marked(http::Method::kPost), nothing());
    EXPECT_TRUE(has(router.find(request_for("/api/v1/streams/7")), http::Method::kDelete));
    EXPECT_TRUE(has(router.find(request_for("/api/v1/streams")), http::Method::kDelete));
    EXPECT_TRUE(has(router.find(request_for("/api/v1/streamsx")), http::Method::kPost));
    EXPECT_TRUE(has(router.find(request_for("/apix")), http::Method::kGet));
    EXPECT_TRUE(has(router.find(request_for("/")), http::Method::kGet));
}

TEST(HttpRouterTest, AsksPredicatesFirstAndInOrder) {
    HttpRouter router;
    router.add_prefix("/live/a.flv", marked(http::Method::kPost), nothing());
    router.add_suffix(".flv", marked(http::Method::kGet), nothing());
    router.add_predicate([](const http::Request&) { return true; }, marked(http::Method::kDelete),
                         nothing());
    EXPECT_TRUE(has(router.find(request_for("/live/a.flv")), http::Method::kGet));
    EXPECT_TRUE(has(router.find(request_for("/live/a.ts")), http::Method::kDelete));
}

TEST(HttpRouterTest, FindsNothingWhereNothingWasAdded) {
    HttpRouter router;
    router.add_prefix("/api", marked(http::Method::kGet), nothing());
    EXPECT_EQ(router.find(request_for("/")), nullptr);
    EXPECT_EQ(router.find(request_for("*")), nullptr);
}

TEST(HttpRouterTest, GivesHeadToWhatTakesGetAndOptionsToAll) {
    HttpRouter router;
    router.add_prefix("/get", marked(http::Method::kGet), nothing());
    router.add_prefix("/post", marked(http::Method::kPost), nothing());
    EXPECT_TRUE(has(router.find(request_for("/get")), http::Method::kHead));
    EXPECT_FALSE(has(router.find(request_for("/post")), http::Method::kHead));
    EXPECT_TRUE(has(router.find(request_for("/get")), http::Method::kOptions));
    EXPECT_TRUE(has(router.find(request_for("/post")), http::Method::kOptions));
}

}  // namespace
}  // namespace weir::net
