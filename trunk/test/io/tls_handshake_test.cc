// What a handshake refuses and why, what it counts, and what it carries over to the next one.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "base/object_count.h"
#include "io/deadline.h"
#include "io/tls.h"
#include "io/tls_acceptor.h"
#include "io/tls_channel.h"
#include "io/worker_pool.h"

#include "test/support/io/tls_pair.h"

namespace weir::io {
namespace {

using testing::HasSubstr;

using ServerContext = std::shared_ptr<const TlsContext>;

ServerContext server_of(const TlsCertificateFiles& files) {
    auto made = TlsContext::server({&files, 1});
    WEIR_CHECK(made.ok());
    return *made;
}

ServerContext client_that_trusts(const TlsCertificateFiles& files) {
    auto made = TlsContext::client({.ca_file = files.certificate});
    WEIR_CHECK(made.ok());
    return *made;
}

// What the client makes of a server.
Error connect_to(const ServerContext& server, const TlsContext& client, std::string_view host) {
    LoopbackPair pair = loopback_pair();
    TlsAcceptor acceptor(nullptr);
    Coroutine serving = go([&] { (void)acceptor.accept(*pair.server, server, soon()).code(); });
    Error error = tls_connect(*pair.client, client, host, soon());
    EXPECT_EQ(pair.client->encrypted(), !error);
    pair.client->close();
    serving.join();
    return error;
}

TEST(TlsConnectTest, ACertificateOutOfItsTimeIsDeniedAndSaysSo) {
    TestCertificates certificates;
    const auto expired =
        certificates.make("expired", {.names = {"a.net"}, .begins_s = -7200, .ends_s = -3600});
    const Error late = connect_to(server_of(expired), *client_that_trusts(expired), "a.net");
    EXPECT_EQ(late.code(), ErrorCode::kDenied);
    EXPECT_THAT(late.to_string(), HasSubstr("expired"));
    const auto future = certificates.make("future", {.names = {"a.net"}, .begins_s = 3600});
    const Error early = connect_to(server_of(future), *client_that_trusts(future), "a.net");
    EXPECT_EQ(early.code(), ErrorCode::kDenied);
    EXPECT_THAT(early.to_string(), HasSubstr("not yet valid"));
}

TEST(TlsConnectTest, AWildcardIsGoodForOneLabelOnly) {
    TestCertificates certificates;
    const auto files = certificates.make("wild", {.names = {"*.a.net"}});
    const ServerContext server = server_of(files);
    const ServerContext client = client_that_trusts(files);
    EXPECT_FALSE(connect_to(server, *client, "x.a.net"));
    EXPECT_FALSE(connect_to(server, *client, "X.A.NET"));
    for (const char* host : {"a.net", "x.y.a.net", "xa.net", "x.a.net.b", "192.0.2.1"}) {
        EXPECT_EQ(connect_to(server, *client, host).code(), ErrorCode::kDenied) << host;
    }
}

TEST(TlsConnectTest, TheHostMayBeWrittenAsInAUrl) {
    const ServerContext& server = test_tls().server;
    EXPECT_FALSE(connect_to(server, *test_tls().client, "localhost."));
    EXPECT_FALSE(connect_to(server, *test_tls().client, "[127.0.0.1]"));
    EXPECT_EQ(connect_to(server, *test_tls().client, "[::1]").code(), ErrorCode::kDenied)
        << "an address that the certificate does not have";
}

TEST(TlsConnectTest, WhatIsNoNameIsRefusedBeforeAByteIsSent) {
    LoopbackPair pair = loopback_pair();
    for (const std::string& host : {std::string(), std::string("."), std::string(300, 'x')}) {
        EXPECT_EQ(tls_connect(*pair.client, *test_tls().client, host, soon()).code(),
                  ErrorCode::kMalformed)
            << host;
    }
    std::array<uint8_t, 1> buffer{};
    EXPECT_EQ(pair.server->try_read(buffer).status, IoStatus::kWouldBlock);
}

TEST(TlsConnectTest, ALoadClientTakesAnyCertificate) {
    auto careless = TlsContext::client({.verify = false});
    ASSERT_TRUE(careless.ok());
    for (const char* host : {"other.net", "192.0.2.1", ""}) {
        const Error error = connect_to(test_tls().server, **careless, host);
        EXPECT_FALSE(error) << host << error.to_string();
    }
}

TEST(TlsConnectTest, AServerThatSpeaksNoTlsOrNothingIsToldApart) {
    struct Case {
        std::string_view answer;
        bool ends;
        ErrorCode code;
    };

    for (const Case& each :
         {Case{"HTTP/1.1 400 Bad Request\r\n\r\n", false, ErrorCode::kMalformed},
          Case{"", true, ErrorCode::kClosed}, Case{"\x16\x03", true, ErrorCode::kClosed},
          Case{"", false, ErrorCode::kTimeout}}) {
        LoopbackPair pair = loopback_pair();
        if (!each.answer.empty()) {
            ASSERT_FALSE(pair.server->write_all(as_bytes(each.answer), soon()));
        }
        if (each.ends) {
            ASSERT_TRUE(pair.server->end_writing());
        }
        const Deadline deadline =
            each.code == ErrorCode::kTimeout ? Deadline::after(Millis(20)) : soon();
        EXPECT_EQ(tls_connect(*pair.client, *test_tls().client, "localhost", deadline).code(),
                  each.code)
            << each.answer;
        EXPECT_FALSE(pair.client->encrypted());
    }
}

TEST(TlsConnectTest, AnInterruptEndsIt) {
    LoopbackPair pair = loopback_pair();
    Error error;
    Coroutine connecting =
        go([&] { error = tls_connect(*pair.client, *test_tls().client, "localhost", soon()); });
    yield();
    connecting.interrupt();
    connecting.join();
    EXPECT_EQ(error.code(), ErrorCode::kInterrupted);
}

// A client under control: the handshake by hand, so that OpenSSL's own options can be set.
class Client {
  public:
    explicit Client(TlsAcceptor& acceptor, const ServerContext& server = test_tls().server)
        : pair_(loopback_pair()), channel_(test_tls().client->raw(), false) {
        serving_ = go([this, &acceptor, server] {
            accepted_ = acceptor.accept(*pair_.server, server, soon());
            if (accepted_) {
                pair_.server->close();
            }
        });
    }

