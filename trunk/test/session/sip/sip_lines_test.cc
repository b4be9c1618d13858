// Telephone lines against a domain that is a user agent of its own, over real sockets.
#include "session/sip/sip_lines.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "proto/rtp/header.h"
#include "proto/sdp/phone.h"
#include "session/sip/sip_server.h"

#include "test/session/sip/line_owner.h"
#include "test/session/sip/sip_phone.h"
#include "test/session/world.h"
#include "test/support/media_packets.h"

namespace weir::session {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Kind = sip::CallEvent::Kind;

constexpr size_t kFrame = 160;  // 20 ms of G.711

// The server of a domain, and a telephone behind it.
class Domain {
  public:
    Domain()
        : socket_(SipPhone::udp_socket()),
          media_(SipPhone::udp_socket()),
          agent_({}, system_random()) {}

    std::string name() const { return socket_->local().to_string(); }

    void turn() {
        socket_->receive([&](std::span<uint8_t> bytes, const io::UdpPath& path) {
            agent_.on_parsed(MonoClock::now(), sip::parse_datagram(bytes),
                             {sip::Transport::kUdp, 1, path.peer, socket_->local().net_address()});
        });
        agent_.handle_timeout(MonoClock::now());
        work();
    }

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

    sdp::PhoneOptions options(sdp::Direction direction = sdp::Direction::kSendRecv) const {
        const NetAddress media = media_->local().net_address();
        sdp::PhoneOptions options;
        options.address = media.with_port(0);
        options.version = version_;
        options.audio.codecs = {{media::Codec::kG711U, 8000, 0}};
        options.audio.port = media.port();
        options.audio.direction = direction;
        options.audio.telephone_events = telephone_events;
        return options;
    }

    // The call that has come last.
    void ring() {
        call_ = last.call;
        agent_.ring(MonoClock::now(), call_);
        work();
    }

    void answer() {
        call_ = last.call;
        const auto offer = sdp::read_phone_description(last.sdp);
        ASSERT_TRUE(offer.ok());
        take_media(*offer);
        const auto agreed = sdp::answer_phone(*offer, options());
        ASSERT_TRUE(agreed.ok());
        agent_.accept(MonoClock::now(), call_, agreed->answer);
        work();
    }

    void reject(int status) {
        agent_.reject(MonoClock::now(), last.call, status);
        work();
    }

    void hang_up() {
        agent_.hang_up(MonoClock::now(), call_);
        work();
    }

    void hold(sdp::Direction direction) {
        version_++;
        agent_.offer(MonoClock::now(), call_, sdp::write_phone_offer(options(direction)));
        work();
    }

    // The answer to the other party's offer, which is in `last`.
    void answer_offer() {
        const auto offer = sdp::read_phone_description(last.sdp);
        ASSERT_TRUE(offer.ok());
        sdp::PhoneOptions now = options();
        now.version = ++version_;
        const auto agreed = sdp::answer_phone(*offer, now);
        ASSERT_TRUE(agreed.ok());
        agent_.answer_offer(MonoClock::now(), call_, agreed->answer);
        work();
    }

    // Calls whoever has registered.
    void call(bool offers = true) {
        sip::CallTarget target;
        target.flow = registered_flow;
        target.flow.local = socket_->local().net_address();
        target.uri = contact;
        target.from = "sip:bob@" + name();
        target.sdp = offers ? sdp::write_phone_offer(options()) : std::string();
        call_ = agent_.call(MonoClock::now(), target);
        work();
    }

    void take_answer() {
        const auto answer = sdp::read_phone_description(last.sdp);
        ASSERT_TRUE(answer.ok());
        take_media(*answer);
    }

    void say(uint16_t sequence) {
        Bytes bytes(rtp::kFixedHeaderSize + kFrame, 0x7F);
        rtp::write_header({0, false, sequence, sequence * uint32_t{kFrame}, 4711}, bytes.data());
        (void)media_->send({to_, {}}, bytes);
    }

