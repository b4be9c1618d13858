#include "proto/sdp/rtsp_writer.h"

#include <gtest/gtest.h>

#include "base/hmac.h"
#include "media/hevc.h"
#include "proto/sdp/rtsp_track.h"

#include "test/support/codec_samples.h"

namespace weir::sdp {
namespace {

using media::Codec;
using test::from_hex;

Bytes hevc_config() {
    const std::vector<ByteSpan> vps = {test::kHevcVps};
    const std::vector<ByteSpan> sps = {test::kHevcSps};
    const std::vector<ByteSpan> pps = {test::kHevcPps};
    return media::hevc::build_config(vps, sps, pps);
}

RtspTrackOffer track(Codec codec, Bytes config = {}, uint8_t channels = 2) {
    RtspTrackOffer offer;
    offer.codec = codec;
    offer.payload_type = rtsp_payload_type(codec).value_or(kFirstDynamicType);
    offer.channels = channels;
    offer.config = std::move(config);
    offer.control = "trackID=0";
    return offer;
}

RtspTrack read_back(const RtspTrackOffer& offered) {
    RtspOffer offer;
    offer.tracks = {offered};
    const Result<RtspDescription> read = RtspDescription::parse(write_rtsp_description(offer));
    EXPECT_TRUE(read.ok());
    EXPECT_EQ(read->tracks.size(), 1U);
    return read->tracks[0];
}

TEST(RtspWriterTest, ARecordingSaysHowLongItIs) {
    RtspOffer offer;
    offer.recorded = true;
    EXPECT_NE(write_rtsp_description(offer).find("a=range:npt=0-\r\n"), std::string::npos);
    offer.duration_ms = 10'048;
    EXPECT_NE(write_rtsp_description(offer).find("a=range:npt=0-10.048\r\n"), std::string::npos);
}

TEST(RtspWriterTest, WritesALiveDescription) {
    RtspOffer offer;
    offer.name = "live/camera\r\nm=evil";
    offer.session_id = 7;
    offer.version = 2;
    offer.address = "192.0.2.1";
    offer.tool = "Weir";
    offer.tracks = {track(Codec::kH264, test::kAvcHighConfig), track(Codec::kAac, {0x12, 0x10})};
    offer.tracks[1].payload_type = 97;
    offer.tracks[1].control = "trackID=1";
    EXPECT_EQ(write_rtsp_description(offer),
              "v=0\r\no=- 7 2 IN IP4 192.0.2.1\r\ns=live/cameram=evil\r\nc=IN IP4 0.0.0.0\r\n"
              "t=0 0\r\na=tool:Weir\r\na=control:*\r\na=range:npt=now-\r\n"
              "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
              "a=fmtp:96 packetization-mode=1;profile-level-id=640014;sprop-parameter-sets=" +
                  base64(test::kAvcHighSps) + "," + base64(test::kAvcHighPps) +
                  "\r\na=control:trackID=0\r\n"
                  "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/44100/2\r\n"
                  "a=fmtp:97 streamtype=5;profile-level-id=15;mode=AAC-hbr;sizelength=13;"
                  "indexlength=3;indexdeltalength=3;config=1210\r\na=control:trackID=1\r\n");
}

TEST(RtspWriterTest, SaysTheMulticastGroupAndTheFamilyOfAddresses) {
    RtspOffer offer;
    offer.address = "2001:db8::1";
    EXPECT_NE(write_rtsp_description(offer).find("o=- 1 1 IN IP6 2001:db8::1\r\n"),
              std::string::npos);
    EXPECT_NE(write_rtsp_description(offer).find("c=IN IP6 ::\r\n"), std::string::npos);
    offer.multicast_group = "239.10.0.5";
    offer.multicast_ttl = 8;
    offer.tracks = {track(Codec::kG711U)};
    offer.tracks[0].port = 5004;
    const std::string text = write_rtsp_description(offer);
    EXPECT_NE(text.find("c=IN IP4 239.10.0.5/8\r\n"), std::string::npos);
    EXPECT_NE(text.find("m=audio 5004 RTP/AVP 0\r\n"), std::string::npos);
    offer.multicast_group = "ff15::5";
    EXPECT_NE(write_rtsp_description(offer).find("c=IN IP6 ff15::5\r\n"), std::string::npos);
}

TEST(RtspWriterTest, GivesKeysWhereTheTrackIsEncrypted) {
    RtspOffer offer;
    offer.secure = true;
    offer.tracks = {track(Codec::kG711A)};
    offer.tracks[0].crypto = {{1, "AES_CM_128_HMAC_SHA1_80", Bytes(30, 3), false}};
    const Result<RtspDescription> read = RtspDescription::parse(write_rtsp_description(offer));
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(read->tracks[0].is_secure());
    EXPECT_EQ(read->tracks[0].crypto, offer.tracks[0].crypto);
    offer.secure = false;
    EXPECT_EQ(write_rtsp_description(offer).find("crypto"), std::string::npos);
}

TEST(RtspWriterTest, IsReadBackForEveryCodec) {
    for (const Codec codec : {Codec::kH264, Codec::kHevc, Codec::kAv1, Codec::kVp8, Codec::kVp9,
                              Codec::kOpus, Codec::kG711A, Codec::kG711U, Codec::kMp3}) {
        const RtspTrack read = read_back(track(codec));
        EXPECT_TRUE(read.is_supported()) << read.unsupported;
        EXPECT_EQ(read.codec, codec);
        EXPECT_EQ(read.clock_hz, rtsp_clock(codec, {}));
        EXPECT_EQ(read.control, "trackID=0");
    }
    EXPECT_EQ(read_back(track(Codec::kH264, test::kAvcHighConfig)).parameter_sets,
              (std::vector<Bytes>{test::kAvcHighSps, test::kAvcHighPps}));
    EXPECT_EQ(read_back(track(Codec::kHevc, hevc_config())).parameter_sets,
              (std::vector<Bytes>{test::kHevcVps, test::kHevcSps, test::kHevcPps}));
    const RtspTrack aac = read_back(track(Codec::kAac, from_hex("2b118800")));
    EXPECT_EQ(aac.config, from_hex("2b118800"));
    EXPECT_EQ(aac.clock_hz, 48'000U);
    EXPECT_EQ(aac.parameters.au_header, rtp::AuHeaderFields());
    EXPECT_EQ(read_back(track(Codec::kOpus, {}, 2)).channels, 2);
}

TEST(RtspWriterTest, NamesTheProfilesOfVideo) {
    EXPECT_EQ(write_rtsp_fmtp(Codec::kAv1, test::kAv1Config, 0), "profile=0;level-idx=0;tier=0");
    EXPECT_EQ(write_rtsp_fmtp(Codec::kVp9, from_hex("020a8101010100 00"), 0), "profile-id=2");
    EXPECT_EQ(write_rtsp_fmtp(Codec::kH264, {}, 0), "packetization-mode=1");
    for (const Codec codec : {Codec::kHevc, Codec::kAv1, Codec::kVp8, Codec::kVp9, Codec::kMp3}) {
        EXPECT_EQ(write_rtsp_fmtp(codec, from_hex("00"), 0), "") << media::to_string(codec);
    }
}

TEST(RtspWriterTest, LeavesOutWhatHasNoPayloadFormat) {
    RtspOffer offer;
    offer.tracks = {track(Codec::kFlac), track(Codec::kG722), track(Codec::kG711A),
                    track(Codec::kSpeex), track(Codec::kOtherVideo)};
    const Result<RtspDescription> read = RtspDescription::parse(write_rtsp_description(offer));
    ASSERT_TRUE(read.ok());
    ASSERT_EQ(read->tracks.size(), 1U);
    EXPECT_EQ(read->tracks[0].codec, Codec::kG711A);
    EXPECT_EQ(write_rtsp_rtpmap(Codec::kAc3, 48'000, 2), "");
}

}  // namespace
}  // namespace weir::sdp
