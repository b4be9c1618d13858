#include "base/signature.h"

#include <algorithm>
#include <string>

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

}  // namespace
}  // namespace weir
