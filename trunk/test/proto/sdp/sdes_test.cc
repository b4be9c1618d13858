#include "proto/sdp/sdes.h"

#include <gtest/gtest.h>

#include "base/hmac.h"

namespace weir::sdp {
namespace {

std::string key(size_t size) {
    return base64(Bytes(size, 0x5A));
}

TEST(SdesTest, ReadsTheExampleOfTheRfcInItsForm) {
    const auto line = parse_crypto("1 AES_CM_128_HMAC_SHA1_80 inline:" + key(30) +
                                   "|2^20|1:4 FEC_ORDER=FEC_SRTP");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->tag, 1U);
    EXPECT_EQ(line->suite, "AES_CM_128_HMAC_SHA1_80");
    EXPECT_EQ(line->key_and_salt, Bytes(30, 0x5A));
    EXPECT_TRUE(line->has_mki);
    EXPECT_FALSE(parse_crypto("1 AEAD_AES_128_GCM inline:" + key(28) + "|2^31")->has_mki);
    // Several keys: the first.
    EXPECT_TRUE(parse_crypto("2 AES_CM_128_HMAC_SHA1_32 inline:" + key(30) + ";inline:" + key(3)));
    EXPECT_TRUE(parse_crypto("9 SOMETHING_NEW inline:" + key(64)));
}

TEST(SdesTest, WritesWhatItReads) {
    const CryptoLine line{3, "AEAD_AES_256_GCM", Bytes(44, 1), false};
    EXPECT_EQ(parse_crypto(write_crypto(line)), line);
}

TEST(SdesTest, RefusesKeysOfWrongLengthAndWhatTurnsEncryptionOff) {
    for (const std::string& text :
         {std::string(), std::string("1"), std::string("1 AES_CM_128_HMAC_SHA1_80"),
          "1 AES_CM_128_HMAC_SHA1_80 " + key(30), "1 AES_CM_128_HMAC_SHA1_80 inline:" + key(29),
          std::string("1 AES_CM_128_HMAC_SHA1_80 inline:!"),
          "x AES_CM_128_HMAC_SHA1_80 inline:" + key(30),
          "1 AES_CM_128_HMAC_SHA1_80 inline:" + key(30) + " UNENCRYPTED_SRTP",
          "1 AES_CM_128_HMAC_SHA1_80 inline:" + key(30) + " UNAUTHENTICATED_SRTP",
          "1 SOMETHING_NEW inline:" + key(65), std::string("1 SOMETHING_NEW inline:"),
          "1 with/slash inline:" + key(30), "1000000000 SOMETHING_NEW inline:" + key(30)}) {
        EXPECT_FALSE(parse_crypto(text)) << text;
    }
}

}  // namespace
}  // namespace weir::sdp