    ~Client() {
        channel_.say_goodbye();  // without it OpenSSL spoils the session for the next connection
        pair_.client->close();
        serving_.join();
    }

    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    SSL* ssl() { return channel_.raw(); }

    // Yields. Whether both ends are content.
    bool shake() {
        std::array<uint8_t, 2000> buffer{};
        for (;;) {
            const TlsChannel::Step step = channel_.step();
            const Bytes output = channel_.take_output();
            if (step == TlsChannel::Step::kFailed || pair_.client->write_all(output, soon())) {
                return false;
            }
            if (step == TlsChannel::Step::kDone) {
                break;
            }
            const Result<size_t> got = pair_.client->read_some(buffer, soon());
            if (!got.ok()) {
                return false;
            }
            channel_.feed(ByteSpan(buffer).first(*got));
        }
        serving_.join();
        channel_.attach(pair_.client->fd());
        return !accepted_;
    }

    // Yields. The first bytes from the server; tickets of TLS 1.3 come along with them.
    std::string exchange(std::string_view text) {
        EXPECT_FALSE(pair_.server->write_all(as_bytes(text), soon()));
        Bytes got(text.size());
        EXPECT_TRUE(eventually([&] {
            bool readable = true;
            return channel_.read(got, readable, false).status == IoStatus::kDone;
        }));
        return std::string(as_text(got));
    }

    const Error& accepted() {
        pair_.client->close();
        serving_.join();
        return accepted_;
    }

  private:
    LoopbackPair pair_;
    TlsChannel channel_;
    Error accepted_;
    Coroutine serving_;
};

TEST(TlsAcceptorTest, OldVersionsAndWeakCiphersAreDenied) {
    TlsAcceptor acceptor(nullptr);
    {
        Client old(acceptor);
        SSL_set_security_level(old.ssl(), 0);
        SSL_set_min_proto_version(old.ssl(), TLS1_VERSION);
        SSL_set_max_proto_version(old.ssl(), TLS1_1_VERSION);
        SSL_set_cipher_list(old.ssl(), "ALL:@SECLEVEL=0");
        EXPECT_FALSE(old.shake());
        EXPECT_TRUE(old.accepted());
    }
    {
        Client weak(acceptor);
        SSL_set_max_proto_version(weak.ssl(), TLS1_2_VERSION);
        SSL_set_cipher_list(weak.ssl(), "ECDHE-ECDSA-AES128-SHA");  // CBC
        EXPECT_FALSE(weak.shake());
        EXPECT_TRUE(weak.accepted());
    }
    EXPECT_EQ(acceptor.stats().failed, 2U);
    EXPECT_EQ(acceptor.stats().handshakes, 0U);
}

TEST(TlsAcceptorTest, SpeaksBothVersionsThatAreInUse) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        TlsAcceptor acceptor(nullptr);
        Client client(acceptor);
        SSL_set_min_proto_version(client.ssl(), version);
        SSL_set_max_proto_version(client.ssl(), version);
        ASSERT_TRUE(client.shake()) << version;
        EXPECT_EQ(SSL_version(client.ssl()), version);
        EXPECT_EQ(client.exchange("hello"), "hello");
        EXPECT_EQ(acceptor.stats().handshakes, 1U);
    }
}

