#include "proto/rtp/header.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir::rtp {
namespace {

// The layout of RFC 3550 §5.1: marker, payload type 96, two CSRCs, no extension.
const Bytes kWithSources = {0x82, 0xE0, 0x12, 0x34, 0x00, 0x00, 0x03, 0xE8, 0xDE, 0xAD, 0xBE, 0xEF,
                            0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 'p',  'a',  'y'};

// RFC 8285 §4.2: the example of the one-byte form, with ids 1, 2 and 3.
const Bytes kOneByte = {0x90, 0x60, 0,   1,   0,   0, 0, 2, 0, 0, 0, 3,  //
                        0xBE, 0xDE, 0,   3,                              //
                        0x10, 'a',                                       // id 1, one byte
                        0x21, 'b',  'b',                                 // id 2, two bytes
                        0,    0,                                         // padding
                        0x33, 'c',  'c', 'c', 'c',                       // id 3, four bytes
                        'x',  'y'};

// RFC 8285 §4.3: the example of the two-byte form; an element may be empty.
const Bytes kTwoByte = {0x90, 0x60, 0,   1,   0,   0,   0, 2, 0, 0, 0, 3,  //
                        0x10, 0x00, 0,   3,                                //
                        1,    0,                                           // id 1, empty
                        2,    1,    'b',                                   // id 2, one byte
                        0,                                                 // padding
                        200,  4,    'd', 'd', 'd', 'd',                    // id 200, four bytes
                        'x'};

std::string text(std::optional<ByteSpan> data) {
    return data ? std::string(as_text(*data)) : "absent";
}

Bytes written(const Header& header, const std::vector<Extension>& extensions) {
    Bytes out(header_size(extensions));
    EXPECT_EQ(write_header(header, extensions, out.data()), out.size());
    return out;
}

TEST(RtpHeaderTest, ReadsTheFieldsOfTheFixedHeader) {
    auto packet = PacketView::parse(kWithSources);
    ASSERT_TRUE(packet);
    EXPECT_TRUE(packet->marker());
    EXPECT_EQ(packet->payload_type(), 96);
    EXPECT_EQ(packet->sequence(), 0x1234);
    EXPECT_EQ(packet->timestamp(), 1000U);
    EXPECT_EQ(packet->ssrc(), 0xDEADBEEFU);
    EXPECT_EQ(packet->header_size(), 20U);
    EXPECT_EQ(as_text(packet->payload()), "pay");
    EXPECT_FALSE(packet->has_extensions());
    EXPECT_EQ(sequence_of(kWithSources.data()), 0x1234);
    EXPECT_EQ(ssrc_of(kWithSources.data()), 0xDEADBEEFU);
}

TEST(RtpHeaderTest, RefusesAHeaderThatIsCutAnywhere) {
    for (const Bytes& packet : {kWithSources, kOneByte, kTwoByte}) {
        const size_t header = PacketView::parse(packet)->header_size();
        for (size_t size = 0; size < packet.size(); size++) {
            EXPECT_EQ(PacketView::parse(ByteSpan(packet).first(size)).has_value(), size >= header)
                << size;
        }
    }
}

TEST(RtpHeaderTest, RefusesOtherVersions) {
    for (uint8_t version : Bytes{0, 1, 3}) {
        Bytes packet = kWithSources;
        packet[0] = static_cast<uint8_t>(version << 6 | (packet[0] & 0x3F));
        EXPECT_FALSE(PacketView::parse(packet));
    }
}

TEST(RtpHeaderTest, TakesPaddingOffThePayload) {
    Bytes packet = kWithSources;
    packet[0] |= 0x20;
    packet.insert(packet.end(), {0, 0, 3});
    EXPECT_EQ(as_text(PacketView::parse(packet)->payload()), "pay");
    EXPECT_EQ(PacketView::parse(packet)->padding_size(), 3U);
    packet.back() = 6;  // a packet that is nothing but padding, as probes are
    EXPECT_TRUE(PacketView::parse(packet)->payload().empty());
    packet.back() = 7;
    EXPECT_FALSE(PacketView::parse(packet));
    packet.back() = 0;
    EXPECT_FALSE(PacketView::parse(packet));
    packet.resize(20);
    EXPECT_FALSE(PacketView::parse(packet));
}

TEST(RtpHeaderTest, LeavesEncryptedPaddingAlone) {
    Bytes packet = kWithSources;
    packet[0] |= 0x20;
    packet.back() = 255;
    ASSERT_TRUE(PacketView::parse_protected(packet));
    EXPECT_EQ(PacketView::parse_protected(packet)->payload().size(), 3U);
    EXPECT_FALSE(PacketView::parse(packet));
}

TEST(RtpHeaderTest, FindsExtensionsOfTheOneByteForm) {
    auto packet = PacketView::parse(kOneByte);
    ASSERT_TRUE(packet);
    EXPECT_EQ(text(packet->extension(1)), "a");
    EXPECT_EQ(text(packet->extension(2)), "bb");
    EXPECT_EQ(text(packet->extension(3)), "cccc");
    EXPECT_EQ(text(packet->extension(4)), "absent");
    EXPECT_EQ(text(packet->extension(0)), "absent");
    EXPECT_EQ(as_text(packet->payload()), "xy");
}

TEST(RtpHeaderTest, FindsExtensionsOfTheTwoByteForm) {
    Bytes bytes = kTwoByte;
    for (uint8_t application_bits : Bytes{0x00, 0x0F}) {
        bytes[13] = application_bits;
        auto packet = PacketView::parse(bytes);
        ASSERT_TRUE(packet);
        EXPECT_EQ(text(packet->extension(1)), "");
        EXPECT_EQ(text(packet->extension(2)), "b");
        EXPECT_EQ(text(packet->extension(200)), "dddd");
        size_t count = 0;
        packet->for_each_extension([&](const Extension&) { count++; });
        EXPECT_EQ(count, 3U);
    }
}

TEST(RtpHeaderTest, IgnoresExtensionsOfAnotherProfile) {
    Bytes bytes = kOneByte;
    bytes[12] = 0xAB;
    auto packet = PacketView::parse(bytes);
    ASSERT_TRUE(packet);
    EXPECT_FALSE(packet->has_extensions());
    EXPECT_EQ(text(packet->extension(1)), "absent");
    EXPECT_EQ(as_text(packet->payload()), "xy");
}

TEST(RtpHeaderTest, StopsAtAnElementThatIsBroken) {
    // RFC 8285 §4.2: id 15, id 0 with a length, and what is longer than the block.
    for (uint8_t first : Bytes{0xF0, 0x05, 0x4F}) {
        Bytes bytes = kOneByte;
        bytes[18] = first;
        auto packet = PacketView::parse(bytes);
        ASSERT_TRUE(packet);
        EXPECT_EQ(text(packet->extension(1)), "a");
        EXPECT_EQ(text(packet->extension(2)), "absent");
        EXPECT_EQ(text(packet->extension(3)), "absent");
        EXPECT_EQ(as_text(packet->payload()), "xy");
    }
    Bytes bytes = kTwoByte;
    bytes[19] = 200;  // longer than the block
    EXPECT_EQ(text(PacketView::parse(bytes)->extension(1)), "");
    EXPECT_EQ(text(PacketView::parse(bytes)->extension(2)), "absent");
}

TEST(RtpHeaderTest, WritesTheFixedHeader) {
    EXPECT_EQ(written({96, true, 0x1234, 1000, 0xDEADBEEF}, {}),
              (Bytes{0x80, 0xE0, 0x12, 0x34, 0, 0, 3, 0xE8, 0xDE, 0xAD, 0xBE, 0xEF}));
}

TEST(RtpHeaderTest, WritesTheOneByteFormAndPadsItToAWord) {
    const Bytes two = {0xAA, 0xBB};
    EXPECT_EQ(written({96, false, 1, 2, 3}, {{3, two}, {14, as_bytes("x")}}),
              (Bytes{0x90, 96,   0, 1, 0,    0,    0,    2,    0,   0, 0, 3,  //
                     0xBE, 0xDE, 0, 2, 0x31, 0xAA, 0xBB, 0xE0, 'x', 0, 0, 0}));
}

TEST(RtpHeaderTest, WritesTheTwoByteFormWhenAnElementNeedsIt) {
    const Bytes long_data(17, 'L');
    const std::vector<std::vector<Extension>> cases = {
        {{1, as_bytes("a")}, {15, as_bytes("b")}}, {{1, {}}}, {{1, long_data}, {2, as_bytes("c")}}};
    for (const auto& extensions : cases) {
        const Bytes bytes = written({}, extensions);
        EXPECT_EQ(bytes[12], 0x10);
        EXPECT_EQ(bytes.size() % 4, 0U);
        auto packet = PacketView::parse(bytes);
        ASSERT_TRUE(packet);
        for (const Extension& e : extensions) {
            EXPECT_EQ(text(packet->extension(e.id)), as_text(e.data));
        }
    }
}

TEST(RtpHeaderTest, ReadsBackWhatItWrites) {
    for (size_t size = 1; size <= kMaxOneByteExtensionSize; size++) {
        const Bytes data(size, 'd');
        Bytes bytes = written({127, true, 0xFFFF, 0xFFFFFFFF, 7}, {{14, data}, {1, data}});
        bytes.push_back('p');
        auto packet = PacketView::parse(bytes);
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->payload_type(), 127);
        EXPECT_TRUE(packet->marker());
        EXPECT_EQ(packet->sequence(), 0xFFFF);
        EXPECT_EQ(packet->timestamp(), 0xFFFFFFFF);
        EXPECT_EQ(packet->ssrc(), 7U);
        EXPECT_EQ(text(packet->extension(14)), as_text(data));
        EXPECT_EQ(text(packet->extension(1)), as_text(data));
        EXPECT_EQ(as_text(packet->payload()), "p");
    }
}

