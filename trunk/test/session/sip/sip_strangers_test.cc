// What callers get that have proven nothing, over real sockets: their messages are written by hand.
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/path_budget.h"

#include "test/session/sip/sip_world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Kind = sip::CallEvent::Kind;

constexpr std::string_view kElsewhere = "127.0.0.2";

// A host that sends what it likes: signalling from 127.0.0.1, media wherever the test says.
class Stranger {
  public:
    explicit Stranger(const NetAddress& server, const char* media = "127.0.0.1:0")
        : server_(server), socket_(udp_socket()), media_(udp_socket(media)) {}

    std::string sdp(std::string_view direction) const {
        const NetAddress at = media_->local().net_address();
        return fmt::format(
            "v=0\r\no=- 1 1 IN IP4 {0}\r\ns=-\r\nc=IN IP4 {0}\r\nt=0 0\r\n"
            "m=audio {1} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na={2}\r\n",
            at.ip_text(), at.port(), direction);
    }

    void request(std::string_view method, std::string_view body = "", int number = 1) {
        const NetAddress own = socket_->local().net_address();
        const std::string text = fmt::format(
            "{0} sip:100@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP {1};rport;branch=z9hG4bK{2}{0}\r\n"
            "Max-Forwards: 70\r\nFrom: <sip:pbx@127.0.0.1>;tag=1\r\nTo: <sip:100@127.0.0.1>{3}\r\n"
            "Call-ID: call-{2}\r\nCSeq: 1 {4}\r\nContact: <sip:pbx@{1}>\r\n{5}"
            "Content-Length: {6}\r\n\r\n{7}",
            method, own.to_string(), number, tag_, method,
            body.empty() ? "" : "Content-Type: application/sdp\r\n", body.size(), body);
        in += text.size();
        (void)socket_->send({server_, {}}, as_bytes(text));
    }

    // The next answer with a final status; empty: none came soon.
    std::string answer() {
        std::string got;
        io::eventually([&] {
            listen([&](std::string_view text) {
                const bool final = text.starts_with("SIP/2.0 ") && text[8] != '1';
                got = final && got.empty() ? std::string(text) : got;
            });
            return !got.empty();
        });
        const size_t tag = got.find(";tag=", got.find("To: "));
        tag_ = tag == std::string::npos ? "" : got.substr(tag, got.find("\r\n", tag) - tag);
        const auto answer = sdp::read_phone_description(
            got.find("\r\n\r\n") == std::string::npos ? got : got.substr(got.find("\r\n\r\n") + 4));
        const sdp::PhoneMedia* const audio =
            answer.ok() ? answer->find(media::TrackKind::kAudio) : nullptr;
        to_media_ = audio == nullptr ? NetAddress() : audio->to;
        return got;
    }

    // What lies in the socket of SIP.
    template <typename Each>
    void listen(Each&& each) {
        socket_->receive([&](std::span<uint8_t> bytes, const io::UdpPath&) {
            out += bytes.size();
            each(as_text(bytes));
        });
    }

    // Bytes of media that have come since.
    size_t heard() {
        size_t bytes = 0;
        media_->receive([&](std::span<uint8_t> each, const io::UdpPath&) { bytes += each.size(); });
        return bytes;
    }

    // One packet from where its media is to go.
    void say() { (void)media_->send({to_media_, {}}, Phone::packet(1)); }

    void forget_tag() { tag_.clear(); }

    size_t in = 0;   // bytes of SIP that the server got
    size_t out = 0;  // and that it sent

  private:
    NetAddress server_;
    std::unique_ptr<io::UdpSocket> socket_;
    std::unique_ptr<io::UdpSocket> media_;
    std::string tag_;
    NetAddress to_media_;
};

class SipStrangersTest : public SipWorld {
  protected:
    void start_for_users() {
        SipServerOptions options;
        options.users.push_back({"alice", "geheim"});
        options.dial.push_back({"100", "live/stage", ""});
        start(std::move(options));
    }

    void start_with(Millis rtp_timeout, size_t max_unproven = 256) {
        SipServerOptions options;
        options.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
        options.dial.push_back({"100", "live/stage", ""});
        options.rtp_timeout = rtp_timeout;
        options.max_unproven_per_address = max_unproven;
        start(std::move(options));
    }

    const sip::Transactions& transactions() const { return server_->agent().transactions(); }

    // Bytes of media in the time in which the stream brings a second of it.
    size_t heard_in_a_second(Stranger& stranger) {
        size_t bytes = 0;
        for (int i = 0; i < 50; i++) {
            speaker_->say();
            EXPECT_FALSE(io::sleep_for(Millis(20)));
            bytes += stranger.heard();
        }
        return bytes;
    }
};

TEST_F(SipStrangersTest, ARefusalIsSentOnceAndNothingIsKept) {
    start_for_users();
    for (const std::string_view method : {"INVITE", "REGISTER", "OPTIONS", "MESSAGE", "FOO"}) {
        SCOPED_TRACE(method);
        Stranger stranger(address_);
        stranger.request(method);
        EXPECT_THAT(stranger.answer(), StartsWith("SIP/2.0 "));
        EXPECT_LE(stranger.out, kUnprovenFactor * stranger.in);
        EXPECT_EQ(transactions().size(), 0U);
        EXPECT_FALSE(server_->agent().next_timeout()) << "there is nothing to send again";
        EXPECT_TRUE(calls().empty());
    }
}

