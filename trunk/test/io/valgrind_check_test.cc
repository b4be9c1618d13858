#include "io/valgrind_check.h"

#include <gtest/gtest.h>

namespace weir::io {
namespace {

// Under valgrind itself it is scripts/e2e/leaks that looks.
TEST(ValgrindCheckTest, WithoutValgrindThereIsNoCheck) {
    if (on_valgrind()) {
        return;
    }
    for (const ValgrindCheck check :
         {ValgrindCheck::kFull, ValgrindCheck::kAdded, ValgrindCheck::kChanged,
          ValgrindCheck::kQuick, ValgrindCheck::kNew}) {
        const Result<ValgrindReport> report = valgrind_leak_check(check, 1000);
        ASSERT_FALSE(report.ok());
        EXPECT_EQ(report.error().code(), ErrorCode::kUnsupported);
    }
}

}  // namespace
}  // namespace weir::io
