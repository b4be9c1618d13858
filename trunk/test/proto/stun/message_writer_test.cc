#include "proto/stun/message_writer.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "test/proto/stun/vectors.h"

namespace weir::stun {
namespace {

using test::kPassword;

TransactionId id_of(const Bytes& message) {
    TransactionId id{};
    std::copy_n(message.begin() + 8, id.size(), id.begin());
    return id;
}

Bytes written(const MessageWriter& writer) {
    return {writer.message().begin(), writer.message().end()};
}

// The vectors pad with spaces, we with zeros; the padding is covered by the digests, so it is put
// in before them.
TEST(StunMessageWriterTest, WritesTheRequestOfRfc5769) {
    std::array<uint8_t, 200> out{};
    MessageWriter writer(out, MessageClass::kRequest, kBinding, id_of(test::kRequest));
    writer.software("STUN test client").priority(0x6E0001FF).ice_controlled(0x932FF9B151263B36);
    writer.username(test::kUsername);
    for (size_t i = 1; i <= 3; i++) {
        out[writer.size() - i] = ' ';
    }
    writer.integrity(as_bytes(kPassword)).fingerprint();
    EXPECT_EQ(written(writer), test::kRequest);
}

TEST(StunMessageWriterTest, WritesTheAnswersOfRfc5769) {
    for (const auto& [vector, address] :
         {std::pair{test::kResponseV4, "192.0.2.1:32853"},
          std::pair{test::kResponseV6, "[2001:db8:1234:5678:11:2233:4455:6677]:32853"}}) {
        std::array<uint8_t, 200> out{};
        MessageWriter writer(out, MessageClass::kSuccess, kBinding, id_of(vector));
        writer.software("test vector");
        out[writer.size() - 1] = ' ';
        writer.xor_mapped_address(*NetAddress::parse(address));
        writer.integrity(as_bytes(kPassword)).fingerprint();
        EXPECT_EQ(written(writer), vector);
    }
}

TEST(StunMessageWriterTest, WritesErrorsThatTheParserReads) {
    std::array<uint8_t, 200> out{};
    constexpr std::array<uint16_t, 3> kTypes = {0x0003, 0x7FFF, 0x0026};
    MessageWriter writer(out, MessageClass::kError, kBinding, TransactionId{9});
    writer.error_code(kUnknownAttribute, "no").unknown_attributes(kTypes).fingerprint();
    EXPECT_EQ(test::from_hex("011100202112a442090000000000000000000000"
                             "00090006000004146e6f0000"
                             "000a000600037fff00260000"),
              Bytes(out.begin(), out.begin() + 44));
    MessageView view;
    ASSERT_EQ(MessageView::parse(writer.message(), view), ParseStatus::kDone);
    EXPECT_EQ(view.error_code, kUnknownAttribute);
    EXPECT_EQ(view.error_reason, "no");
    EXPECT_EQ(view.unknown_count, 0);
}

TEST(StunMessageWriterTest, WritesTheAttributesOfIce) {
    std::array<uint8_t, 200> out{};
    MessageWriter writer(out, MessageClass::kRequest, kBinding, TransactionId{9});
    writer.use_candidate().nomination(5).ice_controlling(0x0102030405060708);
    EXPECT_EQ(Bytes(out.begin() + 20, out.begin() + 44),
              test::from_hex("00250000c001000400000005802a00080102030405060708"));
    MessageView view;
    ASSERT_EQ(MessageView::parse(writer.message(), view), ParseStatus::kDone);
    EXPECT_TRUE(view.use_candidate);
    EXPECT_EQ(view.nomination, 5U);
    EXPECT_EQ(view.ice_controlling, 0x0102030405060708U);
}

TEST(StunMessageWriterTest, GivesNothingWhenTheBufferIsTooSmall) {
    std::array<uint8_t, 200> whole{};
    auto fill = [](std::span<uint8_t> out) {
        MessageWriter writer(out, MessageClass::kSuccess, kBinding, TransactionId{});
        writer.xor_mapped_address(NetAddress::from_v4({1, 2, 3, 4}, 5));
        writer.username("abc").integrity(as_bytes("key")).fingerprint();
        return writer.size();
    };
    size_t needed = fill(whole);
    ASSERT_EQ(needed, 20U + 12 + 8 + 24 + 8);
    for (size_t size = 0; size < needed; size++) {
        std::array<uint8_t, 200> out;
        out.fill(0xEE);
        EXPECT_EQ(fill(std::span(out).first(size)), 0U) << size;
        EXPECT_EQ(out[size], 0xEE) << "wrote past the end of " << size;
    }
    EXPECT_EQ(fill(std::span(whole).first(needed)), needed);
}

TEST(StunMessageWriterTest, StaysBelowTheLimitOfAMessage) {
    Bytes out(70'000);
    MessageWriter writer(out, MessageClass::kRequest, kBinding, TransactionId{});
    writer.software(std::string(kMaxMessageBytes - kHeaderBytes - 4, 's'));
    EXPECT_EQ(writer.size(), kMaxMessageBytes);
    EXPECT_EQ(writer.use_candidate().size(), 0U);
    MessageWriter huge(out, MessageClass::kRequest, kBinding, TransactionId{});
    EXPECT_EQ(huge.software(std::string(66'000, 's')).size(), 0U);
}

}  // namespace
}  // namespace weir::stun
