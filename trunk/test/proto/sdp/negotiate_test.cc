// What is the same for publishers and players: transport, bundle, refusals, the text.
#include "proto/sdp/negotiate.h"

#include <string>

#include <gtest/gtest.h>

#include "test/proto/sdp/support.h"

namespace weir::sdp {
namespace {

using media::Codec;
using media::TrackKind;
using test::play;
using test::publish;
using test::read_offer;
using test::replaced;

// A publisher of one VP8 section, the least that WebRTC allows.
const std::string kMinimal =
    "v=0\r\n"
    "o=- 1 1 IN IP4 0.0.0.0\r\n"
    "s=-\r\n"
    "t=0 0\r\n"
    "a=group:BUNDLE v\r\n"
    "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n"
    "c=IN IP4 0.0.0.0\r\n"
    "a=ice-ufrag:abcd\r\n"
    "a=ice-pwd:0123456789012345678901\r\n"
    "a=fingerprint:sha-256 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:"
    "10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1F\r\n"
    "a=setup:actpass\r\n"
    "a=mid:v\r\n"
    "a=sendonly\r\n"
    "a=rtcp-mux\r\n"
    "a=rtpmap:96 VP8/90000\r\n";

std::string refusal(const std::string& offer) {
    const Result<Answer> answer = publish(offer);
    return answer.ok() ? "" : answer.error().to_string();
}

TEST(SdpNegotiateTest, WritesTheWholeAnswer) {
    const Result<Answer> answer = publish(kMinimal);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->text,
              "v=0\r\n"
              "o=- 42 1 IN IP4 127.0.0.1\r\n"
              "s=-\r\n"
              "t=0 0\r\n"
              "a=group:BUNDLE v\r\n"
              "a=ice-lite\r\n"
              "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n"
              "c=IN IP4 0.0.0.0\r\n"
              "a=mid:v\r\n"
              "a=recvonly\r\n"
              "a=ice-ufrag:weir\r\n"
              "a=ice-pwd:0123456789abcdefghijklmn\r\n"
              "a=fingerprint:sha-256 00:08:10:18:20:28:30:38:40:48:50:58:60:68:70:78:"
              "80:88:90:98:A0:A8:B0:B8:C0:C8:D0:D8:E0:E8:F0:F8\r\n"
              "a=setup:passive\r\n"
              "a=rtcp-mux\r\n"
              "a=rtpmap:96 VP8/90000\r\n"
              "a=candidate:1 1 udp 2130706431 192.0.2.1 8000 typ host\r\n"
              "a=end-of-candidates\r\n");
}

TEST(SdpNegotiateTest, TakesTheTransportOfThePeer) {
    const Result<Answer> answer = publish(kMinimal);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->remote.ice_ufrag, "abcd");
    EXPECT_EQ(answer->remote.ice_pwd, "0123456789012345678901");
    EXPECT_EQ(answer->remote.fingerprint_sha256[31], 0x1F);
    EXPECT_FALSE(answer->remote.dtls_client || answer->remote.trickle);
    EXPECT_TRUE(answer->remote.candidates.empty());
}

TEST(SdpNegotiateTest, IsTheDtlsClientOnlyOfAPeerThatInsists) {
    const struct {
        const char* offered;
        const char* answered;
    } cases[] = {{"actpass", "passive"}, {"active", "passive"}, {"passive", "active"}};

    for (const auto& c : cases) {
        const Result<Answer> answer =
            publish(replaced(kMinimal, "setup:actpass", std::string("setup:") + c.offered));
        ASSERT_TRUE(answer.ok());
        EXPECT_NE(answer->text.find(std::string("a=setup:") + c.answered + "\r\n"),
                  std::string::npos);
        EXPECT_EQ(answer->remote.dtls_client, std::string(c.answered) == "active");
    }
    EXPECT_TRUE(publish(replaced(kMinimal, "a=setup:actpass\r\n", "")).ok());
}

