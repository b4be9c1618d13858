// The segments that a disk has: what playlists list of them, what a delta update leaves out, and
// which files may go.
#include "proto/hls/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::hls {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr int64_t kWall = 1'700'000'000'000;

class HistoryTest : public testing::Test {
  protected:
    // Of 2 s; from number 10 on.
    void add(int count, uint64_t header = 10, bool stored = true) {
        for (int i = 0; i < count; i++, next_++) {
            history_.add({.number = next_,
                          .header = header,
                          .duration_ms = 2'000,
                          .wall_ms = kWall + static_cast<int64_t>(next_) * 2'000,
                          .discontinuity = header == next_ && header != 10},
                         true);
            if (stored) {
                history_.settle(next_, true);
            }
        }
    }

    // As a playlist without low latency has it.
    std::string text(uint64_t first, uint64_t end) {
        const History::Listed listed = history_.listed(first, end);
        MediaPlaylist playlist;
        playlist.mp4 = mp4_;
        playlist.target_s = 2;
        playlist.older = listed.older;
        playlist.discontinuity_sequence = listed.discontinuities_before;
        playlist.next_number = end;
        return with_query(write_media_playlist(playlist), "");
    }

    bool mp4_ = true;
    History history_{true};
    uint64_t next_ = 10;
};

