// What component tests share: a deadline, and two ends of a TCP connection on loopback.
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/tcp.h"

namespace weir::io {

// Longer than anything in a test should take, also under the sanitizers on a busy machine.
inline Deadline soon() {
    return Deadline::after(Seconds(30));
}

// Whether the condition comes true soon. Yields.
template <typename Condition>
bool eventually(Condition condition) {
    for (Deadline deadline = soon(); !condition();) {
        if (deadline.passed()) {
            return false;
        }
        EXPECT_FALSE(sleep_for(Millis(1)));
    }
    return true;
}

inline SocketAddress loopback(uint16_t port = 0) {
    return SocketAddress::parse("127.0.0.1:" + std::to_string(port)).value();
}

struct LoopbackPair {
    std::unique_ptr<TcpStream> client;
    std::unique_ptr<TcpStream> server;
};

// Yields. Ends the test program when loopback does not work.
inline LoopbackPair loopback_pair() {
    auto listener = TcpListener::listen(loopback());
    WEIR_CHECK(listener.ok());
    auto client = TcpStream::connect((*listener)->local(), soon());
    WEIR_CHECK(client.ok());
    auto server = (*listener)->accept(soon());
    WEIR_CHECK(server.ok());
    return {std::move(*client), std::move(*server)};
}

// Spawns or ends the test program.
inline Coroutine go(std::function<void()> body) {
    auto coroutine = Coroutine::spawn("test", StackSize::kNormal, std::move(body));
    WEIR_CHECK(coroutine.ok());
    return std::move(*coroutine);
}

// Resident memory of this process, KiB.
size_t resident_kib();

}  // namespace weir::io
