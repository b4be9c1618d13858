#include "proto/fec/parity.h"

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/rtp/header.h"

#include "test/support/source_file.h"

namespace weir::fec {
namespace {

// A packet of RTP with a payload of that size, each byte of it by the number.
Bytes media(uint16_t sequence, size_t size, bool marker = false) {
    Bytes packet(kRtpHeader + size, static_cast<uint8_t>(sequence * 7 + 1));
    rtp::write_header({.payload_type = 33,
                       .marker = marker,
                       .sequence = sequence,
                       .timestamp = 90'000U * sequence,
                       .ssrc = 0x1234},
                      packet.data());
    return packet;
}

TEST(ParityTest, WritesTheHeaderOfTheStandard) {
    Parity parity;
    ASSERT_TRUE(parity.add(media(100, 4)));
    ASSERT_TRUE(parity.add(media(110, 2, true)));
    const Bytes packet = parity.make({.first = 100,
                                      .offset = 10,
                                      .count = 2,
                                      .is_row = false,
                                      .sequence = 0x0102,
                                      .payload_type = 96});
    const uint32_t timestamp = 90'000U * 100 ^ 90'000U * 110;
    Bytes expected = {0x80, 0xE0, 0x01, 0x02, 0, 0, 0, 0, 0, 0, 0, 0};  // RTP, parity of M
    ByteWriter writer(expected);
    writer.u16(100).u16(4 ^ 2).u8(0x80 | (33 ^ 33)).u24(0).u32(timestamp);
    writer.u8(0).u8(10).u8(2).u8(0);
    const auto one = static_cast<uint8_t>(100 * 7 + 1);
    const auto other = static_cast<uint8_t>(110 * 7 + 1);
    writer.u8(one ^ other).u8(one ^ other).u8(one).u8(one);
    EXPECT_EQ(packet, expected);
}

TEST(ParityTest, GivesBackEachOfItsPackets) {
    const std::vector<Bytes> all = {media(65534, 1316), media(65535, 188, true), media(0, 1316),
                                    media(1, 1488)};
    Parity whole;
    for (const Bytes& each : all) {
        ASSERT_TRUE(whole.add(each));
    }
    const Bytes packet = whole.make({.first = 65534, .offset = 1, .count = 4, .is_row = true});
    const auto view = ParityView::parse(packet);
    ASSERT_TRUE(view);
    EXPECT_TRUE(view->is_row);
    EXPECT_EQ(view->span(), 4U);
    for (size_t lost = 0; lost < all.size(); lost++) {
        Parity parity;
        parity.add(*view);
        for (size_t i = 0; i < all.size(); i++) {
            if (i != lost) {
                parity.add(all[i]);
            }
        }
        const auto sequence = static_cast<uint16_t>(65534 + lost);
        EXPECT_TRUE(view->protects(sequence));
        EXPECT_EQ(parity.recover(sequence, 0x1234), all[lost]);
    }
    EXPECT_FALSE(view->protects(2));
    EXPECT_FALSE(view->protects(65533));
}

TEST(ParityTest, ColumnsProtectPacketsThatAreApart) {
    Parity parity;
    parity.add(media(20, 10));
    const Bytes packet = parity.make({.first = 20, .offset = 5, .count = 4});
    const auto view = ParityView::parse(packet);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->span(), 16U);
    for (uint16_t i = 0; i < 100; i++) {
        EXPECT_EQ(view->protects(i), i == 20 || i == 25 || i == 30 || i == 35) << i;
    }
}

TEST(ParityTest, DoesNotMakeWhatCannotBe) {
    Parity parity;
    EXPECT_FALSE(parity.recover(1, 1));  // nothing at all
    parity.add(media(1, 100));
    parity.add(media(2, 200));
    EXPECT_FALSE(parity.recover(3, 1)) << "the lengths differ by more than what is there";
    Parity behind;
    behind.add(media(1, 7));
    behind.add(media(2, 4));  // 3 bytes, and others behind them
    EXPECT_FALSE(behind.recover(3, 1));
}

TEST(ParityTest, RefusesWhatIsNoRtpPacket) {
    Parity parity;
    EXPECT_FALSE(parity.add(Bytes{}));
    EXPECT_FALSE(parity.add(Bytes(12, 0x80)));
    EXPECT_FALSE(parity.add(Bytes(188, 0x47)));
    EXPECT_FALSE(parity.add(media(1, kMaxBody + 1)));
    EXPECT_TRUE(parity.add(media(1, kMaxBody)));
}

TEST(ParityTest, RefusesWhatIsNoParityPacket) {
    Parity parity;
    parity.add(media(1, 20));
    const Bytes good = parity.make({.first = 1, .offset = 20, .count = 20});
    EXPECT_TRUE(ParityView::parse(good));
    for (size_t size = 0; size <= kRtpHeader + kParityHeader; size++) {
        EXPECT_FALSE(ParityView::parse(ByteSpan(good).first(size))) << size;
    }
    auto with = [&](size_t at, uint8_t value) {
        Bytes changed = good;
        changed[at] = value;
        return ParityView::parse(changed).has_value();
    };
    EXPECT_FALSE(with(0, 0x40)) << "not version 2";
    EXPECT_FALSE(with(24, 0x10)) << "Reed-Solomon";
    EXPECT_FALSE(with(25, 0)) << "offset";
    EXPECT_FALSE(with(26, 0)) << "count";
    EXPECT_FALSE(with(26, 21)) << "more than 400";
    EXPECT_TRUE(with(24, 0x40)) << "a row";
    Bytes large = good;
    large.resize(kRtpHeader + kParityHeader + kMaxBody + 1);
    EXPECT_FALSE(ParityView::parse(large));
}

// Media by their sequence numbers, and parities, of a recording (test/data/fec/README.md).
struct Recording {
    std::map<uint16_t, Bytes> media;
    std::vector<Bytes> parities;
};

Recording recording(const std::string& name) {
    std::ifstream file(test::source_file("test/data/fec/" + name), std::ios::binary);
    const Bytes all{std::istreambuf_iterator<char>(file), {}};
    Recording out;
    for (ByteReader reader(all); !reader.empty();) {
        const uint8_t kind = reader.u8();
        const ByteSpan datagram = reader.take(reader.u16());
        const Bytes copy(datagram.begin(), datagram.end());
        if (kind == 0) {
            out.media[rtp::sequence_of(copy.data())] = copy;
        } else {
            out.parities.push_back(copy);
        }
    }
    return out;
}

TEST(ParityTest, GivesBackEachPacketOfFfmpeg) {
    const Recording all = recording("ffmpeg-prompeg-4x4.bin");
    ASSERT_EQ(all.media.size(), 32U);
    ASSERT_EQ(all.parities.size(), 16U);
    for (const Bytes& each : all.parities) {
        const auto view = ParityView::parse(each);
        ASSERT_TRUE(view);
        for (const auto& [lost, packet] : all.media) {
            if (!view->protects(lost)) {
                continue;
            }
            Parity parity;
            parity.add(*view);
            for (const auto& [sequence, other] : all.media) {
                if (view->protects(sequence) && sequence != lost) {
                    parity.add(other);
                }
            }
            EXPECT_EQ(parity.recover(lost, rtp::ssrc_of(packet.data())), packet);
        }
    }
}

}  // namespace
}  // namespace weir::fec
