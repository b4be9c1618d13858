#include "proto/dtls/fingerprint.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace weir::dtls {
namespace {

constexpr std::string_view kText =
    "6B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0:A1:2C:19:"
    "08";

TEST(FingerprintTest, ReadsBothCasesAndWritesUpperCase) {
    const std::optional<Fingerprint> upper = Fingerprint::parse(kText);
    ASSERT_TRUE(upper);
    EXPECT_EQ(upper->sha256[0], 0x6B);
    EXPECT_EQ(upper->sha256[31], 0x08);
    EXPECT_EQ(upper->to_string(), kText);
    EXPECT_EQ(Fingerprint::parse(to_lower(kText)), upper);
}

TEST(FingerprintTest, RefusesWhatIsNotThirtyTwoBytes) {
    for (size_t size = 0; size < kText.size(); size++) {
        EXPECT_FALSE(Fingerprint::parse(kText.substr(0, size))) << size;
    }
    EXPECT_FALSE(Fingerprint::parse(std::string(kText) + ":00"));
}

TEST(FingerprintTest, RefusesEveryOtherCharacter) {
    for (size_t at = 0; at < kText.size(); at++) {
        std::string text(kText);
        text[at] = 'g';
        EXPECT_FALSE(Fingerprint::parse(text)) << at;
    }
}

}  // namespace
}  // namespace weir::dtls
