// Two ends that have agreed by their descriptions; nothing between them but what a test passes on.
#include "session/sip/sip_secure.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/object_count.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/header.h"

#include "test/proto/ice/support.h"

namespace weir::session {
namespace {

using sdp::PhoneKeys;
using Kind = SipSecure::Taken::Kind;

constexpr MonoTime kStart{Seconds(1000)};
constexpr size_t kPayload = 160;
constexpr auto kAnywhere = [](bool, const NetAddress&, size_t) { return true; };

// One side of a call.
struct End {
    explicit End(uint64_t seed, const char* at)
        : random(seed), security(random), address(*NetAddress::parse(at)) {
        options.address = address.with_port(0);
        options.audio.codecs = {{media::Codec::kG711U, 8000, 0}};
        options.audio.port = address.port();
    }

    void agree(MonoTime now, sdp::PhoneAgreement made) {
        agreed = std::move(made);
        if (!secure) {
            secure = std::make_unique<SipSecure>(security, random);
        }
        const Error failed = secure->agree(now, agreed.audio);
        EXPECT_FALSE(failed) << failed.to_string();
    }

    ice::test::SeededRandom random;
    SipSecurity security;
    NetAddress address;
    sdp::PhoneOptions options;
    sdp::PhoneAgreement agreed;
    std::unique_ptr<SipSecure> secure;
};

class SipSecureTest : public testing::Test {
  protected:
    // The phone offers with this profile; `change`: what of its text is another.
    void call(
        PhoneKeys profile, const std::function<void(std::string&)>& change = [](std::string&) {}) {
        phone_.security.prepare(phone_.options, sdp::PhoneSrtp::kOptional, {}, nullptr);
        phone_.options.audio.security.offer_profile = profile;
        if (profile == PhoneKeys::kDtls) {
            const auto& hash = phone_.security.identity()->fingerprint().sha256;
            phone_.options.audio.security.fingerprint =
                sdp::Fingerprint{"sha-256", {hash.begin(), hash.end()}};
        }
        exchange(change);
    }

    void exchange(const std::function<void(std::string&)>& change = [](std::string&) {}) {
        std::string text = sdp::write_phone_offer(phone_.options);
        change(text);
        const auto offer = sdp::read_phone_description(text);
        ASSERT_TRUE(offer.ok());
        weir_.security.prepare(weir_.options, sdp::PhoneSrtp::kOptional, weir_.agreed, &*offer);
        auto answered = sdp::answer_phone(*offer, weir_.options);
        ASSERT_TRUE(answered.ok()) << answered.error().to_string() << text;
        const auto answer = sdp::read_phone_description(answered->answer);
        ASSERT_TRUE(answer.ok());
        auto accepted = sdp::accept_phone(*answer, phone_.options);
        ASSERT_TRUE(accepted.ok()) << accepted.error().to_string();
        weir_.agree(now_, std::move(*answered));
        phone_.agree(now_, std::move(*accepted));
    }

    // What both have to say to each other, until they are silent.
    void talk() {
        for (bool more = true; more;) {
            more = pass(weir_, phone_);
            more = pass(phone_, weir_) || more;
        }
    }

    bool pass(End& from, End& to) {
        bool any = false;
        while (auto out = from.secure->poll_transmit(now_, kAnywhere)) {
            any = true;
            Bytes copy(out->bytes.begin(), out->bytes.end());
            to.secure->take(now_, out->rtcp_port, copy, from.address, true);
        }
        return any;
    }

    void wait(Millis time) {
        for (const MonoTime until = now_ + time; now_ < until; now_ += Millis(20)) {
            weir_.secure->handle_timeout(now_);
            phone_.secure->handle_timeout(now_);
            talk();
        }
    }

    // The packets that `from` makes of a run.
    static std::vector<Bytes> sealed(End& from, uint16_t packets = 1) {
        std::vector<Bytes> made;
        for (uint16_t i = 0; i < packets; i++) {
            Bytes packet(rtp::kFixedHeaderSize + kPayload + srtp::kMaxOverhead, 0x55);
            rtp::write_header({0, false, 99, 160, 0xABCD}, packet.data());
            packet.resize(from.secure->seal_rtp(packet, rtp::kFixedHeaderSize + kPayload));
            made.push_back(std::move(packet));
        }
        return made;
    }

