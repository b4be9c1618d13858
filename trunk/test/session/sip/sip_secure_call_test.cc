// Encrypted calls over real sockets. The telephone has signalling and media of its own (SipSecure).
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "proto/rtp/header.h"
#include "session/sip/sip_secure.h"
#include "session/sip/sip_server.h"

#include "test/session/world.h"
#include "test/support/media_packets.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto kAnywhere = [](bool, const NetAddress&, size_t) { return true; };
using Kind = sip::CallEvent::Kind;
using sdp::PhoneKeys;
using sdp::PhoneSrtp;

constexpr size_t kFrame = 160;  // 20 ms of G.711

std::unique_ptr<io::UdpSocket> udp_socket(const char* address = "127.0.0.1:0") {
    auto socket = io::UdpSocket::bind(*io::SocketAddress::parse(address), {});
    WEIR_CHECK(socket.ok());
    return std::move(*socket);
}

// Publishes PCMU.
class Speaker final : public stream::Publisher {
  public:
    explicit Speaker(stream::Stream& stream) : stream_(stream) {
        EXPECT_FALSE(
            stream.start_publish(*this, stream::PublishConflict::kRefuse, MonoClock::now()));
        say();
    }

    ~Speaker() { stream_.end_publish(*this, MonoClock::now()); }

    void say() {
        Bytes body(1 + kFrame, 0x55);
        body[0] = 0x82;
        time_ms_ += 20;
        stream_.publish(*this, test::packet(media::TrackKind::kAudio, time_ms_, std::move(body)),
                        MonoClock::now());
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

  private:
    stream::Stream& stream_;
    uint32_t time_ms_ = 0;
};

class SecurePhone {
  public:
    explicit SecurePhone(const NetAddress& server)
        : socket_(udp_socket()), media_(udp_socket()), agent_({}, system_random()) {
        flow_.connection = 1;
        flow_.remote = server;
        flow_.local = socket_->local().net_address();
        const NetAddress at = media_->local().net_address();
        options_.address = at.with_port(0);
        options_.audio.codecs = {{media::Codec::kG711U, 8000, 0}};
        options_.audio.port = at.port();
    }

    void call(PhoneKeys profile, PhoneSrtp srtp = PhoneSrtp::kOptional) {
        sip::CallTarget target;
        target.flow = flow_;
        target.uri = "sip:100@127.0.0.1";
        target.from = "sip:alice@example.org";
        target.sdp = offer(profile, srtp);
        id_ = agent_.call(MonoClock::now(), target);
        turn();
    }

    // With other keys.
    void call_again(PhoneKeys profile) {
        options_.version++;
        agent_.offer(MonoClock::now(), id_, offer(profile, PhoneSrtp::kOptional));
        turn();
    }

    // True once an event of that kind has come; it is in `last`.
    bool has(Kind kind) {
        turn();
        while (!events_.empty()) {
            last = std::move(events_.front());
            events_.pop_front();
            if (last.kind == kind) {
                return true;
            }
        }
        return false;
    }

    bool waits_for(Kind kind) {
        return io::eventually([&] { return has(kind); });
    }

    // What the answer in `last` means.
    void agree() {
        const auto answer = sdp::read_phone_description(last.sdp);
        ASSERT_TRUE(answer.ok());
        auto agreed = sdp::accept_phone(*answer, options_);
        ASSERT_TRUE(agreed.ok()) << agreed.error().to_string();
        agreed_ = std::move(*agreed);
        if (SipSecure::is_for(agreed_.audio)) {
            if (!secure_) {
                secure_ = std::make_unique<SipSecure>(security_, system_random());
            }
            EXPECT_FALSE(secure_->agree(MonoClock::now(), agreed_.audio));
        }
    }

    // The payload of the next packet; empty: none has come.
    Bytes hear() {
        Bytes heard;
        media_->receive([&](std::span<uint8_t> bytes, const io::UdpPath& path) {
            Bytes copy(bytes.begin(), bytes.end());
            std::span<uint8_t> plain = copy;
            if (secure_) {
                const auto taken = secure_->take(MonoClock::now(), false, plain, path.peer, true);
                plain =
                    taken.kind == SipSecure::Taken::Kind::kRtp ? taken.bytes : std::span<uint8_t>();
            }
            if (const auto packet = rtp::PacketView::parse(plain)) {
                heard.assign(packet->payload().begin(), packet->payload().end());
            }
        });
        transmit();
        return heard;
    }

