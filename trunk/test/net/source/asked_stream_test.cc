#include "net/source/asked_stream.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

std::string url_of(const std::string& app, const std::string& name) {
    const auto asked = AskedStream::of({"v", app, name});
    return asked.ok() ? asked->url.full() : "";
}

TEST(AskedStreamTest, KeysOfGroupsAreTheirAddresses) {
    EXPECT_EQ(url_of("udp", "239.1.1.1:5000"), "udp://239.1.1.1:5000");
    EXPECT_EQ(url_of("udp", "10.0.0.9@232.1.1.1:5000@eth1?fec=5002"),
              "udp://10.0.0.9@232.1.1.1:5000@eth1?fec=5002");
    for (const char* other : {"239.1.1.1", "@239.1.1.1:5000", "239.1.1.1:5000?ttl=4", "a"}) {
        EXPECT_EQ(url_of("udp", other), "") << other;
    }
}

TEST(AskedStreamTest, KeysOfRtspStreamsAreTheirAddresses) {
    EXPECT_EQ(url_of("rtsp/camera", "ch1"), "rtsp://camera/ch1");
    EXPECT_EQ(url_of("rtsp/camera:8554/live/hd", "ch 1"), "rtsp://camera:8554/live/hd/ch%201");
    EXPECT_EQ(url_of("rtsp/camera", "ch1?a=1&playseek=10-20&b=2"), "rtsp://camera/ch1?a=1&b=2");
    for (const char* app : {"rtsp", "rtsp/", "rtsp2/camera", "live", "rtsp/user:secret@camera"}) {
        EXPECT_EQ(url_of(app, "ch1"), "") << app;
    }
}

TEST(AskedStreamTest, PlayseekBecomesARange) {
    const auto range = [](std::string_view text) {
        Result<std::string> made = AskedStream::range_of(text);
        return made.ok() ? *made : "refused";
    };
    EXPECT_EQ(range("20260101120000-20260101130000"), "clock=20260101T120000Z-20260101T130000Z");
    EXPECT_EQ(range("20260101T120000Z-"), "clock=20260101T120000Z-");
    EXPECT_EQ(range("20260101120000GMT-20260101130000GMT"),
              "clock=20260101T120000Z-20260101T130000Z");
    EXPECT_EQ(range("1767268800-1767272400"), "clock=20260101T120000Z-20260101T130000Z");
    EXPECT_EQ(range("1767268800-"), "clock=20260101T120000Z-");
    EXPECT_EQ(range("20260101120000"), "clock=20260101T120000Z-");
    EXPECT_EQ(range("30-60"), "npt=30-60");
    EXPECT_EQ(range("30-"), "npt=30-");
    EXPECT_EQ(range("-60"), "npt=-60");
    EXPECT_EQ(range("0:10:30.5-now"), "npt=0:10:30.5-now");
    EXPECT_EQ(range("npt=5-"), "npt=5-");
    EXPECT_EQ(range("20260101120000-nonsense"), "refused");
    EXPECT_EQ(range("1\r\nX: y"), "refused");
    EXPECT_EQ(range(std::string(100, '1')), "refused");
    for (const char* wrong :
         {"-", "x", "20261301120000-", "20260230120000-", "20260101240000-", "2026010112-x",
          "20260101120000-60", "30-20260101120000", "-20260101120000", "20260101120000+1500-",
          "20260101120000 -", "20260101120000GMT+-", "20260101120000-20260101130000-",
          "${start}-${end}", "20260101120000+01001-"}) {
        EXPECT_EQ(range(wrong), "refused") << wrong;
    }
    EXPECT_EQ(AskedStream::of({"v", "rtsp/camera", "ch1?playseek=30-60"})->range, "npt=30-60");
}

TEST(AskedStreamTest, TimesOfPlayseekMayHaveAZone) {
    struct Case {
        const char* from;
        const char* to;
    };

    const Case cases[] = {
        {"20260101120000", "20260101130000"},
        {"20260101120000gmt", "20260101130000UTC"},
        {"20260101130000+0100", "20260101140000+0100"},
        {"20260101070000-0500", "20260101080000-0500"},
        {"20260101063000-0530", "20260101073000-05:30"},
        {"20260101200000GMT+8", "20260101200000GMT+07"},
        {"20260101200000GMT+08:00", "20260101050000UTC-8"},
        {"20260102020000+14", "20260101010000-12"},
        {"20260101T120000Z", "20260101T130000.25Z"},
        {"2026-01-01T12:00:00", "2026-01-01T13:00:00.123Z"},
        {"2026-01-01T13:00:00+01:00", "2026-01-01T05:00:00-08:00"},
        {"1767268800", "1767272400"},
        {"1767268800000", "1767272400999"},
        {"1767268800", "20260101130000"},
        {"20260101070000-0500", "2026-01-01T13:00:00Z"},
    };
    for (const Case& each : cases) {
        const Result<std::string> made =
            AskedStream::range_of(std::string(each.from) + "-" + each.to);
        EXPECT_EQ(made.ok() ? *made : "refused", "clock=20260101T120000Z-20260101T130000Z")
            << each.from;
        const Result<std::string> open = AskedStream::range_of(std::string(each.from) + "-");
        EXPECT_EQ(open.ok() ? *open : "refused", "clock=20260101T120000Z-") << each.from;
    }
    const std::string name = "ch1?playseek=20260101130000%2B0100-20260101130000GMT";
    EXPECT_EQ(AskedStream::of({"v", "rtsp/camera", name})->range,
              "clock=20260101T120000Z-20260101T130000Z");
    // Days, months and years change with the zone.
    EXPECT_EQ(*AskedStream::range_of("20260101003000+0100-"), "clock=20251231T233000Z-");
    EXPECT_EQ(*AskedStream::range_of("20240228233000-0100-"), "clock=20240229T003000Z-");
}

}  // namespace
}  // namespace weir::net