    // A byte of the payload that it heard last; 0: nothing.
    uint8_t hears() {
        uint8_t heard = 0;
        media_->receive([&](std::span<uint8_t> bytes, const io::UdpPath&) {
            heard = bytes.size() > rtp::kFixedHeaderSize ? bytes.back() : heard;
        });
        return heard;
    }

    sip::CallEvent last;
    std::string contact;
    sip::Flow registered_flow;
    int registered = 0;    // REGISTERs with a login
    int unregistered = 0;  // the same with Expires 0
    int refuse = 0;        // a status for these
    bool telephone_events = true;

  private:
    void take_media(const sdp::PhoneDescription& description) {
        const sdp::PhoneMedia* const audio = description.find(media::TrackKind::kAudio);
        ASSERT_NE(audio, nullptr);
        to_ = audio->to;
    }

    void work() {
        for (bool more = true; more;) {
            more = false;
            while (auto event = agent_.poll_event()) {
                more = true;
                if (event->kind == Kind::kRequest) {
                    on_register(*event);
                } else {
                    events_.push_back(std::move(*event));
                }
            }
            while (auto out = agent_.poll_transmit()) {
                more = true;
                (void)socket_->send({out->flow.remote, {}}, as_bytes(out->bytes));
            }
        }
    }

    void on_register(const sip::CallEvent& event) {
        const MonoTime now = MonoClock::now();
        if (event.request.header("Authorization").empty()) {
            http::Fields headers;
            headers.add("WWW-Authenticate",
                        R"(Digest realm="test", nonce="1234", algorithm=MD5, qop="auth")");
            agent_.respond(now, event.transaction, 401, headers);
            return;
        }
        if (refuse != 0) {
            agent_.respond(now, event.transaction, refuse);
            return;
        }
        const std::string field(event.request.header("Contact"));
        const bool ends = field.find("expires=0") != std::string::npos;
        (ends ? unregistered : registered)++;
        contact = sip::NameAddr::parse(field)->uri;
        registered_flow = event.flow;
        http::Fields headers;
        if (!ends) {
            headers.add("Contact", field);
        }
        agent_.respond(now, event.transaction, 200, headers);
    }

    std::unique_ptr<io::UdpSocket> socket_;
    std::unique_ptr<io::UdpSocket> media_;
    sip::UserAgent agent_;
    std::deque<sip::CallEvent> events_;
    NetAddress to_;
    sip::CallId call_ = 0;
    uint64_t version_ = 1;
};

class SipLinesTest : public World {
  protected:
    SipLinesTest() {
        SipServerOptions options;
        options.line_domains = {domain_.name()};
        server_ = std::make_unique<SipServer>(services_, std::move(options));
        EXPECT_FALSE(server_->wires().serve(SipPhone::udp_socket()));
    }

    ~SipLinesTest() override {
        const Error failed = server_->stop(io::soon());
        EXPECT_FALSE(failed) << failed.to_string();
        fanout_.stop(io::soon());
        server_.reset();
    }

    net::PhoneLineRequest request(const std::string& password = "secret") const {
        net::PhoneLineRequest request;
        request.user = "alice";
        request.domain = domain_.name();
        request.password = password;
        request.local = {std::string(stream::kDefaultVhost), "sip/alice", "local"};
        request.remote = {std::string(stream::kDefaultVhost), "sip/alice", "remote"};
        request.peer = *NetAddress::parse_ip("127.0.0.1", 1);
        return request;
    }

    bool open(LineOwner& owner, const std::string& password = "secret") {
        auto made = server_->lines().open(request(password), owner);
        if (!made.ok()) {
            owner.told.push_back("refused " + std::string(made.error().message()));
            return false;
        }
        owner.line = std::move(*made);
        return hears(owner, "ready");
    }

    // What an owner is told, while the domain lives.
    bool hears(LineOwner& owner, const std::string& what) {
        return io::eventually([&] {
            domain_.turn();
            return std::ranges::find(owner.told, what) != owner.told.end();
        });
    }

    bool calls(LineOwner& owner, const std::vector<std::string>& codecs = {"pcmu"}) {
        EXPECT_FALSE(owner.line->invite("bob", codecs));
        return domain_.waits_for(Kind::kInvited);
    }