    // A packet of ours as it goes over the wire; empty: there are no keys yet.
    Bytes packet(uint8_t payload_type = 0) {
        if (secure_ && !secure_->ready()) {
            return {};
        }
        time_ += kFrame;
        Bytes out(rtp::kFixedHeaderSize + kFrame + srtp::kMaxOverhead, 0x7F);
        const size_t size = rtp::kFixedHeaderSize + kFrame;
        rtp::write_header({payload_type, false, number_++, time_, 4711}, out.data());
        out.resize(secure_ ? secure_->seal_rtp(out, size) : size);
        return out;
    }

    void say(uint8_t payload_type = 0) { send(packet(payload_type)); }

    void send(ByteSpan bytes) {
        if (!bytes.empty()) {
            (void)media_->send({agreed_.audio.to, {}}, bytes);
        }
    }

    const NetAddress& media_of_server() const { return agreed_.audio.to; }

    sip::CallEvent last;

  private:
    std::string offer(PhoneKeys profile, PhoneSrtp srtp) {
        security_.prepare(options_, srtp, {}, nullptr);
        options_.audio.security.offer_profile = profile;
        if (profile == PhoneKeys::kDtls) {
            const auto& hash = security_.identity()->fingerprint().sha256;
            options_.audio.security.fingerprint =
                sdp::Fingerprint{"sha-256", {hash.begin(), hash.end()}};
        }
        return sdp::write_phone_offer(options_);
    }

    void transmit() {
        if (!secure_) {
            return;
        }
        secure_->handle_timeout(MonoClock::now());
        while (const auto out = secure_->poll_transmit(MonoClock::now(), kAnywhere)) {
            if (!out->rtcp_port) {
                (void)media_->send({agreed_.audio.to, {}}, out->bytes);
            }
        }
    }

    void turn() {
        socket_->receive([&](std::span<uint8_t> bytes, const io::UdpPath&) {
            agent_.on_parsed(MonoClock::now(), sip::parse_datagram(bytes), flow_);
        });
        agent_.handle_timeout(MonoClock::now());
        while (auto out = agent_.poll_transmit()) {
            (void)socket_->send({flow_.remote, {}}, as_bytes(out->bytes));
        }
        while (auto event = agent_.poll_event()) {
            events_.push_back(std::move(*event));
        }
    }

    std::unique_ptr<io::UdpSocket> socket_;
    std::unique_ptr<io::UdpSocket> media_;
    sip::UserAgent agent_;
    sip::Flow flow_;
    sip::CallId id_ = 0;
    std::deque<sip::CallEvent> events_;
    sdp::PhoneOptions options_;
    sdp::PhoneAgreement agreed_;
    SipSecurity security_{system_random()};
    std::unique_ptr<SipSecure> secure_;
    uint32_t time_ = 0;
    uint16_t number_ = 1;
};

class SipSecureCallTest : public World {
  protected:
    SipSecureCallTest() { start(PhoneSrtp::kOptional); }

    ~SipSecureCallTest() override {
        if (speaker_) {
            speaker_.reset();
            registry_.release(*stream_);
        }
        EXPECT_FALSE(server_->stop(io::soon()));
        fanout_.stop(io::soon());
        server_.reset();
    }

    void start(PhoneSrtp srtp) {
        if (server_) {
            EXPECT_FALSE(server_->stop(io::soon()));
        }
        SipServerOptions options;
        options.srtp = srtp;
        options.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
        options.dial.push_back({"100", "live/stage", "talk/desk"});
        server_ = std::make_unique<SipServer>(services_, std::move(options));
        auto socket = udp_socket();
        address_ = socket->local().net_address();
        EXPECT_FALSE(server_->wires().serve(std::move(socket)));
    }

    void publish() {
        if (!speaker_) {
            stream_ = &registry_.get_or_create(
                {std::string(stream::kDefaultVhost), "live", "stage"}, {}, MonoClock::now());
            speaker_ = std::make_unique<Speaker>(*stream_);
        }
    }

