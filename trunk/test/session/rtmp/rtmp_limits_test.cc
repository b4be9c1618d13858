// Logins and limits of RTMP sessions, over real sockets.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/limits.h"
#include "session/rtmp/rtmp_server.h"

#include "test/session/world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;

class RtmpLimitsTest : public World {
  protected:
    RtmpLimitsTest() { start_rtmp(); }
};

TEST_F(RtmpLimitsTest, RefusesPlayersOverTheLimitOfAStream) {
    auto publisher = this->publisher();
    policy_.play.max_players = 1;
    auto first = peer();
    first->open();
    ASSERT_TRUE(first->play("a"));
    auto second = peer();
    second->open();
    EXPECT_TRUE(second->play("a", 1, rtmp::status::kPlayFailed));
    EXPECT_TRUE(logged("max_players"));
    EXPECT_EQ(limits_.refused(net::Refusal::kPlayers), 1U);
    first->close();
    EXPECT_TRUE(io::eventually([&] {
        return limits_.players({std::string(stream::kDefaultVhost), "live", "a"}) == 0;
    })) << "its place is free";
    auto third = peer();
    third->open();
    EXPECT_TRUE(third->play("a"));
}

TEST_F(RtmpLimitsTest, EndsAPublisherThatSendsMoreThanItMay) {
    policy_.publish.max_bits_per_second = 100'000;  // 125 kB over the window
    auto publisher = this->publisher();
    const Bytes frame = test::avc_frame(false, 2);
    Bytes large = frame;
    large.resize(50'000, 7);
    for (uint32_t i = 0; i < 4; i++) {
        publisher->media(1, rtmp::kVideo, 40 * (i + 1), large);
    }
    EXPECT_TRUE(publisher->sees("NetStream.Publish.Denied"));
    EXPECT_TRUE(publisher->reads_to_end());
    EXPECT_TRUE(logged("max_publish_bitrate"));
    EXPECT_EQ(limits_.refused(net::Refusal::kPublishBitrate), 1U);
    policy_.publish.max_bits_per_second = 0;
    auto next = this->publisher();  // the name is free again
}

TEST_F(RtmpLimitsTest, CountsConnectionsOfAnAddress) {
    auto first = peer();
    auto second = peer();
    first->open();
    second->open();
    EXPECT_EQ(limits_.connections_of(rtmp_address_), 2U);
    first->close();
    second->close();
    EXPECT_TRUE(io::eventually([&] { return limits_.addresses() == 0; }));
}

TEST_F(RtmpLimitsTest, RefusesAConnectWithTheWordsOfThePolicy) {
    policy_.login_answer.refusal =
        "[ AccessManager.Reject ] : [ code=403 need auth; authmod=adobe ]";
    auto refused = peer();
    refused->handshake();
    refused->send(RtmpPeer::connect_command("live"));
    EXPECT_TRUE(refused->sees(rtmp::status::kConnectRejected));
    ASSERT_FALSE(refused->descriptions.empty());
    EXPECT_EQ(refused->descriptions.back(), policy_.login_answer.refusal);
    EXPECT_FALSE(refused->ended) << "the peer ends it when it has read this";
    policy_.login_answer.refusal.clear();
    peer()->open();
}

// Keys and tokens can be guessed at the price of one connection for a few, and no burst of commands
// holds the thread.
TEST_F(RtmpLimitsTest, EndsAPeerThatIsRefusedAgainAndAgain) {
    auto guessing = peer();
    guessing->open("closed");
    Bytes burst;
    for (int i = 0; i < 1000; i++) {
        const Bytes command = RtmpPeer::stream_command(i % 2 == 0 ? "publish" : "play", 1, "a");
        burst.insert(burst.end(), command.begin(), command.end());
    }
    guessing->send(burst);
    EXPECT_TRUE(guessing->reads_to_end());
    EXPECT_EQ(policy_.asked, 16U);
    EXPECT_TRUE(logged("16 commands of this connection were refused"));
}

// What comes behind a refused connect is not looked at, so that a guess costs a connection.
TEST_F(RtmpLimitsTest, AConnectionHasOneLogin) {
    policy_.login_answer.refusal = "[ AccessManager.Reject ] : [ authmod=adobe ]";
    auto guessing = peer();
    guessing->handshake();
    Bytes burst;
    for (int i = 0; i < 30; i++) {
        const Bytes command = RtmpPeer::connect_command("live");
        burst.insert(burst.end(), command.begin(), command.end());
    }
    guessing->send(burst);
    EXPECT_TRUE(guessing->sees(rtmp::status::kConnectRejected));
    guessing->send(burst);
    guessing->stream().end_writing();
    EXPECT_TRUE(guessing->reads_to_end());
    EXPECT_EQ(policy_.logins, 1U);
}

// What the API and the log show of an address.
TEST_F(RtmpLimitsTest, KeepsNoSecretOfAnAddress) {
    auto one = peer();
    one->open("live?key=s3cret");
    std::string shown;
    clients_.for_each([&](const net::Client& client) { shown += client.tc_url; });
    EXPECT_THAT(shown, HasSubstr("key=***"));
    EXPECT_THAT(shown, testing::Not(HasSubstr("s3cret")));
    for (const std::string& line : lines()) {
        EXPECT_THAT(line, testing::Not(HasSubstr("s3cret")));
    }
}

}  // namespace
}  // namespace weir::session
