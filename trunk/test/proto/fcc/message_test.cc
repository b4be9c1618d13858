#include "proto/fcc/message.h"

#include <gtest/gtest.h>

namespace weir::fcc {
namespace {

const NetAddress kGroup = NetAddress::from_v4({239, 1, 2, 3}, 5140);
const NetAddress kLocal = NetAddress::from_v4({10, 0, 0, 9}, 40'001);

// An answer of kTelecom: 36 bytes.
Bytes telecom(uint8_t result, uint8_t type) {
    Bytes out;
    ByteWriter(out).u8(0x83).u8(205).u16(8).u32(0).u8(239).u8(1).u8(2).u8(3);
    ByteWriter(out).u8(result).u8(type).u16(15'971).u16(40'000).u16(0).u32(0x0A000001);
    ByteWriter(out).u32(30).u32(10'000'000).u32(10'000'000);
    return out;
}

// One of kHuawei: 36 bytes.
Bytes huawei(uint8_t result, uint16_t type, uint8_t flags) {
    Bytes out;
    ByteWriter(out).u8(0x86).u8(205).u16(8).u32(0).u8(239).u8(1).u8(2).u8(3);
    ByteWriter(out).u8(result).u8(0).u16(type).u16(77).u16(0).u16(8748).u16(0);
    ByteWriter(out).u8(flags).u8(0).u16(40'000).u32(0x12345678).u32(0x0A000001);
    return out;
}

TEST(FccMessageTest, WritesTheRequestOfTelecom) {
    const Bytes expected = {0x82, 205, 0, 5, 0,    0,    0,    0,    239, 1, 2, 3,
                            0,    0,   0, 0, 0x9C, 0x41, 0x14, 0x14, 239, 1, 2, 3};
    EXPECT_EQ(write_request(Kind::kTelecom, {.group = kGroup, .local = kLocal}), expected);
}

TEST(FccMessageTest, WritesTheRequestOfHuawei) {
    const Bytes expected = {0x85, 205, 0, 7, 0,  0, 0, 0, 239,  1,    2,    3, 0,    0, 0, 0,
                            0,    0,   0, 0, 10, 0, 0, 9, 0x9C, 0x41, 0x80, 0, 0x20, 0, 0, 0};
    EXPECT_EQ(write_request(Kind::kHuawei, {.group = kGroup, .local = kLocal}), expected);
}

TEST(FccMessageTest, WritesTheEnd) {
    EXPECT_EQ(write_end(Kind::kTelecom, kGroup, 0x0102),
              (Bytes{0x85, 205, 0, 3, 0, 0, 0, 0, 239, 1, 2, 3, 0, 0, 1, 2}));
    EXPECT_EQ(write_end(Kind::kTelecom, kGroup, std::nullopt),
              (Bytes{0x85, 205, 0, 3, 0, 0, 0, 0, 239, 1, 2, 3, 1, 0, 0, 0}));
    EXPECT_EQ(write_end(Kind::kHuawei, kGroup, 0x0102),
              (Bytes{0x89, 205, 0, 3, 0, 0, 0, 0, 239, 1, 2, 3, 1, 0, 1, 2}));
    EXPECT_EQ(write_end(Kind::kHuawei, kGroup, std::nullopt),
              (Bytes{0x89, 205, 0, 3, 0, 0, 0, 0, 239, 1, 2, 3, 2, 0, 0, 0}));
}

TEST(FccMessageTest, WritesWhatOpensTheWay) {
    EXPECT_TRUE(write_opening(Kind::kTelecom, 1).empty());
    EXPECT_EQ(write_opening(Kind::kHuawei, 0x12345678),
              (Bytes{0, 3, 0, 0, 0x12, 0x34, 0x56, 0x78}));
}

TEST(FccMessageTest, ReadsTheAnswersOfTelecom) {
    const auto burst = parse_message(Kind::kTelecom, telecom(0, 2));
    ASSERT_TRUE(burst);
    EXPECT_EQ(burst->answer, Answer::kBurst);
    EXPECT_EQ(burst->signal_port, 15'971);
    EXPECT_EQ(burst->media_port, 40'000);
    EXPECT_EQ(burst->server, NetAddress::from_v4({10, 0, 0, 1}, 0));
    EXPECT_EQ(parse_message(Kind::kTelecom, telecom(0, 1))->answer, Answer::kJoin);
    EXPECT_EQ(parse_message(Kind::kTelecom, telecom(0, 3))->answer, Answer::kRedirect);
    EXPECT_EQ(parse_message(Kind::kTelecom, telecom(0, 9))->answer, Answer::kRefused);
    EXPECT_EQ(parse_message(Kind::kTelecom, telecom(5, 2))->answer, Answer::kRefused);
}

TEST(FccMessageTest, ReadsTheAnswersOfHuawei) {
    const auto plain = parse_message(Kind::kHuawei, huawei(1, 2, 0));
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->answer, Answer::kBurst);
    EXPECT_EQ(plain->session, 0U);
    EXPECT_TRUE(plain->server.empty());
    const auto opening = parse_message(Kind::kHuawei, huawei(1, 2, 0x20));
    ASSERT_TRUE(opening);
    EXPECT_EQ(opening->session, 0x12345678U);
    EXPECT_EQ(opening->media_port, 40'000);
    EXPECT_EQ(opening->server, NetAddress::from_v4({10, 0, 0, 1}, 0));
    const auto redirect = parse_message(Kind::kHuawei, huawei(1, 3, 0));
    ASSERT_TRUE(redirect);
    EXPECT_EQ(redirect->answer, Answer::kRedirect);
    EXPECT_EQ(redirect->signal_port, 40'000);
    EXPECT_EQ(parse_message(Kind::kHuawei, huawei(0, 2, 0))->answer, Answer::kRefused);
    EXPECT_EQ(parse_message(Kind::kHuawei, huawei(1, 1, 0))->answer, Answer::kJoin);
}

TEST(FccMessageTest, ReadsTheShortAnswer) {
    Bytes bytes = huawei(1, 2, 0x20);
    bytes.resize(24);
    const auto message = parse_message(Kind::kHuawei, bytes);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->answer, Answer::kBurst);
    EXPECT_TRUE(message->server.empty());
    bytes = huawei(1, 3, 0);
    bytes.resize(24);
    EXPECT_FALSE(parse_message(Kind::kHuawei, bytes)) << "to whom it redirects is missing";
}

TEST(FccMessageTest, ReadsTheSync) {
    Bytes bytes = {0x84, 205, 0, 2, 0, 0, 0, 0, 239, 1, 2, 3};
    EXPECT_EQ(parse_message(Kind::kTelecom, bytes)->answer, Answer::kSync);
    EXPECT_FALSE(parse_message(Kind::kHuawei, bytes));
    bytes[0] = 0x88;
    EXPECT_EQ(parse_message(Kind::kHuawei, bytes)->answer, Answer::kSync);
}

TEST(FccMessageTest, RefusesWhatIsNone) {
    for (size_t size = 0; size < 24; size++) {
        EXPECT_FALSE(parse_message(Kind::kTelecom, ByteSpan(telecom(0, 2)).first(size))) << size;
    }
    for (size_t size = 0; size < 16; size++) {
        EXPECT_FALSE(parse_message(Kind::kHuawei, ByteSpan(huawei(1, 2, 0)).first(size))) << size;
    }
    Bytes bytes = telecom(0, 2);
    bytes[1] = 33;
    EXPECT_FALSE(is_message(bytes));
    bytes[1] = 205;
    bytes[0] = 0x03;
    EXPECT_FALSE(is_message(bytes));
    bytes[0] = 0x9F;
    EXPECT_FALSE(parse_message(Kind::kTelecom, bytes));
}

}  // namespace
}  // namespace weir::fcc
