// Answers to players (WHEP).
#include <string>

#include <gtest/gtest.h>

#include "proto/sdp/negotiate.h"

#include "test/proto/sdp/support.h"

namespace weir::sdp {
namespace {

using media::Codec;
using media::TrackKind;
using test::play;
using test::player_options;
using test::read_offer;
using test::replaced;

NegotiatedMedia video_of(const std::string& offer,
                         const PlayerOptions& options = player_options()) {
    const Result<Answer> answer = play(offer, options);
    EXPECT_TRUE(answer.ok()) << answer.error().to_string();
    const NegotiatedMedia* video = answer.ok() ? answer->find(TrackKind::kVideo) : nullptr;
    EXPECT_NE(video, nullptr);
    return video ? *video : NegotiatedMedia();
}

TEST(SdpPlayerTest, SendsToChromium) {
    const Result<Answer> answer = play(read_offer("chromium-whep"));
    ASSERT_TRUE(answer.ok());
    const NegotiatedMedia* video = answer->find(TrackKind::kVideo);
    ASSERT_NE(video, nullptr);
    EXPECT_EQ(video->payload_type, 41);
    EXPECT_EQ(video->rtx_payload_type, 42);
    EXPECT_EQ(video->fit, Fit::kCovers);
    EXPECT_EQ(video->ssrc, 1111u);
    EXPECT_EQ(video->rtx_ssrc, 2222u);
    EXPECT_EQ(video->extensions[Extension::kPlayoutDelay], 5);
    EXPECT_EQ(video->extensions[Extension::kTransportCc], 3);
    EXPECT_FALSE(video->extensions.has(Extension::kRid));
    EXPECT_NE(answer->text.find("a=msid-semantic:WMS *\r\n"), std::string::npos);
    EXPECT_NE(answer->text.find("a=msid:weir video\r\n"
                                "a=ssrc-group:FID 1111 2222\r\n"
                                "a=ssrc:1111 cname:cname\r\n"
                                "a=ssrc:1111 msid:weir video\r\n"
                                "a=ssrc:2222 cname:cname\r\n"
                                "a=ssrc:2222 msid:weir video\r\n"),
              std::string::npos);
    const NegotiatedMedia* audio = answer->find(TrackKind::kAudio);
    ASSERT_NE(audio, nullptr);
    EXPECT_EQ(audio->ssrc, 3333u);
    EXPECT_EQ(audio->rtx_ssrc, 0u);
    EXPECT_NE(answer->text.find("a=msid:weir audio\r\n"), std::string::npos);
}

TEST(SdpPlayerTest, ChoosesTheFirstCodecThatFits) {
    PlayerOptions options = player_options();
    options.video.codecs = {
        {Codec::kHevc, 0, 1, 0}, {Codec::kVp9, 0, 2, 0}, {Codec::kVp8, 0, 0, 0}};
    const NegotiatedMedia chromium = video_of(read_offer("chromium-whep"), options);
    EXPECT_EQ(chromium.codec, Codec::kVp9);
    EXPECT_EQ(chromium.send_codec, 1u);
    EXPECT_EQ(chromium.payload_type, 100);
    EXPECT_EQ(chromium.local_fmtp, "profile-id=2");
    const NegotiatedMedia safari = video_of(read_offer("safari-whep"), options);
    EXPECT_EQ(safari.codec, Codec::kHevc);
    EXPECT_EQ(safari.local_fmtp, "level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST");
}

TEST(SdpPlayerTest, TakesAnotherCodecBeforeAProfileThatDoesNotCover) {
    PlayerOptions options = player_options();             // High
    const std::string offer = read_offer("aiortc-whep");  // Baseline
    EXPECT_EQ(video_of(offer, options).fit, Fit::kOtherProfile);
    options.video.codecs.push_back({Codec::kVp8, 0, 0, 0});
    EXPECT_EQ(video_of(offer, options).codec, Codec::kVp8);
    options.video.codecs.pop_back();
    options.lenient_profiles = false;
    const Result<Answer> strict = play(offer, options);
    ASSERT_FALSE(strict.ok());
    EXPECT_EQ(http_status(strict.error()), 422);
}

TEST(SdpPlayerTest, RefusesAPlayerWithoutTheCodecOfTheStream) {
    const Result<Answer> answer = play(read_offer("firefox-whep"));
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().to_string(),
              "unsupported: video (mid 1): no common codec: the offer has VP8, VP9, AV1, ulpfec, "
              "red, this stream has H264");
}

TEST(SdpPlayerTest, LeavesInactiveWhatTheStreamDoesNotHave) {
    PlayerOptions options = player_options();
    options.audio.codecs.clear();
    const Result<Answer> answer = play(read_offer("chromium-whep"), options);
    ASSERT_TRUE(answer.ok());
    EXPECT_TRUE(answer->media[0].accepted);
    EXPECT_EQ(answer->media[0].direction, Direction::kInactive);
    EXPECT_EQ(answer->media[0].ssrc, 0u);
    EXPECT_TRUE(answer->media[1].in_use());
    const Session text = test::parse_or_die(answer->text);
    EXPECT_FALSE(has_attribute(text.media[0].attributes, "msid"));
    EXPECT_TRUE(has_attribute(text.media[0].attributes, "candidate"));
    EXPECT_FALSE(has_attribute(text.media[1].attributes, "candidate"));
}

TEST(SdpPlayerTest, RefusesWhenThereIsNothingToPlay) {
    EXPECT_EQ(play(read_offer("chromium-whip")).error().to_string(),
              "unsupported: nothing to play in this offer: audio (mid 0): offered as sendonly; "
              "video (mid 1): offered as sendonly");
    EXPECT_EQ(play(read_offer("chromium-whep"), {}).error().to_string(),
              "unsupported: nothing to play in this offer: audio (mid 0): this stream has nothing; "
              "video (mid 1): this stream has nothing");
}

TEST(SdpPlayerTest, PlaysSoundAlone) {
    const std::string both = read_offer("chromium-whep");
    std::string offer = both.substr(0, both.find("m=video"));
    offer = replaced(offer, "BUNDLE 0 1", "BUNDLE 0");
    const Result<Answer> answer = play(offer);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->media.size(), 1u);
    EXPECT_EQ(answer->media[0].codec, Codec::kOpus);
}

