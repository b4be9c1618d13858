#include "io/srt/srt_engine.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/deadline.h"
#include "io/signal.h"
#include "io/udp.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

constexpr const char* kPassphrase = "passphrase-of-a-test";

struct Peer final : SrtPeer {
    void on_srt_connected(bool is_encrypted) override {
        connected = true;
        encrypted = is_encrypted;
        changed.notify_all();
    }

    void on_srt_data(ByteSpan data) override {
        received.insert(received.end(), data.begin(), data.end());
        changed.notify_all();
    }

    void on_srt_end(Error why) override {
        ended = true;
        code = why.code();
        text = why.message();
        changed.notify_all();
    }

    template <typename Condition>
    bool wait(Condition&& condition) {
        const Deadline deadline = soon();
        while (!condition()) {
            if (changed.wait_until(deadline)) {
                return condition();
            }
        }
        return true;
    }

    bool connected = false;
    bool encrypted = false;
    bool ended = false;
    ErrorCode code = ErrorCode::kOk;
    std::string text;
    Bytes received;
    Signal changed;
};

struct Sink final : SrtSink {
    void on_srt_newcomer(SrtNewcomer newcomer) override {
        engine->attach(newcomer.id, peer);
        newcomers.push_back(std::move(newcomer));
        peer.changed.notify_all();
    }

    SrtEngine* engine = nullptr;
    Peer peer;
    std::vector<SrtNewcomer> newcomers;
};

struct Gate final : SrtGate {
    explicit Gate(std::string secret) : passphrase(std::move(secret)) {}

    SrtVerdict decide(std::string_view stream_id) const override {
        SrtVerdict verdict;
        verdict.reject = stream_id == "no" ? kSrtForbidden : 0;
        verdict.options.passphrase = passphrase;
        return verdict;
    }

    std::string passphrase;
};

class SrtEngineTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!SrtEngine::built()) {
            GTEST_SKIP() << "built with --srt=off";  // lint: allow-skip
        }
        sink_.engine = &engine_;
        const Error failed = engine_.start();
        ASSERT_FALSE(failed) << failed.to_string();
    }

    void listen(std::string passphrase = "") {
        engine_.set_gate(std::make_shared<Gate>(std::move(passphrase)));
        socket_ = UdpSocket::bind(SocketAddress::parse("127.0.0.1:0").value(), {}).value();
        engine_.listen(socket_->lend().value());
    }

    SrtId call(Peer& peer, std::string stream_id = "yes", std::string passphrase = "") {
        SrtOptions options;
        options.stream_id = std::move(stream_id);
        options.passphrase = std::move(passphrase);
        return engine_.connect(socket_->local(), options, peer);
    }

    Sink sink_;
    SrtEngine engine_{&sink_};
    std::unique_ptr<UdpSocket> socket_;
};

TEST_F(SrtEngineTest, BytesGoBothWaysInOrder) {
    listen();
    Peer caller;
    const SrtId id = call(caller);
    ASSERT_TRUE(caller.wait([&] { return caller.connected; })) << caller.text;
    ASSERT_TRUE(sink_.peer.wait([&] { return !sink_.newcomers.empty(); }));
    EXPECT_EQ(sink_.newcomers[0].stream_id, "yes");
    EXPECT_FALSE(caller.encrypted);
    engine_.admit(sink_.newcomers[0].id, {});
    auto bytes = std::make_shared<Bytes>();
    for (size_t i = 0; i < 10 * kSrtPayload + 188; i++) {
        bytes->push_back(static_cast<uint8_t>(i * 7 / 3));
    }
    engine_.send(std::array{id}, bytes);
    engine_.send(std::array{sink_.newcomers[0].id}, bytes);
    EXPECT_TRUE(sink_.peer.wait([&] { return sink_.peer.received.size() >= bytes->size(); }));
    EXPECT_TRUE(caller.wait([&] { return caller.received.size() >= bytes->size(); }));
    EXPECT_EQ(sink_.peer.received, *bytes);
    EXPECT_EQ(caller.received, *bytes);
    engine_.close(id);
    EXPECT_TRUE(sink_.peer.wait([&] { return sink_.peer.ended; }));
    EXPECT_EQ(sink_.peer.code, ErrorCode::kClosed);
}

TEST_F(SrtEngineTest, ThePassphraseDecides) {
    listen(kPassphrase);
    Peer right;
    call(right, "yes", kPassphrase);
    EXPECT_TRUE(right.wait([&] { return right.connected; })) << right.text;
    EXPECT_TRUE(right.encrypted);
    for (const char* wrong : {"passphrase-that-is-wrong", ""}) {
        Peer caller;
        call(caller, "yes", wrong);
        EXPECT_TRUE(caller.wait([&] { return caller.ended; }));
        EXPECT_EQ(caller.code, ErrorCode::kDenied) << caller.text;
    }
    EXPECT_EQ(engine_.counters().accepted, 1u);
}

TEST_F(SrtEngineTest, TheGateRefusesWithItsCode) {
    listen();
    Peer caller;
    call(caller, "no");
    EXPECT_TRUE(caller.wait([&] { return caller.ended; }));
    EXPECT_EQ(caller.code, ErrorCode::kDenied);
    EXPECT_NE(caller.text.find("1403"), std::string::npos) << caller.text;
    EXPECT_EQ(engine_.counters().refused_gate, 1u);
    EXPECT_TRUE(sink_.newcomers.empty());
}

TEST_F(SrtEngineTest, NobodyThereIsATimeout) {
    socket_ = UdpSocket::bind(SocketAddress::parse("127.0.0.1:0").value(), {}).value();
    Peer caller;
    SrtOptions options;
    options.connect_timeout = Millis(300);
    engine_.connect(socket_->local(), options, caller);
    EXPECT_TRUE(caller.wait([&] { return caller.ended; }));
    EXPECT_EQ(caller.code, ErrorCode::kTimeout) << caller.text;
}

TEST_F(SrtEngineTest, WhoIsClosedHearsNothing) {
    listen();
    Peer caller;
    const SrtId id = call(caller);
    engine_.close(id);
    EXPECT_FALSE(sleep_for(Millis(200)));
    EXPECT_FALSE(caller.connected || caller.ended);
}

TEST_F(SrtEngineTest, ConnectionsOutliveTheirListener) {
    listen();
    Peer caller;
    const SrtId id = call(caller);
    ASSERT_TRUE(caller.wait([&] { return caller.connected; })) << caller.text;
    ASSERT_TRUE(sink_.peer.wait([&] { return !sink_.newcomers.empty(); }));
    engine_.unlisten(1);
    engine_.send(std::array{id}, std::make_shared<Bytes>(188, uint8_t{0x47}));
    EXPECT_TRUE(sink_.peer.wait([&] { return sink_.peer.received.size() == 188; }));
}

TEST(SrtEngineIdleTest, CostsNoThreadUntilItIsStarted) {
    const SrtEngine engine(nullptr);
    EXPECT_FALSE(engine.started());
}

}  // namespace
}  // namespace weir::io
