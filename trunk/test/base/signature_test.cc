#include "base/signature.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include <gtest/gtest.h>

#include "base/base64.h"

namespace weir {
namespace {

Bytes url(std::string_view text) {
    const auto bytes = parse_base64url(text);
    EXPECT_TRUE(bytes);
    return bytes.value_or(Bytes());
}

// RFC 7515 A.2: key, signed part and signature of RS256.
constexpr std::string_view kRsaModulus =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4"
    "QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdb"
    "BYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-D"
    "WNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
constexpr std::string_view kRsaSigned =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNv"
    "bS9pc19yb290Ijp0cnVlfQ";
constexpr std::string_view kRsaSignature =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5ju"
    "jGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07"
    "Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipU"
    "TI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

// RFC 7515 A.3: the same of ES256.
constexpr std::string_view kEcX = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
constexpr std::string_view kEcY = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
constexpr std::string_view kEcSigned =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNv"
    "bS9pc19yb290Ijp0cnVlfQ";
constexpr std::string_view kEcSignature =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

TEST(PublicKeyTest, ChecksRs256OfTheBook) {
    auto key = PublicKey::rsa(url(kRsaModulus), url("AQAB"));
    ASSERT_TRUE(key.ok()) << key.error().to_string();
    EXPECT_EQ(key->kind(), PublicKey::Kind::kRsa);
    Bytes signature = url(kRsaSignature);
    EXPECT_TRUE(key->verify_sha256(as_bytes(kRsaSigned), signature));
    EXPECT_FALSE(key->verify_sha256(as_bytes(kRsaSigned.substr(1)), signature));
    signature.back() ^= 1;
    EXPECT_FALSE(key->verify_sha256(as_bytes(kRsaSigned), signature));
    EXPECT_FALSE(key->verify_sha256(as_bytes(kRsaSigned), {}));
}

TEST(PublicKeyTest, ChecksEs256OfTheBook) {
    auto key = PublicKey::p256(url(kEcX), url(kEcY));
    ASSERT_TRUE(key.ok()) << key.error().to_string();
    EXPECT_EQ(key->kind(), PublicKey::Kind::kEcP256);
    Bytes signature = url(kEcSignature);
    EXPECT_TRUE(key->verify_sha256(as_bytes(kEcSigned), signature));
    EXPECT_FALSE(key->verify_sha256(as_bytes("x"), signature));
    signature[3] ^= 1;
    EXPECT_FALSE(key->verify_sha256(as_bytes(kEcSigned), signature));
    signature.pop_back();
    EXPECT_FALSE(key->verify_sha256(as_bytes(kEcSigned), signature));
    EXPECT_FALSE(key->verify_sha256(as_bytes(kEcSigned), Bytes(64)));  // r and s of 0
}

TEST(PublicKeyTest, RefusesKeysThatAreNone) {
    EXPECT_FALSE(PublicKey::p256(url(kEcX), url(kEcX)).ok());
    EXPECT_FALSE(PublicKey::p256(Bytes(32), Bytes(32)).ok());
    EXPECT_FALSE(PublicKey::p256(url(kEcX), {}).ok());
    const Bytes short_modulus(128, 0xFF);
    EXPECT_EQ(PublicKey::rsa(short_modulus, url("AQAB")).error().code(), ErrorCode::kUnsupported);
    EXPECT_FALSE(PublicKey::rsa(Bytes(4096, 0xFF), url("AQAB")).ok());
    EXPECT_FALSE(PublicKey::rsa(url(kRsaModulus), Bytes{1}).ok());
    EXPECT_FALSE(PublicKey::rsa(url(kRsaModulus), {}).ok());
    EXPECT_FALSE(PublicKey::rsa({}, url("AQAB")).ok());
}

TEST(PublicKeyTest, ReadsPem) {
    // The key of RFC 7515 A.3 as SubjectPublicKeyInfo (RFC 5480 §2).
    Bytes der = {0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06,
                 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
    for (std::string_view part : {kEcX, kEcY}) {
        const Bytes bytes = url(part);
        der.insert(der.end(), bytes.begin(), bytes.end());
    }
    std::string body = base64url(der);
    std::ranges::replace(body, '-', '+');
    std::ranges::replace(body, '_', '/');
    body.resize((body.size() + 3) / 4 * 4, '=');
    const std::string pem = "-----BEGIN PUBLIC KEY-----\n" + body.substr(0, 64) + "\n" +
                            body.substr(64) + "\n-----END PUBLIC KEY-----\n";
    auto key = PublicKey::pem(pem);
    ASSERT_TRUE(key.ok()) << key.error().to_string();
    EXPECT_TRUE(key->verify_sha256(as_bytes(kEcSigned), url(kEcSignature)));
    EXPECT_FALSE(
        PublicKey::pem("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n").ok());
    EXPECT_FALSE(PublicKey::pem("").ok());
}

TEST(PublicKeyTest, LeadingZerosOfAModulusAreNoBits) {
    Bytes modulus = url(kRsaModulus);
    modulus.insert(modulus.begin(), 0);
    auto key = PublicKey::rsa(modulus, url("AQAB"));
    ASSERT_TRUE(key.ok()) << key.error().to_string();
    EXPECT_TRUE(key->verify_sha256(as_bytes(kRsaSigned), url(kRsaSignature)));
}

TEST(PublicKeyTest, TakesRsaKeysOfTheSizesItNames) {
    const auto code = [](size_t bytes, uint8_t first) {
        Bytes modulus(bytes, 0xFF);
        modulus[0] = first;
        return PublicKey::rsa(modulus, url("AQAB")).error().code();
    };
    EXPECT_EQ(code(PublicKey::kMinRsaBits / 8, 0x80), ErrorCode::kOk);
    EXPECT_EQ(code(PublicKey::kMinRsaBits / 8, 0x7F), ErrorCode::kUnsupported);
    EXPECT_EQ(code(PublicKey::kMaxRsaBits / 8, 0xFF), ErrorCode::kOk);
    EXPECT_EQ(code(PublicKey::kMaxRsaBits / 8 + 1, 0x01), ErrorCode::kUnsupported);
    EXPECT_EQ(code(PublicKey::kMaxRsaBits / 8 + 2, 0x00), ErrorCode::kMalformed);
}

TEST(PublicKeyTest, RefusesModuliAndExponentsThatCannotBe) {
    Bytes even = url(kRsaModulus);
    even.back() &= 0xFE;
    EXPECT_EQ(PublicKey::rsa(even, url("AQAB")).error().code(), ErrorCode::kMalformed);
    EXPECT_EQ(PublicKey::rsa(url(kRsaModulus), Bytes{0x01, 0x00}).error().code(),
              ErrorCode::kMalformed);
    EXPECT_EQ(PublicKey::rsa(url(kRsaModulus), Bytes(9, 0x01)).error().code(),
              ErrorCode::kMalformed);
    EXPECT_EQ(PublicKey::rsa(url(kRsaModulus), Bytes{0}).error().code(), ErrorCode::kMalformed);
}

TEST(PublicKeyTest, ASignatureHasItsOneLength) {
    const auto rsa = PublicKey::rsa(url(kRsaModulus), url("AQAB"));
    const auto ec = PublicKey::p256(url(kEcX), url(kEcY));
    ASSERT_TRUE(rsa.ok() && ec.ok());
    for (const auto& [key, text, good] : {std::tuple(&*rsa, kRsaSigned, url(kRsaSignature)),
                                          std::tuple(&*ec, kEcSigned, url(kEcSignature))}) {
        for (size_t size = 0; size < good.size(); size++) {
            EXPECT_FALSE(key->verify_sha256(as_bytes(text), ByteSpan(good).first(size))) << size;
        }
        Bytes longer = good;
        longer.push_back(0);
        EXPECT_FALSE(key->verify_sha256(as_bytes(text), longer));
        // The other key's, and the two halves the other way round.
        Bytes turned = good;
        std::ranges::rotate(turned, turned.begin() + static_cast<std::ptrdiff_t>(good.size() / 2));
        EXPECT_FALSE(key->verify_sha256(as_bytes(text), turned));
        EXPECT_TRUE(key->verify_sha256(as_bytes(text), good)) << "a refusal leaves nothing behind";
    }
    EXPECT_FALSE(rsa->verify_sha256(as_bytes(kRsaSigned), url(kEcSignature)));
    EXPECT_FALSE(ec->verify_sha256(as_bytes(kEcSigned), url(kRsaSignature)));
}

// Made by OpenSSL 3.0 for this test.
TEST(PublicKeyTest, RefusesOtherKindsOfKeysInPem) {
    const auto code = [](std::string_view kind, std::string_view body) {
        std::string text = "-----BEGIN ";
        text.append(kind).append("-----\n").append(body);
        text.append("\n-----END ").append(kind).append("-----\n");
        return PublicKey::pem(text).error().code();
    };
    constexpr std::string_view kP384 =
        "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEJNzmXQxto7iyp4eUJ06Tcx7JVuy8fRwp\n"
        "uxKHEH5GS1r3HWJHESnneLgWfascUT5cnJQZtukD7+/QMfuB9Ih5cLRrIkkeaAOP\n"
        "02NaN2kvPJpUuDzPkimtra+9FYePuvat";
    constexpr std::string_view kRsaOf1024Bits =
        "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDXLWKfNyO/PaxhHmpuFlxoqlNO\n"
        "bTfiCnkI71LM8ho8HKOs5eEbCIhjIrSL7Ev/tnAkeU7nJuzQdLdB2e7NhtoQGBJF\n"
        "NfMbvNtMg4ybT5xVP/y8u2GXmyTjFHXw/1QlvRlmioUir2mqx/cxiUaTrmlodMW7\n"
        "guMl1GKaetemzVIcIQIDAQAB";
    constexpr std::string_view kEd25519 =
        "MCowBQYDK2VwAyEAmc56gm6CGARu2xFXdl5rvoNpmyQ6K6EPXzad7xcPo64=";
    EXPECT_EQ(code("PUBLIC KEY", kP384), ErrorCode::kUnsupported);
    EXPECT_EQ(code("PUBLIC KEY", kRsaOf1024Bits), ErrorCode::kUnsupported);
    EXPECT_EQ(code("PUBLIC KEY", kEd25519), ErrorCode::kUnsupported);
    EXPECT_EQ(code("CERTIFICATE", kP384), ErrorCode::kMalformed);
    EXPECT_EQ(PublicKey::pem(std::string(16 * 1024, 'x')).error().code(), ErrorCode::kMalformed);
    EXPECT_EQ(PublicKey::pem(std::string(16 * 1024 + 1, 'x')).error().code(), ErrorCode::kLimit);
}

}  // namespace
}  // namespace weir
