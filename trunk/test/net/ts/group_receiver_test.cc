// Datagrams of groups and ports over loopback.
#include "net/ts/group_receiver.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

class GroupReceiverTest : public testing::Test {
  protected:
    static std::unique_ptr<io::UdpSocket> new_sender(const char* from) {
        auto socket = io::UdpSocket::bind(io::SocketAddress::parse(from).value(), {});
        EXPECT_TRUE(socket.ok()) << socket.error().to_string();
        return std::move(*socket);
    }

    // A port that nobody has, for this moment.
    static uint16_t free_port() { return new_sender("127.0.0.1:0")->local().port(); }

    static void send(io::UdpSocket& from, const std::string& to, const std::string& text) {
        EXPECT_EQ(from.send({*NetAddress::parse(to), {}}, as_bytes(text)).status,
                  io::IoStatus::kDone);
    }

    // All that comes up to the text "end".
    static std::vector<std::string> texts(GroupReceiver& receiver) {
        std::vector<std::string> list;
        EXPECT_TRUE(io::eventually([&] {
            receiver.read(
                [&list](ByteSpan bytes) { list.emplace_back(bytes.begin(), bytes.end()); });
            return !list.empty() && list.back() == "end";
        }));
        return list;
    }
};

Result<std::unique_ptr<GroupReceiver>> open(const std::string& text) {
    return GroupReceiver::open(GroupAddress::parse(text).value());
}

TEST_F(GroupReceiverTest, GetsWhatIsSentToAPortOfThisHost) {
    const std::string to = fmt::format("127.0.0.1:{}", free_port());
    auto receiver = open(to);
    ASSERT_TRUE(receiver.ok()) << receiver.error().to_string();
    auto sender = new_sender("127.0.0.1:0");
    send(*sender, to, "one");
    send(*sender, to, "end");
    EXPECT_EQ(texts(**receiver), (std::vector<std::string>{"one", "end"}));
    EXPECT_EQ((*receiver)->stats().received, 2U);
}

TEST_F(GroupReceiverTest, IgnoresOthersThanTheSource) {
    const uint16_t port = free_port();
    auto receiver = open(fmt::format("127.0.0.2@127.0.0.1:{}", port));
    ASSERT_TRUE(receiver.ok()) << receiver.error().to_string();
    auto stranger = new_sender("127.0.0.1:0");
    auto sender = new_sender("127.0.0.2:0");
    const std::string to = fmt::format("127.0.0.1:{}", port);
    send(*stranger, to, "nobody asked");
    send(*sender, to, "end");
    EXPECT_EQ(texts(**receiver), (std::vector<std::string>{"end"}));
    EXPECT_EQ((*receiver)->strangers(), 1U);
}

TEST_F(GroupReceiverTest, RefusesAnInterfaceThatIsNot) {
    const auto receiver = open("239.1.1.1:5000@nothere0");
    ASSERT_FALSE(receiver.ok());
    EXPECT_EQ(receiver.error().code(), ErrorCode::kNotFound);
    EXPECT_NE(receiver.error().message().find("nothere0"), std::string_view::npos);
    EXPECT_FALSE(open("239.1.1.1:5000@192.0.2.77").ok());
}

TEST_F(GroupReceiverTest, SaysThatAPortIsTaken) {
    auto holder = new_sender("127.0.0.1:0");
    const auto receiver = open(holder->local().to_string());
    ASSERT_FALSE(receiver.ok());
    EXPECT_EQ(receiver.error().code(), ErrorCode::kBusy);
}

TEST_F(GroupReceiverTest, SharesAGroupWithOthersAndHearsNoOtherGroup) {
    const uint16_t port = free_port();
    auto one = open(fmt::format("239.12.0.1:{}@lo", port));
    auto two = open(fmt::format("239.12.0.1:{}@127.0.0.1", port));
    auto other = open(fmt::format("239.12.0.2:{}@lo", port));
    for (const auto* each : {&one, &two, &other}) {
        ASSERT_TRUE(each->ok()) << each->error().to_string();
    }
    auto sender = new_sender("127.0.0.1:0");
    send(*sender, fmt::format("239.12.0.2:{}", port), "end");
    send(*sender, fmt::format("239.12.0.1:{}", port), "first");
    send(*sender, fmt::format("239.12.0.1:{}", port), "end");
    EXPECT_EQ(texts(**one), (std::vector<std::string>{"first", "end"}));
    EXPECT_EQ(texts(**two), (std::vector<std::string>{"first", "end"}));
    EXPECT_EQ(texts(**other), (std::vector<std::string>{"end"}));
}

TEST_F(GroupReceiverTest, JoinsASourceAlone) {
    const uint16_t port = free_port();
    auto receiver = open(fmt::format("127.0.0.2@232.12.0.1:{}@lo", port));
    ASSERT_TRUE(receiver.ok()) << receiver.error().to_string();
    auto stranger = new_sender("127.0.0.1:0");
    auto sender = new_sender("127.0.0.2:0");
    const std::string to = fmt::format("232.12.0.1:{}", port);
    send(*stranger, to, "nobody asked");
    send(*sender, to, "end");
    EXPECT_EQ(texts(**receiver), (std::vector<std::string>{"end"}));
    EXPECT_EQ((*receiver)->strangers(), 0U) << "the kernel has sorted them out";
}

}  // namespace
}  // namespace weir::net
