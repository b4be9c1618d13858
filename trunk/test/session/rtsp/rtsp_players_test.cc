// Players of the RTSP server over real sockets: what ends them, and what does not.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/session/rtsp/rtsp_world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr uint8_t kBye = 203;
constexpr std::string_view kChanged = "the codecs of the stream changed";

using RtspPlayersTest = RtspWorld;

// ---- codecs that change: a description is given once ----

TEST_F(RtspPlayersTest, EndsAPlayerByTcpWhenTheAudioIsConfiguredAnew) {
    auto encoder = this->encoder();
    auto peer = player(kVideoByTcp, kAudioByTcp);
    encoder->config(media::Codec::kAac, test::from_hex("1190"));  // 48 kHz in place of 44.1
    encoder->sound();
    EXPECT_TRUE(peer->reads_to_end());
    EXPECT_TRUE(logged(kChanged));
    auto again = player(kVideoByTcp, kAudioByTcp);
    encoder->sound();
    EXPECT_THAT(again->ask("GET_PARAMETER", url_), StartsWith("RTSP/1.0 200 "));
    again.reset();
    end(std::move(encoder));
}

TEST_F(RtspPlayersTest, EndsAPlayerByUdpWithByeWhenTheVideoIsOfAnotherCodec) {
    auto encoder = this->encoder();
    const RtspUdpClient ports;
    auto peer = player(ports.transport(), "");
    encoder->config(media::Codec::kAv1, test::kAv1Config);
    encoder->sound();
    EXPECT_TRUE(ports.gets_rtcp(kBye));
    EXPECT_TRUE(io::eventually([&] { return rtsp_->udp_players() == 0; }));
    EXPECT_TRUE(peer->reads_to_end());
    EXPECT_TRUE(logged(kChanged));
    end(std::move(encoder));
}

TEST_F(RtspPlayersTest, EndsPlayersOfAnRtmpEncoderWhenABrowserFollows) {
    auto encoder = this->encoder();
    const RtspUdpClient ports;
    auto by_tcp = player(kVideoByTcp, kAudioByTcp);
    auto by_udp = player("", ports.transport());
    stream::Stream& stream = encoder->stream();
    encoder.reset();
    encoder = std::make_unique<RtspEncoder>(stream, media::Codec::kOpus);
    EXPECT_TRUE(by_tcp->reads_to_end());
    EXPECT_TRUE(by_udp->reads_to_end());
    EXPECT_TRUE(logged(kChanged));
    RtspPeer again(address_);
    EXPECT_THAT(again.describe(url_), HasSubstr("opus/48000/2"));
    end(std::move(encoder));
}

TEST_F(RtspPlayersTest, EndsAPausedPlayerToo) {
    auto encoder = this->encoder();
    auto peer = player(kVideoByTcp, kAudioByTcp);
    EXPECT_THAT(peer->ask("PAUSE", url_), StartsWith("RTSP/1.0 200 "));
    encoder->config(media::Codec::kAac, test::from_hex("1190"));
    encoder->sound();
    EXPECT_TRUE(peer->reads_to_end());
    end(std::move(encoder));
}

TEST_F(RtspPlayersTest, GoesOnWithParameterSetsThatComeInBand) {
    auto encoder = this->encoder();
    const RtspUdpClient ports;
    auto by_tcp = player(kVideoByTcp, kAudioByTcp);
    auto by_udp = player(ports.transport(), "");
    encoder->config(media::Codec::kH264, test::kAvcHighConfig);
    encoder->frame(true);
    encoder->sound();
    for (RtspPeer* peer : {by_tcp.get(), by_udp.get()}) {
        EXPECT_THAT(peer->ask("GET_PARAMETER", url_), StartsWith("RTSP/1.0 200 "));
    }
    EXPECT_EQ(rtsp_->udp_players(), 1U);
    EXPECT_FALSE(logged(kChanged));
    by_tcp.reset();
    EXPECT_THAT(by_udp->ask("TEARDOWN", url_), StartsWith("RTSP/1.0 200 "));
    by_udp.reset();
    end(std::move(encoder));
}

TEST_F(RtspPlayersTest, GoesOnWhenATrackChangesThatThePlayerDoesNotTake) {
    auto encoder = this->encoder();
    auto peer = player(kVideoByTcp, "");
    encoder->config(media::Codec::kAac, test::from_hex("1190"));
    encoder->sound();
    encoder->frame(true);
    EXPECT_THAT(peer->ask("GET_PARAMETER", url_), StartsWith("RTSP/1.0 200 "));
    peer.reset();
    end(std::move(encoder));
}

