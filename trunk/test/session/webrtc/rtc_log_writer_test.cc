// Frames of a stream in, runs of payloads out.
#include "session/webrtc/rtc_log_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/session/webrtc/rtc_media.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;
using stream::RtpRun;

class RtcLogWriterTest : public testing::Test {
  protected:
    RtcLogWriterTest() {
        stream_.attach(muxer_);
        publish();
    }

    ~RtcLogWriterTest() override {
        publisher_.reset();
        stream_.detach(muxer_);
    }

    void publish() {
        publisher_.reset();
        publisher_ = std::make_unique<TestPublisher>(stream_);
    }

    const stream::RtpLog& log() { return muxer_.log(); }

    // The payloads of a track from run `from` on, and what RtpRun promises of them.
    std::vector<Bytes> payloads(uint8_t track, uint64_t from = 0) {
        std::vector<Bytes> all;
        for (uint64_t i = std::max(from, log().oldest()); i < log().head(); i++) {
            const RtpRun& run = *log().run(i);
            if (run.track != track) {
                continue;
            }
            EXPECT_LE(run.packets, RtpRun::kMaxPackets);
            for (size_t p = 0; p < run.packets; p++) {
                const ByteSpan packet = run.packet(p);
                EXPECT_LE(packet.size(), kMaxRtcPayload);
                EXPECT_TRUE(p + 1 == run.packets ? packet.size() <= run.packet_bytes
                                                 : packet.size() == run.packet_bytes);
                all.emplace_back(packet.begin(), packet.end());
            }
        }
        return all;
    }

    // Frames that a depacketizer makes of it.
    std::vector<rtp::Frame> frames(Codec codec, uint8_t track, uint64_t from = 0) {
        const auto depacketizer = rtp::make_depacketizer(codec, 0);
        std::vector<rtp::Frame> made;
        for (uint64_t i = std::max(from, log().oldest()); i < log().head(); i++) {
            const RtpRun& run = *log().run(i);
            for (size_t p = 0; run.track == track && p < run.packets; p++) {
                depacketizer->feed(run.packet(p),
                                   {run.rtp_time, run.marker && p + 1U == run.packets, false});
                for (rtp::Frame frame; depacketizer->next(frame);) {
                    made.push_back(std::move(frame));
                }
            }
        }
        return made;
    }

    stream::Stream stream_{{"v", "live", "a"}, {}, MonoClock::now()};
    RtcLogWriter muxer_{nullptr, 0, "a"};
    std::unique_ptr<TestPublisher> publisher_;
};

TEST_F(RtcLogWriterTest, FramesBecomeRunsOfEqualSizeWithParameterSetsBeforeEachKeyFrame) {
    publisher_->config();
    for (size_t size : {100U, 1150U, 1200U, 3000U, 60'000U, 300'000U}) {
        publisher_->video(Picture::kKey, size);
        publisher_->pass(40);
        publisher_->video(Picture::kReferenced, size);
        publisher_->pass(40);
    }
    const std::vector<rtp::Frame> made = frames(Codec::kH264, kRtpVideoTrack);
    ASSERT_EQ(made.size(), publisher_->frames.size());
    for (size_t i = 0; i < made.size(); i++) {
        EXPECT_EQ(made[i].data, publisher_->frames[i]) << i;
        EXPECT_EQ(made[i].key, i % 2 == 0);
    }
    payloads(kRtpVideoTrack);
    // Each key frame begins a run that has SPS and PPS: it can be decoded by whoever begins there.
    size_t starts = 0;
    for (uint64_t i = log().oldest(); i < log().head(); i++) {
        if (log().run(i)->start) {
            starts++;
            const std::vector<rtp::Frame> from = frames(Codec::kH264, kRtpVideoTrack, i);
            ASSERT_FALSE(from.empty());
            EXPECT_TRUE(from[0].key);
            EXPECT_FALSE(from[0].config.empty());
        }
    }
    EXPECT_GE(starts, 1U);
    EXPECT_EQ(muxer_.skipped_frames(), 0U);
    EXPECT_EQ(muxer_.track(kRtpVideoTrack).codec.h264_profile_level_id, 0x42c01eU);
}

TEST_F(RtcLogWriterTest, TimesAreOfTheRtpClockAndCountWhatIsShown) {
    publisher_->config();
    publisher_->video(Picture::kKey, 100);
    publisher_->pass(40);
    Bytes body = tag_body(Codec::kH264, BodyKind::kFrame,
                          test::nal_frame({h264_nal(Picture::kReferenced, 9, 100)}));
    body[4] = 80;  // composition time
    publisher_->send(TrackKind::kVideo, body);
    publisher_->opus();
    const uint64_t head = log().head();
    const RtpRun& key = *log().run(log().start());
    const RtpRun& later = *log().run(head - 2);
    const RtpRun& audio = *log().run(head - 1);
    EXPECT_EQ(later.rtp_time - key.rtp_time, 120U * 90);
    EXPECT_EQ(later.time_ms - key.time_ms, 40);
    ASSERT_EQ(audio.track, kRtpAudioTrack);
    EXPECT_EQ(audio.rtp_time, static_cast<uint32_t>(audio.time_ms * 48));
}

