#include "proto/rtsp/header_values.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir::rtsp {
namespace {

using std::chrono::seconds;

TEST(RtspSessionTest, ReadsIdAndTimeout) {
    struct Case {
        std::string_view value;
        std::string_view id;
        std::optional<seconds> timeout;
    };

    const Case cases[] = {
        {"12345678", "12345678", {}},
        {"12345678;timeout=60", "12345678", seconds(60)},
        {" ab$-_.+/= ; Timeout = 30 ", "ab$-_.+/=", seconds(30)},
        {"x;timeout=0", "x", {}},
        {"x;timeout=", "x", {}},
        {"x;timeout=-5", "x", {}},
        {"x;foo;timeout=5", "x", seconds(5)},
        {"x;timeout=18446744073709551615", "x", kMaxSessionTimeout},
    };
    for (const Case& each : cases) {
        const std::optional<SessionField> session = parse_session(each.value);
        ASSERT_TRUE(session) << each.value;
        EXPECT_EQ(session->id, each.id) << each.value;
        EXPECT_EQ(session->timeout, each.timeout) << each.value;
        EXPECT_EQ(parse_session(write(*session)), session);
    }
}

TEST(RtspSessionTest, RefusesWhatIsNoId) {
    EXPECT_FALSE(parse_session(""));
    EXPECT_FALSE(parse_session(";timeout=60"));
    EXPECT_FALSE(parse_session("a b"));
    EXPECT_FALSE(parse_session("a\x01"));
    EXPECT_TRUE(parse_session(std::string(kMaxSessionId, 'x')));
    EXPECT_FALSE(parse_session(std::string(kMaxSessionId + 1, 'x')));
}

TEST(RtspSessionTest, WritesAnIdThatCannotSplitTheField) {
    EXPECT_EQ(write(SessionField{"a\r\n;b", seconds(7)}), "ab;timeout=7");
}

TEST(RtspRangeTest, ReadsNormalPlayTime) {
    struct Case {
        std::string_view value;
        bool from_now;
        std::optional<int64_t> start_us;
        std::optional<int64_t> end_us;
        std::string_view written;
    };

    const Case cases[] = {
        {"npt=now-", true, {}, {}, "npt=now-"},
        {"npt=0.000-", false, 0, {}, "npt=0.000000-"},
        {"npt=1.5-20", false, 1'500'000, 20'000'000, "npt=1.500000-20.000000"},
        {"npt=1:02:03.25-", false, 3'723'250'000, {}, "npt=3723.250000-"},
        {"npt=-20", false, {}, 20'000'000, "npt=-20.000000"},
        {"NPT = Now - ;time=19970123T143720Z", true, {}, {}, "npt=now-"},
        {"npt=0", false, 0, {}, "npt=0.000000-"},
        {"npt=.5-", false, {}, {}, ""},
        {"npt=0.12345678-", false, 123'456, {}, "npt=0.123456-"},
        {"npt=now-5", true, {}, 5'000'000, "npt=now-5.000000"},
    };
    for (const Case& each : cases) {
        const std::optional<Range> range = parse_range(each.value);
        if (each.written.empty()) {
            EXPECT_FALSE(range) << each.value;
            continue;
        }
        ASSERT_TRUE(range) << each.value;
        EXPECT_EQ(range->unit, Range::Unit::kNpt);
        EXPECT_EQ(range->from_now, each.from_now) << each.value;
        EXPECT_EQ(range->start ? std::optional(range->start->count()) : std::nullopt,
                  each.start_us);
        EXPECT_EQ(range->end ? std::optional(range->end->count()) : std::nullopt, each.end_us);
        EXPECT_EQ(write(*range), each.written);
        EXPECT_EQ(parse_range(write(*range)), range);
    }
}

TEST(RtspRangeTest, RecognisesTheOtherUnits) {
    EXPECT_EQ(parse_range("clock=19961108T143720.25Z-")->unit, Range::Unit::kClock);
    EXPECT_EQ(parse_range("smpte=10:07:00-")->unit, Range::Unit::kSmpte);
    EXPECT_EQ(parse_range("smpte-30-drop=10:07:00-")->unit, Range::Unit::kSmpte);
    EXPECT_EQ(parse_range("bytes=0-")->unit, Range::Unit::kOther);
}

TEST(RtspRangeTest, RefusesWhatIsMalformed) {
    for (const std::string_view value :
         {"", "npt", "=", "npt=", "npt=-", "npt=x-", "npt=1-x", "npt=2-1", "npt=1:2-",
          "npt=1:60:00-", "npt=1:00:60-", "npt=1.x-", "npt=1-2-3", "npt=99999999999999999999-",
          "npt=3600000001-", "npt=3600000000:00:00-", "npt=1:2:3:4-", "npt=+1-"}) {
        EXPECT_FALSE(parse_range(value)) << value;
    }
    EXPECT_TRUE(parse_range("npt=3600000000-"));
}

TEST(RtspRtpInfoTest, ReadsTheTracks) {
    const std::vector<RtpInfo> infos =
        parse_rtp_info("url=rtsp://h/a/1;seq=45102;rtptime=12345678,url=rtsp://h/a/2;seq=30211");
    ASSERT_EQ(infos.size(), 2U);
    EXPECT_EQ(infos[0], (RtpInfo{"rtsp://h/a/1", 45102, 12345678}));
    EXPECT_EQ(infos[1], (RtpInfo{"rtsp://h/a/2", 30211, {}}));
    EXPECT_EQ(write(infos),
              "url=rtsp://h/a/1;seq=45102;rtptime=12345678,url=rtsp://h/a/2;seq=30211");
}

TEST(RtspRtpInfoTest, TakesTheOdditiesOfCameras) {
    // Order, blanks, quotes, numbers out of range, a relative URL, separators within URLs.
    const std::vector<RtpInfo> infos = parse_rtp_info(
        " URL = x, url=trackID=1 ; rtptime=-1; seq=65536;, url=\"/a\";rtptime=4294967295;ssrc=1,"
        "url=rtsp://h/a,b;c=d?e,f;seq=7,seq=1,url=,url=a b");
    ASSERT_EQ(infos.size(), 3U);
    EXPECT_EQ(infos[0], (RtpInfo{"trackID=1", {}, {}}));
    EXPECT_EQ(infos[1], (RtpInfo{"/a", {}, 4294967295}));
    EXPECT_EQ(infos[2], (RtpInfo{"rtsp://h/a,b;c=d?e,f", {}, {}}));
    EXPECT_EQ(parse_rtp_info(write(infos)), infos);
}

TEST(RtspRtpInfoTest, TakesParametersOffAUrlInQuotes) {
    EXPECT_EQ(parse_rtp_info("url=\"/a;b;seq=5;\";rtptime=6"),
              (std::vector<RtpInfo>{{"/a;b", {}, 6}}));
}

TEST(RtspRtpInfoTest, BoundsTheEntries) {
    std::string value;
    for (size_t i = 0; i < kMaxRtpInfos + 1; i++) {
        value += "url=a,";
    }
    EXPECT_EQ(parse_rtp_info(value).size(), kMaxRtpInfos);
    EXPECT_TRUE(parse_rtp_info("").empty());
    EXPECT_EQ(write({RtpInfo{"a\r\nb", 1, 2}, RtpInfo{"", 1, 2}, RtpInfo{"x", 1, 2}}),
              "url=x;seq=1;rtptime=2");
}

}  // namespace
}  // namespace weir::rtsp
