#include "base/safe_open.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace weir {
namespace {

// A folder that others may write to (as all are below /tmp), beside a file of the caller's own.
class SafeOpenTest : public testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/weir-open-test.XXXXXX";
        top_ = mkdtemp(name);
        std::filesystem::create_directory(top_ / "d");
        ASSERT_EQ(::chmod((top_ / "d").c_str(), 0777), 0);
        std::ofstream(top_ / "roots") << "kept";
    }

    void TearDown() override {
        if (!top_.empty()) {
            std::filesystem::remove_all(top_);
        }
    }

    // 0, or errno.
    int opens(const std::string& name) const {
        const int fd = open_distrustfully(top_ / name, O_WRONLY | O_APPEND, 0640);
        if (fd < 0) {
            return errno;
        }
        ::close(fd);
        return 0;
    }

    std::filesystem::path top_;
};

TEST_F(SafeOpenTest, MakesAndOpensFilesAnywhere) {
    EXPECT_EQ(opens("d/log"), 0);
    EXPECT_EQ(opens("d/log"), 0);
    EXPECT_EQ(opens("new"), 0);
    EXPECT_EQ(opens("roots"), 0);
    EXPECT_EQ(opens("no/log"), ENOENT);
    EXPECT_EQ(opens("d/"), EISDIR);
}

TEST_F(SafeOpenTest, FollowsNoLinkThatAnotherUserMayHaveMade) {
    std::filesystem::create_symlink(top_ / "roots", top_ / "d" / "log");
    EXPECT_EQ(opens("d/log"), ELOOP);
    std::filesystem::create_symlink(top_ / "made", top_ / "d" / "new");
    EXPECT_EQ(opens("d/new"), ELOOP);
    EXPECT_FALSE(std::filesystem::exists(top_ / "made"));
    std::filesystem::create_directory_symlink(top_, top_ / "d" / "up");
    EXPECT_EQ(opens("d/up/roots"), ENOTDIR);
    std::filesystem::create_hard_link(top_ / "roots", top_ / "d" / "second");
    EXPECT_EQ(opens("d/second"), EMLINK);
}

// As /var/run, and as /dev/stdout.
TEST_F(SafeOpenTest, FollowsLinksInFoldersOfRoot) {
    const int fd = open_distrustfully("/dev/fd/1", O_WRONLY | O_APPEND | O_NONBLOCK, 0640);
    EXPECT_TRUE(fd >= 0 || errno != ELOOP) << errno;
    if (fd >= 0) {
        ::close(fd);
    }
}

TEST_F(SafeOpenTest, GivesTheOpenFileAndNoDevice) {
    const int fd = open_distrustfully(top_ / "d" / "log", O_WRONLY, 0640);
    const uid_t other = geteuid() == 0 ? 65534 : geteuid();
    const gid_t group = geteuid() == 0 ? 65534 : getegid();
    ASSERT_GE(fd, 0);
    ASSERT_EQ(give_away(fd, other, group), 0);

    struct stat facts {};

    ASSERT_EQ(::fstat(fd, &facts), 0);
    EXPECT_EQ(facts.st_uid, other);
    ::close(fd);
    const int device = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(give_away(device, other, group), 0);
    ASSERT_EQ(::fstat(device, &facts), 0);
    EXPECT_EQ(facts.st_uid, 0U);
    ::close(device);
}

}  // namespace
}  // namespace weir
