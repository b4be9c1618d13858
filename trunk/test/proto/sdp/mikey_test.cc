#include "proto/sdp/mikey.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/hmac.h"

#include "test/support/codec_samples.h"
#include "test/support/counting_random.h"

namespace weir::sdp {
namespace {

// A message made by hand from RFC 3830 §6, in the order of its payloads. `key`: the KEMAC behind
// its next payload.
Bytes message(std::string_view policy, std::string_view key, std::string_view header = "01000500") {
    std::string hex(header);
    hex +=
        "11223344"
        "01"
        "00";  // id, one crypto session, SRTP-ID
    hex +=
        "00"
        "0000abcd"
        "00000000";  // its policy, SSRC, roll-over counter
    hex +=
        "0b"
        "00"
        "e8a1b2c300000000";  // T: NTP-UTC
    hex +=
        "0a"
        "10"
        "000102030405060708090a0b0c0d0e0f";  // RAND
    hex +=
        "01"
        "00"
        "00";  // SP: number 0, SRTP
    hex += policy;
    hex += "00";
    hex += key;
    return test::from_hex(hex);
}

// Key data of 30 bytes, in a KEMAC without encryption and MAC.
std::string key_of_30(std::string_view type = "20") {
    std::string text =
        "00"
        "0022"
        "00" +
        std::string(type) + "001e";
    for (int i = 0; i < 30; i++) {
        text += "5a";
    }
    return text + "00";
}

// AES-CM of 16 bytes, HMAC-SHA1, SRTP and SRTCP encrypted, authenticated.
constexpr std::string_view kUsual =
    "0015"
    "000101"
    "010110"
    "020101"
    "03010a"
    "070101"
    "080101"
    "0a0101";

TEST(MikeyTest, ReadsAMessageOfTheUsualPolicy) {
    const auto line = parse_mikey(message(kUsual, key_of_30()));
    ASSERT_TRUE(line);
    EXPECT_EQ(line->suite, "AES_CM_128_HMAC_SHA1_80");
    EXPECT_EQ(line->key_and_salt, Bytes(30, 0x5A));
    EXPECT_FALSE(line->has_mki);
}

TEST(MikeyTest, ReadsTheSaltInAFieldOfItsOwn) {
    std::string key =
        "00"
        "0024"
        "00"
        "30"
        "0010";
    for (int i = 0; i < 16; i++) {
        key += "01";
    }
    key += "000e";
    for (int i = 0; i < 14; i++) {
        key += "02";
    }
    const auto line = parse_mikey(message(kUsual, key + "00"));
    ASSERT_TRUE(line);
    Bytes expected(16, 1);
    expected.insert(expected.end(), 14, 2);
    EXPECT_EQ(line->key_and_salt, expected);
}

TEST(MikeyTest, KnowsTheShortTag) {
    EXPECT_EQ(parse_mikey(message("0003"
                                  "0b0104",
                                  key_of_30()))
                  ->suite,
              "AES_CM_128_HMAC_SHA1_32");
    EXPECT_EQ(parse_mikey(message("0003"
                                  "030104",
                                  key_of_30()))
                  ->suite,
              "AES_CM_128_HMAC_SHA1_32");
    EXPECT_EQ(parse_mikey(message("0003"
                                  "030114",
                                  key_of_30()))
                  ->suite,
              "AES_CM_128_HMAC_SHA1_80");
    EXPECT_EQ(parse_mikey(message("0000", key_of_30()))->suite, "AES_CM_128_HMAC_SHA1_80");
}

TEST(MikeyTest, RefusesWhatItCannotDo) {
    const auto refuses = [](const Bytes& bytes) { return !bytes.empty() && !parse_mikey(bytes); };
    EXPECT_TRUE(
        refuses(message("0003"
                        "000102",
                        key_of_30())))
        << "AES-F8";
    EXPECT_TRUE(
        refuses(message("0003"
                        "010120",
                        key_of_30())))
        << "a key of 256 bits";
    EXPECT_TRUE(
        refuses(message("0003"
                        "020100",
                        key_of_30())))
        << "no authentication";
    EXPECT_TRUE(
        refuses(message("0003"
                        "070100",
                        key_of_30())))
        << "no encryption";
    EXPECT_TRUE(
        refuses(message("0003"
                        "0b0102",
                        key_of_30())))
        << "a tag of two bytes";
    EXPECT_TRUE(refuses(message(kUsual, "01" + key_of_30().substr(2)))) << "encrypted";
    EXPECT_TRUE(refuses(message(kUsual, key_of_30("00")))) << "a TGK";
    EXPECT_TRUE(refuses(message(kUsual, key_of_30(), "02000500"))) << "version";
    EXPECT_TRUE(refuses(message(kUsual, key_of_30(), "01020500"))) << "public keys";
    EXPECT_TRUE(refuses(message(kUsual, key_of_30(), "01000300"))) << "Diffie-Hellman";
    EXPECT_TRUE(refuses(Bytes(kMaxMikeyBytes + 1, 1)));
    // No key at all.
    EXPECT_FALSE(parse_mikey(test::from_hex("01000000112233440000")));
}

TEST(MikeyTest, RefusesAMessageCutAnywhere) {
    const Bytes whole = message(kUsual, key_of_30());
    for (size_t size = 0; size < whole.size(); size++) {
        EXPECT_FALSE(parse_mikey(ByteSpan(whole).first(size))) << size;
    }
}

TEST(MikeyTest, RefusesPayloadsWithoutEnd) {
    Bytes bytes = test::from_hex(
        "01000b0011223344"
        "0000");
    for (size_t i = 0; i < kMaxMikeyPayloads; i++) {
        bytes.insert(bytes.end(), {11, 0});  // an empty RAND, and another one behind it
    }
    const Bytes last = test::from_hex("0000");
    bytes.insert(bytes.end(), last.begin(), last.end());
    EXPECT_FALSE(parse_mikey(bytes));
}

TEST(MikeyTest, WritesWhatItReads) {
    for (const std::string_view suite : {"AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32"}) {
        test::CountingRandom random;
        const CryptoLine line{1, std::string(suite), Bytes(30, 7), false};
        const MikeyMark mark{0x0102030405060708, random, 0xCAFE};
        EXPECT_EQ(parse_mikey(write_mikey(line, mark)), line);
        EXPECT_EQ(parse_key_mgmt(write_key_mgmt(line, mark)), line);
    }
}

TEST(MikeyTest, WritesTheMessageOfTheRfc) {
    test::CountingRandom random;
    const CryptoLine line{1, "AES_CM_128_HMAC_SHA1_80", Bytes(30, 0x5A), false};
    const Bytes written = write_mikey(line, {0xE8A1B2C300000000, random, 0xABCD});
    Bytes expected = message(kUsual, key_of_30());
    const Bytes id{0, 1, 2, 3};  // random
    std::copy(id.begin(), id.end(), expected.begin() + 4);
    for (size_t i = 0; i < 16; i++) {
        expected[31 + i] = static_cast<uint8_t>(4 + i);
    }
    EXPECT_EQ(written, expected);
}

TEST(MikeyTest, ReadsTheFieldsOfDescriptionsAndRequests) {
    const std::string text = base64(message(kUsual, key_of_30()));
    EXPECT_TRUE(parse_key_mgmt("mikey " + text));
    EXPECT_TRUE(parse_key_mgmt(" mikey  " + text + " "));
    EXPECT_FALSE(parse_key_mgmt("mikey2 " + text));
    EXPECT_FALSE(parse_key_mgmt("mikey"));
    EXPECT_FALSE(parse_key_mgmt("mikey !!!"));
    EXPECT_FALSE(parse_key_mgmt("mikey " + std::string(100'000, 'A')));
    EXPECT_TRUE(parse_key_mgmt_field("prot=mikey;uri=\"rtsps://h/a=b\";data=\"" + text + "\""));
    EXPECT_TRUE(parse_key_mgmt_field("prot=MIKEY; uri=\"\"; data=" + text));
    EXPECT_FALSE(parse_key_mgmt_field("prot=other;data=\"" + text + "\""));
    EXPECT_FALSE(parse_key_mgmt_field("data=\"" + text + "\""));
    EXPECT_FALSE(parse_key_mgmt_field("prot=mikey;data=\""));
    EXPECT_FALSE(parse_key_mgmt_field(""));
}

}  // namespace
}  // namespace weir::sdp
