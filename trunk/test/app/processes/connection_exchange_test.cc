#include "app/processes/connection_exchange.h"

#include <array>
#include <cstring>

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
