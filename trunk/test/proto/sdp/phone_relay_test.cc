#include "proto/sdp/phone_relay.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/sdp/phone.h"

namespace weir::sdp {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHead =
    "v=0\r\no=a 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\nt=0 0\r\n";
constexpr std::string_view kAudio =
    "m=audio 4000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n";
constexpr std::string_view kVideo = "m=video 4002 RTP/AVP 99\r\na=rtpmap:99 H264/90000\r\n";

std::string relayed(const std::string& text, RelayPorts ports = {20'000, 20'002}) {
    const auto done = relay_phone_description(text, *NetAddress::parse_ip("192.0.2.1", 0), ports);
    EXPECT_TRUE(done.ok());
    return done.ok() ? *done : std::string();
}

std::string with(std::string_view more) {
    return std::string(kHead) + std::string(more);
}

TEST(PhoneRelayTest, AddressesAndPortsAreTheRelays) {
    EXPECT_EQ(relayed(with(kAudio)),
              "v=0\r\no=a 1 1 IN IP4 10.0.0.1\r\ns=-\r\nt=0 0\r\n"
              "m=audio 20000 RTP/AVP 0 101\r\nc=IN IP4 192.0.2.1\r\n"
              "a=rtpmap:101 telephone-event/8000\r\n");
}

TEST(PhoneRelayTest, BothKindsHaveTheirPorts) {
    const auto read =
        read_phone_description(relayed(with(std::string(kVideo) + std::string(kAudio))));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->find(media::TrackKind::kAudio)->to.to_string(), "192.0.2.1:20000");
    EXPECT_EQ(read->find(media::TrackKind::kVideo)->to.to_string(), "192.0.2.1:20002");
}

TEST(PhoneRelayTest, AKindWithoutAPortIsRejected) {
    const auto read = read_phone_description(
        relayed(with(std::string(kAudio) + std::string(kVideo)), {20'000, 0}));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->find(media::TrackKind::kVideo), nullptr);
    EXPECT_EQ(read->media.size(), 2U);
}

TEST(PhoneRelayTest, OfTwoAudioSectionsTheFirstGoesOn) {
    const auto read =
        read_phone_description(relayed(with(std::string(kAudio) + "m=audio 4010 RTP/AVP 8\r\n")));
    ASSERT_TRUE(read.ok());
    EXPECT_FALSE(read->media.at(0).rejected);
    EXPECT_TRUE(read->media.at(1).rejected);
}

TEST(PhoneRelayTest, IceIsTakenOutAndKeysStay) {
    const std::string text = relayed(
        with(std::string(kAudio) +
             "a=ice-ufrag:abcd\r\na=candidate:1 1 UDP 1 10.0.0.1 4000 typ host\r\na=rtcp:4001\r\n"
             "a=rtcp-mux\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:abc\r\na=sendonly\r\n"));
    for (const char* gone : {"ice-ufrag", "candidate", "a=rtcp:4001"}) {
        EXPECT_THAT(text, Not(HasSubstr(gone)));
    }
    for (const char* there : {"a=rtcp-mux", "a=crypto:1", "a=sendonly"}) {
        EXPECT_THAT(text, HasSubstr(there));
    }
}

TEST(PhoneRelayTest, HoldInTheOldWayStaysThat) {
    const std::string text =
        relayed("v=0\r\no=a 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\n" +
                std::string(kAudio));
    EXPECT_THAT(text, HasSubstr("c=IN IP4 0.0.0.0"));
}

TEST(PhoneRelayTest, LinesMayEndInLineFeedsOnly) {
    std::string text = with(kAudio);
    std::erase(text, '\r');
    EXPECT_EQ(relayed(text), relayed(with(kAudio)));
}

TEST(PhoneRelayTest, NoAddressHidesBehindACarriageReturn) {
    const std::string text = relayed(with(std::string(kAudio) + "s=-\r\rc=IN IP4 10.0.0.9\r\n"));
    EXPECT_THAT(text, Not(HasSubstr("10.0.0.9")));
    EXPECT_THAT(text, HasSubstr("s=-\r\n"));
}

TEST(PhoneRelayTest, EveryTruncationIsReadOrRefused) {
    const std::string whole = with(std::string(kAudio) + std::string(kVideo));
    for (size_t size = 0; size < whole.size(); size++) {
        (void)relay_phone_description(whole.substr(0, size), *NetAddress::parse_ip("192.0.2.1", 0),
                                      {20'000, 20'002})
            .ok();
    }
}

}  // namespace
}  // namespace weir::sdp
