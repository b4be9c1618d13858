// What DESCRIBE says of a stream that somebody else publishes.
#include "session/rtsp/rtsp_tracks.h"

#include <gtest/gtest.h>

#include "media/opus.h"
#include "net/rtp/rtp_profile.h"

#include "test/session/muxer_fixture.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;
using net::kRtpAudioTrack;
using net::kRtpVideoTrack;

class RtspTracksTest : public MuxerFixture {
  protected:
    void mp3() { send(TrackKind::kAudio, clock_, test::mp3_frame(++marker_)); }

    // A stream of video and MP3, which has no configuration, some seconds old, at a key frame.
    void publish_video_and_mp3() {
        send(TrackKind::kVideo, clock_, test::avc_header());
        for (int i = 0; i < 100; i++) {
            video(i % 25 == 0);
            mp3();
            pass(40);
        }
        video(true);
    }

    void opus(test::BodyKind kind, ByteSpan payload) {
        send_original(test::tag_body(Codec::kOpus, kind, payload));
    }
};

TEST_F(RtspTracksTest, AudioWithoutAConfigurationIsWaitedForBehindAKeyFrame) {
    publish_video_and_mp3();
    const RtspTracks tracks(stream_, now_);
    EXPECT_FALSE(tracks.complete(now_));
    pass(20);
    mp3();
    EXPECT_TRUE(tracks.complete(now_));
    EXPECT_TRUE(tracks.has(kRtpAudioTrack));
    EXPECT_TRUE(tracks.has(kRtpVideoTrack));
}

TEST_F(RtspTracksTest, AudioThatPausesIsNotWaitedForLong) {
    publish_video_and_mp3();
    const RtspTracks tracks(stream_, now_);
    pass(static_cast<uint32_t>(RtspTracks::kNextFrame.count()) - 1);
    EXPECT_FALSE(tracks.complete(now_));
    pass(1);
    EXPECT_TRUE(tracks.complete(now_));
    EXPECT_FALSE(tracks.has(kRtpAudioTrack));
}

TEST_F(RtspTracksTest, VideoAloneIsComplete) {
    send(TrackKind::kVideo, clock_, test::avc_header());
    gop(100, false);
    video(true);
    const RtspTracks tracks(stream_, now_);
    EXPECT_TRUE(tracks.complete(now_));
}

TEST_F(RtspTracksTest, OpusOfABrowserIsDescribedAndNotTheAacThatIsMadeOfIt) {
    const Bytes frame = test::filled({0x78}, 1, 19);
    send(TrackKind::kVideo, clock_, test::avc_header());
    opus(test::BodyKind::kConfig, media::opus::build_head(2));
    send_derived(test::aac_header());
    video(true);
    opus(test::BodyKind::kFrame, frame);
    send_derived(test::aac_frame(1));
    const RtspTracks tracks(stream_, now_);
    EXPECT_TRUE(tracks.complete(now_));
    EXPECT_EQ(tracks.track(kRtpAudioTrack).codec, Codec::kOpus);
    EXPECT_NE(tracks.describe("127.0.0.1").find(" opus/48000/2"), std::string::npos);
    pass(20);
    send_derived(test::aac_header(2));
    send_derived(test::aac_frame(2));
    opus(test::BodyKind::kFrame, frame);
    EXPECT_EQ(tracks.track(kRtpAudioTrack).codec, Codec::kOpus);
    EXPECT_TRUE(tracks.left_out().empty());
}

TEST_F(RtspTracksTest, G711OfABrowserIsDescribedOnceItsFirstFrameCame) {
    send(TrackKind::kVideo, clock_, test::avc_header());
    send_derived(test::aac_header());
    video(true);
    const RtspTracks tracks(stream_, now_);
    EXPECT_FALSE(tracks.complete(now_));
    send_original(test::tag_body(Codec::kG711U, test::BodyKind::kFrame, Bytes(160, 0xff)));
    EXPECT_TRUE(tracks.complete(now_));
    EXPECT_EQ(tracks.track(kRtpAudioTrack).codec, Codec::kG711U);
    EXPECT_EQ(tracks.track(kRtpAudioTrack).channels, 1);
}

TEST_F(RtspTracksTest, AudioOfTheNextPublisherTakesThePlaceOfTheOneBefore) {
    headers();
    gop();
    const RtspTracks tracks(stream_, now_);
    const RtspTerms before = tracks.terms();
    EXPECT_EQ(tracks.track(kRtpAudioTrack).codec, Codec::kAac);
    publish_again();
    send(TrackKind::kVideo, clock_, test::avc_header());
    opus(test::BodyKind::kConfig, media::opus::build_head(2));
    send_derived(test::aac_header());
    video(true);
    EXPECT_EQ(tracks.track(kRtpAudioTrack).codec, Codec::kOpus);
    EXPECT_NE(tracks.terms()[kRtpAudioTrack], before[kRtpAudioTrack]);
    EXPECT_EQ(tracks.terms()[kRtpVideoTrack], before[kRtpVideoTrack]);
}

}  // namespace
}  // namespace weir::session
