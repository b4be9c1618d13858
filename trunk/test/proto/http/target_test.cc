#include "proto/http/target.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

TEST(HttpTargetTest, SplitsPathAndQuery) {
    auto target = parse_target("/live/a.flv?vhost=v.example&empty=&flag&k=1%262");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->path, "/live/a.flv");
    EXPECT_EQ(target->query_text, "vhost=v.example&empty=&flag&k=1%262");
    EXPECT_EQ(target->query.get("vhost"), "v.example");
    EXPECT_EQ(target->query.get("empty"), "");
    EXPECT_EQ(target->query.get("flag"), "");
    EXPECT_EQ(target->query.get("k"), "1&2");
    EXPECT_EQ(target->query.get("none"), std::nullopt);
    EXPECT_EQ(target->query.get_or("none", "x"), "x");
    EXPECT_EQ(target->query.size(), 4U);
}

TEST(HttpTargetTest, KeepsAPlusInTheQuery) {
    EXPECT_EQ(parse_target("/?key=a+b%20c")->query.get("key"), "a+b c");
}

TEST(HttpTargetTest, NormalisesPaths) {
    struct Case {
        const char* path;
        const char* normalised;  // nullptr: refused
    };

    const Case cases[] = {
        {"/", "/"},
        {"//", "/"},
        {"/a/b", "/a/b"},
        {"/a//b/", "/a/b/"},
        {"/./a/./b/.", "/a/b/"},
        {"/a/b/..", "/a/"},
        {"/a/../b", "/b"},
        {"/a/..", "/"},
        {"/..a/b..", "/..a/b.."},
        {"/.../a", "/.../a"},
        {"/..", nullptr},
        {"/a/../..", nullptr},
        {"/a/../../b", nullptr},
        {"a", nullptr},
        {"", nullptr},
    };
    for (const Case& c : cases) {
        auto normalised = normalised_path(c.path);
        EXPECT_EQ(normalised.has_value(), c.normalised != nullptr) << c.path;
        if (normalised && c.normalised != nullptr) {
            EXPECT_EQ(*normalised, c.normalised) << c.path;
            EXPECT_EQ(normalised_path(*normalised), normalised)
                << "normalising twice changes " << c.path;
        }
    }
}

TEST(HttpTargetTest, DecodesBeforeItNormalises) {
    EXPECT_EQ(parse_target("/a/%2e%2e/b")->path, "/b");
    EXPECT_EQ(parse_target("/a%2Fb")->path, "/a/b");
    EXPECT_FALSE(parse_target("/%2e%2e/b"));
    EXPECT_FALSE(parse_target("/%2e%2e%2fb"));
    EXPECT_EQ(parse_target("/%252e%252e/b")->path, "/%2e%2e/b") << "decoded once only";
}

TEST(HttpTargetTest, RefusesControlCharactersAndBrokenEscapes) {
    for (const char* target : {"/%00", "/a%0a", "/%7f", "/%1F", "/%", "/%4", "/%4g", "/%%41",
                               "/?a=%00", "/?a=%zz", "/?%0d=b"}) {
        EXPECT_FALSE(parse_target(target)) << target;
    }
}

TEST(HttpTargetTest, TakesTheFourFormsItKnows) {
    EXPECT_EQ(parse_target("*")->path, "*");
    EXPECT_EQ(parse_target("http://h:8080")->path, "/");
    EXPECT_EQ(parse_target("HTTPS://h/a?b")->query_text, "b");
    EXPECT_EQ(parse_target("ws://h?x=y")->query.get("x"), "y");
    EXPECT_EQ(parse_target("http://h:8080/a")->authority, "h:8080");
    for (const char* target :
         {"", "a", "h:443", "ftp://h/a", "http://", "http:///a", "http://user@h/a", "/a#b", "?a"}) {
        EXPECT_FALSE(parse_target(target)) << target;
    }
}

TEST(HttpTargetTest, LimitsTheParameters) {
    std::string query = "/?";
    for (size_t i = 0; i < kMaxQueryParameters; i++) {
        query += "a=b&";
    }
    EXPECT_TRUE(parse_target(query));
    EXPECT_FALSE(parse_target(query + "c=d"));
}

TEST(HttpTargetTest, EncodesWhatItDecodes) {
    std::string all;
    for (int c = 1; c < 256; c++) {
        all.push_back(static_cast<char>(c));
    }
    EXPECT_EQ(percent_decoded(percent_encoded(all)), all);
    EXPECT_EQ(percent_encoded("/a b/\xC3\xA4?"), "/a%20b/%C3%A4%3F");
}

}  // namespace
}  // namespace weir::http
