#include "proto/dtls/transport.h"

#include <algorithm>
#include <deque>
#include <functional>

#include <gtest/gtest.h>

#include "base/object_count.h"
#include "proto/dtls/identity.h"

#include "test/proto/dtls/reference_peer.h"

namespace weir::dtls {
namespace {

constexpr MonoTime kStart{Seconds(1000)};

const Identity& our_identity() {
    static const std::unique_ptr<Identity> kIdentity = *Identity::create();
    return *kIdentity;
}

const Identity& their_identity() {
    static const std::unique_ptr<Identity> kIdentity = *Identity::create();
    return *kIdentity;
}

TransportOptions options_for(Role role, const Fingerprint& remote) {
    TransportOptions options;
    options.role = role;
    options.remote = remote;
    return options;
}

std::vector<Bytes> drain(Transport& transport) {
    std::vector<Bytes> out;
    for (ByteSpan datagram = transport.poll_transmit(); !datagram.empty();
         datagram = transport.poll_transmit()) {
        out.emplace_back(datagram.begin(), datagram.end());
    }
    return out;
}

size_t total(const std::vector<Bytes>& datagrams) {
    size_t bytes = 0;
    for (const Bytes& datagram : datagrams) {
        bytes += datagram.size();
    }
    return bytes;
}

// Our transport and a peer of plain OpenSSL on a path without loss.
class WithPeer {
  public:
    explicit WithPeer(const ReferencePeer::Options& peer_options, size_t mtu = 1200)
        : peer(peer_options) {
        TransportOptions options = options_for(
            peer_options.role == Role::kClient ? Role::kServer : Role::kClient, peer.fingerprint());
        options.mtu = mtu;
        transport.emplace(our_identity(), options, now);
    }

    // Carries datagrams to and fro until both are silent.
    void run() {
        peer.step();
        for (bool moved = true; moved;) {
            moved = false;
            for (const Bytes& datagram : peer.take_output()) {
                transport->handle_packet(now, datagram);
                moved = true;
            }
            for (const Bytes& datagram : drain(*transport)) {
                longest = std::max(longest, datagram.size());
                peer.step(datagram);
                moved = true;
            }
        }
    }

