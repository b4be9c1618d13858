#include "proto/rtp/jitter_buffer.h"

#include <gtest/gtest.h>

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kStart;
using Inserted = JitterBuffer::Inserted;

Bytes bytes_of(int64_t sequence) {
    return Bytes(20, static_cast<uint8_t>(sequence));
}

Inserted insert(JitterBuffer& buffer, int64_t sequence) {
    return buffer.insert(sequence, bytes_of(sequence), false, kStart);
}

TEST(JitterBufferTest, GivesPacketsInOrderOnceTheMissingOneIsThere) {
    JitterBuffer buffer;
    buffer.restart(10);
    EXPECT_EQ(insert(buffer, 12), Inserted::kHeld);
    EXPECT_EQ(insert(buffer, 11), Inserted::kHeld);
    EXPECT_EQ(buffer.pop(), nullptr);
    EXPECT_EQ(buffer.held(), 2u);
    buffer.advance();  // 10 went past it
    for (int64_t sequence : {11, 12}) {
        const HeldPacket* packet = buffer.pop();
        ASSERT_NE(packet, nullptr);
        EXPECT_EQ(packet->sequence, sequence);
        EXPECT_EQ(Bytes(packet->span().begin(), packet->span().end()), bytes_of(sequence));
    }
    EXPECT_EQ(buffer.pop(), nullptr);
    EXPECT_EQ(buffer.next(), 13);
}

TEST(JitterBufferTest, TellsDuplicatesAndLatePackets) {
    JitterBuffer buffer;
    buffer.restart(-3);  // before a wrap, when the first packet came late
    EXPECT_EQ(insert(buffer, -1), Inserted::kHeld);
    EXPECT_EQ(insert(buffer, -1), Inserted::kDuplicate);
    EXPECT_EQ(insert(buffer, -4), Inserted::kLate);
    EXPECT_TRUE(buffer.holds(-1));
    EXPECT_FALSE(buffer.holds(-2));
}

TEST(JitterBufferTest, RefusesWhatIsTooFarOrTooLarge) {
    JitterBuffer buffer;
    buffer.restart(0);
    EXPECT_EQ(insert(buffer, kMaxHeldPackets - 1), Inserted::kHeld);
    EXPECT_EQ(insert(buffer, kMaxHeldPackets), Inserted::kTooFar);
    EXPECT_EQ(buffer.insert(3, Bytes(kMaxPacketSize), false, kStart), Inserted::kHeld);
    EXPECT_EQ(buffer.insert(4, Bytes(kMaxPacketSize + 1), false, kStart), Inserted::kTooFar);
    EXPECT_FALSE(buffer.holds(4));
}

TEST(JitterBufferTest, SkipsWhatIsMissing) {
    JitterBuffer buffer;
    buffer.restart(0);
    EXPECT_EQ(buffer.skip_missing(), 0);
    insert(buffer, 5);
    insert(buffer, 7);
    EXPECT_EQ(buffer.skip_missing(), 5);
    EXPECT_EQ(buffer.skip_missing(), 0);  // it is there
    EXPECT_EQ(buffer.pop()->sequence, 5);
    EXPECT_EQ(buffer.skip_missing(), 1);
    EXPECT_EQ(buffer.pop()->sequence, 7);
}

TEST(JitterBufferTest, ForgetsAllAtARestart) {
    JitterBuffer buffer;
    buffer.restart(0);
    insert(buffer, 5);
    buffer.restart(1000);
    EXPECT_EQ(buffer.held(), 0u);
    EXPECT_EQ(insert(buffer, 1005), Inserted::kHeld);  // the same slot
    EXPECT_EQ(buffer.skip_missing(), 5);
    EXPECT_EQ(buffer.pop()->sequence, 1005);
}

TEST(JitterBufferTest, TakesNoMemoryUntilItHoldsSomethingAndGivesAllBack) {
    const ObjectClass* counts = find_object_class("jitter_buffer");
    ASSERT_NE(counts, nullptr);
    const uint64_t live = counts->live();
    const uint64_t bytes = counts->bytes();
    {
        JitterBuffer buffer;
        buffer.restart(0);
        buffer.advance();
        EXPECT_EQ(counts->bytes(), bytes + sizeof(JitterBuffer));
        for (int64_t sequence = 2; sequence < 500; sequence++) {
            insert(buffer, sequence);
        }
        EXPECT_GT(counts->bytes(), bytes + 498 * sizeof(HeldPacket));
        buffer.skip_missing();
        while (buffer.pop() != nullptr) {
        }
        EXPECT_LT(counts->bytes(), bytes + 50 * 1024);  // slots and a few spare blocks
        insert(buffer, 600);
    }
    EXPECT_EQ(counts->live(), live);
    EXPECT_EQ(counts->bytes(), bytes);
}

}  // namespace
}  // namespace weir::rtp
