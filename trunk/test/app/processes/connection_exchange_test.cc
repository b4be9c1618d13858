#include "app/processes/connection_exchange.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/processes/attached.h"
#include "base/random.h"

#include "test/support/io/loopback.h"

namespace weir::app {
namespace {

Bytes bytes_of(std::string_view text) {
    return {text.begin(), text.end()};
}

std::string read(io::TcpStream& stream) {
    std::array<uint8_t, 100> buffer{};
    const Result<size_t> got = stream.read_some(buffer, io::soon());
    return got.ok() ? std::string(as_text(ByteSpan(buffer).first(*got)))
                    : std::string(to_string(got.error().code()));
}

class ConnectionExchangeTest : public testing::Test {
  protected:
    ConnectionExchangeTest() {
        auto one = ConnectionExchange::create(address_of_, 0);
        auto other = ConnectionExchange::create(address_of_, 1);
        EXPECT_TRUE(one.ok() && other.ok());
        one_ = std::move(*one);
        other_ = std::move(*other);
        other_->add("http", [this](auto stream) { moved_ = std::move(stream); });
    }

    std::string name_ = random_id(system_random(), 12);
    AddressOf address_of_ = [this](uint32_t i) { return fmt::format("@weir-{}-{}", name_, i); };
    std::unique_ptr<ConnectionExchange> one_;
    std::unique_ptr<ConnectionExchange> other_;
    io::LoopbackPair pair_ = io::loopback_pair();
    std::unique_ptr<io::TcpStream> moved_;
};

TEST_F(ConnectionExchangeTest, AConnectionGoesOnInTheOtherProcessWithWhatWasRead) {
    ASSERT_TRUE(one_->give(1, "http", *pair_.server, {.answered = {}, .heard = bytes_of("GET ")}));
    pair_.server.reset();
    ASSERT_TRUE(io::eventually([this] { return moved_ != nullptr; }));
    EXPECT_EQ(moved_->peer().to_string(), pair_.client->local().to_string());
    ASSERT_FALSE(pair_.client->write_all(as_bytes("/ HTTP"), io::soon()));
    EXPECT_EQ(read(*moved_), "GET ");
    EXPECT_EQ(read(*moved_), "/ HTTP");
    ASSERT_FALSE(moved_->write_all(as_bytes("200"), io::soon()));
    EXPECT_EQ(read(*pair_.client), "200");
}

TEST_F(ConnectionExchangeTest, WhatThePeerHasAnswersToIsHeardAgainWithoutAWordToIt) {
    ASSERT_TRUE(one_->give(1, "http", *pair_.server,
                           {.answered = bytes_of("connect"), .heard = bytes_of("play")}));
    pair_.server.reset();
    ASSERT_TRUE(io::eventually([this] { return moved_ != nullptr; }));
    EXPECT_EQ(read(*moved_), "connect");
    ASSERT_FALSE(moved_->write_all(as_bytes("accepted"), io::soon()));
    EXPECT_EQ(read(*moved_), "play");
    ASSERT_FALSE(moved_->write_all(as_bytes("media"), io::soon()));
    EXPECT_EQ(read(*pair_.client), "media");
}

TEST_F(ConnectionExchangeTest, AnswersCountFromTheFirstNewByteOfThePeer) {
    ASSERT_TRUE(one_->give(1, "http", *pair_.server, {.answered = bytes_of("a"), .heard = {}}));
    pair_.server.reset();
    ASSERT_TRUE(io::eventually([this] { return moved_ != nullptr; }));
    EXPECT_EQ(read(*moved_), "a");
    ASSERT_FALSE(moved_->write_all(as_bytes("again"), io::soon()));
    ASSERT_FALSE(pair_.client->write_all(as_bytes("b"), io::soon()));
    EXPECT_EQ(read(*moved_), "b");
    ASSERT_FALSE(moved_->write_all(as_bytes("once"), io::soon()));
    EXPECT_EQ(read(*pair_.client), "once");
}

TEST_F(ConnectionExchangeTest, WhatCannotBeTakenStaysAsItIs) {
    EXPECT_FALSE(one_->give(7, "http", *pair_.server, {})) << "no such process";
    EXPECT_FALSE(
        one_->give(1, "http", *pair_.server,
                   {.answered = {}, .heard = Bytes(ConnectionExchange::kMaxReplayBytes + 1)}));
    auto tunnel = io::TcpStream::pair(pair_.server->peer());
    ASSERT_TRUE(tunnel.ok());
    EXPECT_FALSE(one_->give(1, "http", *tunnel->one, {})) << "it is no connection of a client";
    ASSERT_FALSE(pair_.server->write_all(as_bytes("still here"), io::soon()));
    EXPECT_EQ(read(*pair_.client), "still here");
}

TEST_F(ConnectionExchangeTest, MoreThanTheKernelQueuesComeOneAfterTheOther) {
    constexpr size_t kMany = 100;
    std::vector<std::string> heard;
    std::vector<std::unique_ptr<io::TcpStream>> kept;
    other_->add("many", [&](auto stream) { kept.push_back(std::move(stream)); });
    for (size_t i = 0; i < kMany; i++) {
        ASSERT_TRUE(one_->give(1, "many", *pair_.server,
                               {.answered = {}, .heard = bytes_of(std::to_string(i))}));
    }
    pair_.server.reset();
    EXPECT_GT(one_->stats().waited, 0U);
    ASSERT_TRUE(io::eventually([&] { return kept.size() == kMany; }));
    for (size_t i = 0; i < kMany; i++) {
        EXPECT_EQ(read(*kept[i]), std::to_string(i));
    }
    EXPECT_EQ(one_->stats().given, kMany);
    EXPECT_EQ(one_->stats().lost, 0U);
}

TEST_F(ConnectionExchangeTest, WhatWaitsIsBoundedAndLostWithItsProcess) {
    size_t given = 0;
    while (given < 2 * ConnectionExchange::kMaxWaiting &&
           one_->give(1, "http", *pair_.server, {})) {
        given++;
    }
    EXPECT_EQ(one_->stats().waited, ConnectionExchange::kMaxWaiting);
    EXPECT_EQ(one_->stats().refused, 1U);
    pair_.server.reset();
    other_.reset();
    EXPECT_TRUE(
        io::eventually([this] { return one_->stats().lost == ConnectionExchange::kMaxWaiting; }));
    EXPECT_EQ(read(*pair_.client), "closed");
}

TEST_F(ConnectionExchangeTest, AProcessThatWasBegunAnewIsFound) {
    ASSERT_TRUE(one_->give(1, "http", *pair_.server, {}));
    ASSERT_TRUE(io::eventually([this] { return moved_ != nullptr; }));
    moved_.reset();
    other_.reset();
    EXPECT_FALSE(one_->give(1, "http", *pair_.server, {}));
    auto anew = ConnectionExchange::create(address_of_, 1);
    ASSERT_TRUE(anew.ok());
    (*anew)->add("http", [this](auto stream) { moved_ = std::move(stream); });
    EXPECT_TRUE(one_->give(1, "http", *pair_.server, {}));
    EXPECT_TRUE(io::eventually([this] { return moved_ != nullptr; }));
}

TEST_F(ConnectionExchangeTest, WhatIsInsideOfAConnectionGoesWithTheAddressesOfBothEnds) {
    const auto peer = io::SocketAddress::parse("192.0.2.1:4711").value();
    const auto local = io::SocketAddress::parse("[2001:db8::1]:443").value();
    auto tunnel = io::TcpStream::pair(peer);
    ASSERT_TRUE(tunnel.ok());
    std::string at;
    other_->add_inside("http", [&](auto stream, const io::SocketAddress& where) {
        at = where.to_string();
        moved_ = std::move(stream);
    });
    ASSERT_TRUE(one_->give_inside(1, "http", *tunnel->other, local,
                                  {.answered = {}, .heard = bytes_of("GET ")}));
    tunnel->other.reset();
    ASSERT_TRUE(io::eventually([this] { return moved_ != nullptr; }));
    EXPECT_EQ(moved_->peer().to_string(), peer.to_string());
    EXPECT_EQ(at, local.to_string());
    EXPECT_EQ(read(*moved_), "GET ");
    ASSERT_FALSE(moved_->write_all(as_bytes("200"), io::soon()));
    EXPECT_EQ(read(*tunnel->one), "200");
}

TEST(Attached, MoreThanOneDescriptorIsNone) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends.data()), 0);
    const io::OwnFd one(ends[0]);
    const io::OwnFd other(ends[1]);
    const auto send = [&](size_t count) {
        alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
        char byte = 'x';
        iovec part{&byte, 1};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        cmsghdr* const first = CMSG_FIRSTHDR(&message);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(count * sizeof(int));
        const std::array<int, 2> fds{0, 1};
        std::memcpy(CMSG_DATA(first), fds.data(), count * sizeof(int));
        ASSERT_EQ(::sendmsg(one.get(), &message, 0), 1);
    };
    const auto receive = [&] {
        alignas(cmsghdr) std::array<char, 256> control{};
        char byte = 0;
        iovec part{&byte, 1};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        EXPECT_EQ(::recvmsg(other.get(), &message, MSG_CMSG_CLOEXEC), 1);
        return take_attached(message);
    };
    const int free_before = ::dup(0);
    ::close(free_before);
    send(1);
    EXPECT_TRUE(receive().descriptor);
    send(2);
    EXPECT_FALSE(receive().descriptor);
    const int free_after = ::dup(0);
    ::close(free_after);
    EXPECT_EQ(free_after, free_before) << "none stays open";
}

TEST_F(ConnectionExchangeTest, AKindThatNobodyTakesIsClosed) {
    ASSERT_TRUE(one_->give(1, "gopher", *pair_.server, {}));
    pair_.server.reset();
    EXPECT_EQ(read(*pair_.client), "closed");
    EXPECT_EQ(moved_, nullptr);
}

}  // namespace
}  // namespace weir::app
