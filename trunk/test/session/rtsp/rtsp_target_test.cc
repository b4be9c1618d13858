#include "session/rtsp/rtsp_target.h"

#include <gtest/gtest.h>

#include "session/rtsp/rtsp_profile.h"

#include "test/session/world.h"

namespace weir::session {
namespace {

RtspTarget parsed(std::string_view url) {
    FakePolicy policy;
    Result<RtspTarget> target = RtspTarget::parse(url, policy);
    EXPECT_TRUE(target.ok()) << url;
    return target.ok() ? std::move(*target) : RtspTarget();
}

TEST(RtspTargetTest, NamesAStream) {
    const RtspTarget target = parsed("rtsp://camera.example:8554/live/room/front%20door?key=abc");
    EXPECT_EQ(target.key.app, "live/room");
    EXPECT_EQ(target.key.name, "front door");
    EXPECT_EQ(target.token, "abc");
    EXPECT_EQ(target.query, "key=abc");
    EXPECT_EQ(target.url, "rtsp://camera.example:8554/live/room/front%20door");
    EXPECT_FALSE(target.track);
}

// Clients put the track behind the base, behind the query, or between them.
TEST(RtspTargetTest, NamesATrackWhereverClientsPutIt) {
    for (const char* url : {"rtsp://h/live/a/trackID=1", "rtsp://h/live/a/trackID=1?key=abc",
                            "rtsp://h/live/a?key=abc/trackID=1", "rtsp://h/live/a//trackID=1"}) {
        const RtspTarget target = parsed(url);
        EXPECT_EQ(target.key.name, "a") << url;
        EXPECT_EQ(target.track, net::kRtpAudioTrack) << url;
        EXPECT_EQ(target.url, "rtsp://h/live/a") << url;
    }
    EXPECT_EQ(parsed("rtsp://h/live/a/trackID=0").track, net::kRtpVideoTrack);
    EXPECT_EQ(parsed("rtsp://h/live/a?key=abc/trackID=0").token, "abc");
}

TEST(RtspTargetTest, RefusesWhatNamesNoStream) {
    FakePolicy policy;
    for (const char* url : {"*", "rtsp://h", "rtsp://h/", "rtsp://h/live", "rtsp://h/live/",
                            "http://h/live/a", "rtsp://h/trackID=0"}) {
        EXPECT_FALSE(RtspTarget::parse(url, policy).ok()) << url;
    }
    for (const char* name : {"live/x%20HTTP/1.1%0d%0aHost:%20evil", "live/%00", "live/../secret/a",
                             "live/%2e%2e/secret/a", "live/./a", "live/.."}) {
        EXPECT_FALSE(RtspTarget::parse(fmt::format("rtsp://h/{}", name), policy).ok()) << name;
    }
    EXPECT_TRUE(RtspTarget::parse("rtsp://h/live/..a/b.%3F", policy).ok());
    const std::string longest(kMaxRtspName, 'x');
    EXPECT_TRUE(RtspTarget::parse("rtsp://h/live/" + longest.substr(1), policy).ok());
    EXPECT_FALSE(RtspTarget::parse("rtsp://h/live/" + longest + "x", policy).ok());
}

}  // namespace
}  // namespace weir::session
