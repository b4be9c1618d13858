#include "app/access/jwt.h"

#include <string_view>

#include <gtest/gtest.h>

#include "app/access/strict_json.h"
#include "base/base64.h"
#include "base/hmac.h"

namespace weir::app {
namespace {

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";
constexpr int64_t kNow = 1'700'000'000;
constexpr std::string_view kHs256 = R"({"alg":"HS256","typ":"JWT"})";
constexpr std::string_view kClaims =
    R"({"app":"live","stream":"room","action":"publish","exp":1700000100})";

std::string part(std::string_view json) {
    return base64url(as_bytes(json));
}

std::string signed_token(std::string_view header,
                         std::string_view claims,
                         std::string_view secret) {
    const std::string front = part(header) + "." + part(claims);
    return front + "." + base64url(hmac_sha256(as_bytes(secret), as_bytes(front)));
}

std::string token(std::string_view claims) {
    return signed_token(kHs256, claims, kSecret);
}

JwtQuestion question() {
    JwtQuestion made;
    made.action = config::Action::kPublish;
    made.vhost = "__defaultVhost__";
    made.app = "live";
    made.stream = "room";
    made.ip = "203.0.113.9";
    made.now_s = kNow;
    return made;
}

class JwtTest : public testing::Test {
  protected:
    JwtTest() { EXPECT_FALSE(add_jwt_secret(keys_, kSecret)); }

    // Empty when the token holds.
    std::string why(std::string_view token) { return why(token, question()); }

    std::string why(std::string_view token, const JwtQuestion& question) {
        const Error error = check_jwt(token, keys_, question);
        EXPECT_TRUE(!error || error.code() == ErrorCode::kDenied);
        return std::string(error.message());
    }

