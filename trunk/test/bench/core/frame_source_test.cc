#include "bench/load/core/frame_source.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "proto/flv/tag.h"

#include "bench/load/core/frame_checker.h"
#include "test/support/source_file.h"

namespace weir::load {
namespace {

using media::TrackKind;

std::shared_ptr<const MediaFile> sample() {
    auto file = MediaFile::open(test::source_file("../doc/sample.flv"));
    EXPECT_TRUE(file.ok()) << file.error().message();
    return *file;
}

TEST(FrameSourceTest, AFileRepeatsWithoutAJumpOrAStepBack) {
    auto file = sample();
    auto source = file_source(file, 0, 1);
    size_t frames = file->frames().size();
    uint32_t last[2] = {};
    uint32_t longest[2] = {};
    int seen[2] = {};
    uint64_t due = 0;
    SourceMessage message;
    for (size_t i = 0; i < 3 * frames; i++) {
        EXPECT_GE(source->next_due_us(), due);
        due = source->next_due_us();
        ASSERT_FALSE(source->next(1, message));
        EXPECT_EQ(uint64_t{message.time_ms} * 1000, due);
        size_t track = message.kind == TrackKind::kVideo ? 1 : 0;
        if (seen[track]++ > 0) {
            EXPECT_GT(message.time_ms, last[track]) << i;
            longest[track] = std::max(longest[track], message.time_ms - last[track]);
        }
        last[track] = message.time_ms;
    }
    EXPECT_EQ(longest[1], 40u);  // across the turns too
    EXPECT_LE(longest[0], 24u);
}

TEST(FrameSourceTest, SoundStaysWithThePicture) {
    auto file = sample();
    auto source = file_source(file, 0, 1);
    std::vector<const FileFrame*> frames[2];
    for (const FileFrame& frame : file->frames()) {
        frames[frame.kind == TrackKind::kVideo ? 1 : 0].push_back(&frame);
    }
    size_t count[2] = {};
    SourceMessage message;
    for (size_t i = 0; i < 4 * file->frames().size(); i++) {
        ASSERT_FALSE(source->next(1, message));
        size_t track = message.kind == TrackKind::kVideo ? 1 : 0;
        size_t turn = count[track] / frames[track].size();
        const FileFrame& frame = *frames[track][count[track]++ % frames[track].size()];
        EXPECT_EQ(message.time_ms, frame.time_ms + static_cast<int64_t>(turn) * file->period_ms());
    }
}

TEST(FrameSourceTest, EveryFrameOfAFileIsStampedInSequence) {
    auto file = sample();
    auto source = file_source(file, 7, 42);
    FrameChecker checkers[2] = {FrameChecker(FillerKind::kAudio), FrameChecker(FillerKind::kVideo)};
    uint32_t sequence[2] = {};
    SourceMessage message;
    for (size_t i = 0; i < file->frames().size() + 50; i++) {
        ASSERT_FALSE(source->next(1000 + i, message));
        size_t track = message.kind == TrackKind::kVideo ? 1 : 0;
        checkers[track].begin(static_cast<uint32_t>(message.body.size()));
        checkers[track].feed(message.body);
        FrameResult result = checkers[track].end();
        ASSERT_EQ(result.type, FrameType::kIntact) << i;
        EXPECT_EQ(result.stamp.stream, 7u);
        EXPECT_EQ(result.stamp.epoch, 42u);
        EXPECT_EQ(result.stamp.send_ns, 1000 + i);
        EXPECT_EQ(result.stamp.sequence, sequence[track]++);
        EXPECT_EQ(result.stamp.place == 0 && track == 1, result.key) << i;
    }
}

TEST(FrameSourceTest, BeginsWithMetadataAndSequenceHeaders) {
    auto check = [](const FrameSource& source) {
        std::vector<SourceMessage> opening = source.opening();
        ASSERT_EQ(opening.size(), 3u);
        EXPECT_TRUE(flv::parse_tag_body(opening[0].kind, opening[0].body)->metadata);
        EXPECT_TRUE(flv::parse_tag_body(opening[1].kind, opening[1].body)->config);
        EXPECT_TRUE(flv::parse_tag_body(opening[2].kind, opening[2].body)->config);
    };
    check(*file_source(sample(), 0, 1));
    auto plan = BitratePlan::create(StreamShape());
    ASSERT_TRUE(plan.ok());
    check(*synthetic_source(*plan, 0, 1));
}

TEST(FrameSourceTest, SyntheticFramesAreThoseOfThePlan) {
    auto plan = BitratePlan::create(StreamShape());
    ASSERT_TRUE(plan.ok());
    auto source = synthetic_source(*plan, 3, 9);
    uint32_t sequence[2] = {};
    SourceMessage message;
    for (int i = 0; i < 300; i++) {
        uint64_t due = source->next_due_us();
        ASSERT_FALSE(source->next(1, message));
        bool is_video = message.kind == TrackKind::kVideo;
        uint32_t number = sequence[is_video ? 1 : 0]++;
        EXPECT_EQ(due, is_video ? plan->video_due_us(number) : plan->audio_due_us(number));
        EXPECT_EQ(message.body.size(),
                  is_video ? plan->video_size(number) : plan->audio_size(number));
    }
}

}  // namespace
}  // namespace weir::load
