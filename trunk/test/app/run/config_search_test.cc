#include "app/run/config_search.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::app {
namespace {

using testing::ElementsAre;

TEST(ConfigSearchTest, LooksHereThenBesideTheProgramThenInEtc) {
    EXPECT_THAT(
        config_candidates("/usr/local/bin/weir"),
        ElementsAre("conf/weir.conf", "/usr/local/etc/weir/weir.conf", "/etc/weir/weir.conf"));
    EXPECT_THAT(config_candidates("/somewhere/objs/weir"),
                ElementsAre("conf/weir.conf", "/etc/weir/weir.conf"));
}

TEST(ConfigSearchTest, TakesTheFirstThatExistsAndElseTheFirst) {
    const std::vector<std::string> all{"a", "b", "c"};
    EXPECT_EQ(find_config(all, [](const std::string& path) { return path != "a"; }), "b");
    EXPECT_EQ(find_config(all, [](const std::string&) { return false; }), "a");
}

TEST(ConfigSearchTest, PagesAreTheConfiguredOnesOrThoseBesideTheProgram) {
    const auto only = [](std::string there) {
        return [there = std::move(there)](const std::string& path) { return path == there; };
    };
    const std::string installed = "/usr/share/weir/www";
    EXPECT_EQ(find_pages("own", "/usr/bin/weir", only("own")), "own");
    EXPECT_EQ(find_pages("own", "/usr/bin/weir", only(installed)), installed);
    EXPECT_EQ(find_pages("own", "/usr/bin/weir", only("other")), "own");
    EXPECT_EQ(find_pages("own", "/objs/weir", only("/share/weir/www")), "own");
}

}  // namespace
}  // namespace weir::app
