// Sessions and hooks: who is asked when, what the answer does, and that every end is told once.
#include "net/hooks.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test/net/http/test_client.h"
#include "test/session/fake_hooks.h"
#include "test/session/world.h"

namespace weir::session {
namespace {

using net::HookAction;

class SessionHooksTest : public World {
  protected:
    SessionHooksTest() {
        rtmp_ = std::make_unique<RtmpServer>(hooked_, options_);
        auto listener = io::TcpListener::listen(io::loopback());
        WEIR_CHECK(listener.ok());
        rtmp_address_ = (*listener)->local();
        Error error = rtmp_->serve(std::move(*listener));
        WEIR_CHECK(!error);
        routes_.add_to(router_);
        http_ = net::HttpServer::create(router_, {});
        http_address_ = net::serve_on_loopback(*http_);
    }

    ~SessionHooksTest() override { stop(); }

    bool tells(size_t count) {
        return io::eventually([&] { return hooks_.told.size() >= count; });
    }

    FakeHooks hooks_;
    net::Services hooked_{registry_, fanout_, clients_, connections_, policy_, limits_, hooks_};
    net::HttpPlay routes_{hooked_, flv_http_format()};
};

TEST_F(SessionHooksTest, APublisherConnectsPublishesAndEnds) {
    {
        auto publishing = publisher("a?key=x");
        publishing->close();
    }
    ASSERT_TRUE(tells(4));
    EXPECT_EQ(hooks_.asked, (Told{"on_connect live/ ", "on_publish live/a key=x"}));
    EXPECT_EQ(hooks_.told, (Told{"+on_connect", "+on_publish", "-on_publish peer_closed",
                                 "-on_connect peer_closed"}));
}

TEST_F(SessionHooksTest, ARefusedConnectIsAnErrorAndTheEnd) {
    hooks_.refused[HookAction::kConnect] = ErrorCode::kDenied;
    auto asking = peer();
    asking->handshake();
    asking->send(RtmpPeer::connect_command("live"));
    EXPECT_TRUE(asking->reads_to_end());
    EXPECT_EQ(asking->results, 0);
    EXPECT_TRUE(hooks_.told.empty());
}

// Whom on_connect let in to one application may not go on to another one that asks for itself.
TEST_F(SessionHooksTest, AConnectionOfOneApplicationIsNoneOfAnother) {
    auto one = peer();
    one->open("vip");
    EXPECT_TRUE(one->publish("a"));
    auto other = peer();
    other->open("vip");
    EXPECT_TRUE(other->publish("inner/a", 1, rtmp::status::kPublishDenied))
        << "vip/inner is asked for by itself";
    EXPECT_NE(other->descriptions.back().find("another application"), std::string::npos);
    EXPECT_TRUE(other->play("inner/a", 1, rtmp::status::kPlayFailed));
}

// The whole path in the app: that is what on_connect was asked about.
TEST_F(SessionHooksTest, AClientWithoutStreamNamesIsLetInByItsWholePath) {
    auto one = peer();
    one->open("vip/a");
    EXPECT_TRUE(one->publish(""));
    EXPECT_EQ(hooks_.asked, (Told{"on_connect vip/a/ ", "on_publish vip/a "}));
    auto other = peer();
    other->open("live/a");
    EXPECT_TRUE(other->publish("?vhost=v")) << "nobody has to be asked about live";
}

TEST_F(SessionHooksTest, ARefusedPublisherHearsWhyAndMayAskAgain) {
    hooks_.refused[HookAction::kPublish] = ErrorCode::kDenied;
    auto publishing = peer();
    publishing->open();
    EXPECT_TRUE(publishing->publish("a", 1, rtmp::status::kPublishDenied));
    EXPECT_EQ(publishing->descriptions.back(), "no on_publish today");
    EXPECT_EQ(registry_.size(), 0U);
    hooks_.refused.clear();
    EXPECT_TRUE(publishing->publish("a"));
}

TEST_F(SessionHooksTest, ARefusedPlayerHearsWhy) {
    hooks_.refused[HookAction::kPlay] = ErrorCode::kTimeout;
    auto playing = peer();
    playing->open();
    EXPECT_TRUE(playing->play("a", 1, rtmp::status::kPlayFailed));
    EXPECT_EQ(playing->descriptions.back(), "no on_play today");
}

TEST_F(SessionHooksTest, APlayerThatPlaysOneStreamAfterAnotherHasTwoTurns) {
    auto publishing = publisher();
    auto playing = peer();
    playing->open();
    EXPECT_TRUE(playing->play("a"));
    playing->send(RtmpPeer::stream_command("closeStream", 1));
    ASSERT_TRUE(tells(5));
    EXPECT_TRUE(playing->play("a"));
    playing->close();
    ASSERT_TRUE(tells(8));
    const Told own(hooks_.told.begin() + 2, hooks_.told.end());
    EXPECT_EQ(own, (Told{"+on_connect", "+on_play", "-on_play peer_closed", "+on_play",
                         "-on_play peer_closed", "-on_connect peer_closed"}));
}

// doc/hooks.md: tcUrl is as the client sent it, also of a command behind one that ended.
TEST_F(SessionHooksTest, TheAddressIsWholeAlsoAfterPlaying) {
    auto publishing = publisher();
    auto playing = peer();
    playing->open("live?key=s3cret");
    EXPECT_TRUE(playing->play("a"));
    playing->send(RtmpPeer::stream_command("closeStream", 1));
    EXPECT_TRUE(playing->play("a"));
    const Told own(hooks_.tc_urls.begin() + 2, hooks_.tc_urls.end());
    EXPECT_EQ(own, Told(3, "rtmp://127.0.0.1/live?key=s3cret"));
    clients_.for_each([](const net::Client& client) {
        EXPECT_EQ(client.tc_url.find("s3cret"), std::string::npos);
    });
}

// What it sends meanwhile waits: nothing is lost, nothing is looked at.
TEST_F(SessionHooksTest, APublisherMaySendMediaWhileItsHookIsAsked) {
    hooks_.held[HookAction::kPublish] = true;
    auto publishing = peer();
    publishing->open();
    publishing->send(RtmpPeer::stream_command("publish", 1, "a"));
    publishing->start_media();
    ASSERT_TRUE(io::eventually([&] { return hooks_.asked.size() == 2; }));
    EXPECT_EQ(registry_.size(), 0U);  // no name is reserved
    hooks_.held.clear();
    EXPECT_TRUE(publishing->sees(rtmp::status::kPublishStart));
    auto playing = peer();
    playing->open();
    EXPECT_TRUE(playing->play("a"));
    EXPECT_TRUE(playing->gets(test::avc_frame(true, 1)));
}

// All in one write: each command is handled once, when the one before it is answered.
TEST_F(SessionHooksTest, CommandsBehindOneThatWaitsAreAnsweredInOrder) {
    hooks_.held[HookAction::kPublish] = true;
    auto publishing = peer();
    publishing->open("live", 3);
    Bytes all;
    for (const auto& [id, name] : {std::pair(1U, "a"), std::pair(2U, "b"), std::pair(3U, "c")}) {
        const Bytes command = RtmpPeer::stream_command("publish", id, name);
        all.insert(all.end(), command.begin(), command.end());
    }
    const Bytes close = RtmpPeer::stream_command("closeStream", 1);
    all.insert(all.end(), close.begin(), close.end());
    publishing->send(all);
    ASSERT_TRUE(io::eventually([&] { return hooks_.asked.size() == 2; }));
    EXPECT_EQ(hooks_.asked.back(), "on_publish live/a ") << "one at a time";
    hooks_.held.clear();
    for (int i = 0; i < 3; i++) {
        EXPECT_TRUE(publishing->sees(rtmp::status::kPublishStart));
    }
    EXPECT_EQ(hooks_.asked, (Told{"on_connect live/ ", "on_publish live/a ", "on_publish live/b ",
                                  "on_publish live/c "}));
    ASSERT_TRUE(tells(5));
    EXPECT_EQ(hooks_.told.back(), "-on_publish peer_closed") << "the close came last";
    EXPECT_EQ(std::ranges::count(hooks_.told, "+on_publish"), 3);
}

// What a client sends while it waits stays in its socket, but for the one read that its command was
// part of.
TEST_F(SessionHooksTest, AClientThatWaitsForItsHookIsNotReadFurther) {
    constexpr uint64_t kOneRead = 64 * 1024;
    hooks_.held[HookAction::kPublish] = true;
    auto publishing = peer();
    publishing->open();
    publishing->send(RtmpPeer::stream_command("publish", 1, "a"));
    publishing->start_media();
    constexpr uint32_t kFrames = 20;
    for (uint32_t i = 0; i < kFrames; i++) {
        publishing->media(1, rtmp::kVideo, 40 * i, test::avc_frame(false, i + 10, 20'000));
    }
    const auto received = [&] {
        uint64_t bytes = 0;
        clients_.for_each([&](const net::Client& client) { bytes += client.received_bytes; });
        return bytes;
    };
    ASSERT_TRUE(io::eventually([&] { return hooks_.asked.size() == 2; }));
    const uint64_t at_the_question = received();
    EXPECT_LE(at_the_question, 8 * 1024 + kOneRead);
    EXPECT_FALSE(io::sleep_for(Millis(20)));
    EXPECT_EQ(received(), at_the_question);
    hooks_.held.clear();
    EXPECT_TRUE(publishing->sees(rtmp::status::kPublishStart));
    EXPECT_TRUE(io::eventually([&] { return received() >= kFrames * 20'000; }));
}

// One place lets everybody in, so one line says the same of everybody.
TEST_F(SessionHooksTest, LinesOfAllProtocolsHaveTheSameFields) {
    auto publishing = publisher();
    auto playing = peer();
    playing->open();
    EXPECT_TRUE(playing->play("a"));
    net::TestClient viewer(http_address_);
    viewer.send(net::get_request("/live/a.flv"));
    EXPECT_TRUE(viewer.read_bytes(20).starts_with("HTTP/1.1 200"));
    EXPECT_TRUE(logged("publish stream=/live/a transport=rtmp ip=127.0.0.1"));
    EXPECT_TRUE(logged("play stream=/live/a transport=rtmp ip=127.0.0.1"));
    EXPECT_TRUE(logged("play stream=/live/a transport=flv ip=127.0.0.1"));
    auto second = peer();
    second->open();
    EXPECT_TRUE(second->publish("a", 1, rtmp::status::kPublishBadName));
    EXPECT_TRUE(
        logged("publish refused stream=/live/a transport=rtmp ip=127.0.0.1 code=busy: /live/a is "
               "being published by another client"));
    net::TestClient closed(http_address_);
    EXPECT_EQ(closed.ask(net::get_request("/closed/a.flv")).status, 403);
    EXPECT_TRUE(logged("play refused stream=/closed/a transport=flv ip=127.0.0.1 code=denied: "));
}

TEST_F(SessionHooksTest, OfTwoThatAskForANameTheFirstAllowedHasItAndTheOtherIsTold) {
    hooks_.held[HookAction::kPublish] = true;
    auto one = peer();
    auto two = peer();
    one->open();
    two->open();
    one->send(RtmpPeer::stream_command("publish", 1, "a"));
    two->send(RtmpPeer::stream_command("publish", 1, "a"));
    ASSERT_TRUE(io::eventually([&] { return hooks_.asked.size() == 4; }));
    hooks_.held.clear();
    const auto answered = [](RtmpPeer& peer, std::string_view code) {
        peer.read();
        return std::ranges::find(peer.statuses, code) != peer.statuses.end();
    };
    EXPECT_TRUE(io::eventually([&] {
        return (answered(*one, rtmp::status::kPublishStart) &&
                answered(*two, rtmp::status::kPublishBadName)) ||
               (answered(*two, rtmp::status::kPublishStart) &&
                answered(*one, rtmp::status::kPublishBadName));
    }));
    EXPECT_EQ(std::ranges::count(hooks_.told, "+on_publish"), 2);
    EXPECT_EQ(std::ranges::count(hooks_.told, "-on_publish refused"), 1);
    // A third one is refused without being asked for.
    auto three = peer();
    three->open();
    EXPECT_TRUE(three->publish("a", 1, rtmp::status::kPublishBadName));
    EXPECT_EQ(std::ranges::count(hooks_.told, "+on_publish"), 2);
}

TEST_F(SessionHooksTest, ATakeoverTellsTheEndOfTheFirst) {
    policy_.publish.conflict = stream::PublishConflict::kTakeover;
    auto first = publisher();
    auto second = publisher();
    EXPECT_TRUE(first->reads_to_end());
    ASSERT_TRUE(tells(6));
    EXPECT_EQ(std::ranges::count(hooks_.told, "-on_publish replaced"), 1);
}

TEST_F(SessionHooksTest, AKickEndsOneThatWaitsForItsHook) {
    hooks_.held[HookAction::kPublish] = true;
    auto publishing = peer();
    publishing->open();
    publishing->send(RtmpPeer::stream_command("publish", 1, "a"));
    ASSERT_TRUE(io::eventually([&] { return hooks_.asked.size() == 2; }));
    clients_.for_each([](net::Client& client) { client.kick(); });
    EXPECT_TRUE(publishing->reads_to_end());
    ASSERT_TRUE(tells(2));
    EXPECT_EQ(hooks_.told, (Told{"+on_connect", "-on_connect kicked"}));
}

TEST_F(SessionHooksTest, TheEndOfTheServerEndsThoseThatWaitToo) {
    auto publishing = publisher();
    hooks_.held[HookAction::kPlay] = true;
    auto playing = peer();
    playing->open();
    playing->send(RtmpPeer::stream_command("play", 1, "a"));
    net::TestClient viewer(http_address_);
    viewer.send(net::get_request("/live/a.flv"));
    ASSERT_TRUE(io::eventually([&] { return hooks_.asked.size() == 5; }));
    stop();
    EXPECT_EQ(std::ranges::count(hooks_.told, "-on_publish stopping"), 1);
    EXPECT_EQ(std::ranges::count(hooks_.told, "-on_connect stopping"), 2);
}

TEST_F(SessionHooksTest, AViewerOverHttpIsAskedForAndItsEndIsTold) {
    auto publishing = publisher();
    {
        net::TestClient viewer(http_address_);
        viewer.send(
            "GET /live/a.flv?user=7 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x&y\r\n\r\n");
        EXPECT_TRUE(viewer.read_bytes(20).starts_with("HTTP/1.1 200"));
    }
    ASSERT_TRUE(tells(4));
    EXPECT_EQ(hooks_.asked.back(), "on_play live/a user=7&key=x%26y");
    EXPECT_EQ(hooks_.told[2], "+on_play");
    EXPECT_EQ(hooks_.told[3], "-on_play peer_closed");
}

TEST_F(SessionHooksTest, ARefusedViewerIsAnswered) {
    hooks_.refused[HookAction::kPlay] = ErrorCode::kDenied;
    net::TestClient viewer(http_address_);
    net::TestAnswer answer = viewer.ask(net::get_request("/live/a.flv"));
    EXPECT_EQ(answer.status, 403);
    EXPECT_NE(answer.body.find("no on_play today"), std::string::npos);
    hooks_.refused[HookAction::kPlay] = ErrorCode::kTimeout;
    answer = viewer.ask(net::get_request("/live/a.flv"));
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(clients_.size(), 0U);
}

TEST_F(SessionHooksTest, AViewerThatLeavesWhileItsHookIsAskedIsLetGo) {
    hooks_.held[HookAction::kPlay] = true;
    {
        net::TestClient viewer(http_address_);
        viewer.send(net::get_request("/live/a.flv"));
        ASSERT_TRUE(io::eventually([&] { return hooks_.asked.size() == 1; }));
        EXPECT_EQ(clients_.size(), 1U);
    }
    EXPECT_TRUE(io::eventually([&] { return clients_.size() == 0; }));
    EXPECT_TRUE(hooks_.told.empty());
}

TEST_F(SessionHooksTest, AllowedForAStreamThatIsNotThereIsTold) {
    policy_.play.pump.wait_publisher = Millis(0);
    net::TestClient viewer(http_address_);
    EXPECT_EQ(viewer.ask(net::get_request("/live/nobody.flv")).status, 404);
    EXPECT_EQ(hooks_.told.size(), 2U);
    auto playing = peer();
    playing->open();
    EXPECT_TRUE(playing->play("nobody", 1, rtmp::status::kPlayStreamNotFound));
    EXPECT_EQ(hooks_.told.back(), "-on_play no_publisher");
}

}  // namespace
}  // namespace weir::session
