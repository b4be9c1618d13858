// Plays that end by themselves, and plays that wait for a publisher.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "test/net/pump_fixture.h"

namespace weir::net {
namespace {

using testing::ElementsAre;

// Frames are 40 ms apart: the five that begin within 200 ms, not one more.
TEST_F(PumpTest, APlayEndsAtItsDurationInWhatWasThereAlready) {
    publish();
    const uint32_t key = number_ + 1;
    gop(20);
    duration_ = Millis(200);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_until([&] { return peer.told->released != nullptr; }));
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kComplete) == 1; }));
    EXPECT_THAT(peer.items, ElementsAre(Item{kFront, key}, Item{kKey, key}, Item{kMedia, key + 1},
                                        Item{kMedia, key + 2}, Item{kMedia, key + 3},
                                        Item{kMedia, key + 4}, Item{kComplete, 0}));
    EXPECT_FALSE(peer.told->ended) << "the connection goes back to its session";
    EXPECT_FALSE(peer.ended);
}

TEST_F(PumpTest, APlayEndsAtItsDurationFrameByFrame) {
    publish();
    const uint32_t key = gop(1);
    Peer& endless = join();
    duration_ = Millis(200);
    Peer& peer = join();
    for (int i = 1; i < 5; i++) {
        ASSERT_TRUE(peer.read_to(frame(false))) << i;
        EXPECT_EQ(peer.told->released, nullptr) << i;
    }
    const uint32_t behind = frame(false);
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kComplete) == 1; }));
    EXPECT_EQ(peer.newest(), key + 4);
    EXPECT_NE(peer.told->released, nullptr);
    ASSERT_TRUE(endless.read_to(behind)) << "who asked for no end goes on";
    EXPECT_EQ(endless.told->released, nullptr);
}

// It was blocked until then, and larger than one write.
TEST_F(PumpTest, APlayOfASlowReaderEndsAtItsDuration) {
    use_small_buffers();
    publish();
    const uint32_t key = number_ + 1;
    gop(60, 20'000);
    duration_ = Millis(40 * 50);
    Peer& peer = join();
    ASSERT_TRUE(peer.read_until([&] { return peer.count(kComplete) == 1; }));
    EXPECT_EQ(peer.newest(), key + 49);
    peer.expect_in_order();
}

TEST_F(PumpTest, OnlyAPlayerWithoutAPublisherIsToldThatItWaits) {
    static std::vector<std::string> lines;
    lines.clear();
    log::set_sink([](log::Level, std::string_view line) { lines.emplace_back(line); });
    Peer& early = join();
    EXPECT_EQ(early.told->waits, 1);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find("waits for a publisher stream=v/live/a"), std::string::npos)
        << lines[0];
    publish();
    Peer& before_a_key_frame = join();
    const uint32_t key = gop(1);
    Peer& later = join();
    ASSERT_TRUE(early.read_to(key));
    ASSERT_TRUE(before_a_key_frame.read_to(key));
    ASSERT_TRUE(later.read_to(key));
    EXPECT_EQ(early.told->waits, 1);
    EXPECT_EQ(before_a_key_frame.told->waits, 0);
    EXPECT_EQ(later.told->waits, 0);
    EXPECT_EQ(lines.size(), 1U);
    log::set_sink([](log::Level, std::string_view) {});
}

}  // namespace
}  // namespace weir::net
