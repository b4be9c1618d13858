#include "base/base64.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "base/hmac.h"

namespace weir {
namespace {

// RFC 4648 §10.
TEST(Base64Test, ReadsTheVectorsOfTheBook) {
    constexpr std::pair<std::string_view, std::string_view> kVectors[] = {{"", ""},
                                                                          {"f", "Zg=="},
                                                                          {"fo", "Zm8="},
                                                                          {"foo", "Zm9v"},
                                                                          {"foob", "Zm9vYg=="},
                                                                          {"fooba", "Zm9vYmE="},
                                                                          {"foobar", "Zm9vYmFy"}};
    for (const auto& [plain, text] : kVectors) {
        const auto bytes = parse_base64(text);
        ASSERT_TRUE(bytes) << text;
        EXPECT_EQ(as_text(*bytes), plain);
        const std::string_view bare = text.substr(0, text.find('='));
        EXPECT_EQ(base64url(as_bytes(plain)), bare);
        ASSERT_TRUE(parse_base64url(bare));
        EXPECT_EQ(as_text(*parse_base64url(bare)), plain);
    }
}

TEST(Base64Test, UsesTheAlphabetOfUrls) {
    const Bytes bytes = {0xFB, 0xFF, 0xBF};
    EXPECT_EQ(base64(bytes), "+/+/");
    EXPECT_EQ(base64url(bytes), "-_-_");
    EXPECT_EQ(parse_base64url("-_-_"), bytes);
    EXPECT_EQ(parse_base64("+/+/"), bytes);
    EXPECT_FALSE(parse_base64url("+/+/"));
    EXPECT_FALSE(parse_base64("-_-_"));
}

// Each value has one text: what an encoder would not write is refused.
TEST(Base64Test, RefusesWhatNoEncoderWrites) {
    for (const char* text : {"Zg=", "Zg", "Zg===", "Z", "Zh==", "Zm9=", "Zm 9v", "Zm9v\n",
                             "====", "=", "Z===", "Zg==Zg==", "Zm\xC3\xA9v"}) {
        EXPECT_FALSE(parse_base64(text)) << text;
    }
    for (const char* text : {"Zg==", "Z", "Zh", "Zm9", "Zm9v.", " Zm9v", "Zm9vYmFyQ"}) {
        EXPECT_FALSE(parse_base64url(text)) << text;
    }
}

TEST(Base64Test, ReadsBackWhatItWritesAtEveryLength) {
    Bytes bytes;
    for (unsigned i = 0; i < 200; i++) {
        EXPECT_EQ(parse_base64(base64(bytes)), bytes) << i;
        EXPECT_EQ(parse_base64url(base64url(bytes)), bytes) << i;
        bytes.push_back(static_cast<uint8_t>(i * 167 + 13));
    }
}

TEST(Base64Test, RefusesEveryOtherCharacterAtEveryPlace) {
    constexpr std::string_view kBoth =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (size_t place = 0; place < 8; place++) {
        for (int value = 0; value < 256; value++) {
            std::string text = "QUJDREUG";
            const char c = static_cast<char>(value);
            text[place] = c;
            const bool common = kBoth.find(c) != std::string_view::npos;
            EXPECT_EQ(parse_base64(text).has_value(),
                      common || c == '+' || c == '/' || (c == '=' && place == 7))
                << place << " " << value;
            EXPECT_EQ(parse_base64url(text).has_value(), common || c == '-' || c == '_')
                << place << " " << value;
        }
    }
}

}  // namespace
}  // namespace weir