TEST_F(HistoryTest, ItsTextIsThatOfThePlaylist) {
    add(4);
    MediaPlaylist playlist;
    playlist.target_s = 2;
    playlist.next_number = 14;
    for (uint64_t number = 10; number < 14; number++) {
        playlist.segments.push_back({.number = number,
                                     .header = 10,
                                     .duration_ms = 2'000,
                                     .wall_ms = kWall + static_cast<int64_t>(number) * 2'000});
    }
    EXPECT_EQ(text(10, 14), with_query(write_media_playlist(playlist), ""));
}

TEST_F(HistoryTest, AListThatBeginsLaterNamesTheHeaderAsWell) {
    add(4);
    EXPECT_THAT(text(12, 14),
                HasSubstr("#EXT-X-MEDIA-SEQUENCE:12\n#EXT-X-MAP:URI=\"init-10.mp4\""));
    EXPECT_THAT(text(12, 14), Not(HasSubstr("\n11.m4s")));
}

TEST_F(HistoryTest, WhatFollowsItDoesNotNameTheHeaderAgain) {
    add(2);
    MediaPlaylist playlist;
    playlist.older = history_.listed(10, 12).older;
    playlist.segments = {{.number = 12, .header = 10, .duration_ms = 2'000, .wall_ms = kWall}};
    const std::string list = write_media_playlist(playlist);
    EXPECT_EQ(list.find("#EXT-X-MAP"), list.rfind("#EXT-X-MAP"));
    playlist.segments.front().header = 12;
    EXPECT_THAT(write_media_playlist(playlist), HasSubstr("init-12.mp4"));
}

TEST_F(HistoryTest, AListIsAsLongAsWantedAndNeverGoesBack) {
    add(20);
    EXPECT_EQ(history_.first_of(29, 10'000, 0), 25U);
    EXPECT_EQ(history_.first_of(29, 9'999, 0), 25U);
    EXPECT_EQ(history_.first_of(29, 0, 0), 27U) << "three at least";
    EXPECT_EQ(history_.first_of(29, 3'600'000, 0), 10U);
    EXPECT_EQ(history_.first_of(29, 3'600'000, 15), 15U);
    EXPECT_EQ(history_.first_of(40, 10'000, 0), 40U) << "not there";
}

TEST_F(HistoryTest, WhatTheDiskRefusedIsAGapAndNoListBeginsWithOne) {
    add(2);
    add(2, 10, false);
    history_.settle(12, false);
    history_.settle(13, false);
    add(3);
    EXPECT_THAT(text(10, 17), HasSubstr("#EXT-X-GAP\n#EXTINF:2.000,\n12.m4s\n"));
    EXPECT_THAT(text(10, 17), Not(HasSubstr("#EXT-X-GAP\n#EXTINF:2.000,\n14.m4s\n")));
    EXPECT_EQ(history_.first_of(16, 10'000, 0), 14U);
    history_.lose_all();
    EXPECT_EQ(history_.first_of(16, 10'000, 0), 16U);
    EXPECT_FALSE(history_.has_header(10));
}

TEST_F(HistoryTest, DiscontinuitiesThatHaveLeftTheListAreCounted) {
    add(2);
    add(2, 12);
    add(2, 14);
    EXPECT_THAT(text(10, 16), Not(HasSubstr("DISCONTINUITY-SEQUENCE")));
    EXPECT_THAT(text(12, 16), Not(HasSubstr("DISCONTINUITY-SEQUENCE")));
    EXPECT_THAT(text(13, 16), HasSubstr("#EXT-X-DISCONTINUITY-SEQUENCE:1\n"));
    std::vector<std::string> gone;
    history_.forget_before(15, 0, gone);
    EXPECT_THAT(text(15, 16), HasSubstr("#EXT-X-DISCONTINUITY-SEQUENCE:2\n"));
}

TEST_F(HistoryTest, ADeltaUpdateLeavesOutWhatIsOld) {
    add(20);
    History::Listed listed = history_.listed(10, 30);
    history_.skip(listed, 4'000, 12'000);
    MediaPlaylist playlist;
    playlist.skip = true;
    playlist.target_s = 2;
    playlist.part_target_ms = 200;
    playlist.older = listed.older;
    playlist.next_number = 32;
    playlist.segments = {{.number = 30, .header = 10, .duration_ms = 2'000, .wall_ms = kWall},
                         {.number = 31, .header = 10, .duration_ms = 2'000, .wall_ms = kWall}};
    const std::string list = with_query(write_media_playlist(playlist), "");
    EXPECT_THAT(list, HasSubstr("#EXT-X-VERSION:9\n"));
    EXPECT_THAT(list, HasSubstr("#EXT-X-MEDIA-SEQUENCE:10\n#EXT-X-SKIP:SKIPPED-SEGMENTS=16\n"));
    EXPECT_THAT(list, Not(HasSubstr("\n25.m4s")));
    EXPECT_THAT(list, HasSubstr("\n26.m4s"));
    EXPECT_THAT(list, Not(HasSubstr("#EXT-X-MAP")));
    // The whole of it is as before.
    EXPECT_THAT(text(10, 30), StartsWith("#EXTM3U\n#EXT-X-VERSION:6\n"));
    EXPECT_THAT(text(10, 30), HasSubstr("\n10.m4s"));
}

TEST_F(HistoryTest, FilesGoWhenTheyHaveLeftTheListLongEnoughAndHeadersWithTheirLastSegment) {
    add(4);
    add(10, 14);
    std::vector<std::string> gone;
    history_.forget_before(17, 10'000, gone);
    EXPECT_THAT(gone, ElementsAre("10.m4s", "11.m4s"));
    gone.clear();
    history_.forget_before(17, 10'000, gone);
    EXPECT_THAT(gone, IsEmpty());
    history_.forget_before(17, 6'000, gone);
    EXPECT_THAT(gone, ElementsAre("12.m4s", "13.m4s", "init-10.mp4"));
    EXPECT_EQ(history_.find(13), nullptr);
    EXPECT_NE(history_.find(14), nullptr);
}

TEST_F(HistoryTest, WhatWaitsForTheDiskStays) {
    add(1, 10, false);
    add(9);
    std::vector<std::string> gone;
    history_.forget_before(18, 0, gone);
    EXPECT_THAT(gone, IsEmpty());
    history_.settle(10, false);
    history_.forget_before(18, 0, gone);
    EXPECT_EQ(gone.size(), 7U) << "there is no file of the lost one";
}

TEST_F(HistoryTest, ANumberThatDoesNotGoOnBeginsAnother) {
    add(3);
    next_ = 100;
    add(1, 100);
    EXPECT_EQ(history_.size(), 1U);
    EXPECT_EQ(history_.find(12), nullptr);
}

TEST_F(HistoryTest, TransportStreamsHaveNoHeaders) {
    mp4_ = false;
    history_ = History(mp4_);
    add(3);
    std::vector<std::string> gone;
    history_.forget_before(12, 0, gone);
    EXPECT_THAT(gone, ElementsAre("10.ts", "11.ts"));
    EXPECT_THAT(text(12, 13), Not(HasSubstr("MAP")));
}

}  // namespace
}  // namespace weir::hls
