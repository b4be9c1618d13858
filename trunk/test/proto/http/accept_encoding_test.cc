#include "proto/http/accept_encoding.h"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

bool accepts(const char* value) {
    return accepts_gzip({{"Accept-Encoding", value}});
}

TEST(AcceptEncodingTest, GzipHasToBeNamed) {
    for (const char* value :
         {"gzip", "deflate, gzip", "GZIP;q=0.5", "br , gzip ; q=1", "gzip;x=1"}) {
        EXPECT_TRUE(accepts(value)) << value;
    }
    for (const char* value :
         {"", "identity", "gzip;q=0", "gzip; q=0.000", "xgzip", "gzip2", "*", "deflate;gzip"}) {
        EXPECT_FALSE(accepts(value)) << value;
    }
    EXPECT_FALSE(accepts_gzip({}));
}

}  // namespace
}  // namespace weir::http
