// What a caller that nobody knows costs, by a caller of our own that says what no library says.
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <malloc.h>

#include "base/bytes.h"
#include "io/deadline.h"
#include "io/srt/srt_engine.h"
#include "io/udp.h"

#include "test/support/io/loopback.h"

namespace weir::io {
namespace {

struct Gate final : SrtGate {
    SrtVerdict decide(std::string_view stream_id) const override {
        return {0, {}, stream_id != "play"};
    }
};

struct Sink final : SrtSink {
    void on_srt_newcomer(SrtNewcomer newcomer) override { newcomers.push_back(newcomer.id); }

    std::vector<SrtId> newcomers;
};

void put(Bytes& out, uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        out.push_back(static_cast<uint8_t>(value >> shift));
    }
}

// A handshake of version 5 without encryption: draft-sharabayko-srt-01 3.2.1.
Bytes handshake(uint32_t caller, uint32_t window, uint32_t cookie, const Bytes& extensions) {
    const bool first = extensions.empty();
    Bytes out;
    for (const uint32_t value :
         {0x8000'0000U, 0U, 0U, 0U, first ? 4U : 5U, first ? 2U : 5U, 1000U, 1500U, window,
          first ? 1U : 0xFFFF'FFFFU, caller, cookie, 0x0100'007FU, 0U, 0U, 0U}) {
        put(out, value);
    }
    out.insert(out.end(), extensions.begin(), extensions.end());
    return out;
}

Bytes extensions() {
    Bytes out;
    for (const uint32_t value :
         {0x0001'0003U, 0x0001'0501U, 0x0000'00BFU, 0x0078'0078U, 0x0005'0001U}) {
        put(out, value);
    }
    out.insert(out.end(), {'y', 'a', 'l', 'p'});  // words of the id are turned around
    return out;
}

size_t heap() {
    const struct mallinfo2 now = mallinfo2();  // 0 under sanitizers, whose allocator is their own
    return now.uordblks + now.hblkhd;
}

class SrtMemoryTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!SrtEngine::built()) {
            GTEST_SKIP() << "built with --srt=off";  // lint: allow-skip
        }
        ASSERT_FALSE(engine_.start());
        engine_.set_gate(std::make_shared<Gate>());
        socket_ = UdpSocket::bind(SocketAddress::parse("127.0.0.1:0").value(), {}).value();
        engine_.listen(socket_->lend().value());
    }

    // True: the server has accepted it. Blocks: the server is in other threads.
    bool call(uint32_t id, uint32_t window) {
        const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        const timeval patience{0, 200'000};
        EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
        const SocketAddress to = socket_->local();
        EXPECT_EQ(connect(fd, to.raw(), static_cast<socklen_t>(to.raw_size())), 0);
        const Bytes first = ask(fd, handshake(id, window, 0, {}));
        bool accepted = false;
        if (first.size() >= kHandshake) {
            const Bytes second = ask(fd, handshake(id, window, word(first, kCookie), extensions()));
            accepted = second.size() >= kHandshake && word(second, kType) == 0xFFFF'FFFF;
        }
        ::close(fd);
        return accepted;
    }

    static Bytes ask(int fd, const Bytes& packet) {
        Bytes answer(1500);
        for (const Deadline deadline = soon(); !deadline.passed();) {
            (void)!::send(fd, packet.data(), packet.size(), 0);
            if (const ssize_t got = ::recv(fd, answer.data(), answer.size(), 0); got > 0) {
                answer.resize(static_cast<size_t>(got));
                return answer;
            }
        }
        return {};
    }

    static uint32_t word(const Bytes& packet, size_t at) {
        return ByteReader(ByteSpan(packet).subspan(at)).u32();
    }

    static constexpr size_t kHandshake = 64;
    static constexpr size_t kType = 36;
    static constexpr size_t kCookie = 44;

    Sink sink_;
    SrtEngine engine_{&sink_};
    std::unique_ptr<UdpSocket> socket_;
};

TEST_F(SrtMemoryTest, APlayerCostsLessThanATenthOfAMegabyte) {
    ASSERT_TRUE(call(1, 8192));  // what is made once
    constexpr uint32_t kCallers = 20;
    const size_t before = heap();
    for (uint32_t i = 0; i < kCallers; i++) {
        ASSERT_TRUE(call(2 + i, 8192)) << i;
    }
    EXPECT_LT(heap() - before, kCallers * 100'000U);
}

// libsrt makes a table of 24 bytes for each packet of the window that the caller names.
TEST_F(SrtMemoryTest, AWindowThatACallerOnlyNamesCostsNothing) {
    ASSERT_TRUE(call(1, 8192));
    const size_t before = heap();
    ASSERT_TRUE(call(2, 10'000'000));
    EXPECT_LT(heap() - before, 1'000'000U);
}

}  // namespace
}  // namespace weir::io
