// Lead-ins of players that are made with libavformat, over real sockets.
#include "session/rtsp/rtsp_lead_in.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/rtp/header.h"
#include "proto/rtp/lead_in.h"
#include "proto/rtsp/header_values.h"

#include "test/session/rtsp/rtsp_world.h"

namespace weir::session {
namespace {

using testing::StartsWith;

constexpr std::string_view kLavf = "User-Agent: Lavf59.27.100\r\n";

class RtspLeadInTest : public RtspWorld {
  protected:
    // What a player got first.
    struct Played {
        rtsp::RtpInfo video;  // of the answer to PLAY
        std::vector<Bytes> packets;
    };

    // Has set up the video by that Transport field.
    std::unique_ptr<RtspPeer> set_up(std::string_view transport) {
        auto peer = std::make_unique<RtspPeer>(address_);
        EXPECT_THAT(peer->ask("SETUP", url_ + "/trackID=0", transport),
                    StartsWith("RTSP/1.0 200 "));
        return peer;
    }

    rtsp::RtpInfo play(RtspPeer& peer, std::string_view fields) {
        const std::string answer = peer.ask("PLAY", url_, fields);
        EXPECT_THAT(answer, StartsWith("RTSP/1.0 200 "));
        const size_t at = answer.find("RTP-Info: ");
        const size_t begin = at == std::string::npos ? answer.size() : at + 10;
        const auto infos = rtsp::parse_rtp_info(
            std::string_view(answer).substr(begin, answer.find('\r', begin) - begin));
        return infos.size() == 1 ? infos[0] : rtsp::RtpInfo();
    }

    Played play_by_tcp(std::string_view fields) {
        auto peer = set_up(kVideoByTcp);
        Played played{play(*peer, fields), {}};
        for (int i = 0; i < 2; i++) {
            played.packets.push_back(peer->frame(0));
        }
        return played;
    }

    Played play_by_udp(std::string_view fields) {
        const RtspUdpClient ports;
        auto peer = set_up(ports.transport());
        Played played{play(*peer, fields), {}};
        EXPECT_TRUE(io::eventually([&] {
            ports.rtp->receive([&](std::span<uint8_t> packet, const io::UdpPath&) {
                played.packets.emplace_back(packet.begin(), packet.end());
            });
            return played.packets.size() >= 2;
        }));
        EXPECT_THAT(peer->ask("TEARDOWN", url_), StartsWith("RTSP/1.0 200 "));
        return played;
    }

    // The first packet is the one that RTP-Info names, and is the lead-in or is not.
    static void expect_first(const Played& played, bool lead_in) {
        ASSERT_GE(played.packets.size(), 2U);
        const auto first = rtp::PacketView::parse(played.packets[0]);
        const auto second = rtp::PacketView::parse(played.packets[1]);
        ASSERT_TRUE(first && second);
        EXPECT_EQ(played.video.seq, first->sequence());
        EXPECT_EQ(played.video.rtptime, (lead_in ? second : first)->timestamp());
        const Bytes payload = rtp::make_lead_in(media::Codec::kH264, test::kAvcHighConfig);
        ASSERT_FALSE(payload.empty());
        EXPECT_EQ(std::ranges::equal(first->payload(), payload), lead_in);
        if (lead_in) {
            EXPECT_TRUE(first->marker());
            EXPECT_EQ(static_cast<uint16_t>(first->sequence() + 1), second->sequence());
            EXPECT_EQ(first->timestamp() + rtp::kLeadInTicks, second->timestamp());
            EXPECT_EQ(first->ssrc(), second->ssrc());
            EXPECT_EQ(first->payload_type(), second->payload_type());
        }
    }

    void expect_first_by_both(std::string_view fields, bool lead_in) {
        {
            SCOPED_TRACE("TCP");
            expect_first(play_by_tcp(fields), lead_in);
        }
        SCOPED_TRACE("UDP");
        expect_first(play_by_udp(fields), lead_in);
    }
};

TEST_F(RtspLeadInTest, IsInFrontOfReorderedVideo) {
    auto encoder = this->encoder();
    encoder->config(media::Codec::kH264, test::kAvcHighConfig);
    encoder->frame(true);
    encoder->frame(false);
    expect_first_by_both(kLavf, true);
    end(std::move(encoder));
}

TEST_F(RtspLeadInTest, IsForNoOtherPlayer) {
    auto encoder = this->encoder();
    encoder->config(media::Codec::kH264, test::kAvcHighConfig);
    encoder->frame(true);
    encoder->frame(false);
    expect_first_by_both("", false);
    expect_first_by_both("User-Agent: GStreamer/1.22.0\r\n", false);
    expect_first_by_both("User-Agent: not Lavf\r\n", false);
    end(std::move(encoder));
}

TEST_F(RtspLeadInTest, IsNotThereForVideoInTheOrderOfDecoding) {
    auto encoder = this->encoder();
    encoder->frame(true);
    encoder->frame(false);
    expect_first_by_both(kLavf, false);
    end(std::move(encoder));
}

TEST_F(RtspLeadInTest, ComesAgainAfterAPause) {
    auto encoder = this->encoder();
    encoder->config(media::Codec::kH264, test::kAvcHighConfig);
    encoder->frame(true);
    encoder->frame(false);
    auto peer = set_up(kVideoByTcp);
    expect_first({play(*peer, kLavf), {peer->frame(0), peer->frame(0)}}, true);
    EXPECT_THAT(peer->ask("PAUSE", url_), StartsWith("RTSP/1.0 200 "));
    expect_first({play(*peer, kLavf), {peer->frame(0), peer->frame(0)}}, true);
    peer.reset();
    end(std::move(encoder));
}

TEST(RtspLeadInPacketTest, NumbersAndTimesWrap) {
    const Bytes packet = rtsp_lead_in_packet({96, false, 0, 10, 0x01020304}, test::from_hex("ff"));
    EXPECT_EQ(packet, test::from_hex("80e0ffffffffffb001020304ff"));
}

}  // namespace
}  // namespace weir::session
