// Two servers with one UDP port, as two processes have it: peers connect wherever the kernel puts
// them, and from then on their server gets what they send.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>

#include <gtest/gtest.h>

#include "app/processes/datagram_exchange.h"
#include "app/processes/shared_listeners.h"
#include "base/random.h"

#include "test/session/webrtc/rtc_world.h"

namespace weir::app {
namespace {

using session::RtcAnswer;
using session::RtcPeer;
using session::RtcServer;

// The kernel puts a peer at random: of so many, none at one of the two is no accident.
constexpr size_t kPeers = 16;

class SinglePortTest : public session::RtcWorld {
  protected:
    SinglePortTest() {
        const AddressOf address_of = [name = random_id(system_random(), 12)](uint32_t process) {
            return fmt::format("@weir-{}-{}", name, process);
        };
        for (uint32_t i = 0; i < 2; i++) {
            auto made = DatagramExchange::create(address_of, i, 2);
            EXPECT_TRUE(made.ok());
            exchanges_[i] = std::move(*made);
            servers_[i] = std::make_unique<RtcServer>(services_, session::RtcServerOptions());
            servers_[i]->transport().share(*exchanges_[i]);
            EXPECT_FALSE(servers_[i]->start(workers_.get()));
            Result<int> socket = sockets_.socket_for(i, "udp/127.0.0.1:0");
            EXPECT_TRUE(socket.ok());
            auto udp = io::UdpSocket::adopt(io::OwnFd(::fcntl(*socket, F_DUPFD_CLOEXEC, 0)), {});
            EXPECT_TRUE(udp.ok());
            rtc_address_ = (*udp)->local();
            EXPECT_FALSE(servers_[i]->transport().serve(std::move(*udp)));
        }
        own_rtc_ = std::move(servers_[0]);  // RtcWorld's
        rtc_ = own_rtc_.get();
        other_ = servers_[1].get();
    }

    ~SinglePortTest() override {
        const Error late = other_->stop(io::soon());
        EXPECT_FALSE(late) << late.to_string();
        const Error too_late = rtc_->stop(io::soon());
        EXPECT_FALSE(too_late) << too_late.to_string();
        rtc_ = nullptr;
        own_rtc_.reset();
        servers_ = {};  // before the exchanges
        EXPECT_EQ(session::live_objects("rtc_peer_socket"), 0U);
    }

    // It publishes, and answers checks from now on.
    std::unique_ptr<RtcPeer> connect(size_t number) {
        std::unique_ptr<RtcPeer> peer = publishing_peer("s" + std::to_string(number));
        if (peer != nullptr) {
            peer->own_password = session::sdp_value(RtcPeer::offer("chromium-whip"), "a=ice-pwd:");
        }
        return peer;
    }

    static size_t sockets_of(const RtcServer& server) {
        return server.transport().shared_port()->peer_sockets();
    }

    // Whether the server gets another check of that peer, and answers it.
    static bool is_heard(RtcPeer& peer) {
        const uint64_t before = peer.stun_answers;
        peer.send_check();
        return io::eventually([&] {
            peer.poll();
            return peer.stun_answers > before;
        });
    }

