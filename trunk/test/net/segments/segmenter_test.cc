// Parts and segments of made-up streams: where they are cut, how long they are, and what a new
// codec, publisher or track does.
#include "net/segments/segmenter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/steady_wall_time.h"
#include "proto/rtcp/report.h"

#include "test/session/muxer_fixture.h"
#include "test/support/codec_samples.h"
#include "test/support/rtp_media.h"

namespace weir::net {
namespace {

using media::Codec;
using media::TrackKind;
using session::MuxerFixture;
using test::BodyKind;
using test::tag_body;

class SegmenterTest : public MuxerFixture {
  protected:
    ~SegmenterTest() override { segmenter_.reset(); }

    void watch(SegmentContainer container = SegmentContainer::kMp4) {
        segmenter_ = std::make_unique<Segmenter>(stream_, container, store_);
    }

    void configs(const Bytes& avc = test::kAvcHighConfig) {
        send(TrackKind::kVideo, clock_, tag_body(Codec::kH264, BodyKind::kConfig, avc));
        send(TrackKind::kAudio, clock_,
             tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));  // 48 kHz, stereo
    }

    void picture(bool key) {
        send(TrackKind::kVideo, clock_,
             tag_body(Codec::kH264, key ? BodyKind::kKeyFrame : BodyKind::kFrame,
                      Bytes{0, 0, 0, 2, static_cast<uint8_t>(key ? 0x65 : 0x41), 0x88}));
    }

    void sound(uint32_t time_ms) {
        send(TrackKind::kAudio, time_ms,
             tag_body(Codec::kAac, BodyKind::kFrame, Bytes{0x21, 0x10, 0x04}));
    }

