#include "io/udp.h"

#include <span>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/object_count.h"
#include "io/deadline.h"

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

TEST(UdpSocketTest, ABatchThatIsNotFullIsTheLastAndWhatComesThenIsTold) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    size_t got = 0;
    const auto count = [&got](std::span<uint8_t>, const UdpPath&) { got++; };
    for (size_t i = 1; i <= 50; i++) {
        send(*client, to(*server), "one");
        ASSERT_FALSE(server->wait_readable(soon()));
        EXPECT_FALSE(server->receive(count));
        EXPECT_EQ(got, i);
    }
    got = 0;
    for (size_t i = 0; i < UdpSocket::kBatch; i++) {
        send(*client, to(*server), "one");
    }
    ASSERT_FALSE(server->wait_readable(soon()));
    EXPECT_TRUE(server->receive(count));
    EXPECT_FALSE(server->receive(count));
    EXPECT_EQ(got, UdpSocket::kBatch);
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

TEST(UdpSocketTest, AnInterruptCountsMoreThanWhatIsThere) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    ASSERT_EQ(send(*client, to(*server), "x").status, IoStatus::kDone);
    ErrorCode reading = ErrorCode::kOk;
    ErrorCode writing = ErrorCode::kOk;
    Coroutine waiter = go([&] {
        reading = server->wait_readable(soon()).code();
        writing = server->wait_writable(soon()).code();
    });
    waiter.interrupt();
    waiter.join();
    EXPECT_EQ(reading, ErrorCode::kInterrupted);
    EXPECT_EQ(writing, ErrorCode::kInterrupted);
    EXPECT_EQ(take(*server, 1).at(0).bytes, "x");
}

TEST(UdpSocketTest, APortInUseIsSaid) {
    auto server = bound("127.0.0.1:0");
    auto second = UdpSocket::bind(server->local(), {});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code(), ErrorCode::kBusy);
}

// Yields. What one call of receive() gives, when something is there.
std::vector<std::string> take_once(UdpSocket& socket, bool& more) {
    EXPECT_FALSE(socket.wait_readable(soon()));
    std::vector<std::string> got;
    more = socket.receive(
        [&](std::span<uint8_t> bytes, const UdpPath&) { got.emplace_back(as_text(bytes)); });
    return got;
}

TEST(UdpSocketTest, GivesNoMoreThanABatchInOneCall) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    constexpr size_t kMore = 3;
    for (size_t i = 0; i < UdpSocket::kBatch + kMore; i++) {
        ASSERT_EQ(send(*client, to(*server), std::to_string(i)).status, IoStatus::kDone);
    }
    bool more = false;
    EXPECT_EQ(take_once(*server, more).size(), UdpSocket::kBatch);
    EXPECT_TRUE(more);
    const std::vector<std::string> rest = take_once(*server, more);
    ASSERT_EQ(rest.size(), kMore);
    EXPECT_EQ(rest.front(), std::to_string(UdpSocket::kBatch));
    EXPECT_FALSE(server->receive([](std::span<uint8_t>, const UdpPath&) { FAIL(); }));
    EXPECT_EQ(server->stats().received, UdpSocket::kBatch + kMore);
}

TEST(UdpSocketTest, AnEmptyDatagramIsOne) {
    for (const bool bursts : {false, true}) {
        UdpOptions options;
        options.receive_bursts = bursts;
        auto server = bound("127.0.0.1:0", options);
        auto client = bound("127.0.0.1:0");
        EXPECT_EQ(send(*client, to(*server), "").status, IoStatus::kDone);
        EXPECT_EQ(send(*client, to(*server), "behind it").status, IoStatus::kDone);
        const std::vector<Got> got = take(*server, 2);
        EXPECT_EQ(got.at(0).bytes, "");
        EXPECT_EQ(got.at(0).path.peer.to_string(), client->local().to_string());
        EXPECT_EQ(got.at(1).bytes, "behind it");
        EXPECT_EQ(server->stats().received, 2U);
        EXPECT_EQ(server->stats().received_bytes, 9U);
    }
}

