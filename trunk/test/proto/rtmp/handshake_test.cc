#include "proto/rtmp/handshake.h"

#include "base/hmac.h"

#include "test/proto/rtmp/support.h"

namespace weir::rtmp {
namespace {

using test::CountingRandom;
using test::hex;
using test::pattern;

constexpr size_t kClientBytes = 1 + 2 * kHandshakeSize;

// C0 and C1 of a client without digests: time and version 0.
Bytes simple_c0c1() {
    Bytes out = {3};
    Bytes c1 = pattern(kHandshakeSize, 7);
    std::fill_n(c1.begin(), 8, uint8_t{0});
    out.insert(out.end(), c1.begin(), c1.end());
    return out;
}

// Carries everything between the two until neither has more to say; pieces of `step` bytes.
Error shake(ServerHandshake& server, ClientHandshake& client, size_t step) {
    for (int round = 0; round < 4; round++) {
        for (const bool to_server : {true, false}) {
            const Bytes bytes = to_server ? client.take_output() : server.take_output();
            for (ByteSpan left(bytes); !left.empty();) {
                const ByteSpan piece = left.first(std::min(step, left.size()));
                Result<size_t> used = to_server ? server.feed(piece) : client.feed(piece);
                if (!used.ok()) {
                    return used.take_error();
                }
                EXPECT_EQ(*used, piece.size());
                left = left.subspan(piece.size());
            }
        }
    }
    return {};
}

TEST(ServerHandshakeTest, AnswersTheSimpleHandshakeWithZeroVersionAndAnEcho) {
    CountingRandom random;
    ServerHandshake server(random);
    const Bytes hello = simple_c0c1();
    ASSERT_EQ(*server.feed(hello), hello.size());
    const Bytes answer = server.take_output();
    ASSERT_EQ(answer.size(), kClientBytes);
    EXPECT_EQ(answer[0], 3);
    // S1: time 0, and version 0, or clients look for a digest.
    EXPECT_EQ(Bytes(answer.begin() + 1, answer.begin() + 9), Bytes(8, 0));
    EXPECT_EQ(server.scheme(), DigestScheme::kNone);
    // S2 is C1.
    EXPECT_TRUE(std::equal(answer.begin() + 1 + kHandshakeSize, answer.end(), hello.begin() + 1));
    EXPECT_FALSE(server.done());
}

TEST(ServerHandshakeTest, SaysNothingBeforeC1IsComplete) {
    CountingRandom random;
    ServerHandshake server(random);
    const Bytes hello = simple_c0c1();
    ASSERT_EQ(*server.feed(ByteSpan(hello).first(hello.size() - 1)), hello.size() - 1);
    EXPECT_TRUE(server.take_output().empty());
}

TEST(ServerHandshakeTest, IsDoneBehindC2WhateverItHolds) {
    CountingRandom random;
    ServerHandshake server(random);
    Bytes bytes = simple_c0c1();
    bytes.resize(kClientBytes, 0x5A);
    EXPECT_EQ(*server.feed(ByteSpan(bytes).first(bytes.size() - 1)), bytes.size() - 1);
    EXPECT_FALSE(server.done());
    EXPECT_EQ(*server.feed(ByteSpan(bytes).last(1)), 1u);
    EXPECT_TRUE(server.done());
}

TEST(ServerHandshakeTest, LeavesTheBytesBehindTheHandshake) {
    CountingRandom random;
    ServerHandshake server(random);
    Bytes bytes = simple_c0c1();
    bytes.resize(kClientBytes + 10, 0x5A);
    EXPECT_EQ(*server.feed(bytes), kClientBytes);
    EXPECT_EQ(*server.feed(hex("00")), 0u);
}

TEST(ServerHandshakeTest, RefusesRtmpe) {
    for (const uint8_t version : {uint8_t{6}, uint8_t{8}, uint8_t{9}}) {
        CountingRandom random;
        ServerHandshake server(random);
        EXPECT_EQ(server.feed(Bytes{version}).error().code(), ErrorCode::kUnsupported);
    }
}

TEST(ServerHandshakeTest, RefusesWhatNeverWasRtmp) {
    for (const uint8_t first : {uint8_t{'G'}, uint8_t{0x16}, uint8_t{32}, uint8_t{255}}) {
        CountingRandom random;
        ServerHandshake server(random);
        EXPECT_EQ(server.feed(Bytes{first}).error().code(), ErrorCode::kMalformed) << int{first};
    }
}

TEST(ServerHandshakeTest, AnswersOtherVersionsWithThree) {
    CountingRandom random;
    ServerHandshake server(random);
    Bytes hello = simple_c0c1();
    hello[0] = 2;
    ASSERT_TRUE(server.feed(hello).ok());
    EXPECT_EQ(server.take_output().front(), 3);
}

TEST(ServerHandshakeTest, TakesAVersionWithoutADigestAsSimple) {
    // Clients without a crypto library write a version there and no digest that verifies.
    CountingRandom random;
    ServerHandshake server(random);
    Bytes hello = simple_c0c1();
    hello[5] = 9;
    hello[7] = 124;
    ASSERT_TRUE(server.feed(hello).ok());
    EXPECT_EQ(server.scheme(), DigestScheme::kNone);
    EXPECT_EQ(server.take_output()[5], 0);
}

class HandshakeSchemeTest : public ::testing::TestWithParam<DigestScheme> {};

TEST_P(HandshakeSchemeTest, BothSidesAgree) {
    for (const size_t step : {size_t{1}, size_t{1000}, size_t{10000}}) {
        CountingRandom server_random(1);
        CountingRandom client_random(77);
        ServerHandshake server(server_random);
        ClientHandshake client(client_random, GetParam());
        const Error error = shake(server, client, step);
        EXPECT_FALSE(error) << error.to_string();
        EXPECT_TRUE(server.done());
        EXPECT_TRUE(client.done());
        EXPECT_EQ(server.scheme(), GetParam());
        EXPECT_EQ(client.verified(), GetParam() != DigestScheme::kNone);
    }
}

TEST_P(HandshakeSchemeTest, EveryPositionOfTheDigestWorks) {
    // The offset depends on four random bytes: many different ones.
    for (uint8_t seed = 0; seed < 200; seed++) {
        CountingRandom server_random(static_cast<uint8_t>(seed + 1));
        CountingRandom client_random(seed);
        ServerHandshake server(server_random);
        ClientHandshake client(client_random, GetParam());
        const Error error = shake(server, client, 4096);
        ASSERT_FALSE(error) << error.to_string();
        ASSERT_EQ(server.scheme(), GetParam()) << int{seed};
    }
}

INSTANTIATE_TEST_SUITE_P(All,
                         HandshakeSchemeTest,
                         ::testing::Values(DigestScheme::kNone,
                                           DigestScheme::kDigestFirst,
                                           DigestScheme::kKeyFirst));

// The structure as it is documented in the field, computed here without the code under test.
TEST(ServerHandshakeTest, DigestAnswerHasTheKnownStructure) {
    Bytes c1(kHandshakeSize, 0x11);
    std::fill_n(c1.begin(), 4, uint8_t{0});
    c1[8] = 200;  // offset: 200 + 0x11 * 3 = 251, in the first half
    const size_t at = 12 + 251;
    Bytes signed_part(c1.begin(), c1.begin() + at);
    signed_part.insert(signed_part.end(), c1.begin() + at + 32, c1.end());
    const Sha256Digest digest =
        hmac_sha256(as_bytes("Genuine Adobe Flash Player 001"), signed_part);
    std::copy(digest.begin(), digest.end(), c1.begin() + at);

    CountingRandom random;
    ServerHandshake server(random);
    ASSERT_TRUE(server.feed(Bytes{3}).ok());
    ASSERT_TRUE(server.feed(c1).ok());
    EXPECT_EQ(server.scheme(), DigestScheme::kDigestFirst);
    const Bytes out = server.take_output();
    const ByteSpan s1 = ByteSpan(out).subspan(1, kHandshakeSize);
    const ByteSpan s2 = ByteSpan(out).subspan(1 + kHandshakeSize);
    EXPECT_NE(s1[4], 0);

    const size_t s1_at = 12 + (size_t{s1[8]} + s1[9] + s1[10] + s1[11]) % 728;
    signed_part.assign(s1.begin(), s1.begin() + static_cast<ptrdiff_t>(s1_at));
    signed_part.insert(signed_part.end(), s1.begin() + static_cast<ptrdiff_t>(s1_at) + 32,
                       s1.end());
    const Sha256Digest s1_digest =
        hmac_sha256(as_bytes("Genuine Adobe Flash Media Server 001"), signed_part);
    EXPECT_TRUE(std::ranges::equal(s1_digest, s1.subspan(s1_at, 32)));

    Bytes key =
        test::join({Bytes(s2.begin(), s2.begin()),
                    hex("47656e75696e652041646f626520466c617368204d656469612053657276657220303031"),
                    hex("f0eec24a8068bee82e00d0d1029e7e576eec5d2d29806fab93b8e636cfeb31ae")});
    ASSERT_EQ(key.size(), 68u);
    const Sha256Digest s2_key = hmac_sha256(key, digest);
    EXPECT_TRUE(std::ranges::equal(hmac_sha256(s2_key, s2.first(1504)), s2.last(32)));
}

TEST(ClientHandshakeTest, SimpleHelloHasZeroTimeAndVersion) {
    CountingRandom random;
    ClientHandshake client(random);
    const Bytes hello = client.take_output();
    ASSERT_EQ(hello.size(), 1 + kHandshakeSize);
    EXPECT_EQ(hello[0], 3);
    EXPECT_EQ(Bytes(hello.begin() + 1, hello.begin() + 9), Bytes(8, 0));
}

TEST(ClientHandshakeTest, EchoesS1) {
    CountingRandom random;
    ClientHandshake client(random);
    client.take_output();
    Bytes s1 = pattern(kHandshakeSize, 3);
    ASSERT_TRUE(client.feed(Bytes{3}).ok());
    ASSERT_TRUE(client.feed(s1).ok());
    EXPECT_EQ(client.take_output(), s1);
    EXPECT_FALSE(client.done());
}

TEST(ClientHandshakeTest, RefusesAnotherVersion) {
    CountingRandom random;
    ClientHandshake client(random);
    EXPECT_EQ(client.feed(Bytes{6}).error().code(), ErrorCode::kMalformed);
}

TEST(ClientHandshakeTest, GoesOnWithAServerThatHasNoDigests) {
    CountingRandom random;
    ClientHandshake client(random, DigestScheme::kDigestFirst);
    client.take_output();
    Bytes answer(kClientBytes, 0);
    answer[0] = 3;
    ASSERT_TRUE(client.feed(answer).ok());
    EXPECT_TRUE(client.done());
    EXPECT_FALSE(client.verified());
}

TEST(ClientHandshakeTest, RefusesAForgedDigest) {
    CountingRandom server_random(1);
    CountingRandom client_random(77);
    for (const size_t broken : {size_t{900}, size_t{1 + kHandshakeSize + 20}}) {  // in S1, in S2
        ServerHandshake server(server_random);
        ClientHandshake client(client_random, DigestScheme::kKeyFirst);
        ASSERT_TRUE(server.feed(client.take_output()).ok());
        Bytes answer = server.take_output();
        answer[broken] ^= 1;
        EXPECT_EQ(client.feed(answer).error().code(), ErrorCode::kMalformed) << broken;
    }
}

}  // namespace
}  // namespace weir::rtmp
