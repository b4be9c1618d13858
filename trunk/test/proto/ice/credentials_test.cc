#include "proto/ice/credentials.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "test/proto/ice/support.h"

namespace weir::ice {
namespace {

TEST(IceCredentialsTest, AreMadeOfTheRandomnessThatIsGiven) {
    test::SeededRandom random(5);
    test::SeededRandom same(5);
    Credentials credentials = Credentials::make(random);
    EXPECT_EQ(credentials, Credentials::make(same));
    EXPECT_NE(credentials, Credentials::make(random));
}

TEST(IceCredentialsTest, AreValidInASessionDescription) {
    test::SeededRandom random(6);
    std::set<std::string> fragments;
    std::set<char> characters;
    for (int i = 0; i < 500; i++) {
        Credentials credentials = Credentials::make(random);
        ASSERT_TRUE(is_valid_ufrag(credentials.ufrag_text()));
        ASSERT_TRUE(is_valid_password(credentials.password_text()));
        fragments.emplace(credentials.ufrag_text());
        characters.insert(credentials.password.begin(), credentials.password.end());
    }
    EXPECT_EQ(fragments.size(), 500U);
    EXPECT_EQ(characters.size(), 64U);
}

TEST(IceCredentialsTest, AMarkIsFoundInTheFragmentAgain) {
    test::SeededRandom random(1);
    for (uint8_t mark = 0; mark <= kMaxMark; mark++) {
        const Credentials credentials = Credentials::make(random, mark);
        EXPECT_EQ(ufrag_mark(credentials.ufrag_text()), mark);
        EXPECT_TRUE(is_valid_ufrag(credentials.ufrag_text()));
    }
    EXPECT_EQ(ufrag_mark("AAAA"), std::nullopt) << "none of ours";
    EXPECT_EQ(ufrag_mark("AAAAAAAAA"), std::nullopt);
    EXPECT_EQ(ufrag_mark("-AAAAAAA"), std::nullopt);
    EXPECT_EQ(ufrag_mark(""), std::nullopt);
}

TEST(IceCredentialsTest, SplitsTheUserNameOfACheck) {
    EXPECT_EQ(split_username("ours:theirs").local, "ours");
    EXPECT_EQ(split_username("ours:theirs").remote, "theirs");
    EXPECT_EQ(split_username("ours:a:b").remote, "a:b");
    EXPECT_EQ(split_username("ours:").local, "ours");
    EXPECT_EQ(split_username("ours").local, "");
    EXPECT_EQ(split_username(":theirs").remote, "");
    EXPECT_EQ(split_username("").local, "");
}

TEST(IceCredentialsTest, ChecksLengthsAndCharacters) {
    EXPECT_TRUE(is_valid_ufrag("a+/9"));
    EXPECT_FALSE(is_valid_ufrag("abc"));
    EXPECT_TRUE(is_valid_ufrag(std::string(256, 'a')));
    EXPECT_FALSE(is_valid_ufrag(std::string(257, 'a')));
    EXPECT_FALSE(is_valid_ufrag("abc:"));
    EXPECT_FALSE(is_valid_ufrag("abc d"));
    EXPECT_TRUE(is_valid_password(std::string(22, 'p')));
    EXPECT_FALSE(is_valid_password(std::string(21, 'p')));
}

}  // namespace
}  // namespace weir::ice
