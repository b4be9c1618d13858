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
    EXPECT_EQ(range("30-60"), "npt=30-60");
    EXPECT_EQ(range("npt=5-"), "npt=5-");
    EXPECT_EQ(range("20260101120000-nonsense"), "refused");
    EXPECT_EQ(range("1\r\nX: y"), "refused");
    EXPECT_EQ(range(std::string(100, '1')), "refused");
    EXPECT_EQ(AskedStream::of({"v", "rtsp/camera", "ch1?playseek=30-60"})->range, "npt=30-60");
}

}  // namespace
}  // namespace weir::net