TEST_F(RtcLogWriterTest, FramesThatNothingRefersToAreMarked) {
    publisher_->config();
    publisher_->video(Picture::kKey, 100);
    publisher_->video(Picture::kUnreferenced, 100);
    publisher_->video(Picture::kReferenced, 100);
    const uint64_t head = log().head();
    EXPECT_TRUE(log().run(head - 2)->discardable);
    EXPECT_FALSE(log().run(head - 1)->discardable);
}

TEST_F(RtcLogWriterTest, UnreferencedBFramesAreLeftOut) {
    publisher_->config(test::kAvcHighConfig);
    publisher_->video(Picture::kKey);
    std::vector<Bytes> expected = publisher_->frames;
    for (int i = 0; i < 3; i++) {
        publisher_->video(Picture::kReferenced);
        expected.push_back(publisher_->frames.back());
        publisher_->video(Picture::kB);
        publisher_->video(Picture::kB);
        publisher_->pass(120);
    }
    std::vector<Bytes> got;
    for (rtp::Frame& frame : frames(Codec::kH264, kRtpVideoTrack)) {
        got.push_back(std::move(frame.data));
    }
    EXPECT_EQ(got, expected);
    EXPECT_EQ(muxer_.refusal(), "");
    EXPECT_EQ(muxer_.skipped_frames(), 6U);
}

TEST_F(RtcLogWriterTest, ReferencedBFramesAreRefusedUntilThePublisherChanges) {
    publisher_->config(test::kAvcHighConfig);
    publisher_->video(Picture::kKey);
    EXPECT_EQ(muxer_.refusal(), "");
    publisher_->video(Picture::kReferencedB);
    EXPECT_THAT(std::string(muxer_.refusal()), testing::HasSubstr("bframes=0"));
    EXPECT_THAT(std::string(muxer_.refusal()), testing::HasSubstr("b-pyramid"));
    publisher_->pass(2000);
    publisher_->video(Picture::kKey);  // the next GOP has not shown one yet
    publisher_->video(Picture::kReferenced);
    EXPECT_NE(muxer_.refusal(), "");
    publish();
    publisher_->config(test::kAvcHighConfig);
    publisher_->video(Picture::kKey);
    EXPECT_EQ(muxer_.refusal(), "");
}

TEST_F(RtcLogWriterTest, CodecOfTheNextPublisherIsTaken) {
    publisher_->config();
    publisher_->gop(3);
    publish();
    EXPECT_FALSE(log().has_start());
    const uint64_t from = log().head();
    Bytes key = test::kVp8Key;
    key.resize(3000, 5);
    publisher_->send(TrackKind::kVideo, tag_body(Codec::kVp8, BodyKind::kKeyFrame, key));
    EXPECT_EQ(muxer_.track(kRtpVideoTrack).codec.codec, Codec::kVp8);
    ASSERT_TRUE(log().has_start());
    EXPECT_EQ(log().start(), from);
    const std::vector<rtp::Frame> made = frames(Codec::kVp8, kRtpVideoTrack, from);
    ASSERT_EQ(made.size(), 1U);
    EXPECT_EQ(made[0].data, key);
}

