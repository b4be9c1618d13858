#if WEIR_SRT

#include "io/srt/srt_datagrams.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include <sys/socket.h>

#include <dlfcn.h>

#include "base/net_address.h"
#include "io/srt/srt_bridge.h"
#include "io/srt/srt_greeting.h"
#include "io/srt/srt_sizes.h"

// NOLINTNEXTLINE(readability-identifier-naming): of the C library
extern "C" __attribute__((visibility("default"))) ssize_t recvmsg(int fd,
                                                                  msghdr* message,
                                                                  int flags);

namespace weir::io {
namespace {

struct Judges {
    std::mutex mutex;  // guards what follows
    std::map<int, SrtHandshakes*> by_socket;
};

Judges& judges() {
    static Judges all;
    return all;
}

Millis& heard() {
    thread_local Millis latency{0};
    return latency;
}

// False: it is dropped.
bool judge(int fd, const sockaddr& peer, const SrtGreeting& greeting, std::span<uint8_t> body) {
    uint32_t most = kSrtMostPackets;
    if (greeting.to_listener && greeting.conclusion) {
        Judges& all = judges();
        const std::lock_guard lock(all.mutex);
        if (const auto found = all.by_socket.find(fd); found != all.by_socket.end()) {
            if (!found->second->hears(NetAddress::from_sockaddr(peer))) {
                return false;
            }
            most = found->second->flight_window(greeting.latency);
        }
        heard() = greeting.latency;
    }
    if (greeting.window > most) {
        set_srt_window(body, most);
    }
    return true;
}

// libsrt reads a header of 16 bytes and a body.
bool pass(int fd, const msghdr& message, size_t size) {
    if (message.msg_iovlen != 2 || message.msg_iov[0].iov_len != kSrtHeader || size < kSrtHeader ||
        message.msg_name == nullptr) {
        return true;
    }
    const std::span<uint8_t> header(static_cast<uint8_t*>(message.msg_iov[0].iov_base), kSrtHeader);
    const std::span<uint8_t> body(static_cast<uint8_t*>(message.msg_iov[1].iov_base),
                                  std::min(size - kSrtHeader, size_t{message.msg_iov[1].iov_len}));
    const std::optional<SrtGreeting> greeting = SrtGreeting::parse(header, body);
    return !greeting || judge(fd, *static_cast<const sockaddr*>(message.msg_name), *greeting, body);
}

}  // namespace

void set_srt_judge(int fd, SrtHandshakes& judge) {
    Judges& all = judges();
    const std::lock_guard lock(all.mutex);
    all.by_socket[fd] = &judge;
}

void forget_srt_judge(const SrtHandshakes& judge) {
    Judges& all = judges();
    const std::lock_guard lock(all.mutex);
    std::erase_if(all.by_socket, [&judge](const auto& each) { return each.second == &judge; });
}

void forget_srt_judge(int fd) {
    Judges& all = judges();
    const std::lock_guard lock(all.mutex);
    all.by_socket.erase(fd);
}

Millis heard_srt_latency() {
    return heard();
}

bool srt_datagrams_are_seen() {
    return dlsym(RTLD_DEFAULT, "recvmsg") == reinterpret_cast<void*>(&::recvmsg);
}

}  // namespace weir::io

ssize_t recvmsg(int fd, msghdr* message, int flags) {
    using Function = ssize_t (*)(int, msghdr*, int);
    static const Function next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "recvmsg"));
    const ssize_t size = next(fd, message, flags);
    if (size > 0 && !weir::io::pass(fd, *message, static_cast<size_t>(size))) {
        errno = EAGAIN;
        return -1;
    }
    return size;
}

#endif
