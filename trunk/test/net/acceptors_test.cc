#include "net/acceptors.h"

#include <gtest/gtest.h>

#include "test/support/io/loopback.h"

namespace weir::net {
namespace {

std::unique_ptr<io::TcpListener> listener() {
    auto made = io::TcpListener::listen(io::loopback());
    WEIR_CHECK(made.ok());
    return std::move(*made);
}

class AcceptorsTest : public testing::Test {
  protected:
    ~AcceptorsTest() override {
        first_.stop();
        second_.stop();
    }

    std::unique_ptr<io::TcpStream> connect(const io::SocketAddress& to) {
        auto stream = io::TcpStream::connect(to, io::soon());
        return stream.ok() ? std::move(*stream) : nullptr;
    }

    std::vector<std::unique_ptr<io::TcpStream>> of_first_;
    std::vector<std::unique_ptr<io::TcpStream>> of_second_;
    Acceptors first_{"first",
                     [this](auto stream, const auto&) { of_first_.push_back(std::move(stream)); }};
    Acceptors second_{
        "second", [this](auto stream, const auto&) { of_second_.push_back(std::move(stream)); }};
};

TEST_F(AcceptorsTest, TakeFromEachListener) {
    for (int i = 0; i < 2; i++) {
        ASSERT_FALSE(first_.serve(listener()));
    }
    std::vector<std::unique_ptr<io::TcpStream>> clients;
    for (const io::SocketAddress& local : first_.locals()) {
        clients.push_back(connect(local));
    }
    EXPECT_TRUE(io::eventually([&] { return of_first_.size() == 2; }));
}

TEST_F(AcceptorsTest, AConnectionOutlivesItsListener) {
    auto made = listener();
    const io::TcpListener* gone = made.get();
    const io::SocketAddress local = made->local();
    ASSERT_FALSE(first_.serve(std::move(made)));
    auto client = connect(local);
    ASSERT_TRUE(io::eventually([&] { return of_first_.size() == 1; }));
    first_.close(gone);
    EXPECT_EQ(connect(local), nullptr) << "nobody listens any more";
    const Bytes said = {1, 2, 3};
    ASSERT_FALSE(client->write_all(said, io::soon()));
    Bytes heard(3);
    ASSERT_FALSE(of_first_[0]->read_full(heard, io::soon()));
    EXPECT_EQ(heard, said);
}

TEST_F(AcceptorsTest, WhoWaitsInTheQueueOfAClosedListenerIsTaken) {
    auto made = listener();
    const io::TcpListener* gone = made.get();
    const io::SocketAddress local = made->local();
    std::vector<std::unique_ptr<io::TcpStream>> clients;
    for (int i = 0; i < 3; i++) {
        clients.push_back(connect(local));  // nobody accepts yet
    }
    ASSERT_FALSE(first_.serve(std::move(made)));
    first_.close(gone);  // before the acceptor has run
    EXPECT_EQ(of_first_.size(), 3U);
}

TEST_F(AcceptorsTest, AListenerIsHandedOnOpen) {
    auto made = listener();
    const io::TcpListener* moved = made.get();
    const io::SocketAddress local = made->local();
    ASSERT_FALSE(first_.serve(std::move(made)));
    auto before = connect(local);
    ASSERT_TRUE(io::eventually([&] { return of_first_.size() == 1; }));
    std::unique_ptr<io::TcpListener> released = first_.release(moved);
    ASSERT_NE(released, nullptr);
    auto between = connect(local);
    EXPECT_NE(between, nullptr) << "it waits in the queue";
    ASSERT_FALSE(second_.serve(std::move(released)));
    auto after = connect(local);
    EXPECT_TRUE(io::eventually([&] { return of_second_.size() == 2; }));
    EXPECT_EQ(of_first_.size(), 1U);
}

TEST_F(AcceptorsTest, UnknownListenersAreNotReleased) {
    EXPECT_EQ(first_.release(nullptr), nullptr);
    auto other = listener();
    EXPECT_EQ(first_.release(other.get()), nullptr);
    first_.close(other.get());
}

}  // namespace
}  // namespace weir::net
