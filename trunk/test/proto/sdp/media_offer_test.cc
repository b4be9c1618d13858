#include "proto/sdp/media_offer.h"

#include <string>

#include <gtest/gtest.h>

#include "test/proto/sdp/support.h"

namespace weir::sdp {
namespace {

using media::Codec;
using test::parse_or_die;
using test::read_offer;

// A session of one m=video section with these lines.
Session section(const std::string& lines, const std::string& session_lines = "") {
    return parse_or_die("v=0\r\n" + session_lines + "m=video 9 UDP/TLS/RTP/SAVPF 96 97 98\r\n" +
                        lines);
}

MediaOffer media_of(const Session& session, size_t index = 0) {
    Result<MediaOffer> offer = read_media(session, session.media.at(index));
    EXPECT_TRUE(offer.ok());
    return offer.ok() ? std::move(offer).value() : MediaOffer();
}

TransportOffer transport_of(const Session& session, size_t index = 0) {
    Result<TransportOffer> offer = read_transport(session, session.media.at(index));
    EXPECT_TRUE(offer.ok()) << offer.error().to_string();
    return offer.ok() ? std::move(offer).value() : TransportOffer();
}

std::string transport_error(const Session& session) {
    return read_transport(session, session.media[0]).error().to_string();
}

TEST(SdpMediaOfferTest, ReadsChromiumsVideo) {
    const Session session = parse_or_die(read_offer("chromium-whip"));
    const MediaOffer video = media_of(session, 1);
    EXPECT_EQ(video.mid, "1");
    EXPECT_EQ(video.direction, Direction::kSendOnly);
    EXPECT_TRUE(video.rtcp_mux && video.reduced_size_rtcp && video.is_secure_rtp);
    EXPECT_FALSE(video.rejected);
    ASSERT_EQ(video.formats.size(), 12u);  // 10 codecs, red, ulpfec; rtx belongs to them
    EXPECT_EQ(video.formats[0].codec, Codec::kVp8);
    EXPECT_EQ(video.formats[0].rtx_payload_type, 97);
    EXPECT_EQ(video.formats[1].payload_type, 102);
    EXPECT_EQ(video.formats[1].codec, Codec::kH264);
    EXPECT_EQ(video.formats[1].rtx_payload_type, 103);
    EXPECT_EQ(video.formats[1].feedback, (Feedback{true, true, true, true, true}));
    EXPECT_EQ(video.formats[1].fmtp,
              "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f");
    EXPECT_EQ(video.ssrcs, (std::vector<RemoteSsrc>{{2374988436, 504261157}}));
    EXPECT_EQ(video.extensions.size(), 6u);
    EXPECT_TRUE(video.rids.empty());
}

TEST(SdpMediaOfferTest, ReadsSimulcastOfBrowsers) {
    const Session chromium = parse_or_die(read_offer("chromium-whip-simulcast"));
    const MediaOffer video = media_of(chromium, 1);
    ASSERT_EQ(video.rids.size(), 3u);
    EXPECT_EQ(video.rids[0], (Rid{"h", true, {}}));
    EXPECT_EQ(video.rids[2].id, "l");
    EXPECT_TRUE(video.ssrcs.empty());
    const Session firefox = parse_or_die(read_offer("firefox-whip-simulcast"));
    EXPECT_EQ(media_of(firefox, 1).rids.size(), 3u);
    EXPECT_EQ(media_of(firefox, 1).ssrcs,
              (std::vector<RemoteSsrc>{
                  {243922819, 2058361667}, {3840945755, 4263702986}, {898470436, 1869877183}}));
}

TEST(SdpMediaOfferTest, ReadsRidsOnlyInSimulcastAndOnce) {
    const char* rids = "a=rid:a send\r\na=rid:b send pt=96\r\na=rid:c recv\r\n";
    EXPECT_TRUE(media_of(section(rids)).rids.empty());
    const MediaOffer offer =
        media_of(section(std::string(rids) + "a=simulcast:send b;a;b;c;d recv c\r\n"));
    ASSERT_EQ(offer.rids.size(), 2u);
    EXPECT_EQ(offer.rids[0], (Rid{"b", true, {96}}));
    EXPECT_EQ(offer.rids[1].id, "a");
}

TEST(SdpMediaOfferTest, TakesPortZeroOfABundleAsNoRejection) {
    const Session session = parse_or_die(read_offer("gstreamer-whip"));
    ASSERT_EQ(session.media[1].port, 0);
    EXPECT_FALSE(media_of(session, 1).rejected);
    EXPECT_TRUE(media_of(parse_or_die("v=0\r\nm=audio 0 UDP/TLS/RTP/SAVPF 0\r\n")).rejected);
}

TEST(SdpMediaOfferTest, InheritsFromTheSession) {
    const Session pion = parse_or_die(read_offer("pion-whep"));
    EXPECT_EQ(transport_of(pion, 1).fingerprints.size(), 1u);
    EXPECT_EQ(media_of(section("", "a=recvonly\r\n")).direction, Direction::kRecvOnly);
    EXPECT_EQ(media_of(section("a=sendonly\r\n", "a=recvonly\r\n")).direction,
              Direction::kSendOnly);
    EXPECT_EQ(media_of(section("")).direction, Direction::kSendRecv);
    const TransportOffer transport =
        transport_of(section("a=ice-ufrag:mine\r\n",
                             "a=ice-ufrag:session\r\na=ice-pwd:0123456789012345678901\r\n"
                             "a=setup:active\r\na=ice-options:ice2,trickle\r\n"));
    EXPECT_EQ(transport.ice_ufrag, "mine");
    EXPECT_EQ(transport.ice_pwd, "0123456789012345678901");
    EXPECT_EQ(transport.setup, Setup::kActive);
    EXPECT_TRUE(transport.trickle);
    EXPECT_FALSE(transport.ice_lite || transport.renomination || transport.end_of_candidates);
}

TEST(SdpMediaOfferTest, ReadsTransports) {
    const TransportOffer firefox = transport_of(parse_or_die(read_offer("firefox-whip")));
    EXPECT_EQ(firefox.ice_ufrag.size(), 8u);
    EXPECT_EQ(firefox.ice_pwd.size(), 32u);
    EXPECT_TRUE(firefox.trickle && firefox.end_of_candidates);
    EXPECT_EQ(firefox.setup, Setup::kActPass);
    ASSERT_EQ(firefox.candidates.size(), 8u);
    EXPECT_TRUE(firefox.candidates[0].starts_with("0 1 UDP 2122187007 "));
    const TransportOffer aiortc = transport_of(parse_or_die(read_offer("aiortc-whip")));
    ASSERT_EQ(aiortc.fingerprints.size(), 3u);
    EXPECT_EQ(aiortc.fingerprints[2].hash, "sha-512");
    EXPECT_TRUE(transport_of(section("", "a=ice-lite\r\n")).ice_lite);
    EXPECT_TRUE(transport_of(section("a=ice-options:trickle renomination\r\n")).renomination);
}

TEST(SdpMediaOfferTest, RefusesMalformedTransports) {
    EXPECT_EQ(transport_error(section("a=ice-ufrag:abc\r\n")),
              "malformed: a=ice-ufrag is not 4 to 256 ice characters");
    EXPECT_EQ(transport_error(section("a=ice-ufrag:ab:c\r\n")),
              "malformed: a=ice-ufrag is not 4 to 256 ice characters");
    EXPECT_EQ(transport_error(section("a=ice-pwd:012345678901234567890\r\n")),
              "malformed: a=ice-pwd is not 22 to 256 ice characters");
    EXPECT_EQ(transport_error(section("a=ice-pwd:" + std::string(257, 'x') + "\r\n")),
              "malformed: a=ice-pwd is not 22 to 256 ice characters");
    EXPECT_EQ(transport_error(section("a=fingerprint:sha-256 12:34\r\n")),
              "malformed: a=fingerprint is not a hash name and its bytes");
    EXPECT_EQ(transport_error(section("a=setup:both\r\n")),
              "malformed: a=setup is none of actpass, active, passive");
}

TEST(SdpMediaOfferTest, BoundsCandidatesAndSsrcs) {
    std::string lines;
    for (size_t i = 0; i < 100; i++) {
        lines += "a=candidate:" + std::to_string(i) +
                 " 1 udp 1 192.0.2.1 1 typ host\r\na=ssrc:" + std::to_string(i) + " cname:x\r\n";
    }
    lines += "a=candidate:" + std::string(kMaxCandidateBytes + 1, 'x') + "\r\n";
    const Session session = section(lines);
    EXPECT_EQ(transport_of(session).candidates.size(), kMaxCandidates);
    EXPECT_EQ(media_of(session).ssrcs.size(), kMaxSsrcs);
}

TEST(SdpMediaOfferTest, ListsTheStreamsThatAreNotForRepair) {
    const MediaOffer offer = media_of(
        section("a=ssrc-group:FID 1 2\r\na=ssrc-group:FEC-FR 1 3\r\na=ssrc-group:SIM 1 4\r\n"
                "a=ssrc:1 cname:x\r\na=ssrc:1 msid:x\r\na=ssrc:2 cname:x\r\na=ssrc:3 cname:x\r\n"
                "a=ssrc:4 cname:x\r\na=ssrc:x cname:x\r\n"));
    EXPECT_EQ(offer.ssrcs, (std::vector<RemoteSsrc>{{1, 2}, {4, 0}}));
}

TEST(SdpMediaOfferTest, JoinsFeedbackForAllAndForOne) {
    const MediaOffer offer =
        media_of(section("a=rtpmap:96 VP8/90000\r\na=rtpmap:97 VP9/90000\r\na=rtcp-fb:* "
                         "nack\r\na=rtcp-fb:97 nack pli\r\n"));
    ASSERT_EQ(offer.formats.size(), 2u);
    EXPECT_EQ(offer.formats[0].feedback, (Feedback{true, false, false, false, false}));
    EXPECT_EQ(offer.formats[1].feedback, (Feedback{true, true, false, false, false}));
}

TEST(SdpMediaOfferTest, TakesEachPayloadTypeOnce) {
    const Session session = parse_or_die(
        "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0 96 0 96 8 200 x 97 98 99\r\na=rtpmap:96 "
        "opus/48000/2\r\n"
        "a=rtpmap:96 VP8/90000\r\na=rtpmap:97 rtx/48000\r\na=fmtp:97 apt=96\r\na=rtpmap:98 "
        "rtx/8000\r\n"
        "a=fmtp:98 apt=x\r\n");
    const MediaOffer offer = media_of(session);
    ASSERT_EQ(offer.formats.size(), 3u);
    EXPECT_EQ(offer.formats[0].codec, Codec::kG711U);
    EXPECT_EQ(offer.formats[1].codec, Codec::kOpus);
    EXPECT_EQ(offer.formats[1].channels, 2);
    EXPECT_EQ(offer.formats[1].rtx_payload_type, 97);
    EXPECT_EQ(offer.formats[2].codec, Codec::kG711A);
    EXPECT_EQ(offer.formats[2].clock_hz, 8000u);
}

TEST(SdpMediaOfferTest, TakesLargeExtensionIdsOnlyWhereFormsMix) {
    const std::string lines = "a=extmap:14 " + std::string(uri_of(Extension::kMid)) +
                              "\r\na=extmap:15 " + std::string(uri_of(Extension::kRid)) +
                              "\r\na=extmap:16 " + std::string(uri_of(Extension::kTransportCc)) +
                              "\r\na=extmap:14 " + std::string(uri_of(Extension::kAbsSendTime)) +
                              "\r\na=extmap:4096 " + std::string(uri_of(Extension::kPlayoutDelay)) +
                              "\r\na=extmap:3 " + std::string(uri_of(Extension::kMid)) + "\r\n";
    EXPECT_EQ(media_of(section(lines)).extensions,
              (std::vector<OfferedExtension>{{Extension::kMid, 14, std::nullopt}}));
    EXPECT_EQ(media_of(section(lines, "a=extmap-allow-mixed\r\n")).extensions,
              (std::vector<OfferedExtension>{{Extension::kMid, 14, std::nullopt},
                                             {Extension::kTransportCc, 16, std::nullopt}}));
}

TEST(SdpMediaOfferTest, RefusesAMidThatIsNoToken) {
    const Session session = section("a=mid:a b\r\n");
    EXPECT_EQ(read_media(session, session.media[0]).error().code(), ErrorCode::kMalformed);
}

}  // namespace
}  // namespace weir::sdp
