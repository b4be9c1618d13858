#include "bench/load/core/rtc_signalling.h"

#include <gtest/gtest.h>

#include "proto/sdp/negotiate.h"

namespace weir::load {
namespace {

RtcOffer player_offer() {
    RtcOffer offer;
    offer.ice_ufrag = "abcdefgh";
    offer.ice_pwd = "abcdefghijklmnopqrstuvwx";
    return offer;
}

sdp::LocalTransport server() {
    sdp::LocalTransport local;
    local.ice_ufrag = "serverua";
    local.ice_pwd = "serverpasswordserverpass";
    local.fingerprint.hash = "sha-256";
    local.fingerprint.bytes.assign(32, 0xAB);
    local.candidates = {"1 1 tcp 2105458943 192.0.2.7 8000 typ host tcptype passive",
                        "2 1 udp 2130706431 192.0.2.7 8000 typ host"};
    local.session_id = "17";
    local.cname = "weir";
    return local;
}

// The server's own answer to the offer, H.264 and Opus.
Result<sdp::Answer> answer_of(const RtcOffer& offer) {
    WEIR_TRY_ASSIGN(const sdp::Session session, sdp::Session::parse(offer.to_sdp()));
    if (offer.sends) {
        return sdp::answer_publisher(session, server(), {});
    }
    sdp::PlayerOptions options;
    options.video.codecs = {{media::Codec::kH264, 0x42C028, 0, 2}};
    options.video.ssrc = 7001;
    options.video.rtx_ssrc = 7002;
    options.audio.codecs = {{media::Codec::kOpus, 0, 0, 2}};
    options.audio.ssrc = 7003;
    return sdp::answer_player(session, server(), options);
}

TEST(RtcSignallingTest, TheServersAnswerToAPlayerIsUnderstood) {
    const auto text = answer_of(player_offer());
    ASSERT_TRUE(text.ok()) << text.error().message();
    const auto answer = RtcAnswer::parse(text->text, true);
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    EXPECT_EQ(answer->ice_ufrag, "serverua");
    EXPECT_EQ(answer->address.to_string(), "192.0.2.7:8000");
    EXPECT_EQ(answer->fingerprint.sha256[31], 0xAB);
    EXPECT_TRUE(answer->dtls_server);
    const RtcTrack* video = answer->find(media::TrackKind::kVideo);
    ASSERT_NE(video, nullptr);
    EXPECT_EQ(video->codec, media::Codec::kH264);
    EXPECT_EQ(video->ssrc, 7001U);
    EXPECT_EQ(video->rtx_ssrc, 7002U);
    EXPECT_TRUE(video->rtx_payload_type.has_value());
    EXPECT_TRUE(video->nack);
    EXPECT_EQ(video->transport_cc_id, kRtcTransportCcId);
    const RtcTrack* audio = answer->find(media::TrackKind::kAudio);
    ASSERT_NE(audio, nullptr);
    EXPECT_EQ(audio->codec, media::Codec::kOpus);
    EXPECT_EQ(audio->clock_hz, 48'000U);
}

TEST(RtcSignallingTest, WhatIsNotWantedIsNotOffered) {
    RtcOffer offer = player_offer();
    offer.nack = false;
    offer.transport_cc = false;
    const auto text = answer_of(offer);
    ASSERT_TRUE(text.ok()) << text.error().message();
    const auto answer = RtcAnswer::parse(text->text, true);
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    const RtcTrack* video = answer->find(media::TrackKind::kVideo);
    ASSERT_NE(video, nullptr);
    EXPECT_FALSE(video->nack);
    EXPECT_FALSE(video->rtx_payload_type.has_value());
    EXPECT_EQ(video->rtx_ssrc, 0U);
    EXPECT_EQ(video->transport_cc_id, 0);
}

TEST(RtcSignallingTest, APublishersOfferIsAnswered) {
    RtcOffer offer = player_offer();
    offer.sends = true;
    offer.video = RtcSendTrack{media::Codec::kH264, "", 11, 12};
    offer.audio = RtcSendTrack{media::Codec::kOpus, "", 13, 0};
    const auto text = answer_of(offer);
    ASSERT_TRUE(text.ok()) << text.error().message();
    ASSERT_EQ(text->find(media::TrackKind::kVideo)->remote_ssrcs.size(), 1U);
    EXPECT_EQ(text->find(media::TrackKind::kVideo)->remote_ssrcs[0], (sdp::RemoteSsrc{11, 12}));
    const auto answer = RtcAnswer::parse(text->text, false);
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    EXPECT_EQ(answer->tracks.size(), 2U);
}

struct Broken {
    std::string_view what;
    std::string_view instead;
    std::string_view said;
};

class RtcBrokenAnswerTest : public testing::TestWithParam<Broken> {};

TEST_P(RtcBrokenAnswerTest, IsRefusedWithTheReason) {
    std::string text = answer_of(player_offer())->text;
    for (size_t at = text.find(GetParam().what); at != std::string::npos;
         at = text.find(GetParam().what)) {
        text.replace(at, GetParam().what.size(), GetParam().instead);
    }
    const auto answer = RtcAnswer::parse(text, true);
    ASSERT_FALSE(answer.ok());
    EXPECT_NE(answer.error().message().find(GetParam().said), std::string_view::npos)
        << answer.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    All,
    RtcBrokenAnswerTest,
    testing::Values(Broken{"a=ice-lite", "a=ice-full", "not ICE lite"},
                    Broken{" udp ", " xyz ", "no UDP candidate"},
                    Broken{"a=fingerprint", "a=nothing", "no SHA-256 fingerprint"},
                    Broken{"a=ssrc", "a=xxxx", "names no SSRC"},
                    Broken{"a=sendonly", "a=inactive", "takes no media section"}));

TEST(RtcSignallingTest, AnHttpAnswerIsTakenApart) {
    const auto answer = HttpAnswer::parse(
        "HTTP/1.1 201 Created\r\ncontent-type: application/sdp\r\nlocation: /rtc/v1/session/x\r\n"
        "\r\nv=0\r\n");
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->status, 201);
    EXPECT_EQ(answer->location, "/rtc/v1/session/x");
    EXPECT_EQ(answer->body, "v=0\r\n");
    const auto refused = HttpAnswer::parse("HTTP/1.1 404 Not Found\r\n\r\nno such stream\r\n");
    ASSERT_TRUE(refused.ok());
    EXPECT_EQ(describe(*refused), "status 404: no such stream");
    EXPECT_FALSE(HttpAnswer::parse("").ok());
    EXPECT_FALSE(HttpAnswer::parse("HTTP/1.1 2x1 Created\r\n\r\n").ok());
    EXPECT_FALSE(HttpAnswer::parse("HTTP/1.1 201 Created\r\n").ok());
}

TEST(RtcSignallingTest, RequestsHaveWhatTheServerNeeds) {
    const std::string post = rtc_post_request("h:80", "/rtc/v1/whep/?app=a", "secret", "v=0");
    EXPECT_TRUE(post.starts_with("POST /rtc/v1/whep/?app=a HTTP/1.1\r\nHost: h:80\r\n"));
    EXPECT_NE(post.find("Authorization: Bearer secret\r\n"), std::string::npos);
    EXPECT_NE(post.find("Content-Length: 3\r\n"), std::string::npos);
    EXPECT_TRUE(post.ends_with("\r\n\r\nv=0"));
    EXPECT_EQ(rtc_post_request("h", "/", "", "").find("Authorization"), std::string::npos);
    EXPECT_TRUE(rtc_delete_request("h", "/s").starts_with("DELETE /s HTTP/1.1\r\n"));
}

}  // namespace
}  // namespace weir::load
