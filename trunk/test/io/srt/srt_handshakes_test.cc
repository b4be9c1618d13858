#include <deque>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "io/srt/srt_bridge.h"
#include "io/srt/srt_sizes.h"

namespace weir::io {
namespace {

using std::chrono::milliseconds;

struct Gate final : SrtGate {
    SrtVerdict decide(std::string_view id) const override {
        return {id == "bad" ? kSrtBadRequest : 0, {}, id != "play"};
    }
};

class SrtHandshakesTest : public testing::Test {
  protected:
    SrtHandshakesTest() { handshakes_.set_gate(std::make_shared<Gate>()); }

    static NetAddress address(std::string_view ip) { return NetAddress::parse_ip(ip, 9).value(); }

    SrtHandshakes::Decision ask(int32_t socket,
                                std::string_view peer,
                                std::string_view id = "a/b",
                                Millis latency = Millis(120)) {
        return handshakes_.decide(socket, address(peer), id, latency, now_);
    }

    int decide(int32_t socket, std::string_view peer, std::string_view id = "a/b") {
        return ask(socket, peer, id).verdict.reject;
    }

    bool connect(int32_t socket, std::string_view peer) {
        now_ += milliseconds(10);  // under the rate of all
        if (decide(socket, peer) != 0 || !handshakes_.succeeded(socket, "a/b", now_)) {
            return false;
        }
        handshakes_.admitted(socket);
        return true;
    }

