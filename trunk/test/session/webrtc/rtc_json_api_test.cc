#include "session/webrtc/rtc_json_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::session {
namespace {

using testing::HasSubstr;

TEST(RtcStreamUrlTest, IsTakenApart) {
    const auto url = RtcStreamUrl::parse("webrtc://h.example:1985/live/room/a%20b?key=k&vhost=v");
    ASSERT_TRUE(url.ok());
    EXPECT_EQ(url->vhost, "v");
    EXPECT_EQ(url->app, "live/room");
    EXPECT_EQ(url->name, "a b");
    EXPECT_EQ(url->key, "k");
    EXPECT_EQ(RtcStreamUrl::parse("webrtc://h.example:1985/live/a")->vhost, "h.example");
    EXPECT_EQ(RtcStreamUrl::parse("webrtc://[::1]/live/a")->vhost, "[::1]");
    EXPECT_EQ(RtcStreamUrl::parse("webrtc://[::1]:80/live/a")->vhost, "[::1]");
}

TEST(RtcStreamUrlTest, SaysWhatItExpects) {
    for (const std::string& wrong :
         {std::string(), std::string("live/a"), std::string("webrtc://h"),
          std::string("webrtc://h/"), std::string("webrtc://h/a"), std::string("webrtc://h/live/"),
          std::string("://h/live/a"), std::string("webrtc://h/live/%zz"),
          "webrtc://h/live/" + std::string(5000, 'a')}) {
        const auto url = RtcStreamUrl::parse(wrong);
        ASSERT_FALSE(url.ok()) << wrong;
        EXPECT_THAT(std::string(url.error().message()), HasSubstr("webrtc://HOST")) << wrong;
    }
}

}  // namespace
}  // namespace weir::session