    // A call that is answered.
    void talk(SecurePhone& phone, PhoneKeys profile, PhoneSrtp srtp = PhoneSrtp::kOptional) {
        publish();
        phone.call(profile, srtp);
        ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
        phone.agree();
    }

    bool hears(SecurePhone& phone) {
        return io::eventually([&] {
            speaker_->say();
            const Bytes heard = phone.hear();
            return heard.size() == kFrame && heard[0] == 0x55;
        });
    }

    uint64_t frames_said() {
        const stream::Stream* const said =
            registry_.find({std::string(stream::kDefaultVhost), "talk", "desk"});
        return said == nullptr ? 0 : said->audio().frames;
    }

    bool is_heard(SecurePhone& phone) {
        const uint64_t before = frames_said();
        return io::eventually([&] {
            phone.hear();
            phone.say();
            return frames_said() >= before + 3;
        });
    }

    // What was sent has come.
    static void settle() {
        for (int i = 0; i < 50; i++) {
            io::yield();
        }
    }

    SipCallFacts facts() const {
        SipCallFacts out;
        server_->for_each_call([&](const SipParty& call) { out = call.facts(MonoClock::now()); });
        return out;
    }

    const SipSecureCounters& counters() const { return server_->security().counters(); }

    std::unique_ptr<SipServer> server_;
    NetAddress address_;
    stream::Stream* stream_ = nullptr;
    std::unique_ptr<Speaker> speaker_;
};

TEST_F(SipSecureCallTest, BothWaysAreEncrypted) {
    for (const PhoneKeys profile : {PhoneKeys::kSdes, PhoneKeys::kNone, PhoneKeys::kDtls}) {
        start(PhoneSrtp::kRequired);
        SecurePhone phone(address_);
        talk(phone, profile);
        EXPECT_TRUE(hears(phone)) << to_string(profile);
        EXPECT_TRUE(is_heard(phone)) << to_string(profile);
        EXPECT_EQ(facts().encryption, profile == PhoneKeys::kDtls ? "dtls" : "sdes");
        EXPECT_EQ(counters().unauthentic + counters().malformed, 0U);
    }
}

TEST_F(SipSecureCallTest, PlainCallsAreAsTheyWere) {
    SecurePhone phone(address_);
    talk(phone, PhoneKeys::kNone, PhoneSrtp::kOff);
    EXPECT_THAT(phone.last.sdp, Not(HasSubstr("crypto")));
    EXPECT_TRUE(hears(phone));
    EXPECT_TRUE(is_heard(phone));
    EXPECT_EQ(facts().encryption, "none");
}

TEST_F(SipSecureCallTest, TheOperatorDecides) {
    for (const auto& [wanted, profile, offered] :
         {std::tuple(PhoneSrtp::kRequired, PhoneKeys::kNone, PhoneSrtp::kOff),
          std::tuple(PhoneSrtp::kOff, PhoneKeys::kSdes, PhoneSrtp::kOptional),
          std::tuple(PhoneSrtp::kOff, PhoneKeys::kDtls, PhoneSrtp::kOptional)}) {
        start(wanted);
        publish();
        SecurePhone phone(address_);
        phone.call(profile, offered);
        ASSERT_TRUE(phone.waits_for(Kind::kFailed));
        EXPECT_EQ(phone.last.status, 488);
        EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    }
    start(PhoneSrtp::kOff);
    SecurePhone phone(address_);
    talk(phone, PhoneKeys::kNone);  // as best effort
    EXPECT_EQ(facts().encryption, "none");
    EXPECT_TRUE(hears(phone));
}

TEST_F(SipSecureCallTest, KeysWithoutTlsAreWarnedOf) {
    SecurePhone phone(address_);
    talk(phone, PhoneKeys::kSdes);
    EXPECT_THAT(lines(), testing::Contains(HasSubstr("keys of SRTP came without TLS")));
}

TEST_F(SipSecureCallTest, ALaterOfferMayBringNewKeys) {
    SecurePhone phone(address_);
    talk(phone, PhoneKeys::kSdes);
    ASSERT_TRUE(hears(phone) && is_heard(phone));
    const Bytes old = phone.packet();
    for (const PhoneKeys profile : {PhoneKeys::kSdes, PhoneKeys::kDtls, PhoneKeys::kSdes}) {
        phone.call_again(profile);
        ASSERT_TRUE(phone.waits_for(Kind::kOfferAnswered));
        phone.agree();
        EXPECT_TRUE(hears(phone)) << to_string(profile);
        EXPECT_TRUE(is_heard(phone)) << to_string(profile);
    }
    const uint64_t before = counters().unauthentic;
    phone.send(old);
    EXPECT_TRUE(io::eventually([&] { return counters().unauthentic > before; }));
}

TEST_F(SipSecureCallTest, ReplayedAndForgedPacketsAreCountedAndDropped) {
    SecurePhone phone(address_);
    talk(phone, PhoneKeys::kSdes);
    ASSERT_TRUE(is_heard(phone));
    const Bytes packet = phone.packet();
    for (int i = 0; i < 100; i++) {
        phone.send(packet);
    }
    Bytes forged = phone.packet();
    forged[30] ^= 1;
    phone.send(forged);
    EXPECT_TRUE(
        io::eventually([&] { return counters().replayed == 99 && counters().unauthentic == 1; }));
    EXPECT_EQ(facts().unusable, 100U);
    EXPECT_TRUE(is_heard(phone));
}

TEST_F(SipSecureCallTest, FloodsOfStrangersAndGarbageLeaveTheCallAlone) {
    for (const PhoneKeys profile : {PhoneKeys::kSdes, PhoneKeys::kDtls}) {
        start(PhoneSrtp::kOptional);
        SecurePhone phone(address_);
        talk(phone, profile);
        ASSERT_TRUE(hears(phone) && is_heard(phone));
        const auto stranger = udp_socket("127.0.0.2:0");
        for (int i = 0; i < 3'000; i++) {
            Bytes garbage(1 + static_cast<size_t>(i) % 500, static_cast<uint8_t>(i));
            system_random().fill(std::span(garbage).first(std::min<size_t>(garbage.size(), 32)));
            if (i % 3 == 0) {  // STUN, DTLS and RTP by their first byte
                garbage[0] = static_cast<uint8_t>(i % 2 == 0 ? 22 : 0x80);
            }
            (void)stranger->send({phone.media_of_server(), {}}, garbage);
            phone.send(garbage);
            if (i % 100 == 0) {
                io::yield();
            }
        }
        EXPECT_TRUE(
            io::eventually([&] { return facts().strangers > 100 && facts().unusable > 100; }));
        EXPECT_TRUE(hears(phone)) << to_string(profile);
        EXPECT_TRUE(is_heard(phone)) << to_string(profile);
    }
}

TEST_F(SipSecureCallTest, OtherPayloadTypesInTheMiddleAreNoAudio) {
    SecurePhone phone(address_);
    talk(phone, PhoneKeys::kSdes);
    ASSERT_TRUE(is_heard(phone));
    settle();
    const uint64_t frames = frames_said();
    const uint64_t received = facts().packets_received;
    for (const int type : {8, 9, 34, 96, 127}) {
        phone.say(static_cast<uint8_t>(type));
    }
    EXPECT_TRUE(io::eventually([&] { return facts().packets_received >= received + 5; }));
    EXPECT_EQ(frames_said(), frames);
    EXPECT_TRUE(is_heard(phone));
}

TEST_F(SipSecureCallTest, NothingIsHeardOfACallWhoseHandshakeFails) {
    SecurePhone phone(address_);
    publish();
    phone.call(PhoneKeys::kDtls);
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    const auto answer = sdp::read_phone_description(phone.last.sdp);
    ASSERT_TRUE(answer.ok());
    std::string other = phone.last.sdp;  // the phone sees another certificate than it was told of
    char& digit = other[other.find("sha-256 ") + 8];
    digit = digit == '0' ? '1' : '0';
    phone.last.sdp = other;
    phone.agree();
    EXPECT_TRUE(io::eventually([&] {
        speaker_->say();
        EXPECT_TRUE(phone.hear().empty());
        return phone.has(Kind::kEnded);
    }));
    EXPECT_EQ(counters().dtls_failed, 1U);
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
}

}  // namespace
}  // namespace weir::session