    SrtClock::time_point now_ = SrtClock::now();
    SrtAtomicCounters counters_;
    SrtHandshakes handshakes_{counters_};
};

TEST_F(SrtHandshakesTest, TheSocketHasTheIdThatTheGateSaw) {
    EXPECT_EQ(decide(1, "192.0.2.1"), 0);
    EXPECT_EQ(decide(2, "192.0.2.1"), 0);
    EXPECT_TRUE(handshakes_.succeeded(1, "a/b", now_));
    EXPECT_FALSE(handshakes_.succeeded(1, "a/b", now_)) << "once";
    EXPECT_FALSE(handshakes_.succeeded(2, "a/c", now_));
    EXPECT_FALSE(handshakes_.succeeded(3, "", now_)) << "the gate never saw it";
    EXPECT_EQ(counters_.accepted, 1U);
}

TEST_F(SrtHandshakesTest, TellsOfTheLastThatWasRefused) {
    EXPECT_EQ(decide(1, "192.0.2.1", "bad"), kSrtBadRequest);
    EXPECT_EQ(decide(2, "192.0.2.2", "bad"), kSrtBadRequest);
    const SrtHandshakes::Refused refused = handshakes_.take_refused();
    EXPECT_EQ(refused.peer, "192.0.2.2");
    EXPECT_EQ(refused.why, SrtHandshakes::Why::kStreamId);
    EXPECT_EQ(handshakes_.take_refused().peer, "");
    EXPECT_FALSE(handshakes_.succeeded(1, "bad", now_));
}

TEST_F(SrtHandshakesTest, OneAddressLeavesHalfOfTheRoomToOthers) {
    int let_in = 0;
    for (int32_t socket = 1; socket <= 1000; socket++) {
        if (handshakes_.hears(address("192.0.2.1"))) {
            let_in += decide(socket, "192.0.2.1") == 0 ? 1 : 0;
        }
    }
    EXPECT_LE(let_in, static_cast<int>(SrtEngine::kMaxUnadmitted / 2));
    EXPECT_GE(let_in, static_cast<int>(SrtEngine::kMaxUnadmittedOfOne));
    EXPECT_FALSE(handshakes_.hears(address("192.0.2.1"))) << "it was refused too often";
    const SrtHandshakes::Refused silenced = handshakes_.take_refused();
    EXPECT_EQ(silenced.peer, "192.0.2.1");
    EXPECT_EQ(silenced.why, SrtHandshakes::Why::kUnheard);
    EXPECT_TRUE(handshakes_.hears(address("192.0.2.2")));
    for (int32_t socket = 2000; socket < 2020; socket++) {
        EXPECT_EQ(decide(socket, "192.0.2.2"), 0);
    }
    EXPECT_TRUE(handshakes_.succeeded(2000, "a/b", now_));
    handshakes_.admitted(2000);
    now_ += SrtHandshakes::kPatience;
    (void)handshakes_.expire(now_);
    now_ += SrtEngine::kForgotten;
    (void)handshakes_.expire(now_);
    EXPECT_EQ(decide(3000, "192.0.2.1"), 0) << "room again";
}

// The largest connections that there are, which send nothing for 1.5 s and end.
TEST_F(SrtHandshakesTest, FewAddressesLeaveMemoryToOthers) {
    int32_t socket = 0;
    std::deque<std::pair<SrtClock::time_point, int32_t>> silent;
    for (int i = 0; i < 1'000; i++) {
        now_ += milliseconds(20);
        const std::string peer = "198.51.100." + std::to_string(i % 3);
        while (!silent.empty() && silent.front().first <= now_) {
            handshakes_.gone(silent.front().second, now_);
            silent.pop_front();
        }
        const bool heard = handshakes_.hears(address(peer));
        if (heard && ask(++socket, peer, "a/b", Millis(60'000)).verdict.reject == 0) {
            ASSERT_TRUE(handshakes_.succeeded(socket, "a/b", now_));
            silent.emplace_back(now_ + milliseconds(1'500), socket);
        }
        if (i % 5 == 0) {
            ASSERT_TRUE(handshakes_.hears(address("192.0.2.2"))) << i;
            ASSERT_EQ(ask(++socket, "192.0.2.2", "a/b", Millis(60'000)).verdict.reject, 0) << i;
            ASSERT_TRUE(handshakes_.succeeded(socket, "a/b", now_));
            handshakes_.admitted(socket);
        }
    }
    EXPECT_GT(counters_.refused_overload, 0U);
}

TEST_F(SrtHandshakesTest, AProxyOfThisMachineIsHeardHoweverManyWereRefused) {
    for (int32_t socket = 1; socket <= 100; socket++) {
        EXPECT_NE(decide(socket, "127.0.0.1", "bad"), 0);
    }
    EXPECT_TRUE(handshakes_.hears(address("127.0.0.1")));
    EXPECT_EQ(counters_.unheard, 0U);
}

// libsrt keeps a connection for some time after its end, and one that was refused, too.
TEST_F(SrtHandshakesTest, StrangersGetNoMoreMemoryThanThereIsForThem) {
    int32_t socket = 0;
    for (int i = 0; i < 10'000; i++) {
        const std::string peer = "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250);
        now_ += milliseconds(1);
        if (!handshakes_.hears(address(peer))) {
            continue;
        }
        if (ask(++socket, peer, "a/b", Millis(60'000)).verdict.reject == 0 &&
            handshakes_.succeeded(socket, "a/b", now_)) {
            handshakes_.gone(socket, now_);  // its key was wrong
        }
        ASSERT_LE(handshakes_.stranger_bytes(), SrtEngine::kMaxStrangerBytes);
    }
    EXPECT_GT(counters_.accepted, 50U);
    EXPECT_GT(counters_.unheard, 1'000U);
    now_ += SrtEngine::kForgotten;
    (void)handshakes_.expire(now_);
    EXPECT_EQ(handshakes_.stranger_bytes(), 0U);
}

TEST_F(SrtHandshakesTest, AConnectionHasItsPlaceUntilItIsGone) {
    SrtLimits limits;
    limits.connections = 3;
    limits.connections_of_one = 2;
    handshakes_.set_limits(limits);
    EXPECT_TRUE(connect(1, "192.0.2.1"));
    EXPECT_TRUE(connect(2, "192.0.2.1"));
    EXPECT_EQ(decide(3, "192.0.2.1"), kSrtOverload);
    EXPECT_EQ(counters_.refused_address, 1U);
    EXPECT_EQ(handshakes_.take_refused().why, SrtHandshakes::Why::kAddress);
    EXPECT_TRUE(connect(4, "192.0.2.2"));
    EXPECT_EQ(decide(5, "192.0.2.3"), kSrtOverload);
    EXPECT_EQ(counters_.refused_full, 1U);
    EXPECT_EQ(handshakes_.take_refused().why, SrtHandshakes::Why::kFull);
    handshakes_.gone(1, now_);
    EXPECT_TRUE(connect(6, "192.0.2.1"));
}

TEST_F(SrtHandshakesTest, AnIpv6NetworkIsOneAddressAndLoopbackIsMany) {
    SrtLimits limits;
    limits.connections_of_one = 1;
    handshakes_.set_limits(limits);
    EXPECT_TRUE(connect(1, "2001:db8::1"));
    EXPECT_EQ(decide(2, "2001:db8::2"), kSrtOverload);
    EXPECT_TRUE(connect(3, "2001:db8:0:1::1"));
    EXPECT_TRUE(connect(4, "127.0.0.1"));
    EXPECT_TRUE(connect(5, "127.0.0.1"));
}

TEST_F(SrtHandshakesTest, APlayerHasNoRoomForWhatItSends) {
    EXPECT_EQ(ask(1, "192.0.2.1", "play").receive_window, kSrtFewPackets);
    EXPECT_EQ(ask(2, "192.0.2.1", "a/b").receive_window,
              srt_receive_window(SrtLimits().max_bitrate, Millis(120)));
    EXPECT_GT(ask(3, "192.0.2.1", "a/b", Millis(1'000)).receive_window,
              ask(4, "192.0.2.1", "a/b").receive_window)
        << "a caller that asks for a longer latency";
}

}  // namespace
}  // namespace weir::io
