#include "net/rtp/rtp_log_writer.h"

#include <gtest/gtest.h>

#include "test/support/rtp_media.h"

namespace weir::net {
namespace {

using test::Picture;

class RtpLogWriterTest : public testing::Test {
  protected:
    ~RtpLogWriterTest() override {
        publisher_.reset();
        if (writer_) {
            stream_.detach(*writer_);
        }
    }

    void attach() {
        writer_ = std::make_unique<RtpLogWriter>(profile_);
        stream_.attach(*writer_);
        publisher_ = std::make_unique<test::TestPublisher>(stream_);
    }

    const stream::RtpLog& log() const { return writer_->log(); }

    std::vector<const stream::RtpRun*> runs(uint8_t track) const {
        std::vector<const stream::RtpRun*> all;
        for (uint64_t i = log().oldest(); i < log().head(); i++) {
            if (log().run(i)->track == track && log().run(i)->frame_start) {
                all.push_back(log().run(i));
            }
        }
        return all;
    }

    RtpProfile profile_;
    stream::Stream stream_{{"v", "live", "a"}, {}, MonoClock::now()};
    std::unique_ptr<RtpLogWriter> writer_;
    std::unique_ptr<test::TestPublisher> publisher_;
};

TEST_F(RtpLogWriterTest, BFramesAreSentWithTheTimesOfShowing) {
    attach();
    publisher_->config(test::kAvcHighConfig);
    publisher_->video(Picture::kKey, 500, 40);
    const std::vector<std::pair<Picture, int32_t>> frames = {
        {Picture::kReferenced, 120}, {Picture::kReferencedB, 40}, {Picture::kB, 0}};
    for (const auto& [picture, composition] : frames) {
        publisher_->pass(40);
        publisher_->video(picture, 500, composition);
    }
    EXPECT_TRUE(writer_->refusal().empty());
    EXPECT_EQ(writer_->skipped_frames(), 0U);
    const auto sent = runs(kRtpVideoTrack);
    ASSERT_GE(sent.size(), 4U);
    const std::vector<const stream::RtpRun*> last(sent.end() - 4, sent.end());
    const std::vector<int32_t> shown_ms = {40, 160, 120, 120};
    for (size_t i = 0; i < 4; i++) {
        const auto step_ms = static_cast<uint32_t>(shown_ms[i] - shown_ms[0]);
        EXPECT_EQ(last[i]->rtp_time - last[0]->rtp_time, step_ms * 90) << i;
        EXPECT_EQ(last[i]->discardable, i == 3) << i;
    }
}

TEST_F(RtpLogWriterTest, WithoutThemAStreamThatNeedsThemIsRefused) {
    profile_.b_frames = RtpProfile::BFrames::kLeaveOut;
    profile_.b_frame_refusal = [](media::Codec) { return std::string_view("no B-frames"); };
    attach();
    publisher_->config(test::kAvcHighConfig);
    publisher_->video(Picture::kKey, 500);
    publisher_->video(Picture::kB, 500);
    EXPECT_TRUE(writer_->refusal().empty());
    publisher_->video(Picture::kReferencedB, 500);
    EXPECT_EQ(writer_->refusal(), "no B-frames");
    EXPECT_EQ(writer_->skipped_frames(), 2U);
    publisher_->end();
    EXPECT_TRUE(writer_->refusal().empty());
}

TEST_F(RtpLogWriterTest, PayloadsAreAsLargeAsTheProfileSays) {
    for (const size_t size : {size_t{200}, size_t{1400}}) {
        SCOPED_TRACE(size);
        profile_.max_payload_bytes = size;
        RtpLogWriter writer(profile_);
        stream_.attach(writer);
        test::TestPublisher publisher(stream_);
        publisher.config();
        publisher.video(Picture::kKey, 10'000);
        size_t largest = 0;
        for (uint64_t i = writer.log().oldest(); i < writer.log().head(); i++) {
            largest = std::max<size_t>(largest, writer.log().run(i)->packet_bytes);
        }
        EXPECT_LE(largest, size);
        EXPECT_GT(largest, size / 2);
        stream_.detach(writer);
    }
}

// RFC 3551 §4.1.
TEST_F(RtpLogWriterTest, TheMarkerOfAudioFollowsSilence) {
    attach();
    for (const int pause_ms : {0, 20, 20, 60, 300, 20}) {
        publisher_->pass(static_cast<uint32_t>(pause_ms));
        publisher_->opus();  // of 20 ms
    }
    std::vector<bool> markers;
    for (const stream::RtpRun* run : runs(kRtpAudioTrack)) {
        EXPECT_TRUE(run->frame_end);
        markers.push_back(run->marker);
    }
    EXPECT_EQ(markers, (std::vector<bool>{true, false, false, false, true, false}));
}

// RFC 3640 §3.1: it ends a frame.
TEST_F(RtpLogWriterTest, TheMarkerOfAacIsOnEachFrame) {
    attach();
    publisher_->send(
        media::TrackKind::kAudio,
        test::tag_body(media::Codec::kAac, test::BodyKind::kConfig, Bytes{0x11, 0x90}));
    for (int i = 0; i < 3; i++) {
        publisher_->send(
            media::TrackKind::kAudio,
            test::tag_body(media::Codec::kAac, test::BodyKind::kFrame, test::counted({0x21}, 100)));
        publisher_->pass(21);
    }
    ASSERT_EQ(runs(kRtpAudioTrack).size(), 3U);
    for (const stream::RtpRun* run : runs(kRtpAudioTrack)) {
        EXPECT_TRUE(run->marker);
    }
}

TEST_F(RtpLogWriterTest, CodecsThatAreNotOfTheProfileHaveNoTrack) {
    profile_.takes = [](media::Codec codec) { return codec == media::Codec::kH264; };
    attach();
    publisher_->config();
    publisher_->video(Picture::kKey);
    publisher_->opus();
    EXPECT_EQ(writer_->track(kRtpVideoTrack).codec.codec, media::Codec::kH264);
    EXPECT_EQ(writer_->track(kRtpAudioTrack).codec.codec, media::Codec::kUnknown);
    EXPECT_TRUE(runs(kRtpAudioTrack).empty());
}

// Layers are for profiles with layers: others see the track that everybody gets.
TEST_F(RtpLogWriterTest, OtherVideoTracksAreNotWritten) {
    attach();
    publisher_->config();
    publisher_->video(Picture::kKey);
    const size_t before = runs(kRtpVideoTrack).size();
    for (const bool config : {true, false}) {
        publisher_->send(media::TrackKind::kVideo, test::hevc_multitrack(1, config, true, 5));
    }
    EXPECT_EQ(runs(kRtpVideoTrack).size(), before);
    EXPECT_EQ(writer_->track(kRtpVideoTrack).codec.codec, media::Codec::kH264);
}

}  // namespace
}  // namespace weir::net
