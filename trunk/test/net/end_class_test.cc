#include "net/end_class.h"

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir::net {
namespace {

// A label of /metrics and a word for hook servers: two that are the same would be added up.
TEST(EndClassTest, EveryClassHasAWordOfItsOwn) {
    std::set<std::string_view> words;
    for (size_t i = 0; i < kEndClasses; i++) {
        const std::string_view word = to_string(static_cast<EndClass>(i));
        EXPECT_FALSE(word.empty());
        EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos)
            << word;
        words.insert(word);
    }
    EXPECT_EQ(words.size(), kEndClasses);
}

TEST(EndClassTest, WhoIsRefusedIsNotCountedAsAnError) {
    for (const ErrorCode code :
         {ErrorCode::kDenied, ErrorCode::kNotFound, ErrorCode::kBusy, ErrorCode::kFull}) {
        EXPECT_EQ(end_class(code), EndClass::kRefused) << to_string(code);
    }
}

TEST(EndClassTest, ABrokenPeerIsAnErrorAndAGoneOneIsNot) {
    EXPECT_EQ(end_class(ErrorCode::kOk), EndClass::kPeerClosed);
    EXPECT_EQ(end_class(ErrorCode::kClosed), EndClass::kPeerClosed);
    EXPECT_EQ(end_class(ErrorCode::kTimeout), EndClass::kTimeout);
    EXPECT_EQ(end_class(ErrorCode::kInterrupted), EndClass::kStopping);
    for (const ErrorCode code :
         {ErrorCode::kMalformed, ErrorCode::kLimit, ErrorCode::kSystem, ErrorCode::kInternal}) {
        EXPECT_EQ(end_class(code), EndClass::kError) << to_string(code);
    }
}

}  // namespace
}  // namespace weir::net
