#include "base/redact.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

TEST(RedactTest, OfAConfiguredUrlNeitherLoginNorQueryAreShown) {
    EXPECT_EQ(hidden_url("http://h:8085/hook"), "http://h:8085/hook");
    EXPECT_EQ(hidden_url("http://h/hook?a=b&key=c"), "http://h/hook?***");
    EXPECT_EQ(hidden_url("http://h?s3cret"), "http://h?***");
    EXPECT_EQ(hidden_url("http://h/a#s3cret"), "http://h/a#***");
    EXPECT_EQ(hidden_url("http://h/a?"), "http://h/a");
    EXPECT_EQ(hidden_url("http://u:p@h/"), "http://***@h/");
    EXPECT_EQ(hidden_url("http://u:p@ss/word@h/x"), "http://***@h/x");
    EXPECT_EQ(hidden_url("rtsp://u:p?q@h/"), "rtsp://***@h/") << "'?' should be written %3F";
    EXPECT_EQ(hidden_url("http://admin:hunter2#x@host/a?b#c"), "http://***@host/a?***");
    EXPECT_EQ(hidden_url("http://u:p@s#x@host/"), "http://***@host/");
    EXPECT_EQ(hidden_url("http://h/a?mail=u@x"), "http://h/a?***");
    EXPECT_EQ(hidden_url("/etc/channels.m3u"), "/etc/channels.m3u");
    EXPECT_EQ(hidden_url(""), "");
}

TEST(RedactTest, OfAHookOnlyTheHostIsShown) {
    EXPECT_EQ(hidden_path("http://h:8085/hook/s3cret"), "http://h:8085/***");
    EXPECT_EQ(hidden_path("https://u:p@h/hook?a=b"), "https://***@h/***");
    EXPECT_EQ(hidden_path("http://h?s3cret"), "http://h/***");
    EXPECT_EQ(hidden_path("http://[2001:db8::1]:80/a"), "http://[2001:db8::1]:80/***");
    EXPECT_EQ(hidden_path("http://h/"), "http://h/");
    EXPECT_EQ(hidden_path("http://h"), "http://h");
    EXPECT_EQ(hidden_path("/etc/channels.m3u"), "/etc/channels.m3u");
    EXPECT_EQ(path_of_url("https://u:p@h/hook/s3cret?a=b"), "hook/s3cret");
    EXPECT_EQ(path_of_url("http://h"), "");
    EXPECT_EQ(path_of_url("/etc/channels.m3u"), "");
}

TEST(RedactTest, ListsWhatAConfiguredUrlHides) {
    using Texts = std::vector<std::string>;
    EXPECT_EQ(secrets_of_url("http://joe:p%40ss@h/a?x=1&y=b%20c&bare"),
              (Texts{"joe", "joe", "p%40ss", "p@ss", "1", "b c", "bare"}));
    EXPECT_EQ(secrets_of_url("http://h/a"), Texts{});
    EXPECT_EQ(secrets_of_url("a@b?c=d"), Texts{});
    EXPECT_THAT(secrets_of_url("http://admin:hunter2#x@host/"), Contains("hunter2#x"));
    EXPECT_THAT(secrets_of_url("http://u:p@host?mail=a@b"), IsSupersetOf({"u", "p", "a@b"}))
        << "or is the password p@host?mail=a";
}

TEST(RedactTest, ListsWhatMayBeSecretInAnArgument) {
    EXPECT_THAT(secrets_of_argument("[f=flv]rtmp://a/app/KEY1|[f=flv]rtmp://u:pw@b/app/KEY2?q=3"),
                IsSupersetOf({"KEY1", "KEY2", "pw", "3"}));
    EXPECT_THAT(secrets_of_argument("rtmp://a/app/KEY1,rtmp://b/app/KEY2"),
                IsSupersetOf({"KEY1", "KEY2"}));
    EXPECT_THAT(secrets_of_argument("rtmp://u:p|w@b/KEY"), IsSupersetOf({"p|w", "KEY"}));
    EXPECT_THAT(secrets_of_argument("http://h/?to=rtmp://b/app/KEY"), Contains("KEY"));
    EXPECT_THAT(secrets_of_argument("--token=a=b"), ElementsAre("a=b"));
    EXPECT_THAT(secrets_of_argument("-passphrase"), IsEmpty());
    EXPECT_THAT(secrets_of_argument("a=b"), IsEmpty()) << "no option: a secret as a whole";
}