    SharedListeners sockets_;
    std::array<std::unique_ptr<DatagramExchange>, 2> exchanges_;
    std::array<std::unique_ptr<RtcServer>, 2> servers_;
    RtcServer* other_ = nullptr;
};

TEST_F(SinglePortTest, PeersConnectWhereverTheyComeAndThenNothingIsPassedOn) {
    std::vector<std::unique_ptr<RtcPeer>> peers;
    for (size_t i = 0; i < kPeers; i++) {
        peers.push_back(connect(i));
        ASSERT_NE(peers.back(), nullptr);
        EXPECT_EQ(ice::ufrag_mark(peers.back()->ufrag), 0);
    }
    EXPECT_TRUE(io::eventually([&] { return sockets_of(*rtc_) == kPeers; }));
    EXPECT_EQ(other_->sessions(), 0U);
    EXPECT_TRUE(
        io::eventually([&] { return rtc_->stats().taken_over == other_->stats().passed_on; }));
    const uint64_t passed = other_->stats().passed_on;
    EXPECT_GT(passed, 0U) << "all of them came to the right one";
    for (const auto& peer : peers) {
        EXPECT_TRUE(is_heard(*peer));
    }
    EXPECT_EQ(other_->stats().passed_on, passed);
    EXPECT_EQ(rtc_->stats().dropped() + other_->stats().dropped(), 0U);
}

TEST_F(SinglePortTest, APeerThatMovesHasASocketForItsNewAddress) {
    const auto peer = connect(0);
    ASSERT_NE(peer, nullptr);
    for (size_t i = 0; i < kPeers; i++) {
        const uint64_t checks = peer->stun_checks;
        peer->move();
        EXPECT_TRUE(is_heard(*peer)) << i;
        EXPECT_TRUE(io::eventually([&] {
            peer->poll();
            return peer->stun_checks > checks;
        })) << "the new address is proven first";
        EXPECT_TRUE(io::eventually([&] {
            const uint64_t passed = other_->stats().passed_on;
            return is_heard(*peer) && other_->stats().passed_on == passed;
        })) << "it has a socket of its own again";
        EXPECT_EQ(sockets_of(*rtc_), 1U);
    }
    EXPECT_GT(other_->stats().passed_on, 0U);
}

TEST_F(SinglePortTest, ASessionThatEndsLeavesNoSocket) {
    const auto peer = connect(0);
    ASSERT_NE(peer, nullptr);
    ASSERT_TRUE(io::eventually([&] { return sockets_of(*rtc_) == 1; }));
    rtc_->find(id_)->end(net::EndClass::kKicked, "the test");
    EXPECT_EQ(sockets_of(*rtc_), 0U);
    EXPECT_TRUE(is_gone(id_));
    EXPECT_TRUE(io::eventually([] { return session::live_objects("rtc_peer_socket") == 0; }));
}

TEST_F(SinglePortTest, WhoeverHasNotTheKeysGetsNoSocket) {
    const Result<RtcAnswer> answer = ask_to_publish(RtcPeer::offer("chromium-whip"), "a");
    ASSERT_TRUE(answer.ok());
    for (size_t i = 0; i < kPeers; i++) {
        RtcPeer peer(rtc_address_);
        peer.take_answer(answer->sdp);
        peer.password = "a-password-of-nobody-at-all";
        peer.send_check();
        peer.ufrag = std::string(ice::Credentials::make(system_random(), 0).ufrag_text());
        peer.send_check();
        peer.ufrag = std::string(ice::Credentials::make(system_random(), 63).ufrag_text());
        peer.send_check();
        EXPECT_TRUE(io::eventually([&] {
            return rtc_->stats().unknown_stun + other_->stats().unknown_stun == 2 * (i + 1);
        })) << "nobody's, and of a process that there is not";
    }
    EXPECT_GT(other_->stats().passed_on, 0U);
    EXPECT_EQ(sockets_of(*rtc_) + sockets_of(*other_), 0U);
    rtc_->find(answer->session_id)->end(net::EndClass::kKicked, "the test");
}

TEST_F(SinglePortTest, AFloodOfChecksForTheOtherProcessIsCutAndCounted) {
    RtcPeer peer(rtc_address_);
    const MonoTime began = MonoClock::now();
    const auto flood = [&](uint32_t count) {
        for (const uint8_t mark :
             {uint8_t{0}, uint8_t{1}}) {  // one of them is not of the process that gets it
            peer.ufrag = std::string(ice::Credentials::make(system_random(), mark).ufrag_text());
            for (uint32_t i = 0; i < count; i++) {
                peer.send_check();
                if (i % 64 == 0) {
                    io::yield();
                }
            }
        }
    };
    // Over the limit also where a second ends within it, and until one was short enough.
    flood(2 * session::RtcPassing::kChecksPerAddress + 500);
    EXPECT_TRUE(io::eventually([&] {
        flood(64);
        return rtc_->stats().pass_limited + other_->stats().pass_limited > 0;
    }));
    const auto seconds = static_cast<uint64_t>(
        std::chrono::duration_cast<Seconds>(MonoClock::now() - began).count());
    EXPECT_LE(rtc_->stats().passed_on + other_->stats().passed_on,
              (seconds + 2) * session::RtcPassing::kChecksPerAddress);
    EXPECT_FALSE(io::sleep_for(Millis(1'100)));  // it is the same address, which has none left
    EXPECT_NE(connect(1), nullptr) << "a second later";
}

TEST_F(SinglePortTest, APeerOfBothIsWhoseItProvedToBeLast) {
    for (size_t i = 0; i < 4; i++) {
        const auto peer = connect(i);
        ASSERT_NE(peer, nullptr);
        ASSERT_TRUE(io::eventually([&] { return sockets_of(*rtc_) == 1; }));
        const std::string before = id_;
        std::swap(rtc_, other_);
        const Result<RtcAnswer> answer =
            ask_to_publish(RtcPeer::offer("chromium-whip"), "t" + std::to_string(i));
        ASSERT_TRUE(answer.ok());
        peer->take_answer(answer->sdp);  // the same address, another session
        peer->connected = false;
        peer->stun_answers = 0;
        EXPECT_TRUE(peer->connect());
        EXPECT_TRUE(
            io::eventually([&] { return sockets_of(*rtc_) == 1 && sockets_of(*other_) == 0; }));
        rtc_->find(answer->session_id)->end(net::EndClass::kKicked, "the test");
        std::swap(rtc_, other_);
        rtc_->find(before)->end(net::EndClass::kKicked, "the test");
    }
}

}  // namespace
}  // namespace weir::app
