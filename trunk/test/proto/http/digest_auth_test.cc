#include "proto/http/digest_auth.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

const UserInfo kMufasa = {"Mufasa", "Circle of Life"};
constexpr std::string_view kCnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";

// RFC 7616 §3.9.1.
constexpr std::string_view kBookChallenges =
    "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=SHA-256, "
    "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
    "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\", "
    "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=MD5, "
    "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
    "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";

TEST(DigestAuthTest, AnswersTheChallengesOfRfc7616) {
    const std::vector<Challenge> challenges = parse_challenges(kBookChallenges);
    ASSERT_EQ(challenges.size(), 2U);
    EXPECT_EQ(strongest(challenges, false), &challenges[0]);
    const Credentials sha = answer(challenges[0], kMufasa, "GET", "/dir/index.html", kCnonce, 1);
    EXPECT_EQ(sha.response, "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1");
    const Credentials md5 = answer(challenges[1], kMufasa, "GET", "/dir/index.html", kCnonce, 1);
    EXPECT_EQ(md5.response, "8ca523f5e9506fed4657c9700eebdbec");
    EXPECT_EQ(write(md5),
              "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", "
              "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", uri=\"/dir/index.html\", "
              "response=\"8ca523f5e9506fed4657c9700eebdbec\", algorithm=MD5, "
              "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\", "
              "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, nc=00000001");
}

