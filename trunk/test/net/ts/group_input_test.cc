// FecRecovery and RtpOrder together, as GroupInput has them.
#include "net/ts/group_input.h"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "proto/fec/reed_solomon.h"
#include "proto/rtp/header.h"

namespace weir::net {
namespace {

constexpr size_t kPayload = 7 * 188;

Bytes media(uint16_t sequence, uint32_t ssrc = 7) {
    Bytes packet(fec::kRtpHeader + kPayload);
    for (size_t i = fec::kRtpHeader; i < packet.size(); i++) {
        packet[i] = static_cast<uint8_t>(sequence * 31 + i);
    }
    for (size_t at = fec::kRtpHeader; at < packet.size(); at += 188) {
        packet[at] = 0x47;
    }
    packet[fec::kRtpHeader + 1] = static_cast<uint8_t>(sequence >> 8);
    packet[fec::kRtpHeader + 2] = static_cast<uint8_t>(sequence);
    rtp::write_header(
        {.payload_type = 33, .sequence = sequence, .timestamp = sequence, .ssrc = ssrc},
        packet.data());
    return packet;
}

struct Matrix {
    uint8_t columns = 10;
    uint8_t rows = 10;
    bool with_rows = true;
};

class GroupInputTest : public testing::Test, protected RtpOrderOutput {
  protected:
    // The parities of the matrix from `first` on.
    static std::vector<Bytes> parities(uint16_t first, const Matrix& shape) {
        std::vector<Bytes> out;
        auto add = [&](uint16_t begin, uint8_t offset, uint8_t count, bool is_row) {
            fec::Parity parity;
            for (size_t i = 0; i < count; i++) {
                parity.add(media(static_cast<uint16_t>(begin + i * offset)));
            }
            out.push_back(
                parity.make({.first = begin, .offset = offset, .count = count, .is_row = is_row}));
        };
        for (uint8_t row = 0; row < shape.rows && shape.with_rows; row++) {
            add(static_cast<uint16_t>(first + row * shape.columns), 1, shape.columns, true);
        }
        for (uint8_t column = 0; column < shape.columns; column++) {
            add(static_cast<uint16_t>(first + column), shape.columns, shape.rows, false);
        }
        return out;
    }

    void send(uint16_t sequence) {
        input_.feed(now_, media(sequence));
        now_ += Micros(500);
        input_.handle_timeout(now_);
    }

    // A matrix without the packets that `is_lost(its number in the matrix)` names; behind the media
    // come its parities.
    template <typename Lost>
    void send_matrix(const Matrix& shape, Lost&& is_lost) {
        const auto size = static_cast<uint16_t>(shape.columns * shape.rows);
        for (uint16_t i = 0; i < size; i++) {
            if (!is_lost(i)) {
                send(static_cast<uint16_t>(next_ + i));
            } else {
                now_ += Micros(500);
            }
        }
        uint16_t number = size;
        for (const Bytes& each : parities(next_, shape)) {
            if (!is_lost(number++)) {
                input_.feed_parity(now_, each);
            }
        }
        next_ = static_cast<uint16_t>(next_ + size);
    }

    // Matrices with random loss, of parities too; gives how many media packets were lost.
    size_t send_lossy(const Matrix& shape, size_t matrices, double loss) {
        std::minstd_rand random(1);  // NOLINT: the same each time
        std::bernoulli_distribution lost(loss);
        size_t count = 0;
        for (size_t i = 0; i < matrices; i++) {
            send_matrix(shape, [&](uint16_t number) {
                // The very first packet tells where the stream begins.
                const bool is_lost = (i > 0 || number > 0) && lost(random);
                count += is_lost && number < shape.columns * shape.rows ? 1U : 0U;
                return is_lost;
            });
        }
        return count;
    }

    void on_ordered(MonoTime, ByteSpan bytes) override {
        given_.push_back(static_cast<uint16_t>(bytes[1] << 8 | bytes[2]));
        const Bytes expected = media(given_.back());
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin() + fec::kRtpHeader));
    }

    void on_gap() override { gaps_++; }

    bool is_whole() const {
        for (size_t i = 1; i < given_.size(); i++) {
            if (given_[i] != static_cast<uint16_t>(given_[i - 1] + 1)) {
                return false;
            }
        }
        return gaps_ == 0;
    }

    const FecCounters& fec() const { return *input_.fec_counters(); }

    MonoTime now_{Seconds(1)};
    uint16_t next_ = 65000;
    std::vector<uint16_t> given_;
    size_t gaps_ = 0;
    GroupInput input_{*this, {.fec = true}};
};

