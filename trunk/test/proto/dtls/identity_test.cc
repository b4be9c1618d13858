#include "proto/dtls/identity.h"

#include <gtest/gtest.h>

namespace weir::dtls {
namespace {

TEST(IdentityTest, IsAnotherOneEachTime) {
    const auto first = *Identity::create();
    const auto second = *Identity::create();
    EXPECT_NE(first->fingerprint(), second->fingerprint());
    EXPECT_NE(first->fingerprint(), Fingerprint{});
    EXPECT_NE(first->context(), nullptr);
}

}  // namespace
}  // namespace weir::dtls