    bool talks(LineOwner& owner) {
        const bool invited = calls(owner);
        domain_.answer();
        return invited && hears(owner, "accepted pcmu/");
    }

    Domain domain_;
    std::unique_ptr<SipServer> server_;
};

TEST_F(SipLinesTest, ALineRegistersAndEndsThatWithItsOwner) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    EXPECT_EQ(domain_.registered, 1);
    owner.line.reset();
    EXPECT_TRUE(io::eventually([&] {
        domain_.turn();
        return domain_.unregistered == 1 && server_->lines().size() == 0;
    }));
}

TEST_F(SipLinesTest, AWrongPasswordIsTold) {
    domain_.refuse = 403;
    LineOwner owner;
    auto made = server_->lines().open(request(), owner);
    ASSERT_TRUE(made.ok());
    owner.line = std::move(*made);
    EXPECT_TRUE(hears(owner, "failed 403 Forbidden"));
    EXPECT_TRUE(owner.line->hang_up()) << "there is no line any more";
}

TEST_F(SipLinesTest, WithoutAPasswordItDoesNotRegister) {
    LineOwner owner;
    ASSERT_TRUE(open(owner, ""));
    EXPECT_EQ(domain_.registered, 0);
    EXPECT_TRUE(talks(owner));
}

TEST_F(SipLinesTest, OnlyAllowedDomainsHaveLinesAndAreCalled) {
    LineOwner owner;
    net::PhoneLineRequest other = request();
    other.domain = "example.net";
    EXPECT_EQ(server_->lines().open(other, owner).error().code(), ErrorCode::kDenied);
    ASSERT_TRUE(open(owner));
    EXPECT_EQ(owner.line->invite("sip:bob@example.net", {}).code(), ErrorCode::kDenied);
    EXPECT_EQ(owner.line->invite("", {}).code(), ErrorCode::kMalformed);
    EXPECT_EQ(owner.line->invite("mailto:bob@example.net", {}).code(), ErrorCode::kMalformed);
}

TEST_F(SipLinesTest, OneAddressDoesNotTakeAllLines) {
    LineOwner owner;
    std::vector<std::unique_ptr<net::PhoneLine>> held;
    const auto open_from = [&](std::string_view ip) {
        net::PhoneLineRequest wanted = request("");
        wanted.user = fmt::format("u{}", held.size());
        wanted.peer = *NetAddress::parse_ip(ip, 1);
        auto made = server_->lines().open(wanted, owner);
        if (made.ok()) {
            held.push_back(std::move(*made));
        }
        return made.ok() ? ErrorCode::kOk : made.error().code();
    };
    for (size_t i = 0; i < SipLines::kMaxLines / 2; i++) {
        ASSERT_EQ(open_from("203.0.113.9"), ErrorCode::kOk) << i;
    }
    EXPECT_EQ(open_from("203.0.113.9"), ErrorCode::kFull);
    EXPECT_EQ(open_from("203.0.113.8"), ErrorCode::kOk);
}

TEST_F(SipLinesTest, ACallRingsIsAnsweredAndHasSoundBothWays) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    ASSERT_TRUE(calls(owner, {"pcmu", "dtmf"}));
    EXPECT_THAT(domain_.last.sdp, HasSubstr("telephone-event"));
    EXPECT_THAT(domain_.last.request.uri, HasSubstr("sip:bob@"));
    const sip::CallEvent invited = domain_.last;
    domain_.ring();
    ASSERT_TRUE(hears(owner, "ringing 180 Ringing"));
    domain_.last = invited;
    domain_.answer();
    ASSERT_TRUE(hears(owner, "accepted pcmu/"));
    const stream::Stream* const said = registry_.find(request().remote);
    ASSERT_NE(said, nullptr);
    uint16_t sequence = 0;
    EXPECT_TRUE(io::eventually([&] {
        domain_.say(sequence++);
        return said->audio().frames >= 3;
    }));

    class Speaker final : public stream::Publisher {
      public:
        std::string describe() const override { return "the owner"; }

        std::string_view client_id() const override { return "o"; }

        void on_taken_over() override {}
    } speaker;

    stream::Stream& local = registry_.get_or_create(request().local, {}, MonoClock::now());
    ASSERT_FALSE(local.start_publish(speaker, stream::PublishConflict::kRefuse, MonoClock::now()));
    uint32_t time_ms = 0;
    EXPECT_TRUE(io::eventually([&] {
        Bytes body(1 + kFrame, 0x55);
        body[0] = 0x82;
        time_ms += 20;
        local.publish(speaker, test::packet(media::TrackKind::kAudio, time_ms, std::move(body)),
                      MonoClock::now());
        return domain_.hears() == 0x55;
    }));
    local.end_publish(speaker, MonoClock::now());
    domain_.hang_up();
    EXPECT_TRUE(hears(owner, "ended"));
    EXPECT_TRUE(io::eventually([&] { return clients_.size() == 0; }));
    EXPECT_TRUE(talks(owner)) << "the line has the next call";
}