TEST_F(RtspPlayersTest, DoesNotBeginWithADescriptionThatNoLongerHolds) {
    auto encoder = this->encoder();
    const RtspUdpClient ports;
    RtspPeer by_tcp(address_);
    RtspPeer by_udp(address_);
    EXPECT_THAT(by_tcp.ask("SETUP", url_ + "/trackID=1", kAudioByTcp), HasSubstr(" 200 "));
    EXPECT_THAT(by_udp.ask("SETUP", url_ + "/trackID=1", ports.transport()), HasSubstr(" 200 "));
    encoder->config(media::Codec::kAac, test::from_hex("1190"));
    encoder->frame(true);
    encoder->sound();
    EXPECT_THAT(by_tcp.ask("PLAY", url_), StartsWith("RTSP/1.0 503 "));
    EXPECT_TRUE(by_tcp.reads_to_end());
    EXPECT_THAT(by_udp.ask("PLAY", url_), StartsWith("RTSP/1.0 503 "));
    EXPECT_TRUE(by_udp.reads_to_end());
    end(std::move(encoder));
}

// ---- the audio of a browser ----

TEST_F(RtspPlayersTest, GetsTheOpusOfABrowserAndNothingIsMadeForIt) {
    auto encoder = this->encoder(media::Codec::kOpus);
    const RtspUdpClient ports;
    auto by_tcp = player(kVideoByTcp, kAudioByTcp);
    auto by_udp = player("", ports.transport());
    EXPECT_FALSE(encoder->stream().has_audience(media::Audience::kFlv)) << "no AAC";
    EXPECT_FALSE(encoder->stream().has_audience(media::Audience::kWebRtc)) << "no layers";
    const uint8_t type = rtsp_payload_type_of(media::Codec::kOpus).value_or(0);
    bool came = false;
    EXPECT_TRUE(io::eventually([&] {
        encoder->frame(false);
        encoder->sound();
        ports.rtp->receive([&](std::span<uint8_t> packet, const io::UdpPath&) {
            came = came || (packet.size() > 12 && (packet[1] & 0x7fU) == type);
        });
        return came;
    }));
    EXPECT_THAT(by_udp->ask("TEARDOWN", url_), StartsWith("RTSP/1.0 200 "));
    by_tcp.reset();
    by_udp.reset();
    end(std::move(encoder));
}

// ---- what players by UDP get ----

TEST_F(RtspPlayersTest, GetsAKeyFrameThatIsLargerThanADatagramWhole) {
    constexpr size_t kSize = 150'000;
    auto encoder = this->encoder();
    const RtspUdpClient ports;
    auto peer = player(ports.transport(), "");
    encoder->frame(true, kSize);
    size_t bytes = 0;
    EXPECT_TRUE(io::eventually([&] {
        ports.rtp->receive([&](std::span<uint8_t> packet, const io::UdpPath&) {
            bytes += packet.size() > 1000 || bytes > 0 ? packet.size() : size_t{0};
        });
        return bytes >= kSize;
    })) << bytes;
    EXPECT_THAT(peer->ask("TEARDOWN", url_), StartsWith("RTSP/1.0 200 "));
    peer.reset();
    end(std::move(encoder));
}

// ---- players by UDP that say nothing ----

TEST_F(RtspPlayersTest, EndsAPlayerByUdpThatVanishedAndNoneThatStillSpeaks) {
    constexpr Seconds kTimeout{4};
    rtsp_->udp().set_session_timeout(kTimeout);
    auto encoder = this->encoder();
    const RtspUdpClient gone_ports;
    const RtspUdpClient reporting_ports;
    const RtspUdpClient asking_ports;
    auto gone = player(gone_ports.transport(), "");
    auto reporting = player(reporting_ports.transport(), "");
    auto asking = player(asking_ports.transport(), "");
    gone.reset();
    reporting.reset();  // its reports alone keep it
    EXPECT_EQ(rtsp_->udp_players(), 3U);
    const Bytes report = {0x80, 201, 0, 1, 1, 2, 3, 4};
    const MonoTime began = MonoClock::now();
    while (rtsp_->udp_players() == 3 && MonoClock::now() - began < 5 * kTimeout) {
        (void)reporting_ports.rtcp->send(to(rtcp_), report);
        EXPECT_THAT(asking->ask("GET_PARAMETER", url_), StartsWith("RTSP/1.0 200 "));
        EXPECT_FALSE(io::sleep_for(Millis(50)));
    }
    EXPECT_EQ(rtsp_->udp_players(), 2U);
    EXPECT_TRUE(logged("the client was silent"));
    EXPECT_TRUE(io::eventually([&] {
        (void)asking->ask("GET_PARAMETER", url_);
        return rtsp_->udp_players() == 1;
    })) << "without its reports the second one goes, too";
    EXPECT_THAT(asking->ask("TEARDOWN", url_), StartsWith("RTSP/1.0 200 "));
    asking.reset();
    end(std::move(encoder));
}

// ---- what others say ----

