#include "io/udp.h"

#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

std::unique_ptr<UdpSocket> bound(const char* address, const UdpOptions& options = {}) {
    auto socket = UdpSocket::bind(SocketAddress::parse(address).value(), options);
    EXPECT_TRUE(socket.ok()) << socket.error().to_string();
    return socket.ok() ? std::move(*socket) : nullptr;
}

UdpPath to(const UdpSocket& socket, const char* ip = "127.0.0.1") {
    return {NetAddress::parse_ip(ip, socket.local().port()).value(), {}};
}

struct Got {
    std::string bytes;
    UdpPath path;
};

// Yields. Until `count` datagrams came.
std::vector<Got> take(UdpSocket& socket, size_t count) {
    std::vector<Got> got;
    const Deadline deadline = soon();
    while (got.size() < count && !socket.wait_readable(deadline)) {
        while (socket.receive([&](std::span<uint8_t> bytes, const UdpPath& path) {
            got.push_back({std::string(as_text(bytes)), path});
        })) {
        }
    }
    EXPECT_EQ(got.size(), count);
    return got;
}

IoResult send(UdpSocket& socket, const UdpPath& path, std::string_view text, size_t segment = 0) {
    return socket.send(path, as_bytes(text), segment);
}

TEST(UdpSocketTest, GivesDatagramsWithTheirPath) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    EXPECT_EQ(send(*client, to(*server), "one").status, IoStatus::kDone);
    EXPECT_EQ(send(*client, to(*server), "two").status, IoStatus::kDone);
    std::vector<Got> got = take(*server, 2);
    EXPECT_EQ(got[0].bytes, "one");
    EXPECT_EQ(got[1].bytes, "two");
    EXPECT_EQ(got[0].path.peer.to_string(), client->local().to_string());
    EXPECT_TRUE(got[0].path.local.empty());

    send(*server, got[0].path, "answer");
    EXPECT_EQ(take(*client, 1)[0].bytes, "answer");
    EXPECT_EQ(server->stats().received, 2u);
    EXPECT_EQ(server->stats().sent_bytes, 6u);
}

TEST(UdpSocketTest, PortInUseSaysWhoHoldsIt) {
    for (const char* address : {"127.0.0.1:0", "[::1]:0"}) {
        auto first = bound(address);
        auto second = UdpSocket::bind(first->local(), {});
        ASSERT_FALSE(second.ok());
        EXPECT_EQ(second.error().code(), ErrorCode::kBusy);
        const std::string expected =
            fmt::format("bind udp {}: the port is in use, held by process {} (",
                        first->local().to_string(), getpid());
        EXPECT_EQ(second.error().message().substr(0, expected.size()), expected);
    }
}

TEST(UdpSocketTest, AnswersLeaveByTheAddressThatWasAsked) {
    for (const char* any : {"0.0.0.0:0", "[::]:0"}) {
        auto server = bound(any);
        auto client = bound("127.0.0.1:0");
        send(*client, to(*server, "127.0.0.42"), "hello");
        const UdpPath path = take(*server, 1)[0].path;
        EXPECT_EQ(path.local.ip_text(), "127.0.0.42") << any;
        send(*server, path, "back");
        EXPECT_EQ(take(*client, 1)[0].path.peer.ip_text(), "127.0.0.42") << any;
    }
}