TEST(SdpPlayerTest, SendsOnlyOnAnOfferOfBothDirections) {
    const Result<Answer> answer = play(read_offer("chromium-datachannel"));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->media[0].direction, Direction::kSendOnly);
    EXPECT_TRUE(answer->media[0].remote_ssrcs.empty());
    EXPECT_FALSE(answer->media[2].accepted);
}

TEST(SdpPlayerTest, SaysStereoOfStereo) {
    PlayerOptions options = player_options();
    const auto audio_fmtp = [&] {
        const Result<Answer> answer = play(read_offer("chromium-whep"), options);
        return answer.ok() ? answer->find(TrackKind::kAudio)->local_fmtp : "";
    };
    EXPECT_EQ(audio_fmtp(), "minptime=10;sprop-stereo=1;stereo=1;useinbandfec=1");
    options.audio.codecs[0].channels = 1;
    EXPECT_EQ(audio_fmtp(), "minptime=10;useinbandfec=1");
}

TEST(SdpPlayerTest, SendsWithoutRtxWhereItIsNotOffered) {
    const NegotiatedMedia video = video_of(read_offer("gstreamer-whep"));
    EXPECT_EQ(video.rtx_payload_type, std::nullopt);
    EXPECT_EQ(video.rtx_ssrc, 0u);
    EXPECT_FALSE(video.feedback.nack);
    EXPECT_TRUE(video.feedback.pli);
    PlayerOptions options = player_options();
    options.rtx = false;
    EXPECT_EQ(video_of(read_offer("chromium-whep"), options).rtx_ssrc, 0u);
}

TEST(SdpPlayerTest, UsesOneByteExtensionsOnly) {
    const std::string offer = replaced(read_offer("chromium-whep"), "a=extmap:5 ", "a=extmap:16 ");
    EXPECT_FALSE(video_of(offer).extensions.has(Extension::kPlayoutDelay));
}

}  // namespace
}  // namespace weir::sdp
