// Offers are as baresip 1.0 and sipp 3.6 write them.
#include "proto/sdp/phone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::sdp {
namespace {

using media::Codec;
using media::TrackKind;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kBaresip =
    "v=0\r\no=- 629925870 1000777008 IN IP4 192.0.2.7\r\ns=-\r\nc=IN IP4 192.0.2.7\r\nt=0 0\r\n"
    "a=tool:baresip 1.0.0\r\nm=audio 39054 RTP/AVP 96 0 8 101 13\r\na=rtpmap:96 opus/48000/2\r\n"
    "a=fmtp:96 stereo=1;sprop-stereo=1\r\na=rtpmap:101 telephone-event/8000\r\n"
    "a=fmtp:101 0-15\r\na=sendrecv\r\na=ptime:20\r\n";

PhoneOptions options() {
    PhoneOptions options;
    options.address = *NetAddress::parse_ip("203.0.113.1", 0);
    options.audio.codecs = {{Codec::kG711U, 8000, 0}, {Codec::kOpus, 48'000, 96}};
    options.audio.port = 20'000;
    options.video.codecs = {{Codec::kH264, 90'000, 99}};
    options.video.port = 20'002;
    return options;
}

PhoneDescription read(std::string_view text) {
    Result<PhoneDescription> read = read_phone_description(text);
    EXPECT_TRUE(read.ok()) << read.error().to_string();
    return read.ok() ? std::move(*read) : PhoneDescription();
}

std::string with(std::string_view lines) {
    return "v=0\r\no=- 1 1 IN IP4 192.0.2.7\r\ns=-\r\nc=IN IP4 192.0.2.7\r\nt=0 0\r\n" +
           std::string(lines);
}

TEST(PhoneSdpTest, AnswersWithTheFirstCodecOfTheOffer) {
    const auto agreed = answer_phone(read(kBaresip), options());
    ASSERT_TRUE(agreed.ok());
    EXPECT_EQ(agreed->audio.codec, Codec::kOpus);
    EXPECT_EQ(agreed->audio.payload_type, 96);
    EXPECT_EQ(agreed->audio.to.to_string(), "192.0.2.7:39054");
    EXPECT_EQ(agreed->audio.rtcp_to.to_string(), "192.0.2.7:39055");
    EXPECT_FALSE(agreed->video.in_use);
    EXPECT_THAT(agreed->answer, HasSubstr("m=audio 20000 RTP/AVP 96 101\r\n"));
    EXPECT_THAT(agreed->answer, HasSubstr("a=rtpmap:96 opus/48000/2\r\n"));
    EXPECT_THAT(agreed->answer, HasSubstr("c=IN IP4 203.0.113.1\r\n"));
    EXPECT_THAT(agreed->answer, HasSubstr("a=sendrecv\r\n"));
}

TEST(PhoneSdpTest, AnswersWithTheOwnFirstCodecWhereThatIsAsked) {
    PhoneOptions own = options();
    own.own_order = true;
    const auto agreed = answer_phone(read(kBaresip), own);
    ASSERT_TRUE(agreed.ok());
    EXPECT_EQ(agreed->audio.codec, Codec::kG711U);
    EXPECT_EQ(agreed->audio.comfort_noise, 13);
    EXPECT_EQ(agreed->audio.event_type, 101);
}

TEST(PhoneSdpTest, AnOldPhoneOnHoldIsSentNothing) {
    const auto offer = read(
        "v=0\r\no=- 1 2 IN IP4 0.0.0.0\r\ns=-\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\n"
        "m=audio 4000 RTP/AVP 0\r\n");
    const auto agreed = answer_phone(offer, options());
    ASSERT_TRUE(agreed.ok());
    EXPECT_TRUE(agreed->audio.to.empty());
    EXPECT_FALSE(sends(agreed->audio.direction));
}

TEST(PhoneSdpTest, DirectionsMeet) {
    const auto direction = [](std::string_view theirs, Direction own) {
        PhoneOptions mine = options();
        mine.audio.direction = own;
        const auto agreed = answer_phone(
            read(with(fmt::format("m=audio 4000 RTP/AVP 0\r\na={}\r\n", theirs))), mine);
        return agreed.ok() ? agreed->audio.direction : Direction::kInactive;
    };
    EXPECT_EQ(direction("sendrecv", Direction::kSendRecv), Direction::kSendRecv);
    EXPECT_EQ(direction("sendonly", Direction::kSendRecv), Direction::kRecvOnly);
    EXPECT_EQ(direction("recvonly", Direction::kSendRecv), Direction::kSendOnly);
    EXPECT_EQ(direction("inactive", Direction::kSendRecv), Direction::kInactive);
    EXPECT_EQ(direction("sendrecv", Direction::kSendOnly), Direction::kSendOnly);
    EXPECT_EQ(direction("sendonly", Direction::kSendOnly), Direction::kInactive);
}

TEST(PhoneSdpTest, SectionsThatAreNotUsedKeepTheirPlace) {
    const auto agreed =
        answer_phone(read(with("m=image 5000 udptl t38\r\nm=audio 4000 RTP/AVP 0\r\n"
                               "m=video 6000 RTP/AVP 31\r\nm=audio 4002 RTP/AVP 0\r\n")),
                     options());
    ASSERT_TRUE(agreed.ok());
    EXPECT_THAT(agreed->answer, HasSubstr("m=image 0 udptl t38\r\n"));
    EXPECT_THAT(agreed->answer, HasSubstr("m=audio 20000 RTP/AVP 0\r\n"));
    EXPECT_THAT(agreed->answer, HasSubstr("m=video 0 RTP/AVP 31\r\n"));
    EXPECT_THAT(agreed->answer, HasSubstr("m=audio 0 RTP/AVP 0\r\n"));
}

TEST(PhoneSdpTest, VideoIsTakenInThePacketizationThatAllowsMost) {
    const auto agreed =
        answer_phone(read(with("m=audio 4000 RTP/AVP 0\r\nm=video 6000 RTP/AVPF 97 98\r\n"
                               "a=rtpmap:97 H264/90000\r\na=fmtp:97 profile-level-id=42e01f\r\n"
                               "a=rtpmap:98 H264/90000\r\n"
                               "a=fmtp:98 profile-level-id=42e01f;packetization-mode=1\r\n"
                               "a=rtcp-fb:* nack pli\r\na=rtcp-mux\r\n")),
                     options());
    ASSERT_TRUE(agreed.ok());
    EXPECT_EQ(agreed->video.payload_type, 98);
    EXPECT_TRUE(agreed->video.rtcp_mux);
    EXPECT_EQ(agreed->video.rtcp_to, agreed->video.to);
    EXPECT_THAT(agreed->answer, HasSubstr("a=rtcp-fb:98 nack pli\r\n"));
    EXPECT_THAT(agreed->answer, HasSubstr("packetization-mode=1"));
}

TEST(PhoneSdpTest, NothingInCommonSaysWhatWasOffered) {
    const auto agreed =
        answer_phone(read(with("m=audio 4000 RTP/AVP 18\r\na=rtpmap:18 G729/8000\r\n")), options());
    ASSERT_FALSE(agreed.ok());
    EXPECT_EQ(agreed.error().code(), ErrorCode::kUnsupported);
    EXPECT_THAT(std::string(agreed.error().message()), HasSubstr("G729/8000"));
}

TEST(PhoneSdpTest, AnOfferIsUnderstoodByTheOtherSide) {
    PhoneOptions caller = options();
    PhoneOptions callee = options();
    callee.address = *NetAddress::parse_ip("198.51.100.2", 0);
    callee.audio.port = 30'000;
    callee.video.port = 30'002;
    const auto answer = answer_phone(read(write_phone_offer(caller)), callee);
    ASSERT_TRUE(answer.ok());
    const auto accepted = accept_phone(read(answer->answer), caller);
    ASSERT_TRUE(accepted.ok());
    EXPECT_EQ(accepted->audio.codec, answer->audio.codec);
    EXPECT_EQ(accepted->audio.to.to_string(), "198.51.100.2:30000");
    EXPECT_EQ(accepted->video.codec, Codec::kH264);
    EXPECT_EQ(accepted->video.to.to_string(), "198.51.100.2:30002");
    EXPECT_EQ(accepted->audio.direction, Direction::kSendRecv);
}

TEST(PhoneSdpTest, RtcpMayHaveAnAddressOfItsOwn) {
    const auto offer = read(with("m=audio 4000 RTP/AVP 0\r\na=rtcp:53020 IN IP4 126.16.64.4\r\n"));
    EXPECT_EQ(offer.media.at(0).rtcp_to.to_string(), "126.16.64.4:53020");
    EXPECT_EQ(
        read(with("m=audio 4000 RTP/AVP 0\r\na=rtcp:53020\r\n")).media.at(0).rtcp_to.to_string(),
        "192.0.2.7:53020");
}

TEST(PhoneSdpTest, TakesTruncatedTextWithoutHarm) {
    for (size_t size = 0; size < kBaresip.size(); size++) {
        const auto offer = read_phone_description(kBaresip.substr(0, size));
        if (offer.ok()) {
            (void)answer_phone(*offer, options()).ok();
        }
    }
}

TEST(PhoneSdpTest, NamesInPlaceOfAddressesAreSentNothing) {
    const auto offer = read(
        "v=0\r\no=- 1 1 IN IP4 a.example\r\ns=-\r\nc=IN IP4 a.example\r\nt=0 0\r\n"
        "m=audio 4000 RTP/AVP 0\r\n");
    EXPECT_TRUE(offer.media.at(0).to.empty());
    EXPECT_THAT(write_phone_offer(options()), Not(HasSubstr("a.example")));
}

}  // namespace
}  // namespace weir::sdp
