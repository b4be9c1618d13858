// What clients do that the specification does not foresee, over real sockets.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/rtmp/rtmp_server.h"

#include "test/session/world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using testing::Not;

class RtmpClientsTest : public World {
  protected:
    RtmpClientsTest() { start_rtmp(); }

    // A play of `name` on stream 1 that ends after so many milliseconds of the stream.
    static Bytes play_for(std::string_view name, double duration_ms) {
        Bytes body;
        amf::Writer(body).string("play").number(0).null().string(name).number(-1000).number(
            duration_ms);
        rtmp::ChunkHeader header;
        header.type = rtmp::kCommandAmf0;
        header.chunk_stream_id = 3;
        header.stream_id = 1;
        Bytes out;
        rtmp::write_message(header, body, 60000, out);
        return out;
    }
};

TEST_F(RtmpClientsTest, AnEmptyNameIsTheLastPartOfTheApp) {
    auto source = peer();
    source->open("live/room/x");
    ASSERT_TRUE(source->publish(""));
    source->start_media();
    EXPECT_NE(registry_.find({std::string(stream::kDefaultVhost), "live/room", "x"}), nullptr);
    auto player = peer();
    player->open("/live/room/x/");
    ASSERT_TRUE(player->play(""));
    EXPECT_TRUE(player->gets(test::avc_frame(true, 1)));
    auto other = peer();
    other->open("live");
    ASSERT_TRUE(other->play("room/x")) << "the same stream";
}

// The world's policy refuses everything of the app "closed".
TEST_F(RtmpClientsTest, ThePolicyIsAskedForTheAppThatIsMeant) {
    auto source = peer();
    source->open("closed/x");
    EXPECT_TRUE(source->publish("", 1, rtmp::status::kPublishDenied));
    EXPECT_TRUE(source->play("", 1, rtmp::status::kPlayFailed));
    EXPECT_EQ(policy_.asked, 2U);
    EXPECT_EQ(registry_.size(), 0U);
}

TEST_F(RtmpClientsTest, AConnectThatWasRefusedIsClosedSoonAndNotAtOnce) {
    policy_.login_answer.refusal = "[ AccessManager.Reject ] : [ authmod=adobe ] : wrong password";
    auto refused = peer();
    const MonoTime before = MonoClock::now();
    refused->handshake();
    refused->send(RtmpPeer::connect_command("live"));
    ASSERT_TRUE(refused->sees(rtmp::status::kConnectRejected));
    EXPECT_FALSE(refused->ended);
    ASSERT_TRUE(refused->reads_to_end());
    const MonoTime after = MonoClock::now();
    EXPECT_GE(after - before, Millis(900)) << "it has time to read why";
    EXPECT_LT(after - before, Millis(8'000)) << "not only when the handshake's time is over";
}

TEST_F(RtmpClientsTest, MediaOnStream0IsThatOfTheOnlyPublish) {
    auto source = peer();
    source->open();
    ASSERT_TRUE(source->publish("a"));
    source->start_media(0);
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    EXPECT_TRUE(player->gets(test::avc_frame(true, 1)));
    EXPECT_EQ(registry_.stray_messages(), 0U);
    EXPECT_FALSE(logged("media dropped"));
}

TEST_F(RtmpClientsTest, MediaOfNoPublishIsCountedAndLoggedOnce) {
    auto source = peer();
    source->open("live", 2);
    ASSERT_TRUE(source->publish("a", 1));
    ASSERT_TRUE(source->publish("b", 2));
    source->start_media(0);
    ASSERT_TRUE(eventually([&] { return registry_.stray_messages() >= 3; }));
    const uint64_t stray = registry_.stray_messages();
    source->media(0, rtmp::kVideo, 80, test::avc_frame(false, 2));
    ASSERT_TRUE(eventually([&] { return registry_.stray_messages() == stray + 1; }));
    EXPECT_TRUE(
        logged("media dropped ip=127.0.0.1: its message stream publishes nothing, and this "
               "connection publishes 2 streams"));
    source->start_media(1);
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a")) << "what is on the right stream goes on";
}

TEST_F(RtmpClientsTest, APlayThatAskedForADurationEndsAndTheConnectionPlaysAgain) {
    auto source = publisher();
    auto player = peer();
    player->open();
    player->send(play_for("a", 200));
    ASSERT_TRUE(player->sees(rtmp::status::kPlayStart));
    for (uint32_t i = 1; i < 10; i++) {
        source->media(1, rtmp::kVideo, 40 * i, test::avc_frame(false, 1 + i));
    }
    ASSERT_TRUE(player->sees(rtmp::status::kPlayStop));
    ASSERT_TRUE(player->sees(rtmp::status::kPlayUnpublishNotify));
    EXPECT_FALSE(player->ended);
    ASSERT_TRUE(player->play("a")) << "the same connection, and its message stream";
    EXPECT_TRUE(player->gets(test::avc_frame(true, 1)));
    for (const char* endless : {"0", "-1"}) {
        auto other = peer();
        other->open();
        other->send(play_for("a", std::stod(endless)));
        ASSERT_TRUE(other->sees(rtmp::status::kPlayStart));
        EXPECT_TRUE(other->gets(test::avc_frame(false, 10))) << endless;
    }
}

TEST_F(RtmpClientsTest, APlayerThatWaitsIsToldAndLogged) {
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a", 1, rtmp::status::kPlayWaiting));
    EXPECT_TRUE(logged("waits for a publisher stream=/live/a for 30 s at most"));
    auto source = publisher();
    ASSERT_TRUE(player->sees(rtmp::status::kPlayStart));
    EXPECT_TRUE(player->gets(test::avc_frame(true, 1)));
}

TEST_F(RtmpClientsTest, ARefusedPublisherLearnsNothingAboutTheOther) {
    auto first = publisher();
    std::string holder;
    clients_.for_each([&](const net::Client& client) { holder = std::string(client.id()); });
    auto second = peer();
    second->open();
    ASSERT_TRUE(second->publish("a", 1, rtmp::status::kPublishBadName));
    ASSERT_FALSE(second->descriptions.empty());
    const std::string& told = second->descriptions.back();
    EXPECT_THAT(told, HasSubstr("is being published by another client"));
    EXPECT_THAT(told, Not(HasSubstr(holder)));
    EXPECT_THAT(told, Not(HasSubstr("127.0.0.1")));
    EXPECT_TRUE(logged("(by client " + holder + " from 127.0.0.1 for ")) << "the log has both";
}

// Unfinished messages of a player would stay for good.
TEST_F(RtmpClientsTest, APlayerThatLeavesMuchUnfinishedIsEnded) {
    auto source = publisher();
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    rtmp::ChunkHeader header;
    header.type = rtmp::kDataAmf0;
    header.chunk_stream_id = 9;
    Bytes message;
    rtmp::write_message(header, Bytes(5000), 60000, message);
    player->send(ByteSpan(message).first(message.size() - 1));
    EXPECT_TRUE(player->reads_to_end());
}

}  // namespace
}  // namespace weir::session
