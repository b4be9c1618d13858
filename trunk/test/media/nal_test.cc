#include "media/nal.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir::media {
namespace {

std::vector<std::string> units(const Bytes& frame, size_t length_size, bool& ok) {
    std::vector<std::string> all;
    NalReader reader(frame, length_size);
    for (ByteSpan nal; reader.next(nal);) {
        all.emplace_back(as_text(nal));
    }
    ok = reader.ok();
    return all;
}

TEST(NalReaderTest, ReadsUnitsWithLengthsOfEachSize) {
    bool ok = false;
    EXPECT_EQ(units({1, 'a', 2, 'b', 'c'}, 1, ok), (std::vector<std::string>{"a", "bc"}));
    EXPECT_TRUE(ok);
    EXPECT_EQ(units({0, 1, 'a', 0, 2, 'b', 'c'}, 2, ok), (std::vector<std::string>{"a", "bc"}));
    EXPECT_EQ(units({0, 0, 0, 1, 'a'}, 4, ok), (std::vector<std::string>{"a"}));
    EXPECT_TRUE(ok);
}

TEST(NalReaderTest, LeavesEmptyUnitsOut) {
    bool ok = false;
    EXPECT_EQ(units({0, 1, 'a', 0}, 1, ok), (std::vector<std::string>{"a"}));
    EXPECT_TRUE(ok);
}

TEST(NalReaderTest, SaysWhenAUnitGoesPastTheEnd) {
    const Bytes frame = {0, 0, 0, 2, 'a', 'b'};
    for (size_t size = 1; size < frame.size(); size++) {
        EXPECT_FALSE(is_whole(ByteSpan(frame).first(size), 4)) << size;
    }
    EXPECT_TRUE(is_whole(frame, 4));
    EXPECT_TRUE(is_whole({}, 4));
    EXPECT_FALSE(is_whole(Bytes{0xFF, 0xFF, 0xFF, 0xFF, 'a'}, 4));
}

}  // namespace
}  // namespace weir::media
