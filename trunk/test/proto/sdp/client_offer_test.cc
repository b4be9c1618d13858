#include "proto/sdp/client_offer.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "test/proto/sdp/support.h"

namespace weir::sdp {
namespace {

using media::Codec;
using media::TrackKind;

ClientOffer player_offer() {
    ClientOffer offer;
    offer.ice_ufrag = "abcdefgh";
    offer.ice_pwd = "abcdefghijklmnopqrstuvwx";
    offer.fingerprint = {"sha-256", std::vector<uint8_t>(32, 0x1F)};
    return offer;
}

LocalTransport server() {
    LocalTransport local;
    local.ice_ufrag = "serverua";
    local.ice_pwd = "serverpasswordserverpass";
    local.fingerprint = {"sha-256", std::vector<uint8_t>(32, 0xAB)};
    local.candidates = {"1 1 tcp 2105458943 192.0.2.7 8000 typ host tcptype passive",
                        "2 1 udp 2130706431 192.0.2.7 8000 typ host"};
    local.session_id = "17";
    local.cname = "weir";
    return local;
}

// This server's own answer, H.264 and Opus.
Result<Answer> answer_of(const ClientOffer& offer) {
    WEIR_TRY_ASSIGN(const Session session, Session::parse(offer.write()));
    if (offer.sends) {
        return answer_publisher(session, server(), {});
    }
    PlayerOptions options;
    options.video.codecs = {{Codec::kH264, 0x42C028, 0, 2}};
    options.video.ssrc = 7001;
    options.video.rtx_ssrc = 7002;
    options.audio.codecs = {{Codec::kOpus, 0, 0, 2}};
    options.audio.ssrc = 7003;
    return answer_player(session, server(), options);
}

std::string answer_text() {
    const Result<Answer> answer = answer_of(player_offer());
    return answer.ok() ? answer->text : std::string(answer.error().message());
}

// Of another server: full ICE, everything in the sections, in the other order.
constexpr std::string_view kOther =
    "v=0\r\n"
    "o=- 5 2 IN IP4 127.0.0.1\r\n"
    "s=-\r\n"
    "t=0 0\r\n"
    "a=group:BUNDLE 1 0\r\n"
    "m=video 9 UDP/TLS/RTP/SAVPF 100 101 96 97\r\n"
    "c=IN IP4 0.0.0.0\r\n"
    "a=mid:1\r\n"
    "a=sendonly\r\n"
    "a=ice-ufrag:EsAw\r\n"
    "a=ice-pwd:bP+XJMM09aR8AiX1jdukzR6Y\r\n"
    "a=fingerprint:sha-256 "
    "00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:"
    "10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1F\r\n"
    "a=setup:active\r\n"
    "a=rtcp-mux\r\n"
    "a=rtpmap:100 VP8/90000\r\n"
    "a=rtcp-fb:100 nack\r\n"
    "a=rtcp-fb:100 goog-remb\r\n"
    "a=rtcp-fb:100 nack pli\r\n"
    "a=rtpmap:101 rtx/90000\r\n"
    "a=fmtp:101 apt=100\r\n"
    "a=rtpmap:96 H264/90000\r\n"
    "a=rtpmap:97 rtx/90000\r\n"
    "a=fmtp:97 apt=96\r\n"
    "a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n"
    "a=candidate:1 1 udp 2130706431 192.0.2.9 50000 typ host\r\n"
    "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n"
    "c=IN IP4 0.0.0.0\r\n"
    "a=mid:0\r\n"
    "a=sendrecv\r\n"
    "a=ice-ufrag:EsAw\r\n"
    "a=ice-pwd:bP+XJMM09aR8AiX1jdukzR6Y\r\n"
    "a=rtcp-mux\r\n"
    "a=candidate:1 1 udp 2130706431 192.0.2.9 50000 typ host\r\n"
    "a=candidate:2 1 udp 1694498815 198.51.100.3 50000 typ srflx raddr 192.0.2.9 rport 50000\r\n";

std::string changed(std::string text, std::string_view what, std::string_view by) {
    EXPECT_NE(text.find(what), std::string::npos) << what;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
        text.replace(at, what.size(), by);
        at += by.size();
    }
    return text;
}

TEST(ClientOfferTest, APublishersOfferIsThis) {
    ClientOffer offer = player_offer();
    offer.sends = true;
    offer.nack = false;
    offer.transport_cc = false;
    offer.cname = "me";
    offer.session_id = "42";
    offer.candidates = {"1 1 udp 2130706431 192.0.2.1 5000 typ host"};
    offer.audio = ClientTrack{Codec::kG711A, "", 13, 0};
    std::string fingerprint = "1F";
    for (int i = 1; i < 32; i++) {
        fingerprint += ":1F";
    }
    EXPECT_EQ(
        offer.write(),
        "v=0\r\no=- 42 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n"
        "a=extmap-allow-mixed\r\n"
        "m=audio 9 UDP/TLS/RTP/SAVPF 8\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=sendonly\r\n"
        "a=ice-ufrag:abcdefgh\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\na=fingerprint:sha-256 " +
            fingerprint +
            "\r\na=setup:actpass\r\na=rtcp-mux\r\na=rtcp-rsize\r\na=rtpmap:8 PCMA/8000\r\n"
            "a=msid:me me\r\na=ssrc:13 cname:me\r\n"
            "a=candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host\r\n"
            "a=end-of-candidates\r\n");
}

TEST(ClientOfferTest, APlayerOffersAllThatIsUnderstood) {
    ClientOffer offer = player_offer();
    offer.mid = true;
    const auto session = Session::parse(offer.write());
    ASSERT_TRUE(session.ok()) << session.error().message();
    ASSERT_EQ(session->media.size(), 2U);
    std::vector<bool> used(128);
    for (const Media& media : session->media) {
        const auto section = read_media(*session, media);
        ASSERT_TRUE(section.ok());
        EXPECT_EQ(section->direction, Direction::kRecvOnly);
        EXPECT_TRUE(section->rtcp_mux && section->reduced_size_rtcp && section->is_secure_rtp);
        EXPECT_EQ(section->extensions.size(), 2U);
        for (const PayloadFormat& format : section->formats) {
            const bool video = media.kind == "video";
            EXPECT_NE(format.codec, Codec::kUnknown);
            EXPECT_EQ(format.feedback, (Feedback{video, video, video, true, false})) << format.name;
            EXPECT_EQ(format.rtx_payload_type.has_value(), video);
            EXPECT_NE(choose_for_receiving(format.codec, section->formats), nullptr);
        }
        for (const std::string& text : media.formats) {  // one number means one thing in a bundle
            const size_t number = std::stoul(text);
            ASSERT_LT(number, used.size());
            EXPECT_FALSE(used[number]) << number;
            used[number] = true;
        }
    }
}

TEST(ClientOfferTest, TheServersAnswerToAPlayerIsUnderstood) {
    const auto answer = read_answer(answer_text(), player_offer());
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    EXPECT_EQ(answer->remote.ice_ufrag, "serverua");
    EXPECT_EQ(answer->remote.ice_pwd, "serverpasswordserverpass");
    EXPECT_EQ(answer->remote.candidates, server().candidates);
    EXPECT_EQ(answer->remote.fingerprint_sha256[31], 0xAB);
    EXPECT_TRUE(answer->remote.dtls_client);
    const NegotiatedMedia* video = answer->find(TrackKind::kVideo);
    ASSERT_NE(video, nullptr);
    EXPECT_EQ(video->codec, Codec::kH264);
    ASSERT_EQ(video->remote_ssrcs.size(), 1U);
    EXPECT_EQ(video->remote_ssrcs[0], (RemoteSsrc{7001, 7002}));
    EXPECT_TRUE(video->rtx_payload_type.has_value());
    EXPECT_TRUE(video->feedback.nack && video->feedback.pli && video->feedback.transport_cc);
    EXPECT_EQ(video->extensions[Extension::kTransportCc], kOfferedTransportCcId);
    EXPECT_EQ(video->direction, Direction::kRecvOnly);
    const NegotiatedMedia* audio = answer->find(TrackKind::kAudio);
    ASSERT_NE(audio, nullptr);
    EXPECT_EQ(audio->codec, Codec::kOpus);
    EXPECT_EQ(audio->clock_hz, 48'000U);
}

TEST(ClientOfferTest, WhatIsNotWantedIsNotOffered) {
    ClientOffer offer = player_offer();
    offer.nack = false;
    offer.transport_cc = false;
    const auto text = answer_of(offer);
    ASSERT_TRUE(text.ok()) << text.error().message();
    const auto answer = read_answer(text->text, offer);
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    const NegotiatedMedia* video = answer->find(TrackKind::kVideo);
    ASSERT_NE(video, nullptr);
    EXPECT_FALSE(video->feedback.nack || video->feedback.transport_cc);
    EXPECT_FALSE(video->rtx_payload_type.has_value());
    EXPECT_EQ(video->remote_ssrcs[0].rtx_ssrc, 0U);
    EXPECT_EQ(video->extensions, ExtensionIds());
}

TEST(ClientOfferTest, APublishersOfferIsAnswered) {
    ClientOffer offer = player_offer();
    offer.sends = true;
    offer.video = ClientTrack{Codec::kH264, "", 11, 12};
    offer.audio = ClientTrack{Codec::kOpus, "", 13, 0};
    const auto text = answer_of(offer);
    ASSERT_TRUE(text.ok()) << text.error().message();
    ASSERT_EQ(text->find(TrackKind::kVideo)->remote_ssrcs.size(), 1U);
    EXPECT_EQ(text->find(TrackKind::kVideo)->remote_ssrcs[0], (RemoteSsrc{11, 12}));
    const auto answer = read_answer(text->text, offer);
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    ASSERT_EQ(answer->media.size(), 2U);
    EXPECT_EQ(answer->media[0].direction, Direction::kSendOnly);
}

TEST(ClientOfferTest, OfSeveralFormatsEachMayCome) {
    const auto answer = read_answer(kOther, player_offer());
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    ASSERT_EQ(answer->media.size(), 3U);
    EXPECT_EQ(answer->media[0].codec, Codec::kVp8);
    EXPECT_EQ(answer->media[0].payload_type, 100);
    EXPECT_EQ(answer->media[0].rtx_payload_type, 101);
    EXPECT_EQ(answer->media[0].feedback, (Feedback{true, true, false, false, false}));
    EXPECT_EQ(answer->media[1].codec, Codec::kH264);
    EXPECT_FALSE(answer->media[1].rtx_payload_type.has_value())
        << "no NACK, so nothing asks for it";
    EXPECT_EQ(answer->find(TrackKind::kVideo), &answer->media[0]);
    EXPECT_EQ(answer->media[2].codec, Codec::kG711U);
    EXPECT_EQ(answer->media[2].clock_hz, 8'000U);
}

TEST(ClientOfferTest, TheTransportIsThatOfTheBundle) {
    const auto answer = read_answer(kOther, player_offer());
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    EXPECT_EQ(answer->remote.ice_ufrag, "EsAw");
    EXPECT_FALSE(answer->remote.dtls_client) << "the server begins";
    EXPECT_EQ(answer->remote.fingerprint_sha256[31], 0x1F);
    EXPECT_EQ(answer->remote.candidates.size(), 2U) << "of both sections, each once";
}

TEST(ClientOfferTest, ARejectedSectionIsNotInUse) {
    for (const auto& [what, by] :
         {std::pair("m=audio 9", "m=audio 0"), std::pair("a=sendrecv", "a=inactive"),
          std::pair("a=sendrecv", "a=recvonly")}) {
        const auto answer = read_answer(changed(std::string(kOther), what, by), player_offer());
        ASSERT_TRUE(answer.ok()) << answer.error().message();
        EXPECT_EQ(answer->find(TrackKind::kAudio), nullptr) << by;
        EXPECT_NE(answer->find(TrackKind::kVideo), nullptr) << by;
    }
}

TEST(ClientOfferTest, TheTransportMayBeInASectionThatIsNotInUse) {
    const auto session = Session::parse(player_offer().write());
    ASSERT_TRUE(session.ok());
    PlayerOptions options;
    options.video.codecs = {{Codec::kVp8, 0, 0, 2}};
    options.video.ssrc = 7001;
    const auto text = answer_player(*session, server(), options);
    ASSERT_TRUE(text.ok()) << text.error().message();
    const auto answer = read_answer(text->text, player_offer());
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    EXPECT_EQ(answer->find(TrackKind::kAudio), nullptr);
    EXPECT_EQ(answer->remote.candidates, server().candidates) << "they are in that of audio";
}

TEST(ClientOfferTest, NumbersThatWereNotOfferedAreNotTaken) {
    const std::string other = changed(std::string(kOther), "96", "120");
    const auto answer = read_answer(other, player_offer());
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    ASSERT_EQ(answer->media.size(), 2U);
    const auto swapped = read_answer(
        changed(std::string(kOther), "100 VP8/90000", "100 H264/90000"), player_offer());
    ASSERT_TRUE(swapped.ok());
    EXPECT_EQ(swapped->media[0].payload_type, 96) << "100 was offered as VP8";
}

TEST(ClientOfferTest, FormatsAreBounded) {
    std::string text(kOther);
    std::string more;
    for (int i = 0; i < 100; i++) {
        more += fmt::format("m=text{} 9 UDP/TLS/RTP/SAVPF 96\r\n", i);
    }
    EXPECT_FALSE(read_answer(text + more, player_offer()).ok()) << "too many m= lines";
    const auto answer = read_answer(text, player_offer());
    ASSERT_TRUE(answer.ok());
    EXPECT_LE(answer->media.size(), kMaxAnsweredFormats);
}

TEST(ClientOfferTest, ATextThatEndsAnywhereIsNoHarm) {
    const std::string text = answer_text();
    for (size_t size = 0; size < text.size(); size++) {
        const auto answer = read_answer(std::string_view(text).substr(0, size), player_offer());
        if (answer.ok()) {
            EXPECT_FALSE(answer->media.empty()) << size;
            EXPECT_FALSE(answer->remote.ice_pwd.empty()) << size;
        } else {
            EXPECT_FALSE(answer.error().message().empty()) << size;
        }
    }
}

struct Broken {
    std::string_view what;
    std::string_view instead;
    std::string_view said;
};

class BrokenAnswerTest : public testing::TestWithParam<Broken> {};

TEST_P(BrokenAnswerTest, IsRefusedWithTheReason) {
    const std::string text = changed(answer_text(), GetParam().what, GetParam().instead);
    const auto answer = read_answer(text, player_offer());
    ASSERT_FALSE(answer.ok());
    EXPECT_NE(answer.error().message().find(GetParam().said), std::string_view::npos)
        << answer.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    All,
    BrokenAnswerTest,
    testing::Values(Broken{"v=0", "v=1", "not SDP"},
                    Broken{"v=0", "<html>", "line 1"},
                    Broken{"a=fingerprint:sha-256", "a=fingerprint:sha-512", "not a hash name"},
                    Broken{"a=fingerprint", "a=nothing", "no SHA-256 fingerprint"},
                    Broken{"a=ice-ufrag", "a=nothing", "no a=ice-ufrag"},
                    Broken{"a=ice-pwd:serverpasswordserverpass", "a=ice-pwd:short", "ice-pwd"},
                    Broken{"a=setup:passive", "a=setup:holdconn", "holdconn"},
                    Broken{"a=rtcp-mux", "a=nothing", "a=rtcp-mux"},
                    Broken{"UDP/TLS/RTP/SAVPF", "RTP/AVP", "SRTP"},
                    Broken{"H264/90000", "H263/90000", "no codec that was offered"},
                    Broken{"m=", "m=x", "takes no media section"},
                    Broken{"a=sendonly", "a=inactive", "audio is inactive, video is inactive"}));

TEST(ClientOfferTest, AnotherHashAloneIsRefusedByName) {
    std::string hash = "sha-512 00";
    for (int i = 1; i < 64; i++) {
        hash += ":00";
    }
    const std::string text(kOther);
    const size_t at = text.find("sha-256");
    const size_t end = text.find("\r\n", at);
    const auto answer = read_answer(text.substr(0, at) + hash + text.substr(end), player_offer());
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().message(), "the answer has no SHA-256 fingerprint (but sha-512)");
    const auto both = read_answer(
        text.substr(0, at) + hash + "\r\na=fingerprint:" + text.substr(at), player_offer());
    ASSERT_TRUE(both.ok()) << both.error().message();
    EXPECT_EQ(both->remote.fingerprint_sha256[31], 0x1F);
}

TEST(ClientOfferTest, ATransportForEachMediaIsRefused) {
    std::string text(kOther);
    const size_t at = text.rfind("EsAw");
    const auto answer = read_answer(text.replace(at, 4, "Else"), player_offer());
    ASSERT_FALSE(answer.ok());
    EXPECT_NE(answer.error().message().find("BUNDLE"), std::string_view::npos);
}

}  // namespace
}  // namespace weir::sdp
