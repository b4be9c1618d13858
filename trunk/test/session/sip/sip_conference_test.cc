// Conferences over real sockets: who hears whom, judged by the tones that each one says.
#include "session/sip/sip_conference.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/deadline.h"
#include "media/g711.h"
#include "media/tone.h"

#include "test/session/sip/sip_world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using Kind = sip::CallEvent::Kind;
using Samples = std::vector<int16_t>;

// A phone that says a tone in G.711 and keeps what it hears.
class Talker {
  public:
    Talker(const NetAddress& server, double hertz) : phone(server), tone_(hertz, 8000, 4000) {}

    bool call(const std::string& uri) {
        phone.call(uri);
        const bool answered = phone.waits_for(Kind::kAnswered);
        to_ = phone.media_of_server();
        return answered;
    }

    // 20 ms; the phone has to be asked at this pace.
    void tick() {
        Samples samples(kPhoneFrame);
        tone_.fill(samples);
        Bytes packet = Phone::packet(sequence_++);
        media::g711::encode(media::g711::Law::kMu, samples,
                            std::span(packet).subspan(rtp::kFixedHeaderSize));
        if (speaks) {
            phone.send(to_, packet);
        }
        for (Bytes bytes = phone.hear(); !bytes.empty(); bytes = phone.hear()) {
            const auto heard = rtp::PacketView::parse(bytes);
            if (heard && heard->payload().size() == kPhoneFrame) {
                const size_t before = heard_.size();
                heard_.resize(before + kPhoneFrame);
                media::g711::decode(media::g711::Law::kMu, heard->payload(),
                                    std::span(heard_).subspan(before));
            }
        }
        phone.has(Kind::kEnded);
    }

    // In the last half second.
    double share_of(double hertz) const {
        return heard_.size() < 4000 ? -1
                                    : media::tone_share(std::span(heard_).last(4000), hertz, 8000);
    }

    double loudness() const {
        return heard_.size() < 4000 ? -1 : media::rms(std::span(heard_).last(4000));
    }

    Phone phone;
    bool speaks = true;

  private:
    media::ToneGenerator tone_;
    NetAddress to_;
    uint16_t sequence_ = 0;
    Samples heard_;
};

// Plays a stream as the pumps do, and keeps it.
class Listener final : public stream::PacketSink {
  public:
    void on_packet(const media::PacketRef& packet, const stream::Configs*) override {
        const size_t before = heard.size();
        heard.resize(before + packet->payload().size());
        media::g711::decode(media::g711::Law::kMu, packet->payload(),
                            std::span(heard).subspan(before));
        skips += frames > 0 && packet->time_ms() != last_ms + 20 ? 1 : 0;
        last_ms = packet->time_ms();
        frames++;
    }

    void on_start_lost(stream::StartLost) override {}

    Samples heard;
    int64_t last_ms = 0;
    int frames = 0;
    int skips = 0;
};

class SipConferenceTest : public SipWorld {
  protected:
    SipConferenceTest() {
        SipServerOptions options;
        options.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
        options.conferences.push_back({"300", "talk/round"});
        start(std::move(options));
    }

    Talker& call(double hertz) {
        Talker& made = *talkers_.emplace_back(std::make_unique<Talker>(address_, hertz));
        EXPECT_TRUE(made.call(number("300")));
        return made;
    }

    // So long without a moment in which this process stood still: that breaks what is heard.
    void talk(Millis time) {
        const io::Deadline enough = io::soon();
        MonoTime at = MonoClock::now();
        for (MonoTime end = at + time; at < end && !enough.passed();) {
            for (const auto& each : talkers_) {
                each->tick();
            }
            at += Millis(20);
            EXPECT_FALSE(io::sleep_until(io::Deadline::at(at)));
            if (MonoClock::now() - at > Millis(60)) {
                disturbed_ = true;
                at = MonoClock::now();
                end = at + time;
            }
        }
    }

    stream::Stream* round() {
        return registry_.find({std::string(stream::kDefaultVhost), "talk", "round"});
    }

    std::vector<std::unique_ptr<Talker>> talkers_;
    bool disturbed_ = false;
};

TEST_F(SipConferenceTest, EachHearsTheOthersAndAllAreAStream) {
    call(400);
    call(700);
    call(1100);
    ASSERT_NE(round(), nullptr);
    Listener listener;
    round()->attach(listener);
    talk(Millis(1500));
    const std::array<double, 3> tones{400, 700, 1100};
    for (size_t who = 0; who < tones.size(); who++) {
        for (size_t of = 0; of < tones.size(); of++) {
            EXPECT_NEAR(talkers_[who]->share_of(tones[of]), who == of ? 0 : 0.5, 0.15)
                << who << " " << of;
        }
    }
    round()->detach(listener);
    EXPECT_GT(listener.frames, 50);
    EXPECT_TRUE(listener.skips == 0 || disturbed_);
    for (const double hertz : tones) {
        EXPECT_NEAR(media::tone_share(std::span(listener.heard).last(4000), hertz, 8000), 0.33,
                    0.1);
    }
    EXPECT_EQ(calls().at(0).conference, "300");
    EXPECT_TRUE(calls().at(0).voice.has_value());
    EXPECT_EQ(server_->conferences().parties(), 3U);
}

