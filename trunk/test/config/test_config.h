// Configurations for tests.
#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include "base/config_parser.h"
#include "config/config.h"

namespace weir::config {

inline Config config_of(std::string_view text) {
    ParseOutcome outcome = parse_config(text, "/nowhere/t.conf");
    EXPECT_TRUE(outcome.ok()) << to_string(outcome.errors);
    return outcome.ok() ? *outcome.config : Config{};
}

}  // namespace weir::config