TEST_F(SipStrangersTest, AUserIsServedWhileStrangersCall) {
    start_for_users();
    publish();
    Stranger stranger(address_);
    for (int i = 0; i < 500; i++) {
        stranger.request("INVITE", stranger.sdp("sendrecv"), i);
        if (i % 20 == 0) {
            EXPECT_THAT(stranger.answer(), StartsWith("SIP/2.0 401"));
            stranger.forget_tag();
        }
    }
    Phone phone(address_);
    phone.call(number("100"), "alice", "geheim");
    EXPECT_TRUE(phone.waits_for(Kind::kAnswered));
    EXPECT_LE(transactions().size(), 2U) << "of the phone only";
}

TEST_F(SipStrangersTest, NoMediaGoesToACallerThatDoesNotAcknowledge) {
    publish();
    Stranger stranger(address_);
    stranger.request("INVITE", stranger.sdp("recvonly"));
    EXPECT_THAT(stranger.answer(), StartsWith("SIP/2.0 200"));
    EXPECT_EQ(heard_in_a_second(stranger), 0U);
    stranger.listen([](std::string_view) {});
    EXPECT_LE(stranger.out, kUnprovenFactor * stranger.in);
    stranger.request("ACK");
    EXPECT_TRUE(io::eventually([&] {
        speaker_->say();
        return stranger.heard() > 0;
    })) << "once it has";
}

TEST_F(SipStrangersTest, MediaToAnotherHostWaitsUntilItIsHeardFromThere) {
    publish();
    Stranger stranger(address_, "127.0.0.2:0");
    const std::string offer = stranger.sdp("sendrecv");
    ASSERT_THAT(offer, HasSubstr(kElsewhere));
    stranger.request("INVITE", offer);
    EXPECT_THAT(stranger.answer(), StartsWith("SIP/2.0 200"));
    stranger.request("ACK");
    EXPECT_LE(heard_in_a_second(stranger), kUnprovenFactor * offer.size());
    EXPECT_EQ(calls().size(), 1U);
    stranger.say();
    EXPECT_TRUE(io::eventually([&] {
        speaker_->say();
        return stranger.heard() >= kPhoneFrame;
    }));
}

TEST_F(SipStrangersTest, AListenerOfWhichNothingComesIsGone) {
    start_with(Millis(400));
    publish();
    for (const char* const media : {"127.0.0.1:0", "127.0.0.2:0"}) {
        SCOPED_TRACE(media);
        Stranger stranger(address_, media);
        stranger.request("INVITE", stranger.sdp("recvonly"));
        EXPECT_THAT(stranger.answer(), StartsWith("SIP/2.0 200"));
        stranger.request("ACK");
        EXPECT_TRUE(io::eventually([&] {
            speaker_->say();
            return calls().empty();
        }));
    }
}

TEST_F(SipStrangersTest, AListenerThatAnswersSipStays) {
    constexpr Millis kTimeout{1000};
    start_with(kTimeout);
    publish();
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    phone.offer(sdp::Direction::kRecvOnly);
    ASSERT_TRUE(phone.waits_for(Kind::kOfferAnswered));
    const MonoTime end = MonoClock::now() + 3 * kTimeout;
    while (MonoClock::now() < end) {
        ASSERT_FALSE(phone.has(Kind::kEnded));  // lets it answer
        EXPECT_FALSE(io::sleep_for(Millis(5)));
    }
    EXPECT_EQ(calls().size(), 1U);
    phone.offer(sdp::Direction::kSendRecv);  // has the whole time for its first packet
    ASSERT_TRUE(phone.waits_for(Kind::kOfferAnswered));
    EXPECT_FALSE(io::sleep_for(kTimeout / 4));
    EXPECT_EQ(calls().size(), 1U);
}

TEST_F(SipStrangersTest, CallsOfOneAddressWithoutAckHaveAShare) {
    start_with(Millis(60'000), 2);
    publish();
    Stranger first(address_);
    Stranger second(address_);
    Stranger third(address_);
    first.request("INVITE", first.sdp("sendrecv"), 1);
    EXPECT_THAT(first.answer(), StartsWith("SIP/2.0 200"));
    second.request("INVITE", second.sdp("sendrecv"), 2);
    EXPECT_THAT(second.answer(), StartsWith("SIP/2.0 200"));
    third.request("INVITE", third.sdp("sendrecv"), 3);
    EXPECT_THAT(third.answer(), StartsWith("SIP/2.0 503"));
    third.forget_tag();
    first.request("ACK", "", 1);
    EXPECT_TRUE(io::eventually([&] { return transactions().strangers() == 1; }));
    third.request("INVITE", third.sdp("sendrecv"), 4);
    EXPECT_THAT(third.answer(), StartsWith("SIP/2.0 200"));
}

}  // namespace
}  // namespace weir::session
