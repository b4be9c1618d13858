#include "proto/srtp/keys.h"

#include <gtest/gtest.h>

#include "test/proto/srtp/support.h"

namespace weir::srtp {
namespace {

// RFC 3711 appendix B.3.
TEST(SrtpKeysTest, DerivesTheKeysOfTheSpecification) {
    const MasterKey master{array_of<16>("e1f97a0d3e018be0d64fa32c06de4139"),
                           array_of<14>("0ec675ad498afeebb6960b3aabe6")};
    const SessionKeys keys = derive_session_keys(Profile::kAes128CmSha1_80, master, Kind::kRtp);
    EXPECT_EQ(keys.key, array_of<16>("c61e7a93744f39ee10734afe3ff7a087"));
    EXPECT_EQ(keys.salt, array_of<14>("30cbbc08863d8c85d49db34a9ae1"));
    EXPECT_EQ(keys.auth, array_of<20>("cebe321f6ff7716b6fd4ab49af256a156d38baa4"));
}

TEST(SrtpKeysTest, GivesRtcpKeysOfItsOwn) {
    const SessionKeys rtp = derive_session_keys(Profile::kAeadAes128Gcm, test_key(), Kind::kRtp);
    const SessionKeys rtcp = derive_session_keys(Profile::kAeadAes128Gcm, test_key(), Kind::kRtcp);
    EXPECT_NE(rtp.key, rtcp.key);
    EXPECT_NE(rtp.salt, rtcp.salt);
}

TEST(SrtpKeysTest, IgnoresTheEndOfTheSaltWithGcm) {
    MasterKey longer = test_key();
    longer.salt[12] ^= 0xFF;
    longer.salt[13] ^= 0xFF;
    EXPECT_EQ(derive_session_keys(Profile::kAeadAes128Gcm, test_key(), Kind::kRtp).key,
              derive_session_keys(Profile::kAeadAes128Gcm, longer, Kind::kRtp).key);
}

TEST(SrtpKeysTest, NamesProfilesAndTheirSizes) {
    EXPECT_EQ(to_string(Profile::kAeadAes128Gcm), "SRTP_AEAD_AES_128_GCM");
    EXPECT_EQ(to_string(Profile::kAes128CmSha1_80), "SRTP_AES128_CM_HMAC_SHA1_80");
    EXPECT_EQ(rtp_overhead(Profile::kAeadAes128Gcm), 16u);
    EXPECT_EQ(to_string(Profile::kAes128CmSha1_32), "SRTP_AES128_CM_HMAC_SHA1_32");
    EXPECT_EQ(rtp_overhead(Profile::kAes128CmSha1_80), 10u);
    EXPECT_EQ(rtp_overhead(Profile::kAes128CmSha1_32), 4u);
    EXPECT_EQ(rtcp_overhead(Profile::kAes128CmSha1_32), 14u);
    EXPECT_EQ(rtcp_overhead(Profile::kAeadAes128Gcm), kMaxOverhead);
    EXPECT_EQ(rtcp_overhead(Profile::kAes128CmSha1_80), 14u);
}

}  // namespace
}  // namespace weir::srtp
