#include "proto/stun/message.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/hmac.h"
#include "proto/stun/fingerprint.h"
#include "proto/stun/message_writer.h"

#include "test/proto/stun/vectors.h"

namespace weir::stun {
namespace {

using test::from_hex;
using test::kLongTermRequest;
using test::kPassword;
using test::kRequest;
using test::kResponseV4;
using test::kResponseV6;

constexpr TransactionId kId = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

MessageView parsed(ByteSpan bytes) {
    MessageView view;
    EXPECT_EQ(MessageView::parse(bytes, view), ParseStatus::kDone);
    return view;
}

ParseStatus status_of(ByteSpan bytes) {
    MessageView view;
    return MessageView::parse(bytes, view);
}

// A request with these attributes, given as they are on the wire.
Bytes message_with(std::string_view hex) {
    Bytes attributes = from_hex(hex);
    Bytes message;
    ByteWriter(message).u16(0x0001).u16(static_cast<uint16_t>(attributes.size())).u32(kMagicCookie);
    ByteWriter(message).bytes(kId).bytes(attributes);
    return message;
}

TEST(StunMessageTest, ReadsTheRequestOfRfc5769) {
    MessageView view = parsed(kRequest);
    EXPECT_EQ(view.message_class, MessageClass::kRequest);
    EXPECT_EQ(view.method, kBinding);
    EXPECT_EQ(Bytes(view.transaction.begin(), view.transaction.end()),
              from_hex("b7e7a701bc34d686fa87dfae"));
    EXPECT_EQ(view.software, "STUN test client");
    EXPECT_EQ(view.username, test::kUsername);
    EXPECT_EQ(view.priority, 0x6E0001FFU);
    EXPECT_EQ(view.ice_controlled, 0x932FF9B151263B36U);
    EXPECT_FALSE(view.ice_controlling);
    EXPECT_FALSE(view.use_candidate);
    EXPECT_TRUE(view.has_fingerprint);
    EXPECT_EQ(view.unknown_count, 0);
    EXPECT_TRUE(view.check_integrity(as_bytes(kPassword)));
}

TEST(StunMessageTest, ReadsTheAnswersOfRfc5769) {
    for (const Bytes& bytes : {kResponseV4, kResponseV6}) {
        MessageView view = parsed(bytes);
        EXPECT_EQ(view.message_class, MessageClass::kSuccess);
        EXPECT_EQ(view.software, "test vector");
        EXPECT_TRUE(view.has_fingerprint);
        EXPECT_TRUE(view.check_integrity(as_bytes(kPassword)));
    }
    EXPECT_EQ(parsed(kResponseV4).xor_mapped_address->to_string(), "192.0.2.1:32853");
    EXPECT_EQ(parsed(kResponseV6).xor_mapped_address->to_string(),
              "[2001:db8:1234:5678:11:2233:4455:6677]:32853");
}

TEST(StunMessageTest, ReadsTheLongTermRequestOfRfc5769) {
    MessageView view = parsed(kLongTermRequest);
    EXPECT_EQ(view.username, "\u30DE\u30C8\u30EA\u30C3\u30AF\u30B9");
    EXPECT_EQ(view.realm, "example.org");
    EXPECT_EQ(view.nonce, "f//499k954d6OL34oL9FSTvy64sA");
    EXPECT_FALSE(view.has_fingerprint);
    // MD5 of "user:realm:password" (RFC 8489 §9.2.2).
    EXPECT_TRUE(view.check_integrity(from_hex("e8ca7ad59d5eb0518e312911d2dab2a9")));
}

TEST(StunMessageTest, RefusesAWrongPassword) {
    for (const Bytes& bytes : {kRequest, kResponseV4, kResponseV6, kLongTermRequest}) {
        EXPECT_FALSE(parsed(bytes).check_integrity(as_bytes("VOkJxbRl1RmTxUk/WvJxBT")));
        EXPECT_FALSE(parsed(bytes).check_integrity({}));
    }
}

TEST(StunMessageTest, NoticesEachFlippedBit) {
    for (const Bytes& good : {kRequest, kResponseV4, kResponseV6}) {
        for (size_t bit = 0; bit < good.size() * 8; bit++) {
            Bytes bad = good;
            bad[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
            MessageView view;
            // Some flips hide the FINGERPRINT (its type, a length that swallows it): such a message
            // is read, and does not claim to have been checked.
            if (MessageView::parse(bad, view) == ParseStatus::kDone) {
                EXPECT_FALSE(view.has_fingerprint) << "bit " << bit;
            }
        }
    }
}

TEST(StunMessageTest, NoticesEachFlippedBitByItsIntegrityAlone) {
    Bytes good(kRequest.begin(), kRequest.end() - 8);
    good[3] = static_cast<uint8_t>(good.size() - kHeaderBytes);
    ASSERT_TRUE(parsed(good).check_integrity(as_bytes(kPassword)));
    for (size_t bit = 0; bit < good.size() * 8; bit++) {
        Bytes bad = good;
        bad[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
        MessageView view;
        if (MessageView::parse(bad, view) == ParseStatus::kDone) {
            EXPECT_FALSE(view.check_integrity(as_bytes(kPassword))) << bit;
        }
    }
}

TEST(StunMessageTest, RefusesItAtEachTruncatedLength) {
    for (const Bytes& good : {kRequest, kResponseV6, kLongTermRequest}) {
        for (size_t size = 0; size < good.size(); size++) {
            EXPECT_NE(status_of(ByteSpan(good).first(size)), ParseStatus::kDone) << size;
            // The same with a length in the header that fits: attributes are cut.
            Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
            if (size >= kHeaderBytes) {
                store_u16(cut.data() + 2, static_cast<uint16_t>(size - kHeaderBytes));
                MessageView view;
                bool whole = MessageView::parse(cut, view) == ParseStatus::kDone;
                EXPECT_FALSE(whole && view.has_fingerprint) << size;
            }
        }
    }
}

TEST(StunMessageTest, TellsStunFromWhatElseComesToThePort) {
    EXPECT_TRUE(looks_like_stun(kRequest));
    EXPECT_FALSE(looks_like_stun({}));
    EXPECT_FALSE(looks_like_stun(ByteSpan(kRequest).first(19)));
    for (int first : {4, 20, 63, 64, 128, 191, 255}) {  // DTLS, TURN channels, RTP, RTCP
        Bytes other = kRequest;
        other[0] = static_cast<uint8_t>(first);
        EXPECT_FALSE(looks_like_stun(other)) << first;
        EXPECT_EQ(status_of(other), ParseStatus::kNotStun);
    }
    Bytes classic = kRequest;
    classic[4] = 0;
    EXPECT_FALSE(looks_like_stun(classic));
}

TEST(StunMessageTest, RefusesADatagramOverItsLimit) {
    Bytes message = message_with("");
    message.resize(kMaxMessageBytes + 4);
    store_u16(message.data() + 2, static_cast<uint16_t>(message.size() - kHeaderBytes));
    EXPECT_EQ(status_of(message), ParseStatus::kNotStun);
    message.resize(kMaxMessageBytes);
    store_u16(message.data() + 2, static_cast<uint16_t>(message.size() - kHeaderBytes));
    EXPECT_EQ(status_of(message), ParseStatus::kDone);  // 370 empty attributes of type 0
}

TEST(StunMessageTest, RefusesKnownAttributesOfAWrongSize) {
    for (const char* attribute : {"002400020001"
                                  "0000",
                                  "00240000",
                                  "802900040000"
                                  "0000",
                                  "802a000c"
                                  "000000000000000000000000",
                                  "00250004"
                                  "00000000",
                                  "c0010008"
                                  "0000000000000000",
                                  "00080010"
                                  "00000000000000000000000000000000",
                                  "001c000c"
                                  "000000000000000000000000",
                                  "001c0012"
                                  "0000000000000000000000000000000000000000",
                                  "80280008"
                                  "0000000000000000",
                                  "00200004"
                                  "00010000",
                                  "0020000c"
                                  "0001000000000000"
                                  "00000000",
                                  "00200008"
                                  "0003000000000000",
                                  "00010008"
                                  "0002000000000000",
                                  "000a0003"
                                  "00000000",
                                  "00090002"
                                  "00000000",
                                  "00090004"
                                  "00000200",
                                  "00090004"
                                  "00000700",
                                  "00090004"
                                  "00000464"}) {
        EXPECT_EQ(status_of(message_with(attribute)), ParseStatus::kMalformed) << attribute;
    }
}

TEST(StunMessageTest, RefusesAUsernameOverItsLimit) {
    auto with_name = [](size_t size) {
        Bytes out(kMaxMessageBytes);
        MessageWriter writer(out, MessageClass::kRequest, kBinding, kId);
        writer.username(std::string(size, 'u'));
        out.resize(writer.size());
        return out;
    };
    EXPECT_EQ(status_of(with_name(kMaxUsernameBytes)), ParseStatus::kDone);
    EXPECT_EQ(status_of(with_name(kMaxUsernameBytes + 1)), ParseStatus::kMalformed);
}

TEST(StunMessageTest, TakesTheFirstOfTwo) {
    Bytes message = message_with(
        "0024000400000001"
        "0024000400000002"
        "0006000161000000"
        "0006000162000000");
    MessageView view = parsed(message);
    EXPECT_EQ(view.priority, 1U);
    EXPECT_EQ(view.username, "a");
}

TEST(StunMessageTest, NamesTheUnknownAttributesThatItMustUnderstand) {
    MessageView view =
        parsed(message_with("00030004"
                            "00000006"
                            "7fff0001"
                            "61000000"
                            "c0570004"
                            "00000000"
                            "ffff0000"));
    ASSERT_EQ(view.unknown_count, 2);
    EXPECT_EQ(view.unknown_attributes()[0], 0x0003);
    EXPECT_EQ(view.unknown_attributes()[1], 0x7FFF);
}

TEST(StunMessageTest, NamesABoundedNumberOfUnknownAttributes) {
    std::string many;
    for (int i = 0; i < 100; i++) {
        many += "00300000";
    }
    EXPECT_EQ(parsed(message_with(many)).unknown_count, kMaxUnknownAttributes);
}

TEST(StunMessageTest, IgnoresWhatStandsBehindTheIntegrity) {
    std::array<uint8_t, 200> out{};
    MessageWriter writer(out, MessageClass::kRequest, kBinding, kId);
    writer.username("a:b").integrity(as_bytes("key")).priority(7).use_candidate().fingerprint();
    MessageView view = parsed(writer.message());
    EXPECT_TRUE(view.check_integrity(as_bytes("key")));
    EXPECT_EQ(view.username, "a:b");
    EXPECT_FALSE(view.priority);
    EXPECT_FALSE(view.use_candidate);
}

TEST(StunMessageTest, RefusesWhatStandsBehindTheFingerprint) {
    std::array<uint8_t, 200> out{};
    MessageWriter writer(out, MessageClass::kRequest, kBinding, kId);
    writer.fingerprint();
    size_t at = writer.size();
    writer.priority(7);
    // Correct its value for the new length, so that only the order is wrong.
    store_u32(out.data() + at - 4, fingerprint_of(ByteSpan(out).first(at - 8)));
    EXPECT_EQ(status_of(writer.message()), ParseStatus::kMalformed);
}

TEST(StunMessageTest, PrefersTheStrongerIntegrity) {
    std::array<uint8_t, 200> out{};
    MessageWriter writer(out, MessageClass::kRequest, kBinding, kId);
    writer.username("a:b").integrity(as_bytes("one")).integrity_sha256(as_bytes("two"));
    writer.fingerprint();
    MessageView view = parsed(writer.message());
    EXPECT_TRUE(view.has_integrity_sha256());
    EXPECT_TRUE(view.check_integrity(as_bytes("two")));
    EXPECT_FALSE(view.check_integrity(as_bytes("one")));
}

TEST(StunMessageTest, ChecksACutSha256) {
    std::array<uint8_t, 200> out{};
    MessageWriter writer(out, MessageClass::kRequest, kBinding, kId);
    // The digest covers the length with the cut attribute: 4 + 16.
    writer.attribute(Attribute::kMessageIntegritySha256, Bytes(16));
    Bytes whole = from_hex("000100142112a4420102030405060708090a0b0c");
    Sha256Digest digest = hmac_sha256(as_bytes("key"), whole);
    std::copy_n(digest.begin(), 16, out.begin() + 24);
    EXPECT_TRUE(parsed(writer.message()).check_integrity(as_bytes("key")));
    out[24] ^= 1;
    EXPECT_FALSE(parsed(writer.message()).check_integrity(as_bytes("key")));
}

TEST(StunMessageTest, AMessageWithoutIntegrityIsNotAuthentic) {
    EXPECT_FALSE(parsed(message_with("")).has_integrity());
    EXPECT_FALSE(parsed(message_with("")).check_integrity(as_bytes("key")));
}

TEST(StunMessageTest, TypesHoldMethodAndClass) {
    EXPECT_EQ(message_type(MessageClass::kRequest, kBinding), 0x0001);
    EXPECT_EQ(message_type(MessageClass::kIndication, kBinding), 0x0011);
    EXPECT_EQ(message_type(MessageClass::kSuccess, kBinding), 0x0101);
    EXPECT_EQ(message_type(MessageClass::kError, kBinding), 0x0111);
    EXPECT_EQ(message_type(MessageClass::kError, 0xFFF), 0x3FFF);
    // Above 0xFF they would look like DTLS on a shared port (RFC 8489 §18.2).
    for (uint16_t method = 0; method <= 0xFF; method++) {
        for (int c = 0; c < 4; c++) {
            std::array<uint8_t, 20> out{};
            MessageWriter writer(out, static_cast<MessageClass>(c), method, kId);
            MessageView view = parsed(writer.message());
            EXPECT_EQ(view.method, method);
            EXPECT_EQ(static_cast<int>(view.message_class), c);
        }
    }
}

TEST(StunFingerprintTest, MatchesThePublishedCheckValueOfCrc32) {
    EXPECT_EQ(crc32(as_bytes("123456789")), 0xCBF43926U);
    EXPECT_EQ(crc32({}), 0U);
}

}  // namespace
}  // namespace weir::stun
