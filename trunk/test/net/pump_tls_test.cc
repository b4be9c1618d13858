// Encrypted players.
#include <array>

#include <gtest/gtest.h>

#include "net/pump.h"

#include "test/net/pump_fixture.h"

namespace weir::net {
namespace {

class EncryptedPumpTest : public PumpTest {
  protected:
    EncryptedPumpTest() { encrypted_ = true; }
};

TEST_F(EncryptedPumpTest, FlowsInFramesAndWithout) {
    publish();
    gop(5);
    Peer& plain = join();
    Peer& framed_one = join(true);
    for (int i = 0; i < 5; i++) {
        gop(5, 30'000);
        for (Peer* peer : {&plain, &framed_one}) {
            ASSERT_TRUE(peer->read_to(number_));
        }
    }
    plain.expect_in_order();
    framed_one.expect_in_order();
    EXPECT_EQ(plain.count(kFront), 1U);
}

TEST_F(EncryptedPumpTest, AnswersWhatThePeerAsksAndLetsItPause) {
    publish();
    gop(3);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    peer.say("qp");
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kAnswer) == 1; }));
    peer.say("r");
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kFront) == 2; }));
    gop(3);
    ASSERT_TRUE(peer.read_to(number_));
}

TEST_F(EncryptedPumpTest, ASlowReaderIsMovedToANewerKeyFrameAndStaysInStep) {
    use_small_buffers();
    rules_.pump.queue_bytes = 200'000;
    publish();
    gop(2);
    Peer& slow = join(true);
    Peer& fast = join();
    ASSERT_TRUE(slow.read_to(number_));
    while (fanout_.stats().resyncs < 3) {
        gop(20, 10'000);
        ASSERT_TRUE(fast.read_to(number_));
        slow.read(1000);
        ASSERT_FALSE(io::sleep_for(Millis(20)));
    }
    EXPECT_TRUE(slow.read_to(number_));
    slow.expect_in_order();
    fast.expect_in_order();
    EXPECT_GT(slow.count(kFront), 1U);
}

TEST_F(EncryptedPumpTest, AReaderThatTakesNothingIsEnded) {
    use_small_buffers();
    rules_.pump.write_stall = Millis(300);
    publish();
    gop(2);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    EXPECT_TRUE(eventually([&] {
        publish_more(20, 5'000);
        return peer.told->ended;
    }));
    EXPECT_EQ(peer.told->reason, EndReason::kWriteStalled);
    EXPECT_EQ(fanout_.stats().stalled, 1U);
}

TEST_F(EncryptedPumpTest, AReaderThatTakesNothingOfAThinStreamHasStalledToo) {
    rules_.pump.write_stall = Millis(500);
    Peer& stalled = join_thin_stream();
    ASSERT_TRUE(eventually([&] { return stalled.told->ended; }));
    EXPECT_EQ(fanout_.stats().blocked, 0U);
    EXPECT_EQ(stalled.told->reason, EndReason::kWriteStalled);
    EXPECT_EQ(fanout_.stats().stalled, 1U);
}

TEST_F(EncryptedPumpTest, TalksOnAsAConversationOverTheSameStream) {
    publish();
    gop(2);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    peer.say("C");
    ASSERT_TRUE(peer.read_until([&] { return peer.told->released != nullptr; }));
    EXPECT_TRUE(peer.told->released->encrypted());
    peer.say("on");
    std::array<uint8_t, 10> buffer{};
    const Result<size_t> got = peer.told->released->read_some(buffer, io::soon());
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(as_text(ByteSpan(buffer).first(*got)), "on");
}

TEST_F(EncryptedPumpTest, TheEndIsSaidBeforeTheConnectionCloses) {
    publish();
    gop(2);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_to(number_));
    fanout_.stop(io::soon());
    ASSERT_TRUE(peer.read_to_end());
    EXPECT_EQ(peer.count(kEnd), 1U);
}

}  // namespace
}  // namespace weir::net
