// Which hosts get media, and when a phone that says nothing has gone.
#include "session/sip/sip_hosts.h"

#include <string>

#include <gtest/gtest.h>

#include "session/sip/sip_silence.h"

namespace weir::session {
namespace {

const NetAddress kPhone = *NetAddress::parse("192.0.2.1:5060");
const NetAddress kPhoneMedia = *NetAddress::parse("192.0.2.1:40000");
const NetAddress kElsewhere = *NetAddress::parse("198.51.100.9:40000");

TEST(SipHostsTest, NothingGoesAnywhereBeforeThePhoneIsKnown) {
    SipHosts hosts;
    hosts.name(kPhoneMedia, 300);
    EXPECT_FALSE(hosts.is_open(kPhoneMedia));
    EXPECT_FALSE(hosts.take(kPhoneMedia, 1));
    hosts.note_received(kPhoneMedia, 100, true);
    EXPECT_FALSE(hosts.is_open(kPhoneMedia));
    EXPECT_TRUE(hosts.take(kPhoneMedia, 300)) << "three times what came";
    EXPECT_FALSE(hosts.take(kPhoneMedia, 1));
}

TEST(SipHostsTest, TheHostOfTheMessagesIsOpenOnceItIsKnown) {
    SipHosts hosts;
    hosts.name(kPhoneMedia, 300);
    hosts.trust(kPhone);
    EXPECT_TRUE(hosts.is_open(kPhoneMedia));
    EXPECT_TRUE(hosts.take(kPhoneMedia, 1'000'000));
}

TEST(SipHostsTest, AnotherHostGetsThreeTimesTheDescriptionUntilItIsHeard) {
    SipHosts hosts;
    hosts.name(kElsewhere, 300);
    hosts.trust(kPhone);
    EXPECT_FALSE(hosts.is_open(kElsewhere));
    EXPECT_TRUE(hosts.take(kElsewhere, 900));
    EXPECT_FALSE(hosts.take(kElsewhere, 1));
    hosts.note_received(kElsewhere, 0, false);
    EXPECT_FALSE(hosts.is_open(kElsewhere)) << "a packet that no key opened";
    hosts.note_received(kElsewhere.with_port(40001), 12, true);
    EXPECT_TRUE(hosts.is_open(kElsewhere));
}

TEST(SipHostsTest, AnotherHostHasToBeHeardAgainWhenItIsDoubted) {
    SipHosts hosts;
    hosts.trust(kPhone);
    hosts.note_received(kElsewhere, 10, true);
    hosts.doubt();
    EXPECT_FALSE(hosts.is_open(kElsewhere));
    EXPECT_TRUE(hosts.is_open(kPhoneMedia));
    hosts.note_received(kElsewhere, 10, true);
    EXPECT_TRUE(hosts.is_open(kElsewhere));
}

TEST(SipHostsTest, ADescriptionThatComesLaterCountsOnce) {
    SipHosts hosts;
    hosts.trust(kPhone);
    hosts.name(kElsewhere, 100);
    hosts.name(kElsewhere, 0);
    EXPECT_TRUE(hosts.take(kElsewhere, 300));
    EXPECT_FALSE(hosts.take(kElsewhere, 1));
}

TEST(SipHostsTest, AHostThatNobodyNamedGetsNothing) {
    SipHosts hosts;
    hosts.trust(kPhone);
    EXPECT_FALSE(hosts.take(kElsewhere, 1));
    EXPECT_FALSE(hosts.take(NetAddress(), 1));
}

TEST(SipHostsTest, OfManyHostsTheFirstAreForgotten) {
    SipHosts hosts;
    hosts.trust(kPhone);
    hosts.note_received(kElsewhere, 1, true);
    for (size_t i = 0; i < SipHosts::kMaxHosts; i++) {
        hosts.name(*NetAddress::parse("203.0.113." + std::to_string(i + 1) + ":1"), 1);
    }
    EXPECT_FALSE(hosts.is_open(kElsewhere));
}

TEST(SipSilenceTest, APhoneThatHasToSendIsGoneAfterTheTime) {
    using Due = SipSilence::Due;
    SipSilence silence;
    const MonoTime heard{Seconds(100)};
    EXPECT_EQ(silence.look(heard + Seconds(60), heard, Seconds(60), false), Due::kNothing);
    EXPECT_EQ(silence.look(heard + Seconds(61), heard, Seconds(60), false), Due::kGone);
}

TEST(SipSilenceTest, OneThatOnlyListensIsAskedFirst) {
    using Due = SipSilence::Due;
    SipSilence silence;
    const MonoTime heard{Seconds(100)};
    EXPECT_EQ(silence.look(heard + Seconds(29), heard, Seconds(60), true), Due::kNothing);
    EXPECT_EQ(silence.look(heard + Seconds(30), heard, Seconds(60), true), Due::kAsk);
    EXPECT_EQ(silence.look(heard + Seconds(31), heard, Seconds(60), true), Due::kNothing);
    EXPECT_EQ(silence.look(heard + Seconds(45), heard, Seconds(60), true), Due::kAsk);
    EXPECT_EQ(silence.look(heard + Seconds(61), heard, Seconds(60), true), Due::kGone);
}

}  // namespace
}  // namespace weir::session