TEST_F(SipLinesTest, TheOfferHasTheNamedCodecsInTheirOrder) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    ASSERT_TRUE(calls(owner, {"alaw", "unheard-of", "narrowband", "pcmu", "pcma"}));
    EXPECT_THAT(domain_.last.sdp, HasSubstr(" 8 98 0 "));
    EXPECT_THAT(domain_.last.sdp, Not(HasSubstr("m=video")));
    EXPECT_FALSE(owner.line->hang_up());
    EXPECT_TRUE(domain_.waits_for(Kind::kCancelled));
}

TEST_F(SipLinesTest, ACallWithoutAnOfferGetsOurs) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    domain_.call(false);
    ASSERT_TRUE(hears(owner, "invited by sip:bob@" + domain_.name()));
    EXPECT_FALSE(owner.line->accept(std::vector<std::string>{"pcmu"}));
    ASSERT_TRUE(domain_.waits_for(Kind::kAnswered));
    EXPECT_THAT(domain_.last.sdp, HasSubstr("m=audio"));
    EXPECT_FALSE(owner.line->hang_up()) << "whose answer never comes";
    EXPECT_TRUE(domain_.waits_for(Kind::kEnded));
    EXPECT_TRUE(io::eventually([&] { return clients_.size() == 0; }));
}

TEST_F(SipLinesTest, ARefusedCallIsToldWithItsStatus) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    ASSERT_TRUE(calls(owner));
    domain_.reject(486);
    EXPECT_TRUE(hears(owner, "rejected 486 Busy Here"));
    EXPECT_TRUE(io::eventually([&] { return clients_.size() == 0; }));
    const std::vector<std::string> unknown{"smoke", "h264"};
    EXPECT_EQ(owner.line->invite("bob", unknown).code(), ErrorCode::kUnsupported);
}

TEST_F(SipLinesTest, ByeCancelsACallThatRings) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    ASSERT_TRUE(calls(owner));
    domain_.ring();
    ASSERT_TRUE(hears(owner, "ringing 180 Ringing"));
    EXPECT_FALSE(owner.line->hang_up());
    EXPECT_TRUE(domain_.waits_for(Kind::kCancelled));
    EXPECT_TRUE(io::eventually([&] { return clients_.size() == 0; }));
}

TEST_F(SipLinesTest, HoldAndResumeAreOffered) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    ASSERT_TRUE(talks(owner));
    EXPECT_FALSE(owner.line->hold(true));
    ASSERT_TRUE(domain_.waits_for(Kind::kOffer));
    EXPECT_THAT(domain_.last.sdp, HasSubstr("a=inactive")) << "the other party hears nothing";
    domain_.answer_offer();
    EXPECT_TRUE(io::eventually([&] {  // our offer is over only with the ACK
        domain_.turn();
        return !owner.line->hold(false);
    }));
    ASSERT_TRUE(domain_.waits_for(Kind::kOffer));
    EXPECT_THAT(domain_.last.sdp, HasSubstr("a=sendrecv"));
}

