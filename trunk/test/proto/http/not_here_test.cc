#include "proto/http/not_here.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::http {
namespace {

using testing::HasSubstr;

TEST(NotHereTest, SaysWhichProtocolIsMissingAndWhichAreThere) {
    struct Case {
        std::string_view path;
        std::string_view protocol;
    };

    for (const Case& c : {Case{"/live/x.mpd", "MPEG-DASH"}}) {
        const std::string text(why_not_here(c.path, "no"));
        EXPECT_THAT(text, HasSubstr(std::string(c.protocol) + " is not in this version")) << c.path;
        EXPECT_THAT(text, HasSubstr(".flv"));
        EXPECT_THAT(text, HasSubstr("/rtc/v1/whep/"));
    }
    EXPECT_EQ(why_not_here("/live/x.css", "no"), "no");
    EXPECT_EQ(why_not_here("/ts", "no"), "no");
    EXPECT_EQ(why_not_here("", "no"), "no");
}

}  // namespace
}  // namespace weir::http
