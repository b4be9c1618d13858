// Private to io/: the system calls of a connected socket, never blocking, never SIGPIPE.
//
// In a program with threads, libc's send(), sendmsg() and recv() are cancellation points: they say
// so before and after the call, and keep their state in the frame pointer meanwhile. A profile by
// frame pointers then ends in them, and nine tenths of a busy server's samples are there. So the
// system is called directly, except under AddressSanitizer, which looks at the memory in libc's
// calls.
#pragma once

#include <cerrno>
#include <cstdint>
#include <span>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/build.h"
#include "base/bytes.h"

namespace weir::io {

#if WEIR_ASAN
inline ssize_t receive_once(int fd, std::span<uint8_t> out) {
    return recv(fd, out.data(), out.size(), MSG_DONTWAIT);
}

inline ssize_t transmit_once(int fd, ByteSpan data) {
    return send(fd, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

inline ssize_t transmit_once(int fd, const msghdr& message) {
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}
#else
inline ssize_t receive_once(int fd, std::span<uint8_t> out) {
    return syscall(SYS_recvfrom, fd, out.data(), out.size(), MSG_DONTWAIT, nullptr, nullptr);
}

inline ssize_t transmit_once(int fd, ByteSpan data) {
    return syscall(SYS_sendto, fd, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL, nullptr,
                   0);
}

inline ssize_t transmit_once(int fd, const msghdr& message) {
    return syscall(SYS_sendmsg, fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}
#endif

// The same again while a signal interrupts them.
inline ssize_t receive(int fd, std::span<uint8_t> out) {
    ssize_t got = 0;
    do {
        got = receive_once(fd, out);
    } while (got < 0 && errno == EINTR);
    return got;
}

template <typename Data>
ssize_t transmit(int fd, const Data& data) {
    ssize_t written = 0;
    do {
        written = transmit_once(fd, data);
    } while (written < 0 && errno == EINTR);
    return written;
}

}  // namespace weir::io
