// hls { path; dvr; }: what it takes, what applications inherit, and what is worth a warning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"
#include "config/config_warnings.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Config config_of(std::string_view text) {
    ParseOutcome outcome = parse_config(text, "c/t.conf");
    EXPECT_TRUE(outcome.ok()) << text << to_string(outcome.errors);
    return outcome.ok() ? std::move(*outcome.config) : Config();
}

TEST(HlsConfigTest, NothingIsWrittenByDefault) {
    const Config config = config_of("");
    const HlsConfig& hls = config.find_settings("", "live")->hls;
    EXPECT_TRUE(hls.path.empty());
    EXPECT_EQ(hls.dvr, Millis(0));
}

TEST(HlsConfigTest, ApplicationsInherit) {
    const Config config = config_of(
        "hls { path /dir; }\n"
        "vhost __defaultVhost__ { application vip { hls { dvr 2h; } } }");
    const HlsConfig& vip = config.find_settings("", "vip")->hls;
    EXPECT_EQ(vip.path, "/dir");
    EXPECT_EQ(vip.dvr, Seconds(7'200));
    EXPECT_EQ(config.find_settings("", "live")->hls.dvr, Millis(0));
    EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(HlsConfigTest, RelativePathsAreOfTheFile) {
    EXPECT_EQ(config_of("hls { path hls; }").find_settings("", "live")->hls.path, "c/hls");
}

TEST(HlsConfigTest, LengthsOfDvrAreBounded) {
    for (const char* text : {"hls { dvr 10s; }", "hls { dvr 13h; }"}) {
        EXPECT_FALSE(parse_config(text, "t.conf").ok()) << text;
    }
}

TEST(HlsConfigTest, WhatDoesNothingWithoutAFolderIsSaidOnce) {
    constexpr const char* kHook = "http_hooks { on_hls http://127.0.0.1:1/; }\n";
    EXPECT_THAT(
        config_warnings(config_of(std::string(kHook) +
                                  "hls { dvr 2h; }\n"
                                  "vhost __defaultVhost__ { application a { hls { part 1s; } } }")),
        ElementsAre(HasSubstr("dvr; } does nothing"), HasSubstr("on_hls is never told")));
    EXPECT_THAT(config_warnings(config_of(std::string(kHook) + "hls { path /dir; dvr 2h; }")),
                IsEmpty());
    EXPECT_THAT(
        config_warnings(config_of(std::string(kHook) +
                                  "vhost __defaultVhost__ { application a { hls { path /d; } } }")),
        ElementsAre(HasSubstr("on_hls is never told")));
}

}  // namespace
}  // namespace weir::config
