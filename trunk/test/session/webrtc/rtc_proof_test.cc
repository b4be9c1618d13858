// What an address gets that was never shown to be the peer's, from a server over UDP on loopback;
// and that a peer which moves is followed.
#include <gtest/gtest.h>

#include "session/webrtc/rtc_server.h"

#include "test/session/webrtc/rtc_world.h"

namespace weir::session {
namespace {

// Somebody whose address is forged: what is sent in its name, and what it gets for that.
class Victim {
  public:
    explicit Victim(const io::SocketAddress& server) : server_(server.net_address()) {
        auto socket = io::UdpSocket::bind(io::loopback(), {});
        WEIR_CHECK(socket.ok());
        socket_ = std::move(*socket);
    }

    void forge(ByteSpan datagram) {
        sent += datagram.size();
        (void)socket_->send({server_, {}}, datagram);
    }

    void count() {
        while (socket_->receive([this](std::span<uint8_t> datagram, const io::UdpPath&) {
            received += datagram.size();
            media += datagram[0] >= 128 ? 1U : 0U;
        })) {
        }
    }

    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t media = 0;  // datagrams

  private:
    NetAddress server_;
    std::unique_ptr<io::UdpSocket> socket_;
};

class RtcProofTest : public RtcWorld {
  protected:
    // A server with a stream that is live.
    std::unique_ptr<TestPublisher> start(RtcServerOptions options = {}) {
        start_rtc(std::move(options));
        auto publisher = std::make_unique<TestPublisher>(stream());
        publisher->config();
        publisher->gop();
        return publisher;
    }

    // Whether what is published comes to the player; and nothing to the victim.
    static bool plays(RtcPeer& player, TestPublisher& publisher, Victim* victim = nullptr) {
        const size_t before = player.rtp.size();
        publisher.gop(5);
        return io::eventually([&] {
            player.poll();
            if (victim != nullptr) {
                victim->count();
            }
            return player.rtp.size() >= before + 5;
        });
    }

    // Each with a password of its own, as every real offer has.
    std::unique_ptr<RtcPeer> answering_player() {
        const std::string offer = RtcPeer::offer("chromium-whep");
        const std::string line = "a=ice-pwd:";
        return connected_as(
            sdp::test::replaced(offer, line + sdp_value(offer, line),
                                line + "the-password-of-player-" + std::to_string(++players_)));
    }

    std::unique_ptr<RtcPeer> connected_as(const std::string& offer) {
        const Result<RtcAnswer> answer = ask_to_play(offer);
        EXPECT_TRUE(answer.ok()) << answer.error().to_string();
        auto peer = std::make_unique<RtcPeer>(rtc_address_);
        peer->take_answer(answer->sdp);
        peer->own_password = sdp_value(offer, "a=ice-pwd:");
        id_ = answer->session_id;
        EXPECT_TRUE(peer->connect());
        EXPECT_TRUE(io::eventually([&] {
            peer->poll();
            return rtc_->find(id_) != nullptr && rtc_->find(id_)->is_connected();
        }));
        return peer;
    }

    int players_ = 0;