TEST(RedactTest, HidesSecretsOfTheQuery) {
    EXPECT_EQ(redacted_url("rtmp://host/live?vhost=a.b&key=s3cret&x=1"),
              "rtmp://host/live?vhost=a.b&key=***&x=1");
    EXPECT_EQ(redacted_url("http://h/p?TOKEN=s3cret#key=s3cret"), "http://h/p?TOKEN=***");
    EXPECT_EQ(redacted_url("?key=a=b"), "?key=***");
    EXPECT_EQ(redacted_url("live?%6Bey=s3cret"), "live?%6Bey=***");
}

// What encoders make of a second login (see proto/rtmp/adobe_auth.h).
TEST(RedactTest, HidesSecretsBehindASecondQuestionMark) {
    EXPECT_EQ(redacted_url("rtmp://h/live?key=a?authmod=adobe&user=u&response=abc/+==&opaque=o"),
              "rtmp://h/live?key=***?authmod=adobe&user=u&response=***&opaque=o");
}

TEST(RedactTest, HidesASecretThatHoldsASemicolonAHashOrAQuestionMark) {
    EXPECT_EQ(redacted_url("rtmp://h/live?key=abc;def"), "rtmp://h/live?key=***");
    EXPECT_EQ(redacted_url("rtmp://h/live?key=abc#def&x=1"), "rtmp://h/live?key=***&x=1");
    EXPECT_EQ(redacted_url("/live?key=abc?def&token=x;y"), "/live?key=***&token=***");
}

TEST(RedactTest, HidesUserAndPassword) {
    EXPECT_EQ(redacted_url("rtmp://user:pass@host:1935/live"), "rtmp://***@host:1935/live");
    EXPECT_EQ(redacted_url("rtmp://u:p@ss@host/live"), "rtmp://***@host/live");
    EXPECT_EQ(redacted_url("rtmp://host/live@home"), "rtmp://host/live@home");
    EXPECT_EQ(redacted_url("rtmp://a:b@host"), "rtmp://***@host");
}

TEST(RedactTest, LeavesTheRestAlone) {
    for (const char* url : {"", "rtmp://host/live", "http://h/?monkey=1&keys=2", "?key", "a?b?c&d",
                            "host/path?u=http://x/y", "://", "rtmp://"}) {
        EXPECT_EQ(redacted_url(url), url);
    }
}

TEST(RedactTest, HidesTheNamesThatServersGiveToSecrets) {
    for (const std::string_view secret :
         {"key",      "token", "access_token", "auth",      "auth_key",   "jwt",
          "pass",     "pwd",   "passwd",       "password",  "passphrase", "secret",
          "sig",      "sign",  "signature",    "streamkey", "stream_key", "Key",
          "PASSWORD", "%6bey", "s%65cret"}) {
        const std::string name(secret);
        EXPECT_EQ(redacted_url("rtmp://h/a?" + name + "=s3cret&x=1"),
                  "rtmp://h/a?" + name + "=***&x=1");
        EXPECT_EQ(redacted_url("rtmp://h/a?x=1&" + name + "=s3cret"),
                  "rtmp://h/a?x=1&" + name + "=***");
    }
    EXPECT_FALSE(is_secret_parameter("vhost"));
    EXPECT_FALSE(is_secret_parameter("keys"));
    EXPECT_FALSE(is_secret_parameter(""));
}

TEST(RedactTest, HidesEachOfSeveralAndAlsoEmptyOnes) {
    EXPECT_EQ(redacted_url("/live?key=a&key=b&key=&key"), "/live?key=***&key=***&key=***&key");
    EXPECT_EQ(redacted_url("/live?=x&&token=t&"), "/live?=x&&token=***&");
}

TEST(RedactTest, OnlyTheHostsPartHasAUser) {
    EXPECT_EQ(redacted_url("srt://h?mail=u@x&key=u@x"), "srt://h?mail=u@x&key=***");
    EXPECT_EQ(redacted_url("http://@h/"), "http://@h/") << "nothing to hide";
}

}  // namespace
}  // namespace weir
