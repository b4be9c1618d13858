#include "base/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace weir {
namespace {

std::string unzipped(std::string small, size_t size) {
    std::string out(size, '\0');
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(small.data());
    stream.avail_in = static_cast<uInt>(small.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    EXPECT_EQ(stream.total_out, size);
    inflateEnd(&stream);
    return out;
}

TEST(GzipTest, GivesBackWhatItWasGiven) {
    for (const size_t lines : {0U, 1U, 100U, 20'000U}) {
        std::string text;
        for (size_t i = 0; i < lines; i++) {
            text += "#EXTINF:2.000,\n" + std::to_string(i) + ".m4s\n";
        }
        const std::string small = gzip(text);
        EXPECT_EQ(unzipped(small, text.size()), text);
        EXPECT_TRUE(lines < 100 || small.size() < text.size() / 4) << small.size();
    }
}

}  // namespace
}  // namespace weir
