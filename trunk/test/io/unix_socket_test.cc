#include "io/unix_socket.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "io/deadline.h"
#include "io/own_fd.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

class UnixSocketTest : public testing::Test {
  protected:
    UnixSocketTest() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "weir-unix-XXXXXX").string();
        EXPECT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }

    ~UnixSocketTest() override { std::filesystem::remove_all(folder_); }

    // A listening socket with room for `backlog` connections that wait.
    OwnFd listen_at(const std::string& path, int backlog) {
        OwnFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::ranges::copy(path, address.sun_path);
        EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(fd.get(), backlog), 0);
        return fd;
    }

    std::string folder_;
};

TEST_F(UnixSocketTest, BytesGoInBothDirections) {
    const std::string path = folder_ + "/s";
    const OwnFd listening = listen_at(path, 4);
    Result<std::unique_ptr<TcpStream>> stream = connect_unix(path, soon());
    ASSERT_TRUE(stream.ok()) << stream.error().message();
    const OwnFd other(accept(listening.get(), nullptr, nullptr));
    ASSERT_FALSE((*stream)->write_all(as_bytes("ask"), soon()));
    std::array<char, 8> got{};
    ASSERT_EQ(read(other.get(), got.data(), got.size()), 3);
    EXPECT_EQ(std::string_view(got.data(), 3), "ask");
    ASSERT_EQ(write(other.get(), "answer", 6), 6);
    std::array<uint8_t, 8> answer{};
    const Result<size_t> size = (*stream)->read_some(answer, soon());
    ASSERT_TRUE(size.ok());
    EXPECT_EQ(as_text({answer.data(), *size}), "answer");
    EXPECT_TRUE((*stream)->peer().is_loopback());
}

TEST_F(UnixSocketTest, WhoIsNotThereIsSaidAtOnce) {
    const auto refused = connect_unix(folder_ + "/nobody", soon());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kSystem);
    EXPECT_EQ(connect_unix(std::string(kMaxUnixPath + 1, 'x'), soon()).error().code(),
              ErrorCode::kLimit);
}

TEST_F(UnixSocketTest, WhoTakesNobodyIsGivenUp) {
    const std::string path = folder_ + "/s";
    const OwnFd listening = listen_at(path, 0);
    const auto first = connect_unix(path, soon());
    ASSERT_TRUE(first.ok());
    const auto late = connect_unix(path, Deadline::after(Millis(20)));
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code(), ErrorCode::kTimeout);
}

}  // namespace
}  // namespace weir::io
