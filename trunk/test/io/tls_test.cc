#include "io/tls.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/stat.h>

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "base/object_count.h"
#include "io/deadline.h"
#include "io/tls_acceptor.h"
#include "io/tls_channel.h"
#include "io/worker_pool.h"

#include "test/support/io/tls_pair.h"

namespace weir::io {
namespace {

Bytes pattern(size_t size, size_t from = 0) {
    Bytes bytes(size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = static_cast<uint8_t>((i + from) * 7 + (i + from) / 251);
    }
    return bytes;
}

std::string read_text(TcpStream& stream, size_t limit = 100) {
    Bytes buffer(limit);
    auto got = stream.read_some(buffer, soon());
    return got.ok() ? std::string(as_text({buffer.data(), *got})) : got.error().to_string();
}

TEST(TlsStreamTest, CarriesBytesBothWays) {
    auto [client, server] = encrypted_pair();
    EXPECT_TRUE(client->encrypted());
    EXPECT_FALSE(client->write_all(as_bytes("hello"), soon()));
    EXPECT_EQ(read_text(*server), "hello");
    EXPECT_FALSE(server->write_all(as_bytes("world"), soon()));
    EXPECT_EQ(read_text(*client), "world");
}

TEST(TlsStreamTest, CarriesFarMoreThanTheSocketBuffersBothWaysAtOnce) {
    auto [client, server] = encrypted_pair();
    const Bytes sent = pattern(12'000'000);
    const auto write = [&](TcpStream& stream) {
        Error error = stream.write_all(sent, soon());
        EXPECT_FALSE(error) << error.to_string();
    };
    const auto read = [&](TcpStream& stream) {
        Bytes got(sent.size());
        Error error = stream.read_full(got, soon());
        EXPECT_FALSE(error) << error.to_string();
        EXPECT_TRUE(got == sent);
    };
    Coroutine tasks[] = {go([&, &stream = *client] { write(stream); }),
                         go([&, &stream = *server] { write(stream); }),
                         go([&, &stream = *client] { read(stream); }),
                         go([&, &stream = *server] { read(stream); })};
    for (Coroutine& task : tasks) {
        task.join();
    }
}

TEST(TlsStreamTest, WritesWithoutBlockingEndWhenThePeerTakesNothingAndLoseNothing) {
    auto [client, server] = encrypted_pair();
    const int small = 20'000;
    ASSERT_EQ(setsockopt(server->fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    size_t accepted = 0;
    // Other bytes at each attempt, and of another length, as a pump does after a resync.
    for (size_t size = 100'000; server->writable(); size = size * 3 / 4 + 1000) {
        const Bytes piece = pattern(size, accepted);
        const IoResult result = server->try_write(piece);
        ASSERT_NE(result.status, IoStatus::kFailed);
        accepted += result.bytes;
        ASSERT_LT(accepted, 64U << 20) << "the peer reads nothing, and yet all is taken";
    }
    EXPECT_EQ(server->try_write(pattern(10, 1)).status, IoStatus::kWouldBlock);
    EXPECT_FALSE(server->writable());
    size_t received = 0;
    Bytes buffer(10'000);
    while (received < accepted) {
        const Result<size_t> got = client->read_some(buffer, soon());
        ASSERT_TRUE(got.ok()) << got.error().to_string();
        const Bytes expected = pattern(*got, received);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), buffer.begin()));
        received += *got;
    }
    // What waited in the stream went out by itself, and there is room again.
    ASSERT_TRUE(eventually([&stream = *server] { return stream.writable(); }));
    EXPECT_EQ(server->try_write(as_bytes("more")).bytes, 4U);
    EXPECT_EQ(read_text(*client), "more");
}

TEST(TlsStreamTest, WhatWaitsForTheSocketIsBoundedAndCounted) {
    const ObjectClass& counters = *find_object_class("tls_connection");
    const uint64_t idle = counters.bytes();
    {
        auto [client, server] = encrypted_pair();
        const uint64_t both = counters.bytes() - idle;
        while (server->try_write(pattern(300'000)).status == IoStatus::kDone) {
        }
        EXPECT_GT(counters.bytes(), idle + both);
        EXPECT_LE(counters.bytes(), idle + both + TlsChannel::kMaxPendingBytes);
    }
    EXPECT_EQ(counters.bytes(), idle);
}

TEST(TlsStreamTest, GathersPartsOfAnySizeInOrder) {
    auto [client, server] = encrypted_pair();
    const std::vector<size_t> sizes = {1, 0, 5, 16'384, 3, 40'000, 7, 0, 16'383, 1, 1, 20'000};
    std::vector<Bytes> pieces;
    std::vector<iovec> parts;
    size_t total = 0;
    for (const size_t size : sizes) {
        pieces.push_back(pattern(size, total));
        total += size;
    }
    for (Bytes& piece : pieces) {
        parts.push_back({piece.data(), piece.size()});
    }
    const IoResult result = server->try_writev(parts);
    ASSERT_EQ(result.status, IoStatus::kDone);
    ASSERT_EQ(result.bytes, total);
    Bytes got(total);
    ASSERT_FALSE(client->read_full(got, soon()));
    EXPECT_TRUE(got == pattern(total));
}

TEST(TlsStreamTest, BytesThatOpensslHoldsKeepTheStreamReadable) {
    auto [client, server] = encrypted_pair();
    ASSERT_FALSE(client->write_all(as_bytes("abcdefgh"), soon()));
    ASSERT_TRUE(eventually([&stream = *server] { return stream.readable(); }));
    std::array<uint8_t, 3> buffer{};
    // The whole record was taken from the socket: no other edge comes.
    std::string text = read_text(*server, 3);
    while (server->readable()) {
        const IoResult result = server->try_read(buffer);
        if (result.status != IoStatus::kDone) {
            EXPECT_EQ(result.status, IoStatus::kWouldBlock);
            break;
        }
        text += as_text(ByteSpan(buffer).first(result.bytes));
    }
    EXPECT_EQ(text, "abcdefgh");
    EXPECT_FALSE(server->readable());
    ASSERT_FALSE(client->write_all(as_bytes("i"), soon()));
    EXPECT_EQ(read_text(*server), "i");
}

TEST(TlsStreamTest, TheEndOfThePeerIsClosedWithAndWithoutAGoodbye) {
    for (const bool goodbye : {true, false}) {
        auto [client, server] = encrypted_pair();
        ASSERT_FALSE(client->write_all(as_bytes("last"), soon()));
        goodbye ? client->close() : (void)::shutdown(client->fd(), SHUT_WR);
        EXPECT_EQ(read_text(*server), "last");
        std::array<uint8_t, 8> buffer{};
        EXPECT_EQ(server->read_some(buffer, soon()).error().code(), ErrorCode::kClosed);
        EXPECT_EQ(server->try_read(buffer).status, IoStatus::kClosed);
    }
}

TEST(TlsStreamTest, AnswersAPeerThatHasEndedItsDirection) {
    auto [client, server] = encrypted_pair();
    ASSERT_FALSE(client->write_all(as_bytes("question"), soon()));
    ASSERT_TRUE(client->end_writing());
    EXPECT_EQ(read_text(*server), "question");
    std::array<uint8_t, 8> buffer{};
    EXPECT_EQ(server->read_some(buffer, soon()).error().code(), ErrorCode::kClosed);
    ASSERT_FALSE(server->write_all(as_bytes("answer"), soon()));
    EXPECT_EQ(read_text(*client), "answer");
}

TEST(TlsStreamTest, GarbageBehindTheHandshakeEndsTheConnection) {
    auto [client, server] = encrypted_pair();
    const std::string garbage =
        std::string("\x17\x03\x03\0\x20", 5) + " this is not what was agreed on.";
    ASSERT_GT(::send(client->fd(), garbage.data(), garbage.size(), 0), 0);
    std::array<uint8_t, 100> buffer{};
    EXPECT_FALSE(server->read_some(buffer, soon()).ok());
    EXPECT_NE(server->try_read(buffer).status, IoStatus::kDone);
    EXPECT_NE(server->try_write(as_bytes("x")).status, IoStatus::kDone);
}

TEST(TlsStreamTest, AWriteThatCannotEndIsEndedByItsDeadlineOrAnInterrupt) {
    auto [client, server] = encrypted_pair();
    const Bytes much(64 << 20);
    EXPECT_EQ(server->write_all(much, Deadline::after(Millis(50))).code(), ErrorCode::kTimeout);
    Error error;
    Coroutine writer = go([&, &stream = *server] { error = stream.write_all(much, soon()); });
    yield();
    writer.interrupt();
    writer.join();
    EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
}

// The socket is full, so the last bytes of the write wait in the channel and are never sent.
TEST(TlsStreamTest, AWriteThatIsCutOffByOurOwnEndIsClosed) {
    for (void (TcpStream::*const end)() : {&TcpStream::shutdown, &TcpStream::close}) {
        auto [client, server] = encrypted_pair();
        const int small = 5'000;
        ASSERT_EQ(setsockopt(server->fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
        const Bytes record = pattern(TlsChannel::kRecordBytes);
        int written = 0;
        Error error;
        Coroutine writer = go([&, &stream = *server] {
            while (!error) {
                error = stream.write_all(record, soon());
                written += error ? 0 : 1;
            }
        });
        int seen = -1;
        int quiet = 0;
        ASSERT_TRUE(eventually([&, &stream = *server] {
            quiet = written == seen && !stream.writable() ? quiet + 1 : 0;
            seen = written;
            return quiet == 10;
        }));
        ((*server).*end)();
        writer.join();
        EXPECT_EQ(error.code(), ErrorCode::kClosed) << error.to_string();
        EXPECT_EQ(written, seen) << "success was told of bytes that are lost";
    }
}

TEST(TlsStreamTest, AWriteToAPeerThatHasResetIsClosed) {
    auto [client, server] = encrypted_pair();
    const linger reset{1, 0};
    ASSERT_EQ(setsockopt(client->fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    client->close();
    ASSERT_TRUE(eventually([&, &stream = *server] { return stream.hangup(); }));
    EXPECT_EQ(server->write_all(as_bytes("lost"), soon()).code(), ErrorCode::kClosed);
}

// Key updates cost us some work and an answer each. With a byte of data behind each or without.
class TlsQuietTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutData, TlsQuietTest, testing::Bool());

TEST_P(TlsQuietTest, APeerThatOnlyMakesUsWorkIsEnded) {
    LoopbackPair pair = loopback_pair();
    const int small = 5'000;
    ASSERT_EQ(setsockopt(pair.server->fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    TlsAcceptor acceptor(nullptr);
    bool ended = false;
    Coroutine serving = go([&] {
        ASSERT_FALSE(acceptor.accept(*pair.server, test_tls().server, soon()));
        Bytes buffer(1000);
        while (pair.server->read_some(buffer, soon()).ok()) {
        }
        ended = true;
        pair.server->close();
    });
    TlsChannel peer(test_tls().client->raw(), false);
    std::array<uint8_t, 2000> buffer{};
    while (peer.step() != TlsChannel::Step::kDone) {
        ASSERT_FALSE(pair.client->write_all(peer.take_output(), soon()));
        const Result<size_t> got = pair.client->read_some(buffer, soon());
        ASSERT_TRUE(got.ok());
        peer.feed(ByteSpan(buffer).first(*got));
    }
    ASSERT_FALSE(pair.client->write_all(peer.take_output(), soon()));
    peer.attach(pair.client->fd());
    const uint8_t byte = 1;
    const iovec part{const_cast<uint8_t*>(&byte), 1};
    bool writable = true;
    for (int i = 0; i < 100'000 && !ended; i++) {
        if (SSL_key_update(peer.raw(), SSL_KEY_UPDATE_REQUESTED) != 1 ||
            SSL_do_handshake(peer.raw()) != 1 ||
            peer.write({&part, GetParam() ? 1U : 0U}, writable).status == IoStatus::kFailed) {
            break;
        }
        if (i % 100 == 0) {
            yield();
        }
    }
    EXPECT_TRUE(eventually([&] { return ended; }));
    serving.join();
}

// ---- handshakes ----

TEST(TlsHandshakeTest, TheClientChecksCertificateAndName) {
    struct Case {
        const char* host;
        bool trusts;
        ErrorCode code;
    };

    auto stranger = TlsContext::client();
    ASSERT_TRUE(stranger.ok()) << stranger.error().to_string();
    for (const Case& each :
         {Case{"localhost", true, ErrorCode::kOk}, Case{"127.0.0.1", true, ErrorCode::kOk},
          Case{"other.net", true, ErrorCode::kDenied}, Case{"127.0.0.2", true, ErrorCode::kDenied},
          Case{"localhost", false, ErrorCode::kDenied}}) {
        LoopbackPair pair = loopback_pair();
        TlsAcceptor acceptor(nullptr);
        Error accepted;
        Coroutine serving =
            go([&] { accepted = acceptor.accept(*pair.server, test_tls().server, soon()); });
        const Error error = tls_connect(*pair.client, each.trusts ? *test_tls().client : **stranger,
                                        each.host, soon());
        EXPECT_EQ(error.code(), each.code) << each.host << error.to_string();
        if (error) {
            pair.client->close();
        }
        serving.join();
        EXPECT_EQ(bool(accepted), bool(error)) << accepted.to_string();
        EXPECT_EQ(acceptor.stats().failed, error ? 1U : 0U);
    }
}

TEST(TlsHandshakeTest, TheNameChoosesTheCertificate) {
    TestCertificates certificates;
    const std::vector<TlsCertificateFiles> files = {
        certificates.make("a", {.names = {"a.net"}}),
        certificates.make("wild", {.names = {"*.b.net"}, .rsa = true}),
        certificates.make("exact", {.names = {"x.b.net", "c.net"}})};
    auto server = TlsContext::server(files);
    ASSERT_TRUE(server.ok()) << server.error().to_string();
    ASSERT_EQ((*server)->certificates().size(), 3U);
    EXPECT_EQ((*server)->certificates()[1].key, "RSA 2048");
    for (const auto& [host, index] :
         {std::pair{"a.net", 0}, {"y.b.net", 1}, {"x.b.net", 2}, {"C.NET", 2}}) {
        auto trusting =
            TlsContext::client({.ca_file = files[static_cast<size_t>(index)].certificate});
        ASSERT_TRUE(trusting.ok());
        LoopbackPair pair = loopback_pair();
        TlsAcceptor acceptor(nullptr);
        Coroutine serving =
            go([&] { (void)acceptor.accept(*pair.server, *server, soon()).code(); });
        const Error error = tls_connect(*pair.client, **trusting, host, soon());
        EXPECT_FALSE(error) << host << ": " << error.to_string();
        pair.client->close();
        serving.join();
    }
}

TEST(TlsHandshakeTest, BothKindsOfKeyForOneName) {
    TestCertificates certificates;
    const std::vector<TlsCertificateFiles> files = {
        certificates.make("rsa", {.names = {"a.net"}, .rsa = true}),
        certificates.make("ec", {.names = {"a.net"}})};
    auto server = TlsContext::server(files);
    ASSERT_TRUE(server.ok()) << server.error().to_string();
    EXPECT_EQ((*server)->raw(), (*server)->raw_for("a.net"));
    EXPECT_EQ((*server)->certificates().size(), 2U);
}

TEST(TlsHandshakeTest, ManyAtOnceRunOnWorkers) {
    auto workers = WorkerPool::create(2, TlsAcceptor::kMaxOnWorkers);
    ASSERT_TRUE(workers.ok());
    TlsAcceptor acceptor(workers->get());
    constexpr size_t kMany = 3 * TlsAcceptor::kMaxOnWorkers;
    std::vector<LoopbackPair> pairs(kMany);
    std::vector<Coroutine> tasks;
    size_t done = 0;
    for (LoopbackPair& pair : pairs) {
        pair = loopback_pair();
        tasks.push_back(go([&] {
            const Error error = acceptor.accept(*pair.server, test_tls().server, soon());
            EXPECT_FALSE(error) << error.to_string();
            done++;
        }));
        tasks.push_back(go([&] {
            const Error error = tls_connect(*pair.client, *test_tls().client, "localhost", soon());
            EXPECT_FALSE(error) << error.to_string();
        }));
    }
    for (Coroutine& task : tasks) {
        task.join();
    }
    EXPECT_EQ(done, kMany);
    EXPECT_EQ(acceptor.stats().handshakes, kMany);
    EXPECT_EQ(acceptor.stats().ongoing, 0U);
    EXPECT_FALSE(pairs.back().client->write_all(as_bytes("x"), soon()));
    EXPECT_EQ(read_text(*pairs.back().server), "x");
}

// What the server makes of a client that sends this, then ends if `ends`.
Error accept_of(std::string_view bytes, bool ends, std::string& answer, TlsServerStats& stats) {
    LoopbackPair pair = loopback_pair();
    TlsAcceptor acceptor(nullptr);
    Error error;
    Coroutine serving = go([&] {
        error = acceptor.accept(*pair.server, test_tls().server, Deadline::after(Millis(300)));
        pair.server->close();
    });
    EXPECT_FALSE(pair.client->write_all(as_bytes(bytes), soon()));
    if (ends) {
        EXPECT_TRUE(pair.client->end_writing());
    }
    Bytes buffer(1000);
    for (;;) {
        const Result<size_t> got = pair.client->read_some(buffer, soon());
        if (!got.ok()) {
            break;
        }
        answer += as_text(ByteSpan(buffer).first(*got));
        if (answer.starts_with("HTTP")) {
            pair.client->close();
        }
    }
    serving.join();
    stats = acceptor.stats();
    return error;
}

TEST(TlsHandshakeTest, WhoSpeaksNoTlsIsToldSoWhereThatIsPossible) {
    std::string answer;
    TlsServerStats stats;
    EXPECT_EQ(accept_of("GET / HTTP/1.1\r\n\r\n", false, answer, stats).code(),
              ErrorCode::kMalformed);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_NE(answer.find("https"), std::string::npos);
    EXPECT_EQ(stats.not_tls, 1U);
    EXPECT_EQ(stats.failed, 0U);
    answer.clear();
    EXPECT_EQ(accept_of("\x03garbage", false, answer, stats).code(), ErrorCode::kMalformed);
    EXPECT_EQ(answer, "");
}

TEST(TlsHandshakeTest, BrokenHellosAreRefusedAndUnfinishedOnesEndInTime) {
    std::string answer;
    TlsServerStats stats;
    using std::string_view_literals::operator""sv;
    EXPECT_EQ(accept_of("\x16\x03\x01\x00\x05hello"sv, false, answer, stats).code(),
              ErrorCode::kMalformed);
    EXPECT_EQ(stats.failed, 1U);
    EXPECT_EQ(answer.front(), '\x15') << "an alert";
    EXPECT_EQ(accept_of("\x16\x03\x01"sv, false, answer, stats).code(), ErrorCode::kTimeout);
    EXPECT_EQ(stats.timeouts, 1U);
    EXPECT_EQ(accept_of("\x16\x03\x01\x02\x00\x01\x00"sv, true, answer, stats).code(),
              ErrorCode::kClosed);
    EXPECT_EQ(stats.closed, 1U);
    const std::string endless =
        "\x16\x03\x01" + std::string(1, '\x40') + std::string(100'000, '\0');
    EXPECT_TRUE(accept_of(endless, false, answer, stats));
}

TEST(TlsHandshakeTest, AHelloByteByByteIsAsGoodAsOne) {
    LoopbackPair pair = loopback_pair();
    TlsAcceptor acceptor(nullptr);
    Error accepted;
    Coroutine serving =
        go([&] { accepted = acceptor.accept(*pair.server, test_tls().server, soon()); });
    TlsChannel peer(test_tls().client->raw(), false);
    std::array<uint8_t, 1> buffer{};
    while (peer.step() != TlsChannel::Step::kDone) {
        const Bytes output = peer.take_output();
        for (const uint8_t& byte : output) {
            ASSERT_FALSE(pair.client->write_all({&byte, 1}, soon()));
            yield();
        }
        const Result<size_t> got = pair.client->read_some(buffer, soon());
        ASSERT_TRUE(got.ok());
        peer.feed(ByteSpan(buffer).first(*got));
    }
    ASSERT_FALSE(pair.client->write_all(peer.take_output(), soon()));
    serving.join();
    EXPECT_FALSE(accepted) << accepted.to_string();
}

TEST(TlsHandshakeTest, IsInterruptibleAndAShutdownEndsIt) {
    for (const bool interrupt : {true, false}) {
        LoopbackPair pair = loopback_pair();
        TlsAcceptor acceptor(nullptr);
        Error accepted;
        Coroutine serving =
            go([&] { accepted = acceptor.accept(*pair.server, test_tls().server, soon()); });
        yield();
        interrupt ? serving.interrupt() : pair.server->shutdown();
        serving.join();
        EXPECT_EQ(accepted.code(), interrupt ? ErrorCode::kInterrupted : ErrorCode::kClosed);
        EXPECT_EQ(acceptor.stats().ongoing, 0U);
    }
}

// ---- files ----

std::string refusal(const TlsCertificateFiles& files) {
    const auto context = TlsContext::server({&files, 1});
    return context.ok() ? "" : std::string(context.error().message());
}

TEST(TlsContextTest, SaysWhichFileIsWrongAndWhy) {
    TestCertificates certificates;
    const TlsCertificateFiles good = certificates.make("good");
    const TlsCertificateFiles other = certificates.make("other");
    EXPECT_EQ(refusal(good), "");
    EXPECT_NE(
        refusal({"/nowhere.pem", good.key}).find("/nowhere.pem: cannot be opened: No such file"),
        std::string::npos);
    EXPECT_NE(refusal({good.certificate, "/nowhere.key"})
                  .find("/nowhere.key: cannot be opened: No such file"),
              std::string::npos);
    EXPECT_NE(refusal({good.certificate, other.key}).find("does not belong to"), std::string::npos);
    EXPECT_NE(refusal({good.key, good.key}).find("a private key is in it, and no certificate"),
              std::string::npos);
    EXPECT_NE(refusal({good.certificate, good.certificate})
                  .find("a certificate is in it, and no key; that belongs to ssl_certificate"),
              std::string::npos);
    EXPECT_NE(refusal({good.key, good.certificate}).find("belongs to ssl_certificate"),
              std::string::npos)
        << "the two exchanged";
    const std::string text = certificates.write("text", "nothing of this kind\n");
    EXPECT_NE(refusal({text, good.key}).find("no certificate in it"), std::string::npos);
    EXPECT_NE(refusal({good.certificate, text}).find("no usable key"), std::string::npos);
    std::ifstream certificate(good.certificate);
    const std::string both =
        certificates.write("both", std::string(std::istreambuf_iterator<char>(certificate), {}) +
                                       "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAAA\n"
                                       "-----END ENCRYPTED PRIVATE KEY-----\n");
    EXPECT_NE(refusal({both, both}).find("expected PEM without a passphrase"), std::string::npos);
    EXPECT_FALSE(TlsContext::server({}).ok());
}

TEST(TlsContextTest, ReadsWhatACertificateSays) {
    TestCertificates certificates;
    const TlsCertificateFiles files =
        certificates.make("a", {.names = {"a.net", "*.b.net", "192.0.2.1"}});
    const auto context = TlsContext::server({&files, 1});
    ASSERT_TRUE(context.ok());
    const TlsCertificateInfo& info = (*context)->certificates().at(0);
    EXPECT_EQ(info.names, (std::vector<std::string>{"a.net", "*.b.net", "192.0.2.1"}));
    EXPECT_EQ(info.key, "EC 256");
    EXPECT_EQ(info.issuer, "a.net");
    const int64_t now = static_cast<int64_t>(std::time(nullptr));
    EXPECT_NEAR(static_cast<double>(info.not_after_s - now), 30 * 24 * 3600, 60);
    EXPECT_TRUE(tls_certificate_warnings(files, info, now).empty());
    const auto late = tls_certificate_warnings(files, info, info.not_after_s + 3 * 24 * 3600 + 5);
    ASSERT_EQ(late.size(), 1U);
    EXPECT_NE(late[0].find("expired 3 days ago"), std::string::npos) << late[0];
    const auto early = tls_certificate_warnings(files, info, info.not_before_s - 5);
    ASSERT_EQ(early.size(), 1U);
    ASSERT_EQ(chmod(files.key.c_str(), 0644), 0);
    const auto open = tls_certificate_warnings(files, info, now);
    ASSERT_EQ(open.size(), 1U);
    EXPECT_NE(open[0].find("every user"), std::string::npos) << open[0];
}

}  // namespace
}  // namespace weir::io
