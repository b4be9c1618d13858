#include "proto/http/cors.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

constexpr uint32_t kMethods =
    method_bit(Method::kGet) | method_bit(Method::kHead) | method_bit(Method::kOptions);

Request preflight(Fields headers) {
    Request request;
    request.method = Method::kOptions;
    request.headers = std::move(headers);
    return request;
}

TEST(CorsTest, KnowsAPreflight) {
    EXPECT_TRUE(is_cors_preflight(
        preflight({{"Origin", "http://x"}, {"Access-Control-Request-Method", "GET"}})));
    EXPECT_FALSE(is_cors_preflight(preflight({{"Origin", "http://x"}})));
    EXPECT_FALSE(is_cors_preflight(preflight({{"Access-Control-Request-Method", "GET"}})));
    Request get = preflight({{"Origin", "http://x"}, {"Access-Control-Request-Method", "GET"}});
    get.method = Method::kGet;
    EXPECT_FALSE(is_cors_preflight(get));
}

TEST(CorsTest, AllowsTheMethodsOfTheRouteAndTheHeadersAskedFor) {
    Fields fields =
        cors_preflight_fields(preflight({{"Origin", "http://x"},
                                         {"Access-Control-Request-Method", "GET"},
                                         {"Access-Control-Request-Headers", "range, x-token"},
                                         {"Access-Control-Request-Private-Network", "true"}}),
                              kMethods);
    EXPECT_EQ(fields.get("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(fields.get("Access-Control-Allow-Methods"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(fields.get("Access-Control-Allow-Headers"), "range, x-token");
    EXPECT_EQ(fields.get("Access-Control-Allow-Private-Network"), "true");
    EXPECT_TRUE(fields.has("Access-Control-Max-Age"));
    EXPECT_FALSE(fields.has("Access-Control-Allow-Credentials"));
}

TEST(CorsTest, EchoesNothingButFieldNames) {
    Fields odd =
        cors_preflight_fields(preflight({{"Access-Control-Request-Headers", "a; <b>"}}), kMethods);
    EXPECT_EQ(odd.get("Access-Control-Allow-Headers"), "Range");
    Fields huge = cors_preflight_fields(
        preflight({{"Access-Control-Request-Headers", std::string(2000, 'a')}}), kMethods);
    EXPECT_EQ(huge.get("Access-Control-Allow-Headers"), "Range");
    EXPECT_FALSE(huge.has("Access-Control-Allow-Private-Network"));
}

TEST(CorsTest, ExposesWhatPlayersRead) {
    Fields fields = cors_fields();
    EXPECT_EQ(fields.get("Access-Control-Allow-Origin"), "*");
    EXPECT_TRUE(fields.has_token("Access-Control-Expose-Headers", "Content-Length"));
    EXPECT_TRUE(fields.has_token("Access-Control-Expose-Headers", "Content-Range"));
}

}  // namespace
}  // namespace weir::http