TEST_F(SipConferenceTest, APartyOnHoldIsNotHeard) {
    call(400);
    Talker& holds = call(700);
    talk(Millis(600));
    EXPECT_GT(talkers_[0]->share_of(700), 0.9);
    holds.phone.offer(sdp::Direction::kSendOnly);
    talk(Millis(1200));
    EXPECT_LT(talkers_[0]->loudness(), 50);
    holds.phone.offer(sdp::Direction::kSendRecv);
    talk(Millis(1000));
    EXPECT_GT(talkers_[0]->share_of(700), 0.9);
}

TEST_F(SipConferenceTest, ItEndsWithItsLastCaller) {
    call(400);
    Talker& second = call(700);
    talkers_[0]->phone.hang_up();
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 1; }));
    ASSERT_NE(round(), nullptr);
    EXPECT_TRUE(round()->live());
    second.phone.hang_up();
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    EXPECT_EQ(round(), nullptr);
    EXPECT_EQ(server_->conferences().size(), 0U);
    EXPECT_EQ(clients_.size(), 0U);
}

TEST_F(SipConferenceTest, WhoMayNotPublishDoesNotBeginOne) {
    SipServerOptions options;
    options.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
    options.conferences.push_back({"300", "closed/round"});
    start(std::move(options));
    Phone phone(address_);
    phone.call(number("300"));
    ASSERT_TRUE(phone.waits_for(Kind::kFailed));
    EXPECT_EQ(phone.last.status, 403);
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    EXPECT_EQ(server_->conferences().size(), 0U);
    EXPECT_EQ(clients_.size(), 0U);
}

TEST_F(SipConferenceTest, AKickOfItsStreamEndsAllCalls) {
    Talker& first = call(400);
    Talker& second = call(700);
    const std::string id(round()->publisher()->client_id());
    clients_.find(id)->kick();
    EXPECT_TRUE(first.phone.waits_for(Kind::kEnded));
    EXPECT_TRUE(second.phone.waits_for(Kind::kEnded));
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    EXPECT_EQ(round(), nullptr);
}

TEST_F(SipConferenceTest, AnotherPublisherMayTakeItsStream) {
    Talker& first = call(400);
    stream_ = round();
    speaker_ = std::make_unique<Speaker>(*stream_, stream::PublishConflict::kTakeover);
    EXPECT_TRUE(first.phone.waits_for(Kind::kEnded));
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    EXPECT_EQ(server_->conferences().size(), 0U);
    EXPECT_TRUE(stream_->live());
}

TEST_F(SipConferenceTest, TheFiftyFirstCallerIsRefused) {
    std::vector<std::unique_ptr<Phone>> phones;
    for (size_t i = 0; i < SipConference::kMaxParties; i++) {
        phones.push_back(std::make_unique<Phone>(address_));
        phones.back()->call(number("300"));
        ASSERT_TRUE(phones.back()->waits_for(Kind::kAnswered)) << i;
    }
    Phone one_more(address_);
    one_more.call(number("300"));
    ASSERT_TRUE(one_more.waits_for(Kind::kFailed));
    EXPECT_EQ(one_more.last.status, 503);
    EXPECT_EQ(server_->conferences().parties(), SipConference::kMaxParties);
}

TEST_F(SipConferenceTest, ACallThatIsGivenUpLeavesNothing) {
    Phone phone(address_);
    phone.codecs = {{media::Codec::kG722, 8000, 9}};  // no worker here: nothing in common
    phone.call(number("300"));
    ASSERT_TRUE(phone.waits_for(Kind::kFailed));
    EXPECT_EQ(phone.last.status, 488);
    EXPECT_TRUE(io::eventually([&] { return server_->calls() == 0; }));
    EXPECT_EQ(server_->conferences().size(), 0U);
    EXPECT_EQ(registry_.size(), 0U);
}

TEST_F(SipConferenceTest, VideoIsRefusedAndAudioIsNot) {
    Talker& first = call(400);
    EXPECT_THAT(first.phone.last.sdp, HasSubstr("m=audio"));
    EXPECT_EQ(calls().at(0).video, "");
}

}  // namespace
}  // namespace weir::session
