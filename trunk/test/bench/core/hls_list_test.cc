#include "bench/load/core/hls_list.h"

#include <gtest/gtest.h>

namespace weir::load {
namespace {

constexpr std::string_view kLive =
    "#EXTM3U\n"
    "#EXT-X-VERSION:6\n"
    "#EXT-X-TARGETDURATION:2\n"
    "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12.0,PART-HOLD-BACK=0.6\r\n"
    "#EXT-X-PART-INF:PART-TARGET=0.2\n"
    "#EXT-X-MEDIA-SEQUENCE:7\n"
    "#EXT-X-MAP:URI=\"init-1.mp4?session=a,b\"\n"
    "#EXTINF:2.000,\n"
    "7.m4s\n"
    "#EXTINF:1.5\n"
    "8.m4s\n"
    "#EXT-X-MAP:URI=\"init-2.mp4\"\n"
    "#EXT-X-PART:DURATION=0.2,URI=\"9.0.m4s\",INDEPENDENT=YES\n"
    "#EXT-X-PART:DURATION=0.2,URI=\"9.1.m4s\"\n"
    "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"9.2.m4s\"\n";

TEST(HlsListTest, TakesSegmentsHeadersAndParts) {
    auto list = parse_hls_list(kLive);
    ASSERT_TRUE(list.ok()) << list.error().message();
    EXPECT_EQ(list->target_us, 2'000'000);
    EXPECT_EQ(list->hold_back_us, 6'000'000);
    EXPECT_EQ(list->part_hold_back_us, 600'000);
    EXPECT_TRUE(list->can_block);
    EXPECT_FALSE(list->ended);
    ASSERT_EQ(list->segments.size(), 3U);
    EXPECT_EQ(list->segments[0].header, "init-1.mp4?session=a,b");
    EXPECT_EQ(list->segments[1].duration_us, 1'500'000);
    const HlsSegment* open = list->find(9);
    ASSERT_NE(open, nullptr);
    EXPECT_FALSE(open->complete());
    EXPECT_EQ(open->header, "init-2.mp4");
    ASSERT_EQ(open->parts.size(), 2U);
    EXPECT_TRUE(open->parts[0].independent);
    EXPECT_EQ(open->parts[1].uri, "9.1.m4s");
    EXPECT_EQ(list->find(10), nullptr);
}

TEST(HlsListTest, BeginsAsFarFromTheEndAsItIsTold) {
    std::string text = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:1\n";
    for (int i = 1; i <= 5; i++) {
        text += "#EXTINF:2.0,\n" + std::to_string(i) + ".ts\n";
    }
    EXPECT_EQ(parse_hls_list(text)->start(false).number, 3U) << "three targets";
    const HlsList live = *parse_hls_list(kLive);
    EXPECT_EQ(live.start(true).number, 8U) << "0.4 s of parts are less than the hold-back";
    EXPECT_EQ(live.start(false).number, 7U) << "no segment is as far back: the first";
}

TEST(HlsListTest, BeginsAtAnIndependentPart) {
    const HlsList list = *parse_hls_list(
        "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-SERVER-CONTROL:PART-HOLD-BACK=0.4\n"
        "#EXT-X-PART:DURATION=0.2,URI=\"0.0\",INDEPENDENT=YES\n"
        "#EXT-X-PART:DURATION=0.2,URI=\"0.1\",INDEPENDENT=YES\n"
        "#EXT-X-PART:DURATION=0.2,URI=\"0.2\"\n"
        "#EXT-X-PART:DURATION=0.2,URI=\"0.3\"\n");
    EXPECT_EQ(list.start(true).part, 1U);
}

TEST(HlsListTest, SaysWhichLineIsWrong) {
    for (const std::string_view bad :
         {"#EXTINF:a,\nx.ts\n", "#EXTINF:-1,\nx.ts\n", "#EXTINF:nan,\nx.ts\n", "x.ts\n",
          "#EXT-X-MEDIA-SEQUENCE:-3\n", "#EXT-X-PART:DURATION=0.2\n"}) {
        const auto list = parse_hls_list("#EXTM3U\n#EXT-X-TARGETDURATION:2\n" + std::string(bad));
        ASSERT_FALSE(list.ok()) << bad;
        EXPECT_NE(list.error().message().find("line 3"), std::string_view::npos)
            << list.error().message();
    }
    EXPECT_FALSE(parse_hls_list("<html>").ok());
    EXPECT_FALSE(parse_hls_list("#EXTM3U\n#EXTINF:1,\na.ts\n").ok()) << "no target duration";
}

TEST(HlsListTest, FindsTheFirstVariant) {
    EXPECT_EQ(first_variant("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"a,b\"\n\nlow.m3u8\n"
                            "#EXT-X-STREAM-INF:BANDWIDTH=2\nhigh.m3u8\n"),
              "low.m3u8");
    EXPECT_EQ(first_variant(kLive), "");
}

TEST(HlsListTest, ResolvesReferences) {
    EXPECT_EQ(*resolve_hls("/live/a.hls/index.m3u8?x=/y", "7.m4s?s=1"), "/live/a.hls/7.m4s?s=1");
    EXPECT_EQ(*resolve_hls("/live/a.m3u8", "/b/c.ts"), "/b/c.ts");
    EXPECT_FALSE(resolve_hls("/a.m3u8", "http://other/b.ts").ok());
    EXPECT_FALSE(resolve_hls("/a.m3u8", "//other/b.ts").ok());
}

}  // namespace
}  // namespace weir::load
