// What DESCRIBE says of a stream that somebody else publishes.
#include "session/rtsp/rtsp_tracks.h"

#include <gtest/gtest.h>

#include "net/rtp/rtp_profile.h"

#include "test/session/muxer_fixture.h"

namespace weir::session {
namespace {

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

}  // namespace
}  // namespace weir::session
