// WebRTC sessions as a whole, over UDP on loopback: a peer of the test's own offers, checks, shakes

#include <tuple>
// hands and sends or receives media.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/webrtc/rtc_server.h"

#include "test/session/webrtc/rtc_world.h"

namespace weir::session {
namespace {

using media::TrackKind;

// Of chromium-whip.sdp.
constexpr uint32_t kVideoSsrc = 2374988436;
constexpr uint8_t kH264 = 102;

constexpr std::string_view kFragmentHead = "a=ice-ufrag:";

std::string fragment(std::string_view ufrag) {
    return fmt::format(
        "a=ice-ufrag:{}\r\na=ice-pwd:0123456789abcdefghijklmn\r\nm=audio 9 RTP/AVP "
        "0\r\na=mid:0\r\n",
        ufrag);
}

class RtcServerTest : public RtcWorld {
  protected:
    // A key frame and one that refers to it, as a browser sends them.
    static void send_pictures(RtcPeer& peer, RtpSource& source, uint32_t& rtp_time, int count = 2) {
        for (int i = 0; i < count; i++) {
            const Bytes frame = test::nal_frame(
                {h264_nal(i == 0 ? Picture::kKey : Picture::kReferenced, rtp_time, 3000)});
            uint64_t index = source.next();
            for (const Bytes& packet : source.packets(frame, rtp_time)) {
                peer.send_rtp(packet, index++);
            }
            rtp_time += 3600;
        }
    }

    static RtpSource camera() {
        RtpSource source(media::Codec::kH264, kH264, kVideoSsrc, 1000);
        source.set_config(test::kAvcBaselineConfig);
        return source;
    }

    // Whether pictures that the peer sends come to its stream.
    bool publishes(RtcPeer& peer, RtpSource& source, uint32_t& rtp_time) {
        const uint64_t before = stream().video().frames;
        send_pictures(peer, source, rtp_time);
        return io::eventually([&] {
            peer.poll();
            return stream().video().frames >= before + 2;
        });
    }

    // Whether what is published comes to the player, whole and without a hole.
    static bool plays(RtcPeer& player, TestPublisher& publisher) {
        publisher.gop(5);
        FrameReader reader;
        size_t read = 0;
        return io::eventually([&] {
            player.poll();
            for (; read < player.rtp.size(); read++) {
                if (rtp::PacketView::parse(player.rtp[read])->payload_type() == player.video_type) {
                    reader.feed(player.rtp[read]);
                }
            }
            return reader.holes == 0 && !reader.frames.empty() &&
                   reader.frames.back() == publisher.frames.back();
        });
    }
};

TEST_F(RtcServerTest, WhatAPeerPublishesAnotherOnePlays) {
    start_rtc();
    auto publisher = publishing_peer();
    ASSERT_NE(publisher, nullptr);
    RtpSource source = camera();
    uint32_t time = 0xFFFF'F000;
    ASSERT_TRUE(publishes(*publisher, source, time));

    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    FrameReader reader;
    size_t read = 0;
    const Bytes frame = test::nal_frame({h264_nal(Picture::kReferenced, 77, 5000)});
    uint64_t index = source.next();
    for (const Bytes& packet : source.packets(frame, time)) {
        publisher->send_rtp(packet, index++);
    }
    EXPECT_TRUE(io::eventually([&] {
        player->poll();
        for (; read < player->rtp.size(); read++) {
            reader.feed(player->rtp[read]);
        }
        return !reader.frames.empty() && reader.frames.back() == frame;
    }));
    EXPECT_EQ(reader.configs, 1);
    EXPECT_EQ(reader.holes, 0);
    EXPECT_EQ(player->not_opened, 0U);
    EXPECT_EQ(rtc_->stats().unauthentic, 0U);
}

TEST_F(RtcServerTest, BothEndsSayGoodbye) {
    start_rtc();
    TestPublisher publisher(stream());
    publisher.config();
    publisher.gop();
    auto leaving = playing_peer();
    ASSERT_NE(leaving, nullptr);
    const std::string left = id_;
    leaving->close();
    EXPECT_TRUE(is_gone(left));

    auto told = playing_peer();
    ASSERT_NE(told, nullptr);
    rtc_->find(id_)->end(net::EndClass::kKicked, "the test");
    EXPECT_TRUE(io::eventually([&] {
        told->poll();
        return told->closed;
    }));
    EXPECT_TRUE(is_gone(id_));
}

TEST_F(RtcServerTest, KickedClientIsGone) {
    start_rtc();
    auto peer = publishing_peer();
    ASSERT_NE(peer, nullptr);
    const net::Client* client = clients_.find(rtc_->find(id_)->client().id());
    ASSERT_NE(client, nullptr);
    client->kick();
    EXPECT_TRUE(is_gone(id_));
    EXPECT_TRUE(logged("kicked"));
    EXPECT_EQ(registry_.find(key()), nullptr);
}

// The one that had it is told inside of start_publish() of the next.
TEST_F(RtcServerTest, StreamThatIsTakenOverGoesOnWithTheNewPublisher) {
    start_rtc();
    policy_.publish.conflict = stream::PublishConflict::kTakeover;
    auto first = publishing_peer();
    ASSERT_NE(first, nullptr);
    RtpSource source = camera();
    uint32_t time = 0;
    ASSERT_TRUE(publishes(*first, source, time));
    const std::string first_id = id_;

    auto second = publishing_peer();
    ASSERT_NE(second, nullptr);
    EXPECT_TRUE(is_gone(first_id));
    EXPECT_TRUE(io::eventually([&] {
        first->poll();
        return first->closed;
    }));
    ASSERT_NE(registry_.find(key()), nullptr);
    ASSERT_NE(stream().publisher(), nullptr);
    EXPECT_EQ(stream().publisher()->client_id(), rtc_->find(id_)->client().id());
    RtpSource other = camera();
    EXPECT_TRUE(publishes(*second, other, time));
}

TEST_F(RtcServerTest, BusyStreamIsRefusedBeforeAndAfterTheOffer) {
    start_rtc();
    const Result<RtcAnswer> early = ask_to_publish(RtcPeer::offer("chromium-whip"));
    ASSERT_TRUE(early.ok());
    TestPublisher publisher(stream());
    const Result<RtcAnswer> refused = ask_to_publish(RtcPeer::offer("chromium-whip"));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kBusy);

