#include "proto/srtp/aes.h"

#include <gtest/gtest.h>

#include "base/hmac.h"

#include "test/proto/srtp/support.h"

namespace weir::srtp {
namespace {

// RFC 3711 appendix B.2: the first blocks of the key stream.
TEST(AesTest, GivesTheKeyStreamOfTheSpecification) {
    Aes aes(Aes::Mode::kCounter);
    aes.set_key(array_of<16>("2b7e151628aed2a6abf7158809cf4f3c"));
    aes.start_counter(array_of<16>("f0f1f2f3f4f5f6f7f8f9fafbfcfd0000"));
    Bytes stream(48);
    aes.crypt_counter(stream, stream.data());
    EXPECT_EQ(stream, from_hex("e03ead0935c95e80e166b16dd92b4eb4 d23513162b02d0f72a43a2fe4a5f97ab"
                               "41e95b3bb0a2e8dd477901e4fca894c0"));
}

TEST(AesTest, GivesTheSameInPieces) {
    Aes aes(Aes::Mode::kCounter);
    Bytes whole(100, 7);
    aes.start_counter({1});
    aes.crypt_counter(whole, whole.data());
    Bytes pieces(100, 7);
    aes.start_counter({1});
    aes.crypt_counter(ByteSpan(pieces).first(2), pieces.data());
    aes.crypt_counter(ByteSpan(pieces).subspan(2, 31), pieces.data() + 2);
    aes.crypt_counter(ByteSpan(pieces).subspan(33), pieces.data() + 33);
    EXPECT_EQ(pieces, whole);
}

// The GCM specification of NIST, test case 4.
class GcmTest : public ::testing::Test {
  protected:
    GcmTest() { aes_.set_key(array_of<16>("feffe9928665731c6d6a8f9467308308")); }

    const Aes::Nonce nonce_ = array_of<12>("cafebabefacedbaddecaf888");
    const Bytes data_ = from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    const Bytes plain_ = from_hex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
    const Bytes sealed_ = from_hex(
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
        "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091");
    const Aes::Tag tag_ = array_of<16>("5bc94fbc3221a5db94fae95ae7121a47");
    Aes aes_{Aes::Mode::kGcm};
};

TEST_F(GcmTest, SealsTheVectorOfTheSpecificationInPieces) {
    Bytes out(plain_.size());
    Aes::Tag tag;
    aes_.start_seal(nonce_);
    aes_.add_data(ByteSpan(data_).first(8));
    aes_.add_data(ByteSpan(data_).subspan(8));
    aes_.crypt(ByteSpan(plain_).first(2), out.data());
    aes_.crypt(ByteSpan(plain_).subspan(2), out.data() + 2);
    aes_.finish_seal(tag.data());
    EXPECT_EQ(out, sealed_);
    EXPECT_EQ(tag, tag_);
}

TEST_F(GcmTest, OpensWhatIsAuthenticOnly) {
    for (bool change : {false, true}) {
        Bytes out(sealed_.size());
        Aes::Tag tag = tag_;
        tag[3] ^= change ? 1 : 0;
        aes_.start_open(nonce_);
        aes_.add_data(data_);
        aes_.crypt(sealed_, out.data());
        EXPECT_EQ(aes_.finish_open(tag), !change);
        EXPECT_EQ(out, plain_);
    }
}

// RFC 2202, test case 1, whose key has the 20 bytes of SRTP's.
TEST(HmacSha1Test, GivesTheVectorOfTheSpecificationInOneAndTwoPieces) {
    const HmacSha1 mac(array_of<20>("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"));
    const HmacSha1::Digest expected = array_of<20>("b617318655057264e28bc0b6fb378c8ef146be00");
    EXPECT_EQ(mac.digest(as_bytes("Hi There")), expected);
    EXPECT_EQ(mac.digest(as_bytes("Hi "), as_bytes("There")), expected);
}

TEST(EqualConstantTimeTest, ComparesAllBytes) {
    const Bytes a = {1, 2, 3};
    EXPECT_TRUE(equal_constant_time(a, Bytes{1, 2, 3}));
    EXPECT_FALSE(equal_constant_time(a, Bytes{1, 2, 4}));
    EXPECT_FALSE(equal_constant_time(a, Bytes{1, 2}));
}

}  // namespace
}  // namespace weir::srtp
