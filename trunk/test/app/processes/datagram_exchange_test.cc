#include "app/processes/datagram_exchange.h"

#include <algorithm>
#include <string>
#include <vector>

#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/random.h"
#include "io/own_fd.h"
#include "io/unix_socket.h"

#include "test/support/io/loopback.h"

namespace weir::app {
namespace {

using testing::ElementsAre;

net::ProcessPath path(uint8_t last, bool v6 = false) {
    const auto ip = [&](uint8_t end) {
        return v6 ? NetAddress::from_v6({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, end}, 0,
                                        3)
                  : NetAddress::from_v4({192, 0, 2, end}, 0);
    };
    return {ip(1).with_port(8000), v6 ? NetAddress() : ip(1), ip(last).with_port(5000)};
}

class Taker final : public net::ProcessDatagrams::Taker {
  public:
    std::vector<std::string> told;

  private:
    static std::string text(const net::ProcessPath& path) {
        return path.bound.to_string() + " " + path.local.ip_text() + " " + path.peer.to_string();
    }

    void on_passed(const net::ProcessPath& path, std::span<uint8_t> datagram) override {
        told.push_back(text(path) + " " + std::string(as_text(datagram)));
    }

    void on_claimed(const net::ProcessPath& path, uint32_t process) override {
        told.push_back(text(path) + " is of " + std::to_string(process));
    }

    void on_passed_end() override { told.emplace_back("end"); }
};

class DatagramExchangeTest : public testing::Test {
  protected:
    DatagramExchangeTest() {
        for (uint32_t i = 0; i < 3; i++) {
            auto made = DatagramExchange::create(address_of_, i, 4);
            EXPECT_TRUE(made.ok());
            all_.push_back(std::move(*made));
            all_.back()->set_taker(&takers_[i]);
        }
    }

    ~DatagramExchangeTest() override { all_.clear(); }

    bool told(size_t process, size_t count) {
        return io::eventually([&] { return takers_[process].told.size() >= count; });
    }

    const std::string name_ = random_id(system_random(), 12);
    AddressOf address_of_ = [this](uint32_t i) { return fmt::format("@weir-{}-{}-udp", name_, i); };
    std::array<Taker, 3> takers_;
    std::vector<std::unique_ptr<DatagramExchange>> all_;
};

TEST_F(DatagramExchangeTest, DatagramsGoInOneMessageWithWhereTheyCame) {
    all_[0]->pass(1, path(7), as_bytes("one"));
    all_[0]->pass(1, path(8, true), as_bytes("two"));
    all_[0]->pass(2, path(9), as_bytes(""));
    all_[0]->flush();
    ASSERT_TRUE(told(1, 3) && told(2, 2));
    EXPECT_THAT(takers_[1].told, ElementsAre("192.0.2.1:8000 192.0.2.1 192.0.2.7:5000 one",
                                             testing::AllOf(testing::HasSubstr("[fe80::1"),
                                                            testing::EndsWith("two")),
                                             "end"));
    EXPECT_EQ(takers_[2].told[0], "192.0.2.1:8000 192.0.2.1 192.0.2.9:5000 ");
    EXPECT_EQ(all_[0]->lost(), 0U);
}

TEST_F(DatagramExchangeTest, AClaimIsToldToAllOthers) {
    all_[2]->claim(path(7));
    all_[2]->flush();
    ASSERT_TRUE(told(0, 2) && told(1, 2));
    EXPECT_EQ(takers_[0].told[0], "192.0.2.1:8000 192.0.2.1 192.0.2.7:5000 is of 2");
    EXPECT_TRUE(takers_[2].told.empty());
    EXPECT_EQ(all_[2]->lost(), 0U) << "there is no fourth process, but claims are no datagrams";
}

TEST_F(DatagramExchangeTest, WhatIsTooMuchForOneMessageGoesInSeveral) {
    const Bytes large(io::UdpSocket::kMaxDatagram, 'x');
    for (size_t i = 0; i < 40; i++) {
        all_[0]->pass(1, path(7), large);
    }
    all_[0]->flush();
    ASSERT_TRUE(io::eventually([&] {
        return testing::Matches(testing::Contains(testing::EndsWith("xxx")).Times(40))(
            takers_[1].told);
    }));
}

TEST_F(DatagramExchangeTest, WhatAnotherProcessDoesNotTakeIsLostAndCounted) {
    all_[0]->pass(3, path(7), as_bytes("nobody"));
    all_[0]->flush();
    EXPECT_EQ(all_[0]->lost(), 1U);
    // It does not read while nothing here waits.
    for (size_t i = 0; i < 1'000; i++) {
        all_[0]->pass(1, path(7), as_bytes("busy"));
        all_[0]->flush();
    }
    const uint64_t lost = all_[0]->lost() - 1;
    EXPECT_GT(lost, 0U);
    ASSERT_TRUE(io::eventually([&] {
        return testing::Matches(testing::Contains(testing::EndsWith("busy")).Times(1'000 - lost))(
            takers_[1].told);
    }));
}

TEST_F(DatagramExchangeTest, WithoutATakerItIsReadAllTheSame) {
    all_[1]->set_taker(nullptr);
    all_[0]->pass(1, path(7), as_bytes("one"));
    all_[0]->flush();
    EXPECT_FALSE(io::sleep_for(Millis(20)));  // it is read
    all_[1]->set_taker(&takers_[1]);
    all_[0]->pass(1, path(7), as_bytes("two"));
    all_[0]->flush();
    ASSERT_TRUE(io::eventually([&] {
        return testing::Matches(testing::Contains(testing::EndsWith("two")))(takers_[1].told);
    }));
    EXPECT_THAT(takers_[1].told, testing::Not(testing::Contains(testing::EndsWith("one"))));
}

TEST_F(DatagramExchangeTest, NobodyTakesWhatIsBroken) {
    const io::OwnFd raw(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const Result<io::UnixAddress> to = io::UnixAddress::of(address_of_(1));
    ASSERT_TRUE(to.ok());
    const auto send = [&](uint32_t process, size_t zeros, uint16_t size, size_t more) {
        Bytes bytes;
        ByteWriter(bytes).u32(process).bytes(Bytes(zeros)).u16(size).bytes(Bytes(more));
        EXPECT_GT(::sendto(raw.get(), bytes.data(), bytes.size(), 0,
                           reinterpret_cast<const sockaddr*>(&to->raw), to->size),
                  0);
    };
    send(0, 60, 100, 5);      // cut
    send(0, 20, 0xffff, 0);   // cut within the addresses
    send(9, 60, 1, 1);        // of a process that there is not
    send(0, 60, 4000, 4000);  // larger than a datagram
    all_[0]->pass(1, path(7), as_bytes("two"));
    all_[0]->flush();
    ASSERT_TRUE(io::eventually([&] {
        return testing::Matches(testing::Contains(testing::EndsWith("two")))(takers_[1].told);
    }));
    EXPECT_EQ(
        std::ranges::count_if(takers_[1].told, [](const auto& each) { return each != "end"; }), 1);
}

}  // namespace
}  // namespace weir::app
