#include "proto/rtp/key_frame_requester.h"

#include <gtest/gtest.h>

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;

TEST(KeyFrameRequesterTest, SaysNothingUntilOneIsNeeded) {
    KeyFrameRequester requester({});
    EXPECT_FALSE(requester.next_timeout());
    EXPECT_FALSE(requester.poll(kStart));
    requester.request();
    EXPECT_TRUE(requester.poll(kStart));
    EXPECT_EQ(requester.requests(), 1u);
}

TEST(KeyFrameRequesterTest, ManyWishesAreOneRequestUntilThePauseIsOver) {
    KeyFrameRequester requester({});
    int sent = 0;
    for (int ms = 0; ms < 500; ms++) {
        requester.request();
        sent += requester.poll(kStart + Millis(ms)) ? 1 : 0;
    }
    EXPECT_EQ(sent, 1);
    EXPECT_TRUE(requester.poll(kStart + Millis(500)));
}

TEST(KeyFrameRequesterTest, AsksAgainWithLongerPausesWhileNoneComes) {
    KeyFrameRequester requester({});
    requester.request();
    MonoTime last = kStart;
    ASSERT_TRUE(requester.poll(kStart));
    for (int pause_ms : {500, 1000, 2000, 4000, 4000}) {
        ASSERT_TRUE(requester.next_timeout());
        EXPECT_EQ(*requester.next_timeout() - last, Millis(pause_ms));
        last = *requester.next_timeout();
        EXPECT_FALSE(requester.poll(last - Micros(1)));
        EXPECT_TRUE(requester.poll(last));
    }
}

TEST(KeyFrameRequesterTest, AKeyFrameSettlesItButNotThePauseBetweenTwoRequests) {
    KeyFrameRequester requester({});
    requester.request();
    ASSERT_TRUE(requester.poll(kStart));
    requester.on_key_frame(kStart + Millis(50));
    EXPECT_FALSE(requester.wanted());
    EXPECT_FALSE(requester.next_timeout());
    requester.request();
    EXPECT_FALSE(requester.poll(kStart + Millis(100)));
    EXPECT_TRUE(requester.poll(kStart + Millis(500)));
    EXPECT_EQ(*requester.next_timeout(), kStart + Millis(1000));  // the pauses began anew
}

TEST(KeyFrameRequesterTest, AsksFromTimeToTimeWhenToldTo) {
    KeyFrameRequester requester({.period = Seconds(2)});
    EXPECT_FALSE(requester.next_timeout());  // nothing came yet: request() says when to begin
    requester.on_key_frame(kStart);
    EXPECT_EQ(*requester.next_timeout(), kStart + Seconds(2));
    EXPECT_FALSE(requester.poll(kStart + Millis(1999)));
    EXPECT_TRUE(requester.poll(kStart + Seconds(2)));
    EXPECT_TRUE(requester.wanted());
    requester.on_key_frame(kStart + Millis(2100));
    EXPECT_EQ(*requester.next_timeout(), kStart + Millis(4100));
}

}  // namespace
}  // namespace weir::rtp