    Kind take(End& at, Bytes packet, bool rtcp_port = false) {
        const End& from = &at == &weir_ ? phone_ : weir_;
        const auto taken = at.secure->take(now_, rtcp_port, packet, from.address, true);
        plain_.assign(taken.bytes.begin(), taken.bytes.end());
        return taken.kind;
    }

    bool both_ways() {
        const bool there = take(phone_, sealed(weir_).at(0)) == Kind::kRtp;
        const bool payload =
            plain_.size() == rtp::kFixedHeaderSize + kPayload && plain_[50] == 0x55;
        return take(weir_, sealed(phone_).at(0)) == Kind::kRtp && there && payload;
    }

    bool rtcp_both_ways() {
        bool all = true;
        for (const auto& [from, to] : {std::pair(&weir_, &phone_), std::pair(&phone_, &weir_)}) {
            Bytes room(200);
            rtcp::CompoundWriter writer(room);
            all = writer.receiver_report(7, {}) && all;
            const size_t plain = writer.written().size();
            room.resize(from->secure->rtcp_ready() ? from->secure->seal_rtcp(room, plain) : 0);
            const bool mux = from->agreed.audio.rtcp_mux;
            all = !room.empty() && take(*to, room, !mux) == Kind::kRtcp && plain_.size() == plain &&
                  all;
        }
        return all;
    }

    SipSecureCounters& counters() { return weir_.security.counters(); }

