#include "base/error.h"

#include <cerrno>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

Error fail_if(bool fail) {
    return fail ? make_error(ErrorCode::kLimit, "{} is over {}", 3, 2) : Error();
}

Result<int> number_if(bool give) {
    if (!give) {
        return make_error(ErrorCode::kNotFound, "no number");
    }
    return 7;
}

Error tries(bool fail, bool& went_on) {
    WEIR_TRY(fail_if(fail));
    went_on = true;
    return {};
}

Result<int> doubles(bool give) {
    WEIR_TRY_ASSIGN(const int value, number_if(give));
    return value * 2;
}

TEST(ErrorTest, NothingMeansSuccess) {
    const Error none;
    EXPECT_FALSE(none);
    EXPECT_EQ(none.code(), ErrorCode::kOk);
    EXPECT_EQ(none.message(), "");
    EXPECT_EQ(none.to_string(), "ok");
}

TEST(ErrorTest, CarriesCodeMessageAndThePlaceWhereItWasMade) {
    const Error error = fail_if(true);
    EXPECT_TRUE(error);
    EXPECT_EQ(error.code(), ErrorCode::kLimit);
    EXPECT_EQ(error.message(), "3 is over 2");
    EXPECT_EQ(error.to_string(), "limit: 3 is over 2");
    EXPECT_NE(error.where().find("error_test.cc:"), std::string::npos) << error.where();
}

TEST(ErrorTest, IsOnePointer) {
    EXPECT_EQ(sizeof(Error), sizeof(void*));
}

TEST(ErrorTest, PutsContextInFrontAndKeepsTheCode) {
    const Error error = fail_if(true).with_context("second").with_context("first");
    EXPECT_EQ(error.message(), "first: second: 3 is over 2");
    EXPECT_EQ(error.code(), ErrorCode::kLimit);
}

TEST(ErrorTest, ContextLeavesSuccessAlone) {
    EXPECT_FALSE(Error().with_context("doing"));
}

TEST(ErrorTest, ExplainsAnErrno) {
    const Error error = Error::from_errno(ENOENT, "open x");
    EXPECT_EQ(error.code(), ErrorCode::kSystem);
    EXPECT_EQ(error.message(), "open x: No such file or directory");
}

TEST(ErrorTest, MovedFromIsSuccess) {
    Error error = fail_if(true);
    const Error taken = std::move(error);
    EXPECT_TRUE(taken);
    EXPECT_FALSE(error);  // NOLINT(bugprone-use-after-move): what is tested
}

TEST(ErrorTest, EveryCodeHasANameOfItsOwn) {
    std::string seen = ",";
    for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); code++) {
        const std::string name(to_string(static_cast<ErrorCode>(code)));
        EXPECT_FALSE(name.empty());
        EXPECT_EQ(seen.find("," + name + ","), std::string::npos) << name;
        seen += name + ",";
    }
}

TEST(ErrorTest, TryReturnsEarlyOnlyOnFailure) {
    bool went_on = false;
    EXPECT_TRUE(tries(true, went_on));
    EXPECT_FALSE(went_on);
    EXPECT_FALSE(tries(false, went_on));
    EXPECT_TRUE(went_on);
}

TEST(ResultTest, HoldsAValueOrAnError) {
    const Result<int> good = number_if(true);
    ASSERT_TRUE(good.ok());
    EXPECT_EQ(*good, 7);
    EXPECT_FALSE(good.error());
    const Result<int> bad = number_if(false);
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().code(), ErrorCode::kNotFound);
}

TEST(ResultTest, TryAssignPassesTheErrorOn) {
    EXPECT_EQ(doubles(true).value(), 14);
    EXPECT_EQ(doubles(false).error().message(), "no number");
}

TEST(ResultTest, GivesUpMoveOnlyValues) {
    Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
    const std::unique_ptr<int> taken = std::move(result).value();
    EXPECT_EQ(*taken, 5);
}

}  // namespace
}  // namespace weir