TEST(SdpNegotiateTest, RefusesWhatCannotBeWithAReason) {
    const struct {
        const char* what;
        const char* by;
        const char* error;
    } cases[] = {
        {"a=rtcp-mux\r\n", "", "unsupported: video (mid v): a=rtcp-mux is needed"},
        {"UDP/TLS/RTP/SAVPF", "RTP/AVP",
         "unsupported: video (mid v): the protocol RTP/AVP is not SRTP over DTLS "
         "(UDP/TLS/RTP/SAVPF)"},
        {"VP8/90000", "H263/90000",
         "unsupported: video (mid v): no common codec: the offer has H263, this server takes H264, "
         "H265, VP8, VP9, AV1"},
        {"a=rtpmap:96 VP8/90000\r\n", "",
         "unsupported: video (mid v): no common codec: the offer has nothing, this server takes "
         "H264, "
         "H265, VP8, VP9, AV1"},
        {"a=ice-pwd:0123456789012345678901\r\n", "",
         "unsupported: the offer has no a=ice-ufrag and a=ice-pwd"},
        {"t=0 0\r\n", "t=0 0\r\na=ice-lite\r\n",
         "unsupported: the offer is of an ICE lite agent, as is this server: neither would begin "
         "(RFC 8445 2.5)"},
        {"setup:actpass", "setup:holdconn", "unsupported: a=setup:holdconn asks for no connection"},
        {"sha-256 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13:14:15:16:17:18:19:1A:"
         "1B:1C:1D:1E:1F",
         "sha-1 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13",
         "unsupported: a=fingerprint by sha-1: only sha-256 is supported"},
        {"a=fingerprint:", "a=x:",
         "unsupported: the offer has no a=fingerprint: without DTLS there is no WebRTC"},
        {"sha-256 00:01", "sha-256 00",
         "malformed: a=fingerprint is not a hash name and its bytes"},
        {"a=mid:v", "a=mid:v w", "malformed: a=mid is no token of at most 64 characters"},
        {"a=sendonly", "a=recvonly",
         "unsupported: nothing to publish in this offer: video (mid v): offered as recvonly"},
        {"m=video 9", "m=video 0",
         "unsupported: nothing to publish in this offer: video (mid v): the peer rejected it"},
        {"m=video", "m=text",
         "unsupported: nothing to publish in this offer: text (mid v): neither audio nor video"},
    };

    for (const auto& c : cases) {
        EXPECT_EQ(refusal(replaced(kMinimal, c.what, c.by)), c.error);
    }
    EXPECT_EQ(refusal("v=0\r\n"), "unsupported: the offer has no m= line");
}

TEST(SdpNegotiateTest, MapsErrorsToHttp) {
    EXPECT_EQ(http_status(make_error(ErrorCode::kMalformed, "x")), 400);
    EXPECT_EQ(http_status(make_error(ErrorCode::kLimit, "x")), 413);
    EXPECT_EQ(http_status(make_error(ErrorCode::kUnsupported, "x")), 422);
    EXPECT_EQ(http_status(make_error(ErrorCode::kInternal, "x")), 500);
}

TEST(SdpNegotiateTest, NeedsABundleForMoreThanOneSection) {
    EXPECT_EQ(refusal(replaced(read_offer("chromium-whip"), "a=group:BUNDLE 0 1\r\n", "")),
              "unsupported: audio (mid 0): all media have to be in one a=group:BUNDLE");
    EXPECT_EQ(refusal(replaced(read_offer("chromium-whip"), "BUNDLE 0 1", "BUNDLE 1")),
              "unsupported: audio (mid 0): all media have to be in one a=group:BUNDLE");
    const Result<Answer> single = publish(replaced(kMinimal, "a=group:BUNDLE v\r\n", ""));
    ASSERT_TRUE(single.ok());
    EXPECT_EQ(single->text.find("BUNDLE"), std::string::npos);
    const Result<Answer> nameless =
        publish(replaced(replaced(kMinimal, "a=group:BUNDLE v\r\n", ""), "a=mid:v\r\n", ""));
    ASSERT_TRUE(nameless.ok());
    EXPECT_EQ(nameless->text.find("a=mid"), std::string::npos);
    EXPECT_EQ(refusal(replaced(read_offer("chromium-whip"), "a=mid:1", "a=mid:0")),
              "malformed: two m= lines have the mid 0");
}

TEST(SdpNegotiateTest, KeepsThePlaceOfRejectedSections) {
    const Result<Answer> answer = publish(read_offer("chromium-datachannel"));
    ASSERT_TRUE(answer.ok());
    ASSERT_EQ(answer->media.size(), 3u);
    EXPECT_FALSE(answer->media[2].accepted);
    EXPECT_EQ(answer->media[2].refusal, "neither audio nor video");
    EXPECT_NE(answer->text.find("a=group:BUNDLE 0 1\r\n"), std::string::npos);
    EXPECT_TRUE(
        answer->text.ends_with("m=application 0 UDP/DTLS/SCTP webrtc-datachannel\r\n"
                               "c=IN IP4 0.0.0.0\r\na=mid:2\r\na=inactive\r\n"));
}

