#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/uio.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "io/deadline.h"
#include "io/runtime.h"
#include "io/stream_options.h"
#include "io/tcp.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

std::string read_text(TcpStream& stream, size_t limit = 100) {
    Bytes buffer(limit);
    auto got = stream.read_some(buffer, soon());
    return got.ok() ? std::string(as_text({buffer.data(), *got})) : got.error().to_string();
}

// Counts edges; takes what is there.
class Handler final : public EventHandler {
  public:
    explicit Handler(TcpStream& stream) : stream_(stream) {}

    void on_ready(uint8_t ready) override {
        seen |= ready;
        calls++;
        while (stream_.readable()) {
            std::array<uint8_t, 16> buffer{};
            IoResult result = stream_.try_read(buffer);
            if (result.status != IoStatus::kDone) {
                ended = ended || result.status != IoStatus::kWouldBlock;
                break;
            }
            text += as_text({buffer.data(), result.bytes});
        }
    }

    uint8_t seen = 0;
    int calls = 0;
    bool ended = false;
    std::string text;

  private:
    TcpStream& stream_;
};

template <typename Condition>
bool eventually(Condition condition) {
    for (Deadline deadline = soon(); !deadline.passed();) {
        if (condition()) {
            return true;
        }
        EXPECT_FALSE(sleep_for(Millis(1)));
    }
    return false;
}

// As many bytes as loopback can possibly buffer, and more.
constexpr size_t kMoreThanBuffers = 64 * 1024 * 1024;

TEST(TcpStreamTest, FitsIntoTheMemoryBudgetOfAPlayer) {
    EXPECT_LE(sizeof(TcpStream), 128U);
}

TEST(TcpStreamTest, CarriesBytesBothWays) {
    auto [client, server] = loopback_pair();
    EXPECT_FALSE(client->write_all(as_bytes("question"), soon()));
    EXPECT_EQ(read_text(*server), "question");
    EXPECT_FALSE(server->write_all(as_bytes("answer"), soon()));
    EXPECT_EQ(read_text(*client), "answer");
}

TEST(TcpStreamTest, KnowsBothAddresses) {
    auto [client, server] = loopback_pair();
    EXPECT_EQ(client->peer().to_string(), server->local().to_string());
    EXPECT_EQ(server->peer().to_string(), client->local().to_string());
    EXPECT_TRUE(server->peer().is_loopback());
}

TEST(TcpStreamTest, TellsWhatTheKernelKnowsOfIt) {
    auto [client, server] = loopback_pair();
    EXPECT_FALSE(client->write_all(as_bytes("question"), soon()));
    EXPECT_EQ(read_text(*server), "question");
    const auto facts = client->facts();
    ASSERT_TRUE(facts);
    EXPECT_GT(facts->rtt.count(), 0);
    EXPECT_LT(facts->rtt, Seconds(10));
    EXPECT_GT(facts->window_segments, 0U);
    EXPECT_EQ(facts->retransmits, 0U);
    client->close();
    EXPECT_FALSE(client->facts());
}

TEST(TcpStreamTest, ReaderWaitsForBytesThatComeLater) {
    auto [client, server] = loopback_pair();
    Coroutine writer = go([&client = client] {
        EXPECT_FALSE(sleep_for(Millis(10)));
        EXPECT_FALSE(client->write_all(as_bytes("late"), soon()));
    });
    EXPECT_EQ(read_text(*server), "late");
    writer.join();
}

TEST(TcpStreamTest, ReadFullCollectsPieces) {
    auto [client, server] = loopback_pair();
    Coroutine writer = go([&client = client] {
        for (const char* piece : {"a", "bc", "def", "ghij"}) {
            EXPECT_FALSE(client->write_all(as_bytes(piece), soon()));
            EXPECT_FALSE(sleep_for(Millis(2)));
        }
    });
    Bytes buffer(10);
    EXPECT_FALSE(server->read_full(buffer, soon()));
    EXPECT_EQ(as_text(buffer), "abcdefghij");
    writer.join();
}

