#include "session/webrtc/rtc_log.h"

#include <gtest/gtest.h>

namespace weir::session {
namespace {

TEST(RtcLogTest, SaysNothingWhileNothingChanges) {
    RtcLog log;
    RtcFigures figures;
    EXPECT_EQ(log.line(figures), std::nullopt);
    figures.received = 1000;  // media alone is no news
    figures.sent = 5000;
    EXPECT_EQ(log.line(figures), std::nullopt);
}

TEST(RtcLogTest, TellsSessionsThatCameAndWent) {
    RtcLog log;
    RtcFigures figures;
    figures.sessions = 2;
    figures.sessions_made = 3;
    figures.received = 70;
    EXPECT_EQ(log.line(figures),
              "rtc sessions=2 new=3 received=70 sent=0 kernel_drops=0 app_drops=0 send_drops=0");
    EXPECT_FALSE(log.dropped());
    EXPECT_EQ(log.line(figures), std::nullopt);
    figures.sessions_made = 4;  // one came, one went
    EXPECT_TRUE(log.line(figures));
}

TEST(RtcLogTest, TellsDropsOfKernelAndServerApart) {
    RtcLog log;
    RtcFigures figures;
    figures.kernel_drops = 5;
    EXPECT_NE(log.line(figures)->find("kernel_drops=5 app_drops=0 send_drops=0 (the kernel"),
              std::string::npos);
    EXPECT_TRUE(log.dropped());
    figures.app_drops = 7;
    const std::optional<std::string> second = log.line(figures);
    EXPECT_NE(second->find("kernel_drops=0 app_drops=7"), std::string::npos) << *second;
    EXPECT_EQ(second->find("the kernel's"), std::string::npos);
    EXPECT_EQ(log.line(figures), std::nullopt);
    EXPECT_FALSE(log.dropped());
}

}  // namespace
}  // namespace weir::session