TEST(RtpHeaderTest, RewritesThePlayersFieldsAndNothingElse) {
    Bytes bytes = kOneByte;
    rewrite_header({111, true, 0xABCD, 0x01020304, 0x0A0B0C0D}, bytes.data());
    Bytes expected = kOneByte;
    const Bytes head = {0x90, 0x80 | 111, 0xAB, 0xCD, 1, 2, 3, 4, 0x0A, 0x0B, 0x0C, 0x0D};
    std::copy(head.begin(), head.end(), expected.begin());
    EXPECT_EQ(bytes, expected);
}

TEST(RtpHeaderTest, GivesTheBytesOfAnExtensionToBeOverwritten) {
    Bytes bytes = kOneByte;
    std::span<uint8_t> data = mutable_extension(bytes, 2);
    ASSERT_EQ(data.size(), 2U);
    data[0] = 'B';
    data[1] = 'C';
    EXPECT_EQ(text(PacketView::parse(bytes)->extension(2)), "BC");
    EXPECT_TRUE(mutable_extension(bytes, 9).empty());
    EXPECT_TRUE(mutable_extension(std::span(bytes).first(5), 2).empty());
}

TEST(RtpHeaderTest, TellsRtcpFromRtpByTheSecondByte) {
    for (int second = 0; second < 256; second++) {
        const std::array<uint8_t, 2> bytes = {0x80, static_cast<uint8_t>(second)};
        EXPECT_EQ(is_rtcp(bytes), second >= 192 && second <= 223) << second;
    }
    EXPECT_FALSE(is_rtcp({}));
}

}  // namespace
}  // namespace weir::rtp