TEST(UdpSocketTest, ABurstArrivesAsItsPackets) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    std::string data;
    for (char letter = 'a'; letter < 'a' + 10; letter++) {
        data += std::string(1000, letter);
    }
    data.resize(9'300);
    EXPECT_EQ(send(*client, to(*server), data, 1000).bytes, 9'300u);
    std::vector<Got> got = take(*server, 10);
    for (size_t i = 0; i < got.size(); i++) {
        EXPECT_EQ(got[i].bytes, data.substr(i * 1000, 1000)) << i;
    }
    EXPECT_EQ(client->stats().sent, 10u);
}

TEST(UdpSocketTest, BurstsAreTakenWhole) {
    UdpOptions options;
    options.receive_bursts = true;
    auto server = bound("127.0.0.1:0", options);
    auto client = bound("127.0.0.1:0");
    const std::string data(60'000, 'x');
    EXPECT_EQ(send(*client, to(*server), data, 1200).status, IoStatus::kDone);
    size_t bytes = 0;
    for (const Got& got : take(*server, 50)) {
        EXPECT_EQ(got.bytes.size(), 1200u);
        bytes += got.bytes.size();
    }
    EXPECT_EQ(bytes, data.size());
}

TEST(UdpSocketTest, APeerThatTakesNoBurstsDecidesForItselfOnly) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    const Bytes burst(4 * 100, 7);
    const UdpPath nowhere{NetAddress::parse("127.0.0.1:9").value().with_port(0), {}};
    EXPECT_EQ(server->send(nowhere, burst, 100).status, IoStatus::kFailed);
    const uint64_t before = server->stats().send_calls;
    EXPECT_EQ(server->send(to(*client), burst, 100).status, IoStatus::kDone);
    EXPECT_EQ(server->stats().send_calls, before + 1);
    EXPECT_EQ(take(*client, 4).size(), 4u);
}

TEST(UdpSocketTest, CountsWhatTheKernelHadNoRoomFor) {
    UdpOptions small;
    small.receive_buffer_bytes = 4096;
    auto server = bound("127.0.0.1:0", small);
    auto client = bound("127.0.0.1:0");
    constexpr uint64_t kSent = 1000;
    for (uint64_t i = 0; i < kSent; i++) {
        send(*client, to(*server), std::string(500, 'x'));
    }
    uint64_t got = 0;
    const auto count = [&got](std::span<uint8_t>, const UdpPath&) { got++; };
    while (server->receive(count)) {
    }
    EXPECT_LT(got, kSent);
    // The number comes with the next datagram.
    send(*client, to(*server), "last");
    ASSERT_FALSE(server->wait_readable(soon()));
    while (server->receive(count)) {
    }
    EXPECT_EQ(server->stats().kernel_drops, kSent + 1 - got);
}

TEST(UdpSocketTest, DropsADatagramOverTheLimit) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    send(*client, to(*server), std::string(UdpSocket::kMaxDatagram + 1, 'x'));
    send(*client, to(*server), std::string(UdpSocket::kMaxDatagram, 'y'));
    EXPECT_EQ(take(*server, 1)[0].bytes[0], 'y');
    EXPECT_EQ(server->stats().oversized, 1u);
}

TEST(UdpSocketTest, APeerThatIsGoneDisturbsNobody) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    const UdpPath gone = to(*bound("127.0.0.1:0"));
    for (int i = 0; i < 3; i++) {
        send(*server, gone, "nobody hears");  // an ICMP error comes back for it
    }
    send(*client, to(*server), "still here");
    EXPECT_EQ(take(*server, 1)[0].bytes, "still here");
}

TEST(UdpSocketTest, TellsThatAPeerCannotBeReached) {
    auto server = bound("127.0.0.1:0");
    const UdpPath v6{NetAddress::parse("[2001:db8::1]:9").value(), {}};
    EXPECT_EQ(send(*server, v6, "x").status, IoStatus::kFailed);
    EXPECT_EQ(server->stats().send_refused, 1u);
}

TEST(UdpSocketTest, ClosingWakesWhoeverWaits) {
    auto server = bound("127.0.0.1:0");
    ErrorCode code = ErrorCode::kOk;
    Coroutine waiter = go([&] {
        while (server->receive([](std::span<uint8_t>, const UdpPath&) {})) {
        }
        code = server->wait_readable(soon()).code();
    });
    yield();
    server->close();
    waiter.join();
    EXPECT_EQ(code, ErrorCode::kClosed);
    EXPECT_EQ(send(*server, {NetAddress::parse("127.0.0.1:9").value(), {}}, "x").status,
              IoStatus::kClosed);
}

TEST(UdpSocketTest, AnInterruptEndsTheWait) {
    auto server = bound("127.0.0.1:0");
    ErrorCode code = ErrorCode::kOk;
    Coroutine waiter = go([&] {
        while (server->receive([](std::span<uint8_t>, const UdpPath&) {})) {
        }
        code = server->wait_readable(soon()).code();
    });
    yield();
    waiter.interrupt();
    waiter.join();
    EXPECT_EQ(code, ErrorCode::kInterrupted);
}

TEST(UdpSocketTest, APortInUseIsSaid) {
    auto server = bound("127.0.0.1:0");
    auto second = UdpSocket::bind(server->local(), {});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code(), ErrorCode::kBusy);
}

}  // namespace
}  // namespace weir::io