TEST(SdpNegotiateTest, TakesTheTransportOfTheFirstSectionThatIsNotRejected) {
    // The data channel comes first, with credentials that are not to be used.
    std::string offer = kMinimal;
    offer = replaced(offer, "BUNDLE v", "BUNDLE d v");
    offer = replaced(offer, "m=video 9",
                     "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:d\r\n"
                     "a=ice-ufrag:other\r\na=ice-pwd:xxxxxxxxxxxxxxxxxxxxxxxx\r\nm=video 9");
    const Result<Answer> answer = publish(offer);
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    EXPECT_EQ(answer->remote.ice_ufrag, "abcd");
    EXPECT_FALSE(answer->media[0].accepted);
    EXPECT_NE(answer->text.find("a=group:BUNDLE v\r\n"), std::string::npos);
}

TEST(SdpNegotiateTest, AnswersEveryStoredOffer) {
    for (const std::string& name : test::kPublishers) {
        const Result<Answer> answer = publish(read_offer(name));
        ASSERT_TRUE(answer.ok()) << name << ": " << answer.error().to_string();
        const NegotiatedMedia* video = answer->find(TrackKind::kVideo);
        const NegotiatedMedia* audio = answer->find(TrackKind::kAudio);
        ASSERT_TRUE(video && audio) << name;
        EXPECT_EQ(video->codec, name.starts_with("firefox") ? Codec::kVp8 : Codec::kH264) << name;
        EXPECT_EQ(audio->codec, Codec::kOpus) << name;
        EXPECT_EQ(video->direction, Direction::kRecvOnly) << name;
        EXPECT_FALSE(answer->remote.ice_ufrag.empty()) << name;
    }
    for (const std::string& name : test::kPlayers) {
        PlayerOptions options = test::player_options();
        options.video.codecs.push_back({Codec::kVp8, 0, 0, 0});
        const Result<Answer> answer = play(read_offer(name), options);
        ASSERT_TRUE(answer.ok()) << name << ": " << answer.error().to_string();
        const NegotiatedMedia* video = answer->find(TrackKind::kVideo);
        ASSERT_TRUE(video && answer->find(TrackKind::kAudio)) << name;
        EXPECT_EQ(video->direction, Direction::kSendOnly) << name;
        EXPECT_EQ(video->send_codec, video->codec == Codec::kH264 ? 0u : 1u) << name;
    }
}

// An answer is SDP, with as many sections as the offer, and what it says is what the structs say.
TEST(SdpNegotiateTest, GivesAnswersThatReadBack) {
    for (const std::string& name : test::kPublishers) {
        const Session offer = test::parse_or_die(read_offer(name));
        const Result<Answer> answer = publish(read_offer(name));
        ASSERT_TRUE(answer.ok());
        const Session text = test::parse_or_die(answer->text);
        ASSERT_EQ(text.media.size(), offer.media.size()) << name;
        for (size_t i = 0; i < text.media.size(); i++) {
            const NegotiatedMedia& media = answer->media[i];
            const Result<MediaOffer> read = read_media(text, text.media[i]);
            ASSERT_TRUE(read.ok());
            EXPECT_EQ(text.media[i].kind, offer.media[i].kind);
            EXPECT_EQ(text.media[i].protocol, offer.media[i].protocol);
            EXPECT_EQ(read->mid, media.mid);
            EXPECT_EQ(read->direction, media.direction);
            EXPECT_EQ(read->rejected, !media.accepted);
            if (media.accepted) {
                ASSERT_EQ(read->formats.size(), 1u);
                EXPECT_EQ(read->formats[0].payload_type, media.payload_type);
                EXPECT_EQ(read->formats[0].codec, media.codec);
                EXPECT_EQ(read->formats[0].rtx_payload_type, media.rtx_payload_type);
                EXPECT_EQ(read->formats[0].feedback, media.feedback);
                EXPECT_EQ(read->formats[0].fmtp, media.local_fmtp);
            }
        }
    }
}

TEST(SdpNegotiateTest, SurvivesEveryTruncatedOffer) {
    const std::string offer = read_offer("libdatachannel-whip");
    size_t answered = 0;
    for (size_t size = 0; size < offer.size(); size++) {
        const Result<Session> session = Session::parse(std::string_view(offer).substr(0, size));
        if (session.ok()) {
            if (answer_publisher(*session, test::local_transport(), {}).ok()) {
                answered++;
            }
            EXPECT_FALSE(
                answer_player(*session, test::local_transport(), test::player_options()).ok());
        }
    }
    EXPECT_GT(answered, 0u);
}

}  // namespace
}  // namespace weir::sdp
