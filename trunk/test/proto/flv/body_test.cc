#include "proto/flv/body.h"

#include <gtest/gtest.h>

namespace weir::flv {
namespace {

TEST(AppendToBodyTest, CapacityNeverExceedsTheFinalSize) {
    for (const size_t final_size :
         {size_t{1}, size_t{4095}, size_t{4097}, size_t{65536}, size_t{65537}, size_t{300001}}) {
        for (const size_t step : {size_t{1}, size_t{128}, size_t{60000}}) {
            Bytes body;
            while (body.size() < final_size) {
                append_to_body(body, Bytes(std::min(step, final_size - body.size()), 7),
                               final_size);
                ASSERT_LE(body.capacity(), final_size);
            }
            EXPECT_EQ(body.size(), final_size);
        }
    }
}

TEST(AppendToBodyTest, AClaimedSizeAllocatesLittle) {
    Bytes body;
    append_to_body(body, Bytes(10, 7), 16 * 1024 * 1024);
    EXPECT_LE(body.capacity(), kFirstBodyReserve);
    append_to_body(body, Bytes(5000, 7), 16 * 1024 * 1024);
    EXPECT_LE(body.capacity(), kNextBodyReserve);
}

TEST(AppendToBodyTest, GrowsByDoublingPastTheTrustedSize) {
    Bytes body;
    size_t moves = 0;
    for (size_t i = 0; i < 2000; i++) {
        const size_t before = body.capacity();
        append_to_body(body, Bytes(1000, 7), 2000 * 1000);
        moves += body.capacity() != before ? 1u : 0u;
        ASSERT_LE(body.capacity(), std::max(kNextBodyReserve, 2 * body.size()));
    }
    EXPECT_LE(moves, 8u);
}

}  // namespace
}  // namespace weir::flv
