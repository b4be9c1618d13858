#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/log.h"
#include "io/deadline.h"
#include "io/tcp.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

std::unique_ptr<TcpListener> listen_on(const char* address) {
    auto listener = TcpListener::listen(SocketAddress::parse(address).value());
    EXPECT_TRUE(listener.ok()) << listener.error().to_string();
    return listener.ok() ? std::move(*listener) : nullptr;
}

// The process has no descriptor left while this lives.
class NoDescriptors {
  public:
    NoDescriptors() {
        // UBSan opens a pipe when it sees an object of a class for the first time.
        log::info("there will be no descriptors");
        getrlimit(RLIMIT_NOFILE, &before_);
        rlimit low = before_;
        int next = dup(STDERR_FILENO);
        low.rlim_cur = static_cast<rlim_t>(next);
        setrlimit(RLIMIT_NOFILE, &low);
        ::close(next);
        for (int fd = 0; fd >= 0;) {  // holes below the limit
            fd = dup(STDERR_FILENO);
            if (fd >= 0) {
                taken_.push_back(fd);
            }
        }
    }

    ~NoDescriptors() {
        setrlimit(RLIMIT_NOFILE, &before_);
        for (int fd : taken_) {
            ::close(fd);
        }
    }

    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

  private:
    rlimit before_{};
    std::vector<int> taken_;
};

TEST(TcpListenerTest, PicksAPort) {
    auto listener = listen_on("127.0.0.1:0");
    EXPECT_NE(listener->local().port(), 0);
    EXPECT_EQ(listener->local().host(), "127.0.0.1");
}

TEST(TcpListenerTest, AcceptsAllThatArePending) {
    auto listener = listen_on("127.0.0.1:0");
    std::vector<std::unique_ptr<TcpStream>> clients;
    for (int i = 0; i < 150; i++) {
        auto client = TcpStream::connect(listener->local(), soon());
        ASSERT_TRUE(client.ok());
        clients.push_back(std::move(*client));
    }
    for (auto& client : clients) {
        auto server = listener->accept(soon());
        ASSERT_TRUE(server.ok());
        EXPECT_EQ((*server)->peer().to_string(), client->local().to_string());
    }
}

TEST(TcpListenerTest, AcceptWaitsForAConnection) {
    auto listener = listen_on("127.0.0.1:0");
    EXPECT_EQ(listener->accept(Deadline::after(Millis(10))).error().code(), ErrorCode::kTimeout);
    Coroutine acceptor = go([&] { EXPECT_TRUE(listener->accept(soon()).ok()); });
    yield();
    auto client = TcpStream::connect(listener->local(), soon());
    EXPECT_TRUE(client.ok());
    acceptor.join();
}

TEST(TcpListenerTest, WildcardTakesIpv4AndIpv6) {
    auto listener = listen_on("0");
    for (const char* host : {"127.0.0.1", "[::1]"}) {
        auto to = SocketAddress::parse(fmt::format("{}:{}", host, listener->local().port()));
        auto client = TcpStream::connect(*to, soon());
        if (!client.ok() && host[0] == '[') {
            // A kernel without IPv6 has nothing to show here.
            GTEST_SKIP() << "no IPv6 here: " << client.error().to_string();  // lint: allow-skip
        }
        ASSERT_TRUE(client.ok()) << client.error().to_string();
        auto server = listener->accept(soon());
        ASSERT_TRUE(server.ok());
        EXPECT_EQ((*server)->peer().to_string(), (*client)->local().to_string());
        EXPECT_TRUE((*server)->peer().is_loopback());
    }
}

TEST(TcpListenerTest, InterruptEndsAccept) {
    auto listener = listen_on("127.0.0.1:0");
    Coroutine acceptor =
        go([&] { EXPECT_EQ(listener->accept(soon()).error().code(), ErrorCode::kInterrupted); });
    yield();
    acceptor.interrupt();
    acceptor.join();
}