    MonoTime now = kStart;
    ReferencePeer peer;
    std::optional<Transport> transport;
    size_t longest = 0;
};

// What the peer exports, cut as RFC 5764 §4.2 says.
srtp::Keys keys_of(const ReferencePeer& peer, Role our_role, srtp::Profile profile) {
    const size_t salt = srtp::salt_size(profile);
    const Bytes material = peer.srtp_material(2 * (16 + salt));
    srtp::MasterKey client, server;
    auto at = material.begin();
    for (srtp::MasterKey* key : {&client, &server}) {
        std::copy_n(at, 16, key->key.begin());
        at += 16;
    }
    for (srtp::MasterKey* key : {&client, &server}) {
        std::copy_n(at, salt, key->salt.begin());
        at += static_cast<long>(salt);
    }
    return our_role == Role::kClient ? srtp::Keys{profile, client, server}
                                     : srtp::Keys{profile, server, client};
}

void expect_connected(WithPeer& pair, Role our_role, srtp::Profile profile) {
    ASSERT_EQ(pair.transport->poll_event(), Event::kConnected);
    ASSERT_TRUE(pair.peer.is_done());
    const srtp::Keys keys = pair.transport->take_keys();
    const srtp::Keys expected = keys_of(pair.peer, our_role, profile);
    EXPECT_EQ(keys.profile, profile);
    EXPECT_EQ(keys.local, expected.local);
    EXPECT_EQ(keys.remote, expected.remote);
    EXPECT_EQ(pair.transport->take_keys().local, srtp::MasterKey{});
    EXPECT_EQ(pair.transport->poll_event(), std::nullopt);
    pair.transport->confirm();
    EXPECT_EQ(pair.transport->next_timeout(), std::nullopt);
}

TEST(TransportTest, GivesAnActivePeerTheKeysThatItHas) {
    WithPeer pair({});
    EXPECT_EQ(pair.transport->next_timeout(), kStart + Millis(10'000));
    pair.run();
    expect_connected(pair, Role::kServer, srtp::Profile::kAeadAes128Gcm);
    EXPECT_EQ(pair.peer.certificate_of_peer(), our_identity().fingerprint().to_string());
    EXPECT_LE(pair.longest, 1200u);
}

TEST(TransportTest, GivesAPassivePeerTheKeysThatItHas) {
    ReferencePeer::Options options;
    options.role = Role::kServer;
    WithPeer pair(options);
    pair.run();
    // The server chooses by its own order.
    expect_connected(pair, Role::kClient, srtp::Profile::kAes128CmSha1_80);
}

TEST(TransportTest, TakesTheSecondProfileWhenThePeerHasNoOther) {
    ReferencePeer::Options options;
    options.srtp_profiles = "SRTP_AES128_CM_SHA1_32:SRTP_AES128_CM_SHA1_80";
    WithPeer pair(options);
    pair.run();
    expect_connected(pair, Role::kServer, srtp::Profile::kAes128CmSha1_80);
}

TEST(TransportTest, TakesAPeerWithAnRsaCertificate) {
    ReferencePeer::Options options;
    options.rsa = true;
    WithPeer client(options);
    client.run();
    expect_connected(client, Role::kServer, srtp::Profile::kAeadAes128Gcm);
    options.role = Role::kServer;
    WithPeer server(options);
    server.run();
    expect_connected(server, Role::kClient, srtp::Profile::kAes128CmSha1_80);
}

TEST(TransportTest, FragmentsAndJoinsLongMessages) {
    for (Role role : {Role::kClient, Role::kServer}) {
        ReferencePeer::Options options;
        options.role = role;
        options.padding = 5000;
        options.mtu = 500;
        WithPeer pair(options, 300);
        pair.run();
        EXPECT_EQ(pair.transport->poll_event(), Event::kConnected);
        EXPECT_LE(pair.longest, 300u);
    }
}

// Post-quantum key shares make it longer than a datagram.
TEST(TransportTest, JoinsAClientHelloInFragments) {
    ReferencePeer::Options options;
    options.hello_padding = 3000;
    WithPeer pair(options);
    pair.peer.step();
    const std::vector<Bytes> hello = pair.peer.take_output();
    ASSERT_GE(hello.size(), 3u);
    for (size_t at : {2u, 2u, 0u, 1u}) {
        EXPECT_TRUE(pair.transport->poll_transmit().empty());
        pair.transport->handle_packet(kStart, hello[at]);
    }
    pair.run();
    EXPECT_EQ(pair.transport->poll_event(), Event::kConnected);
}

TEST(TransportTest, RefusesAnotherCertificateThanThatOfTheSdp) {
    const Fingerprint other = ReferencePeer({}).fingerprint();
    for (Role role : {Role::kServer, Role::kClient}) {
        ReferencePeer::Options options;
        options.role = role == Role::kServer ? Role::kClient : Role::kServer;
        WithPeer pair(options);
        pair.transport.emplace(our_identity(), options_for(role, other), kStart);
        pair.run();
        ASSERT_EQ(pair.transport->poll_event(), Event::kFailed);
        const Error error = pair.transport->take_error();
        EXPECT_EQ(error.code(), ErrorCode::kDenied);
        EXPECT_NE(error.message().find("fingerprint"), std::string_view::npos);
        EXPECT_TRUE(pair.peer.has_failed()) << "the peer gets an alert";
        EXPECT_FALSE(pair.transport->is_connected());
        EXPECT_EQ(pair.transport->next_timeout(), std::nullopt);
    }
}

TEST(TransportTest, RefusesAPeerWithoutACertificate) {
    ReferencePeer::Options options;
    options.certificate = false;
    WithPeer pair(options);
    pair.run();
    EXPECT_EQ(pair.transport->poll_event(), Event::kFailed);
    EXPECT_TRUE(bool(pair.transport->take_error()));
}

TEST(TransportTest, RefusesAPeerWithoutSrtp) {
    ReferencePeer::Options options;
    options.srtp_profiles = "";
    WithPeer pair(options);
    pair.run();
    EXPECT_EQ(pair.transport->poll_event(), Event::kFailed);
    EXPECT_EQ(pair.transport->take_error().code(), ErrorCode::kUnsupported);
}

TEST(TransportTest, RefusesAPeerWithoutACommonCipherSuite) {
    ReferencePeer::Options options;
    options.cipher_suites = "ECDHE-ECDSA-AES256-SHA";
    WithPeer pair(options);
    pair.run();
    EXPECT_EQ(pair.transport->poll_event(), Event::kFailed);
    EXPECT_EQ(pair.transport->take_error().code(), ErrorCode::kMalformed);
    EXPECT_TRUE(pair.peer.has_failed());
}

TEST(TransportTest, SaysWhenThePeerGaveUp) {
    ReferencePeer::Options options;
    options.role = Role::kServer;
    options.cipher_suites = "ECDHE-ECDSA-AES256-SHA";
    WithPeer pair(options);
    pair.run();
    EXPECT_EQ(pair.transport->poll_event(), Event::kFailed);
    EXPECT_EQ(pair.transport->take_error().code(), ErrorCode::kClosed);
}

TEST(TransportTest, FreesTheHandshakeWhenTheKeysAreThere) {
    const uint64_t live = find_object_class("dtls_handshake")->live();
    WithPeer pair({});
    EXPECT_EQ(find_object_class("dtls_handshake")->live(), live + 1);
    pair.run();
    EXPECT_EQ(find_object_class("dtls_handshake")->live(), live);
    EXPECT_LE(sizeof(Transport), 256u);
}

TEST(TransportTest, ClosesWithARecordThatThePeerTakes) {
    for (Role role : {Role::kClient, Role::kServer}) {
        ReferencePeer::Options options;
        options.role = role;
        WithPeer pair(options);
        pair.run();
        ASSERT_TRUE(pair.transport->is_connected());
        EXPECT_FALSE(pair.peer.got_close());
        pair.transport->close();
        for (const Bytes& datagram : drain(*pair.transport)) {
            pair.peer.step(datagram);
        }
        EXPECT_TRUE(pair.peer.got_close());
        EXPECT_FALSE(pair.transport->is_connected());
        EXPECT_TRUE(pair.transport->poll_transmit().empty());
    }
}

TEST(TransportTest, HearsTheCloseOfThePeerAndAnswersIt) {
    for (Role role : {Role::kClient, Role::kServer}) {
        ReferencePeer::Options options;
        options.role = role;
        WithPeer pair(options);
        pair.run();
        ASSERT_EQ(pair.transport->poll_event(), Event::kConnected);
        pair.peer.close();
        const std::vector<Bytes> said = pair.peer.take_output();
        ASSERT_EQ(said.size(), 1u);
        for (size_t at = 0; at < said[0].size(); at++) {  // none of its bits can be changed
            Bytes forged = said[0];
            forged[at] ^= 0x10;
            pair.transport->handle_packet(pair.now, forged);
            ASSERT_EQ(pair.transport->poll_event(), std::nullopt) << at;
            Bytes cut(said[0].begin(), said[0].begin() + static_cast<long>(at));
            pair.transport->handle_packet(pair.now, cut);
            ASSERT_EQ(pair.transport->poll_event(), std::nullopt) << at;
        }
        pair.transport->handle_packet(pair.now, said[0]);
        EXPECT_EQ(pair.transport->poll_event(), Event::kClosed);
        EXPECT_FALSE(pair.transport->is_connected());
        for (const Bytes& datagram : drain(*pair.transport)) {
            pair.peer.step(datagram);
        }
        EXPECT_TRUE(pair.peer.got_close());
    }
}

TEST(TransportTest, IgnoresAlertsInTheClearOnceConnected) {
    WithPeer pair({});
    pair.run();
    ASSERT_EQ(pair.transport->poll_event(), Event::kConnected);
    const Bytes fatal = {21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40};
    pair.transport->handle_packet(pair.now, fatal);
    EXPECT_EQ(pair.transport->poll_event(), std::nullopt);
    EXPECT_TRUE(pair.transport->is_connected());
}

// Connected as the server, with the flight of the client that the server's last one answers.
class LostLastFlightTest : public ::testing::Test {
  protected:
    LostLastFlightTest() {
        pair_.peer.step();
        give(pair_.peer.take_output());
        for (const Bytes& datagram : drain(server())) {
            pair_.peer.step(datagram);
        }
        flight_ = pair_.peer.take_output();
        give(flight_);
        lost_ = drain(server());
        EXPECT_EQ(server().poll_event(), Event::kConnected);
        EXPECT_FALSE(pair_.peer.is_done());
    }

    Transport& server() { return *pair_.transport; }

    void give(const std::vector<Bytes>& datagrams) {
        for (const Bytes& datagram : datagrams) {
            server().handle_packet(pair_.now, datagram);
        }
    }

    WithPeer pair_{{}};
    std::vector<Bytes> flight_;
    std::vector<Bytes> lost_;
};

TEST_F(LostLastFlightTest, IsAnsweredAfterTheHandshakeWasFreed) {
    pair_.now += Millis(100);
    give(flight_);
    const std::vector<Bytes> again = drain(server());
    EXPECT_EQ(again, lost_);
    EXPECT_EQ(again.size(), 1u);
    EXPECT_LE(total(again), 100u);
    pair_.peer.step(again.at(0));
    EXPECT_TRUE(pair_.peer.is_done());
    EXPECT_EQ(server().poll_event(), std::nullopt);
}

TEST_F(LostLastFlightTest, IsAnsweredNotTooOftenAndNotForEver) {
    size_t answers = 0;
    for (int i = 0; i < 1000; i++) {
        pair_.now += Millis(1);
        give(flight_);
        answers += drain(server()).size();
    }
    EXPECT_LE(answers, 21u);
    EXPECT_GE(answers, 10u);
    for (int i = 0; i < 1000; i++) {
        pair_.now += Seconds(1);
        give(flight_);
        answers += drain(server()).size();
    }
    EXPECT_EQ(answers, size_t{kMaxAnswersAfterwards});
}

TEST_F(LostLastFlightTest, IsRepeatedUnaskedForAWhile) {
    std::vector<Millis> after;
    const MonoTime begin = pair_.now;
    while (const std::optional<MonoTime> at = server().next_timeout()) {
        ASSERT_GT(*at, pair_.now);
        pair_.now = *at;
        server().handle_timeout(pair_.now - Millis(1));
        EXPECT_TRUE(drain(server()).empty());
        server().handle_timeout(pair_.now);
        EXPECT_EQ(drain(server()), lost_);
        after.push_back(std::chrono::duration_cast<Millis>(pair_.now - begin));
        ASSERT_LE(after.size(), size_t{kUnaskedRepeats});
    }
    EXPECT_EQ(after, (std::vector<Millis>{Millis(250), Millis(750), Millis(1750), Millis(2750),
                                          Millis(3750)}));
    pair_.peer.step(lost_.at(0));
    EXPECT_TRUE(pair_.peer.is_done());
}

TEST_F(LostLastFlightTest, IsNotRepeatedOnceThePeerShowsItsKeys) {
    server().confirm();
    EXPECT_EQ(server().next_timeout(), std::nullopt);
    server().handle_timeout(pair_.now + Seconds(1));
    EXPECT_TRUE(drain(server()).empty());
}

TEST_F(LostLastFlightTest, IsNotAnsweredToAnOldClientHelloOrGarbage) {
    pair_.now += Seconds(1);
    ReferencePeer other({});
    other.step();
    give(other.take_output());
    give({{22}, {22, 254, 253}, Bytes(100, 22), Bytes(13, 0)});
    EXPECT_TRUE(drain(server()).empty());
}

TEST(TransportTest, AnswersARepeatedFlightDuringTheHandshakeAtOnce) {
    WithPeer pair({});
    pair.peer.step();
    const std::vector<Bytes> hello = pair.peer.take_output();
    pair.transport->handle_packet(pair.now, hello.at(0));
    const std::vector<Bytes> first = drain(*pair.transport);
    pair.now += Millis(10);
    pair.transport->handle_packet(pair.now, hello.at(0));
    EXPECT_TRUE(drain(*pair.transport).empty()) << "too soon";
    pair.now += Millis(50);
    pair.transport->handle_packet(pair.now, hello.at(0));
    const std::vector<Bytes> second = drain(*pair.transport);
    EXPECT_EQ(total(second), total(first));
}

TEST(TransportTest, NumbersEveryTransmissionOfAClearRecordAnew) {
    WithPeer pair({});
    pair.peer.step();
    pair.transport->handle_packet(pair.now, pair.peer.take_output().at(0));
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 3; i++) {
        for (const Bytes& datagram : drain(*pair.transport)) {
            ByteSpan rest(datagram);
            while (std::optional<RecordView> record = next_record(rest)) {
                numbers.push_back(ByteReader(record->header.subspan(3)).u64());
            }
        }
        pair.now = *pair.transport->next_timeout();
        pair.transport->handle_timeout(pair.now);
    }
    for (size_t i = 0; i < numbers.size(); i++) {
        EXPECT_EQ(numbers[i], i);
    }
    EXPECT_GE(numbers.size(), 12u);
}

TEST(TransportTest, RepeatsLessAndLessOftenAndGivesUp) {
    WithPeer pair({});
    pair.peer.step();
    pair.transport->handle_packet(pair.now, pair.peer.take_output().at(0));
    drain(*pair.transport);
    std::vector<Millis> pauses;
    while (std::optional<MonoTime> at = pair.transport->next_timeout()) {
        pauses.push_back(std::chrono::duration_cast<Millis>(*at - pair.now));
        pair.now = *at;
        pair.transport->handle_timeout(pair.now);
        drain(*pair.transport);
    }
    EXPECT_EQ(std::vector<Millis>(pauses.begin(), pauses.begin() + 4),
              (std::vector<Millis>{Millis(250), Millis(500), Millis(1000), Millis(1000)}));
    EXPECT_EQ(pair.now, kStart + Millis(10'000));
    EXPECT_EQ(pair.transport->poll_event(), Event::kFailed);
    const Error error = pair.transport->take_error();
    EXPECT_EQ(error.code(), ErrorCode::kTimeout);
    EXPECT_NE(error.message().find("1 datagrams"), std::string_view::npos);
}

TEST(TransportTest, DoesNothingBeforeItsTime) {
    WithPeer pair({});
    pair.transport->handle_timeout(kStart + Millis(9'999));
    EXPECT_EQ(pair.transport->poll_event(), std::nullopt);
    EXPECT_TRUE(pair.transport->poll_transmit().empty());
    pair.transport->handle_timeout(kStart + Millis(10'000));
    EXPECT_EQ(pair.transport->poll_event(), Event::kFailed);
}

TEST(TransportTest, BoundsWhatAPeerMaySendBeforeItIsKnown) {
    WithPeer many({});
    for (size_t i = 0; i <= kMaxHandshakeDatagrams; i++) {
        EXPECT_EQ(many.transport->poll_event(), std::nullopt);
        many.transport->handle_packet(kStart, Bytes{22, 254, 253});
    }
    EXPECT_EQ(many.transport->poll_event(), Event::kFailed);
    EXPECT_EQ(many.transport->take_error().code(), ErrorCode::kLimit);
    WithPeer large({});
    for (size_t i = 0; i <= kMaxHandshakeBytes / kMaxDatagram; i++) {
        EXPECT_EQ(large.transport->poll_event(), std::nullopt);
        large.transport->handle_packet(kStart, Bytes(kMaxDatagram, 20));
    }
    EXPECT_EQ(large.transport->poll_event(), Event::kFailed);
}

TEST(TransportTest, IsNotDisturbedByGarbage) {
    WithPeer pair({});
    uint32_t random = 7;
    for (size_t size = 0; size < 200; size++) {
        Bytes garbage(size);
        for (uint8_t& byte : garbage) {
            byte = static_cast<uint8_t>((random = random * 1664525 + 1013904223) >> 24);
        }
        pair.transport->handle_packet(kStart, garbage);
    }
    pair.transport->handle_packet(kStart, Bytes(kMaxDatagram + 1, 22));
    pair.run();
    EXPECT_EQ(pair.transport->poll_event(), Event::kConnected);
}

TEST(TransportTest, TakesNoDatagramThatIsCut) {
    ReferencePeer peer({});
    peer.step();
    const Bytes hello = peer.take_output().at(0);
    Transport transport(our_identity(), options_for(Role::kServer, peer.fingerprint()), kStart);
    for (size_t size = 0; size < hello.size(); size++) {
        transport.handle_packet(kStart, ByteSpan(hello).first(size));
        ASSERT_TRUE(transport.poll_transmit().empty()) << size;
        ASSERT_EQ(transport.poll_event(), std::nullopt) << size;
    }
    transport.handle_packet(kStart, hello);
    EXPECT_FALSE(transport.poll_transmit().empty());
}

TEST(TransportTest, ClosingDuringTheHandshakeEndsIt) {
    WithPeer pair({});
    pair.transport->close();
    pair.run();
    EXPECT_EQ(pair.transport->poll_event(), std::nullopt);
    EXPECT_EQ(pair.transport->next_timeout(), std::nullopt);
}

// Two of ours on a path that loses, repeats, reorders and delays.
class Path {
  public:
    Path(uint32_t seed, unsigned loss_percent)
        : random_(seed * 2654435761u + 1), loss_(loss_percent) {}

    void send(MonoTime now, ByteSpan datagram) {
        for (unsigned copies = percent() < 10 ? 2 : 1; copies > 0; copies--) {
            if (percent() >= loss_) {
                queue_.push_back({now + Millis(5 + percent()), {datagram.begin(), datagram.end()}});
            }
        }
    }

    std::optional<MonoTime> next() const {
        std::optional<MonoTime> at;
        for (const auto& [when, datagram] : queue_) {
            at = std::min(at.value_or(when), when);
        }
        return at;
    }

    void deliver(MonoTime now, Transport& to) {
        for (size_t i = 0; i < queue_.size();) {
            if (queue_[i].first <= now) {
                const Bytes datagram = std::move(queue_[i].second);
                queue_.erase(queue_.begin() + static_cast<long>(i));
                to.handle_packet(now, datagram);
            } else {
                i++;
            }
        }
    }

  private:
    unsigned percent() { return (random_ = random_ * 1664525 + 1013904223) / 42949673; }

    uint32_t random_;
    unsigned loss_;
    std::deque<std::pair<MonoTime, Bytes>> queue_;
};

class LossyPathTest : public ::testing::TestWithParam<unsigned> {
  protected:
    // Whether both get the same keys; the time that took in `now_`.
    bool connects(uint32_t seed) {
        Path to_server(seed, GetParam()), to_client(seed + 77'777, GetParam());
        TransportOptions options = options_for(Role::kServer, their_identity().fingerprint());
        options.mtu = 400;  // several datagrams a flight
        Transport server(our_identity(), options, kStart);
        options = options_for(Role::kClient, our_identity().fingerprint());
        options.mtu = 400;
        Transport client(their_identity(), options, kStart);
        now_ = kStart;
        while (!server.is_connected() || !client.is_connected()) {
            send(server, to_client);
            send(client, to_server);
            std::optional<MonoTime> next;
            for (const auto& at : {server.next_timeout(), client.next_timeout(), to_server.next(),
                                   to_client.next()}) {
                next = at ? std::min(next.value_or(*at), *at) : next;
            }
            if (!next) {
                return false;
            }
            now_ = *next;
            to_server.deliver(now_, server);
            to_client.deliver(now_, client);
            server.handle_timeout(now_);
            client.handle_timeout(now_);
        }
        const srtp::Keys a = server.take_keys(), b = client.take_keys();
        return a.local == b.remote && a.remote == b.local && a.local != srtp::MasterKey{};
    }

    void send(Transport& from, Path& path) {
        for (const Bytes& datagram : drain(from)) {
            path.send(now_, datagram);
        }
    }

    MonoTime now_ = kStart;
};

INSTANTIATE_TEST_SUITE_P(,
                         LossyPathTest,
                         ::testing::Values(0u, 5u, 20u, 40u),
                         [](const auto& tested) {
                             return "Percent" + std::to_string(tested.param);
                         });

TEST_P(LossyPathTest, Connects) {
    int connected = 0;
    Micros slowest{0};
    constexpr int kRuns = 40;
    for (uint32_t seed = 1; seed <= kRuns; seed++) {
        connected += connects(seed) ? 1 : 0;
        slowest = std::max(slowest, now_ - kStart);
    }
    EXPECT_GE(connected, GetParam() <= 20 ? kRuns : kRuns - 3);
    EXPECT_LE(slowest, GetParam() == 0   ? Millis(800)
                       : GetParam() == 5 ? Millis(3000)
                                         : Millis(10'000));
}

}  // namespace
}  // namespace weir::dtls
