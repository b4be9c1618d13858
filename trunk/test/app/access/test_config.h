// Configurations and secret files for tests of app/access/.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "app/access/access_data.h"
#include "base/check.h"
#include "config/config.h"

#include "test/config/test_config.h"

namespace weir::app {

using config::config_of;

inline std::shared_ptr<const AccessData> secrets_of(const config::Config& config) {
    auto loaded = AccessData::load(config);
    EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
    return loaded.ok() ? *loaded : std::make_shared<const AccessData>();
}

// A folder that is gone after the test.
class SecretFolder {
  public:
    SecretFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "weir-test-XXXXXX").string();
        WEIR_CHECK(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }

    SecretFolder(const SecretFolder&) = delete;
    SecretFolder& operator=(const SecretFolder&) = delete;

    ~SecretFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

    // As careful tools do it: written beside, then moved there, so that it is never half.
    std::string write(std::string_view name, std::string_view text) const {
        const std::string beside = path(std::string(name) + ".new");
        std::ofstream(beside) << text;
        std::filesystem::rename(beside, path(name));
        return path(name);
    }

  private:
    std::string path_;
};

}  // namespace weir::app