TEST(UdpSocketTest, ASocketForBurstsHasTheSameLimitOfADatagram) {
    UdpOptions options;
    options.receive_bursts = true;
    auto server = bound("127.0.0.1:0", options);
    auto client = bound("127.0.0.1:0");
    send(*client, to(*server), std::string(UdpSocket::kMaxDatagram + 1, 'x'));
    send(*client, to(*server), std::string(UdpSocket::kMaxDatagram, 'y'));
    EXPECT_EQ(take(*server, 1).at(0).bytes, std::string(UdpSocket::kMaxDatagram, 'y'));
    EXPECT_EQ(server->stats().oversized, 1U);
    EXPECT_EQ(server->stats().received, 1U);
}

TEST(UdpSocketTest, TheLargestBurstArrives) {
    UdpOptions large;
    large.receive_bursts = true;
    for (const char* address : {"127.0.0.1:0", "[::1]:0"}) {
        auto server = bound(address, large);
        auto client = bound(address);
        // As many bytes as possible in as many packets as possible: the last one is shorter.
        constexpr size_t kSegment = UdpSocket::kMaxBurstBytes / UdpSocket::kMaxSegments + 1;
        std::string data(UdpSocket::kMaxBurstBytes, '\0');
        for (size_t i = 0; i < data.size(); i++) {
            data[i] = static_cast<char>(i / kSegment);
        }
        const UdpPath path{NetAddress::parse(server->local().to_string()).value(), {}};
        const IoResult sent = send(*client, path, data, kSegment);
        ASSERT_EQ(sent.status, IoStatus::kDone) << sent.error_number;
        EXPECT_EQ(sent.bytes, data.size());
        EXPECT_EQ(client->stats().sent, UdpSocket::kMaxSegments);
        EXPECT_EQ(client->stats().sent_bytes, data.size());
        std::string got;
        for (const Got& each : take(*server, UdpSocket::kMaxSegments)) {
            got += each.bytes;
        }
        EXPECT_EQ(got, data) << address;
    }
}

TEST(UdpSocketTest, DataOfOneSegmentIsOneDatagram) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    EXPECT_EQ(send(*client, to(*server), "exactly8", 8).bytes, 8U);
    EXPECT_EQ(send(*client, to(*server), "less", 8).bytes, 4U);
    EXPECT_EQ(send(*client, to(*server), "one_more!", 8).bytes, 9U);
    const std::vector<Got> got = take(*server, 4);
    EXPECT_EQ(got.at(0).bytes, "exactly8");
    EXPECT_EQ(got.at(1).bytes, "less");
    EXPECT_EQ(got.at(2).bytes, "one_more");
    EXPECT_EQ(got.at(3).bytes, "!");
    EXPECT_EQ(client->stats().sent, 4U);
    EXPECT_EQ(client->stats().send_calls, 3U);
}

TEST(UdpSocketTest, MayBeClosedByTheOneWhoGetsADatagram) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    for (int i = 0; i < 5; i++) {
        send(*client, to(*server), "x");
    }
    ASSERT_FALSE(server->wait_readable(soon()));
    int got = 0;
    (void)server->receive([&](std::span<uint8_t>, const UdpPath&) {
        got++;
        server->close();
    });
    EXPECT_EQ(got, 1) << "what else came in the batch is for nobody";
    EXPECT_FALSE(server->receive([](std::span<uint8_t>, const UdpPath&) { FAIL(); }));
    EXPECT_EQ(server->wait_readable(soon()).code(), ErrorCode::kClosed);
    EXPECT_EQ(server->wait_writable(soon()).code(), ErrorCode::kClosed);
    server->close();
}

TEST(UdpSocketTest, AWaitForSilenceEndsAtItsDeadline) {
    auto server = bound("127.0.0.1:0");
    while (server->receive([](std::span<uint8_t>, const UdpPath&) {})) {
    }
    EXPECT_EQ(server->wait_readable(Deadline::after(Millis(5))).code(), ErrorCode::kTimeout);
    EXPECT_FALSE(server->wait_writable(Deadline::after(Millis(5)))) << "there is room to send";
}