    const ice::LiteAgent& agent() { return rtc_->find(id_)->agent(); }
};

TEST_F(RtcProofTest, AnAddressThatNeverAnswersIsNoWayForMedia) {
    const auto publisher = start();
    auto player = answering_player();
    ASSERT_TRUE(plays(*player, *publisher));
    Victim victim(rtc_address_);
    for (int i = 0; i < 50; i++) {
        victim.forge(player->check());
        ASSERT_TRUE(plays(*player, *publisher, &victim)) << i;
        ASSERT_LE(victim.received, 3 * victim.sent);
        ASSERT_EQ(victim.media, 0U);
    }
    // Nor when the player's own path is no more.
    player.reset();
    const std::string id = id_;
    for (int i = 0; i < 20; i++) {
        publisher->gop(5);
        ASSERT_FALSE(io::sleep_for(Millis(10)));
        victim.count();
    }
    EXPECT_LE(victim.received, 3 * victim.sent);
    EXPECT_EQ(victim.media, 0U);
    rtc_->find(id)->end(net::EndClass::kKicked, "the test");
}

TEST_F(RtcProofTest, AnAddressThatNeverAnswersGetsFewFlightsOfAHandshake) {
    const auto publisher = start();
    const Result<RtcAnswer> answer = ask_to_play(RtcPeer::offer("chromium-whep"));
    ASSERT_TRUE(answer.ok());
    RtcPeer attacker(rtc_address_);
    attacker.take_answer(answer->sdp);
    Victim victim(rtc_address_);
    victim.forge(attacker.check());
    // A ClientHello in the victim's name, once: the server repeats its flight by itself.
    Bytes hello;
    attacker.drop_out = [&](ByteSpan datagram) {
        hello.assign(datagram.begin(), datagram.end());
        return true;
    };
    attacker.start_dtls();
    attacker.poll();
    ASSERT_FALSE(hello.empty());
    victim.forge(hello);
    const MonoTime until = MonoClock::now() + Millis(2500);
    while (MonoClock::now() < until) {
        ASSERT_FALSE(io::sleep_for(Millis(60)));
        victim.count();
        ASSERT_LE(victim.received, 3 * victim.sent);
    }
    EXPECT_GT(victim.received, 0U) << "somebody who is there would have got something";
    rtc_->find(answer->session_id)->end(net::EndClass::kKicked, "the test");
}

TEST_F(RtcProofTest, AViewerThatAnswersIsFollowedToItsNewAddress) {
    const auto publisher = start();
    auto player = answering_player();
    ASSERT_TRUE(plays(*player, *publisher));
    for (int i = 0; i < 5; i++) {
        player->move();
        const MonoTime moved = MonoClock::now();
        player->send_check();
        ASSERT_TRUE(io::eventually([&] {
            player->poll();
            return agent().path_count() >= 2 && agent().media_path() != nullptr &&
                   agent().path_count() == static_cast<size_t>(2 + i) && player->stun_checks > 0;
        }));
        ASSERT_TRUE(plays(*player, *publisher));
        EXPECT_LT(MonoClock::now() - moved, Seconds(5));
    }
}

TEST_F(RtcProofTest, APeerThatAnswersNoChecksIsProvenByItsHandshake) {
    const auto publisher = start();
    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    EXPECT_TRUE(plays(*player, *publisher));
    EXPECT_TRUE(player->own_password.empty());
}

TEST_F(RtcProofTest, ANeighbourCannotTakeThePathByAForgedCheck) {
    const auto publisher = start();
    auto victim = answering_player();
    const std::string victims = id_;
    auto attacker = answering_player();
    ASSERT_NE(victims, id_);
    for (int i = 0; i < 10; i++) {
        victim->send(attacker->check());  // comes from the victim's address
        ASSERT_TRUE(plays(*victim, *publisher)) << i;
        ASSERT_TRUE(plays(*attacker, *publisher)) << i;
        // What the victim says is still heard as its own.
        victim->send_check();
    }
    EXPECT_EQ(rtc_->stats().unauthentic, 0U);
    ASSERT_NE(rtc_->find(victims), nullptr);
    EXPECT_NE(rtc_->find(victims)->agent().media_path(), nullptr);
}

TEST_F(RtcProofTest, OneAddressCannotHoldAllPlacesWithOffersThatComeToNothing) {
    RtcServerOptions options;
    options.max_unproven_per_address = 3;
    const auto publisher = start(options);
    const auto from = [](const char* address) { return *io::SocketAddress::parse(address); };
    std::vector<net::Limits::AddressPlace> held;
    for (const char* address : {"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3"}) {
        auto place = rtc_->enter_unproven(from(address));
        ASSERT_TRUE(place.ok());
        held.push_back(std::move(*place));
    }
    const auto refused = rtc_->enter_unproven(from("192.0.2.1:4"));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kFull);
    EXPECT_EQ(limits_.refused(net::Refusal::kUnproven), 1U);
    EXPECT_TRUE(rtc_->enter_unproven(from("192.0.2.2:1")).ok());
    // A session gives its place back once it is proven, and not before.
    const Result<RtcAnswer> answer =
        rtc_->play(RtcPeer::offer("chromium-whep"), key(), policy_.play,
                   {client(key()), {}, std::move(held.back())});
    ASSERT_TRUE(answer.ok());
    held.pop_back();
    EXPECT_FALSE(rtc_->enter_unproven(from("192.0.2.1:4")).ok());
    auto peer = connected(answer);
    EXPECT_TRUE(rtc_->enter_unproven(from("192.0.2.1:4")).ok());
    // The /64 of an IPv6 host is one address.
    for (const char* address : {"[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1"}) {
        auto place = rtc_->enter_unproven(from(address));
        ASSERT_TRUE(place.ok());
        held.push_back(std::move(*place));
    }
    EXPECT_FALSE(rtc_->enter_unproven(from("[2001:db8::4]:1")).ok());
    EXPECT_TRUE(rtc_->enter_unproven(from("[2001:db8:0:1::4]:1")).ok());
}

// The name was taken when a path was selected and proven at once: the session ends in the middle of
// its events.
TEST_F(RtcProofTest, ASessionThatEndsWhileItsPathIsProvenLeavesNoPath) {
    start_rtc();
    const std::string offer = RtcPeer::offer("chromium-whip");
    const Result<RtcAnswer> answer = ask_to_publish(offer);
    ASSERT_TRUE(answer.ok());
    RtcPeer peer(rtc_address_);
    peer.take_answer(answer->sdp);
    ASSERT_TRUE(peer.connect(false));
    TestPublisher holder(stream());
    peer.move();
    peer.stun_answers = 0;
    peer.send_check();  // nominated, not proven
    ASSERT_TRUE(io::eventually([&] {
        peer.poll();
        return peer.stun_answers > 0;
    }));
    peer.move();
    peer.own_password = sdp_value(offer, "a=ice-pwd:");
    ice::test::Check last;  // nominated with a lower priority, then proven
    last.username = peer.ufrag + ":peer";
    last.password = peer.password;
    last.use_candidate = true;
    last.priority = 1000;
    last.id = 77;
    peer.send(last.bytes());
    EXPECT_TRUE(io::eventually([&] {
        peer.poll();
        return rtc_->find(answer->session_id) == nullptr;
    }));
    EXPECT_TRUE(is_gone(answer->session_id));
    EXPECT_EQ(rtc_->transport().paths().size(), 0U);
}

TEST_F(RtcProofTest, AnOfferHoldsItsPlaceUntilMediaBeginsAndNotForLong) {
    RtcServerOptions options;
    options.max_unproven_per_address = 2;
    options.ice.connect_timeout = Millis(300);
    const auto publisher = start(options);
    const auto address = *io::SocketAddress::parse("192.0.2.1:1");
    for (int i = 0; i < 2; i++) {
        auto place = rtc_->enter_unproven(address);
        ASSERT_TRUE(place.ok());
        const std::string offer = RtcPeer::offer("chromium-whep");
        const Result<RtcAnswer> answer =
            rtc_->play(offer, key(), policy_.play, {client(key()), {}, std::move(*place)});
        ASSERT_TRUE(answer.ok());
        RtcPeer peer(rtc_address_);
        peer.take_answer(answer->sdp);
        peer.own_password = sdp_value(offer, "a=ice-pwd:");
        peer.send_check();  // one answered check, and no byte of DTLS
        ASSERT_TRUE(io::eventually([&] {
            peer.poll();
            const RtcSession* session = rtc_->find(answer->session_id);
            return session == nullptr || session->was_proven();
        }));
    }
    EXPECT_TRUE(io::eventually([&] { return rtc_->sessions() == 0; }));
    EXPECT_TRUE(rtc_->enter_unproven(address).ok());
}

TEST_F(RtcProofTest, APeerThatAnswersNoChecksAndMovesIsToldByTheEnd) {
    RtcServerOptions options;
    options.ice.consent_timeout = Millis(3'000);
    const auto publisher = start(options);
    auto player = playing_peer();
    ASSERT_NE(player, nullptr);
    player->move();
    EXPECT_TRUE(io::eventually([&] {
        player->send_check();
        player->poll();
        return rtc_->find(id_) == nullptr;
    })) << "it can never get media again, and its checks would keep it for good";
}

}  // namespace
}  // namespace weir::session