TEST(TlsAcceptorTest, ATicketSavesTheSecondHandshakeItsArithmetic) {
    TlsAcceptor acceptor(nullptr);
    std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session(nullptr, SSL_SESSION_free);
    {
        Client first(acceptor);
        ASSERT_TRUE(first.shake());
        EXPECT_EQ(first.exchange("ticket behind this"), "ticket behind this");
        session.reset(SSL_get1_session(first.ssl()));
        ASSERT_EQ(SSL_SESSION_is_resumable(session.get()), 1);
    }
    {
        Client second(acceptor);
        ASSERT_EQ(SSL_set_session(second.ssl(), session.get()), 1);
        ASSERT_TRUE(second.shake());
        EXPECT_EQ(SSL_session_reused(second.ssl()), 1);
        EXPECT_EQ(second.exchange("resumed"), "resumed");
    }
    EXPECT_EQ(acceptor.stats().handshakes, 2U);
    EXPECT_EQ(acceptor.stats().resumed, 1U);
    // Another context has other keys: a whole handshake, and no refusal.
    Client stranger(acceptor, server_of(test_tls().files));
    ASSERT_EQ(SSL_set_session(stranger.ssl(), session.get()), 1);
    ASSERT_TRUE(stranger.shake());
    EXPECT_EQ(SSL_session_reused(stranger.ssl()), 0);
    EXPECT_EQ(acceptor.stats().resumed, 1U);
}

TEST(TlsAcceptorTest, ChoosesHttp11AndGoesOnWithoutAProtocolItKnows) {
    using std::string_view_literals::operator""sv;
    for (const auto& [offer, chosen] :
         {std::pair{"\x02h2\x08http/1.1"sv, "http/1.1"sv}, {"\x02h2"sv, ""sv}}) {
        TlsAcceptor acceptor(nullptr);
        Client client(acceptor);
        ASSERT_EQ(
            SSL_set_alpn_protos(client.ssl(), reinterpret_cast<const unsigned char*>(offer.data()),
                                static_cast<unsigned>(offer.size())),
            0);
        ASSERT_TRUE(client.shake());
        const unsigned char* name = nullptr;
        unsigned size = 0;
        SSL_get0_alpn_selected(client.ssl(), &name, &size);
        EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(name), size), chosen);
    }
}

TEST(TlsAcceptorTest, AConnectionKeepsTheContextThatItBeganWith) {
    TestCertificates certificates;
    TlsAcceptor acceptor(nullptr);
    ServerContext context = server_of(certificates.make("a", {.names = {"localhost"}}));
    const std::weak_ptr<const TlsContext> seen = context;
    auto careless = TlsContext::client({.verify = false});
    ASSERT_TRUE(careless.ok());
    LoopbackPair pair = loopback_pair();
    Error accepted;
    Coroutine serving = go([&] {
        accepted = acceptor.accept(*pair.server, std::exchange(context, test_tls().server), soon());
    });
    yield();
    EXPECT_FALSE(seen.expired()) << "the handshake that began holds it";
    const Error connected = tls_connect(*pair.client, **careless, "localhost", soon());
    serving.join();
    ASSERT_FALSE(connected) << connected.to_string();
    ASSERT_FALSE(accepted) << accepted.to_string();
    EXPECT_TRUE(seen.expired());
    ASSERT_FALSE(pair.server->write_all(as_bytes("good"), soon()));
    std::array<uint8_t, 4> buffer{};
    ASSERT_FALSE(pair.client->read_full(buffer, soon()));
    EXPECT_EQ(as_text(buffer), "good");
}

// RFC 8446 §4: a message of the handshake may have many records; OpenSSL alone would keep 128 KiB.
TEST(TlsAcceptorTest, AHelloOverTheLimitEndsAsSoonAsItIsThere) {
    constexpr size_t kRecord = 1024;
    std::string record = "\x16\x03\x01\x04";
    record += std::string(1, '\0') + std::string(kRecord, '\0');
    const size_t header = record.size() - kRecord;
    for (const bool over : {false, true}) {
        TlsAcceptor acceptor(nullptr);
        LoopbackPair pair = loopback_pair();
        Error accepted;
        Coroutine serving = go([&] {
            accepted = acceptor.accept(*pair.server, test_tls().server,
                                       over ? soon() : Deadline::after(Millis(100)));
        });
        const size_t fitting = TlsAcceptor::kMaxHandshakeBytes / record.size();
        for (size_t i = 0; i < fitting + (over ? 1U : 0U); i++) {
            std::string bytes = record;
            if (i == 0) {  // ClientHello of 64,000 bytes
                bytes.replace(header, 4, std::string("\x01\x00\xfa\x00", 4));
            }
            ASSERT_FALSE(pair.client->write_all(as_bytes(bytes), soon()));
        }
        serving.join();
        EXPECT_EQ(accepted.code(), over ? ErrorCode::kLimit : ErrorCode::kTimeout)
            << accepted.to_string();
        EXPECT_EQ(acceptor.stats().failed, over ? 1U : 0U);
        EXPECT_EQ(acceptor.stats().timeouts, over ? 0U : 1U);
        EXPECT_EQ(acceptor.stats().ongoing, 0U);
    }
}

