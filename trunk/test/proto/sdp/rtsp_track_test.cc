// Descriptions as cameras, encoders and servers write them.
#include "proto/sdp/rtsp_track.h"

#include <gtest/gtest.h>

#include "base/hmac.h"

#include "test/support/codec_samples.h"

namespace weir::sdp {
namespace {

using media::Codec;
using media::TrackKind;
using rtp::AudioFraming;
using test::from_hex;

RtspDescription parse(std::string_view text) {
    Result<RtspDescription> result = RtspDescription::parse(text);
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    return result.ok() ? std::move(*result) : RtspDescription();
}

// The only track of a description with this section.
RtspTrack track(std::string_view section) {
    RtspDescription description = parse("v=0\r\n" + std::string(section));
    EXPECT_EQ(description.tracks.size(), 1U);
    return description.tracks.empty() ? RtspTrack() : description.tracks[0];
}

TEST(RtspTrackTest, ReadsACameraWithVideoAudioAndMetadata) {
    const std::string text =
        "v=0\r\no=- 1700000000000001 1 IN IP4 192.0.2.10\r\ns=Media Presentation\r\n"
        "e=NONE\r\nb=AS:5100\r\nt=0 0\r\na=control:rtsp://192.0.2.10:554/stream1/\r\n"
        "a=control:*\r\na=range:npt=now-\r\n"
        "m=video 0 RTP/AVP 96\r\nc=IN IP4 0.0.0.0\r\nb=AS:5000\r\na=recvonly\r\n"
        "a=x-dimensions:322,178\r\na=control:rtsp://192.0.2.10:554/stream1/trackID=1\r\n"
        "a=rtpmap:96 H264/90000\r\n"
        "a=fmtp:96 profile-level-id=640014; packetization-mode=1; sprop-parameter-sets=" +
        base64(test::kAvcHighSps) + "," + base64(test::kAvcHighPps) +
        "\r\nm=audio 0 RTP/AVP 8\r\nb=AS:50\r\na=recvonly\r\na=control:trackID=2\r\n"
        "a=rtpmap:8 PCMA/8000\r\na=Media_header:MEDIAINFO=494D4B48010100000400010010710110;\r\n"
        "m=application 0 RTP/AVP 107\r\na=control:trackID=3\r\n"
        "a=rtpmap:107 vnd.onvif.metadata/90000\r\n";
    const RtspDescription description = parse(text);
    EXPECT_EQ(description.name, "Media Presentation");
    EXPECT_EQ(description.control, "rtsp://192.0.2.10:554/stream1/");
    EXPECT_EQ(description.range, "npt=now-");
    ASSERT_EQ(description.tracks.size(), 3U);
    const RtspTrack& video = description.tracks[0];
    EXPECT_TRUE(video.is_supported());
    EXPECT_EQ(video.kind, TrackKind::kVideo);
    EXPECT_EQ(video.codec, Codec::kH264);
    EXPECT_EQ(video.payload_type, 96);
    EXPECT_EQ(video.clock_hz, 90'000U);
    EXPECT_EQ(video.control, "rtsp://192.0.2.10:554/stream1/trackID=1");
    EXPECT_EQ(video.direction, Direction::kRecvOnly);
    EXPECT_EQ(video.parameter_sets, (std::vector<Bytes>{test::kAvcHighSps, test::kAvcHighPps}));
    EXPECT_EQ(video.connection, "IN IP4 0.0.0.0");
    EXPECT_FALSE(video.is_secure());
    const RtspTrack& audio = description.tracks[1];
    EXPECT_TRUE(audio.is_supported());
    EXPECT_EQ(audio.codec, Codec::kG711A);
    EXPECT_EQ(audio.channels, 1);
    EXPECT_EQ(audio.control, "trackID=2");
    const RtspTrack& metadata = description.tracks[2];
    EXPECT_FALSE(metadata.is_supported());
    EXPECT_EQ(metadata.kind, TrackKind::kData);
    EXPECT_EQ(metadata.encoding, "vnd.onvif.metadata");
}

TEST(RtspTrackTest, ReadsAnEncoderThatAnnouncesAac) {
    const RtspDescription description = parse(
        "v=0\no=- 0 0 IN IP6 ::1\ns=No Name\nc=IN IP6 ::1\nt=0 0\na=tool:encoder 1.0\n"
        "m=video 0 RTP/AVP 96\nb=AS:800\na=rtpmap:96 H264/90000\na=control:streamid=0\n"
        "m=audio 0 RTP/AVP 97\na=rtpmap:97 MPEG4-GENERIC/48000/2\n"
        "a=fmtp:97 profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;"
        "indexdeltalength=3; config=119056E500\na=control:streamid=1\n");
    ASSERT_EQ(description.tracks.size(), 2U);
    EXPECT_EQ(description.control, "");
    EXPECT_TRUE(description.tracks[0].is_supported());  // no fmtp: sets come in-band
    EXPECT_TRUE(description.tracks[0].parameter_sets.empty());
    const RtspTrack& audio = description.tracks[1];
    EXPECT_TRUE(audio.is_supported()) << audio.unsupported;
    EXPECT_EQ(audio.codec, Codec::kAac);
    EXPECT_EQ(audio.config, from_hex("119056e500"));
    EXPECT_EQ(audio.channels, 2);
    EXPECT_EQ(audio.parameters.au_header, rtp::AuHeaderFields());
    EXPECT_EQ(audio.parameters.unit_ticks, 1024U);
    EXPECT_EQ(audio.direction, Direction::kSendRecv);
    EXPECT_EQ(audio.connection, "IN IP6 ::1");
}

TEST(RtspTrackTest, ReadsTheOtherFieldsOfMpeg4Generic) {
    const RtspTrack low = track(
        "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/8000\r\n"
        "a=fmtp:97 streamType=5;mode=AAC-lbr;sizeLength=6;indexLength=2;indexDeltaLength=2;"
        "constantDuration=1024;CTSDeltaLength=4;randomAccessIndication=1;"
        "auxiliaryDataSizeLength=8;streamStateIndication=2;DTSDeltaLength=5;config=1588\r\n");
    EXPECT_TRUE(low.is_supported()) << low.unsupported;
    EXPECT_EQ(low.channels, 1);
    const rtp::AuHeaderFields expected = {.size = 6,
                                          .index = 2,
                                          .index_delta = 2,
                                          .cts_delta = 4,
                                          .dts_delta = 5,
                                          .stream_state = 2,
                                          .auxiliary_size = 8,
                                          .random_access = true};
    EXPECT_EQ(low.parameters.au_header, expected);
    const RtspTrack constant = track(
        "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/8000\r\n"
        "a=fmtp:97 constantSize=64;config=1588\r\n");
    EXPECT_EQ(constant.parameters.au_header.size, 0);
    EXPECT_EQ(constant.parameters.au_header.constant_size_bytes, 64U);
    // SBR: the clock is that of what is played, twice that of the core.
    EXPECT_EQ(track("m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/48000/2\r\n"
                    "a=fmtp:97 sizelength=13;indexlength=3;indexdeltalength=3;config=2b118800\r\n")
                  .parameters.unit_ticks,
              2048U);
}

TEST(RtspTrackTest, MakesUpWhatACameraLeavesOutOfAac) {
    const RtspTrack bare = track("m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/16000/1\r\n");
    EXPECT_TRUE(bare.is_supported()) << bare.unsupported;
    EXPECT_EQ(bare.config, from_hex("1408"));  // AAC LC, 16,000 Hz, mono
    EXPECT_EQ(bare.parameters.au_header, rtp::AuHeaderFields());
    const RtspTrack odd = track("m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/12345/1\r\n");
    EXPECT_FALSE(odd.is_supported());
    EXPECT_EQ(odd.codec, Codec::kAac);
}

TEST(RtspTrackTest, RefusesMpeg4AudioThatIsNotAac) {
    // CELP is object type 8.
    const RtspTrack celp = track(
        "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/16000/1\r\n"
        "a=fmtp:97 mode=CELP-cbr;constantSize=27;config=440E00\r\n");
    EXPECT_EQ(celp.unsupported, "MPEG-4 audio of object type 8 is not supported: only AAC");
}

TEST(RtspTrackTest, ReadsLatm) {
    const RtspTrack described = track(
        "m=audio 0 RTP/AVP 98\r\na=rtpmap:98 MP4A-LATM/24000/2\r\n"
        "a=fmtp:98 profile-level-id=1;object=2;cpresent=0;config=400026103FC0\r\n");
    EXPECT_TRUE(described.is_supported()) << described.unsupported;
    EXPECT_EQ(described.codec, Codec::kAac);
    EXPECT_EQ(described.parameters.audio, AudioFraming::kLatm);
    EXPECT_FALSE(described.parameters.latm_in_band);
    EXPECT_EQ(described.parameters.latm_config, from_hex("400026103fc0"));
    EXPECT_EQ(described.config, from_hex("1308"));
    EXPECT_EQ(described.channels, 1);  // the config knows better
    const RtspTrack in_band = track("m=audio 0 RTP/AVP 98\r\na=rtpmap:98 mp4a-latm/90000\r\n");
    EXPECT_TRUE(in_band.is_supported());
    EXPECT_TRUE(in_band.parameters.latm_in_band);
    const RtspTrack nothing =
        track("m=audio 0 RTP/AVP 98\r\na=rtpmap:98 MP4A-LATM/90000\r\na=fmtp:98 cpresent=0\r\n");
    EXPECT_FALSE(nothing.is_supported());
}

TEST(RtspTrackTest, ReadsHevcWithItsSets) {
    const std::string base =
        "m=video 0 RTP/AVP 98\r\na=rtpmap:98 H265/90000\r\na=fmtp:98 profile-space=0;profile-id=1;"
        "sprop-vps=" +
        base64(test::kHevcVps) + "; sprop-sps=" + base64(test::kHevcSps) +
        "; sprop-pps=" + base64(test::kHevcPps);
    const RtspTrack hevc = track(base + "\r\n");
    EXPECT_TRUE(hevc.is_supported());
    EXPECT_EQ(hevc.codec, Codec::kHevc);
    EXPECT_EQ(hevc.parameter_sets,
              (std::vector<Bytes>{test::kHevcVps, test::kHevcSps, test::kHevcPps}));
    EXPECT_FALSE(hevc.parameters.decoding_order_numbers);
    EXPECT_TRUE(track(base + ";sprop-max-don-diff=2\r\n").parameters.decoding_order_numbers);
    EXPECT_EQ(track("m=video 0 RTP/AVP 98\r\na=rtpmap:98 hevc/90000\r\n").codec, Codec::kHevc);
}

TEST(RtspTrackTest, KnowsStaticPayloadTypes) {
    EXPECT_EQ(track("m=audio 0 RTP/AVP 0\r\n").codec, Codec::kG711U);
    EXPECT_EQ(track("m=audio 0 RTP/AVP 8\r\n").codec, Codec::kG711A);
    const RtspTrack mp3 = track("m=audio 0 RTP/AVP 14\r\n");
    EXPECT_EQ(mp3.codec, Codec::kMp3);
    EXPECT_EQ(mp3.clock_hz, 90'000U);
    const RtspTrack ts = track("m=video 49152 RTP/AVP 33\r\nc=IN IP4 239.1.2.3/16\r\n");
    EXPECT_TRUE(ts.is_supported());
    EXPECT_TRUE(ts.transport_stream);
    EXPECT_EQ(ts.port, 49152);
    EXPECT_EQ(ts.connection, "IN IP4 239.1.2.3/16");
    EXPECT_FALSE(track("m=video 0 RTP/AVP 26\r\n").is_supported());  // JPEG
    EXPECT_EQ(track("m=video 0 RTP/AVP 26\r\n").unsupported, "payload type 26 has no a=rtpmap");
}

TEST(RtspTrackTest, ReadsTheOtherCodecs) {
    const auto of = [](std::string_view kind, std::string_view map) {
        return track("m=" + std::string(kind) + " 0 RTP/AVP 96\r\na=rtpmap:96 " + std::string(map) +
                     "\r\n");
    };
    EXPECT_EQ(of("video", "VP8/90000").codec, Codec::kVp8);
    EXPECT_EQ(of("video", "vp9/90000").codec, Codec::kVp9);
    EXPECT_EQ(of("video", "AV1/90000").codec, Codec::kAv1);
    EXPECT_EQ(of("video", "h264/90000").codec, Codec::kH264);
    EXPECT_EQ(of("audio", "OPUS/48000/2").codec, Codec::kOpus);
    EXPECT_EQ(of("audio", "MPA/90000").codec, Codec::kMp3);
    EXPECT_EQ(of("audio", "mpa-robust/90000").parameters.audio, AudioFraming::kAdu);
    EXPECT_TRUE(of("audio", "mpa-robust/90000").is_supported());
    EXPECT_FALSE(of("audio", "G726-32/8000").is_supported());
    EXPECT_FALSE(of("audio", "PCMU/16000").is_supported());
    EXPECT_FALSE(of("video", "H264/1000").is_supported());
    EXPECT_FALSE(of("audio", "H264/90000").is_supported());
    EXPECT_FALSE(of("video", "opus/48000/2").is_supported());
    EXPECT_EQ(of("audio", "L16/44100/2").unsupported, "the payload format L16 is not supported");
}

TEST(RtspTrackTest, TakesTheFirstFormatThatCanBeReceived) {
    const RtspTrack both =
        track("m=audio 0 RTP/AVP 96 8\r\na=rtpmap:96 G726-32/8000\r\na=rtpmap:8 PCMA/8000\r\n");
    EXPECT_TRUE(both.is_supported());
    EXPECT_EQ(both.codec, Codec::kG711A);
    EXPECT_EQ(both.payload_type, 8);
    const RtspTrack none = track("m=audio 0 RTP/AVP 96 97\r\na=rtpmap:96 G726-32/8000\r\n");
    EXPECT_EQ(none.unsupported, "the payload format G726-32 is not supported");
    EXPECT_FALSE(track("m=audio 0 RTP/AVP x 200\r\n").is_supported());
    EXPECT_FALSE(track("m=video 0 udp 33\r\n").is_supported());
}

TEST(RtspTrackTest, ReadsParameterSetsAsCamerasWriteThem) {
    const auto sets = [](const std::string& list) {
        return track(
                   "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
                   "a=fmtp:96 packetization-mode=1;sprop-parameter-sets=" +
                   list + "\r\n")
            .parameter_sets;
    };
    const std::vector<Bytes> expected = {from_hex("67640014"), from_hex("68eb")};
    EXPECT_EQ(sets("Z2QAFA==,aOs="), expected);
    EXPECT_EQ(sets("Z2QAFA,aOs"), expected);             // no padding
    EXPECT_EQ(sets("AAAAAWdkABQ=,AAABaOs="), expected);  // start codes
    EXPECT_EQ(sets("Z2QAFA==,,!!!!,aOs="), expected);    // and what is no base64
    EXPECT_TRUE(sets("").empty());
    std::string many;
    for (size_t i = 0; i < 100; i++) {
        many += "aOs=,";
    }
    EXPECT_EQ(sets(many).size(), kMaxNamedParameterSets);
    EXPECT_TRUE(sets(base64(Bytes(kMaxNamedSetBytes + 1, 0x67))).empty());
}

TEST(RtspTrackTest, InheritsTheDirectionOfTheSession) {
    const RtspDescription description =
        parse("v=0\r\na=sendonly\r\nm=audio 0 RTP/AVP 0\r\nm=audio 0 RTP/AVP 8\r\na=inactive\r\n");
    EXPECT_EQ(description.tracks[0].direction, Direction::kSendOnly);
    EXPECT_EQ(description.tracks[1].direction, Direction::kInactive);
}

TEST(RtspTrackTest, ReadsKeysOfEncryptedTracks) {
    const std::string key = base64(Bytes(30, 7));
    const RtspTrack secure = track(
        "m=audio 0 RTP/SAVP 0\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 "
        "inline:" +
        key + "|2^20|1:4\r\na=crypto:2 nonsense\r\n");
    EXPECT_TRUE(secure.is_secure());
    ASSERT_EQ(secure.crypto.size(), 1U);
    EXPECT_EQ(secure.crypto[0].key_and_salt, Bytes(30, 7));
    std::string many = "m=audio 0 RTP/SAVP 0\r\n";
    for (size_t i = 0; i < 50; i++) {
        many += "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:" + key + "\r\n";
    }
    EXPECT_EQ(track(many).crypto.size(), kMaxCryptoLines);
}

TEST(RtspTrackTest, IgnoresAControlThatIsTooLong) {
    EXPECT_EQ(
        track("m=audio 0 RTP/AVP 0\r\na=control:" + std::string(kMaxControlBytes + 1, 'x') + "\r\n")
            .control,
        "");
    EXPECT_EQ(
        track("m=audio 0 RTP/AVP 0\r\na=control:\r\na=control:t1\r\na=control:t2\r\n").control,
        "t1");
}

TEST(RtspDescriptionTest, RefusesWhatIsNoSdpOrTooMuch) {
    for (const std::string& text :
         {std::string(), std::string("hello"), std::string("v=1\r\n"),
          std::string("<html>\r\n<p>a=b</p>\r\n"), std::string("o=x\r\nm=audio\r\n"),
          "v=0\r\n" + std::string(kMaxTextBytes, 'a')}) {
        EXPECT_FALSE(RtspDescription::parse(text).ok()) << text.substr(0, 40);
    }
    std::string many = "v=0\r\n";
    for (size_t i = 0; i <= kMaxMedia; i++) {
        many += "m=audio 0 RTP/AVP 0\r\n";
    }
    EXPECT_EQ(RtspDescription::parse(many).error().code(), ErrorCode::kLimit);
}

TEST(RtspDescriptionTest, ReadsATextThatEndsLikeACString) {
    using std::string_view_literals::operator""sv;
    EXPECT_EQ(parse("v=0\r\nm=audio 0 RTP/AVP 0\r\n\0\0"sv).tracks.size(), 1U);
    EXPECT_EQ(parse("v=0\r\n\0m=audio 0 RTP/AVP 0\r\n"sv).tracks.size(), 1U);
}

TEST(RtspDescriptionTest, SkipsBrokenLines) {
    const std::string good =
        "v=0\r\ns=cam\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:v\r\n"
        "m=audio 0 RTP/AVP 8\r\na=control:a\r\n";
    const RtspDescription expected = parse(good);
    for (const std::string& line :
         {std::string("nonsense"), std::string("a=:x"), std::string("="), std::string("\x01\x02"),
          std::string("a=x\x01"), std::string("mode=AAC-hbr"), "a=x:" + std::string(5000, 'y')}) {
        for (size_t at = 0; at < good.size(); at = good.find("\r\n", at) + 2) {
            const RtspDescription read =
                parse(std::string(good).insert(at, line + "\r\n"));  // also before v=0
            ASSERT_EQ(read.tracks.size(), 2U) << line;
            EXPECT_EQ(read.name, "cam");
            for (size_t i = 0; i < 2; i++) {
                EXPECT_TRUE(read.tracks[i].is_supported()) << line;
                EXPECT_EQ(read.tracks[i].codec, expected.tracks[i].codec);
                EXPECT_EQ(read.tracks[i].control, expected.tracks[i].control);
            }
        }
    }
}

TEST(RtspDescriptionTest, ABrokenMediaLineHasASectionOfItsOwn) {
    for (const std::string& line :
         {std::string("m=video"), std::string("m="), std::string("m"), std::string("m video 0 96"),
          std::string("m=video 0 RTP/AVP"), std::string("m=video 0 RTP/AVP 96\x01"),
          "m=video " + std::string(5000, 'x')}) {
        const RtspDescription read =
            parse("v=0\r\na=control:*\r\nm=audio 0 RTP/AVP 8\r\na=control:a\r\n" + line +
                  "\r\na=rtpmap:8 L16/44100\r\na=control:v\r\na=inactive\r\n"
                  "m=audio 0 RTP/AVP 0\r\na=control:b\r\n");
        ASSERT_EQ(read.tracks.size(), 3U) << line;
        EXPECT_EQ(read.tracks[0].codec, Codec::kG711A) << line;
        EXPECT_EQ(read.tracks[0].control, "a");
        EXPECT_NE(read.tracks[0].direction, Direction::kInactive);
        EXPECT_EQ(read.tracks[1].unsupported, "its m= line cannot be read") << line;
        EXPECT_EQ(read.tracks[2].control, "b");
        EXPECT_TRUE(read.tracks[2].is_supported());
    }
    // As the first section: its attributes are not those of the session.
    EXPECT_EQ(parse("v=0\r\nm=video\r\na=control:v\r\nm=audio 0 RTP/AVP 8\r\n").control, "");
    EXPECT_EQ(parse("v=0\r\nm=video 0\r\n").tracks.at(0).kind, TrackKind::kVideo);
}

TEST(RtspDescriptionTest, NeedsNeitherAVersionNorAPort) {
    const RtspDescription read = parse("\xef\xbb\xbfv=0\r\n  m=audio x RTP/AVP 8\r\n");
    ASSERT_EQ(read.tracks.size(), 1U);
    EXPECT_TRUE(read.tracks[0].is_supported());
    EXPECT_EQ(read.tracks[0].port, 0);
    EXPECT_EQ(parse("s=x\r\nm=audio 70000 RTP/AVP 8\r\n").tracks.size(), 1U);
    EXPECT_EQ(parse("s=x\r\nv=0\r\n").name, "x");
    EXPECT_FALSE(RtspDescription::parse("s=x\r\nv=2\r\nm=audio 0 RTP/AVP 8\r\n").ok());
    std::string lines = "v=0\n";
    for (size_t i = 0; i < kMaxLines; i++) {
        lines += "broken\n";
    }
    EXPECT_EQ(RtspDescription::parse(lines).error().code(), ErrorCode::kLimit);
    std::string media = "v=0\n";
    for (size_t i = 0; i <= kMaxMedia; i++) {
        media += "m=x\n";
    }
    EXPECT_EQ(RtspDescription::parse(media).error().code(), ErrorCode::kLimit);
}

TEST(RtspDescriptionTest, ReadsWhatHasNoTracks) {
    const RtspDescription empty = parse("v=0\r\n");
    EXPECT_TRUE(empty.tracks.empty());
    EXPECT_EQ(empty.name, "-");
}

TEST(RtspTrackTest, CodecsOfTelephonyAreNotSupported) {
    for (const char* text : {"m=audio 0 RTP/AVP 9\r\n", "m=audio 0 RTP/AVP 13\r\n",
                             "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 speex/16000\r\n"}) {
        EXPECT_FALSE(track(text).is_supported()) << text;
        EXPECT_EQ(track(text).codec, Codec::kUnknown) << text;
    }
}

TEST(RtspTrackTest, ALanguageAndANameAreRead) {
    const auto parsed = RtspDescription::parse(
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=cam\r\ni=of the session\r\nt=0 0\r\na=lang:fr\r\n"
        "m=audio 0 RTP/AVP 0\r\ni=Le \"son\"\r\na=label:7\r\na=lang:ger\r\n"
        "m=audio 0 RTP/AVP 0\r\na=label:7\r\n"
        "m=audio 0 RTP/AVP 0\r\na=lang:und\r\na=title:Room\r\na=label:7\r\n");
    ASSERT_TRUE(parsed.ok());
    ASSERT_EQ(parsed->tracks.size(), 3U);
    EXPECT_EQ(parsed->tracks[0].language, "de");
    EXPECT_EQ(parsed->tracks[0].name, "Le son");
    EXPECT_EQ(parsed->tracks[1].language, "fr");
    EXPECT_EQ(parsed->tracks[1].name, "7");
    EXPECT_EQ(parsed->tracks[2].language, "");
    EXPECT_EQ(parsed->tracks[2].name, "Room");
}

}  // namespace
}  // namespace weir::sdp