TEST(TcpStreamTest, ReadFullTellsWhenThePeerEndsBefore) {
    auto [client, server] = loopback_pair();
    EXPECT_FALSE(client->write_all(as_bytes("abc"), soon()));
    client->close();
    Bytes buffer(10);
    EXPECT_EQ(server->read_full(buffer, soon()).code(), ErrorCode::kClosed);
}

TEST(TcpStreamTest, CarriesFarMoreThanTheSocketBuffers) {
    auto [client, server] = loopback_pair();
    constexpr size_t kTotal = 24 * 1024 * 1024;
    Coroutine writer = go([&client = client] {
        Bytes block(1024 * 1024);
        for (size_t sent = 0; sent < kTotal; sent += block.size()) {
            for (size_t i = 0; i < block.size(); i++) {
                block[i] = static_cast<uint8_t>((sent + i) * 7 >> 3);
            }
            ASSERT_FALSE(client->write_all(block, soon()));
        }
        client->close();
    });
    Bytes buffer(100'000);
    size_t received = 0;
    size_t wrong = 0;
    for (;;) {
        auto got = server->read_some(buffer, soon());
        if (!got.ok()) {
            EXPECT_EQ(got.error().code(), ErrorCode::kClosed);
            break;
        }
        for (size_t i = 0; i < *got; i++) {
            wrong += buffer[i] == static_cast<uint8_t>((received + i) * 7 >> 3) ? 0U : 1U;
        }
        received += *got;
    }
    writer.join();
    EXPECT_EQ(received, kTotal);
    EXPECT_EQ(wrong, 0U);
}

TEST(TcpStreamTest, ReadEndsAtItsDeadline) {
    auto [client, server] = loopback_pair();
    Bytes buffer(10);
    MonoTime start = MonoClock::now();
    auto got = server->read_some(buffer, Deadline::after(Millis(20)));
    EXPECT_EQ(got.error().code(), ErrorCode::kTimeout);
    EXPECT_GE(MonoClock::now() - start, Millis(20));
    EXPECT_FALSE(client->write_all(as_bytes("usable"), soon()));
    EXPECT_EQ(read_text(*server), "usable");
}

TEST(TcpStreamTest, WriteEndsAtItsDeadlineWhenThePeerTakesNothing) {
    auto [client, server] = loopback_pair();
    Bytes much(kMoreThanBuffers);
    EXPECT_EQ(client->write_all(much, Deadline::after(Millis(50))).code(), ErrorCode::kTimeout);
    EXPECT_FALSE(client->writable());
}

TEST(TcpStreamTest, BytesThatAreThereAreTakenEvenAfterTheDeadline) {
    auto [client, server] = loopback_pair();
    EXPECT_FALSE(client->write_all(as_bytes("there"), soon()));
    ASSERT_TRUE(eventually([&server = server] { return server->readable(); }));
    Bytes buffer(10);
    EXPECT_TRUE(server->read_some(buffer, Deadline::after(Micros(-1))).ok());
}

TEST(TcpStreamTest, InterruptEndsReadAndWrite) {
    auto [client, server] = loopback_pair();
    Coroutine reader = go([&server = server] {
        Bytes buffer(10);
        EXPECT_EQ(server->read_some(buffer, soon()).error().code(), ErrorCode::kInterrupted);
    });
    Coroutine writer = go([&client = client] {
        Bytes much(kMoreThanBuffers);
        EXPECT_EQ(client->write_all(much, soon()).code(), ErrorCode::kInterrupted);
    });
    Coroutine other = go([&client = client] {
        Bytes buffer(10);
        EXPECT_EQ(client->read_some(buffer, soon()).error().code(), ErrorCode::kInterrupted);
    });
    EXPECT_FALSE(sleep_for(Millis(20)));
    MonoTime start = MonoClock::now();
    for (Coroutine* coroutine : {&reader, &writer, &other}) {
        coroutine->interrupt();
        coroutine->join();
    }
    EXPECT_LT(MonoClock::now() - start, Seconds(5));
}

TEST(TcpStreamTest, InterruptStopsAReaderThatNeverHasToWait) {
    auto [client, server] = loopback_pair();
    Coroutine writer = go([&client = client] {
        Bytes block(100'000);
        for (Error error; !error;) {
            error = client->write_all(block, soon());
        }
    });
    Coroutine reader = go([&server = server] {
        Bytes buffer(100);
        Error error;
        while (!error) {
            auto got = server->read_some(buffer, soon());
            error = got.ok() ? Error() : got.take_error();
        }
        EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
    });
    EXPECT_FALSE(sleep_for(Millis(20)));  // comes back: the two let others run
    reader.interrupt();
    reader.join();
    writer.interrupt();
    writer.join();
}

TEST(TcpStreamTest, FinOfThePeerIsClosed) {
    auto [client, server] = loopback_pair();
    client->close();
    EXPECT_EQ(read_text(*server), "closed: closed by the peer");
    EXPECT_EQ(read_text(*server), "closed: closed by the peer");
    EXPECT_TRUE(eventually([&server = server] { return server->hangup(); }));
}

TEST(TcpStreamTest, FinWakesAWaitingReader) {
    auto [client, server] = loopback_pair();
    Coroutine closer = go([&client = client] {
        EXPECT_FALSE(sleep_for(Millis(10)));
        client->close();
    });
    EXPECT_EQ(read_text(*server), "closed: closed by the peer");
    closer.join();
}

TEST(TcpStreamTest, LastBytesBeforeAFinAreRead) {
    auto [client, server] = loopback_pair();
    EXPECT_FALSE(client->write_all(as_bytes("last words"), soon()));
    client->close();
    ASSERT_TRUE(eventually([&server = server] { return server->hangup(); }));
    EXPECT_EQ(read_text(*server, 4), "last");
    EXPECT_EQ(read_text(*server), " words");
    EXPECT_EQ(read_text(*server), "closed: closed by the peer");
}

TEST(TcpStreamTest, AnswersAPeerThatHasHalfClosed) {
    auto [client, server] = loopback_pair();
    EXPECT_FALSE(client->write_all(as_bytes("request"), soon()));
    ::shutdown(client->fd(), SHUT_WR);
    EXPECT_EQ(read_text(*server), "request");
    EXPECT_EQ(read_text(*server), "closed: closed by the peer");
    EXPECT_FALSE(server->write_all(as_bytes("response"), soon()));
    EXPECT_EQ(read_text(*client), "response");
}

TEST(TcpStreamTest, ResetOfThePeerIsClosedToo) {
    auto [client, server] = loopback_pair();
    linger hard{1, 0};
    setsockopt(client->fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    client->close();
    EXPECT_EQ(read_text(*server), "closed: connection reset by the peer");
    Error error = server->write_all(as_bytes("x"), soon());
    EXPECT_EQ(error.code(), ErrorCode::kClosed);
}

TEST(TcpStreamTest, ShutdownReleasesItsOwnWaiters) {
    auto [client, server] = loopback_pair();
    Coroutine reader = go([&server = server] {
        Bytes buffer(10);
        EXPECT_EQ(server->read_some(buffer, soon()).error().code(), ErrorCode::kClosed);
    });
    yield();
    server->shutdown();
    reader.join();
    EXPECT_EQ(read_text(*client), "closed: closed by the peer");
    EXPECT_EQ(server->write_all(as_bytes("x"), soon()).code(), ErrorCode::kClosed);
}

TEST(TcpStreamTest, CloseReleasesItsOwnWaitersAndTheDescriptor) {
    auto [client, server] = loopback_pair();
    Coroutine reader = go([&server = server] {
        Bytes buffer(10);
        EXPECT_EQ(server->read_some(buffer, soon()).error().code(), ErrorCode::kClosed);
    });
    yield();
    uint64_t registered = runtime_stats().registered;
    server->close();
    server->close();
    reader.join();
    EXPECT_EQ(server->fd(), -1);
    EXPECT_EQ(runtime_stats().registered, registered - 1);
    std::array<uint8_t, 4> buffer{};
    EXPECT_EQ(server->try_read(buffer).status, IoStatus::kClosed);
    EXPECT_EQ(server->try_write(buffer).status, IoStatus::kClosed);
}

TEST(TcpStreamTest, TryReadTellsAnEmptySocketFromAClosedOne) {
    auto [client, server] = loopback_pair();
    std::array<uint8_t, 4> buffer{};
    EXPECT_EQ(server->try_read(buffer).status, IoStatus::kWouldBlock);
    EXPECT_FALSE(server->readable());
    client->close();
    ASSERT_TRUE(eventually([&server = server] { return server->readable(); }));
    EXPECT_EQ(server->try_read(buffer).status, IoStatus::kClosed);
}

TEST(TcpStreamTest, ShortReadClearsReadableUntilTheNextBytes) {
    auto [client, server] = loopback_pair();
    EXPECT_FALSE(client->write_all(as_bytes("abc"), soon()));
    ASSERT_TRUE(eventually([&server = server] {
        std::array<uint8_t, 8> buffer{};
        return server->try_read(buffer).status == IoStatus::kDone;
    }));
    EXPECT_FALSE(server->readable());
    EXPECT_FALSE(client->write_all(as_bytes("d"), soon()));
    EXPECT_TRUE(eventually([&server = server] { return server->readable(); }));
}

TEST(TcpStreamTest, PartialWriteClearsWritableUntilThePeerHasRead) {
    auto [client, server] = loopback_pair();
    Bytes much(kMoreThanBuffers);
    IoResult result = client->try_write(much);
    ASSERT_EQ(result.status, IoStatus::kDone);
    EXPECT_LT(result.bytes, much.size());
    EXPECT_FALSE(client->writable());
    size_t written = result.bytes;
    while (written > 0) {
        auto got = server->read_some(much, soon());
        ASSERT_TRUE(got.ok());
        written -= std::min(*got, written);
    }
    EXPECT_TRUE(eventually([&client = client] { return client->writable(); }));
}

TEST(TcpStreamTest, GathersSeveralPartsIntoOneWrite) {
    auto [client, server] = loopback_pair();
    std::string head = "head ";
    std::string body = "body";
    std::array<iovec, 2> parts{{{head.data(), head.size()}, {body.data(), body.size()}}};
    IoResult result = client->try_writev(parts);
    EXPECT_EQ(result.status, IoStatus::kDone);
    EXPECT_EQ(result.bytes, head.size() + body.size());
    EXPECT_EQ(read_text(*server), "head body");
}

TEST(TcpStreamTest, HandsOverToAHandler) {
    auto [client, server] = loopback_pair();
    EXPECT_FALSE(client->write_all(as_bytes("before"), soon()));
    EXPECT_EQ(read_text(*server), "before");
    EXPECT_FALSE(client->write_all(as_bytes("between "), soon()));
    ASSERT_TRUE(eventually([&server = server] { return server->readable(); }));
    Handler handler(*server);
    server->set_handler(&handler);
    EXPECT_EQ(handler.calls, 0);      // that edge is past ...
    EXPECT_TRUE(server->readable());  // ... and has to be looked for
    handler.on_ready(kReadable);
    EXPECT_FALSE(client->write_all(as_bytes("after"), soon()));
    EXPECT_TRUE(eventually([&] { return handler.text == "between after"; })) << handler.text;
    client->close();
    EXPECT_TRUE(eventually([&] { return handler.ended; }));
    EXPECT_TRUE(handler.seen & kHangup);
}

TEST(TcpStreamTest, FinBeforeTheHandOverIsSeenByLookingAgain) {
    auto [client, server] = loopback_pair();
    client->close();
    ASSERT_TRUE(eventually([&server = server] { return server->hangup(); }));
    Handler handler(*server);
    server->set_handler(&handler);
    EXPECT_TRUE(server->readable());
    handler.on_ready(kReadable);
    EXPECT_TRUE(handler.ended);
}

TEST(TcpStreamTest, GivesItsEdgesBackToCoroutines) {
    auto [client, server] = loopback_pair();
    Handler handler(*server);
    server->set_handler(&handler);
    EXPECT_FALSE(client->write_all(as_bytes("one"), soon()));
    ASSERT_TRUE(eventually([&] { return handler.text == "one"; }));
    server->set_handler(nullptr);
    EXPECT_FALSE(client->write_all(as_bytes("two"), soon()));
    EXPECT_EQ(read_text(*server), "two");
    EXPECT_EQ(handler.text, "one");
}

class DestroyingHandler final : public EventHandler {
  public:
    explicit DestroyingHandler(std::unique_ptr<TcpStream> stream) : stream_(std::move(stream)) {
        stream_->set_handler(this);
    }

    void on_ready(uint8_t ready) override {
        if ((ready & kHangup) != 0) {
            stream_.reset();
        }
    }

    bool gone() const { return stream_ == nullptr; }

  private:
    std::unique_ptr<TcpStream> stream_;
};

TEST(TcpStreamTest, HandlerMayDestroyTheStream) {
    auto [client, server] = loopback_pair();
    DestroyingHandler handler(std::move(server));
    client->close();
    EXPECT_TRUE(eventually([&] { return handler.gone(); }));
}

TEST(TcpStreamTest, AppliesItsOptions) {
    auto [client, server] = loopback_pair();
    client->apply({.send_buffer_bytes = 20'000,
                   .notsent_lowat_bytes = 16'384,
                   .user_timeout = Millis(20'000)});
    auto option = [fd = client->fd()](int level, int name) {
        int value = 0;
        socklen_t size = sizeof value;
        getsockopt(fd, level, name, &value, &size);
        return value;
    };
    EXPECT_EQ(option(SOL_SOCKET, SO_SNDBUF), 40'000);  // the kernel doubles it, socket(7)
    EXPECT_EQ(option(IPPROTO_TCP, TCP_NOTSENT_LOWAT), 16'384);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 20'000);
    EXPECT_NE(option(IPPROTO_TCP, TCP_NODELAY), 0);
    EXPECT_NE(option(SOL_SOCKET, SO_KEEPALIVE), 0);
}

TEST(TcpStreamTest, ConnectToAClosedPortSaysWhereAndWhy) {
    auto listener = TcpListener::listen(loopback());
    ASSERT_TRUE(listener.ok());
    SocketAddress address = (*listener)->local();
    (*listener)->close();
    auto stream = TcpStream::connect(address, soon());
    ASSERT_FALSE(stream.ok());
    EXPECT_EQ(stream.error().code(), ErrorCode::kSystem);
    EXPECT_EQ(stream.error().message(),
              "connect to " + address.to_string() + ": Connection refused");
}

TEST(TcpStreamTest, ConnectGivesUpAtItsDeadline) {
    // A listener whose backlog is full does not answer.
    auto listener = TcpListener::listen(loopback(), 0);
    ASSERT_TRUE(listener.ok());
    std::vector<std::unique_ptr<TcpStream>> streams;
    ErrorCode code = ErrorCode::kOk;
    for (int i = 0; i < 8 && code == ErrorCode::kOk; i++) {
        auto stream = TcpStream::connect((*listener)->local(), Deadline::after(Millis(100)));
        if (stream.ok()) {
            streams.push_back(std::move(*stream));
        } else {
            code = stream.error().code();
        }
    }
    EXPECT_EQ(code, ErrorCode::kTimeout);
}

TEST(TcpStreamTest, ConnectIsInterruptible) {
    auto listener = TcpListener::listen(loopback(), 0);
    ASSERT_TRUE(listener.ok());
    ErrorCode code = ErrorCode::kOk;
    Coroutine connector = go([&] {
        std::vector<std::unique_ptr<TcpStream>> streams;
        while (code == ErrorCode::kOk) {
            auto stream = TcpStream::connect((*listener)->local(), soon());
            if (stream.ok()) {
                streams.push_back(std::move(*stream));
            } else {
                code = stream.error().code();
            }
        }
    });
    EXPECT_FALSE(sleep_for(Millis(50)));
    connector.interrupt();
    connector.join();
    EXPECT_EQ(code, ErrorCode::kInterrupted);
}

TEST(TcpStreamTest, ConnectCanBindTheLocalAddress) {
    auto listener = TcpListener::listen(loopback());
    ASSERT_TRUE(listener.ok());
    SocketAddress from = SocketAddress::parse("127.0.0.77:0").value();
    auto stream = TcpStream::connect((*listener)->local(), soon(), &from);
    ASSERT_TRUE(stream.ok()) << stream.error().to_string();
    EXPECT_EQ((*stream)->local().host(), "127.0.0.77");
}

TEST(TcpStreamTest, OpenAndCloseLeavesNothingBehind) {
    RuntimeStats before = runtime_stats();
    for (int i = 0; i < 200; i++) {
        auto [client, server] = loopback_pair();
        Coroutine echo = go([&server = server] {
            Bytes buffer(10);
            auto got = server->read_some(buffer, soon());
            ASSERT_TRUE(got.ok());
            EXPECT_FALSE(server->write_all({buffer.data(), *got}, soon()));
        });
        EXPECT_FALSE(client->write_all(as_bytes("ping"), soon()));
        EXPECT_EQ(read_text(*client), "ping");
        echo.join();
    }
    RuntimeStats after = runtime_stats();
    EXPECT_EQ(after.registered, before.registered);
    EXPECT_EQ(after.coroutines_live, before.coroutines_live);
}

TEST(TcpStreamTest, WhatCannotBeAdoptedIsClosedAllTheSame) {
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    EXPECT_FALSE(TcpStream::adopt(file, loopback(1)).ok());
    EXPECT_EQ(fcntl(file, F_GETFD), -1) << "it was given away";
}

TEST(TcpStreamTest, ThePeerBehindAProxyIsNotTheConnectionsPeer) {
    auto [client, server] = loopback_pair();
    const SocketAddress behind = SocketAddress::parse("192.0.2.1:999").value();
    server->set_peer(behind);
    EXPECT_EQ(server->peer().to_string(), "192.0.2.1:999");
    EXPECT_EQ(server->connection_peer().to_string(), client->local().to_string());
}

TEST(TcpStreamTest, OneThatIsNotWatchedHasNoEdgesUntilItIsAgain) {
    auto [client, server] = loopback_pair();
    std::array<uint8_t, 8> buffer{};
    ASSERT_EQ(server->try_read(buffer).status, IoStatus::kWouldBlock);
    const uint64_t registered = runtime_stats().registered;
    server->unwatch();
    server->unwatch();
    EXPECT_EQ(runtime_stats().registered, registered - 1);
    ASSERT_FALSE(client->write_all(as_bytes("here"), soon()));
    EXPECT_EQ(server->wait_readable(Deadline::after(Millis(20))).code(), ErrorCode::kTimeout);
    EXPECT_FALSE(server->readable());
    Handler handler(*server);
    server->set_handler(&handler);
    ASSERT_FALSE(server->watch());
    ASSERT_FALSE(server->watch());
    EXPECT_EQ(runtime_stats().registered, registered);
    EXPECT_TRUE(eventually([&] { return handler.text == "here"; })) << "the edge comes again";
    server->set_handler(nullptr);
}

TEST(TcpStreamTest, TheTryCallsNeedNoWatching) {
    auto [client, server] = loopback_pair();
    server->unwatch();
    ASSERT_FALSE(client->write_all(as_bytes("ping"), soon()));
    std::array<uint8_t, 8> buffer{};
    EXPECT_TRUE(eventually([&] { return server->try_read(buffer).bytes == 4; }));
    EXPECT_EQ(server->try_write(as_bytes("pong")).bytes, 4U);
    EXPECT_EQ(read_text(*client), "pong");
}

TEST(TcpStreamTest, AClosedOneIsClosedToEveryCall) {
    auto [client, server] = loopback_pair();
    server->close();
    server->shutdown();
    server->close();
    std::array<uint8_t, 4> buffer{};
    const iovec parts[] = {{buffer.data(), 2}, {buffer.data(), 2}};
    EXPECT_EQ(server->try_read(buffer).status, IoStatus::kClosed);
    EXPECT_EQ(server->try_write(buffer).status, IoStatus::kClosed);
    EXPECT_EQ(server->try_writev(parts).status, IoStatus::kClosed);
    EXPECT_EQ(server->read_some(buffer, soon()).error().code(), ErrorCode::kClosed);
    EXPECT_EQ(server->write_all(buffer, soon()).code(), ErrorCode::kClosed);
    EXPECT_EQ(server->wait_readable(soon()).code(), ErrorCode::kClosed);
    EXPECT_EQ(server->wait_writable(soon()).code(), ErrorCode::kClosed);
    EXPECT_FALSE(server->end_writing());
    EXPECT_FALSE(server->facts());
    EXPECT_FALSE(server->watch());
    EXPECT_EQ(server->fd(), -1);
}

TEST(TcpStreamTest, NothingToWriteIsNoError) {
    auto [client, server] = loopback_pair();
    EXPECT_FALSE(client->write_all(ByteSpan(), soon()));
    client->close();
    EXPECT_FALSE(server->read_full({}, soon())) << "nothing is wanted of a peer that has gone";
}

TEST(TcpStreamTest, WaitReadableTakesNothingAndSeesTheEndAsBytes) {
    auto [client, server] = loopback_pair();
    std::array<uint8_t, 8> buffer{};
    ASSERT_EQ(server->try_read(buffer).status, IoStatus::kWouldBlock);
    EXPECT_EQ(server->wait_readable(Deadline::after(Millis(5))).code(), ErrorCode::kTimeout);
    ASSERT_FALSE(client->write_all(as_bytes("x"), soon()));
    ASSERT_FALSE(server->wait_readable(soon()));
    ASSERT_FALSE(server->wait_readable(soon()));
    EXPECT_EQ(read_text(*server), "x");
    client->close();
    while (server->try_read(buffer).status == IoStatus::kWouldBlock) {
        ASSERT_FALSE(server->wait_readable(soon()))
            << "the end of the peer is for the read to tell";
    }
    EXPECT_EQ(server->try_read(buffer).status, IoStatus::kClosed);
}

TEST(TcpStreamTest, AnInterruptCountsMoreThanReadiness) {
    auto [client, server] = loopback_pair();
    ASSERT_FALSE(client->write_all(as_bytes("x"), soon()));
    ASSERT_FALSE(server->wait_readable(soon()));
    ASSERT_TRUE(server->writable());
    ErrorCode reading = ErrorCode::kOk;
    ErrorCode writing = ErrorCode::kOk;
    Coroutine waiter = go([&, &stream = *server] {
        reading = stream.wait_readable(soon()).code();
        writing = stream.wait_writable(soon()).code();
    });
    waiter.interrupt();
    waiter.join();
    EXPECT_EQ(reading, ErrorCode::kInterrupted);
    EXPECT_EQ(writing, ErrorCode::kInterrupted);
}

TEST(TcpStreamTest, AWriteToAPeerThatIsGoneIsClosed) {
    auto [client, server] = loopback_pair();
    client->close();
    Bytes data(1000);
    Error error;
    for (const Deadline deadline = soon(); !error && !deadline.passed();) {
        error = server->write_all(data, deadline);
    }
    EXPECT_EQ(error.code(), ErrorCode::kClosed) << error.to_string();
    EXPECT_TRUE(eventually([&] { return server->hangup(); }));
}

TEST(TcpStreamTest, ConnectSaysThatAnAddressIsNotOurs) {
    auto listener = TcpListener::listen(loopback());
    ASSERT_TRUE(listener.ok());
    const uint64_t registered = runtime_stats().registered;
    const SocketAddress from = SocketAddress::parse("192.0.2.1:0").value();
    const auto stream = TcpStream::connect((*listener)->local(), soon(), &from);
    ASSERT_FALSE(stream.ok());
    EXPECT_EQ(stream.error().code(), ErrorCode::kSystem);
    EXPECT_EQ(stream.error().message().substr(0, 16), "bind 192.0.2.1:0");
    EXPECT_EQ(runtime_stats().registered, registered);
}

TEST(TcpStreamTest, ConnectOfOneWhoWasAskedToStopDoesNotBegin) {
    auto listener = TcpListener::listen(loopback());
    ASSERT_TRUE(listener.ok());
    ErrorCode code = ErrorCode::kOk;
    Coroutine connector =
        go([&] { code = TcpStream::connect((*listener)->local(), soon()).error().code(); });
    connector.interrupt();
    connector.join();
    EXPECT_EQ(code, ErrorCode::kInterrupted);
    EXPECT_EQ((*listener)->accept_waiting().error().code(), ErrorCode::kTimeout);
}

}  // namespace
}  // namespace weir::io