    JwtKeys keys_;
};

TEST_F(JwtTest, TakesATokenThatSaysWhatIsAsked) {
    EXPECT_EQ(why(token(kClaims)), "");
}

// RFC 7515 A.1: HS256, as everybody computes it.
TEST_F(JwtTest, ComputesHs256AsTheBook) {
    const auto secret = parse_base64url(
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow");
    ASSERT_TRUE(secret);
    keys_.clear();
    ASSERT_FALSE(add_jwt_secret(keys_, as_text(*secret)));
    // Its signature holds: what is wrong is that it expired in 2011.
    EXPECT_EQ(why("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
                  "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19y"
                  "b290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
              "it has expired");
}

TEST_F(JwtTest, RefusesWhatIsNotSignedByTheKey) {
    EXPECT_EQ(why(signed_token(kHs256, kClaims, "another secret of thirty-two bytes")),
              "its signature is wrong");
    std::string good = token(kClaims);
    const std::string other = token(R"({"app":"live","stream":"*","action":"publish","exp":9e9})");
    const size_t dot = good.rfind('.');
    EXPECT_EQ(why(other.substr(0, other.rfind('.')) + good.substr(dot)), "its signature is wrong");
    EXPECT_EQ(why(good.substr(0, dot + 1)), "its signature is wrong");
    EXPECT_EQ(why(good.substr(0, good.size() - 3)), "its signature is wrong");
}

// RFC 8725 §2.1: a token that chooses how it is checked.
TEST_F(JwtTest, LetsNoTokenChooseTheAlgorithm) {
    for (const char* header :
         {R"({"alg":"none"})", R"({"alg":"None"})", R"({"alg":"hs256"})", R"({"alg":"HS512"})",
          R"({"alg":"RS256"})", R"({"alg":"ES256"})", R"({"alg":""})"}) {
        EXPECT_EQ(why(part(header) + "." + part(kClaims) + "."),
                  "there is no key for its algorithm and key id")
            << header;
        EXPECT_EQ(why(signed_token(header, kClaims, kSecret)),
                  "there is no key for its algorithm and key id")
            << header;
    }
    EXPECT_EQ(why(signed_token(R"({"alg":["HS256"]})", kClaims, kSecret)),
              "its header names no algorithm");
    EXPECT_EQ(why(signed_token(R"({"typ":"JWT"})", kClaims, kSecret)),
              "its header names no algorithm");
}

constexpr std::string_view kJwks = R"({"keys":[
  {"kty":"RSA","kid":"r1","use":"sig","alg":"RS256","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"},
  {"kty":"EC","crv":"P-256","kid":"e1","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
  {"kty":"EC","crv":"P-521","kid":"unknown curve","x":"AA","y":"AA"},
  {"kty":"OKP","crv":"Ed25519","x":"AA"},
  {"kty":"RSA","use":"enc","e":"AQAB","n":"AQAB"}]})";

TEST_F(JwtTest, ChecksByTheKeysOfASet) {
    keys_.clear();
    ASSERT_FALSE(add_jwks(keys_, kJwks));
    ASSERT_EQ(keys_.size(), 2U);
    EXPECT_EQ(keys_[0].algorithm(), "RS256");
    EXPECT_EQ(keys_[1].algorithm(), "ES256");
    // RFC 7515 A.2 and A.3: the signatures hold, the tokens are of 2011.
    constexpr std::string_view kPayload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0"
        "cnVlfQ";
    const std::string rs256 =
        "eyJhbGciOiJSUzI1NiJ9." + std::string(kPayload) +
        ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2"
        "Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQ"
        "BMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6Ie"
        "YI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    EXPECT_EQ(why(rs256), "it has expired");
    const std::string es256 =
        "eyJhbGciOiJFUzI1NiJ9." + std::string(kPayload) +
        ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    EXPECT_EQ(why(es256), "it has expired");
    EXPECT_EQ(why("eyJhbGciOiJFUzI1NiJ9" + rs256.substr(rs256.find('.'))),
              "its signature is wrong");
    // The public key as a secret of HS256, the classic confusion.
    const std::string modulus = std::string(kJwks.substr(kJwks.find("\"n\":\"") + 5, 342));
    EXPECT_EQ(why(signed_token(kHs256, kClaims, modulus)),
              "there is no key for its algorithm and key id");
}

TEST_F(JwtTest, ChoosesTheKeyByItsId) {
    keys_.clear();
    const std::string set = R"({"keys":[{"kty":"oct","kid":"old","k":")" + part(kSecret) +
                            R"("},{"kty":"oct","kid":"new","k":")" +
                            part("a new secret of thirty-two bytes or more") + R"("}]})";
    ASSERT_FALSE(add_jwks(keys_, set));
    const auto with_id = [](std::string_view id) {
        return signed_token(fmt::format(R"({{"alg":"HS256","kid":"{}"}})", id), kClaims, kSecret);
    };
    EXPECT_EQ(why(with_id("old")), "");
    EXPECT_EQ(why(with_id("new")), "its signature is wrong");
    EXPECT_EQ(why(with_id("gone")), "there is no key for its algorithm and key id");
    EXPECT_EQ(why(token(kClaims)), "") << "without an id, each of them is tried";
    EXPECT_EQ(why(signed_token(R"({"alg":"HS256","kid":1})", kClaims, kSecret)),
              "its key id is no text");
}

TEST_F(JwtTest, LooksAtTimes) {
    const auto at = [this](std::string_view times) {
        return why(
            token(fmt::format(R"({{"app":"live","stream":"room","action":"publish"{}}})", times)));
    };
    EXPECT_EQ(at(R"(,"exp":1700000001)"), "");
    EXPECT_EQ(at(R"(,"exp":1699999991)"), "") << "clocks differ a little";
    EXPECT_EQ(at(R"(,"exp":1699999990)"), "it has expired");
    EXPECT_EQ(at(R"(,"exp":1700000001.5)"), "");
    EXPECT_EQ(at(""), "it has no claim exp: when it expires must be said");
    for (const char* no_time : {R"("1700000100")", "null", "-1", "1e300", "[1700000100]", "true"}) {
        EXPECT_EQ(at(fmt::format(R"(,"exp":{})", no_time)), "its claim exp is no time") << no_time;
    }
    EXPECT_EQ(at(R"(,"exp":1700000100,"nbf":1700000005)"), "");
    EXPECT_EQ(at(R"(,"exp":1700000100,"nbf":1700000050)"), "it is not valid yet");
    EXPECT_EQ(at(R"(,"exp":1700000100,"iat":1700000050)"), "it is not valid yet");
    EXPECT_EQ(at(R"(,"exp":1700000100,"nbf":"x")"), "its claim nbf is no time");
}