TEST_F(SipLinesTest, BeingHeldIsTold) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    ASSERT_TRUE(talks(owner));
    domain_.hold(sdp::Direction::kSendOnly);
    ASSERT_TRUE(hears(owner, "held"));
    domain_.hold(sdp::Direction::kSendRecv);
    EXPECT_TRUE(hears(owner, "resumed"));
}

TEST_F(SipLinesTest, DigitsReachThePhone) {
    domain_.telephone_events = false;
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    ASSERT_TRUE(talks(owner));
    EXPECT_FALSE(owner.line->send_digits("5"));
    ASSERT_TRUE(domain_.waits_for(Kind::kInfo));
    EXPECT_THAT(domain_.last.body, HasSubstr("Signal=5"));
    EXPECT_EQ(owner.line->send_digits("x").code(), ErrorCode::kMalformed);
}

TEST_F(SipLinesTest, ACallThatComesIsAcceptedAndEndedByTheOwner) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    domain_.call();
    ASSERT_TRUE(hears(owner, "invited by sip:bob@" + domain_.name()));
    EXPECT_FALSE(owner.line->accept({}));
    ASSERT_TRUE(domain_.waits_for(Kind::kAnswered));
    domain_.take_answer();
    ASSERT_TRUE(hears(owner, "accepted pcmu/"));
    EXPECT_FALSE(owner.line->hang_up());
    EXPECT_TRUE(domain_.waits_for(Kind::kEnded));
}

TEST_F(SipLinesTest, ACallThatComesIsRejectedOrCancelled) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    domain_.call();
    ASSERT_TRUE(hears(owner, "invited by sip:bob@" + domain_.name()));
    EXPECT_FALSE(owner.line->reject(480));
    ASSERT_TRUE(domain_.waits_for(Kind::kFailed));
    EXPECT_EQ(domain_.last.status, 480);
    owner.told.clear();
    domain_.call();
    ASSERT_TRUE(hears(owner, "invited by sip:bob@" + domain_.name()));
    domain_.hang_up();
    EXPECT_TRUE(hears(owner, "cancelled by sip:bob@" + domain_.name()));
}

TEST_F(SipLinesTest, ALineHasOneCall) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    ASSERT_TRUE(talks(owner));
    EXPECT_EQ(owner.line->invite("carol", {}).code(), ErrorCode::kBusy);
    domain_.call();
    ASSERT_TRUE(domain_.waits_for(Kind::kFailed));
    EXPECT_EQ(domain_.last.status, 486);
}

TEST_F(SipLinesTest, NobodyIsReachedByTheNameOfALine) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    domain_.contact = "sip:alice@" + domain_.registered_flow.remote.to_string();
    domain_.call();
    ASSERT_TRUE(domain_.waits_for(Kind::kFailed)) << "only its own contact is the line";
    EXPECT_EQ(owner.told.size(), 1U);
}

TEST_F(SipLinesTest, ASecondOwnerTakesTheLineWhenItHasShownWhoItIs) {
    LineOwner first;
    ASSERT_TRUE(open(first));
    LineOwner guest;
    EXPECT_FALSE(open(guest, "")) << "without a password";
    LineOwner second;
    ASSERT_TRUE(open(second));
    EXPECT_TRUE(hears(first, "failed another connection has taken the line"));
    EXPECT_TRUE(talks(second));
}

TEST_F(SipLinesTest, ALineThatEndsInACallHangsUp) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    ASSERT_TRUE(talks(owner));
    owner.line.reset();
    EXPECT_TRUE(domain_.waits_for(Kind::kEnded));
    EXPECT_TRUE(io::eventually([&] {
        domain_.turn();
        return server_->lines().size() == 0 && clients_.size() == 0;
    }));
}

TEST_F(SipLinesTest, TheNamesOfALineAreKept) {
    LineOwner owner;
    ASSERT_TRUE(open(owner));
    EXPECT_TRUE(server_->lines().keeps(request().local));
    EXPECT_TRUE(server_->lines().keeps(request().remote));
    owner.line.reset();
    EXPECT_FALSE(server_->lines().keeps(request().local));
}

}  // namespace
}  // namespace weir::session