// Holds a worker until it is opened.
class Gate {
  public:
    void pass() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return open_; });
    }

    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

TEST(TlsAcceptorTest, HandshakesThatWaitForTheirTurnEndInTimeAndLeaveNothing) {
    auto workers = WorkerPool::create(1, 2 * TlsAcceptor::kMaxOnWorkers);
    ASSERT_TRUE(workers.ok());
    Gate gate;
    const uint64_t jobs = find_object_class("worker_job")->live();
    ASSERT_FALSE((*workers)->submit([&] { gate.pass(); }, nullptr));
    TlsAcceptor acceptor(workers->get());
    constexpr size_t kWaiting = 3;
    std::vector<LoopbackPair> pairs(TlsAcceptor::kMaxOnWorkers + kWaiting);
    std::vector<Coroutine> accepting;
    size_t timeouts = 0;
    for (LoopbackPair& pair : pairs) {
        pair = loopback_pair();
        TlsChannel hello(test_tls().client->raw(), false);
        ASSERT_EQ(hello.step(), TlsChannel::Step::kOngoing);
        ASSERT_FALSE(pair.client->write_all(hello.take_output(), soon()));
        accepting.push_back(go([&] {
            const Error error =
                acceptor.accept(*pair.server, test_tls().server, Deadline::after(Millis(200)));
            timeouts += error.code() == ErrorCode::kTimeout ? 1U : 0U;
        }));
    }
    // Those on workers cannot be taken back; the others go at their deadline.
    EXPECT_TRUE(eventually([&] { return timeouts == kWaiting; }));
    EXPECT_EQ(acceptor.stats().ongoing, TlsAcceptor::kMaxOnWorkers);
    EXPECT_EQ(find_object_class("worker_job")->live(), jobs + 1 + TlsAcceptor::kMaxOnWorkers);
    EXPECT_EQ((*workers)->refused(), 0U);
    gate.open();
    for (size_t i = 0; i < pairs.size(); i++) {
        pairs[i].client->close();
        accepting[i].join();
    }
    EXPECT_EQ(acceptor.stats().ongoing, 0U);
    EXPECT_EQ(acceptor.stats().handshakes, 0U);
}

TEST(TlsAcceptorTest, WithoutRoomAmongTheJobsAHandshakeFailsAndTheNextOneDoesNot) {
    auto workers = WorkerPool::create(1, 1);
    ASSERT_TRUE(workers.ok());
    Gate gate;
    bool free = false;
    ASSERT_FALSE((*workers)->submit([&] { gate.pass(); }, nullptr));
    ASSERT_TRUE(eventually([&] {  // the first is on the thread when the second one finds a place
        return !(*workers)->submit([] {}, [&] { free = true; });
    }));
    TlsAcceptor acceptor(workers->get());
    {
        Client refused(acceptor);
        EXPECT_FALSE(refused.shake());
        EXPECT_EQ(refused.accepted().code(), ErrorCode::kLimit);
    }
    EXPECT_EQ(acceptor.stats().failed, 1U);
    gate.open();
    ASSERT_TRUE(eventually([&] { return free; }));
    Client next(acceptor);
    EXPECT_TRUE(next.shake());
    EXPECT_EQ(acceptor.stats().handshakes, 1U);
}

TEST(TlsAcceptorTest, LeavesNoChannelBehindAfterFailures) {
    const uint64_t channels = find_object_class("tls_connection")->live();
    const uint64_t bytes = find_object_class("tls_connection")->bytes();
    {
        TlsAcceptor acceptor(nullptr);
        for (int i = 0; i < 3; i++) {
            Client client(acceptor);
            SSL_set_max_proto_version(client.ssl(), TLS1_2_VERSION);
            SSL_set_cipher_list(client.ssl(), i == 0 ? "ECDHE-ECDSA-AES128-SHA" : "ALL");
            EXPECT_EQ(client.shake(), i != 0);
        }
    }
    EXPECT_EQ(find_object_class("tls_connection")->live(), channels);
    EXPECT_EQ(find_object_class("tls_connection")->bytes(), bytes);
}

}  // namespace
}  // namespace weir::io