TEST_F(RtcLogWriterTest, OpusAndG711PassThrough) {
    publisher_->config();
    publisher_->video(Picture::kKey);
    for (int i = 0; i < 3; i++) {
        publisher_->opus(60 + static_cast<size_t>(i));
        publisher_->pass(20);
    }
    EXPECT_EQ(payloads(kRtpAudioTrack), publisher_->sounds);
    EXPECT_EQ(muxer_.track(kRtpAudioTrack).clock_hz, 48'000U);
    for (Codec codec : {Codec::kG711A, Codec::kG711U}) {
        publish();
        const uint64_t from = log().head();
        const Bytes audio = test::counted({}, 160, 9);
        publisher_->send(TrackKind::kAudio, tag_body(codec, BodyKind::kFrame, audio));
        EXPECT_EQ(payloads(kRtpAudioTrack, from), std::vector<Bytes>{audio});
        EXPECT_EQ(muxer_.track(kRtpAudioTrack).codec.codec, codec);
        EXPECT_EQ(muxer_.track(kRtpAudioTrack).clock_hz, 8'000U);
    }
}

TEST_F(RtcLogWriterTest, AudioAloneMayBeginAnywhere) {
    for (int i = 0; i < 5; i++) {
        publisher_->opus();
        publisher_->pass(20);
        ASSERT_TRUE(log().has_start());
        EXPECT_EQ(log().start(), log().head() - 1);
    }
}

// Audio that comes 300 ms behind its video; more of both are in late_audio_test.cc.
class RtcLateAudioTest : public RtcLogWriterTest {
  protected:
    RtcLateAudioTest() {
        muxer_.set_stream(stream_);
        publisher_->config();
        for (int i = 0; i < 20; i++) {
            both(i == 0 ? Picture::kKey : Picture::kReferenced);
        }
    }

    void both(Picture picture) {
        publisher_->video(picture, 100);
        publisher_->clock_ms -= 300;
        publisher_->opus();
        publisher_->clock_ms += 300;
        publisher_->pass(40);
    }
};

TEST_F(RtcLateAudioTest, VideoWaitsForIt) {
    const size_t all = publisher_->frames.size();
    EXPECT_LE(payloads(kRtpVideoTrack).size(), all - 300 / 40);
    const MonoTime due = muxer_.release(MonoClock::now());
    EXPECT_LE(due, MonoClock::now() + Millis(300));
    EXPECT_EQ(muxer_.release(MonoClock::now() + Millis(300)), MonoTime::max());
    EXPECT_EQ(frames(Codec::kH264, kRtpVideoTrack).size(), all);
    EXPECT_EQ(payloads(kRtpAudioTrack).size(), publisher_->sounds.size());
}

TEST_F(RtcLateAudioTest, NothingWaitsAnyLongerWhenThePublisherLeaves) {
    const size_t all = publisher_->frames.size();
    both(Picture::kKey);
    publisher_->end();
    EXPECT_EQ(frames(Codec::kH264, kRtpVideoTrack).size(), all + 1);
    EXPECT_FALSE(log().has_start()) << "the key frame that waited is none";
    publish();
    publisher_->config();
    const uint64_t head = log().head();
    publisher_->video(Picture::kKey, 100);
    EXPECT_GT(log().head(), head) << "the next publisher's audio is not late yet";
}

TEST_F(RtcLateAudioTest, APlayerMayBeginAtAKeyFrameThatHasWaited) {
    both(Picture::kKey);
    const uint64_t before = log().start();
    muxer_.release(MonoClock::now() + Millis(300));
    EXPECT_GT(log().start(), before);
}

TEST_F(RtcLogWriterTest, AudioThatOnlyWorkersCanMakeIsLeftOutWithoutThem) {
    publisher_->config();
    publisher_->video(Picture::kKey);
    const uint64_t head = log().head();
    publisher_->send(TrackKind::kAudio, test::aac_header());
    publisher_->send(TrackKind::kAudio, test::aac_frame(1));
    publisher_->send(TrackKind::kAudio, test::mp3_frame(2));
    EXPECT_EQ(log().head(), head);
    EXPECT_EQ(muxer_.track(kRtpAudioTrack).codec.codec, Codec::kUnknown);
}

TEST_F(RtcLogWriterTest, EmptyAndBrokenFramesAreLeftOut) {
    publisher_->config();
    publisher_->video(Picture::kKey);
    const uint64_t head = log().head();
    const uint64_t skipped = muxer_.skipped_frames();
    for (Bytes broken : {Bytes{}, Bytes{0}, Bytes{0, 0, 0, 9, 0x41}, Bytes{0xFF, 0xFF, 0xFF, 0xFF},
                         Bytes{0, 0, 0, 0}}) {
        publisher_->send(TrackKind::kVideo, tag_body(Codec::kH264, BodyKind::kFrame, broken));
    }
    for (Codec codec : {Codec::kOpus, Codec::kG711A, Codec::kG711U}) {
        publisher_->send(TrackKind::kAudio, tag_body(codec, BodyKind::kFrame, {}));
    }
    EXPECT_EQ(log().head(), head);
    EXPECT_GE(muxer_.skipped_frames(), skipped + 3) << "of video nothing came so far";
    publisher_->video(Picture::kReferenced);
    EXPECT_EQ(log().head(), head + 1);
}

TEST_F(RtcLogWriterTest, MuxerThatComesLateHasTheGop) {
    publisher_->config();
    publisher_->gop(10);
    RtcLogWriter late(nullptr, 0, "a");
    stream_.attach(late);
    EXPECT_TRUE(late.log().has_start());
    EXPECT_EQ(late.log().head(), log().head());
    stream_.detach(late);
}

}  // namespace
}  // namespace weir::session