TEST_F(RtspPlayersTest, IsNotDisturbedByDatagramsOfStrangers) {
    auto encoder = this->encoder();
    const RtspUdpClient ports;
    auto peer = player(ports.transport(), "");
    auto stranger = io::UdpSocket::bind(*io::SocketAddress::parse("127.0.0.2:0"), {});
    ASSERT_TRUE(stranger.ok());
    Bytes garbage(1200, 0xA5);
    constexpr size_t kRounds = 200;
    uint64_t sent = 0;
    for (size_t i = 0; i < kRounds; i++) {
        garbage[i % garbage.size()]++;
        for (const io::SocketAddress& port : {rtp_, rtcp_}) {
            const ByteSpan datagram = ByteSpan(garbage).first(1 + i * 5);
            sent += (*stranger)->send(to(port), datagram).status == io::IoStatus::kDone ? 1U : 0U;
        }
        EXPECT_TRUE(io::eventually([&] { return rtsp_->udp().stats().strangers == sent; }))
            << "each is counted";
    }
    const Bytes bye = {0x80, 201, 0, 1, 1, 2, 3, 4, 0x81, kBye, 0, 1, 1, 2, 3, 4};
    (void)(*stranger)->send(to(rtcp_), bye);
    const auto gets_any = [&] {
        bool any = false;
        ports.rtp->receive([&](std::span<uint8_t>, const io::UdpPath&) { any = true; });
        return any;
    };
    while (gets_any()) {  // what came before
    }
    encoder->frame(true);
    EXPECT_TRUE(io::eventually(gets_any));
    EXPECT_EQ(rtsp_->udp_players(), 1U);
    EXPECT_EQ(rtsp_->udp().stats().moved, 0U);
    EXPECT_THAT(peer->ask("TEARDOWN", url_), StartsWith("RTSP/1.0 200 "));
    peer.reset();
    end(std::move(encoder));
}

TEST_F(RtspPlayersTest, KnowsOnlyTheSessionOfItsOwnConnection) {
    auto encoder = this->encoder();
    RtspPeer owner(address_);
    const std::string answer = owner.ask("SETUP", url_ + "/trackID=0", kVideoByTcp);
    const std::string field = fmt::format("Session: {}\r\n", RtspPeer::session_of(answer));
    ASSERT_GT(field.size(), 20U) << answer;
    RtspPeer thief(address_);
    for (const std::string_view method : {"PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER"}) {
        EXPECT_THAT(thief.ask(method, url_, field), StartsWith("RTSP/1.0 454 ")) << method;
    }
    EXPECT_THAT(thief.ask("SETUP", url_ + "/trackID=1", field + std::string(kAudioByTcp)),
                StartsWith("RTSP/1.0 454 "));
    EXPECT_THAT(owner.ask("PLAY", url_, field), StartsWith("RTSP/1.0 200 "));
    EXPECT_THAT(owner.ask("PAUSE", url_, "Session: 4711\r\n"), StartsWith("RTSP/1.0 454 "));
    EXPECT_THAT(owner.ask("TEARDOWN", url_, field), StartsWith("RTSP/1.0 200 "));
    end(std::move(encoder));
}

TEST_F(RtspPlayersTest, TakesAFrameForNoRequestWhateverItsLength) {
    auto encoder = this->encoder();
    auto peer = player(kVideoByTcp, "");
    const std::string inside = fmt::format("TEARDOWN {} RTSP/1.0\r\nCSeq: 77\r\n\r\n", url_);
    std::string frame = "$";
    frame += '\x01';
    frame += '\xFF';
    frame += '\xFF';
    frame += inside;
    frame += std::string(0xFFFF - inside.size(), 'x');
    peer->send(frame);
    EXPECT_THAT(peer->ask("GET_PARAMETER", url_), HasSubstr(" 200 "));
    peer.reset();
    end(std::move(encoder));
}

TEST_F(RtspPlayersTest, EndsWhoStopsInTheMiddleOfARequest) {
    hurry();
    auto encoder = this->encoder();
    for (const std::string& half :
         {std::string("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n"), std::string("O"),
          fmt::format("ANNOUNCE {} RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 1000\r\n\r\nv=0", url_),
          std::string("$\x00\x10", 3), std::string("$\x00\xFF\xFFmuch less", 13)}) {
        RtspPeer peer(address_);
        peer.send(half);
        EXPECT_TRUE(peer.reads_to_end()) << half;
    }
    EXPECT_TRUE(logged("neither PLAY nor RECORD within"));
    end(std::move(encoder));
}

TEST_F(RtspPlayersTest, NeedsNoDescribeBeforeSetup) {
    auto encoder = this->encoder();
    RtspPeer peer(address_);
    EXPECT_THAT(peer.ask("SETUP", url_ + "/trackID=7", kVideoByTcp), StartsWith("RTSP/1.0 404 "));
    EXPECT_THAT(peer.ask("PLAY", url_), StartsWith("RTSP/1.0 455 "));
    EXPECT_THAT(peer.ask("SETUP", url_ + "/trackID=0", kVideoByTcp), StartsWith("RTSP/1.0 200 "));
    EXPECT_THAT(peer.ask("PLAY", url_), StartsWith("RTSP/1.0 200 "));
    end(std::move(encoder));
}

}  // namespace
}  // namespace weir::session
