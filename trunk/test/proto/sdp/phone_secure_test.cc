// Lines are as baresip 1.0 (srtp, dtls_srtp, ice) writes them, and of RFC 4568 §9.
#include "proto/sdp/phone_secure.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/sdp/phone.h"

namespace weir::sdp {
namespace {

using media::Codec;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view k80 = "AES_CM_128_HMAC_SHA1_80";
constexpr std::string_view k32 = "AES_CM_128_HMAC_SHA1_32";
constexpr std::string_view kKey = "WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";

const std::string kFingerprint =
    "a=fingerprint:SHA-256 "
    "01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:"
    "EF\r\n";

std::string crypto(std::string_view suite, int tag = 1, std::string_view more = "") {
    return fmt::format("a=crypto:{} {} inline:{}{}\r\n", tag, suite, kKey, more);
}

std::string ice(std::string_view address = "192.0.2.7", int port = 4000) {
    return fmt::format(
        "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789abcdefghijkl\r\n"
        "a=candidate:1 1 UDP 2130706431 {} {} typ host\r\n",
        address, port);
}

std::string offer(std::string_view protocol,
                  std::string_view lines,
                  std::string_view session = "") {
    return fmt::format(
        "v=0\r\no=- 1 1 IN IP4 192.0.2.7\r\ns=-\r\nc=IN IP4 192.0.2.7\r\nt=0 0\r\n{}"
        "m=audio 4000 {} 0\r\n{}",
        session, protocol, lines);
}

PhoneOptions options(PhoneSrtp srtp = PhoneSrtp::kOptional) {
    PhoneOptions options;
    options.address = *NetAddress::parse_ip("203.0.113.1", 0);
    options.audio.codecs = {{Codec::kG711U, 8000, 0}};
    options.audio.port = 20'000;
    PhoneSecurity& own = options.audio.security;
    own.srtp = srtp;
    own.keys = {{0, std::string(k80), Bytes(30, 1)}, {0, std::string(k32), Bytes(30, 2)}};
    own.fingerprint = Fingerprint{"sha-256", std::vector<uint8_t>(32, 0xAA)};
    own.ice_ufrag = "ourufrag";
    own.ice_pwd = "our-password-of-24-chars";
    return options;
}

Result<PhoneAgreement> answer(const std::string& text, const PhoneOptions& own = options()) {
    WEIR_TRY_ASSIGN(const PhoneDescription theirs, read_phone_description(text));
    return answer_phone(theirs, own);
}

PhoneKeys keys(const std::string& text, const PhoneOptions& own = options()) {
    const auto agreed = answer(text, own);
    EXPECT_TRUE(agreed.ok()) << agreed.error().to_string();
    return agreed.ok() ? agreed->audio.secured.keys : PhoneKeys::kNone;
}

TEST(PhoneSecureTest, TheProfileIsAnsweredAsItWasOffered) {
    for (const std::string_view protocol : {"RTP/SAVP", "RTP/SAVPF", "RTP/AVP", "RTP/AVPF"}) {
        const auto agreed = answer(offer(protocol, crypto(k80)));
        ASSERT_TRUE(agreed.ok()) << protocol;
        EXPECT_EQ(agreed->audio.secured.keys, PhoneKeys::kSdes);
        EXPECT_THAT(agreed->answer, HasSubstr(fmt::format("m=audio 20000 {} 0\r\n", protocol)));
        EXPECT_THAT(agreed->answer, HasSubstr("a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:"));
        EXPECT_EQ(agreed->audio.secured.local_key->key_and_salt, Bytes(30, 1));
        EXPECT_EQ(agreed->audio.secured.remote_key->key_and_salt.size(), 30U);
    }
}

TEST(PhoneSecureTest, TheFirstLineThatIsKnownIsTakenWithItsTag) {
    const auto agreed = answer(
        offer("RTP/SAVP", crypto("F8_128_HMAC_SHA1_80", 1) + crypto(k32, 7) + crypto(k80, 8)));
    ASSERT_TRUE(agreed.ok());
    EXPECT_THAT(agreed->answer, HasSubstr("a=crypto:7 AES_CM_128_HMAC_SHA1_32 inline:"));
    EXPECT_EQ(agreed->audio.secured.local_key->key_and_salt, Bytes(30, 2))
        << "a key for each suite";
}

TEST(PhoneSecureTest, LinesWithAKeyIdentifierArePassedOver) {
    const auto agreed =
        answer(offer("RTP/SAVP", crypto(k80, 1, "|2^20|1:4") + crypto(k80, 2, "|2^20")));
    ASSERT_TRUE(agreed.ok());
    EXPECT_THAT(agreed->answer, HasSubstr("a=crypto:2 "));
    EXPECT_FALSE(answer(offer("RTP/SAVP", crypto(k80, 1, "|2^20|1:4"))).ok());
}

TEST(PhoneSecureTest, EncryptedSectionsNeedAKey) {
    for (const std::string_view protocol : {"RTP/SAVP", "RTP/SAVPF", "UDP/TLS/RTP/SAVP"}) {
        EXPECT_FALSE(answer(offer(protocol, "")).ok()) << protocol;
        EXPECT_FALSE(answer(offer(protocol, crypto("X_128"))).ok()) << protocol;
    }
    EXPECT_FALSE(answer(offer("UDP/TLS/RTP/SAVP", crypto(k80))).ok());
}

TEST(PhoneSecureTest, PlainCallsGoOn) {
    const auto agreed = answer(offer("RTP/AVP", ""));
    ASSERT_TRUE(agreed.ok());
    EXPECT_EQ(agreed->audio.secured, PhoneSecured());
    for (const char* name : {"crypto", "fingerprint", "setup", "ice-", "candidate"}) {
        EXPECT_THAT(agreed->answer, Not(HasSubstr(fmt::format("a={}", name))));
    }
}

TEST(PhoneSecureTest, WhatTheOperatorWants) {
    const PhoneOptions required = options(PhoneSrtp::kRequired);
    EXPECT_FALSE(answer(offer("RTP/AVP", ""), required).ok());
    EXPECT_EQ(keys(offer("RTP/AVP", crypto(k80)), required), PhoneKeys::kSdes);
    EXPECT_EQ(keys(offer("RTP/SAVP", crypto(k80)), required), PhoneKeys::kSdes);
    const PhoneOptions off = options(PhoneSrtp::kOff);
    EXPECT_EQ(keys(offer("RTP/AVP", crypto(k80) + kFingerprint), off), PhoneKeys::kNone);
    EXPECT_FALSE(answer(offer("RTP/SAVP", crypto(k80)), off).ok());
    EXPECT_FALSE(answer(offer("UDP/TLS/RTP/SAVPF", kFingerprint), off).ok());
}

TEST(PhoneSecureTest, DtlsIsPassiveUnlessThePhoneInsists) {
    const auto setup = [](std::string_view theirs, std::optional<bool> before = {}) {
        PhoneOptions own = options();
        own.audio.security.dtls_client = before;
        const auto agreed = answer(
            offer("UDP/TLS/RTP/SAVPF", kFingerprint + fmt::format("a=setup:{}\r\n", theirs)), own);
        EXPECT_TRUE(agreed.ok()) << theirs;
        EXPECT_EQ(agreed->audio.secured.keys, PhoneKeys::kDtls);
        EXPECT_THAT(agreed->answer, HasSubstr("m=audio 20000 UDP/TLS/RTP/SAVPF 0\r\n"));
        EXPECT_THAT(agreed->answer, HasSubstr("a=fingerprint:sha-256 AA:AA:"));
        EXPECT_THAT(agreed->answer, HasSubstr(agreed->audio.secured.dtls_client ? "setup:active"
                                                                                : "setup:passive"));
        return agreed->audio.secured.dtls_client;
    };
    EXPECT_FALSE(setup("actpass"));
    EXPECT_FALSE(setup("active"));
    EXPECT_TRUE(setup("passive"));
    EXPECT_TRUE(setup("actpass", true)) << "the role stays";
    EXPECT_FALSE(setup("active", true));
    EXPECT_FALSE(
        answer(offer("UDP/TLS/RTP/SAVPF", kFingerprint + std::string("a=setup:holdconn\r\n")))
            .ok());
}

TEST(PhoneSecureTest, AFingerprintMayStandInTheSession) {
    EXPECT_EQ(keys(offer("UDP/TLS/RTP/SAVP", "", kFingerprint)), PhoneKeys::kDtls);
    EXPECT_EQ(keys(offer("RTP/SAVP", kFingerprint)), PhoneKeys::kDtls);
    EXPECT_EQ(keys(offer("RTP/AVP", kFingerprint)), PhoneKeys::kDtls) << "RFC 8643";
    EXPECT_EQ(keys(offer("RTP/SAVP", crypto(k80) + kFingerprint)), PhoneKeys::kSdes);
    EXPECT_FALSE(answer(offer("UDP/TLS/RTP/SAVP", "a=fingerprint:sha-1 00:01\r\n")).ok());
}

TEST(PhoneSecureTest, IceIsAnsweredByALiteAgent) {
    const auto agreed = answer(offer("RTP/AVP", ice()));
    ASSERT_TRUE(agreed.ok());
    EXPECT_EQ(agreed->audio.secured.ice_ufrag, "abcd");
    EXPECT_EQ(agreed->audio.secured.local_ice_ufrag, "ourufrag");
    EXPECT_THAT(agreed->answer, HasSubstr("a=ice-lite\r\nm=audio"));
    EXPECT_THAT(agreed->answer, HasSubstr("a=ice-ufrag:ourufrag\r\n"));
    EXPECT_THAT(agreed->answer,
                HasSubstr("a=candidate:1 1 UDP 2130706431 203.0.113.1 20000 typ host\r\n"));
    EXPECT_THAT(agreed->answer,
                HasSubstr("a=candidate:1 2 UDP 2130706430 203.0.113.1 20001 typ host\r\n"));
    const auto mux = answer(offer("RTP/AVP", ice() + "a=rtcp-mux\r\n"));
    ASSERT_TRUE(mux.ok());
    EXPECT_THAT(mux->answer, Not(HasSubstr("a=candidate:1 2")));
}

TEST(PhoneSecureTest, IceIsNotUsedWhereItCannotWork) {
    const auto other = answer(offer("RTP/AVP", ice("198.51.100.9")));  // RFC 8839 §4.2.5
    ASSERT_TRUE(other.ok());
    EXPECT_FALSE(other->audio.secured.has_ice());
    EXPECT_THAT(other->answer, HasSubstr("a=ice-mismatch\r\n"));
    EXPECT_THAT(other->answer, Not(HasSubstr("ice-lite")));
    const auto lite = answer(offer("RTP/AVP", ice(), "a=ice-lite\r\n"));
    ASSERT_TRUE(lite.ok());
    EXPECT_FALSE(lite->audio.secured.has_ice());
    PhoneOptions none = options();
    none.audio.security.ice_ufrag.clear();
    const auto without = answer(offer("RTP/AVP", ice()), none);
    ASSERT_TRUE(without.ok());
    EXPECT_FALSE(without->audio.secured.has_ice());
}

TEST(PhoneSecureTest, MalformedLinesAreAsIfTheyWereNotThere) {
    for (const char* lines : {"a=setup:sideways\r\n", "a=fingerprint:x\r\n", "a=ice-ufrag:a\r\n",
                              "a=crypto:x\r\n", "a=candidate:1 1\r\n", "a=ice-pwd:short\r\n"}) {
        EXPECT_EQ(keys(offer("RTP/AVP", lines)), PhoneKeys::kNone) << lines;
        EXPECT_FALSE(answer(offer("RTP/SAVP", lines)).ok()) << lines;
    }
    std::string many;
    for (int i = 0; i < 100; i++) {
        many += crypto(k80, i);
    }
    const auto read = read_phone_description(offer("RTP/SAVP", many));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->media.at(0).transport.crypto.size(), kMaxCryptoLines);
}

TEST(PhoneSecureTest, OffersOfOursAreUnderstood) {
    for (const PhoneKeys profile : {PhoneKeys::kNone, PhoneKeys::kSdes, PhoneKeys::kDtls}) {
        PhoneOptions caller = options();
        caller.audio.security.offer_profile = profile;
        if (profile == PhoneKeys::kNone) {
            caller.audio.security.fingerprint.reset();
        }
        const std::string text = write_phone_offer(caller);
        PhoneOptions callee = options();
        callee.address = *NetAddress::parse_ip("198.51.100.2", 0);
        callee.audio.security.keys[0].key_and_salt.assign(30, 9);
        const auto answered = answer(text, callee);
        ASSERT_TRUE(answered.ok()) << text;
        const auto read = read_phone_description(answered->answer);
        ASSERT_TRUE(read.ok());
        const auto accepted = accept_phone(*read, caller);
        ASSERT_TRUE(accepted.ok());
        const PhoneSecured& here = accepted->audio.secured;
        const PhoneSecured& there = answered->audio.secured;
        EXPECT_EQ(here.keys, profile == PhoneKeys::kDtls ? PhoneKeys::kDtls : PhoneKeys::kSdes);
        EXPECT_EQ(here.keys, there.keys);
        EXPECT_EQ(here.remote_key, there.local_key);
        EXPECT_EQ(here.local_key, there.remote_key);
        EXPECT_EQ(here.dtls_client, profile == PhoneKeys::kDtls);
        EXPECT_FALSE(there.dtls_client);
    }
}

TEST(PhoneSecureTest, APhoneWithoutEncryptionTakesABestEffortOffer) {
    PhoneOptions caller = options();
    caller.audio.security.fingerprint.reset();
    EXPECT_THAT(write_phone_offer(caller), HasSubstr("m=audio 20000 RTP/AVP 0"));
    const auto read = read_phone_description(offer("RTP/AVP", ""));
    const auto accepted = accept_phone(*read, caller);
    ASSERT_TRUE(accepted.ok());
    EXPECT_EQ(accepted->audio.secured.keys, PhoneKeys::kNone);
    caller.audio.security.srtp = PhoneSrtp::kRequired;
    EXPECT_FALSE(accept_phone(*read, caller).ok());
}

TEST(PhoneSecureTest, TakesTruncatedTextWithoutHarm) {
    const std::string text =
        offer("UDP/TLS/RTP/SAVPF", crypto(k80) + kFingerprint + "a=setup:actpass\r\n" + ice());
    for (size_t size = 0; size < text.size(); size++) {
        (void)answer(text.substr(0, size)).ok();
    }
}

}  // namespace
}  // namespace weir::sdp
