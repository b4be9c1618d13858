// A file descriptor and nothing else: closed when the object goes.
#pragma once

#include <utility>

#include <unistd.h>

namespace weir::io {

class OwnFd {
  public:
    OwnFd() = default;

    explicit OwnFd(int fd) : fd_(fd) {}  // negative: none

    OwnFd(OwnFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

    OwnFd& operator=(OwnFd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }

    OwnFd(const OwnFd&) = delete;
    OwnFd& operator=(const OwnFd&) = delete;

    ~OwnFd() { reset(); }

    int get() const { return fd_; }

    explicit operator bool() const { return fd_ >= 0; }

    // For somebody else to close.
    int release() { return std::exchange(fd_, -1); }

    void reset() {
        if (fd_ >= 0) {
            ::close(fd_);
            fd_ = -1;
        }
    }

  private:
    int fd_ = -1;
};

}  // namespace weir::io