TEST(UdpSocketTest, SaysHowLargeItsBuffersAre) {
    UdpOptions options;
    options.receive_buffer_bytes = 40'000;
    options.send_buffer_bytes = 50'000;
    auto socket = bound("127.0.0.1:0", options);
    EXPECT_EQ(socket->receive_buffer_bytes(), 40'000);
    EXPECT_EQ(socket->send_buffer_bytes(), 50'000);
    EXPECT_GT(bound("127.0.0.1:0")->receive_buffer_bytes(), 0) << "the kernel's default";
}

TEST(UdpSocketTest, AnAddressOfAnotherMachineIsASystemError) {
    const auto failed = UdpSocket::bind(SocketAddress::parse("192.0.2.1:0").value(), {});
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code(), ErrorCode::kSystem);
    EXPECT_TRUE(failed.error().message().starts_with(
        "bind udp 192.0.2.1:0: this machine has no such address"))
        << failed.error().message();
}

TEST(UdpSocketTest, NothingOfItIsLeftAlsoWhenItCouldNotBeMade) {
    const uint64_t sockets = find_object_class("udp_socket")->live();
    const uint64_t descriptors = find_object_class("descriptor")->live();
    {
        auto socket = bound("127.0.0.1:0");
        EXPECT_FALSE(UdpSocket::bind(socket->local(), {}).ok());
        EXPECT_EQ(find_object_class("udp_socket")->live(), sockets + 1);
    }
    EXPECT_EQ(find_object_class("udp_socket")->live(), sockets);
    EXPECT_EQ(find_object_class("descriptor")->live(), descriptors);
}

// ---- multicast ----

constexpr const char* kGroup = "239.255.77.1";

// A sender whose groups are on the loopback interface.
int group_sender() {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const in_addr loopback{htonl(INADDR_LOOPBACK)};
    EXPECT_EQ(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback), 0);
    return fd;
}

void send_to_group(int fd, uint16_t port, std::string_view text) {
    sockaddr_storage to{};
    const uint32_t size = NetAddress::parse_ip(kGroup, port)->to_sockaddr(to, AF_INET);
    ASSERT_EQ(sendto(fd, text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&to), size),
              static_cast<ssize_t>(text.size()));
}

TEST(UdpSocketTest, GetsWhatIsSentToAGroup) {
    const NetAddress local = *NetAddress::parse_ip("127.0.0.1", 0);
    const NetAddress group = *NetAddress::parse_ip(kGroup, 0);
    const UdpOptions options{.shared_port = true};
    auto first = bound(fmt::format("{}:0", kGroup).c_str(), options);
    ASSERT_TRUE(first);
    const std::string address = first->local().to_string();
    auto second = bound(address.c_str(), options);  // another receiver on the same machine
    ASSERT_TRUE(second);
    for (UdpSocket* socket : {first.get(), second.get()}) {
        Error failed = socket->join(group, local);
        ASSERT_FALSE(failed) << failed.to_string();
    }
    const int sender = group_sender();
    send_to_group(sender, first->local().port(), "to all");
    EXPECT_EQ(take(*first, 1)[0].bytes, "to all");
    EXPECT_EQ(take(*second, 1)[0].bytes, "to all");
    close(sender);
}

TEST(UdpSocketTest, GetsWhatOneSourceSendsToAGroup) {
    const NetAddress local = *NetAddress::parse_ip("127.0.0.1", 0);
    auto socket = bound(fmt::format("{}:0", kGroup).c_str(), {.shared_port = true});
    ASSERT_TRUE(socket);
    Error failed = socket->join(*NetAddress::parse_ip(kGroup, 0), local, local);
    ASSERT_FALSE(failed) << failed.to_string();
    const int sender = group_sender();
    send_to_group(sender, socket->local().port(), "of it");
    EXPECT_EQ(take(*socket, 1)[0].bytes, "of it");
    close(sender);
    EXPECT_TRUE(socket->join(*NetAddress::parse_ip("192.0.2.1", 0), local)) << "no group";
}

// ---- without a coroutine ----

struct CountingHandler final : EventHandler {
    void on_ready(uint8_t ready) override { edges += (ready & kReadable) != 0 ? 1 : 0; }

    size_t edges = 0;
};

TEST(UdpSocketTest, TellsAHandlerOfItsEdges) {
    auto server = bound("127.0.0.1:0");
    auto client = bound("127.0.0.1:0");
    CountingHandler handler;
    server->set_handler(&handler);
    while (server->receive([](std::span<uint8_t>, const UdpPath&) {})) {
    }
    const size_t before = handler.edges;
    send(*client, to(*server), "one");
    EXPECT_TRUE(eventually([&] { return handler.edges > before; }));
    server->set_handler(nullptr);
    EXPECT_EQ(take(*server, 1)[0].bytes, "one");
}

}  // namespace
}  // namespace weir::io