TEST(TcpListenerTest, CloseEndsAccept) {
    auto listener = listen_on("127.0.0.1:0");
    Coroutine acceptor =
        go([&] { EXPECT_EQ(listener->accept(soon()).error().code(), ErrorCode::kClosed); });
    yield();
    listener->close();
    acceptor.join();
    EXPECT_EQ(listener->accept(soon()).error().code(), ErrorCode::kClosed);
}

TEST(TcpListenerTest, PortInUseSaysWhoHoldsIt) {
    auto listener = listen_on("127.0.0.1:0");
    auto second = TcpListener::listen(listener->local());
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code(), ErrorCode::kBusy);
    std::string expected = fmt::format("listen on {}: the port is in use, held by process {} (",
                                       listener->local().to_string(), getpid());
    EXPECT_EQ(second.error().message().substr(0, expected.size()), expected);
}

TEST(TcpListenerTest, AddressOfAnotherMachineIsASystemError) {
    auto listener = TcpListener::listen(SocketAddress::parse("192.0.2.1:21000").value());
    ASSERT_FALSE(listener.ok());
    EXPECT_EQ(listener.error().code(), ErrorCode::kSystem);
    EXPECT_EQ(listener.error().message(),
              "listen on 192.0.2.1:21000: this machine has no such address (\"ip address\" lists "
              "those it has)");
}

int& warnings() {
    static int count = 0;
    return count;
}

TEST(TcpListenerTest, OutOfDescriptorsClosesPendingConnectionsAndGoesOn) {
    auto listener = listen_on("127.0.0.1:0");
    std::vector<std::unique_ptr<TcpStream>> clients;
    for (int i = 0; i < 10; i++) {
        auto client = TcpStream::connect(listener->local(), soon());
        ASSERT_TRUE(client.ok());
        clients.push_back(std::move(*client));
    }
    int accepted = 0;
    Coroutine acceptor = go([&] {
        for (;;) {
            auto server = listener->accept(soon());
            if (!server.ok()) {
                EXPECT_EQ(server.error().code(), ErrorCode::kInterrupted);
                return;
            }
            accepted++;
        }
    });
    warnings() = 0;
    log::set_sink([](log::Level, std::string_view line) {
        warnings() += line.find("out of descriptors") != std::string_view::npos ? 1 : 0;
    });
    {
        NoDescriptors none;
        for (auto& client : clients) {  // a close, not a hang
            std::array<uint8_t, 4> buffer{};
            EXPECT_EQ(client->read_some(buffer, soon()).error().code(), ErrorCode::kClosed);
        }
    }
    log::set_sink(nullptr);
    EXPECT_EQ(accepted, 0);
    EXPECT_EQ(warnings(), 1);  // throttled
    auto late = TcpStream::connect(listener->local(), soon());
    ASSERT_TRUE(late.ok());
    for (Deadline deadline = soon(); accepted == 0 && !deadline.passed();) {
        EXPECT_FALSE(sleep_for(Millis(1)));
    }
    EXPECT_EQ(accepted, 1);
    acceptor.interrupt();
    acceptor.join();
}

TEST(TcpListenerTest, GivesThoseThatWaitInTheQueueAndDoesNotWaitForMore) {
    auto listener = listen_on("127.0.0.1:0");
    EXPECT_EQ(listener->accept_waiting().error().code(), ErrorCode::kTimeout);
    auto first = TcpStream::connect(listener->local(), soon());
    auto second = TcpStream::connect(listener->local(), soon());
    ASSERT_TRUE(first.ok() && second.ok());
    for (const auto& client : {&*first, &*second}) {
        auto server = listener->accept_waiting();
        ASSERT_TRUE(server.ok()) << server.error().to_string();
        EXPECT_EQ((*server)->peer().to_string(), (*client)->local().to_string());
    }
    EXPECT_EQ(listener->accept_waiting().error().code(), ErrorCode::kTimeout);
}