TEST_F(JwtTest, LooksAtTheClaims) {
    const auto with = [this](std::string_view claims) {
        return why(token(fmt::format(R"({{"exp":1700000100,{}}})", claims)));
    };
    constexpr std::string_view kAll = R"("app":"live","stream":"room","action":"publish")";
    EXPECT_EQ(with(R"("app":"live","stream":"room","action":["play","publish"])"), "");
    EXPECT_EQ(with(R"("app":"*","stream":["x","r*m"],"action":"publish")"), "");
    EXPECT_EQ(with(R"("app":"live","stream":"room","action":"play")"),
              "it does not allow that action");
    EXPECT_EQ(with(R"("app":"live","stream":"room2","action":"publish")"),
              "it is for another stream");
    EXPECT_EQ(with(R"("app":"liv","stream":"room","action":"publish")"), "it is for another app");
    EXPECT_EQ(with(R"("app":"live","action":"publish")"), "it has no claim stream");
    EXPECT_EQ(with(R"("stream":"room","action":"publish")"), "it has no claim app");
    EXPECT_EQ(with(R"("app":"live","stream":"room")"), "it has no claim action");
    EXPECT_EQ(with(R"("app":"live","stream":true,"action":"publish")"), "it is for another stream");
    EXPECT_EQ(with(R"("app":"live","stream":[],"action":"publish")"), "it is for another stream");
    EXPECT_EQ(with(fmt::format(R"({},"vhost":"other")", kAll)), "it is for another vhost");
    EXPECT_EQ(with(fmt::format(R"({},"ip":"203.0.113.9")", kAll)), "");
    EXPECT_EQ(with(fmt::format(R"({},"ip":["10.0.0.0/8","203.0.113.0/24"])", kAll)), "");
    EXPECT_EQ(with(fmt::format(R"({},"ip":"203.0.113.10")", kAll)), "it is for another address");
    EXPECT_EQ(with(fmt::format(R"({},"ip":"anywhere")", kAll)), "it is for another address");
}

// RFC 7519 §4.1.3: whoever is not in the audience must refuse.
TEST_F(JwtTest, LooksAtTheAudience) {
    constexpr std::string_view kFor =
        R"({"app":"live","stream":"room","action":"publish","exp":1700000100,"aud":["a","weir"]})";
    EXPECT_EQ(why(token(kFor)), "it is for another audience");
    JwtQuestion ours = question();
    ours.audience = "weir";
    EXPECT_EQ(why(token(kFor), ours), "");
    EXPECT_EQ(why(token(kClaims), ours), "it has no claim aud");
    ours.audience = "others";
    EXPECT_EQ(why(token(kFor), ours), "it is for another audience");
}

TEST_F(JwtTest, RefusesWhatCouldBeReadInTwoWays) {
    EXPECT_EQ(
        why(token(
            R"({"app":"live","stream":"x","stream":"room","action":"publish","exp":1700000100})")),
        "its claims are no JSON object with unique names");
    EXPECT_EQ(why(signed_token(R"({"alg":"none","alg":"HS256"})", kClaims, kSecret)),
              "it is not well-formed");
    EXPECT_EQ(why(token("[]")), "its claims are no JSON object with unique names");
    EXPECT_EQ(why(token(R"({"app":"live")")), "its claims are no JSON object with unique names");
    EXPECT_EQ(why(signed_token(R"({"alg":"HS256","crit":["exp"]})", kClaims, kSecret)),
              "its header asks for an extension");
    EXPECT_EQ(why(signed_token(R"({"alg":"HS256","b64":false})", kClaims, kSecret)),
              "its header asks for an extension");
    std::string deep = "1";
    for (int i = 0; i < 1000; i++) {
        deep = "[" + deep + "]";
    }
    EXPECT_NE(why(token(R"({"x":)" + deep + "}")), "");
}

