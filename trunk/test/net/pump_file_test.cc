// Large writes by sendfile: the same bytes, whatever becomes of the block that they lie in.
#include <cerrno>

#include <gtest/gtest.h>

#include "net/file_writes.h"

#include "test/net/pump_fixture.h"

namespace weir::net {
namespace {

constexpr size_t kLarge = 20'000;  // of a frame

class PumpFileTest : public PumpTest {
  protected:
    // Others, who read nothing.
    void join_crowd() {
        for (size_t i = 1; i < FileWrites::kLeastPlayers; i++) {
            join();
        }
    }

    // Until the log has its blocks in the file.
    void publish_large(Peer& peer) {
        join_crowd();
        gop(1, kLarge);
        ASSERT_TRUE(peer.read_to(number_));
        for (uint32_t i = 0; i < 2 * FileWrites::kWritesToBegin; i++) {
            ASSERT_TRUE(peer.read_to(frame(i % 10 == 0, kLarge)));
        }
    }

    uint64_t file_writes() const { return fanout_.stats().file_writes; }
};

TEST_F(PumpFileTest, LargeFramesGoWithoutACopyOnceThereAreMany) {
    publish();
    Peer& peer = join();
    for (uint32_t i = 0; i < 2 * FileWrites::kWritesToBegin; i++) {
        ASSERT_TRUE(peer.read_to(frame(i == 0, kLarge)));
    }
    EXPECT_EQ(file_writes(), 0U) << "for one player copies cost less";
    join_crowd();
    for (uint32_t i = 0; i < FileWrites::kWritesToBegin + 40; i++) {
        ASSERT_TRUE(peer.read_to(frame(i % 10 == 0, kLarge)));
    }
    EXPECT_GT(file_writes(), 20U);
    peer.expect_in_order();
}

TEST_F(PumpFileTest, SmallFramesAreCopied) {
    publish();
    Peer& peer = join();
    publish_large(peer);
    const uint64_t before = file_writes();
    for (int i = 0; i < 20; i++) {
        ASSERT_TRUE(peer.read_to(frame(false, FileWrites::kLeast / 2)));
    }
    EXPECT_EQ(file_writes(), before);
}

// The sockets hold what was sent while its blocks are freed and used again.
TEST_F(PumpFileTest, WhatIsUnderWayStaysAsItWasWhenItsBlockHasANewOwner) {
    publish();
    Peer& fast = join();
    publish_large(fast);
    std::vector<Peer*> slow;
    for (int i = 0; i < 8; i++) {
        slow.push_back(&join());
    }
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 5; i++) {
            ASSERT_TRUE(fast.read_to(frame(i == 0, kLarge)));
        }
        slow[static_cast<size_t>(round) % slow.size()]->read();  // the others leave theirs lying
    }
    for (Peer* peer : slow) {
        ASSERT_TRUE(peer->read_to(number_));
        peer->expect_in_order();
    }
    EXPECT_GT(file_writes(), 2 * FileWrites::kWritesToBegin);
}

TEST_F(PumpFileTest, ASocketThatIsFullGoesOnWhereItStopped) {
    use_small_buffers();
    publish();
    Peer& peer = join();
    publish_large(peer);
    const uint64_t before = file_writes();
    for (int i = 0; i < 30; i++) {
        frame(false, kLarge);
        io::yield();
    }
    ASSERT_TRUE(peer.read_to(number_));
    peer.expect_in_order();
    EXPECT_GT(file_writes(), before);
}

TEST_F(PumpFileTest, EncryptedAndFramedPlayersAreCopiedTo) {
    publish();
    Peer& framed_one = join(true);
    encrypted_ = true;
    Peer& encrypted = join();
    publish_large(encrypted);
    ASSERT_TRUE(framed_one.read_to(number_));
    EXPECT_EQ(file_writes(), 0U);
}

TEST_F(PumpFileTest, SwitchedOffAllIsCopiedFromThenOn) {
    publish();
    Peer& peer = join();
    publish_large(peer);
    fanout_.file_writes().set_wanted(false);
    const uint64_t before = file_writes();
    for (int i = 0; i < 20; i++) {
        ASSERT_TRUE(peer.read_to(frame(i % 10 == 0, kLarge)));
    }
    EXPECT_EQ(file_writes(), before);
}

TEST(FileWritesTest, ACallThatIsForbiddenIsNotTriedAgain) {
    FileWrites writes;
    EXPECT_FALSE(writes.refuse(ECONNRESET));
    EXPECT_FALSE(writes.refuse(ETIMEDOUT));
    EXPECT_TRUE(writes.on());
    EXPECT_TRUE(writes.refuse(EPERM));
    EXPECT_FALSE(writes.on());
    writes.set_wanted(true);
    EXPECT_FALSE(writes.on());
}

}  // namespace
}  // namespace weir::net
