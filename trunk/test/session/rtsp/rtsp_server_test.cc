// The RTSP server over real sockets: what peers of bad will get.
#include "session/rtsp/rtsp_server.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/session/rtsp/rtsp_world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using RtspServerTest = RtspWorld;

constexpr std::string_view kSdp = RtspWorld::kPublisherSdp;

TEST_F(RtspServerTest, AnswersGarbageWithAnErrorOrSilence) {
    hurry();
    for (const std::string& text :
         {std::string("\x16\x03\x01 hello\r\n\r\n"), std::string("GET / HTTP/1.1\r\n\r\n"),
          std::string("OPTIONS * RTSP/1.0\r\nX: ") + std::string(70'000, 'x'),
          std::string(5'000, 'a'), std::string("OPTIONS * RTSP/2.0\r\nCSeq: 1\r\n\r\n")}) {
        RtspPeer peer(address_);
        peer.send(text);
        EXPECT_TRUE(peer.reads_to_end()) << text.substr(0, 40);
    }
    RtspPeer still(address_);
    EXPECT_THAT(still.ask("OPTIONS", "*"), HasSubstr("Public: OPTIONS, DESCRIBE"));
}

TEST_F(RtspServerTest, RefusesRequestsThatDoNotFit) {
    RtspPeer peer(address_);
    peer.send("OPTIONS * RTSP/1.0\r\n\r\n");
    EXPECT_THAT(peer.answer(), StartsWith("RTSP/1.0 400 "));
    peer.send("OPTIONS * RTSP/1.0\r\nCSeq: 99999999999\r\n\r\n");
    EXPECT_THAT(peer.answer(), StartsWith("RTSP/1.0 400 "));
    EXPECT_THAT(peer.ask("PLAY", url_), StartsWith("RTSP/1.0 455 "));
    EXPECT_THAT(peer.ask("RECORD", url_), StartsWith("RTSP/1.0 455 "));
    EXPECT_THAT(peer.ask("SETUP", url_, "Transport: RTP/AVP/TCP\r\n"), StartsWith("RTSP/1.0 404 "));
    EXPECT_THAT(peer.ask("TEARDOWN", url_), StartsWith("RTSP/1.0 454 "));
    EXPECT_THAT(peer.ask("PAUSE", url_, "Session: 123\r\n"), StartsWith("RTSP/1.0 454 "));
    EXPECT_THAT(peer.ask("OPTIONS", "*", "Require: magic\r\n"), HasSubstr("Unsupported: magic"));
    EXPECT_THAT(peer.ask("ANNOUNCE", url_, "Content-Type: text/plain\r\n", "x"),
                StartsWith("RTSP/1.0 415 "));
    EXPECT_THAT(peer.ask("ANNOUNCE", url_, "", "no description"), StartsWith("RTSP/1.0 400 "));
}

TEST_F(RtspServerTest, RefusesDescriptionsThatAreTooLarge) {
    RtspPeer large(address_);
    EXPECT_THAT(large.ask("ANNOUNCE", url_, "", std::string(1'000'000, 'x')),
                StartsWith("RTSP/1.0 413 "));
    std::string many = "v=0\r\no=- 0 0 IN IP4 0\r\ns=-\r\nt=0 0\r\n";
    for (int i = 0; i < 1000; i++) {
        many += "m=video 0 RTP/AVP 96\r\n";
    }
    RtspPeer peer(address_);
    EXPECT_THAT(peer.ask("ANNOUNCE", url_, "", many), StartsWith("RTSP/1.0 400 "));
}

TEST_F(RtspServerTest, EndsWhoOnlySaysOptions) {
    hurry();
    RtspPeer peer(address_);
    const MonoTime began = MonoClock::now();
    std::string answer;
    do {
        answer = peer.ask("OPTIONS", "*");
    } while (!answer.empty() && MonoClock::now() - began < Seconds(30));
    EXPECT_TRUE(answer.empty()) << "talking does not put the end off";
}

TEST_F(RtspServerTest, EndsWhoIsRefusedAgainAndAgain) {
    RtspPeer peer(address_);
    size_t refusals = 0;
    while (refusals < 100 && !peer.ask("PLAY", url_).empty()) {
        refusals++;
    }
    EXPECT_LT(refusals, 20U);
}

TEST_F(RtspServerTest, SaysNothingOfAStreamToWhoMayNotPlayIt) {
    RtspPeer peer(address_);
    const std::string closed = fmt::format("rtsp://{}/closed/a", address_.to_string());
    EXPECT_THAT(peer.ask("DESCRIBE", closed), StartsWith("RTSP/1.0 403 "));
    EXPECT_THAT(peer.ask("ANNOUNCE", closed, "Content-Type: application/sdp\r\n", kSdp),
                StartsWith("RTSP/1.0 403 "));
    EXPECT_TRUE(logged("refused stream=/closed/a"));
}

TEST_F(RtspServerTest, PublishesByTheConnectionAndLeavesTheNameFree) {
    auto peer = publisher("RTP/AVP/TCP;unicast;interleaved=0-1;mode=record");
    const stream::StreamKey key{std::string(stream::kDefaultVhost), "live", "a"};
    ASSERT_NE(registry_.find(key), nullptr);
    EXPECT_TRUE(registry_.find(key)->live());
    RtspPeer second(address_);
    EXPECT_THAT(second.ask("ANNOUNCE", url_, "Content-Type: application/sdp\r\n", kSdp),
                HasSubstr(" 200 "));
    EXPECT_THAT(second.ask("SETUP", url_ + "/streamid=0", "Transport: RTP/AVP/TCP\r\n"),
                HasSubstr(" 200 "));
    EXPECT_THAT(second.ask("RECORD", url_), StartsWith("RTSP/1.0 403 "));
    peer->send(std::string("$\x00\xFF\xFF not as long as it says", 28));
    peer.reset();
    EXPECT_TRUE(io::eventually([&] { return registry_.find(key) == nullptr; }));
}

TEST_F(RtspServerTest, TakesDatagramsFromTheHostOfTheSessionOnly) {
    auto client = io::UdpSocket::bind(io::loopback(), {});
    ASSERT_TRUE(client.ok());
    const uint16_t port = (*client)->local().port();
    auto peer =
        publisher(fmt::format("RTP/AVP;unicast;client_port={}-{};mode=record", port, port + 1));
    const auto other = io::SocketAddress::parse("127.0.0.2:0");
    auto stranger = io::UdpSocket::bind(*other, {});
    ASSERT_TRUE(stranger.ok());
    const Bytes packet = {0x80, 96, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4, 0x65, 1};
    const io::UdpPath to{rtp_.net_address(), {}};
    (void)(*stranger)->send(to, packet);
    EXPECT_TRUE(io::eventually([&] { return rtsp_->udp().stats().strangers == 1; }));
    // From another port of the right host: a NAT.
    auto moved = io::UdpSocket::bind(io::loopback(), {});
    ASSERT_TRUE(moved.ok());
    (void)(*moved)->send(to, packet);
    EXPECT_TRUE(io::eventually([&] { return rtsp_->udp().stats().moved == 1; }));
    (void)(*client)->send(to, packet);
    EXPECT_TRUE(io::eventually([&] { return rtsp_->udp().stats().strangers == 2; }))
        << "where SETUP said is nobody's any more";
}

TEST_F(RtspServerTest, PairsATunnelByItsCookie) {
    RtspPeer get(address_);
    get.send("GET /live/a HTTP/1.0\r\nx-sessioncookie: abc\r\n\r\n");
    EXPECT_THAT(get.answer(), HasSubstr("application/x-rtsp-tunnelled"));
    RtspPeer wrong(address_);
    wrong.send("POST /live/a HTTP/1.0\r\nx-sessioncookie: other\r\n\r\nT1BUSU9OUw==");
    EXPECT_TRUE(wrong.reads_to_end());
    RtspPeer post(address_);
    post.send("POST /live/a HTTP/1.0\r\nx-sessioncookie: abc\r\nContent-Length: 32767\r\n\r\n");
    post.send("T1BUSU9OUyAqIFJUU1AvMS4wDQpDU2VxOiA3DQoNCg==");  // OPTIONS * RTSP/1.0, CSeq: 7
    EXPECT_THAT(get.answer(), HasSubstr("CSeq: 7"));
}

}  // namespace
}  // namespace weir::session