TEST_F(JwtTest, RefusesWhatIsNoToken) {
    const std::string good = token(kClaims);
    for (const std::string& bad : {std::string(), std::string("."), std::string(".."), good + ".",
                                   good.substr(0, good.find('.')), "=" + good, good + "=",
                                   " " + good, std::string(kMaxJwt + 1, '.')}) {
        EXPECT_NE(why(bad), "") << bad;
    }
    for (size_t size = 0; size < good.size(); size++) {
        EXPECT_NE(why(std::string_view(good).substr(0, size)), "") << size;
    }
    EXPECT_TRUE(looks_like_jwt(good));
    EXPECT_FALSE(looks_like_jwt("a-key"));
}

TEST(JwtKeysTest, TakesNoWeakOrMistakenSecret) {
    JwtKeys keys;
    EXPECT_TRUE(add_jwt_secret(keys, "short"));
    EXPECT_TRUE(add_jwt_secret(keys, std::string(31, 'a')));
    EXPECT_TRUE(add_jwt_secret(keys, "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQ\n"));
    EXPECT_TRUE(keys.empty());
    EXPECT_FALSE(add_jwt_secret(keys, std::string(32, 'a')));
}

TEST(JwtKeysTest, SaysWhatIsWrongWithASet) {
    for (const char* bad :
         {"", "x", "[]", "{}", R"({"keys":{}})", R"({"keys":[]})", R"({"keys":[1]})",
          R"({"keys":[{"kty":"RSA","n":"!!","e":"AQAB"}]})",
          R"({"keys":[{"kty":"oct","k":"c2hvcnQ"}]})",
          R"({"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]})", R"({"keys":[],"keys":[]})",
          "-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n"}) {
        JwtKeys keys;
        EXPECT_TRUE(add_jwks(keys, bad)) << bad;
    }
}

// The parser that is used takes a zero byte as the end of its input; other readers would not.
TEST(StrictJsonTest, RefusesAZeroByte) {
    using std::string_view_literals::operator""sv;
    for (const std::string_view text : {"{}\0"sv, "{\"a\":1}\0,\"a\":2}"sv, "\0{}"sv}) {
        EXPECT_FALSE(parse_strict_object(text, 8)) << testing::PrintToString(text);
    }
    EXPECT_TRUE(parse_strict_object(R"({"a":"\u0000"})", 8)) << "one that is written out";
}

TEST(JwtPatternTest, MatchesStars) {
    for (const auto& [pattern, text] :
         std::initializer_list<std::pair<const char*, const char*>>{{"*", ""},
                                                                    {"*", "x"},
                                                                    {"a*", "a"},
                                                                    {"a*c", "abc"},
                                                                    {"*b*", "abc"},
                                                                    {"a**c", "ac"},
                                                                    {"*a*a*", "aa"},
                                                                    {"", ""},
                                                                    {"room", "room"}}) {
        EXPECT_TRUE(matches_pattern(pattern, text)) << pattern << " " << text;
    }
    for (const auto& [pattern, text] :
         std::initializer_list<std::pair<const char*, const char*>>{{"", "x"},
                                                                    {"a*", "ba"},
                                                                    {"a*c", "ab"},
                                                                    {"room", "room2"},
                                                                    {"room", "Room"},
                                                                    {"*a*a*", "a"},
                                                                    {"a?c", "abc"}}) {
        EXPECT_FALSE(matches_pattern(pattern, text)) << pattern << " " << text;
    }
}

}  // namespace
}  // namespace weir::app
