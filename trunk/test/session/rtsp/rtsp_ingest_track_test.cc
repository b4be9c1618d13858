#include "session/rtsp/rtsp_ingest_track.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir::session {
namespace {

sdp::RtspDescription parse(const std::string& media) {
    auto parsed = sdp::RtspDescription::parse(
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=cam\r\nt=0 0\r\n" + media);
    EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
    return parsed.ok() ? std::move(*parsed) : sdp::RtspDescription();
}

const std::string kH264 = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n";
const std::string kHevc = "m=video 0 RTP/AVP 98\r\na=rtpmap:98 H265/90000\r\n";
const std::string kPcma = "m=audio 0 RTP/AVP 8\r\n";
const std::string kSpeaker = "m=audio 0 RTP/AVP 0\r\na=sendonly\r\n";
const std::string kSpeex = "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 speex/16000\r\n";
const std::string kData =
    "m=application 0 RTP/AVP 107\r\na=rtpmap:107 vnd.onvif.metadata/90000\r\n";

TEST(RtspIngestTrackTest, TakesTheFirstVideoAndTheFirstAudio) {
    EXPECT_EQ(choose_rtsp_tracks(parse(kData + kPcma + kH264 + kHevc)).value(),
              (std::vector<size_t>{2, 1}));
    EXPECT_EQ(choose_rtsp_tracks(parse(kSpeex + kH264)).value(), (std::vector<size_t>{1}));
    EXPECT_EQ(choose_rtsp_tracks(parse(kPcma)).value(), (std::vector<size_t>{0}));
}

const std::string kAac =
    "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/48000/2\r\n"
    "a=fmtp:97 mode=AAC-hbr;config=1190;sizelength=13;indexlength=3;indexdeltalength=3\r\n";

TEST(RtspIngestTrackTest, TakesAllAudioThatCanBeOneOfSeveral) {
    EXPECT_EQ(choose_rtsp_tracks(parse(kH264 + kAac + kHevc + kAac)).value(),
              (std::vector<size_t>{0, 1, 3}));
    EXPECT_EQ(choose_rtsp_tracks(parse(kH264 + kPcma + kAac)).value(),
              (std::vector<size_t>{0, 1, 2}));
    EXPECT_EQ(choose_rtsp_tracks(parse(kH264 + kAac + kPcma)).value(), (std::vector<size_t>{0, 1}))
        << "G.711 has no name in Enhanced RTMP";
    EXPECT_EQ(choose_rtsp_tracks(parse(kH264 + kAac + kSpeaker + kAac)).value(),
              (std::vector<size_t>{0, 1, 3}));
}

TEST(RtspIngestTrackTest, TwentyAudioTracksAreBounded) {
    std::string many = kH264;
    for (int i = 0; i < 20; i++) {
        many += kAac;
    }
    const sdp::RtspDescription description = parse(many);
    const std::vector<size_t> chosen = choose_rtsp_tracks(description).value();
    EXPECT_EQ(chosen.size(), 1 + media::Description::kMaxAudioTracks);
    std::vector<RtspAnnounced> announced;
    for (const sdp::RtspTrack& track : description.tracks) {
        announced.push_back({track, rtsp::Transport(), nullptr});
    }
    EXPECT_EQ(choose_announced_tracks(announced), chosen);
    EXPECT_LE(chosen.size(), net::RtpIngest::kMaxSources);
}

TEST(RtspIngestTrackTest, OfAPublisherTracksThatAreNotSetUpDoNotCount) {
    std::vector<RtspAnnounced> announced;
    for (const sdp::RtspTrack& track : parse(kH264 + kAac + kAac + kH264).tracks) {
        announced.push_back({track, rtsp::Transport(), nullptr});
    }
    EXPECT_EQ(choose_announced_tracks(announced), (std::vector<size_t>{0, 1, 2}));
    announced[1].transport.reset();
    EXPECT_EQ(choose_announced_tracks(announced), (std::vector<size_t>{0, 2}));
}

TEST(RtspIngestTrackTest, AudioTracksHaveNumbersLanguagesAndNames) {
    const sdp::RtspDescription description =
        parse(kH264 + kAac + "a=lang:eng\r\n" + kAac + "i=Kommentar\r\na=lang:de-AT\r\n" + kAac);
    std::vector<RtspIncoming> tracks;
    const std::vector<size_t> chosen = choose_rtsp_tracks(description).value();
    for (const size_t index : chosen) {
        tracks.push_back(rtsp_incoming(description.tracks[index]));
    }
    using Tracks = std::vector<media::AudioTrack>;
    EXPECT_EQ(number_rtsp_tracks(tracks).audio_tracks,
              (Tracks{{0, "en", {}}, {1, "de-AT", "Kommentar"}, {2, {}, {}}}));
    EXPECT_EQ(tracks[3].setup.number, 2);
    tracks[1].comes = false;  // its SETUP was refused
    EXPECT_EQ(number_rtsp_tracks(tracks).audio_tracks,
              (Tracks{{0, "de-AT", "Kommentar"}, {1, {}, {}}}));
    EXPECT_EQ(tracks[1].setup.number, 2);
    tracks[2].comes = false;
    EXPECT_TRUE(number_rtsp_tracks(tracks).audio_tracks.empty()) << "one: nothing to choose";
}

TEST(RtspIngestTrackTest, TakesALoudspeakerOnlyWhereThereIsNothingElse) {
    EXPECT_EQ(choose_rtsp_tracks(parse(kH264 + kSpeaker + kPcma)).value(),
              (std::vector<size_t>{0, 2}));
    EXPECT_EQ(choose_rtsp_tracks(parse(kH264 + kPcma + kSpeaker)).value(),
              (std::vector<size_t>{0, 1}));
    EXPECT_EQ(choose_rtsp_tracks(parse(kH264 + kSpeaker)).value(), (std::vector<size_t>{0, 1}));
}

TEST(RtspIngestTrackTest, ATransportStreamHasTheAudioInside) {
    const std::string both = "m=video 0 RTP/AVP 33\r\n" + kPcma;
    const sdp::RtspDescription description = parse(both);
    EXPECT_EQ(choose_rtsp_tracks(description).value(), (std::vector<size_t>{0}));
    const net::RtpIngestTrack track = rtsp_ingest_track(description.tracks[0]);
    EXPECT_TRUE(track.transport_stream);
    EXPECT_EQ(track.kind, media::TrackKind::kData);
    EXPECT_EQ(track.clock_hz, 90'000U);
    EXPECT_EQ(track.payload_type, 33);
    // Where there is video by itself, that comes first or not, as in the description.
    EXPECT_EQ(choose_rtsp_tracks(parse(kH264 + both)).value(), (std::vector<size_t>{0, 2}));
}

TEST(RtspIngestTrackTest, SaysWhichTracksAreNotReceived) {
    EXPECT_EQ(unused_rtsp_tracks(parse(kData + kPcma + kH264 + kHevc)), "");
    const std::string unused = unused_rtsp_tracks(parse(kSpeex + kH264));
    EXPECT_TRUE(unused.starts_with("audio: ")) << unused;
    EXPECT_NE(unused.find("speex"), std::string::npos) << unused;
    // G.711 has 8,000 samples a second (RFC 3551 §4.5.14).
    const std::string fast = "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 PCMA/16000\r\n";
    EXPECT_TRUE(unused_rtsp_tracks(parse(kH264 + fast)).starts_with("audio: "))
        << unused_rtsp_tracks(parse(kH264 + fast));
}

TEST(RtspIngestTrackTest, SaysWhyThereIsNone) {
    const auto error = [](const std::string& media) {
        const auto chosen = choose_rtsp_tracks(parse(media));
        return chosen.ok() ? std::string("none") : chosen.error().to_string();
    };
    EXPECT_EQ(
        error(""),
        "unsupported: no track of the server can be received: there is no video and no audio");
    EXPECT_NE(error(kSpeex).find("speex"), std::string::npos) << error(kSpeex);
    EXPECT_EQ(
        error("m=video 0 RTP/SAVP 96\r\na=rtpmap:96 H264/90000\r\n"),
        "unsupported: no track of the server can be received: encrypted RTP is not supported");
}

TEST(RtspIngestTrackTest, HandsOnWhatTheDescriptionSays) {
    const sdp::RtspDescription description = parse(
        "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
        "a=fmtp:96 "
        "packetization-mode=1;sprop-parameter-sets=Z0LAHtkDxWhAAAADAEAAAAwDxYuS,aMuMsg==\r\n"
        "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/44100/2\r\n"
        "a=fmtp:97 streamtype=5;mode=AAC-hbr;config=1210;sizelength=13;indexlength=3;"
        "indexdeltalength=3\r\n");
    const net::RtpIngestTrack video = rtsp_ingest_track(description.tracks[0]);
    EXPECT_EQ(video.kind, media::TrackKind::kVideo);
    EXPECT_EQ(video.codec, media::Codec::kH264);
    EXPECT_EQ(video.payload_type, 96);
    EXPECT_EQ(video.clock_hz, 90'000U);
    EXPECT_EQ(video.parameter_sets.size(), 2U);
    const net::RtpIngestTrack audio = rtsp_ingest_track(description.tracks[1]);
    EXPECT_EQ(audio.kind, media::TrackKind::kAudio);
    EXPECT_EQ(audio.clock_hz, 44'100U);
    EXPECT_EQ(audio.config, (Bytes{0x12, 0x10}));
    EXPECT_EQ(audio.parameters.au_header.size, 13);
}

}  // namespace
}  // namespace weir::session
