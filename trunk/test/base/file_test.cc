#include "base/file.h"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;

class FileTest : public testing::Test {
  protected:
    FileTest()
        : folder_(std::filesystem::temp_directory_path() /
                  ("weir-file-test-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(folder_);
    }

    ~FileTest() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_;
};

TEST_F(FileTest, OpensWhatIsThereAlsoByALink) {
    std::ofstream(folder_ / "a") << "text";
    std::filesystem::create_symlink("a", folder_ / "b");  // as Kubernetes mounts secrets
    const auto file = open_regular_file(folder_ / "b");
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(std::fgetc(file->get()), 't');
}

TEST_F(FileTest, SaysWhatIsWrong) {
    const std::string path = folder_ / "nothing";
    const auto file = open_regular_file(path);
    ASSERT_FALSE(file.ok());
    EXPECT_THAT(std::string(file.error().message()), HasSubstr(path + ": cannot be opened"));
    EXPECT_THAT(std::string(file.error().message()), HasSubstr("No such file"));
}

TEST_F(FileTest, DoesNotWaitForAPipe) {
    const std::string pipe = folder_ / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    for (const std::string& path : {pipe, folder_.string()}) {
        const auto file = open_regular_file(path);
        ASSERT_FALSE(file.ok());
        EXPECT_THAT(std::string(file.error().message()), HasSubstr("not a regular file"));
    }
}

}  // namespace
}  // namespace weir