    RtcPeer late(rtc_address_);
    late.take_answer(early->sdp);
    EXPECT_TRUE(late.connect());
    EXPECT_TRUE(is_gone(early->session_id));
    EXPECT_TRUE(logged("stream is busy"));
    EXPECT_EQ(stream().publisher(), &publisher);
}

// The nomination comes last, so that media would begin inside of a check.
TEST_F(RtcServerTest, CheckMayEndItsSession) {
    start_rtc();
    const Result<RtcAnswer> answer = ask_to_publish(RtcPeer::offer("chromium-whip"));
    ASSERT_TRUE(answer.ok());
    RtcPeer peer(rtc_address_);
    peer.take_answer(answer->sdp);
    ASSERT_TRUE(peer.connect(false));
    TestPublisher publisher(stream());
    peer.send_check();
    EXPECT_TRUE(is_gone(answer->session_id));
    EXPECT_TRUE(logged("stream is busy"));
}

TEST_F(RtcServerTest, GarbageOfEveryKindCreatesNothingAndEndsNothing) {
    start_rtc();
    const auto garbage = [&](RtcPeer& peer) {
        for (int first = 0; first < 256; first++) {
            for (size_t size : {1U, 2U, 8U, 12U, 13U, 20U, 100U, 1400U}) {
                Bytes bytes = test::counted({static_cast<uint8_t>(first)}, size,
                                            static_cast<uint32_t>(first));
                peer.send(bytes);
            }
            EXPECT_FALSE(io::sleep_for(Millis(0)));
        }
        const Bytes check = peer.check();
        for (size_t size = 1; size < check.size(); size++) {
            peer.send(ByteSpan(check).first(size));
        }
    };
    RtcPeer stranger(rtc_address_);
    stranger.ufrag = "nobodyis";
    stranger.password = "0123456789abcdefghijklmn";
    const uint64_t made = objects_made("webrtc") + objects_made("dtls") + objects_made("srtp");
    garbage(stranger);
    EXPECT_TRUE(io::eventually([&] { return rtc_->stats().unknown_datagrams > 500; }));
    EXPECT_EQ(objects_made("webrtc") + objects_made("dtls") + objects_made("srtp"), made);

    TestPublisher publisher(stream());
    publisher.config();
    publisher.gop();
    const Result<RtcAnswer> answer = ask_to_play(RtcPeer::offer("chromium-whep"));
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    RtcPeer peer(rtc_address_);
    peer.take_answer(answer->sdp);
    garbage(peer);  // nothing has been checked
    EXPECT_EQ(live_objects("dtls_transport"), 0U);
    peer.send_check();
    ASSERT_TRUE(io::eventually([&] {
        peer.poll();
        return peer.stun_answers > 0;
    }));
    garbage(peer);  // before DTLS
    ASSERT_TRUE(peer.connect());
    garbage(peer);  // and when media goes
    EXPECT_TRUE(plays(peer, publisher));
    EXPECT_EQ(rtc_->sessions(), 1U);
    EXPECT_GT(rtc_->stats().malformed, 100U);
}

TEST_F(RtcServerTest, TruncatedAndAlteredMediaIsDropped) {
    start_rtc();
    auto peer = publishing_peer();
    ASSERT_NE(peer, nullptr);
    RtpSource source = camera();
    uint32_t time = 0;
    ASSERT_TRUE(publishes(*peer, source, time));
    // What the peer sends is caught, and its parts are sent instead.
    Bytes whole;
    peer->drop_out = [&](ByteSpan datagram) {
        whole.assign(datagram.begin(), datagram.end());
        return true;
    };
    const uint64_t index = source.next();
    peer->send_rtp(source.packet(test::counted({0x41, 0x9a}, 300), time, true), index);
    peer->drop_out = nullptr;
    for (size_t i = 1; i < whole.size(); i++) {
        Bytes altered = whole;
        altered[i] ^= 0x10;
        peer->send(ByteSpan(whole).first(i));
        peer->send(altered);
        EXPECT_FALSE(io::sleep_for(Millis(0)));  // the socket's buffer holds so many
    }
    peer->send(whole);
    peer->send(whole);  // again
    EXPECT_TRUE(publishes(*peer, source, time));
    EXPECT_GT(rtc_->stats().unauthentic, 200U);
    EXPECT_GE(rtc_->stats().replayed, 1U);
}

TEST_F(RtcServerTest, FloodOfWrongCredentialsCreatesNothing) {
    start_rtc();
    const Result<RtcAnswer> answer = ask_to_publish(RtcPeer::offer("chromium-whip"));
    ASSERT_TRUE(answer.ok());
    RtcPeer flood(rtc_address_);
    flood.take_answer(answer->sdp);
    const auto made = [] {
        return objects_made("webrtc") + objects_made("dtls") + objects_made("srtp") +
               objects_made("network");
    };
    const uint64_t before = made();
    const std::string password = flood.password;
    flood.password = "wrongwrongwrongwrongwron";
    for (int i = 0; i < 2000; i++) {
        flood.send_check();  // of a session that is there
        if (i % 100 == 0) {
            EXPECT_FALSE(io::sleep_for(Millis(1)));
            flood.poll();
        }
    }
    flood.ufrag = "unknown0";
    for (int i = 0; i < 2000; i++) {
        flood.send_check();
        if (i % 100 == 0) {
            EXPECT_FALSE(io::sleep_for(Millis(1)));
        }
    }
    EXPECT_TRUE(io::eventually([&] { return rtc_->stats().unknown_stun > 1000; }));
    flood.poll();
    EXPECT_EQ(made(), before);
    EXPECT_LE(flood.stun_errors, ice::kMaxRejections);
    EXPECT_EQ(flood.stun_answers, 0U);
    // The session is none the worse.
    RtcPeer peer(rtc_address_);
    peer.take_answer(answer->sdp);
    EXPECT_TRUE(peer.connect());
}

TEST_F(RtcServerTest, HandshakeSurvivesLostFlights) {
    start_rtc();
    const Result<RtcAnswer> answer = ask_to_publish(RtcPeer::offer("chromium-whip"));
    ASSERT_TRUE(answer.ok());
    RtcPeer peer(rtc_address_);
    peer.take_answer(answer->sdp);
    int lost_out = 0;
    int lost_in = 0;
    const auto is_dtls = [](ByteSpan datagram) { return datagram[0] >= 20 && datagram[0] <= 63; };
    peer.drop_out = [&](ByteSpan datagram) { return is_dtls(datagram) && lost_out++ % 2 == 0; };
    peer.drop_in = [&](ByteSpan datagram) { return is_dtls(datagram) && lost_in++ % 3 == 0; };
    EXPECT_TRUE(peer.connect());
    EXPECT_GE(lost_out, 2);
    EXPECT_GE(lost_in, 1);
    EXPECT_TRUE(io::eventually([&] {
        peer.poll();
        return rtc_->find(answer->session_id)->is_connected();
    }));
}

TEST_F(RtcServerTest, PeerThatVanishesIsGoneWithAllObjects) {
    RtcServerOptions options;
    options.ice.consent_timeout = Millis(2'500);
    start_rtc(options);
    auto peer = publishing_peer();
    ASSERT_NE(peer, nullptr);
    RtpSource source = camera();
    uint32_t time = 0;
    ASSERT_TRUE(publishes(*peer, source, time));
    const std::string id = id_;
    EXPECT_NE(rtc_->find(id), nullptr);
    peer.reset();
    EXPECT_TRUE(is_gone(id));
    EXPECT_TRUE(logged("no consent"));
    EXPECT_EQ(clients_.size(), 0U);
    EXPECT_EQ(registry_.size(), 0U);
    for (const char* name : {"rtc_publisher", "rtc_ingest", "dtls_transport", "srtp_protector",
                             "srtp_unprotector", "rtp_receiver", "ice_agent"}) {
        EXPECT_EQ(live_objects(name), 0U) << name;
    }
}

TEST_F(RtcServerTest, SessionThatNeverConnectsSaysWhatWasOfferedAndWhatCame) {
    RtcServerOptions options;
    options.ice.connect_timeout = Millis(100);
    options.candidates = {*NetAddress::parse_ip("192.0.2.77", 0)};
    start_rtc(options);
    const Result<RtcAnswer> answer = ask_to_publish(RtcPeer::offer("chromium-whip"));
    ASSERT_TRUE(answer.ok());
    EXPECT_THAT(answer->sdp, testing::HasSubstr("192.0.2.77"));
    RtcPeer peer(rtc_address_);
    peer.take_answer(answer->sdp);
    peer.password = "wrongwrongwrongwrongwron";
    peer.send_check();
    EXPECT_TRUE(is_gone(answer->session_id));
    EXPECT_TRUE(logged(fmt::format("192.0.2.77:{}/udp", rtc_address_.port())));
    EXPECT_TRUE(logged("password"));
    EXPECT_EQ(rtc_->stats().never_connected, 1U);
}

TEST_F(RtcServerTest, SessionsOverTheLimitAreRefused) {
    RtcServerOptions options;
    options.max_sessions = 2;
    start_rtc(options);
    ASSERT_TRUE(ask_to_publish(RtcPeer::offer("chromium-whip"), "a").ok());
    const Result<RtcAnswer> second = ask_to_publish(RtcPeer::offer("chromium-whip"), "b");
    ASSERT_TRUE(second.ok());
    const Result<RtcAnswer> third = ask_to_publish(RtcPeer::offer("chromium-whip"), "c");
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code(), ErrorCode::kLimit);
    EXPECT_EQ(rtc_->stats().sessions_refused, 1U);
    rtc_->find(second->session_id)->end(net::EndClass::kKicked, "the test");
    EXPECT_TRUE(ask_to_publish(RtcPeer::offer("chromium-whip"), "c").ok());
}

TEST_F(RtcServerTest, MediaGoesOnOverAnIceRestart) {
    start_rtc();
    TestPublisher publisher(stream());
    publisher.config();
    publisher.gop();
    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    ASSERT_TRUE(plays(*player, publisher));

    RtcSession& session = *rtc_->find(id_);
    const std::string etag = RtcServer::etag_of(session);
    const Result<std::string> same = rtc_->patch(session, fragment(session.remote_ufrag()));
    ASSERT_TRUE(same.ok()) << same.error().to_string();
    EXPECT_EQ(*same, "");
    const Result<std::string> answer = rtc_->patch(session, fragment("otherufr"));
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    EXPECT_NE(RtcServer::etag_of(session), etag);
    player->rtp.clear();
    ASSERT_TRUE(plays(*player, publisher));  // by the old path

    // A peer elsewhere, by the new credentials.
    player->ufrag = sdp_value(*answer, kFragmentHead);
    player->password = sdp_value(*answer, "a=ice-pwd:");
    const uint64_t before = player->stun_answers;
    player->send_check();
    EXPECT_TRUE(io::eventually([&] {
        player->poll();
        return player->stun_answers > before;
    }));
    player->rtp.clear();
    EXPECT_TRUE(plays(*player, publisher));
}

// A fragment that is forgotten by the agent and not by the server would lead to a session that is
// gone.
TEST_F(RtcServerTest, NoFragmentOutlivesItsSession) {
    RtcServerOptions options;
    options.ice.previous_generation = Millis(1);
    start_rtc(options);
    auto peer = publishing_peer();
    ASSERT_NE(peer, nullptr);
    RtcSession& session = *rtc_->find(id_);
    std::vector<std::pair<std::string, std::string>> credentials = {{peer->ufrag, peer->password}};
    for (int i = 0; i < 5; i++) {
        const Result<std::string> answer =
            rtc_->patch(session, fragment("restart" + std::to_string(i)));
        ASSERT_TRUE(answer.ok()) << answer.error().to_string();
        credentials.emplace_back(sdp_value(*answer, kFragmentHead),
                                 sdp_value(*answer, "a=ice-pwd:"));
        if (i % 2 == 0) {
            std::tie(peer->ufrag, peer->password) = credentials.back();
            const uint64_t before = peer->stun_answers;
            peer->send_check();
            EXPECT_TRUE(io::eventually([&] {
                peer->poll();
                return peer->stun_answers > before;
            }));
        }
    }
    session.end(net::EndClass::kKicked, "the test");
    EXPECT_TRUE(is_gone(id_));
    const uint64_t before = rtc_->stats().unknown_stun;
    for (const auto& [ufrag, password] : credentials) {
        peer->ufrag = ufrag;
        peer->password = password;
        peer->send_check();
    }
    EXPECT_TRUE(
        io::eventually([&] { return rtc_->stats().unknown_stun == before + credentials.size(); }));
}

// More paths than the agent keeps, in one batch of datagrams.
TEST_F(RtcServerTest, PeerWithManyAddressesHoldsFewPaths) {
    start_rtc();
    auto peer = publishing_peer();
    ASSERT_NE(peer, nullptr);
    std::vector<std::unique_ptr<RtcPeer>> others;
    for (int i = 0; i < 40; i++) {
        auto& other = others.emplace_back(std::make_unique<RtcPeer>(rtc_address_));
        other->ufrag = peer->ufrag;
        other->password = peer->password;
    }
    for (const auto& other : others) {
        other->send(other->check(false));
    }
    EXPECT_TRUE(io::eventually([&] {
        return std::ranges::all_of(others, [](const auto& other) {
            other->poll();
            return other->stun_answers == 1;
        });
    }));
    RtpSource source = camera();
    uint32_t time = 0;
    EXPECT_TRUE(publishes(*peer, source, time));
    const uint64_t unknown = rtc_->stats().unknown_datagrams;
    const Bytes media = test::counted({0x80, 102}, 60);
    for (const auto& other : others) {
        other->send(media);
    }
    // Those of paths that made room are of nobody.
    EXPECT_TRUE(io::eventually(
        [&] { return rtc_->stats().unknown_datagrams - unknown == 40 - (ice::kMaxPaths - 1); }));
}

TEST_F(RtcServerTest, PlayerIsEndedWhenTheCodecOfTheStreamChanges) {
    start_rtc();
    auto first = std::make_unique<TestPublisher>(stream());
    first->config();
    first->gop();
    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    ASSERT_TRUE(plays(*player, *first));
    first.reset();
    TestPublisher second(stream());
    player->rtp.clear();
    for (int i = 0; i < 3; i++) {
        Bytes frame = test::kVp8Key;
        frame.resize(3000, 7);
        second.send(TrackKind::kVideo, tag_body(media::Codec::kVp8, BodyKind::kKeyFrame, frame));
        second.pass(40);
    }
    EXPECT_TRUE(is_gone(id_));
    player->poll();
    EXPECT_TRUE(player->rtp.empty());
    EXPECT_TRUE(logged("codec of the stream changed"));
}

TEST_F(RtcServerTest, PlayerOfAnOldKeyFrameAsksForANewOne) {
    start_rtc();
    TestPublisher publisher(stream());
    publisher.config();
    publisher.gop(10);
    auto fresh = playing_peer();
    ASSERT_NE(fresh, nullptr);
    EXPECT_EQ(publisher.key_frames_wanted, 0);
    for (int i = 0; i < 40; i++) {
        publisher.video(Picture::kReferenced);
        publisher.pass(40);
    }
    auto late = playing_peer();
    ASSERT_NE(late, nullptr);
    EXPECT_EQ(publisher.key_frames_wanted, 1);
}

TEST_F(RtcServerTest, OffersForWhatCannotBePlayedSayWhy) {
    start_rtc();
    const std::string offer = RtcPeer::offer("chromium-whep");
    const Result<RtcAnswer> nobody = ask_to_play(offer);
    ASSERT_FALSE(nobody.ok());
    EXPECT_EQ(nobody.error().code(), ErrorCode::kNotFound);

    TestPublisher publisher(stream());
    publisher.config(test::kAvcHighConfig);
    publisher.gop(3);
    publisher.video(Picture::kReferencedB);
    const Result<RtcAnswer> refused = ask_to_play(offer);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
    EXPECT_THAT(std::string(refused.error().message()), testing::HasSubstr("bframes=0"));

    const Result<RtcAnswer> broken = ask_to_play("v=0\r\nnonsense");
    ASSERT_FALSE(broken.ok());
    EXPECT_EQ(broken.error().code(), ErrorCode::kMalformed);
    EXPECT_EQ(rtc_->sessions(), 0U);
    EXPECT_TRUE(io::eventually([&] { return live_objects("rtc_pump") == 0; }));
}

TEST_F(RtcServerTest, PlayersAreToldWhenThePublisherStaysAway) {
    policy_.play.pump.wait_publisher = Millis(50);
    start_rtc();
    auto publisher = std::make_unique<TestPublisher>(stream());
    publisher->config();
    publisher->gop();
    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    publisher.reset();
    EXPECT_TRUE(is_gone(id_));
    EXPECT_TRUE(logged("publisher gone"));
    EXPECT_TRUE(io::eventually([&] { return registry_.size() == 0; }));
}

TEST_F(RtcServerTest, AReloadReachesPlayersThatWaitForAPublisher) {
    policy_.play.pump.wait_publisher = Millis(600'000);
    start_rtc();
    auto publisher = std::make_unique<TestPublisher>(stream());
    publisher->config();
    publisher->gop();
    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    publisher.reset();
    net::PumpOptions shorter = policy_.play.pump;
    shorter.wait_publisher = Millis(50);
    fanout_.reconfigure([](const stream::StreamKey&) { return std::nullopt; });
    EXPECT_EQ(rtc_->sessions(), 1U);
    fanout_.reconfigure([&](const stream::StreamKey& of) {
        return of == key() ? std::optional(shorter) : std::nullopt;
    });
    EXPECT_TRUE(is_gone(id_));
    EXPECT_TRUE(logged("publisher gone"));
}

TEST_F(RtcServerTest, TheFanOutCountsItsPlayersByTransport) {
    start_rtc();
    TestPublisher publisher(stream());
    publisher.config();
    publisher.gop();
    ASSERT_TRUE(ask_to_play(RtcPeer::offer("chromium-whep")).ok());
    EXPECT_EQ(fanout_.pumps(), 1U) << "an offer has a pump";
    EXPECT_EQ(fanout_.players(*registry_.find(key())), 0U) << "but plays nothing yet";
    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    size_t players = 0;
    fanout_.for_each_transport(*registry_.find(key()), [&](const net::TransportCount& each) {
        EXPECT_STREQ(each.transport, "webrtc");
        players += each.players;
    });
    EXPECT_EQ(players, 1U);
    EXPECT_EQ(fanout_.pumps(), 1U) << "both have the same one";
}

TEST_F(RtcServerTest, PublisherWithoutMediaIsEnded) {
    policy_.publish.first_packet = Millis(2'000);
    start_rtc();
    auto peer = publishing_peer();
    ASSERT_NE(peer, nullptr);
    EXPECT_TRUE(is_gone(id_));
    EXPECT_TRUE(logged("no media"));
}

TEST_F(RtcServerTest, StoppingEndsEverybody) {
    start_rtc();
    auto publisher = publishing_peer();
    ASSERT_NE(publisher, nullptr);
    RtpSource source = camera();
    uint32_t time = 0;
    ASSERT_TRUE(publishes(*publisher, source, time));
    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    ASSERT_TRUE(ask_to_play(RtcPeer::offer("chromium-whep")).ok());  // and one that only asked
    Error error = rtc_->stop(io::soon());
    EXPECT_FALSE(error) << error.to_string();
    for (RtcPeer* peer : {publisher.get(), player.get()}) {
        peer->poll();
        EXPECT_TRUE(peer->closed);
    }
    const Result<RtcAnswer> refused = ask_to_play(RtcPeer::offer("chromium-whep"));
    EXPECT_FALSE(refused.ok());
}

}  // namespace
}  // namespace weir::session
