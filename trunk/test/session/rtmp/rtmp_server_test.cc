// RTMP sessions end to end: real sockets, one process.
#include "session/rtmp/rtmp_server.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/rtmp/client_session.h"

#include "test/session/world.h"

namespace weir::session {
namespace {

class RtmpServerTest : public World {};

// rtmp::ClientSession behind a socket.
class Client {
  public:
    Client(const io::SocketAddress& server, rtmp::ClientRole role, std::string stream)
        : session_([&] {
              rtmp::ClientOptions options;
              options.role = role;
              options.tc_url = "rtmp://127.0.0.1/live";
              options.stream = std::move(stream);
              return options;
          }()) {
        auto connected = io::TcpStream::connect(server, io::soon());
        WEIR_CHECK(connected.ok());
        stream_ = std::move(*connected);
        rtmp::ClientHandshake handshake(system_random(), rtmp::DigestScheme::kDigestFirst);
        Bytes buffer(4096);
        while (!handshake.done()) {
            flush(handshake.take_output());
            auto got = stream_->read_some(buffer, io::soon());
            WEIR_CHECK(got.ok());
            Result<size_t> used = handshake.feed({buffer.data(), *got});
            WEIR_CHECK(used.ok());
            feed({buffer.data() + *used, *got - *used});
        }
        flush(handshake.take_output());
        EXPECT_TRUE(handshake.verified());
    }

    template <typename Condition>
    bool until(Condition condition) {
        Bytes buffer(16 * 1024);
        return eventually([&] {
            flush(session_.take_output());
            const io::IoResult got = stream_->try_read(buffer);
            if (got.status == io::IoStatus::kDone) {
                feed({buffer.data(), got.bytes});
            }
            return condition();
        });
    }

    bool starts() {
        return until([&] { return session_.started(); });
    }

    rtmp::ClientSession& session() { return session_; }

    std::vector<rtmp::MediaMessage> media;
    bool ended = false;

  private:
    void feed(ByteSpan bytes) {
        while (!bytes.empty() && !session_.failed()) {
            bytes = bytes.subspan(session_.feed(bytes));
            rtmp::ClientEvent event;
            while (session_.next_event(event)) {
                if (event.kind == rtmp::ClientEventKind::kMedia) {
                    media.push_back(std::move(event.media()));
                }
                ended = ended || event.kind == rtmp::ClientEventKind::kEnded;
            }
        }
    }

    void flush(const Bytes& bytes) {
        if (!bytes.empty()) {
            Error error = stream_->write_all(bytes, io::soon());
            EXPECT_FALSE(error) << error.to_string();
        }
    }

