#include "net/record_name.h"

#include <cstdlib>
#include <ctime>
#include <set>

#include <gtest/gtest.h>

namespace weir::net {
namespace {

class RecordNameTest : public testing::Test {
  protected:
    RecordNameTest() {
        ::setenv("TZ", "UTC", 1);
        ::tzset();
    }
};

constexpr int64_t kTime = 1'795'628'299'123;  // 2026-11-25 17:38:19 UTC

TEST_F(RecordNameTest, PutsNamesAndTimeIntoThePattern) {
    EXPECT_EQ(record_name("{vhost}/{app}/{stream}/{time}", {"a.example", "live", "cam1"}, kTime),
              "a.example/live/cam1/2026-11-25_17-38-19");
    EXPECT_EQ(record_name("all/{stream}-x", {"", "live/sub", "cam 1"}, kTime), "all/cam%201-x");
    EXPECT_EQ(record_name("{app}", {"", "live/sub", "c"}, kTime), "live%2Fsub");
}

// Every byte, alone, in front and twice.
TEST_F(RecordNameTest, NoNameLeavesItsComponent) {
    std::set<std::string> all;
    for (int byte = 0; byte < 256; byte++) {
        const std::string one(1, static_cast<char>(byte));
        for (const std::string& name : {one, one + one, one + "a", "a" + one}) {
            const std::string safe = safe_name(name);
            EXPECT_FALSE(safe.empty());
            EXPECT_EQ(safe.find('/'), std::string::npos);
            EXPECT_NE(safe.front(), '.');
            EXPECT_EQ(plain_name(safe), name);
            all.insert(safe);
        }
    }
    EXPECT_EQ(all.size(), 4U * 255 + 2);  // "a" and "aa", and four of each other byte
    EXPECT_EQ(safe_name(".."), "%2E.");
    EXPECT_EQ(safe_name(""), "%");
}

TEST_F(RecordNameTest, LongNamesAreCutAndStayDifferent) {
    const std::string a = safe_name(std::string(500, 'x') + "a");
    const std::string b = safe_name(std::string(500, 'x') + "b");
    EXPECT_EQ(a.size(), kMaxNameBytes);
    EXPECT_NE(a, b);
    EXPECT_EQ(safe_name(std::string(300, '/')).size(), kMaxNameBytes);
}

TEST_F(RecordNameTest, RefusesPatternsThatCouldLeaveTheFolder) {
    for (const char* good : {"{vhost}/{app}/{stream}/{time}", "a-b/{stream}", "x"}) {
        EXPECT_FALSE(check_pattern(good)) << good;
    }
    for (const char* bad : {"", "/a", "a/", "a//b", "../a", "a/../b", ".a", "{", "{x}", "a b",
                            "a\\b", "{stream", "%2F", "a\nb"}) {
        EXPECT_EQ(check_pattern(bad).code(), ErrorCode::kMalformed) << bad;
    }
}

TEST_F(RecordNameTest, KnowsTheNextMidnight) {
    EXPECT_EQ(next_midnight_ms(kTime), 1'795'651'200'000);
    EXPECT_EQ(next_midnight_ms(1'795'651'200'000), 1'795'737'600'000);
}

}  // namespace
}  // namespace weir::net
