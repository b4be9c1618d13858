#include "session/ts/fast_change_hints.h"

#include <gtest/gtest.h>

namespace weir::session {
namespace {

stream::StreamKey key_of(int number) {
    stream::StreamKey key;
    key.app = "udp";
    key.name = "239.1.1." + std::to_string(number) + ":5000";
    return key;
}

net::FastChangeTarget target(uint16_t port) {
    return {.server = NetAddress::from_v4({10, 0, 0, 1}, port), .allowed = nullptr};
}

TEST(FastChangeHintsTest, GivesTheNewestOfAGroupOnce) {
    FastChangeHints hints;
    const MonoTime now{Seconds(1)};
    EXPECT_FALSE(hints.take(now, key_of(1)));
    hints.note(now, key_of(1), target(1));
    hints.note(now, key_of(2), target(2));
    hints.note(now, key_of(1), target(3));
    EXPECT_EQ(hints.take(now, key_of(1))->server.port(), 3);
    EXPECT_FALSE(hints.take(now, key_of(1)));
    EXPECT_EQ(hints.take(now, key_of(2))->server.port(), 2);
}

TEST(FastChangeHintsTest, ForgetsAfterAWhile) {
    FastChangeHints hints;
    const MonoTime now{Seconds(1)};
    hints.note(now, key_of(1), target(1));
    EXPECT_FALSE(hints.take(now + FastChangeHints::kLife + Millis(1), key_of(1)));
}

TEST(FastChangeHintsTest, IsBounded) {
    FastChangeHints hints;
    const MonoTime now{Seconds(1)};
    for (int i = 0; i <= static_cast<int>(FastChangeHints::kMaxHints); i++) {
        hints.note(now, key_of(i), target(1));
    }
    EXPECT_FALSE(hints.take(now, key_of(0)));
    EXPECT_TRUE(hints.take(now, key_of(1)));
}

TEST(FastChangeHintsTest, ReadsServers) {
    const auto telecom = FastChangeHints::parse("10.0.0.1:15970", "");
    ASSERT_TRUE(telecom.ok());
    EXPECT_EQ(telecom->kind, fcc::Kind::kTelecom);
    EXPECT_EQ(telecom->server, NetAddress::from_v4({10, 0, 0, 1}, 15'970));
    EXPECT_EQ(FastChangeHints::parse("10.0.0.1:8027", "")->kind, fcc::Kind::kHuawei);
    EXPECT_EQ(FastChangeHints::parse("10.0.0.1:8027", "telecom")->kind, fcc::Kind::kTelecom);
    EXPECT_EQ(FastChangeHints::parse("10.0.0.1:15970", "huawei")->kind, fcc::Kind::kHuawei);
    for (const std::string_view wrong : {"", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:65536", "host:1",
                                         "239.0.0.1:1", "0.0.0.0:1", "[::1]:1", ":1"}) {
        EXPECT_FALSE(FastChangeHints::parse(wrong, "").ok()) << wrong;
    }
    EXPECT_FALSE(FastChangeHints::parse("10.0.0.1:1", "zte").ok());
}

}  // namespace
}  // namespace weir::session