    std::unique_ptr<io::TcpStream> stream_;
    rtmp::ClientSession session_;
};

TEST_F(RtmpServerTest, WhatAPublisherSendsReachesAPlayer) {
    start_rtmp();
    Client publisher(rtmp_address_, rtmp::ClientRole::kPublish, "a");
    ASSERT_TRUE(publisher.starts());
    Client player(rtmp_address_, rtmp::ClientRole::kPlay, "a?token=1");
    std::vector<Bytes> sent;
    const auto send = [&](media::TrackKind kind, uint32_t time, Bytes body) {
        publisher.session().send_media(kind, time, body);
        sent.push_back(std::move(body));
    };
    send(media::TrackKind::kVideo, 1000, test::avc_header());
    send(media::TrackKind::kAudio, 1000, test::aac_header());
    send(media::TrackKind::kVideo, 1000, test::avc_frame(true, 1, 100'000));
    for (uint32_t i = 1; i < 20; i++) {
        send(media::TrackKind::kVideo, 1000 + 40 * i, test::avc_frame(false, i, 3000));
        send(media::TrackKind::kAudio, 1000 + 40 * i, test::aac_frame(i));
    }
    ASSERT_TRUE(publisher.until([&] { return !publisher.session().has_output(); }));
    ASSERT_TRUE(player.until(
        [&] { return !player.media.empty() && player.media.back().body == sent.back(); }));
    std::vector<Bytes> got;
    for (rtmp::MediaMessage& message : player.media) {
        if (!message.body.empty() && message.kind != media::TrackKind::kData) {
            got.push_back(std::move(message.body));
        }
    }
    EXPECT_EQ(got, sent);
    publisher.session().stop();
    ASSERT_TRUE(publisher.until([&] { return logged("unpublish stream=/live/a"); }));
}

TEST_F(RtmpServerTest, ASecondPublisherIsRefusedAndTheLogSaysWhoHoldsTheName) {
    start_rtmp();
    auto first = publisher();
    ASSERT_TRUE(eventually([&] { return registry_.size() == 1; }));
    auto second = peer();
    second->open();
    ASSERT_TRUE(second->publish("a", 1, rtmp::status::kPublishBadName));
    std::string holder;
    clients_.for_each([&](const net::Client& client) {
        holder = client.role == net::ClientRole::kPublisher ? std::string(client.id()) : holder;
    });
    EXPECT_TRUE(logged("(by client " + holder + " from 127.0.0.1 for "));
    ASSERT_TRUE(second->publish("b", 1)) << "the connection may publish something else";
    first->media(1, rtmp::kVideo, 40, test::avc_frame(false, 2));
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    EXPECT_TRUE(player->gets(test::avc_frame(false, 2))) << "the first one goes on";
}

TEST_F(RtmpServerTest, ATakeoverEndsTheFirstPublisherAndKeepsThePlayers) {
    policy_.publish.conflict = stream::PublishConflict::kTakeover;
    start_rtmp();
    auto first = publisher();
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    ASSERT_TRUE(player->gets(test::avc_frame(true, 1)));
    auto second = peer();
    second->open();
    ASSERT_TRUE(second->publish("a"));
    ASSERT_TRUE(first->sees(rtmp::status::kPublishBadName));
    ASSERT_TRUE(first->reads_to_end());
    second->start_media(1, 17'000'000, 2);
    ASSERT_TRUE(player->gets(test::avc_frame(true, 2)));
    const auto& old_key = player->received.at(player->index_of(test::avc_frame(true, 1)));
    const auto& new_key = player->received.at(player->index_of(test::avc_frame(true, 2)));
    EXPECT_EQ(new_key.timestamp, old_key.timestamp + 40) << "one continuous timeline";
    EXPECT_TRUE(logged("another publisher took the stream over"));
}

TEST_F(RtmpServerTest, APublisherThatFallsSilentFreesTheName) {
    policy_.publish.silent = Millis(200);
    start_rtmp();
    auto silent = publisher();
    ASSERT_TRUE(silent->reads_to_end());
    EXPECT_TRUE(logged("silent for 200 ms (normal_timeout)"));
    auto next = peer();
    next->open();
    EXPECT_TRUE(next->publish("a"));
}

TEST_F(RtmpServerTest, APublisherThatNeverSendsMediaFreesTheName) {
    policy_.publish.first_packet = Millis(200);
    start_rtmp();
    auto idle = peer();
    idle->open();
    ASSERT_TRUE(idle->publish("a"));
    ASSERT_TRUE(idle->reads_to_end());
    EXPECT_TRUE(logged("firstpkt_timeout"));
    EXPECT_TRUE(eventually([&] { return registry_.size() == 0; }));
}

TEST_F(RtmpServerTest, AHandshakeThatIsNotFinishedEnds) {
    options_.handshake = Millis(200);
    start_rtmp();
    auto silent = peer();
    auto half = peer();
    half->send(Bytes(700, 3));
    auto no_connect = peer();
    no_connect->handshake();
    EXPECT_TRUE(silent->reads_to_end());
    EXPECT_TRUE(half->reads_to_end());
    EXPECT_TRUE(no_connect->reads_to_end());
    EXPECT_TRUE(eventually([&] { return clients_.size() == 0; }));
}

TEST_F(RtmpServerTest, AConnectionThatAsksForNothingEnds) {
    options_.first_command = Millis(200);
    start_rtmp();
    auto idle = peer();
    idle->open();
    EXPECT_TRUE(idle->reads_to_end());
}

TEST_F(RtmpServerTest, AnythingElseThanRtmpIsClosedAndHurtsNobody) {
    start_rtmp();
    auto source = publisher();
    for (std::string_view text : {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02", "\x03"}) {
        auto stranger = peer();
        stranger->send(as_bytes(text));
        stranger->close();
    }
    auto late_nonsense = peer();
    late_nonsense->open();
    late_nonsense->send(Bytes(5000, 0xff));
    EXPECT_TRUE(late_nonsense->reads_to_end());
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    EXPECT_TRUE(player->gets(test::avc_frame(true, 1)));
}

TEST_F(RtmpServerTest, APeerThatDoesNotWaitForAnswersIsServed) {
    start_rtmp();
    auto source = publisher();
    auto player = peer();
    Bytes all;
    player->begin_handshake(all);
    ByteWriter(all)
        .bytes(RtmpPeer::connect_command("live"))
        .bytes(RtmpPeer::create_stream_command())
        .bytes(RtmpPeer::stream_command("play", 1, "a"));
    player->send(all);  // C2, connect, createStream and play in one segment
    ASSERT_TRUE(player->sees(rtmp::status::kPlayStart));
    EXPECT_TRUE(player->gets(test::avc_frame(true, 1)));
    auto second = peer();
    Bytes publish_all;
    second->begin_handshake(publish_all);
    ByteWriter(publish_all)
        .bytes(RtmpPeer::connect_command("live"))
        .bytes(RtmpPeer::create_stream_command())
        .bytes(RtmpPeer::stream_command("publish", 1, "b"));
    second->send(publish_all);
    EXPECT_TRUE(second->sees(rtmp::status::kPublishStart));
}

TEST_F(RtmpServerTest, AWaitingPlayerHasItsEarlierAnswers) {
    start_rtmp();
    auto player = peer();
    player->handshake();
    Bytes all = RtmpPeer::connect_command("live");
    ByteWriter(all)
        .bytes(RtmpPeer::create_stream_command())
        .bytes(RtmpPeer::stream_command("play", 1, "later"));
    player->send(all);
    ASSERT_TRUE(player->read_until([&] { return player->results == 2; }))
        << "connect and createStream are answered at once";
    auto source = publisher("later");
    ASSERT_TRUE(player->sees(rtmp::status::kPlayStart));
    EXPECT_TRUE(player->gets(test::avc_frame(true, 1)));
}

TEST_F(RtmpServerTest, APlayerWaitsForThePublisher) {
    start_rtmp();
    auto player = peer();
    player->open();
    player->send(RtmpPeer::stream_command("play", 1, "a"));
    ASSERT_TRUE(eventually([&] { return fanout_.pumps() == 1; }));
    auto source = publisher();
    ASSERT_TRUE(player->sees(rtmp::status::kPlayStart));
    EXPECT_TRUE(player->gets(test::avc_frame(true, 1)));
}

TEST_F(RtmpServerTest, AWaitInVainEndsWithAStatus) {
    policy_.play.pump.wait_publisher = Millis(100);
    start_rtmp();
    auto player = peer();
    player->open();
    EXPECT_TRUE(player->play("nothing", 1, rtmp::status::kPlayStreamNotFound));
    EXPECT_TRUE(player->reads_to_end());
}

TEST_F(RtmpServerTest, WithoutWaitingAMissingStreamIsToldAtOnceAndTheConnectionStays) {
    policy_.play.pump.wait_publisher = Millis(0);
    start_rtmp();
    auto source = publisher();
    auto player = peer();
    player->open("live", 2);
    ASSERT_TRUE(player->play("nothing", 1, rtmp::status::kPlayStreamNotFound));
    ASSERT_TRUE(player->play("a", 2));
    EXPECT_TRUE(player->gets(test::avc_frame(true, 1)));
}

TEST_F(RtmpServerTest, APlayerThatClosesItsStreamPlaysAnother) {
    start_rtmp();
    auto a = publisher("a");
    auto b = peer();
    b->open();
    ASSERT_TRUE(b->publish("b"));
    b->start_media(1, 0, 2);
    auto player = peer();
    player->open("live", 2);
    for (uint32_t round = 0; round < 3; round++) {
        player->received.clear();
        ASSERT_TRUE(player->play("a", 1));
        ASSERT_TRUE(player->gets(test::avc_frame(true, 1)));
        player->send(RtmpPeer::stream_command("closeStream", 1));
        ASSERT_TRUE(player->play("b", 2));
        ASSERT_TRUE(player->gets(test::avc_frame(true, 2)));
        player->send(RtmpPeer::stream_command("closeStream", 2));
    }
    EXPECT_TRUE(eventually([&] { return fanout_.pumps() == 0; }));
    EXPECT_EQ(clients_.size(), 3U) << "the same connection all the time";
}

TEST_F(RtmpServerTest, CommandsWithAnAnswerBeforeClosingDoNotEndTheConnection) {
    start_rtmp();
    auto source = publisher();
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    ASSERT_TRUE(player->gets(test::avc_frame(true, 1)));
    Bytes body;
    amf::Writer(body).string("FCUnsubscribe").number(9).null().string("a");
    Bytes both;
    RtmpPeer::append(rtmp::kCommandAmf0, 0, 0, body, both);
    ByteWriter(both).bytes(RtmpPeer::stream_command("closeStream", 1));
    const int results = player->results;
    player->send(both);
    ASSERT_TRUE(player->read_until([&] { return player->results > results; }));
    EXPECT_TRUE(player->play("a"));
}

TEST_F(RtmpServerTest, APlayerThatClosedBeforeTheStreamCameGetsNoMedia) {
    start_rtmp();
    auto player = peer();
    player->open();
    Bytes both = RtmpPeer::stream_command("play", 1, "a");
    ByteWriter(both).bytes(RtmpPeer::stream_command("closeStream", 1));
    player->send(both);
    ASSERT_TRUE(eventually([&] { return fanout_.pumps() == 1; }));
    auto source = publisher("a");
    ASSERT_TRUE(eventually([&] { return fanout_.pumps() == 0; })) << "back in conversation";
    EXPECT_FALSE(player->ended);
    EXPECT_TRUE(player->play("a")) << "and it may play again";
}

TEST_F(RtmpServerTest, APausedPlayerGetsNothingAndGoesOnAtAKeyFrame) {
    start_rtmp();
    auto source = publisher();
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    ASSERT_TRUE(player->gets(test::avc_frame(true, 1)));
    player->send(RtmpPeer::pause_command(1, true));
    ASSERT_TRUE(player->sees("NetStream.Pause.Notify"));
    source->media(1, rtmp::kVideo, 40, test::avc_frame(false, 2));
    source->media(1, rtmp::kVideo, 80, test::avc_frame(true, 3));
    ASSERT_TRUE(eventually([&] {
        return registry_.find({std::string(stream::kDefaultVhost), "live", "a"})->video().frames ==
               3;
    }));
    player->received.clear();
    player->send(RtmpPeer::pause_command(1, false));
    ASSERT_TRUE(player->sees("NetStream.Unpause.Notify"));
    ASSERT_TRUE(player->gets(test::avc_frame(true, 3)));
    EXPECT_TRUE(std::ranges::none_of(player->received, [](const rtmp::Message& message) {
        return message.body == test::avc_frame(false, 2);
    }));
}

TEST_F(RtmpServerTest, OneConnectionPublishesSeveralStreams) {
    start_rtmp();
    auto source = peer();
    source->open("live", 3);
    ASSERT_TRUE(source->publish("a", 1));
    ASSERT_TRUE(source->publish("b", 3));
    ASSERT_TRUE(source->publish("a", 2, rtmp::status::kPublishBadName))
        << "it holds that name itself";
    source->start_media(1, 0, 1);
    source->start_media(3, 5000, 2);
    EXPECT_EQ(registry_.size(), 2U);
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("b"));
    ASSERT_TRUE(player->gets(test::avc_frame(true, 2)));
    source->send(RtmpPeer::stream_command("closeStream", 1));
    ASSERT_TRUE(source->sees(rtmp::status::kUnpublishSuccess));
    EXPECT_TRUE(eventually([&] { return registry_.size() == 1; }));
    source->media(3, rtmp::kVideo, 5040, test::avc_frame(false, 4));
    EXPECT_TRUE(player->gets(test::avc_frame(false, 4))) << "the other stream goes on";
    ASSERT_TRUE(source->publish("a", 1)) << "and the name is free again";
}

TEST_F(RtmpServerTest, APublisherMayNotPlayAndAPlayerMayNotPublish) {
    start_rtmp();
    auto source = peer();
    source->open("live", 2);
    ASSERT_TRUE(source->publish("a", 1));
    source->start_media();
    EXPECT_TRUE(source->play("a", 2, rtmp::status::kPlayFailed));
    auto player = peer();
    player->open("live", 3);
    ASSERT_TRUE(player->play("a", 1));
    EXPECT_TRUE(player->play("a", 2, rtmp::status::kPlayFailed));
    EXPECT_TRUE(player->publish("c", 3, rtmp::status::kPublishDenied));
}

TEST_F(RtmpServerTest, ARefusalIsAStatusWithTheReason) {
    start_rtmp();
    auto stranger = peer();
    stranger->open("closed", 2);
    ASSERT_TRUE(stranger->publish("a", 1, rtmp::status::kPublishDenied));
    EXPECT_THAT(stranger->descriptions.back(), testing::HasSubstr("publishing is closed here"));
    ASSERT_TRUE(stranger->play("a", 2, rtmp::status::kPlayFailed));
    EXPECT_THAT(stranger->descriptions.back(), testing::HasSubstr("playing is closed here"));
}

TEST_F(RtmpServerTest, TokensReachThePolicy) {
    start_rtmp();
    auto stranger = peer();
    stranger->open("secret", 2);
    ASSERT_TRUE(stranger->publish("a?key=wrong", 1, rtmp::status::kPublishDenied));
    ASSERT_TRUE(stranger->play("a", 2, rtmp::status::kPlayFailed));
    auto source = peer();
    source->open("secret", 1);
    EXPECT_TRUE(source->publish("a?key=open-sesame"));
    EXPECT_FALSE(logged("open-sesame"));
}

TEST_F(RtmpServerTest, AKickEndsPublishersAndPlayers) {
    start_rtmp();
    auto source = publisher();
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    std::vector<net::Client*> all;
    clients_.for_each([&](net::Client& client) { all.push_back(&client); });
    ASSERT_EQ(all.size(), 2U);
    for (net::Client* client : all) {
        client->kick();
    }
    EXPECT_TRUE(source->reads_to_end());
    EXPECT_TRUE(player->reads_to_end());
    EXPECT_TRUE(eventually([&] { return clients_.size() == 0 && registry_.size() == 0; }));
    EXPECT_TRUE(logged("role=publisher"));
    EXPECT_TRUE(logged("kicked by the API"));
}

TEST_F(RtmpServerTest, PlayersHearOfTheEndOnlyWhenTheWaitIsOver) {
    policy_.play.pump.wait_publisher = Millis(60'000);
    start_rtmp();
    auto source = publisher();
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    ASSERT_TRUE(player->gets(test::avc_frame(true, 1)));
    source->close();
    ASSERT_TRUE(eventually([&] { return clients_.size() == 1; }));
    player->read();
    EXPECT_TRUE(player->statuses.empty());
    auto next = peer();
    next->open();
    ASSERT_TRUE(next->publish("a"));
    next->start_media(1, 0, 2);
    ASSERT_TRUE(player->gets(test::avc_frame(true, 2))) << "in time: it never heard";
    net::PumpOptions shorter = policy_.play.pump;
    shorter.wait_publisher = Millis(50);
    fanout_.reconfigure([&](const stream::StreamKey&) { return std::optional(shorter); });
    next->close();
    EXPECT_TRUE(player->sees("NetStream.Play.UnpublishNotify"));
    EXPECT_TRUE(player->reads_to_end());
}

TEST_F(RtmpServerTest, ConnectionsPastTheLimitAreRefusedAndCounted) {
    while (connections_.used() + 2 < connections_.limit()) {
        ASSERT_TRUE(connections_.take());
    }
    start_rtmp();
    auto first = peer();
    first->open();
    auto second = peer();
    second->open();
    auto third = peer();
    EXPECT_TRUE(third->reads_to_end());
    EXPECT_EQ(connections_.refused(), 1U);
    second->close();
    ASSERT_TRUE(eventually([&] { return connections_.used() + 1 == connections_.limit(); }));
    auto fourth = peer();
    fourth->open();
    first->close();
    fourth->close();
    ASSERT_TRUE(eventually([&] { return connections_.used() + 2 == connections_.limit(); }));
    while (connections_.used() > 0) {
        connections_.give_back();
    }
}

TEST_F(RtmpServerTest, APlayerThatTalksOnWhileTheServerStopsIsEnded) {
    start_rtmp();
    auto source = publisher();
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    ASSERT_TRUE(player->gets(test::avc_frame(true, 1)));
    Error stopped = rtmp_->stop(io::soon());
    ASSERT_FALSE(stopped) << stopped.to_string();
    player->send(RtmpPeer::stream_command("closeStream", 1));
    EXPECT_TRUE(player->reads_to_end());
}

TEST_F(RtmpServerTest, APeerThatSaysNothingHasItsPlaceAndNoCoroutineUntilItsTimeIsUp) {
    options_.handshake = Millis(300);
    start_rtmp();
    const uint64_t coroutines = find_object_class("rtmp_connection")->live();
    auto silent = peer();
    ASSERT_TRUE(eventually([&] { return connections_.used() == 1; }));
    EXPECT_EQ(find_object_class("silent_connection")->live(), 1U);
    EXPECT_EQ(find_object_class("rtmp_connection")->live(), coroutines);
    EXPECT_TRUE(silent->reads_to_end());
    EXPECT_TRUE(eventually([&] { return connections_.used() == 0; }));
}

TEST_F(RtmpServerTest, StoppingEndsEverybodyQuickly) {
    start_rtmp();
    auto source = publisher();
    auto player = peer();
    player->open();
    ASSERT_TRUE(player->play("a"));
    auto waiting = peer();
    waiting->open();
    waiting->send(RtmpPeer::stream_command("play", 1, "never"));
    auto talking = peer();
    auto silent = peer();
    talking->handshake();
    ASSERT_TRUE(eventually([&] {
        return clients_.size() == 4 && connections_.used() == 5 && fanout_.pumps() == 2;
    })) << "four clients, and one that has said nothing";
    const MonoTime began = MonoClock::now();
    stop();
    EXPECT_LT(MonoClock::now() - began, Seconds(10));
    for (auto* peer : {&source, &player, &waiting, &talking, &silent}) {
        EXPECT_TRUE((*peer)->reads_to_end());
    }
}

// The chunks of a log are the same for all of its players, so each size has a log of its own.
TEST_F(RtmpServerTest, AnotherChunkSizeIsForNewConnections) {
    start_rtmp();
    auto source = publisher();
    auto before = peer();
    before->open();
    ASSERT_TRUE(before->play("a"));
    ASSERT_TRUE(before->gets(test::avc_frame(true, 1)));
    RtmpServerOptions options = options_;
    options.chunk_size = 128;
    rtmp_->reconfigure(options);
    auto after = peer();
    after->open();
    ASSERT_TRUE(after->play("a"));
    ASSERT_TRUE(after->gets(test::avc_frame(true, 1)));
    EXPECT_EQ(fanout_.pumps(), 2U);
    const Bytes large = test::avc_frame(false, 2, 5000);
    source->media(1, rtmp::kVideo, 40, large);
    EXPECT_TRUE(before->gets(large));
    EXPECT_TRUE(after->gets(large));
}

}  // namespace
}  // namespace weir::session
