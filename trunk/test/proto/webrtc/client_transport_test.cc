#include "proto/webrtc/client_transport.h"

#include <gtest/gtest.h>

#include "proto/sdp/client_offer.h"

#include "test/proto/webrtc/server_end.h"

namespace weir::webrtc {
namespace {

// What lies above: it counts.
class Client final : public ClientTransport {
  public:
    using ClientTransport::ClientTransport;
    using ClientTransport::send_rtcp;

    size_t connects = 0;
    size_t refused = 0;
    std::vector<Bytes> rtp;
    std::vector<Micros> round_trips;

  private:
    void on_connected(MonoTime) override { connects++; }

    void on_rtp(MonoTime, ByteSpan packet) override {
        rtp.emplace_back(packet.begin(), packet.end());
    }

    void on_rtcp(MonoTime, ByteSpan) override {}

    void on_timeout(MonoTime) override {}

    MonoTime next_media_timeout() const override { return MonoTime::max(); }

    void on_round_trip(Micros rtt) override { round_trips.push_back(rtt); }

    void on_refused() override { refused++; }
};

NetAddress at(std::string_view text) {
    return *NetAddress::parse(text);
}

class ClientTransportTest : public testing::Test {
  protected:
    ClientTransportTest() { server_.expect_client(test_identity(1).fingerprint()); }

    sdp::RemoteTransport remote(const std::vector<std::string>& candidates = {}) const {
        const auto answer = sdp::read_answer(
            server_.answer(
                "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=sendonly\r\na=rtcp-mux\r\n"),
            {});
        EXPECT_TRUE(answer.ok()) << answer.error().message();
        sdp::RemoteTransport remote = answer->remote;
        remote.candidates = candidates;
        return remote;
    }

    void start(const std::vector<NetAddress>& servers, bool dtls_client = true) {
        sdp::RemoteTransport of = remote();
        of.dtls_client = dtls_client;
        client_.start(of, servers, Seconds(10), now_);
    }

    void exchange() {
        do {
            server_.serve(now_);
            for (; !server_.to_client.empty(); server_.to_client.pop_front()) {
                client_.handle_packet(now_, server_.to_client.front(), server_.live);
            }
        } while (!server_.from_client.empty());
    }

    void pass(Micros time) {
        const MonoTime end = now_ + time;
        while (now_ < end && !client_.over()) {
            now_ = std::min(end, std::max(now_ + Micros(100), client_.next_timeout()));
            client_.handle_timeout(now_);
            exchange();
        }
    }

