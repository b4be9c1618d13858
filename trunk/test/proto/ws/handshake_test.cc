#include "proto/ws/handshake.h"

#include <gtest/gtest.h>

namespace weir::ws {
namespace {

TEST(WsHandshakeTest, ComputesTheAcceptKeyOfTheRfc) {
    // RFC 6455 §1.3.
    EXPECT_EQ(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WsHandshakeTest, TakesOnlyKeysOfSixteenBytes) {
    EXPECT_TRUE(is_valid_client_key("dGhlIHNhbXBsZSBub25jZQ=="));
    EXPECT_FALSE(is_valid_client_key(""));
    EXPECT_FALSE(is_valid_client_key("dGhlIHNhbXBsZSBub25jZQ="));
    EXPECT_FALSE(is_valid_client_key("dGhlIHNhbXBsZSBub25jZQ==="));
    EXPECT_FALSE(is_valid_client_key("dGhlIHNhbXBsZSBub25jZWE="));
    EXPECT_FALSE(is_valid_client_key("dGhlIHNhbXBs\r\nBub25jZQ=="));
}

TEST(WsHandshakeTest, MakesKeysThatItTakes) {
    EXPECT_EQ(make_client_key({}), "AAAAAAAAAAAAAAAAAAAAAA==");
    EXPECT_TRUE(is_valid_client_key(make_client_key({0xFF, 0xFE, 0xFD})));
}

}  // namespace
}  // namespace weir::ws
