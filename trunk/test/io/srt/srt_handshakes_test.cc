#include <string>

#include <gtest/gtest.h>

#include "io/srt/srt_bridge.h"

namespace weir::io {
namespace {

struct Gate final : SrtGate {
    SrtVerdict decide(std::string_view id) const override {
        return {id == "bad" ? kSrtBadRequest : 0, {}};
    }
};

class SrtHandshakesTest : public testing::Test {
  protected:
    SrtHandshakesTest() { handshakes_.set_gate(std::make_shared<Gate>()); }

    int decide(int32_t socket, std::string_view peer, std::string_view id = "a/b") {
        return handshakes_.decide(socket, peer, id).reject;
    }

    SrtAtomicCounters counters_;
    SrtHandshakes handshakes_{counters_};
};

TEST_F(SrtHandshakesTest, TheSocketHasTheIdThatTheGateSaw) {
    EXPECT_EQ(decide(1, "192.0.2.1"), 0);
    EXPECT_EQ(decide(2, "192.0.2.1"), 0);
    EXPECT_TRUE(handshakes_.succeeded(1, "a/b"));
    EXPECT_FALSE(handshakes_.succeeded(1, "a/b")) << "once";
    EXPECT_FALSE(handshakes_.succeeded(2, "a/c"));
    EXPECT_FALSE(handshakes_.succeeded(3, "")) << "the gate never saw it";
    EXPECT_EQ(counters_.accepted, 1U);
}

TEST_F(SrtHandshakesTest, TellsOfTheLastThatWasRefused) {
    EXPECT_EQ(decide(1, "192.0.2.1", "bad"), kSrtBadRequest);
    EXPECT_EQ(decide(2, "192.0.2.2", "bad"), kSrtBadRequest);
    const SrtHandshakes::Refused refused = handshakes_.take_refused();
    EXPECT_EQ(refused.peer, "192.0.2.2");
    EXPECT_EQ(refused.reason, kSrtBadRequest);
    EXPECT_EQ(handshakes_.take_refused().peer, "");
    EXPECT_FALSE(handshakes_.succeeded(1, "bad"));
}

TEST_F(SrtHandshakesTest, OneAddressLeavesHalfOfTheRoomToOthers) {
    int let_in = 0;
    for (int32_t socket = 1; socket <= 1000; socket++) {
        let_in += decide(socket, "192.0.2.1") == 0 ? 1 : 0;
    }
    EXPECT_LE(let_in, static_cast<int>(SrtEngine::kMaxUnadmitted / 2));
    EXPECT_GE(let_in, static_cast<int>(SrtEngine::kMaxUnadmittedOfOne));
    for (int32_t socket = 2000; socket < 2020; socket++) {
        EXPECT_EQ(decide(socket, "192.0.2.2"), 0);
    }
    EXPECT_TRUE(handshakes_.succeeded(2000, "a/b"));
    handshakes_.settled(2000);
    (void)handshakes_.expire(SrtClock::now() + SrtHandshakes::kPatience);
    EXPECT_EQ(decide(3000, "192.0.2.1"), 0) << "room again";
}

}  // namespace
}  // namespace weir::io
