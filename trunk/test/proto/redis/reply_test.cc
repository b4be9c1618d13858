#include "proto/redis/reply.h"

#include <utility>

#include <gtest/gtest.h>

namespace weir::redis {
namespace {

Reply error(std::string text) {
    return {ReplyType::kError, 0, std::move(text), {}};
}

TEST(ReplyTest, AnErrorIsKnownByItsFirstWord) {
    EXPECT_TRUE(error("NOSCRIPT No matching script").is_error("NOSCRIPT"));
    EXPECT_TRUE(error("NOSCRIPT").is_error("NOSCRIPT"));
    EXPECT_FALSE(error("NOSCRIPTS x").is_error("NOSCRIPT"));
    EXPECT_FALSE((Reply{ReplyType::kText, 0, "NOSCRIPT", {}}).is_error("NOSCRIPT"));
}

TEST(ReplyTest, RedirectsNameHostAndPort) {
    Redirect to;
    ASSERT_TRUE(parse_redirect(error("MOVED 3999 10.0.0.1:6381"), to));
    EXPECT_FALSE(to.ask);
    EXPECT_EQ(to.host, "10.0.0.1");
    EXPECT_EQ(to.port, 6381);
    ASSERT_TRUE(parse_redirect(error("ASK 3999 ::1:6382"), to));
    EXPECT_TRUE(to.ask);
    EXPECT_EQ(to.host, "::1");
    ASSERT_TRUE(parse_redirect(error("MOVED 1 :6383"), to));
    EXPECT_EQ(to.host, "") << "the node that was asked";
}

TEST(ReplyTest, RedirectsThatCannotBeReadAreNone) {
    Redirect to;
    for (const char* text : {"MOVED", "MOVED 1", "MOVED 1 host", "MOVED 1 host:0",
                             "MOVED 1 h:70000", "MOVED 1 h:1 x", "MOVE 1 h:1"}) {
        EXPECT_FALSE(parse_redirect(error(text), to)) << text;
    }
    EXPECT_FALSE(parse_redirect(error("MOVED 1 " + std::string(300, 'h') + ":1"), to));
}

}  // namespace
}  // namespace weir::redis