TEST(TcpListenerTest, AcceptEndsAtItsDeadlineAndTakesTheNextOneLater) {
    auto listener = listen_on("127.0.0.1:0");
    EXPECT_EQ(listener->accept(Deadline::after(Millis(5))).error().code(), ErrorCode::kTimeout);
    auto client = TcpStream::connect(listener->local(), soon());
    ASSERT_TRUE(client.ok());
    EXPECT_TRUE(listener->accept(soon()).ok());
}

TEST(TcpListenerTest, AConnectionThatIsAlreadyGoneDisturbsNoOther) {
    auto listener = listen_on("127.0.0.1:0");
    for (int i = 0; i < 3; i++) {
        auto gone = TcpStream::connect(listener->local(), soon());
        ASSERT_TRUE(gone.ok());
        const linger reset{1, 0};
        ASSERT_EQ(setsockopt((*gone)->fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    }
    auto client = TcpStream::connect(listener->local(), soon());
    ASSERT_TRUE(client.ok());
    for (;;) {
        auto server = listener->accept(soon());
        ASSERT_TRUE(server.ok()) << server.error().to_string();
        if ((*server)->peer().to_string() == (*client)->local().to_string()) {
            break;
        }
        std::array<uint8_t, 4> buffer{};
        EXPECT_EQ((*server)->read_some(buffer, soon()).error().code(), ErrorCode::kClosed);
    }
}

TEST(TcpListenerTest, AClosedOneRefusesAndIsClosedTwiceWithoutHarm) {
    auto listener = listen_on("127.0.0.1:0");
    const SocketAddress address = listener->local();
    auto waiting = TcpStream::connect(address, soon());
    ASSERT_TRUE(waiting.ok());
    listener->close();
    listener->close();
    EXPECT_EQ(listener->accept(soon()).error().code(), ErrorCode::kClosed);
    EXPECT_EQ(listener->accept_waiting().error().code(), ErrorCode::kClosed);
    EXPECT_FALSE(TcpStream::connect(address, soon()).ok());
    std::array<uint8_t, 4> buffer{};
    EXPECT_FALSE((*waiting)->read_some(buffer, soon()).ok()) << "nobody will serve it";
}

TEST(TcpListenerTest, ThePortIsFreeAtOnceAlthoughConnectionsLive) {
    auto listener = listen_on("127.0.0.1:0");
    const SocketAddress address = listener->local();
    auto client = TcpStream::connect(address, soon());
    ASSERT_TRUE(client.ok());
    auto server = listener->accept(soon());
    ASSERT_TRUE(server.ok());
    listener.reset();
    auto again = TcpListener::listen(address);
    ASSERT_TRUE(again.ok()) << again.error().to_string();
    ASSERT_FALSE((*client)->write_all(as_bytes("still"), soon()));
    std::array<uint8_t, 5> buffer{};
    EXPECT_FALSE((*server)->read_full(buffer, soon()));
    server->reset();  // closes first, so its end of the connection stays for a while (TIME_WAIT)
    client->reset();
    again->reset();
    EXPECT_TRUE(TcpListener::listen(address).ok());
}

TEST(TcpListenerTest, OutOfDescriptorsAcceptStillEndsInTimeAndByInterrupt) {
    auto listener = listen_on("127.0.0.1:0");
    auto client = TcpStream::connect(listener->local(), soon());
    ASSERT_TRUE(client.ok());
    log::set_sink([](log::Level, std::string_view) {});
    ErrorCode in_time = ErrorCode::kOk;
    ErrorCode by_interrupt = ErrorCode::kOk;
    {
        NoDescriptors none;
        in_time = listener->accept(Deadline::after(Millis(5))).error().code();
        Coroutine acceptor = go([&] { by_interrupt = listener->accept(soon()).error().code(); });
        yield();
        acceptor.interrupt();
        acceptor.join();
    }
    log::set_sink(nullptr);
    EXPECT_EQ(in_time, ErrorCode::kTimeout);
    EXPECT_EQ(by_interrupt, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace weir::io