    MonoTime now_{Seconds(1000)};
    CountingRandom random_;
    srtp::ControlCipher control_;
    ClientShared shared_{test_identity(1), control_, random_};
    ServerEnd server_{now_};
    Client client_{shared_, server_};
};

TEST_F(ClientTransportTest, TheOnlyCandidateIsNominatedAtOnce) {
    start({server_.live});
    exchange();
    EXPECT_TRUE(client_.connected()) << client_.failure().message();
    EXPECT_EQ(client_.connects, 1U);
    EXPECT_EQ(server_.checks, 1U);
    EXPECT_EQ(server_.nominations, 1U);
    EXPECT_EQ(client_.round_trips.size(), 1U);
}

TEST_F(ClientTransportTest, OfSeveralTheOneThatAnswersIsTaken) {
    server_.live = at("198.51.100.7:9000");
    start({at("192.0.2.1:8000"), at("[2001:db8::1]:8000"), server_.live});
    exchange();
    EXPECT_FALSE(client_.connected());
    pass(Millis(200));
    EXPECT_TRUE(client_.connected()) << client_.failure().message();
    EXPECT_EQ(server_.nominations, 1U);
    EXPECT_EQ(server_.checks, 2U) << "one that asks, one that nominates";
    const size_t before = server_.lost.size();
    EXPECT_GE(before, 2U);
    pass(Seconds(20));
    EXPECT_EQ(server_.lost.size(), before) << "the others are left alone";
}

TEST_F(ClientTransportTest, AFullAgentIsAnsweredAndFoundWhereItIs) {
    server_.live = at("203.0.113.5:1234");  // behind a NAT: not what it says
    start({at("10.0.0.1:8000")});
    exchange();
    EXPECT_FALSE(client_.connected());
    server_.check_client(client_.credentials());
    exchange();
    ASSERT_EQ(server_.successes.size(), 1U);
    EXPECT_EQ(server_.successes[0], server_.live) << "as its packets came from";
    pass(Millis(200));
    EXPECT_TRUE(client_.connected()) << client_.failure().message();
}

TEST_F(ClientTransportTest, ChecksOfStrangersAreNotAnswered) {
    start({at("10.0.0.1:8000")});
    ice::Credentials wrong = client_.credentials();
    wrong.password[0] = static_cast<char>(wrong.password[0] ^ 1);
    server_.check_client(wrong);
    exchange();
    pass(Seconds(1));
    EXPECT_TRUE(server_.successes.empty());
    EXPECT_EQ(server_.checks, 0U) << "its address is not tried";
}

TEST_F(ClientTransportTest, StrangersDoNotFillTheListOfAddresses) {
    start({at("10.0.0.1:8000")});
    for (uint16_t port = 1; port < 50; port++) {
        server_.live = at("203.0.113.5:1000").with_port(port);
        server_.check_client(client_.credentials());
        exchange();
    }
    pass(Millis(1));
    server_.live = server_.address();
    pass(Seconds(20));
    EXPECT_TRUE(client_.over());
    std::vector<NetAddress> tried = server_.lost;
    std::ranges::sort(tried, {}, [](const NetAddress& each) { return each.to_string(); });
    tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
    EXPECT_LE(tried.size(), 50U);
    EXPECT_LE(server_.lost.size() + server_.checks, 49U + 20U * ClientTransport::kMaxCandidates);
}

TEST_F(ClientTransportTest, TheServerMayBeginTheHandshake) {
    server_.set_role(dtls::Role::kClient);
    start({server_.live}, false);
    exchange();
    pass(Seconds(2));
    EXPECT_TRUE(client_.connected()) << client_.failure().message();
}

TEST_F(ClientTransportTest, AnotherCertificateIsRefused) {
    sdp::RemoteTransport of = remote();
    of.fingerprint_sha256[3] ^= 1U;
    client_.start(of, {server_.live}, Seconds(10), now_);
    exchange();
    EXPECT_TRUE(client_.over());
    EXPECT_FALSE(client_.was_connected());
    EXPECT_TRUE(client_.failure().message().starts_with("DTLS: ")) << client_.failure().message();
}

TEST_F(ClientTransportTest, AnAnswerFromElsewhereIsNone) {
    start({server_.live});
    server_.serve(now_);
    ASSERT_EQ(server_.to_client.size(), 1U);
    client_.handle_packet(now_, server_.to_client.front(), at("192.0.2.66:8000"));
    EXPECT_TRUE(client_.round_trips.empty());
    client_.handle_packet(now_, server_.to_client.front(), server_.live);
    EXPECT_EQ(client_.round_trips.size(), 1U);
}

TEST_F(ClientTransportTest, AForgedAnswerIsNone) {
    start({server_.live});
    server_.serve(now_);
    Bytes& answer = server_.to_client.front();
    constexpr size_t kFingerprint = 8;  // stands behind what the password protects
    for (size_t i = 20; i < answer.size() - kFingerprint; i++) {
        Bytes forged = answer;
        forged[i] ^= 1U;
        client_.handle_packet(now_, forged, server_.live);
        EXPECT_TRUE(client_.round_trips.empty()) << i;
    }
}

TEST_F(ClientTransportTest, ARefusalEndsItWhenNothingElseIsLeft) {
    sdp::RemoteTransport of = remote();
    of.ice_pwd = "another-password-than-its";
    client_.start(of, {server_.live}, Seconds(10), now_);
    exchange();
    EXPECT_TRUE(client_.over());
    EXPECT_EQ(client_.failure().message(), "the server refuses ICE checks: 401");
    EXPECT_EQ(client_.failure().code(), ErrorCode::kDenied);
}

TEST_F(ClientTransportTest, ARefusalOfOneAddressLeavesTheOthers) {
    sdp::RemoteTransport of = remote();
    of.ice_pwd = "another-password-than-its";
    client_.start(of, {server_.live, at("192.0.2.99:1")}, Seconds(10), now_);
    exchange();
    EXPECT_FALSE(client_.over());
    pass(Seconds(20));
    EXPECT_TRUE(client_.over());
    EXPECT_EQ(client_.failure().code(), ErrorCode::kTimeout);
}

TEST_F(ClientTransportTest, NoAnswerNamesAllThatWasTried) {
    start({at("192.0.2.77:1"), at("192.0.2.78:2")});
    pass(Seconds(20));
    EXPECT_TRUE(client_.over());
    EXPECT_EQ(client_.failure().message(),
              "no answer to ICE checks from udp 192.0.2.77:1, 192.0.2.78:2");
    EXPECT_LT(server_.lost.size(), 40U);
    EXPECT_EQ(client_.next_timeout(), MonoTime::max());
}

TEST_F(ClientTransportTest, ConsentIsAskedForAndItsEndIsNoticed) {
    start({server_.live});
    exchange();
    pass(Seconds(60));
    EXPECT_FALSE(client_.over());
    server_.live = at("192.0.2.99:1");
    pass(Seconds(60));
    EXPECT_TRUE(client_.over());
    EXPECT_TRUE(client_.was_connected());
    EXPECT_EQ(client_.failure().message(), "the server answers no ICE checks any more");
}

TEST_F(ClientTransportTest, GarbageDoesNothing) {
    start({server_.live});
    exchange();
    ASSERT_TRUE(client_.connected());
    for (int first = 0; first < 256; first++) {
        for (const size_t size : {1, 12, 20, 60, 1200}) {
            Bytes datagram(size, static_cast<uint8_t>(first * 7));
            datagram[0] = static_cast<uint8_t>(first);
            client_.handle_packet(now_, datagram, server_.live);
        }
    }
    EXPECT_TRUE(client_.connected());
    EXPECT_TRUE(client_.rtp.empty());
    EXPECT_GT(client_.refused, 0U);
}

TEST_F(ClientTransportTest, ClosingIsHeardByTheServer) {
    start({server_.live});
    exchange();
    server_.from_client.clear();
    client_.close();
    EXPECT_EQ(server_.from_client.size(), 1U);
    EXPECT_TRUE(client_.over());
}

TEST_F(ClientTransportTest, CandidatesAreThoseThatCanBeTried) {
    const auto addresses = ClientTransport::addresses_of(
        remote({"1 1 tcp 2105458943 192.0.2.7 8000 typ host tcptype passive",
                "2 1 udp 2130706431 name.local 8000 typ host", "3 1 udp 1 192.0.2.8 8001 typ host",
                "3 2 udp 1 192.0.2.8 8002 typ host", "4 1 udp 1 0.0.0.0 8003 typ host",
                "5 1 udp 1 192.0.2.8 0 typ host", "garbage", "6 1 udp 1 2001:db8::9 8004 typ srflx",
                "7 1 udp 1 192.0.2.8 8001 typ host"}));
    ASSERT_EQ(addresses.size(), 2U);
    EXPECT_EQ(addresses[0], at("192.0.2.8:8001"));
    EXPECT_EQ(addresses[1], at("[2001:db8::9]:8004"));
    std::vector<std::string> many;
    for (int i = 1; i < 60; i++) {
        many.push_back(fmt::format("1 1 udp 1 192.0.2.{} 8000 typ host", i));
    }
    EXPECT_EQ(ClientTransport::addresses_of(remote(many)).size(), ClientTransport::kMaxCandidates);
}

}  // namespace
}  // namespace weir::webrtc
