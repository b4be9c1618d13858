#include "proto/cluster/names.h"

#include <gtest/gtest.h>

namespace weir::cluster {
namespace {

TEST(ClusterNamesTest, NodesHaveLettersDigitsAndFewOthers) {
    EXPECT_TRUE(is_node_name("media-1.example_X"));
    EXPECT_TRUE(is_node_name(std::string(kMaxNodeName, 'a')));
    for (const std::string& text :
         {std::string(), std::string(kMaxNodeName + 1, 'a'), std::string("a b"), std::string("a%"),
          std::string("a/b"), std::string("\xc3\xa4"), std::string("a\n")}) {
        EXPECT_FALSE(is_node_name(text)) << text;
    }
}

TEST(ClusterNamesTest, BootIdsHaveTheirLength) {
    EXPECT_TRUE(is_boot_id("0123456789abcdef"));
    EXPECT_TRUE(is_boot_id("zzzzzzzzzzzzzzzz"));
    EXPECT_FALSE(is_boot_id("0123456789abcde"));
    EXPECT_FALSE(is_boot_id("0123456789abcdeF"));
    EXPECT_FALSE(is_boot_id("0123456789abcde "));
}

TEST(ClusterNamesTest, EveryStreamHasATextOfItsOwn) {
    const StreamName streams[] = {
        {"__defaultVhost__", "live", "cam"},
        {"v", "live/room", "cam"},
        {"v", "live", "room/cam"},
        {"v", "", ""},
        {"a b", "c%d", "\xc3\xa4\n{weir}"},
        {"v", "live/", "cam"},
        {"v/w", "live", "cam"},
    };
    for (const StreamName& stream : streams) {
        const std::string text = stream_text(stream);
        EXPECT_EQ(text.find_first_of(" \n{}"), std::string::npos) << text;
        EXPECT_EQ(parse_stream_text(text), stream) << text;
        for (const StreamName& other : streams) {
            EXPECT_EQ(stream_text(other) == text, other == stream);
        }
    }
    EXPECT_EQ(stream_text(streams[0]), "__defaultVhost__/live/cam");
    EXPECT_EQ(stream_text(streams[2]), "v/live/room%2Fcam");
}

TEST(ClusterNamesTest, OtherTextsAreNone) {
    for (const std::string& text :
         {std::string(), std::string("a"), std::string("a/b"), std::string("a/b/c d"),
          std::string("a/b/%2"), std::string("a/b/%41"), std::string("a/b/%2f"),
          "a/b/" + std::string(kMaxStreamText, 'c')}) {
        EXPECT_FALSE(parse_stream_text(text)) << text.substr(0, 80);
    }
}

}  // namespace
}  // namespace weir::cluster
