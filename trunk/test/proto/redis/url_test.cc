#include "proto/redis/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::redis {
namespace {

using testing::HasSubstr;
using testing::Not;

Url url_of(std::string_view text) {
    Result<Url> url = Url::parse(text);
    EXPECT_TRUE(url.ok()) << text << ": " << (url.ok() ? "" : url.error().message());
    return url.ok() ? std::move(*url) : Url();
}

std::string error_of(std::string_view text) {
    Result<Url> url = Url::parse(text);
    EXPECT_FALSE(url.ok()) << text;
    return url.ok() ? "" : std::string(url.error().message());
}

TEST(RedisUrlTest, OneServerHasDefaults) {
    const Url url = url_of("redis://Cache.Example");
    EXPECT_EQ(url.kind, Kind::kSingle);
    EXPECT_FALSE(url.tls);
    EXPECT_EQ(url.hosts, (std::vector<Host>{{"cache.example", 6379}}));
    EXPECT_EQ(url.database, 0U);
    EXPECT_EQ(url.shown(), "redis://cache.example:6379");
}

TEST(RedisUrlTest, MayHaveALoginAPortAndADatabase) {
    const Url url = url_of("rediss://user%40x:p%3Aa%2Fs@s@[2001:DB8::1]:7000/3");
    EXPECT_TRUE(url.tls);
    EXPECT_EQ(url.user, "user@x");
    EXPECT_EQ(url.password, "p:a/s@s");
    EXPECT_EQ(url.hosts[0].name, "2001:db8::1");
    EXPECT_EQ(url.hosts[0].port, 7000);
    EXPECT_EQ(url.database, 3U);
    EXPECT_EQ(url.shown(), "rediss://[2001:db8::1]:7000/3");
    EXPECT_EQ(url_of("redis://:secret@h").password, "secret");
}

TEST(RedisUrlTest, SentinelsNameTheirMaster) {
    const Url url = url_of("redis+sentinel://:pw@a,b:7001,10.0.0.1/mymaster/2");
    EXPECT_EQ(url.kind, Kind::kSentinel);
    EXPECT_EQ(url.hosts, (std::vector<Host>{{"a", 26379}, {"b", 7001}, {"10.0.0.1", 26379}}));
    EXPECT_EQ(url.master, "mymaster");
    EXPECT_EQ(url.database, 2U);
    EXPECT_THAT(url.shown(), Not(HasSubstr("pw")));
}

TEST(RedisUrlTest, AClusterHasSeveralHosts) {
    const Url url = url_of("rediss+cluster://a:1,b");
    EXPECT_EQ(url.kind, Kind::kCluster);
    EXPECT_TRUE(url.tls);
    EXPECT_EQ(url.hosts, (std::vector<Host>{{"a", 1}, {"b", 6379}}));
}

TEST(RedisUrlTest, SaysWhatIsExpected) {
    EXPECT_THAT(error_of("http://h"), HasSubstr("redis://"));
    EXPECT_THAT(error_of("redis"), HasSubstr("redis://"));
    EXPECT_THAT(error_of("redis+x://h"), HasSubstr("redis+sentinel://"));
    EXPECT_THAT(error_of("redis://"), HasSubstr("a host"));
    EXPECT_THAT(error_of("redis://h:0"), HasSubstr("a port"));
    EXPECT_THAT(error_of("redis://h:1x"), HasSubstr("a port"));
    EXPECT_THAT(error_of("redis://[::1"), HasSubstr("]"));
    EXPECT_THAT(error_of("redis://a,b"), HasSubstr("one host"));
    EXPECT_THAT(error_of("redis://h/x"), HasSubstr("database"));
    EXPECT_THAT(error_of("redis://h/1024"), HasSubstr("database"));
    EXPECT_THAT(error_of("redis+sentinel://h"), HasSubstr("master"));
    EXPECT_THAT(error_of("redis+cluster://h/1"), HasSubstr("no database"));
    EXPECT_THAT(error_of("redis://pw@h"), HasSubstr(":PASSWORD@"));
    EXPECT_THAT(error_of("redis://:a%0Ab@h"), HasSubstr("control"));
}

TEST(RedisUrlTest, ErrorsShowNothingOfThePassword) {
    for (const char* text : {"redis://:secret@h:x", "redis://:secret@", "x://:secret@h",
                             "redis://secret@h", "redis://:secret@h/x", "redis://:secret@a,b"}) {
        EXPECT_THAT(error_of(text), Not(HasSubstr("secret"))) << text;
    }
}

TEST(RedisUrlTest, IsBounded) {
    std::string hosts = "redis+cluster://h";
    for (size_t i = 1; i < kMaxHosts; i++) {
        hosts += ",h";
    }
    EXPECT_EQ(url_of(hosts).hosts.size(), kMaxHosts);
    EXPECT_THAT(error_of(hosts + ",h"), HasSubstr("at most"));
    EXPECT_THAT(error_of("redis://" + std::string(kMaxUrlBytes, 'h')), HasSubstr("at most"));
    EXPECT_THAT(error_of("redis://:" + std::string(257, 'p') + "@h"), HasSubstr("at most 256"));
}

}  // namespace
}  // namespace weir::redis
