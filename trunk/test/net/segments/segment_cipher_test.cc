#include "net/segments/segment_cipher.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "net/segments/segment_store.h"

namespace weir::net {
namespace {

// What a player makes of a segment; empty: it is not encrypted with that key.
Bytes decrypted(ByteSpan text, const SegmentCipher::Key& key, uint64_t number) {
    CbcEncryptor::Block vector{};
    for (size_t i = 0; i < 8; i++) {
        vector[15 - i] = static_cast<uint8_t>(number >> (8 * i));
    }
    EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
    EVP_DecryptInit_ex(context, EVP_aes_128_cbc(), nullptr, key.data(), vector.data());
    Bytes out(text.size() + 16);
    int first = 0;
    int last = 0;
    EVP_DecryptUpdate(context, out.data(), &first, text.data(), static_cast<int>(text.size()));
    const bool ok = EVP_DecryptFinal_ex(context, out.data() + first, &last) == 1;
    EVP_CIPHER_CTX_free(context);
    out.resize(ok ? static_cast<size_t>(first + last) : 0);
    return out;
}

// NIST SP 800-38A F.2.1: the first two blocks; the padding is behind them.
TEST(CbcEncryptorTest, IsThatOfTheStandard) {
    const CbcEncryptor::Block key = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                     0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
    const CbcEncryptor::Block vector = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const Bytes text = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e,
                        0x11, 0x73, 0x93, 0x17, 0x2a, 0xae, 0x2d, 0x8a, 0x57, 0x1e, 0x03,
                        0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf, 0x8e, 0x51};
    const Bytes wanted = {0x76, 0x49, 0xab, 0xac, 0x81, 0x19, 0xb2, 0x46, 0xce, 0xe9, 0x8e,
                          0x9b, 0x12, 0xe9, 0x19, 0x7d, 0x50, 0x86, 0xcb, 0x9b, 0x50, 0x72,
                          0x19, 0xee, 0x95, 0xdb, 0x11, 0x3a, 0x91, 0x76, 0x78, 0xb2};
    for (const size_t piece : {1U, 7U, 16U, 32U}) {
        CbcEncryptor encryptor;
        encryptor.begin(key, vector);
        Bytes out;
        for (size_t at = 0; at < text.size(); at += piece) {
            encryptor.update(ByteSpan(text).subspan(at, std::min(piece, text.size() - at)), out);
        }
        encryptor.finish(out);
        ASSERT_EQ(out.size(), 48U);
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), out.begin())) << piece;
    }
}

TEST(SegmentCipherTest, KeysChangeEachSoManySegmentsAndAreOthersForEachStream) {
    const SegmentCipher one(1'000, 3);
    EXPECT_EQ(one.key_id(1'000), 1'000U);
    EXPECT_EQ(one.key_id(1'002), 1'000U);
    EXPECT_EQ(one.key_id(1'003), 1'003U);
    EXPECT_EQ(one.key(1'003), one.key(1'003));
    EXPECT_NE(one.key(1'000), one.key(1'003));
    EXPECT_NE(SegmentCipher(1'000, 3).key(1'000), one.key(1'000));
}

TEST(SegmentCipherTest, ASegmentIsOneTextWhateverItsPartsAre) {
    SegmentStore store({.segments_per_key = 2}, 100);
    for (uint64_t number = 100; number < 104; number++) {
        store.open(make_ref<SegmentFormat>(), 0, 0, false);
        Bytes all;
        for (size_t i = 0; i < 3; i++) {
            Bytes part(static_cast<size_t>(number) + i * 7, static_cast<uint8_t>(i));
            all.insert(all.end(), part.begin(), part.end());
            store.add_part({.bytes = part, .duration_ms = 200});
        }
        store.close();
        const Segment* const segment = store.find(number);
        ASSERT_NE(segment, nullptr);
        EXPECT_EQ(segment->duration_ms, 600);
        Bytes sent;
        for (const SegmentPart& part : segment->parts) {
            const ByteSpan bytes = part.bytes->bytes();
            sent.insert(sent.end(), bytes.begin(), bytes.end());
        }
        EXPECT_EQ(segment->bytes, sent.size());
        const SegmentCipher& cipher = *store.cipher();
        EXPECT_EQ(decrypted(sent, cipher.key(cipher.key_id(number)), number), all);
        EXPECT_NE(decrypted(sent, cipher.key(cipher.key_id(number + 2)), number), all);
        EXPECT_NE(decrypted(sent, cipher.key(cipher.key_id(number)), number + 1), all);
    }
}

}  // namespace
}  // namespace weir::net
