#include "session/ts/group_playlist.h"

#include <gtest/gtest.h>

namespace weir::session {
namespace {

GroupPlaylist parsed(std::string_view text) {
    auto playlist = GroupPlaylist::parse(text);
    EXPECT_TRUE(playlist.ok());
    return playlist.ok() ? std::move(playlist).value() : GroupPlaylist();
}

constexpr std::string_view kList =
    "#EXTM3U x-tvg-url=\"http://epg.example/a.xml,http://epg.example/b.xml\"\n"
    "#EXTINF:-1 tvg-id=\"one.id\" tvg-name=\"ONE\",One, the first\n"
    "rtp://10.1.1.1@239.1.1.1:5000?fcc=10.255.14.152:15970\n"
    "#EXTINF:-1 tvg-name=\"Two\" group-title=\"News\",Two\n"
    "#EXTVLCOPT:network-caching=100\n"
    "http://192.168.1.1:4022/udp/239.1.1.2:5000@eth1\n"
    "#EXTINF:-1,Three\n"
    "https://cdn.example/three.m3u8?x=1\n"
    "#EXTINF:-1 tvg-id=\"One, the first\",Four\n"
    "udp://@[ff15::4]:5000\n";

TEST(GroupPlaylistTest, RewritesGroupsAndNothingElse) {
    const GroupPlaylist list = parsed(kList);
    EXPECT_EQ(list.channels(), 4U);
    EXPECT_EQ(list.groups(), 3U);
    EXPECT_EQ(list.write({.base = "https://tv.example:8443", .query = "key=a%26b", .guide = true}),
              "#EXTM3U x-tvg-url=\"https://tv.example:8443/epg.xml?key=a%26b\"\n"
              "#EXTINF:-1 tvg-id=\"one.id\" tvg-name=\"ONE\",One, the first\n"
              "https://tv.example:8443/rtp/10.1.1.1@239.1.1.1:5000"
              "?fcc=10.255.14.152:15970&key=a%26b\n"
              "#EXTINF:-1 tvg-name=\"Two\" group-title=\"News\",Two\n"
              "#EXTVLCOPT:network-caching=100\n"
              "https://tv.example:8443/udp/239.1.1.2:5000?key=a%26b\n"
              "#EXTINF:-1,Three\n"
              "https://cdn.example/three.m3u8?x=1\n"
              "#EXTINF:-1 tvg-id=\"One, the first\",Four\n"
              "https://tv.example:8443/udp/[ff15::4]:5000?key=a%26b\n");
}

TEST(GroupPlaylistTest, WithoutKeyAndGuideOnlyAddressesChange) {
    const std::string text = parsed("udp://239.1.1.1:5000\n").write({.base = "http://h:8080"});
    EXPECT_EQ(text, "#EXTM3U\nhttp://h:8080/udp/239.1.1.1:5000\n");
    EXPECT_NE(
        parsed(kList).write({.base = "http://h"}).find("x-tvg-url=\"http://epg.example/a.xml,"),
        std::string::npos);
}

TEST(GroupPlaylistTest, FindsGroupsByName) {
    const GroupPlaylist list = parsed(kList);
    for (const std::string_view name : {"One, the first", "ONE", "one.id"}) {
        ASSERT_NE(list.find(name), nullptr) << name;
        EXPECT_EQ(list.find(name)->to_string(), "10.1.1.1@239.1.1.1:5000");
    }
    EXPECT_EQ(list.find("Two")->to_string(), "239.1.1.2:5000");
    EXPECT_EQ(list.find("Three"), nullptr) << "no group";
    EXPECT_EQ(list.find("two"), nullptr);
    EXPECT_EQ(list.find(""), nullptr);
}

TEST(GroupPlaylistTest, KnowsWhereTheGuideIs) {
    EXPECT_EQ(parsed(kList).guide_url(), "http://epg.example/a.xml");
    EXPECT_EQ(parsed("#EXTM3U url-tvg=http://x/e.xml\n").guide_url(), "http://x/e.xml");
    EXPECT_EQ(parsed("#EXTM3U\n").guide_url(), "");
    EXPECT_EQ(parsed("#EXTM3U url-tvg=\"a\"\n").write({.base = "http://h", .guide = true}),
              "#EXTM3U x-tvg-url=\"http://h/epg.xml\" url-tvg=\"http://h/epg.xml\"\n");
}

TEST(GroupPlaylistTest, TellsGroupsFromOtherAddresses) {
    for (const std::string_view other :
         {"", "udp://", "udp://10.0.0.1:5000", "udp://239.1.1.1", "rtsp://239.1.1.1:5000",
          "http://h/udp/", "http://h/udp/10.0.0.1:1", "http://h/x?u=/udp/239.1.1.1:5000",
          "http://h/live/udp.m3u8", "udp:239.1.1.1:5000", "239.1.1.1:5000", "rtp"}) {
        EXPECT_FALSE(GroupLink::parse(other)) << other;
    }
    for (const std::string_view group :
         {"UDP://239.1.1.1:5000", "udp://@239.1.1.1:5000", "http://h:1/prefix/udp/239.1.1.1:5000",
          "https://h/udp/239.1.1.1:5000#x", "udp://239.1.1.1:5000/"}) {
        const auto link = GroupLink::parse(group);
        ASSERT_TRUE(link) << group;
        EXPECT_EQ(link->group.to_string(), "239.1.1.1:5000");
        EXPECT_FALSE(link->rtp);
    }
    EXPECT_TRUE(GroupLink::parse("http://h/rtp/239.1.1.1:5000")->rtp);
}

TEST(GroupPlaylistTest, RefusesWhatIsNoPlaylist) {
    EXPECT_EQ(GroupPlaylist::parse("<html>").error().code(), ErrorCode::kMalformed);
}

}  // namespace
}  // namespace weir::session