TEST(DigestAuthTest, AnswersTheChallengeOfRfc2617) {
    // RFC 2617 §3.5.
    const std::vector<Challenge> challenges = parse_challenges(
        "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", "
        "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", "
        "opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"");
    ASSERT_EQ(challenges.size(), 1U);
    EXPECT_FALSE(challenges[0].names_algorithm);
    const Credentials credentials = answer(challenges[0], {"Mufasa", "Circle Of Life"}, "GET",
                                           "/dir/index.html", "0a4f113b", 1);
    EXPECT_EQ(credentials.response, "6629fae49393a05397450978507c4ef1");
    EXPECT_EQ(write(credentials).find("algorithm"), std::string::npos);
}

TEST(DigestAuthTest, VerifiesWhatItWrites) {
    for (const DigestAlgorithm algorithm :
         {DigestAlgorithm::kMd5, DigestAlgorithm::kMd5Sess, DigestAlgorithm::kSha256,
          DigestAlgorithm::kSha256Sess}) {
        for (const bool qop : {false, true}) {
            const Challenge challenge = {.realm = "a \"realm\" \\",
                                         .nonce = "n",
                                         .opaque = "o",
                                         .algorithm = algorithm,
                                         .qop_auth = qop};
            const std::vector<Challenge> read = parse_challenges(write(challenge));
            ASSERT_EQ(read.size(), 1U);
            EXPECT_EQ(read[0], challenge);
            const UserInfo login = {"us\"er", "p:a\"s,s"};
            const Credentials made = answer(read[0], login, "PLAY", "rtsp://h/a,b?c=d", "cn", 255);
            const std::optional<Credentials> shown = parse_credentials(write(made));
            ASSERT_TRUE(shown) << write(made);
            EXPECT_EQ(*shown, made);
            EXPECT_TRUE(verify(*shown, challenge.realm, login.password, "PLAY"));
            EXPECT_FALSE(verify(*shown, challenge.realm, login.password, "SETUP"));
            EXPECT_FALSE(verify(*shown, challenge.realm, "other", "PLAY"));
            EXPECT_FALSE(verify(*shown, "other", login.password, "PLAY"));
            Credentials changed = *shown;
            changed.uri += "x";
            EXPECT_FALSE(verify(changed, challenge.realm, login.password, "PLAY"));
            changed = *shown;
            changed.nonce += "x";
            EXPECT_FALSE(verify(changed, challenge.realm, login.password, "PLAY"));
            changed = *shown;
            changed.response.pop_back();
            EXPECT_FALSE(verify(changed, challenge.realm, login.password, "PLAY"));
        }
    }
}

TEST(DigestAuthTest, VerifiesTheAnswersOfTheRfcs) {
    constexpr std::string_view kBook =
        "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\", "
        "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, "
        "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, "
        "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\", ";
    constexpr std::string_view kSha =
        "response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\"";
    constexpr std::string_view kMd5 = "response=\"8ca523f5e9506fed4657c9700eebdbec\"";
    const auto proves = [&](std::string_view response, std::string_view algorithm) {
        const std::optional<Credentials> shown = parse_credentials(
            std::string(kBook).append(response).append(algorithm));  // RFC 7616 §3.9.1
        return shown && verify(*shown, "http-auth@example.org", "Circle of Life", "GET");
    };
    EXPECT_TRUE(proves(kSha, ", algorithm=SHA-256"));
    EXPECT_TRUE(proves(kMd5, ", algorithm=MD5"));
    EXPECT_TRUE(proves(kSha, ""));
    EXPECT_TRUE(proves(kMd5, ""));
    EXPECT_FALSE(proves(kSha, ", algorithm=MD5"));
    EXPECT_FALSE(proves(kMd5, ", algorithm=SHA-256"));
    // RFC 2069 §2.4 with the response of its erratum 749.
    const std::optional<Credentials> old = parse_credentials(
        "Digest username=\"Mufasa\", realm=\"testrealm@host.com\", "
        "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", uri=\"/dir/index.html\", "
        "response=\"1949323746fe6a43ef61f9606e7febea\", "
        "opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"");
    ASSERT_TRUE(old);
    EXPECT_TRUE(verify(*old, "testrealm@host.com", "CircleOfLife", "GET"));
}

TEST(DigestAuthTest, TheLengthOfAResponseTellsAnAlgorithmThatIsNotNamed) {
    const Challenge challenge = {
        .realm = "r", .nonce = "n", .algorithm = DigestAlgorithm::kSha256, .qop_auth = true};
    Credentials made = answer(challenge, {"u", "p"}, "PLAY", "*", "c", 1);
    EXPECT_NE(write(made).find("algorithm=SHA-256"), std::string::npos);
    made.names_algorithm = false;
    EXPECT_EQ(write(made).find("algorithm"), std::string::npos);
    EXPECT_EQ(parse_credentials(write(made)), made);
    made.response[0] = 'x';
    EXPECT_EQ(parse_credentials(write(made))->algorithm, DigestAlgorithm::kSha256);
    const std::string other = "Digest username=u, realm=r, nonce=n, uri=*, response=";
    EXPECT_EQ(parse_credentials(other + std::string(64, 'x'))->algorithm, DigestAlgorithm::kMd5);
    EXPECT_EQ(parse_credentials(other + std::string(63, 'a'))->algorithm, DigestAlgorithm::kMd5);
    EXPECT_EQ(parse_credentials(other + std::string(64, 'A'))->algorithm, DigestAlgorithm::kSha256);
    // A challenge that does not name SHA-256 is answered with it named.
    const Credentials named =
        answer({.nonce = "n", .algorithm = DigestAlgorithm::kSha256, .names_algorithm = false},
               {"u", "p"}, "PLAY", "*", "c", 1);
    EXPECT_TRUE(named.names_algorithm);
}

TEST(DigestAuthTest, SaysRightBehindTheNonceThatItIsStale) {
    EXPECT_EQ(write(Challenge{.realm = "r", .nonce = "n", .qop_auth = true, .stale = true}),
              "Digest realm=\"r\", nonce=\"n\", stale=true, algorithm=MD5, qop=\"auth\"");
}

TEST(DigestAuthTest, TakesResponsesInUpperCase) {
    const Challenge challenge = {.realm = "r", .nonce = "n"};
    Credentials made = answer(challenge, {"u", "p"}, "PLAY", "*", "", 1);
    for (char& c : made.response) {
        c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    EXPECT_TRUE(verify(made, "r", "p", "PLAY"));
}

TEST(DigestAuthTest, ReadsChallengesAsCamerasWriteThem) {
    struct Case {
        std::string_view value;
        Challenge expected;
    };

    const Case cases[] = {
        {"Digest realm=\"IP Camera(12345)\", nonce=\"abc\", stale=\"FALSE\"",
         {.realm = "IP Camera(12345)", .nonce = "abc", .names_algorithm = false}},
        {"Digest realm=\"r\",nonce=\"n\",stale=TRUE,algorithm=\"md5\",qop=\"\"",
         {.realm = "r", .nonce = "n", .stale = true}},
        {"digest REALM=Cam 1/x , Nonce = a=b/c== , Algorithm = SHA-256, QOP=auth",
         {.realm = "Cam 1/x",
          .nonce = "a=b/c==",
          .algorithm = DigestAlgorithm::kSha256,
          .qop_auth = true}},
        {"Digest nonce=\"n\"", {.nonce = "n", .names_algorithm = false}},
        {"Digest  ,, realm=\"unfinished\\\" , nonce=x\", nonce=\"n",
         {.realm = "unfinished\" , nonce=x", .nonce = "n", .names_algorithm = false}},
        {"Basic realm=\"/\"", {.scheme = AuthScheme::kBasic, .realm = "/"}},
        {"Basic", {.scheme = AuthScheme::kBasic}},
    };
    for (const Case& each : cases) {
        const std::vector<Challenge> challenges = parse_challenges(each.value);
        ASSERT_EQ(challenges.size(), 1U) << each.value;
        EXPECT_EQ(challenges[0], each.expected) << each.value;
    }
}

TEST(DigestAuthTest, LeavesOutChallengesThatCannotBeAnswered) {
    for (const std::string_view value :
         {"", ",", "Digest", "Digest realm=\"r\"", "Digest nonce=\"n\", algorithm=SHA-512",
          "Digest nonce=\"n\", qop=\"auth-int\"", "Negotiate abc==", "realm=\"r\", nonce=\"n\"",
          "Bearer realm=\"r\", nonce=\"n\"", "=\"", "Digest nonce=\"\""}) {
        EXPECT_TRUE(parse_challenges(value).empty()) << value;
    }
}

TEST(DigestAuthTest, ChoosesTheStrongestChallengeOfAllFields) {
    const Fields fields = {{"WWW-Authenticate", "Basic realm=\"b\", Digest realm=m,nonce=n"},
                           {"www-authenticate", "Digest realm=s, nonce=n, algorithm=SHA-256"},
                           {"Other", "Digest realm=x, nonce=n"}};
    std::vector<Challenge> challenges = parse_challenges(fields, "WWW-Authenticate");
    ASSERT_EQ(challenges.size(), 3U);
    EXPECT_EQ(strongest(challenges, true)->realm, "s");
    challenges.pop_back();
    EXPECT_EQ(strongest(challenges, true)->realm, "m");
    challenges.pop_back();
    EXPECT_EQ(strongest(challenges, true)->realm, "b");
    EXPECT_EQ(strongest(challenges, false), nullptr);
    EXPECT_EQ(strongest({}, true), nullptr);
}

TEST(DigestAuthTest, BoundsWhatItReads) {
    std::string many;
    for (size_t i = 0; i < kMaxChallenges + 1; i++) {
        many += "Digest nonce=n, ";
    }
    EXPECT_EQ(parse_challenges(many).size(), kMaxChallenges);
    const Fields fields = {{"A", many}, {"A", many}};
    EXPECT_EQ(parse_challenges(fields, "A").size(), kMaxChallenges);
    std::string parameters = "Digest ";
    for (size_t i = 0; i < kMaxAuthParameters; i++) {
        parameters += "x=y, ";
    }
    EXPECT_TRUE(parse_challenges(parameters + "nonce=n").empty());
    EXPECT_TRUE(parse_challenges("Digest nonce=" + std::string(kMaxAuthBytes, 'n')).empty());
}

TEST(DigestAuthTest, RefusesCredentialsThatCannotBeChecked) {
    const std::string good =
        "Digest username=\"u\", realm=\"r\", nonce=\"n\", uri=\"*\", response=\"00\"";
    EXPECT_TRUE(parse_credentials(good));
    EXPECT_TRUE(parse_credentials(good + ", qop=auth, nc=00000001, cnonce=\"c\""));
    for (const std::string& value :
         {std::string(), std::string("Digest"), std::string("Bearer abc"), "x " + good,
          good + ", Digest nonce=n", good + ", qop=auth", good + ", qop=auth, nc=1",
          good + ", qop=auth-int", good + ", algorithm=SHA-1",
          std::string("Digest username=\"u\", realm=\"r\", nonce=\"n\", uri=\"*\"")}) {
        EXPECT_FALSE(parse_credentials(value)) << value;
    }
}

TEST(DigestAuthTest, LetsNoValueEndTheField) {
    const Challenge challenge = {.realm = "a\r\nX: \"y\"", .nonce = "n", .names_algorithm = false};
    EXPECT_EQ(write(challenge), "Digest realm=\"aX: \\\"y\\\"\", nonce=\"n\"");
    Credentials credentials =
        answer({.realm = "r", .nonce = "n", .qop_auth = true}, {"u", "p"}, "PLAY", "*\r\n", "c", 1);
    credentials.nc = "1\r\nX: y";
    EXPECT_EQ(write(credentials).find_first_of("\r\n"), std::string::npos);
}

TEST(BasicAuthTest, CarriesUserAndPassword) {
    const Challenge challenge = {.scheme = AuthScheme::kBasic, .realm = "r"};
    EXPECT_EQ(write(challenge), "Basic realm=\"r\"");
    const UserInfo login = {"Aladdin", "open sesame"};
    const Credentials made = answer(challenge, login, "PLAY", "*", "", 1);
    EXPECT_EQ(write(made), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");  // RFC 7617 §2
    const std::optional<Credentials> shown =
        parse_credentials("basic  QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    ASSERT_TRUE(shown);
    EXPECT_EQ(*shown, made);
    EXPECT_TRUE(verify(*shown, "r", "open sesame", "PLAY"));
    EXPECT_FALSE(verify(*shown, "r", "open", "PLAY"));
    EXPECT_EQ(parse_credentials("Basic dTphOmI=")->password, "a:b");
    EXPECT_FALSE(parse_credentials("Basic !"));
    EXPECT_FALSE(parse_credentials("Basic dXNlcg=="));
    EXPECT_FALSE(parse_credentials("Basic "));
}

}  // namespace
}  // namespace weir::http
