#include "proto/m3u/playlist.h"

#include <gtest/gtest.h>

namespace weir::m3u {
namespace {

Playlist parsed(std::string_view text) {
    auto playlist = Playlist::parse(text);
    EXPECT_TRUE(playlist.ok()) << playlist.error().message();
    return playlist.ok() ? std::move(playlist).value() : Playlist();
}

// As providers write them: groups, logos, catch-up, options of players, several kinds of quotes.
constexpr std::string_view kReal =
    "#EXTM3U x-tvg-url=\"http://epg.example/all.xml.gz\" catchup=\"append\"\n"
    "#EXTINF:-1 tvg-id=\"cctv1\" tvg-name=\"CCTV1\" tvg-logo=\"https://logo.example/1.png\" "
    "group-title=\"央视\" catchup=\"default\" "
    "catchup-source=\"rtsp://10.0.0.1/"
    "x?playseek=${(b)yyyyMMddHHmmss}-${(e)yyyyMMddHHmmss}\",CCTV-1\n"
    "rtp://239.3.1.129:8008?fcc=10.255.14.152:15970\n"
    "#EXTINF:-1 tvg-id=two group-title=\"News, talk\" ,Two, the second\n"
    "#EXTVLCOPT:network-caching=100\n"
    "#KODIPROP:inputstream=inputstream.ffmpegdirect\n"
    "udp://@239.1.1.2:5000\n"
    "#EXTINF:0,Plain\n"
    "#EXTGRP:Other\n"
    "http://192.168.1.1:4022/udp/239.1.1.3:5000\n"
    "# the end\n";

TEST(M3uPlaylistTest, ReadsWhatProvidersWrite) {
    const Playlist list = parsed(kReal);
    EXPECT_EQ(list.header_info.get("X-TVG-URL"), "http://epg.example/all.xml.gz");
    ASSERT_EQ(list.channels.size(), 3U);
    const Channel& first = list.channels[0];
    EXPECT_EQ(first.info.title, "CCTV-1");
    EXPECT_EQ(first.info.get("tvg-logo"), "https://logo.example/1.png");
    EXPECT_EQ(first.info.get("catchup-source"),
              "rtsp://10.0.0.1/x?playseek=${(b)yyyyMMddHHmmss}-${(e)yyyyMMddHHmmss}");
    EXPECT_EQ(first.group, "央视");
    EXPECT_EQ(first.address, "rtp://239.3.1.129:8008?fcc=10.255.14.152:15970");
    EXPECT_EQ(list.channels[1].info.title, "Two, the second");
    EXPECT_EQ(list.channels[1].info.get("tvg-id"), "two");
    EXPECT_EQ(list.channels[1].group, "News, talk");
    EXPECT_EQ(list.channels[1].lines.size(), 3U);
    EXPECT_EQ(list.channels[2].info.title, "Plain");
    EXPECT_EQ(list.channels[2].group, "Other");
    EXPECT_EQ(list.rest, std::vector<std::string>{"# the end"});
}

TEST(M3uPlaylistTest, WritesItAsItWas) {
    EXPECT_EQ(parsed(kReal).write(), kReal);
}

TEST(M3uPlaylistTest, TakesOtherLineEndsAndAMarkInFront) {
    const Playlist list =
        parsed("\xEF\xBB\xBF#EXTM3U\r\n\r\n#EXTINF:-1,One\r\n  udp://239.1.1.1:1 \r\n");
    EXPECT_EQ(list.header, "#EXTM3U");
    ASSERT_EQ(list.channels.size(), 1U);
    EXPECT_EQ(list.channels[0].address, "udp://239.1.1.1:1");
    EXPECT_EQ(list.write(), "#EXTM3U\n#EXTINF:-1,One\nudp://239.1.1.1:1\n");
}

TEST(M3uPlaylistTest, TakesAListOfAddressesAlone) {
    const Playlist list = parsed("udp://239.1.1.1:1\nudp://239.1.1.2:1");
    EXPECT_EQ(list.channels.size(), 2U);
    EXPECT_TRUE(list.header.empty());
    EXPECT_TRUE(list.channels[0].info.title.empty());
}

TEST(M3uPlaylistTest, FindsTheTitleInOddLines) {
    EXPECT_EQ(Info::parse("#EXTINF:-1").title, "");
    EXPECT_EQ(Info::parse("#EXTINF:").title, "");
    EXPECT_EQ(Info::parse("#EXTINF:-1,").title, "");
    EXPECT_EQ(Info::parse("#EXTINF:-1 , A").title, "A");
    EXPECT_EQ(Info::parse("#EXTINF:-1 bare words,A").title, "A");
    EXPECT_EQ(Info::parse("#EXTINF:-1 a=\"open,B").title, "B");
    EXPECT_EQ(Info::parse("#EXTINF:-1 a=\"x\"b=\"y\",C").get("b"), "y");
    EXPECT_EQ(Info::parse("#EXTINF:-1 a=,D").title, "D");
    EXPECT_EQ(Info::parse("#extinf:-1 a=1,E").get("A"), "1");
    EXPECT_EQ(Info::parse("#EXTINF:-1 =,F").title, "F");
}

TEST(M3uPlaylistTest, RefusesWhatIsNone) {
    for (const std::string_view text : {"<html>", " \n<?xml version='1.0'?>"}) {
        EXPECT_EQ(Playlist::parse(text).error().code(), ErrorCode::kMalformed);
    }
    EXPECT_EQ(Playlist::parse(std::string_view("a\0b", 3)).error().code(), ErrorCode::kMalformed);
    EXPECT_TRUE(parsed("").channels.empty());
}

TEST(M3uPlaylistTest, HasLimits) {
    auto code = [](const std::string& text) { return Playlist::parse(text).error().code(); };
    EXPECT_EQ(code(std::string(kMaxBytes + 1, 'a')), ErrorCode::kLimit);
    EXPECT_EQ(code(std::string(kMaxLine + 1, 'a')), ErrorCode::kLimit);
    std::string lines;
    for (size_t i = 0; i <= kMaxLinesOfChannel; i++) {
        lines += "#x\n";
    }
    EXPECT_EQ(code(lines), ErrorCode::kLimit);
    std::string channels;
    for (size_t i = 0; i <= kMaxChannels; i++) {
        channels += "a\n";
    }
    EXPECT_EQ(code(channels), ErrorCode::kLimit);
    std::string attributes = "#EXTINF:-1";
    for (size_t i = 0; i <= kMaxAttributes; i++) {
        attributes += " a=b";
    }
    EXPECT_EQ(Info::parse(attributes).attributes.size(), kMaxAttributes);
}

TEST(M3uPlaylistTest, ChangesAnAttribute) {
    EXPECT_EQ(with_attribute("#EXTM3U x-tvg-url=\"a\" b=c", "x-tvg-url", "d\"e"),
              "#EXTM3U x-tvg-url=\"de\" b=c");
    EXPECT_EQ(with_attribute("#EXTM3U a=b", "A", "c"), "#EXTM3U a=\"c\"");
    EXPECT_EQ(with_attribute("#EXTM3U", "a", "c"), "#EXTM3U a=\"c\"");
    EXPECT_EQ(with_attribute("#EXTINF:-1,Title", "a", "c"), "#EXTINF:-1 a=\"c\",Title");
    EXPECT_EQ(with_attribute("#EXTINF:-1 b=\"x\",Title", "a", "c"),
              "#EXTINF:-1 a=\"c\" b=\"x\",Title");
}

}  // namespace
}  // namespace weir::m3u