    MonoTime now_ = kStart;
    End weir_{1, "192.0.2.1:20000"};
    End phone_{2, "192.0.2.7:4000"};
    Bytes plain_;
};

// ---- keys of the description ----

TEST_F(SipSecureTest, MediaIsSealedWithKeysOfTheDescription) {
    call(PhoneKeys::kSdes);
    EXPECT_TRUE(weir_.secure->ready() && weir_.secure->encrypts());
    const Bytes packet = sealed(weir_).at(0);
    EXPECT_EQ(packet.size(), rtp::kFixedHeaderSize + kPayload + 10);
    EXPECT_NE(packet[50], 0x55);
    EXPECT_TRUE(both_ways());
    EXPECT_TRUE(rtcp_both_ways());
    EXPECT_EQ(counters().sdes, 1U);
}

TEST_F(SipSecureTest, EverySuiteWorks) {
    for (const char* suite : {"AES_CM_128_HMAC_SHA1_32", "AEAD_AES_128_GCM"}) {
        weir_.agreed = {};
        call(PhoneKeys::kSdes, [&](std::string& text) {
            for (size_t at; (at = text.find("a=crypto:")) != std::string::npos;) {
                const size_t end = text.find('\n', at) + 1;
                if (text.substr(at, end - at).find(suite) != std::string::npos) {
                    text = text.substr(0, at) + "a=CRYPTO:" + text.substr(at + 9);
                } else {
                    text.erase(at, end - at);
                }
            }
            text.replace(text.find("CRYPTO"), 6, "crypto");
        });
        EXPECT_EQ(weir_.agreed.audio.secured.local_key->suite, suite);
        EXPECT_TRUE(both_ways()) << suite;
        EXPECT_TRUE(rtcp_both_ways()) << suite;
    }
}

TEST_F(SipSecureTest, NumbersHaveNoHoleAndGoOnBehindTheWrap) {
    call(PhoneKeys::kSdes);
    uint16_t last = 0;
    for (int i = 0; i < 1'500; i++) {  // 72,000 packets: at least one wrap
        for (const Bytes& packet : sealed(weir_, 48)) {
            const auto view = rtp::PacketView::parse(packet);
            ASSERT_TRUE(view);
            EXPECT_TRUE(last == 0 || view->sequence() == static_cast<uint16_t>(last + 1));
            last = view->sequence();
            ASSERT_EQ(take(phone_, packet), Kind::kRtp) << i;
        }
    }
}

TEST_F(SipSecureTest, WhatIsForgedOrComesAgainIsDropped) {
    call(PhoneKeys::kSdes);
    Bytes packet = sealed(phone_).at(0);
    Bytes forged = packet;
    forged[20] ^= 1;
    EXPECT_EQ(take(weir_, forged), Kind::kNothing);
    EXPECT_EQ(take(weir_, packet), Kind::kRtp);
    EXPECT_EQ(take(weir_, packet), Kind::kNothing);
    EXPECT_EQ(take(weir_, packet, true), Kind::kNothing);
    EXPECT_GE(counters().unauthentic, 1U);
    EXPECT_GE(counters().replayed, 1U);
    EXPECT_EQ(counters().unauthentic + counters().replayed + counters().malformed, 3U);
}

TEST_F(SipSecureTest, PlainPacketsAreDropped) {
    call(PhoneKeys::kSdes);
    Bytes plain(rtp::kFixedHeaderSize + kPayload, 0x7F);
    rtp::write_header({0, false, 1, 160, 4711}, plain.data());
    for (const size_t size : {plain.size(), size_t{13}, size_t{12}, size_t{1}, size_t{0}}) {
        EXPECT_EQ(take(weir_, Bytes(plain.begin(), plain.begin() + static_cast<ptrdiff_t>(size))),
                  Kind::kNothing);
    }
    EXPECT_GE(counters().unauthentic + counters().malformed, 3U);
}

TEST_F(SipSecureTest, StrangersAreTakenNothingOf) {
    call(PhoneKeys::kSdes);
    Bytes packet = sealed(phone_).at(0);
    const auto taken =
        weir_.secure->take(now_, false, packet, *NetAddress::parse("203.0.113.9:4000"), false);
    EXPECT_EQ(taken.kind, Kind::kStranger);
    EXPECT_EQ(take(weir_, packet), Kind::kRtp) << "it is as it was";
}

TEST_F(SipSecureTest, TheSameKeysGoOnInALaterOffer) {
    call(PhoneKeys::kSdes);
    EXPECT_TRUE(both_ways());
    const Bytes before = sealed(phone_).at(0);
    EXPECT_EQ(take(weir_, before), Kind::kRtp);
    const auto own = weir_.agreed.audio.secured.local_key;
    exchange();
    EXPECT_EQ(weir_.agreed.audio.secured.local_key, own);
    EXPECT_EQ(take(weir_, before), Kind::kNothing) << "the replay window stays";
    EXPECT_TRUE(both_ways());
    EXPECT_EQ(counters().sdes, 1U);
}

TEST_F(SipSecureTest, NewKeysOfThePhoneBringNewOnesOfOurs) {
    call(PhoneKeys::kSdes);
    EXPECT_TRUE(both_ways());
    const auto own = weir_.agreed.audio.secured.local_key;
    const Bytes old = sealed(phone_).at(0);
    call(PhoneKeys::kSdes);
    EXPECT_NE(weir_.agreed.audio.secured.local_key->key_and_salt, own->key_and_salt);
    EXPECT_TRUE(both_ways());
    EXPECT_TRUE(rtcp_both_ways());
    EXPECT_EQ(take(weir_, old), Kind::kNothing);
}

TEST_F(SipSecureTest, AnOfferOfOursInACallSaysWhatHolds) {
    for (const PhoneKeys keys : {PhoneKeys::kSdes, PhoneKeys::kDtls}) {
        weir_.agreed = {};
        call(keys);
        talk();
        ASSERT_TRUE(both_ways());
        weir_.security.prepare(weir_.options, sdp::PhoneSrtp::kOptional, weir_.agreed, nullptr);
        const auto offer = sdp::read_phone_description(sdp::write_phone_offer(weir_.options));
        ASSERT_TRUE(offer.ok());
        phone_.security.prepare(phone_.options, sdp::PhoneSrtp::kOptional, phone_.agreed, &*offer);
        auto answered = sdp::answer_phone(*offer, phone_.options);
        ASSERT_TRUE(answered.ok());
        const auto answer = sdp::read_phone_description(answered->answer);
        auto accepted = sdp::accept_phone(*answer, weir_.options);
        ASSERT_TRUE(accepted.ok());
        const sdp::PhoneSecured before = weir_.agreed.audio.secured;
        weir_.agree(now_, std::move(*accepted));
        phone_.agree(now_, std::move(*answered));
        EXPECT_EQ(weir_.agreed.audio.secured.keys, keys);
        EXPECT_EQ(weir_.agreed.audio.secured.dtls_client, before.dtls_client);
        EXPECT_TRUE(both_ways());
        weir_.secure.reset();
        phone_.secure.reset();
    }
}

// ---- DTLS ----

TEST_F(SipSecureTest, DtlsMakesTheKeysInEitherRole) {
    for (const char* setup : {"actpass", "active", "passive"}) {
        SCOPED_TRACE(setup);
        weir_.secure.reset();
        phone_.secure.reset();
        weir_.agreed = {};
        call(PhoneKeys::kDtls,
             [&](std::string& text) { text.replace(text.find("actpass"), 7, setup); });
        const bool client = std::string_view(setup) == "passive";
        EXPECT_EQ(weir_.agreed.audio.secured.dtls_client, client);
        EXPECT_FALSE(weir_.secure->ready());
        talk();
        ASSERT_TRUE(weir_.secure->ready() && phone_.secure->ready());
        EXPECT_TRUE(both_ways());
        EXPECT_TRUE(rtcp_both_ways()) << "a handshake of its own";
    }
    EXPECT_EQ(counters().dtls, 6U);
}

TEST_F(SipSecureTest, RtcpMayShareTheHandshake) {
    call(PhoneKeys::kDtls, [](std::string& text) { text += "a=rtcp-mux\r\n"; });
    talk();
    EXPECT_TRUE(both_ways());
    EXPECT_TRUE(rtcp_both_ways());
    EXPECT_EQ(counters().dtls, 1U);
}

TEST_F(SipSecureTest, MediaBeforeTheKeysIsCounted) {
    call(PhoneKeys::kDtls);
    Bytes packet(rtp::kFixedHeaderSize + kPayload, 0x7F);
    rtp::write_header({0, false, 1, 160, 4711}, packet.data());
    EXPECT_EQ(take(weir_, packet), Kind::kNothing);
    EXPECT_EQ(counters().early, 1U);
}

TEST_F(SipSecureTest, AnotherCertificateIsRefused) {
    call(PhoneKeys::kDtls, [](std::string& text) {
        char& digit = text[text.find("sha-256 ") + 8];
        digit = digit == '0' ? '1' : '0';
    });
    wait(Millis(500));
    EXPECT_FALSE(weir_.secure->ready());
    EXPECT_TRUE(weir_.secure->take_failure());
    EXPECT_GE(counters().dtls_failed, 1U);
}

TEST_F(SipSecureTest, AHandshakeHasItsTime) {
    call(PhoneKeys::kDtls);
    EXPECT_FALSE(phone_.secure->agree(now_, {}));  // it says nothing
    while (phone_.secure->poll_transmit(now_, kAnywhere)) {
    }
    weir_.secure->handle_timeout(now_ + SipSecure::kKeyTimeout - Millis(1));
    EXPECT_FALSE(weir_.secure->take_failure());
    weir_.secure->handle_timeout(now_ + SipSecure::kKeyTimeout);
    const Error failed = weir_.secure->take_failure();
    EXPECT_EQ(failed.code(), ErrorCode::kTimeout) << failed.to_string();
    EXPECT_FALSE(weir_.secure->take_failure()) << "once";
}

TEST_F(SipSecureTest, ALaterOfferKeepsTheHandshakeAndAnotherCertificateBeginsOne) {
    call(PhoneKeys::kDtls);
    talk();
    ASSERT_TRUE(both_ways());
    exchange();
    EXPECT_TRUE(weir_.secure->ready());
    EXPECT_TRUE(both_ways());
    End other(3, "192.0.2.7:4000");  // the call goes to another device of the phone's
    const auto& hash = other.security.identity()->fingerprint().sha256;
    exchange([&](std::string& text) {
        const size_t at = text.find("a=fingerprint:");
        const sdp::Fingerprint its{"sha-256", {hash.begin(), hash.end()}};
        text.replace(at, text.find("\r\n", at) - at, "a=fingerprint:" + write_fingerprint(its));
    });
    EXPECT_FALSE(weir_.secure->ready());
}

TEST_F(SipSecureTest, GarbageInPlaceOfAHandshakeIsBounded) {
    call(PhoneKeys::kDtls);
    ice::test::SeededRandom noise(7);
    for (int i = 0; i < 2'000; i++) {
        Bytes garbage(1 + noise.next() % 600);
        noise.fill(garbage);
        garbage[0] = static_cast<uint8_t>(noise.next() % 256);
        weir_.secure->take(now_, noise.chance(50), garbage, phone_.address, true);
        size_t said = 0;
        while (const auto out = weir_.secure->poll_transmit(now_, kAnywhere)) {
            said += out->bytes.size();
        }
        EXPECT_LE(said, 3'000U);
        now_ += Millis(1);
        weir_.secure->handle_timeout(now_);
    }
    EXPECT_FALSE(weir_.secure->ready());
    EXPECT_GT(counters().ignored + counters().early, 100U);
}

// ---- ICE ----

class SipIceTest : public SipSecureTest {
  protected:
    static constexpr const char* kLines =
        "a=ice-ufrag:peer\r\na=ice-pwd:the-password-of-the-peer\r\n"
        "a=candidate:1 1 UDP 2130706431 192.0.2.7 4000 typ host\r\n";

    void call_with_ice(PhoneKeys keys, const char* more = "a=rtcp-mux\r\n") {
        call(keys, [&](std::string& text) {
            for (size_t at;
                 keys == PhoneKeys::kNone && (at = text.find("a=crypto:")) != std::string::npos;) {
                text.erase(at, text.find('\n', at) + 1 - at);
            }
            text += std::string(kLines) + more;
        });
        const sdp::PhoneSecured& agreed = weir_.agreed.audio.secured;
        ASSERT_TRUE(agreed.has_ice());
        check_.username = agreed.local_ice_ufrag + ":peer";
        check_.password = agreed.local_ice_pwd;
    }

    // A check of the phone from there, and answers to ours.
    void check(const NetAddress& from, bool nominates = true, bool rtcp_port = false) {
        ice::test::Check one = check_;
        one.use_candidate = nominates;
        Bytes bytes = one.bytes();
        weir_.secure->take(now_, rtcp_port, bytes, from, false);
        for (int i = 0; i < 10; i++) {
            while (auto out = weir_.secure->poll_transmit(now_, kAnywhere)) {
                Bytes said(out->bytes.begin(), out->bytes.end());
                if (out->to != from) {
                    continue;
                }
                Bytes answer =
                    ice::test::answer_to(said, ice::test::peer_credentials(), {weir_.address, 0});
                if (!answer.empty()) {
                    weir_.secure->take(now_, rtcp_port, answer, from, false);
                } else if (!stun::looks_like_stun(said)) {
                    phone_.secure->take(now_, out->rtcp_port, said, weir_.address, true);
                }
            }
            now_ += Millis(20);
            weir_.secure->handle_timeout(now_);
        }
    }

    ice::test::Check check_;
    const NetAddress mapped_ = *NetAddress::parse("203.0.113.50:6000");
};

TEST_F(SipIceTest, MediaGoesWhereThePhoneNominated) {
    call_with_ice(PhoneKeys::kSdes);
    EXPECT_FALSE(weir_.secure->ready());
    check(mapped_);
    EXPECT_TRUE(weir_.secure->ready());
    EXPECT_EQ(weir_.secure->path(false), mapped_);
    EXPECT_EQ(weir_.secure->path(true), mapped_);
    Bytes packet = sealed(phone_).at(0);
    EXPECT_EQ(weir_.secure->take(now_, false, packet, mapped_, false).kind, Kind::kRtp)
        << "though no description named it";
    EXPECT_EQ(counters().ice, 1U);
}

TEST_F(SipIceTest, PlainCallsMayHaveIt) {
    call_with_ice(PhoneKeys::kNone);
    EXPECT_FALSE(weir_.secure->encrypts());
    check(mapped_);
    EXPECT_EQ(weir_.secure->path(false), mapped_);
}

TEST_F(SipIceTest, RtcpHasAPathOfItsOwn) {
    call_with_ice(PhoneKeys::kSdes, "");
    check(mapped_);
    EXPECT_TRUE(weir_.secure->ready());
    EXPECT_FALSE(weir_.secure->rtcp_ready());
    const NetAddress rtcp = mapped_.with_port(6001);
    check(rtcp, true, true);
    EXPECT_TRUE(weir_.secure->rtcp_ready());
    EXPECT_EQ(weir_.secure->path(true), rtcp);
}

TEST_F(SipIceTest, ThePhoneMoves) {
    call_with_ice(PhoneKeys::kSdes);
    check(mapped_);
    now_ += Seconds(10);
    const NetAddress other = *NetAddress::parse("198.51.100.4:7000");
    check(other);
    EXPECT_EQ(weir_.secure->path(false), other);
}

TEST_F(SipIceTest, WhoDoesNotKnowThePasswordChangesNothing) {
    call_with_ice(PhoneKeys::kSdes);
    check_.password[0] ^= 1;
    for (int i = 0; i < 20; i++) {
        check(mapped_);
    }
    EXPECT_FALSE(weir_.secure->ready());
    EXPECT_GE(counters().ignored, 20U);
    Bytes packet = sealed(phone_).at(0);
    EXPECT_EQ(weir_.secure->take(now_, false, packet, mapped_, false).kind, Kind::kStranger);
}

TEST_F(SipIceTest, APhoneThatDoesNoChecksIsAsOneWithoutIce) {
    call_with_ice(PhoneKeys::kSdes);
    now_ += SipSecure::kIceTimeout;
    weir_.secure->handle_timeout(now_);
    EXPECT_TRUE(weir_.secure->ready());
    EXPECT_TRUE(weir_.secure->path(false).empty());
    EXPECT_TRUE(both_ways());
    EXPECT_EQ(counters().ice_failed, 1U);
}

TEST_F(SipIceTest, NoChecksForHoursEndNothing) {
    call_with_ice(PhoneKeys::kSdes);
    check(mapped_);
    now_ += Seconds(3 * 3600);
    weir_.secure->handle_timeout(now_);
    EXPECT_EQ(weir_.secure->path(false), mapped_);
}

TEST_F(SipIceTest, DtlsGoesAlongThePath) {
    call_with_ice(PhoneKeys::kDtls);
    // The phone's hello; it comes before the nomination, and from no known path: it is lost.
    const auto hello = [&] {
        Bytes said;
        if (const auto out = phone_.secure->poll_transmit(now_, kAnywhere)) {
            said.assign(out->bytes.begin(), out->bytes.end());
        }
        return said;
    };
    Bytes first = hello();
    ASSERT_FALSE(first.empty());
    EXPECT_EQ(weir_.secure->take(now_, false, first, mapped_, false).kind, Kind::kStranger);
    check(mapped_);
    EXPECT_FALSE(weir_.secure->ready());
    for (int i = 0; i < 100 && !weir_.secure->ready(); i++) {
        now_ += Millis(50);
        phone_.secure->handle_timeout(now_);
        for (Bytes said = hello(); !said.empty(); said = hello()) {
            weir_.secure->take(now_, false, said, mapped_, false);
            while (auto out = weir_.secure->poll_transmit(now_, kAnywhere)) {
                Bytes back(out->bytes.begin(), out->bytes.end());
                EXPECT_EQ(out->to, mapped_);
                phone_.secure->take(now_, out->rtcp_port, back, weir_.address, true);
            }
        }
    }
    EXPECT_TRUE(weir_.secure->ready());
}

TEST_F(SipIceTest, ARestartHasNewNamesAndKeepsTheKeys) {
    call_with_ice(PhoneKeys::kSdes);
    check(mapped_);
    const std::string before = weir_.agreed.audio.secured.local_ice_ufrag;
    exchange([&](std::string& text) { text += std::string(kLines) + "a=rtcp-mux\r\n"; });
    EXPECT_EQ(weir_.agreed.audio.secured.local_ice_ufrag, before);
    EXPECT_EQ(weir_.secure->path(false), mapped_);
    exchange([&](std::string& text) {
        std::string lines = kLines;
        lines.replace(lines.find(":peer"), 5, ":pear");
        text += lines + "a=rtcp-mux\r\n";
    });
    EXPECT_NE(weir_.agreed.audio.secured.local_ice_ufrag, before);
    EXPECT_EQ(weir_.secure->path(false), mapped_) << "until the new one is found";
    EXPECT_EQ(counters().sdes, 1U);
}

}  // namespace
}  // namespace weir::session