TEST_F(GroupInputTest, NothingIsMissingWithOnePercentOfLoss) {
    const size_t lost = send_lossy({}, 100, 0.01);
    EXPECT_GT(lost, 50U);
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(given_.size(), 10'000U);
    EXPECT_EQ(fec().recovered, lost);
    EXPECT_EQ(fec().unrecoverable, 0U);
    EXPECT_EQ(input_.counters().lost, 0U);
}

TEST_F(GroupInputTest, RecoversByRowsAndColumnsInTurn) {
    // Two of a row and two of a column: neither is enough alone.
    send_matrix({}, [](uint16_t i) { return i == 11 || i == 14 || i == 51; });
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(given_.size(), 100U);
    EXPECT_EQ(fec().recovered, 3U);
}

TEST_F(GroupInputTest, ColumnsAloneRecoverABurstOfTheirNumber) {
    send_matrix({.with_rows = false}, [](uint16_t i) { return i >= 33 && i < 43; });
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(given_.size(), 100U);
    EXPECT_EQ(fec().recovered, 10U);
}

TEST_F(GroupInputTest, TheLargestMatrixWorks) {
    const Matrix shape{.columns = 20, .rows = 20};
    EXPECT_GT(send_lossy(shape, 20, 0.02), 100U);
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(given_.size(), 8'000U);
}

TEST_F(GroupInputTest, CountsWhatCannotBeRecovered) {
    auto square = [](uint16_t i) { return i == 11 || i == 12 || i == 21 || i == 22; };
    send_matrix({}, square);
    EXPECT_EQ(fec().recovered, 0U);
    send_lossy({}, 10, 0);
    EXPECT_EQ(fec().unrecoverable, 4U);
    EXPECT_EQ(input_.counters().lost, 4U);
    EXPECT_EQ(gaps_, 2U);
    EXPECT_EQ(given_.size(), 1'096U);
}

TEST_F(GroupInputTest, ParitiesThatComeDuringTheNextMatrixAreInTime) {
    for (uint16_t i = 0; i < 100; i++) {
        if (i != 5 && i != 50) {
            send(static_cast<uint16_t>(next_ + i));
        }
    }
    const std::vector<Bytes> late = parities(next_, {.with_rows = false});
    input_.feed_parity(now_, late[9]);  // from which the size is known
    for (uint16_t i = 100; i < 200; i++) {
        send(static_cast<uint16_t>(next_ + i));
        if (i % 10 == 0) {
            input_.feed_parity(now_, late[(i - 100U) / 10]);
        }
    }
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(given_.size(), 200U);
}

TEST_F(GroupInputTest, ParitiesBeforeTheirMediaWait) {
    const std::vector<Bytes> early = parities(next_, {.with_rows = false});
    send(next_);
    for (const Bytes& each : early) {
        input_.feed_parity(now_, each);
    }
    for (uint16_t i = 1; i < 100; i++) {
        if (i % 10 != 3) {
            send(static_cast<uint16_t>(next_ + i));
        }
    }
    EXPECT_EQ(fec().recovered, 9U) << "the last of each column, before it came";
    EXPECT_EQ(input_.counters().duplicates, 9U);
}

TEST_F(GroupInputTest, MalformedParitiesAreCounted) {
    send(next_);
    input_.feed_parity(now_, Bytes(40, 0));
    input_.feed_parity(now_, Bytes{});
    EXPECT_EQ(fec().malformed, 2U);
    // One that protects other packets than it says: what it gives is no packet.
    fec::Parity wrong;
    wrong.add(media(1));
    Bytes packet = wrong.make({.first = next_, .offset = 1, .count = 2, .is_row = true});
    packet[14] ^= 0xFF;
    input_.feed_parity(now_, packet);
    EXPECT_EQ(fec().malformed, 3U);
    EXPECT_EQ(fec().recovered, 0U);
}

TEST_F(GroupInputTest, ParitiesOfAnotherTimeAreDropped) {
    send(next_);
    fec::Parity parity;
    parity.add(media(1));
    for (const int away : {-10'000, 10'000}) {
        const auto first = static_cast<uint16_t>(next_ + away);
        input_.feed_parity(now_, parity.make({.first = first, .offset = 10, .count = 10}));
    }
    EXPECT_EQ(fec().dropped, 2U);
}

TEST_F(GroupInputTest, WhatWaitsIsBounded) {
    send(next_);
    fec::Parity parity;
    parity.add(media(1));
    for (size_t i = 0; i < FecRecovery::kMaxParities + 50; i++) {
        input_.feed_parity(now_, parity.make({.first = next_, .offset = 10, .count = 10}));
    }
    EXPECT_EQ(fec().dropped, 50U);
}

TEST_F(GroupInputTest, AnotherSenderBeginsAgain) {
    send_lossy({}, 2, 0);
    input_.feed(now_, media(5, 8));
    input_.feed(now_, media(6, 8));
    EXPECT_EQ(fec().restarts, 1U);
}

// ---- Reed-Solomon ----

struct Shape {
    uint8_t data = 100;
    uint8_t parities = 5;
    fec::CodePoints points = fec::CodePoints::kIntegers;
};

// The parities of the block from `first` on, whose media are those of media().
std::vector<Bytes> block_parities(uint16_t first,
                                  const Shape& shape,
                                  const std::function<Bytes(uint16_t)>& make) {
    std::vector<Bytes> out;
    const fec::ReedSolomon code(shape.points, shape.data, shape.parities);
    for (uint8_t row = 0; row < shape.parities; row++) {
        Bytes body(fec::kRtpHeader + kPayload);
        for (uint8_t i = 0; i < shape.data; i++) {
            code.add(row, i, make(static_cast<uint16_t>(first + i)), body);
        }
        fec::BlockParityView view;
        view.first = first;
        view.data = shape.data;
        view.parities = shape.parities;
        view.index = row;
        view.body = body;
        out.push_back(view.write(row, 127));
    }
    return out;
}

class GroupBlocksTest : public GroupInputTest {
  protected:
    // A block without the packets that `is_lost(its number)` names, parities behind the media.
    template <typename Lost>
    void send_block(const Shape& shape, Lost&& is_lost, bool same_port = false) {
        for (uint16_t i = 0; i < shape.data; i++) {
            now_ += Micros(500);
            if (!is_lost(i)) {
                input_.feed(now_, media(static_cast<uint16_t>(next_ + i)));
            }
            input_.handle_timeout(now_);
        }
        uint16_t number = shape.data;
        for (const Bytes& each :
             block_parities(next_, shape, [](uint16_t sequence) { return media(sequence); })) {
            if (is_lost(number++)) {
                continue;
            }
            if (same_port) {
                input_.feed(now_, each);
            } else {
                input_.feed_parity(now_, each);
            }
        }
        next_ = static_cast<uint16_t>(next_ + shape.data);
    }
};

TEST_F(GroupBlocksTest, NothingIsMissingWithOnePercentOfLoss) {
    for (const Shape& shape :
         {Shape{}, Shape{.data = 48, .parities = 3, .points = fec::CodePoints::kPowers}}) {
        std::minstd_rand random(1);  // NOLINT: the same each time
        std::bernoulli_distribution lost(0.01);
        size_t count = 0;
        const uint64_t before = fec().recovered;
        for (size_t block = 0; block < 40; block++) {
            size_t of_block = 0;
            send_block(shape, [&](uint16_t number) {
                // The very first packet tells where the stream begins; a block can lose so many.
                const bool is_lost =
                    (block > 0 || number > 0) && of_block < shape.parities && lost(random);
                of_block += is_lost ? 1U : 0U;
                count += is_lost && number < shape.data ? 1U : 0U;
                return is_lost;
            });
        }
        EXPECT_GT(count, 10U);
        EXPECT_EQ(fec().recovered - before, count);
    }
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(given_.size(), 40U * 148);
    EXPECT_EQ(fec().unrecoverable, 0U);
    EXPECT_EQ(fec().malformed, 0U);
    EXPECT_EQ(input_.counters().lost, 0U);
}

TEST_F(GroupBlocksTest, RecoversABurstOfAsManyAsThereAreParities) {
    send_block({}, [](uint16_t i) { return i >= 40 && i < 45; });
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(given_.size(), 100U);
    EXPECT_EQ(fec().recovered, 5U);
}

TEST_F(GroupBlocksTest, ParitiesMayComeOnThePortOfTheGroup) {
    send_block({}, [](uint16_t i) { return i == 7 || i == 99; }, true);
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(fec().recovered, 2U);
    EXPECT_EQ(input_.counters().foreign, 0U);
}

TEST_F(GroupBlocksTest, CountsWhatCannotBeRecovered) {
    send_block({}, [](uint16_t i) { return i >= 40 && i < 46; });
    EXPECT_EQ(fec().recovered, 0U);
    for (int i = 0; i < 10; i++) {
        send_block({}, [](uint16_t) { return false; });
    }
    EXPECT_EQ(fec().unrecoverable, 6U);
    EXPECT_EQ(input_.counters().lost, 6U);
    EXPECT_EQ(gaps_, 1U);
}

TEST_F(GroupBlocksTest, APacketThatComesLateMakesABlockWhole) {
    const uint16_t first = next_;
    send_block({}, [](uint16_t i) { return i >= 40 && i < 46; });
    input_.feed(now_, media(static_cast<uint16_t>(first + 45)));
    EXPECT_EQ(fec().recovered, 5U);
    EXPECT_TRUE(is_whole());
    EXPECT_EQ(given_.size(), 100U);
}

TEST_F(GroupBlocksTest, ShorterPacketsComeBackWithTheirLength) {
    const auto make = [](uint16_t sequence) {
        Bytes packet = media(sequence);
        packet.resize(fec::kRtpHeader + (sequence % 3 == 0 ? 188U : kPayload));
        return packet;
    };
    const Shape shape{.data = 9, .parities = 4};
    for (uint16_t i = 0; i < shape.data; i++) {
        if (i == 0 || i > 4) {
            input_.feed(now_, make(i));
        }
    }
    for (const Bytes& each : block_parities(0, shape, make)) {
        input_.feed_parity(now_, each);
    }
    EXPECT_EQ(fec().recovered, 4U);
    EXPECT_EQ(given_.size(), 9U);
    EXPECT_TRUE(is_whole());
}

TEST_F(GroupBlocksTest, ParitiesOfOtherPacketsGiveNothing) {
    for (uint16_t i = 0; i < 8; i++) {
        if (i != 3) {
            input_.feed(now_, media(i));
        }
    }
    const auto other = [](uint16_t sequence) {
        return media(static_cast<uint16_t>(sequence + 100));
    };
    const std::vector<Bytes> wrong = block_parities(0, {.data = 8, .parities = 2}, other);
    input_.feed_parity(now_, wrong[0]);
    EXPECT_EQ(fec().malformed, 1U);
    EXPECT_EQ(fec().recovered, 0U);
}

TEST_F(GroupBlocksTest, BlocksThatWaitAreBounded) {
    send(0);
    const Bytes body(100, 1);
    for (size_t i = 0; i < FecBlocks::kMaxBlocks + 5; i++) {
        fec::BlockParityView view;
        view.first = static_cast<uint16_t>(i);
        view.data = 100;
        view.parities = 32;
        view.body = body;
        input_.feed_parity(now_, view.write(0, 127));
        input_.feed_parity(now_, view.write(0, 127));  // the same one again
    }
    EXPECT_EQ(fec().dropped, 10U);
    // One that says something else of its block.
    fec::BlockParityView view;
    view.data = 101;
    view.parities = 32;
    view.body = body;
    input_.feed_parity(now_, view.write(0, 127));
    EXPECT_EQ(fec().dropped, 11U);
    // And ones of another time.
    for (const int first : {-10'000, 10'000}) {
        view.first = static_cast<uint16_t>(first);
        input_.feed_parity(now_, view.write(0, 127));
    }
    EXPECT_EQ(fec().dropped, 13U);
}

TEST_F(GroupInputTest, PatienceFollowsRateAndMatrix) {
    class Nothing final : public FecOutput {
        void on_recovered(MonoTime, ByteSpan) override {}
    } nothing;

    FecRecovery recovery(nothing);
    EXPECT_EQ(recovery.patience(), FecRecovery::kFirstPatience);
    MonoTime now{Seconds(1)};
    for (uint16_t i = 0; i < 1000; i++) {
        recovery.feed_media(now, media(i));
        now += Millis(2);
    }
    recovery.feed_parity(now, parities(900, {})[10]);
    EXPECT_EQ(recovery.matrix(), 100U);
    EXPECT_NEAR(static_cast<double>(recovery.patience().count()), 450, 10);
}

TEST_F(GroupInputTest, WithoutRecoveryItIsOrderAlone) {
    GroupInput plain(*this, {});
    plain.feed(now_, media(1));
    plain.feed_parity(now_, media(2));
    plain.feed(now_, media(3));
    EXPECT_EQ(plain.fec_counters(), nullptr);
    EXPECT_EQ(*plain.next_timeout(), now_ + RtpOrderOptions::kPatience);
}

}  // namespace
}  // namespace weir::net
