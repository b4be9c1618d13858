// Keys of telephones, both ways, over real sockets.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/rtp/telephone_event.h"
#include "session/sip/sip_call.h"
#include "session/sip/sip_digits.h"

#include "test/session/sip/sip_world.h"

namespace weir::session {
namespace {

using Kind = sip::CallEvent::Kind;

constexpr uint8_t kEvents = 101;

class SipDtmfTest : public SipWorld {
  protected:
    void call(Phone& phone) {
        publish();
        phone.call(number("100"));
        ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    }

    SipParty* first_call() { return server_->find(calls().at(0).id); }
};

TEST_F(SipDtmfTest, DigitsComeByInfo) {
    Phone phone(address_);
    call(phone);
    phone.info("application/dtmf-relay", "Signal=5\r\nDuration=160\r\n");
    phone.info("application/dtmf", "#");
    phone.info("text/plain", "6");
    EXPECT_TRUE(io::eventually([&] {
        phone.has(Kind::kEnded);
        return calls().at(0).digits == 2;
    }));
    EXPECT_EQ(calls().at(0).last_digits, "5#");
    EXPECT_EQ(server_->counters().digits, 2U);
}

TEST_F(SipDtmfTest, AFloodOfInfoIsCut) {
    Phone phone(address_);
    call(phone);
    for (int i = 0; i < 200; i++) {
        phone.info("application/dtmf", "1");
        io::yield();
    }
    EXPECT_TRUE(io::eventually([&] {
        phone.has(Kind::kEnded);
        return calls().at(0).digits >= SipDigits::kMaxAtOnce;
    }));
    EXPECT_LT(calls().at(0).digits, 150U);
    EXPECT_LE(calls().at(0).last_digits.size(), SipCall::kMaxDigits);
}

TEST_F(SipDtmfTest, DigitsGoAsTelephoneEvents) {
    Phone phone(address_);
    call(phone);
    ASSERT_TRUE(io::eventually([&] {
        speaker_->say();
        return !phone.hear().empty();
    }));
    const Result<bool> sent = first_call()->send_digits("4*", Millis(100));
    ASSERT_TRUE(sent.ok());
    EXPECT_TRUE(*sent);
    rtp::TelephoneEventReceiver heard(8000);
    std::string digits;
    EXPECT_TRUE(io::eventually([&] {
        speaker_->say();
        const Bytes bytes = phone.hear();
        const auto packet = rtp::PacketView::parse(bytes);
        if (packet && packet->payload_type() == kEvents) {
            heard.handle_packet(MonoClock::now(), packet->timestamp(), packet->payload());
        }
        while (const auto event = heard.poll_event()) {
            digits += event->digit;
        }
        return digits.size() >= 2;
    }));
    EXPECT_EQ(digits, "4*");
    EXPECT_EQ(calls().at(0).digits_sent, 2U);
}

TEST_F(SipDtmfTest, DigitsGoByInfoWhereThePhoneTakesNoEvents) {
    Phone phone(address_);
    phone.telephone_events = false;
    call(phone);
    const Result<bool> sent = first_call()->send_digits("4*", Millis(100));
    ASSERT_TRUE(sent.ok());
    EXPECT_FALSE(*sent);
    ASSERT_TRUE(phone.waits_for(Kind::kInfo));
    EXPECT_EQ(phone.last.type, "application/dtmf-relay");
    EXPECT_EQ(phone.last.body, "Signal=4\r\nDuration=100\r\n");
    ASSERT_TRUE(phone.waits_for(Kind::kInfo));
    EXPECT_EQ(phone.last.body, "Signal=*\r\nDuration=100\r\n");
}

TEST_F(SipDtmfTest, OtherCharactersAndTooManyAreRefused) {
    Phone phone(address_);
    call(phone);
    SipParty* const answered = first_call();
    for (const std::string& wrong : {std::string(), std::string("12 3"), std::string("x")}) {
        EXPECT_EQ(answered->send_digits(wrong, Millis(100)).error().code(), ErrorCode::kMalformed);
    }
    EXPECT_EQ(answered->send_digits(std::string(65, '1'), Millis(100)).error().code(),
              ErrorCode::kFull);
    EXPECT_EQ(calls().at(0).digits_sent, 0U);
}

TEST_F(SipDtmfTest, ACallThatRingsTakesNoDigits) {
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kProgress));
    EXPECT_EQ(first_call()->send_digits("1", Millis(100)).error().code(), ErrorCode::kUnsupported);
}

// RFC 5168: the same as PLI and FIR.
TEST_F(SipDtmfTest, AnInfoAsksForAKeyFrame) {
    Phone phone(address_);
    call(phone);
    const int before = speaker_->key_frames_wanted;
    phone.info("application/media_control+xml",
               "<media_control><vc_primitive><to_encoder><picture_fast_update/></to_encoder>"
               "</vc_primitive></media_control>");
    EXPECT_TRUE(io::eventually([&] {
        phone.has(Kind::kEnded);
        return speaker_->key_frames_wanted > before;
    }));
}

}  // namespace
}  // namespace weir::session
