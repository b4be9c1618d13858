// Answers to publishers (WHIP).
#include <string>

#include <gtest/gtest.h>

#include "proto/sdp/negotiate.h"

#include "test/proto/sdp/support.h"

namespace weir::sdp {
namespace {

using media::Codec;
using media::TrackKind;
using test::publish;
using test::read_offer;
using test::replaced;

NegotiatedMedia video_of(const std::string& offer, const PublisherOptions& options = {}) {
    const Result<Answer> answer = publish(offer, options);
    EXPECT_TRUE(answer.ok()) << answer.error().to_string();
    const NegotiatedMedia* video = answer.ok() ? answer->find(TrackKind::kVideo) : nullptr;
    EXPECT_NE(video, nullptr);
    return video ? *video : NegotiatedMedia();
}

TEST(SdpPublisherTest, TakesWhatChromiumSends) {
    const NegotiatedMedia video = video_of(read_offer("chromium-whip"));
    EXPECT_EQ(video.mid, "1");
    EXPECT_EQ(video.payload_type, 102);
    EXPECT_EQ(video.rtx_payload_type, 103);
    EXPECT_EQ(video.clock_hz, 90000u);
    EXPECT_EQ(video.local_fmtp,
              "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=420034");
    EXPECT_EQ(video.remote_ssrcs, (std::vector<RemoteSsrc>{{2374988436, 504261157}}));
    EXPECT_TRUE(video.reduced_size_rtcp);
    EXPECT_EQ(video.feedback, (Feedback{true, true, true, true, false}));
    EXPECT_EQ(video.extensions[Extension::kMid], 4);
    EXPECT_EQ(video.extensions[Extension::kTransportCc], 3);
    EXPECT_FALSE(video.extensions.has(Extension::kAbsSendTime));
    EXPECT_FALSE(video.extensions.has(Extension::kRid));
    EXPECT_FALSE(video.extensions.has(Extension::kPlayoutDelay));
}

TEST(SdpPublisherTest, PrefersItsOwnOrderOfCodecsUnlessTold) {
    const std::string offer = read_offer("chromium-whip");
    EXPECT_EQ(video_of(offer).codec, Codec::kH264);
    PublisherOptions options;
    options.offer_order = true;
    EXPECT_EQ(video_of(offer, options).codec, Codec::kVp8);
    options.video = {Codec::kVp9, Codec::kAv1};
    EXPECT_EQ(video_of(offer, options).codec, Codec::kAv1);  // 45 comes before 98
    options.offer_order = false;
    const NegotiatedMedia vp9 = video_of(offer, options);
    EXPECT_EQ(vp9.codec, Codec::kVp9);
    EXPECT_EQ(vp9.payload_type, 98);
    EXPECT_EQ(vp9.local_fmtp, "profile-id=0");
}

TEST(SdpPublisherTest, FallsBackToRembWithItsExtension) {
    PublisherOptions options;
    options.transport_cc = false;
    const NegotiatedMedia video = video_of(read_offer("chromium-whip"), options);
    EXPECT_TRUE(video.feedback.remb);
    EXPECT_FALSE(video.feedback.transport_cc);
    EXPECT_EQ(video.extensions[Extension::kAbsSendTime], 2);
    EXPECT_FALSE(video.extensions.has(Extension::kTransportCc));
    // GStreamer names the feedback and not the extension that it needs.
    EXPECT_FALSE(video_of(read_offer("gstreamer-whip")).feedback.transport_cc);
    EXPECT_TRUE(video_of(read_offer("aiortc-whip")).feedback.remb);
}

TEST(SdpPublisherTest, LeavesOutWhatIsTurnedOff) {
    PublisherOptions options;
    options.rtx = options.transport_cc = options.remb = false;
    const Result<Answer> answer = publish(read_offer("chromium-whip"), options);
    ASSERT_TRUE(answer.ok());
    for (const char* text :
         {"rtx", "transport-cc", "transport-wide-cc", "goog-remb", "abs-send-time"}) {
        EXPECT_EQ(answer->text.find(text), std::string::npos) << text;
    }
}

TEST(SdpPublisherTest, TakesSimulcastLayers) {
    const Result<Answer> answer = publish(read_offer("chromium-whip-simulcast"));
    ASSERT_TRUE(answer.ok());
    const NegotiatedMedia* video = answer->find(TrackKind::kVideo);
    ASSERT_NE(video, nullptr);
    EXPECT_EQ(video->rids, (std::vector<std::string>{"h", "m", "l"}));
    EXPECT_EQ(video->extensions[Extension::kRid], 10);
    EXPECT_EQ(video->extensions[Extension::kRepairedRid], 11);
    EXPECT_NE(answer->text.find("a=rid:h recv\r\na=rid:m recv\r\na=rid:l recv\r\n"
                                "a=simulcast:recv h;m;l\r\n"),
              std::string::npos);
}

TEST(SdpPublisherTest, AnswersTheDirectionOfAnExtensionWithItsReverse) {
    const Result<Answer> answer = publish(read_offer("firefox-whip-simulcast"));
    ASSERT_TRUE(answer.ok());
    EXPECT_NE(
        answer->text.find("a=extmap:9/recvonly urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\n"),
        std::string::npos);
    EXPECT_EQ(answer->text.find("playout-delay"), std::string::npos);  // offered to receive it
    const Session text = test::parse_or_die(answer->text);  // Firefox says it of each section
    EXPECT_TRUE(has_attribute(text.media[1].attributes, "extmap-allow-mixed"));
    EXPECT_FALSE(has_attribute(text.attributes, "extmap-allow-mixed"));
}

TEST(SdpPublisherTest, LimitsSimulcastLayers) {
    PublisherOptions options;
    options.simulcast_layers = 2;
    EXPECT_EQ(video_of(read_offer("firefox-whip-simulcast"), options).rids.size(), 2u);
    options.simulcast_layers = 0;
    const Result<Answer> answer = publish(read_offer("chromium-whip-simulcast"), options);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->text.find("simulcast"), std::string::npos);
    EXPECT_EQ(answer->text.find("rid"), std::string::npos);
}

TEST(SdpPublisherTest, LeavesOutLayersOfOtherPayloadTypes) {
    const std::string offer =
        replaced(read_offer("chromium-whip-simulcast"), "a=rid:m send", "a=rid:m send pt=96");
    EXPECT_EQ(video_of(offer).rids, (std::vector<std::string>{"h", "l"}));
}

TEST(SdpPublisherTest, AsksForTheDependencyDescriptorOnlyOfAv1) {
    const std::string offer = read_offer("chromium-whip-simulcast");
    EXPECT_FALSE(video_of(offer).extensions.has(Extension::kDependencyDescriptor));
    PublisherOptions options;
    options.video = {Codec::kAv1};
    EXPECT_EQ(video_of(offer, options).extensions[Extension::kDependencyDescriptor], 12);
}

TEST(SdpPublisherTest, TakesOneSectionOfAKind) {
    std::string offer = read_offer("libdatachannel-whip");
    offer = replaced(offer, "BUNDLE 0 1", "BUNDLE 0 1 2");
    const std::string second = replaced(offer.substr(offer.find("m=video")), "a=mid:1", "a=mid:2");
    const Result<Answer> answer = publish(offer + second);
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    EXPECT_TRUE(answer->media[1].in_use());
    EXPECT_FALSE(answer->media[2].in_use());
    EXPECT_TRUE(answer->media[2].accepted);
    EXPECT_EQ(answer->media[2].refusal, "a second one of its kind");
    EXPECT_NE(answer->text.find("a=group:BUNDLE 0 1 2\r\n"), std::string::npos);
}

TEST(SdpPublisherTest, RefusesAPictureItCannotTakeEvenWhereThereIsSound) {
    PublisherOptions options;
    options.video = {Codec::kH264};
    const Result<Answer> answer = publish(read_offer("firefox-whip"), options);
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().to_string(),
              "unsupported: video (mid 1): no common codec: the offer has VP8, VP9, AV1, ulpfec, "
              "red, this server takes H264");
}

