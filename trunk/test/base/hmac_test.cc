// Vectors: RFC 4231 (HMAC-SHA256), FIPS 180-4 examples and RFC 6455 §1.3 (SHA-1), RFC 4648 §10
// (base64).
#include "base/hmac.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

template <typename Container>
std::string hex(const Container& bytes) {
    std::string text;
    for (uint8_t byte : bytes) {
        text += fmt::format("{:02x}", byte);
    }
    return text;
}

TEST(HmacTest, MatchesThePublishedVectors) {
    struct Vector {
        Bytes key;
        Bytes data;
        const char* digest;
    };

    const std::string_view larger_key = "Test Using Larger Than Block-Size Key - Hash Key First";
    const Vector vectors[] = {
        {Bytes(20, 0x0b),
         {'H', 'i', ' ', 'T', 'h', 'e', 'r', 'e'},
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {{'J', 'e', 'f', 'e'},
         Bytes(as_bytes("what do ya want for nothing?").begin(),
               as_bytes("what do ya want for nothing?").end()),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {Bytes(20, 0xaa), Bytes(50, 0xdd),
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {Bytes(131, 0xaa), Bytes(as_bytes(larger_key).begin(), as_bytes(larger_key).end()),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    };
    for (const Vector& vector : vectors) {
        EXPECT_EQ(hex(hmac_sha256(vector.key, vector.data)), vector.digest);
    }
}

TEST(HmacTest, DataSplitInTwoIsTheSame) {
    const Bytes key(30, 7);
    Bytes data(100);
    for (size_t i = 0; i < data.size(); i++) {
        data[i] = static_cast<uint8_t>(i);
    }
    const Sha256Digest whole = hmac_sha256(key, data);
    for (size_t at = 0; at <= data.size(); at += 10) {
        EXPECT_EQ(hmac_sha256(key, ByteSpan(data).first(at), ByteSpan(data).subspan(at)), whole);
    }
}

TEST(HmacTest, TakesNoData) {
    EXPECT_EQ(hex(hmac_sha256(as_bytes("k"), {})).size(), 64U);
    EXPECT_NE(hmac_sha256(as_bytes("k"), {}), hmac_sha256(as_bytes("l"), {}));
}

// RFC 2202 §3.
TEST(HmacSha1Test, MatchesThePublishedVectors) {
    EXPECT_EQ(hex(hmac_sha1(Bytes(20, 0x0b), as_bytes("Hi There"))),
              "b617318655057264e28bc0b6fb378c8ef146be00");
    EXPECT_EQ(hex(hmac_sha1(as_bytes("Jefe"), as_bytes("what do ya want for nothing?"))),
              "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    EXPECT_EQ(hex(hmac_sha1(Bytes(20, 0xaa), Bytes(50, 0xdd))),
              "125d7342b9ac11cd91a39af48aa17b4f63f175d3");
    EXPECT_EQ(hex(hmac_sha1(Bytes(80, 0xaa),
                            as_bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
              "aa4ae5e15272d00e95705637ce8a3b55ed402112");
    EXPECT_EQ(hex(hmac_sha1({}, {})), "fbdb1d1b18aa6c08324b7d64b71fb76370690e1d");
}

TEST(EqualInConstantTimeTest, ComparesSizeAndBytes) {
    EXPECT_TRUE(equal_in_constant_time(as_bytes("abc"), as_bytes("abc")));
    EXPECT_FALSE(equal_in_constant_time(as_bytes("abc"), as_bytes("abd")));
    EXPECT_FALSE(equal_in_constant_time(as_bytes("abc"), as_bytes("ab")));
    EXPECT_TRUE(equal_in_constant_time({}, {}));
}

TEST(Sha1Test, MatchesThePublishedVectors) {
    EXPECT_EQ(hex(sha1(as_bytes("abc"))), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(hex(sha1(as_bytes(""))), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_EQ(
        base64(sha1(as_bytes("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))),
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(Base64Test, MatchesThePublishedVectors) {
    EXPECT_EQ(base64(as_bytes("")), "");
    EXPECT_EQ(base64(as_bytes("f")), "Zg==");
    EXPECT_EQ(base64(as_bytes("fo")), "Zm8=");
    EXPECT_EQ(base64(as_bytes("foo")), "Zm9v");
    EXPECT_EQ(base64(as_bytes("foobar")), "Zm9vYmFy");
}

// FIPS 180-4, the examples that come with it.
TEST(Sha256Test, MatchesThePublishedVectors) {
    EXPECT_EQ(hex(sha256(as_bytes("abc"))),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// RFC 1321 §A.5.
TEST(Md5Test, GivesTheDigestsOfTheBook) {
    constexpr std::array<uint8_t, 16> kOfAbc = {0x90, 0x01, 0x50, 0x98, 0x3C, 0xD2, 0x4F, 0xB0,
                                                0xD6, 0x96, 0x3F, 0x7D, 0x28, 0xE1, 0x7F, 0x72};
    EXPECT_EQ(md5(as_bytes("abc")), kOfAbc);
    EXPECT_EQ(base64(md5({})), "1B2M2Y8AsgTpgAmY7PhCfg==");
}

}  // namespace
}  // namespace weir
