#include "proto/fec/reed_solomon.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

namespace weir::fec {
namespace {

constexpr size_t kLength = 40;

Bytes packet(size_t number) {
    Bytes bytes(kLength);
    for (size_t i = 0; i < bytes.size(); i++) {
        bytes[i] = static_cast<uint8_t>(number * 29 + i * i * 3 + (i == 0 ? 0 : number / i));
    }
    return bytes;
}

std::vector<Bytes> packets(size_t count) {
    std::vector<Bytes> all;
    for (size_t i = 0; i < count; i++) {
        all.push_back(packet(i));
    }
    return all;
}

std::vector<Bytes> parities_of(const ReedSolomon& code, const std::vector<Bytes>& data) {
    std::vector<Bytes> parities(code.parities(), Bytes(kLength));
    for (uint8_t row = 0; row < code.parities(); row++) {
        for (uint8_t i = 0; i < code.data(); i++) {
            code.add(row, i, data[i], parities[row]);
        }
    }
    return parities;
}

// The numbers that are in `lost`, of data and then of parities.
bool gives_back(const ReedSolomon& code,
                const std::vector<Bytes>& data,
                const std::vector<Bytes>& parities,
                uint32_t lost) {
    std::vector<uint8_t> missing;
    std::vector<uint8_t> there;
    for (uint8_t i = 0; i < code.data(); i++) {
        if ((lost >> i & 1U) != 0) {
            missing.push_back(i);
        }
    }
    std::vector<Bytes> rest;
    for (uint8_t row = 0; row < code.parities() && there.size() < missing.size(); row++) {
        if ((lost >> (code.data() + row) & 1U) != 0) {
            continue;
        }
        there.push_back(row);
        Bytes& bytes = rest.emplace_back(parities[row]);
        for (uint8_t i = 0; i < code.data(); i++) {
            if ((lost >> i & 1U) == 0) {
                code.add(row, i, data[i], bytes);
            }
        }
    }
    code.solve({.packets = missing, .parities = there}, rest);
    for (size_t i = 0; i < missing.size(); i++) {
        if (rest[i] != data[missing[i]]) {
            return false;
        }
    }
    return true;
}

class ReedSolomonTest : public testing::TestWithParam<CodePoints> {};

TEST_P(ReedSolomonTest, GivesBackEveryPatternUpToItsStrength) {
    for (const auto& [size, strength] :
         {std::pair<uint8_t, uint8_t>{1, 1}, {3, 2}, {8, 4}, {10, 5}}) {
        const ReedSolomon code(GetParam(), size, strength);
        const std::vector<Bytes> data = packets(size);
        const std::vector<Bytes> parities = parities_of(code, data);
        for (uint32_t lost = 0; lost < 1U << (size + strength); lost++) {
            if (std::popcount(lost) <= strength) {
                ASSERT_TRUE(gives_back(code, data, parities, lost)) << size << ' ' << lost;
            }
        }
    }
}

TEST_P(ReedSolomonTest, GivesBackBurstsOfLargeCodes) {
    for (const auto& [size, strength] :
         {std::pair<uint8_t, uint8_t>{100, 5}, {48, 3}, {223, 32}, {254, 1}}) {
        const ReedSolomon code(GetParam(), size, strength);
        const std::vector<Bytes> data = packets(size);
        std::vector<Bytes> rest = parities_of(code, data);
        std::vector<uint8_t> missing(strength);
        std::iota(missing.begin(), missing.end(), static_cast<uint8_t>(size - strength));
        std::vector<uint8_t> there(strength);
        std::iota(there.begin(), there.end(), uint8_t{0});
        for (uint8_t row = 0; row < strength; row++) {
            for (uint8_t i = 0; i < size - strength; i++) {
                code.add(row, i, data[i], rest[row]);
            }
        }
        code.solve({.packets = missing, .parities = there}, rest);
        EXPECT_TRUE(std::equal(rest.begin(), rest.end(), data.end() - strength));
    }
}

INSTANTIATE_TEST_SUITE_P(Points,
                         ReedSolomonTest,
                         testing::Values(CodePoints::kIntegers, CodePoints::kPowers));

// The share of single bytes, as captures of two networks have it: 100 + 5, and 48 + 3 packets.
TEST(ReedSolomonCodeTest, HasTheFactorsThatNetworksUse) {
    const auto factor = [](const ReedSolomon& code, uint8_t row, uint8_t packet) {
        Bytes to(1);
        code.add(row, packet, Bytes{1}, to);
        return to[0];
    };
    const ReedSolomon integers(CodePoints::kIntegers, 100, 5);
    EXPECT_EQ(factor(integers, 0, 0), 0x20);
    EXPECT_EQ(factor(integers, 0, 99), 0x14);
    EXPECT_EQ(factor(integers, 1, 0), 0x85);
    EXPECT_EQ(factor(integers, 4, 0), 0x3C);
    const ReedSolomon powers(CodePoints::kPowers, 48, 3);
    EXPECT_EQ(factor(powers, 0, 0), 0xD0);
    EXPECT_EQ(factor(powers, 0, 47), 0x3D);
    EXPECT_EQ(factor(powers, 2, 0), 0x3D);
}

BlockParityView example(ByteSpan body) {
    BlockParityView view;
    view.first = 0xFFF0;
    view.data = 100;
    view.parities = 5;
    view.index = 4;
    view.body = body;
    return view;
}

TEST(BlockParityViewTest, WritesTheHeader) {
    const Bytes body(13, 0xAB);
    Bytes expected = {0x80, 127,  0x01, 0x02, 0, 0, 0, 0,  0, 0,  0, 0,
                      0xFF, 0xF0, 0x00, 0x53, 5, 4, 0, 13, 0, 13, 0, 0};
    expected.insert(expected.end(), body.begin(), body.end());
    EXPECT_EQ(example(body).write(0x0102, 127), expected);
}

TEST(BlockParityViewTest, ReadsWhatItWrote) {
    const Bytes body(1328, 0xAB);
    const Bytes written = example(body).write(1, 97);
    const auto view = BlockParityView::parse(written);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->first, 0xFFF0);
    EXPECT_EQ(view->data, 100);
    EXPECT_EQ(view->parities, 5);
    EXPECT_EQ(view->index, 4);
    EXPECT_TRUE(std::ranges::equal(view->body, body));
}

TEST(BlockParityViewTest, RefusesWhatIsNone) {
    const Bytes body(100, 1);
    const Bytes good = example(body).write(1, 127);
    for (size_t size = 0; size < good.size(); size++) {
        EXPECT_FALSE(BlockParityView::parse(ByteSpan(good).first(size))) << size;
    }
    const auto with = [&good](std::initializer_list<std::pair<size_t, uint8_t>> changes) {
        Bytes bytes = good;
        for (const auto& [at, value] : changes) {
            bytes[at] = value;
        }
        return BlockParityView::parse(bytes).has_value();
    };
    EXPECT_TRUE(with({}));
    EXPECT_FALSE(with({{0, 0x00}}));               // no RTP
    EXPECT_FALSE(with({{0, 0x90}}));               // with an extension
    EXPECT_FALSE(with({{16, 0}}));                 // no parities
    EXPECT_FALSE(with({{16, 33}}));                // too many
    EXPECT_FALSE(with({{17, 5}}));                 // an index behind the last
    EXPECT_FALSE(with({{14, 0x01}}));              // too many packets
    EXPECT_FALSE(with({{14, 0xFF}, {15, 0xEF}}));  // the last before the first
    EXPECT_FALSE(with({{19, 99}}));                // another length
    EXPECT_FALSE(with({{21, 101}}));               // more bytes of data than of parity
    EXPECT_FALSE(with({{21, 12}}));                // no payload
    EXPECT_TRUE(with({{21, 90}}));                 // a longer parity than is needed
    Bytes longer = good;
    longer.push_back(0);
    EXPECT_FALSE(BlockParityView::parse(longer));
    EXPECT_FALSE(BlockParityView::parse(example(Bytes(1501)).write(1, 127)));
}

TEST(BlockParityViewTest, IsNoParityOfColumnsOrRows) {
    Parity parity;
    ASSERT_TRUE(parity.add(Bytes(200, 0x80)));
    EXPECT_FALSE(BlockParityView::parse(parity.make({.first = 1, .offset = 10, .count = 10})));
}

}  // namespace
}  // namespace weir::fec