TEST(SdpPublisherTest, LeavesAKindInactiveThatItDoesNotTake) {
    PublisherOptions options;
    options.audio.clear();
    const Result<Answer> answer = publish(read_offer("chromium-whip"), options);
    ASSERT_TRUE(answer.ok());
    EXPECT_TRUE(answer->media[0].accepted);
    EXPECT_EQ(answer->media[0].direction, Direction::kInactive);
    EXPECT_EQ(answer->find(TrackKind::kAudio), nullptr);
    EXPECT_EQ(answer->media[0].refusal, "this server takes nothing");
}

TEST(SdpPublisherTest, TakesG711WithoutRtpMap) {
    std::string offer = read_offer("aiortc-whip");
    offer = replaced(offer, "a=rtpmap:96 opus/48000/2\r\n", "");
    offer = replaced(offer, "a=rtpmap:0 PCMU/8000\r\n", "");
    const Result<Answer> answer = publish(offer);
    ASSERT_TRUE(answer.ok());
    const NegotiatedMedia* audio = answer->find(TrackKind::kAudio);
    ASSERT_NE(audio, nullptr);
    EXPECT_EQ(audio->codec, Codec::kG711U);
    EXPECT_EQ(audio->payload_type, 0);
    EXPECT_NE(answer->text.find("a=rtpmap:0 PCMU/8000\r\n"), std::string::npos);
}

}  // namespace
}  // namespace weir::sdp