    // 25 pictures a second, and sound of 48 kHz; a key frame each `gop` pictures.
    void pictures(int count, int gop = 50) {
        for (int i = 0; i < count; i++) {
            picture(number_++ % gop == 0);
            for (; sound_ms_ <= clock_ + 20; sound_samples_ += 1024) {
                sound(sound_ms_);
                sound_ms_ = static_cast<uint32_t>((sound_samples_ + 1024) * 1000 / 48'000);
            }
            clock_ += 40;
        }
    }

    void pictures_without_sound(int count, int gop = 50) {
        for (int i = 0; i < count; i++) {
            picture(number_++ % gop == 0);
            pass(40);
        }
    }

    // Nothing comes for a while.
    void hole(uint32_t ms) {
        pass(ms);
        sound_ms_ += ms;
        sound_samples_ += uint64_t{ms} * 48;
    }

    // A second of AAC has 46.875 frames.
    void sounds(int count) {
        for (int i = 0; i < count; i++, sound_samples_ += 1024) {
            sound(sound_ms_);
            sound_ms_ = static_cast<uint32_t>((sound_samples_ + 1024) * 1000 / 48'000);
        }
    }

    int64_t longest_part_ms() const {
        int64_t longest = 0;
        for (const Segment& segment : store_.all()) {
            for (const SegmentPart& part : segment.parts) {
                longest = std::max(longest, part.duration_ms);
            }
        }
        return longest;
    }

    size_t discontinuities() const {
        size_t count = store_.discontinuities_before();
        for (size_t i = store_.first_listed(); i < store_.all().size(); i++) {
            count += store_.all()[i].discontinuity ? 1U : 0U;
        }
        return count;
    }

    // As players read it: complete segments.
    std::vector<int64_t> durations() const { return durations(store_); }

    static std::vector<int64_t> durations(const SegmentStore& store) {
        std::vector<int64_t> all;
        for (const Segment& segment : store.all()) {
            if (segment.complete) {
                all.push_back(segment.duration_ms);
            }
        }
        return all;
    }

    SegmentStore store_{{.fragment_ms = 2'000, .part_ms = 200, .window = 3}, 100};
    std::unique_ptr<Segmenter> segmenter_;
    int number_ = 0;
    uint32_t sound_ms_ = 0;
    uint64_t sound_samples_ = 0;
};

TEST_F(SegmenterTest, APartSaysHowMuchLaterItsFirstPictureIsShown) {
    watch();
    configs();
    for (int i = 0; i < 60; i++, clock_ += 40) {
        send(TrackKind::kVideo, clock_, test::avc_frame(i % 50 == 0, 1, 40, i % 50 == 0 ? 80 : 0));
    }
    ASSERT_FALSE(store_.all().empty());
    const std::vector<SegmentPart>& parts = store_.all().front().parts;
    ASSERT_GT(parts.size(), 1U);
    EXPECT_EQ(parts[0].composition_ms, 80);
    EXPECT_EQ(parts[1].composition_ms, 0);
}

TEST_F(SegmenterTest, CutsAtKeyFramesAndPartsAtFrames) {
    watch();
    configs();
    pictures(151);
    EXPECT_THAT(durations(), testing::ElementsAre(2'000, 2'000, 2'000));
    for (const Segment& segment : store_.all()) {
        EXPECT_FALSE(segment.discontinuity);
        if (!segment.complete) {
            continue;
        }
        EXPECT_EQ(segment.parts.size(), 10U);
        EXPECT_EQ(segment.video_frames, 50U);
        for (size_t i = 0; i < segment.parts.size(); i++) {
            EXPECT_EQ(segment.parts[i].duration_ms, 200);
            EXPECT_EQ(segment.parts[i].independent, i == 0) << i;
        }
    }
    EXPECT_EQ(store_.all().front().number, 100U);
    EXPECT_EQ(store_.target_seconds(), 2);
    EXPECT_EQ(store_.part_target_ms(), 205);
    EXPECT_TRUE(store_.independent());
    const SegmentFormat& format = *store_.all().front().format;
    EXPECT_EQ(format.video_codecs, "avc1.640014");
    EXPECT_EQ(format.audio_codecs, "mp4a.40.2");
    EXPECT_EQ(format.width, test::kSampleWidth);
    EXPECT_FALSE(format.header.empty());
}

// VLC reads the time of a fragment only where its number does not follow the one before.
TEST_F(SegmenterTest, NoNumberOfAFragmentFollowsTheOneBefore) {
    watch();
    configs();
    pictures(101);
    std::vector<uint32_t> numbers;
    for (const Segment& segment : store_.all()) {
        for (const SegmentPart& part : segment.parts) {
            const std::string_view text = as_text(part.bytes->bytes());
            for (size_t at = text.find("mfhd"); at != std::string_view::npos;
                 at = text.find("mfhd", at + 1)) {
                ByteReader reader(part.bytes->bytes().subspan(at + 8));
                numbers.push_back(reader.u32());
            }
        }
    }
    ASSERT_GT(numbers.size(), 20U);
    for (size_t i = 1; i < numbers.size(); i++) {
        EXPECT_GT(numbers[i], numbers[i - 1] + 1);
    }
}

// What comes sooner or later than the publisher's clock says, for good, is placed by our own.
TEST_F(SegmenterTest, AClockThatGoesAwayFromOursIsFollowed) {
    std::unique_ptr<SegmentStore> store;
    int64_t now_ms = 0;
    // Once more when this process stood still: our clock must hardly get on meanwhile.
    bool disturbed = true;
    for (int tries = 0; disturbed && tries < 20; tries++) {
        segmenter_.reset();
        publish_again();
        number_ = 0;
        sound_ms_ = 0;
        sound_samples_ = 0;
        store = std::make_unique<SegmentStore>(store_.options(), 100);
        segmenter_ = std::make_unique<Segmenter>(stream_, SegmentContainer::kMp4, *store);
        const int64_t began_ms = steady_wall_time_ms();
        configs();
        pictures(50 * 8 + 1);
        now_ms = steady_wall_time_ms();
        disturbed = now_ms - began_ms > 300;
    }
    segmenter_.reset();
    ASSERT_EQ(durations(*store).size(), 7U) << "all that is kept";
    for (const Segment& segment : store->all()) {
        const int64_t off_ms = segment.clock.steady_of(segment.start_ms) - now_ms;
        EXPECT_LE(std::abs(off_ms), 2 * 2'000 + 500) << segment.number;
        EXPECT_LE(segment.clock.id, segment.number);
        EXPECT_GE(segment.clock.id + 2, segment.number) << "each second one begins anew";
    }
    EXPECT_EQ(store->all().front().format.get(), store->all().back().format.get());
}

// Shaka 5.2 places each part by the date, and drops pictures when that moves within a segment. Here
// the second segment comes two seconds early.
TEST_F(SegmenterTest, DatesDifferByTheDurationsOfSegments) {
    watch();
    configs();
    pictures(50 * 2 + 1);
    const auto& all = store_.all();
    ASSERT_GE(all.size(), 2U);
    EXPECT_EQ(all[1].wall_ms - all[0].wall_ms, all[0].duration_ms);
}

constexpr int64_t kCameraUs = 981'173'106'000'000;  // 2001-02-03T04:05:06Z, at the first frame
constexpr int64_t kFirstMs = media::Timeline::kStart;

// The ProducerReferenceTimeBox that the bytes begin with, behind the type of a segment.
struct ReferenceTime {
    explicit ReferenceTime(ByteSpan bytes) {
        const size_t at = as_text(bytes).find("prft");
        found = at < 60;
        if (found) {
            ByteReader reader(bytes.subspan(at + 4));
            reader.skip(4);  // version and flags
            track = reader.u32();
            unix_us = rtcp::ntp_to_unix_us(reader.u64());
            media_time = reader.u64();
        }
    }

    bool found = false;
    uint32_t track = 0;
    int64_t unix_us = 0;
    uint64_t media_time = 0;
};

TEST_F(SegmenterTest, DatesAreThoseOfThePublishersClock) {
    await_wall_clock();
    watch();
    configs();
    pictures(1);
    say_wall_clock(kCameraUs);
    pictures(150);
    ASSERT_EQ(durations().size(), 3U);
    for (const Segment& segment : store_.all()) {
        EXPECT_EQ(segment.wall_ms, kCameraUs / 1000 + segment.start_ms - kFirstMs);
        EXPECT_LT(std::abs(segment.clock.steady_ms - steady_wall_time_ms()), 60'000)
            << "players of DASH compute the present with it";
        const SegmentPart& part = segment.parts.front();
        const ReferenceTime video(part.bytes->bytes().first(part.audio_at));
        ASSERT_TRUE(video.found);
        EXPECT_EQ(video.track, 1U);
        EXPECT_EQ(video.media_time, static_cast<uint64_t>(segment.start_ms) * 90);
        EXPECT_EQ(video.unix_us, segment.wall_ms * 1000);
        const ReferenceTime audio(part.bytes->bytes().subspan(part.audio_at));
        ASSERT_TRUE(audio.found);
        EXPECT_EQ(audio.track, 2U);
        const auto audio_us = static_cast<int64_t>(audio.media_time * 1'000'000 / 48'000);
        EXPECT_NEAR(audio.unix_us - kCameraUs, audio_us - kFirstMs * 1000, 2);
    }
    EXPECT_EQ(discontinuities(), 0U);
}

TEST_F(SegmenterTest, WithoutAPublishersClockNothingIsSaidOfIt) {
    await_wall_clock();
    watch();
    configs();
    pictures(51);
    ASSERT_EQ(durations().size(), 1U);
    const Segment& segment = store_.all().front();
    EXPECT_FALSE(ReferenceTime(segment.parts.front().bytes->bytes()).found);
    EXPECT_LT(std::abs(segment.wall_ms - wall_time_ms()), 60'000);
}

TEST_F(SegmenterTest, AClockThatIsKnownLateOrStepsMakesADiscontinuity) {
    await_wall_clock();
    watch();
    configs();
    pictures(75);
    say_wall_clock(kCameraUs);
    pictures(50);
    say_wall_clock(kCameraUs + 2'000'000);
    pictures(50);
    say_wall_clock(kCameraUs + 2'300'000);  // less than a step
    pictures(76);
    std::vector<bool> breaks;
    for (const Segment& segment : store_.all()) {
        breaks.push_back(segment.discontinuity);
    }
    EXPECT_THAT(breaks, testing::ElementsAre(false, false, true, true, false));
    EXPECT_EQ(store_.all()[2].wall_ms, kCameraUs / 1000 + 4'000);
    EXPECT_EQ(store_.all()[3].wall_ms, kCameraUs / 1000 + 6'000 + 2'000);
    EXPECT_EQ(store_.all()[4].wall_ms, kCameraUs / 1000 + 8'000 + 2'300);
    EXPECT_EQ(store_.all().front().format.get(), store_.all().back().format.get());
}

// Players of DASH get one track: the bytes before audio_at, or those behind.
TEST_F(SegmenterTest, TracksStandApartInAPart) {
    watch();
    configs();
    pictures(101);
    for (const Segment& segment : store_.all()) {
        for (const SegmentPart& part : segment.parts) {
            const std::string_view all = as_text(part.bytes->bytes());
            const std::string_view video = all.substr(0, part.audio_at);
            const std::string_view audio = all.substr(part.audio_at);
            const auto moofs = [](std::string_view text) {
                size_t count = 0;
                for (size_t at = 0; (at = text.find("moof", at)) != text.npos; at++) {
                    count++;
                }
                return count;
            };
            EXPECT_EQ(moofs(video), 1U);
            EXPECT_EQ(moofs(audio), 1U);
            EXPECT_EQ(audio.substr(4, 4), "moof");
        }
    }
    const SegmentFormat& format = *store_.all().front().format;
    EXPECT_NE(as_text(format.video_header).find("vide"), std::string_view::npos);
    EXPECT_EQ(as_text(format.video_header).find("soun"), std::string_view::npos);
    EXPECT_NE(as_text(format.audio_header).find("soun"), std::string_view::npos);
    EXPECT_EQ(as_text(format.audio_header).find("vide"), std::string_view::npos);
    EXPECT_EQ(format.sample_rate, 48'000U);
}

TEST_F(SegmenterTest, SaysHowLongTheOpenSegmentWillBeWhereGopsAreAlike) {
    watch();
    configs();
    pictures(60, 25);
    EXPECT_EQ(store_.all().back().expected_ms, 2'000);
    segmenter_->finish_first(0);
    number_ = 0;
    pictures(37, 37);
    pictures(40, 40);
    EXPECT_EQ(store_.all().back().expected_ms, 0) << "GOPs of 1, 1.48 and 1.6 s";
}

// Each traf's tfdt is the sum of the durations before it: nothing drifts.
TEST_F(SegmenterTest, AudioTimesFollowFromTheSamples) {
    watch();
    configs();
    pictures(1500);
    uint64_t expected = 0;
    bool first = true;
    for (const Segment& segment : store_.all()) {
        for (const SegmentPart& part : segment.parts) {
            const ByteSpan bytes = part.bytes->bytes();
            const std::string_view text = as_text(bytes);
            const size_t traf = text.find("tfdt", text.find("tfdt") + 4);  // the second track's
            ASSERT_NE(traf, std::string_view::npos);
            ByteReader tfdt(bytes.subspan(traf + 8));
            const uint64_t time = tfdt.u64();
            ByteReader trun(bytes.subspan(text.find("trun", traf) + 8));
            const uint32_t samples = trun.u32();
            EXPECT_TRUE(first || time == expected) << time << " " << expected;
            first = false;
            expected = time + samples * 1024;
        }
    }
}

TEST_F(SegmenterTest, AShortGopIsGatheredAndALongOneMakesALongSegment) {
    watch();
    configs();
    pictures(100, 25);
    number_ = 0;
    pictures(301, 150);
    EXPECT_THAT(durations(), testing::ElementsAre(2'000, 2'000, 6'000, 6'000));
    EXPECT_EQ(store_.target_seconds(), 6);
}

TEST_F(SegmenterTest, WhoComesLateGetsTheGopAtHand) {
    configs();
    pictures(75);
    watch();
    ASSERT_TRUE(store_.has_open());
    EXPECT_EQ(store_.all().front().parts.size(), 4U);  // 1 s without its last frame
    EXPECT_EQ(store_.listed_complete(), 0U);
    segmenter_->finish_first(200);
    EXPECT_EQ(store_.listed_complete(), 1U);
    EXPECT_TRUE(store_.independent());
    pictures(30);
    EXPECT_EQ(durations().front(), 800);
    EXPECT_EQ(durations()[1], 1'200);
    EXPECT_FALSE(store_.independent());
    EXPECT_FALSE(store_.all()[1].discontinuity);
}

TEST_F(SegmenterTest, AnotherConfigurationIsADiscontinuity) {
    watch();
    configs();
    pictures(60);
    number_ = 0;
    configs(test::kAvcBaselineConfig);
    pictures(60);
    const Segment& last = store_.all().back();
    EXPECT_EQ(durations(), (std::vector<int64_t>{2'000, 400, 2'000}));
    EXPECT_TRUE(store_.all()[2].discontinuity);
    EXPECT_FALSE(last.discontinuity);
    EXPECT_EQ(store_.all()[2].format->video_codecs, "avc1.42C01E");
    EXPECT_EQ(store_.all()[1].format->video_codecs, "avc1.640014");
    EXPECT_EQ(store_.find_format(102)->id, 102U);
}

TEST_F(SegmenterTest, NumbersAndWindowGoOnAndMemoryIsBounded) {
    watch();
    configs();
    pictures(50 * 40);
    // 3 target durations are listed; as long again, and its own length, each of the others is kept.
    EXPECT_EQ(store_.listed_complete(), 3U);
    EXPECT_LE(store_.all().size(), 9U);
    EXPECT_EQ(store_.next_number(), 100 + 40U);
    uint64_t bytes = 0;
    for (const Segment& segment : store_.all()) {
        for (const SegmentPart& part : segment.parts) {
            bytes += part.bytes->bytes().size();
        }
    }
    EXPECT_EQ(store_.bytes(), bytes);
    EXPECT_EQ(store_.find(100), nullptr);
    EXPECT_EQ(store_.find(139), &store_.all().back());
    EXPECT_EQ(store_.find(140), nullptr);
}

TEST_F(SegmenterTest, AudioAloneIsCutByItself) {
    watch();
    send(TrackKind::kAudio, 0, tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
    for (uint32_t i = 0; i < 300; i++) {
        sound(i * 1024 / 48);
    }
    ASSERT_GE(durations().size(), 2U);
    EXPECT_NEAR(static_cast<double>(durations().front()), 2'000, 25);
    EXPECT_TRUE(store_.independent());
    EXPECT_TRUE(store_.all().front().format->video_codecs.empty());
    EXPECT_LE(store_.part_target_ms(), 225);
}

TEST_F(SegmenterTest, TransportStreamsBeginWithTheirTables) {
    watch(SegmentContainer::kTs);
    configs();
    pictures(110);
    for (const Segment& segment : store_.all()) {
        if (segment.parts.empty()) {
            continue;
        }
        const ByteSpan bytes = segment.parts.front().bytes->bytes();
        ASSERT_EQ(bytes.size() % 188, 0U);
        EXPECT_EQ(bytes[0], 0x47);
        EXPECT_EQ((bytes[1] & 0x1F) << 8 | bytes[2], 0) << "PAT";
        EXPECT_EQ((bytes[189] & 0x1F) << 8 | bytes[190], 0x1000) << "PMT";
    }
    EXPECT_TRUE(store_.all().front().format->header.empty());
}

// MP3 has no configuration: its first frame says what it is, behind the key frame.
TEST_F(SegmenterTest, ACodecWithoutAConfigurationIsThereFromTheStart) {
    Bytes frame = test::from_hex("fffb9000");  // 128 kbit/s, 44,100 Hz
    frame.resize(417);
    watch();
    send(TrackKind::kVideo, 0, tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    for (int i = 0; i < 60; i++) {
        picture(i % 50 == 0);
        send(TrackKind::kAudio, clock_, tag_body(Codec::kMp3, BodyKind::kFrame, frame));
        clock_ += 40;
    }
    EXPECT_EQ(store_.all().front().format->audio_codecs, "mp4a.40.34");
    EXPECT_THAT(durations(), testing::ElementsAre(2'000));
    EXPECT_FALSE(store_.all().back().discontinuity);
    EXPECT_EQ(segmenter_->frames_left_out(), 0U);
}

TEST_F(SegmenterTest, ATrackThatComesLaterBeginsWithADiscontinuityOnce) {
    watch();
    send(TrackKind::kVideo, 0, tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    for (int i = 0; i < 60; i++) {
        picture(i % 50 == 0);
        clock_ += 40;
    }
    number_ = 60;
    sound_ms_ = clock_;
    sound_samples_ = uint64_t{clock_} * 48;
    send(TrackKind::kAudio, clock_,
         tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
    pictures(150);
    size_t discontinuities = 0;
    for (const Segment& segment : store_.all()) {
        discontinuities += segment.discontinuity ? 1 : 0;
    }
    EXPECT_EQ(discontinuities, 1U);
    EXPECT_EQ(store_.all().front().format->audio_codecs, "");
    EXPECT_EQ(store_.all().back().format->audio_codecs, "mp4a.40.2");
}

TEST_F(SegmenterTest, VideoThatStopsDoesNotHoldAudioBack) {
    watch();
    configs();
    pictures(10);
    const uint64_t parts = store_.parts_made();
    for (uint32_t i = 0; i < 200; i++) {
        sound(sound_ms_ + i * 1024 / 48);
    }
    EXPECT_GE(store_.parts_made(), parts + 3);
}

// RFC 8216 §6.2.1: EXT-X-TARGETDURATION does not change; a part is not longer than PART-TARGET.
TEST_F(SegmenterTest, AHoleIsADiscontinuityAndMakesNothingLonger) {
    for (const int before : {100, 113}) {  // a key frame follows, or another one
        SCOPED_TRACE(before);
        SegmentStore store(store_.options(), 100);
        Segmenter segmenter(stream_, SegmentContainer::kMp4, store);
        number_ = 0;
        publish_again(0);
        sound_ms_ = 0;
        sound_samples_ = 0;
        configs();
        pictures(before);
        store.fix_target();
        const int64_t part_target_ms = store.part_target_ms();
        const uint64_t number = store.next_number();
        hole(4'000);
        pictures(60);
        ASSERT_GE(store.next_number(), number + 1);
        EXPECT_EQ(store.target_seconds(), 2);
        EXPECT_LE(store.part_target_ms(), part_target_ms + 25) << "an audio frame";
        EXPECT_TRUE(store.find(number)->discontinuity);
        const Segment* const last = store.find(number - 1);
        EXPECT_NEAR(static_cast<double>(store.find(number)->start_ms),
                    static_cast<double>(last->start_ms + last->duration_ms + 4'000), 30);
    }
}

TEST_F(SegmenterTest, SlowVideoHasNoHoles) {
    watch();
    send(TrackKind::kVideo, 0, tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    store_.fix_target();
    for (int i = 0; i < 30; i++) {
        picture(i % 10 == 0);
        clock_ += i % 3 == 0 ? 1'500 : 500;  // a screen that is shared
    }
    EXPECT_EQ(discontinuities(), 0U);
    EXPECT_EQ(store_.target_seconds(), 2);
    for (const int64_t duration : durations()) {
        EXPECT_LT(duration, 2'500);
    }
}

// x264 makes a key frame at a cut between scenes, and counts from there.
TEST_F(SegmenterTest, AKeyFrameAtASceneCutLeavesSegmentsWithKeyFrames) {
    watch();
    send(TrackKind::kVideo, 0, tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    store_.fix_target();
    for (int i = 0; i < 320; i++, clock_ += 40) {
        picture(i < 120 ? i % 50 == 0 : (i - 120) % 50 == 0);
    }
    EXPECT_EQ(store_.target_seconds(), 2);
    for (const Segment& segment : store_.all()) {
        ASSERT_FALSE(segment.parts.empty());
        EXPECT_TRUE(segment.parts.front().independent) << segment.number;
    }
}

// The stream was one of audio alone for long.
TEST_F(SegmenterTest, TheTargetDoesNotCountTheTimeSinceVideoEnded) {
    configs();
    pictures(51);
    for (int i = 0; i < 120 * 47; i++, now_ += Millis(21)) {
        sounds(1);
    }
    ASSERT_FALSE(stream_.has_video());
    watch();
    store_.fix_target();
    EXPECT_LE(store_.target_seconds(), 3);
}

TEST_F(SegmenterTest, AudioThatHasAHoleWhileVideoIsGoneGoesOn) {
    watch();
    configs();
    pictures(100);
    sounds(3 * 47);
    const uint64_t parts = store_.parts_made();
    sound_ms_ += 400;
    sound_samples_ += 400 * 48;
    sounds(2 * 47);
    EXPECT_GE(store_.parts_made(), parts + 8);
    EXPECT_LE(longest_part_ms(), 1'100) << "the part that waited for video, or has the hole";
}

// A screen that is shared, whose audio has ended: a discontinuity would hide pictures.
TEST_F(SegmenterTest, PausesOfVideoAreNoHolesOnceAudioHasEnded) {
    watch();
    configs();
    pictures(100);
    clock_ += 1'500;
    pictures_without_sound(30);
    const size_t before = discontinuities();
    for (int i = 0; i < 5; i++) {
        clock_ += 1'500;
        pictures_without_sound(2);
    }
    EXPECT_EQ(discontinuities(), before);
}

// A long part counts for PART-TARGET no longer than playlists name it.
TEST_F(SegmenterTest, APartTargetReturnsToTheUsualParts) {
    watch();
    send(TrackKind::kVideo, 0, tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    for (int i = 0; i < 60; i++, clock_ += 40) {
        picture(i % 50 == 0);
    }
    EXPECT_EQ(store_.part_target_ms(), 205);
    clock_ += 800;
    for (int i = 60; i < 70; i++, clock_ += 40) {
        picture(i % 50 == 0);
    }
    EXPECT_EQ(store_.part_target_ms(), 850);
    for (int i = 70; i < 370; i++, clock_ += 40) {
        picture(i % 50 == 0);
    }
    EXPECT_EQ(store_.part_target_ms(), 205);
    EXPECT_EQ(discontinuities(), 0U);
}

TEST_F(SegmenterTest, AGopThatIsLongerThanPlayersWereToldIsCut) {
    watch();
    configs();
    pictures(100, 25);
    store_.fix_target();
    number_ = 0;
    pictures(320, 150);
    EXPECT_EQ(store_.target_seconds(), 2);
    for (const int64_t duration : durations()) {
        EXPECT_LT(duration, 2'500);
    }
    EXPECT_TRUE(store_.all().back().parts.front().independent) << "a key frame repairs it";
    EXPECT_EQ(discontinuities(), 0U);
}

// Key frames each 1.3 s: two of them would be 2.6 s, which is rounded to 3.
TEST_F(SegmenterTest, KeyFramesCutBeforeASegmentIsTooLong) {
    watch();
    configs();
    pictures(34, 33);
    store_.fix_target();
    pictures(330, 33);
    EXPECT_EQ(store_.target_seconds(), 2);
    for (const Segment& segment : store_.all()) {
        EXPECT_LT(segment.duration_ms, 2'500);
    }
    EXPECT_TRUE(store_.independent());
    EXPECT_EQ(durations().back(), 1'320);
}

TEST_F(SegmenterTest, VideoThatEndsLetsAudioCutPartsAndSegments) {
    watch();
    configs();
    pictures(60);
    store_.fix_target();
    const uint64_t segments = store_.segments_made();
    sounds(8 * 47);
    EXPECT_GE(store_.segments_made(), segments + 3);
    EXPECT_LE(longest_part_ms(), 225);
    for (const int64_t duration : durations()) {
        EXPECT_LT(duration, 2'500);
    }
    clock_ = sound_ms_;
    number_ = 0;
    pictures(30);
    EXPECT_TRUE(store_.all().back().parts.front().independent) << "video begins a segment again";
    EXPECT_EQ(discontinuities(), 0U);
}

TEST_F(SegmenterTest, VideoThatIsLateForASecondMakesNoLongerPart) {
    watch();
    configs();
    pictures(60);
    store_.fix_target();
    sounds(75);
    clock_ = sound_ms_;
    pictures(60);
    EXPECT_LE(longest_part_ms(), 225);
    EXPECT_EQ(discontinuities(), 0U);
}

// Audio stays the same where only the video has changed: no overlap, and no step.
TEST_F(SegmenterTest, AudioTimesGoOnOverADiscontinuity) {
    watch();
    configs();
    pictures(60);
    number_ = 0;
    configs(test::kAvcBaselineConfig);
    pictures(60);
    uint64_t end = 0;
    for (const Segment& segment : store_.all()) {
        for (const SegmentPart& part : segment.parts) {
            const ByteSpan audio = part.bytes->bytes().subspan(part.audio_at);
            const std::string_view text = as_text(audio);
            if (audio.empty()) {
                continue;
            }
            ByteReader tfdt(audio.subspan(text.find("tfdt") + 8));
            const uint64_t time = tfdt.u64();
            ByteReader trun(audio.subspan(text.find("trun") + 8));
            EXPECT_GE(time, end);
            end = time + trun.u32() * 1024;
        }
    }
}

TEST_F(SegmenterTest, AudioBeyondTheLastPictureMakesNoLongerPart) {
    watch();
    configs();
    pictures(55);  // the last part is whole, and its audio goes on
    sound(clock_ - 3);
    publish_again();
    ASSERT_EQ(durations(), (std::vector<int64_t>{2'000, 200}));
    EXPECT_EQ(store_.part_target_ms(), 205);
}

TEST(SegmentStoreTest, TellsOfEachChangeAndDropsAnEmptySegment) {
    SegmentStore store({}, 7);
    auto format = make_ref<SegmentFormat>();
    store.open(format, 0, 0, false);
    store.close();
    EXPECT_TRUE(store.all().empty());
    EXPECT_EQ(store.next_number(), 7U);
    store.open(format, 0, 0, false);
    const uint64_t version = store.version();
    store.add_part(
        {.bytes = Bytes(10), .duration_ms = 200, .independent = true, .video_frames = 5});
    EXPECT_GT(store.version(), version);
    store.end();
    EXPECT_TRUE(store.ended());
    EXPECT_EQ(store.listed_complete(), 1U);
    store.open(format, 200, 0, true);
    EXPECT_FALSE(store.ended());
}

TEST(SegmentStoreTest, BytesOfAllAreCapped) {
    SegmentStore store({.fragment_ms = 2'000, .part_ms = 200, .window = 100}, 0);
    auto format = make_ref<SegmentFormat>();
    for (int i = 0; i < 30; i++) {
        store.open(format, i * 2'000, 0, false);
        store.add_part({.bytes = Bytes(20u << 20),
                        .duration_ms = 2'000,
                        .independent = true,
                        .video_frames = 50});
        store.close();
    }
    EXPECT_LE(store.bytes(), SegmentStore::kMaxBytes);
    EXPECT_GE(store.all().size(), 3U);
}

// ---- a publisher whose tracks come one after the other ----

class SettlingSegmenterTest : public SegmenterTest {
  protected:
    void watch() {
        now_ = MonoClock::now() + Seconds(600);  // the real clock settles nothing
        publish_again();
        settled_ = std::make_unique<SegmentStore>(settling_, 100);
        segmenter_ = std::make_unique<Segmenter>(stream_, SegmentContainer::kMp4, *settled_);
    }

    void avc() {
        send(TrackKind::kVideo, clock_,
             tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    }

    void aac() {
        send(TrackKind::kAudio, clock_,
             tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
    }

    void silent_pictures(int count) {
        for (int i = 0; i < count; i++, clock_ += 40) {
            picture(number_++ % 50 == 0);
        }
        sound_ms_ = clock_;
        sound_samples_ = uint64_t{clock_} * 48;
    }

    SegmentOptions settling_{.fragment_ms = 2'000, .part_ms = 200, .settle_ms = 1'000};
    std::unique_ptr<SegmentStore> settled_;
};

TEST_F(SettlingSegmenterTest, AudioThatComesBehindThePictureIsInTheFirstSegment) {
    watch();
    avc();
    silent_pictures(15);
    EXPECT_FALSE(settled_->has_open());
    aac();
    pictures(36);
    const Segment& first = settled_->all().front();
    EXPECT_EQ(first.format->audio_codecs, "mp4a.40.2");
    EXPECT_TRUE(first.complete);
    EXPECT_EQ(first.video_frames, 50U);
    EXPECT_EQ(first.parts.size(), 10U);
    EXPECT_EQ(first.parts.front().duration_ms, 200);
    EXPECT_FALSE(settled_->all().back().discontinuity);
}

TEST_F(SettlingSegmenterTest, VideoAloneWaitsForASecond) {
    watch();
    avc();
    silent_pictures(25);
    EXPECT_FALSE(settled_->has_open());
    silent_pictures(1);
    ASSERT_TRUE(settled_->has_open());
    EXPECT_EQ(settled_->all().front().parts.size(), 5U);
    EXPECT_EQ(settled_->all().front().format->audio_codecs, "");
}

TEST_F(SettlingSegmenterTest, AudioThatIsOnlyAnnouncedIsInNoPlaylistUntilItComes) {
    watch();
    avc();
    aac();
    silent_pictures(60);
    ASSERT_TRUE(settled_->has_open());
    EXPECT_EQ(settled_->all().front().format->audio_codecs, "");
    pictures(100);
    EXPECT_EQ(settled_->all().back().format->audio_codecs, "mp4a.40.2");
    size_t discontinuities = 0;
    for (const Segment& segment : settled_->all()) {
        discontinuities += segment.discontinuity ? 1 : 0;
    }
    EXPECT_EQ(discontinuities, 1U);
}

TEST_F(SettlingSegmenterTest, TheNextPublisherIsWaitedForAgain) {
    watch();
    avc();
    aac();
    pictures(10);
    publish_again(clock_);
    number_ = 0;
    avc();
    silent_pictures(15);
    aac();
    pictures(45);
    ASSERT_EQ(settled_->all().size(), 3U);
    EXPECT_TRUE(settled_->all()[1].discontinuity);
    EXPECT_FALSE(settled_->all()[2].discontinuity) << "one for the publisher, none for its audio";
    EXPECT_EQ(settled_->all()[1].format->audio_codecs, "mp4a.40.2");
}

}  // namespace
}  // namespace weir::net
