#include "proto/sdp/codec.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::sdp {
namespace {

using media::Codec;

PayloadFormat format(Codec codec, std::string fmtp = "", uint8_t payload_type = 96) {
    PayloadFormat out;
    out.payload_type = payload_type;
    out.codec = codec;
    out.name = encoding_name_of(codec);
    out.clock_hz = codec == Codec::kOpus ? 48000 : out.name.starts_with("PCM") ? 8000 : 90000;
    out.fmtp = std::move(fmtp);
    return out;
}

PayloadFormat h264(const std::string& id, uint8_t payload_type = 96, int mode = 1) {
    return format(Codec::kH264,
                  "level-asymmetry-allowed=1;packetization-mode=" + std::to_string(mode) +
                      ";profile-level-id=" + id,
                  payload_type);
}

// What Chromium on Linux offers to receive.
const std::vector<PayloadFormat> kChromium = {
    h264("42001f", 102), h264("42001f", 104, 0), h264("42e01f", 108), h264("42e01f", 114, 0),
    h264("4d001f", 116), h264("4d001f", 39, 0),  h264("f4001f", 41),  h264("f4001f", 43, 0),
};

int sent_as(uint32_t profile_level_id, bool lenient = true) {
    const SendChoice choice =
        choose_for_sending({Codec::kH264, profile_level_id, 0, 0}, kChromium, lenient);
    return choice.format ? choice.format->payload_type : -1;
}

TEST(SdpCodecTest, KnowsNamesInAnyCase) {
    for (const Codec codec :
         {Codec::kH264, Codec::kHevc, Codec::kVp8, Codec::kVp9, Codec::kAv1, Codec::kOpus,
          Codec::kG711A, Codec::kG711U, Codec::kG722, Codec::kSpeex}) {
        EXPECT_EQ(codec_of(encoding_name_of(codec)), codec);
    }
    EXPECT_EQ(codec_of("OPUS"), Codec::kOpus);
    EXPECT_EQ(codec_of("h264"), Codec::kH264);
    EXPECT_EQ(codec_of("AV1X"), Codec::kAv1);
    EXPECT_EQ(codec_of("rtx"), Codec::kUnknown);
    EXPECT_EQ(encoding_name_of(Codec::kAac), "");
}

// RFC 6184 §8.1, table 5.
TEST(SdpCodecTest, TellsH264ProfilesApart) {
    const struct {
        uint32_t id;
        H264Profile profile;
    } cases[] = {
        {0x42001f, H264Profile::kBaseline},
        {0x42801f, H264Profile::kBaseline},
        {0x42e01f, H264Profile::kConstrainedBaseline},
        {0x42c015, H264Profile::kConstrainedBaseline},
        {0x4d801f, H264Profile::kConstrainedBaseline},
        {0x58c01f, H264Profile::kConstrainedBaseline},
        {0x58801f, H264Profile::kBaseline},
        {0x58401f, H264Profile::kMain},
        {0x58001f, H264Profile::kUnknown},
        {0x4d001f, H264Profile::kMain},
        {0x4d401f, H264Profile::kMain},
        {0x64001f, H264Profile::kHigh},
        {0x640c1f, H264Profile::kConstrainedHigh},
        {0x6e001f, H264Profile::kHigh10},
        {0x7a001f, H264Profile::kHigh422},
        {0xf4001f, H264Profile::kHigh444},
        {0x2c001f, H264Profile::kUnknown},
    };

    for (const auto& c : cases) {
        EXPECT_EQ(h264_level(c.id).profile, c.profile) << std::hex << c.id;
        EXPECT_EQ(h264_level(c.id).level_idc, static_cast<uint8_t>(c.id));
    }
}

TEST(SdpCodecTest, ReadsProfileLevelIds) {
    EXPECT_EQ(parse_profile_level_id("42E01f"), 0x42e01fu);
    for (const char* bad : {"", "42e01", "42e01ff", "42e01g", "0x42e0", "42e0 f"}) {
        EXPECT_EQ(parse_profile_level_id(bad), std::nullopt) << bad;
    }
}

TEST(SdpCodecTest, KnowsWhichProfileCoversWhich) {
    using P = H264Profile;
    EXPECT_TRUE(h264_decodes(P::kMain, P::kConstrainedBaseline));
    EXPECT_TRUE(h264_decodes(P::kBaseline, P::kConstrainedBaseline));
    EXPECT_TRUE(h264_decodes(P::kHigh, P::kMain));
    EXPECT_TRUE(h264_decodes(P::kHigh, P::kConstrainedHigh));
    EXPECT_TRUE(h264_decodes(P::kHigh444, P::kHigh));
    EXPECT_TRUE(h264_decodes(P::kBaseline, P::kBaseline));
    EXPECT_FALSE(h264_decodes(P::kMain, P::kBaseline));
    EXPECT_FALSE(h264_decodes(P::kConstrainedBaseline, P::kBaseline));
    EXPECT_FALSE(h264_decodes(P::kBaseline, P::kMain));
    EXPECT_FALSE(h264_decodes(P::kMain, P::kHigh));
    EXPECT_FALSE(h264_decodes(P::kConstrainedHigh, P::kMain));
    EXPECT_FALSE(h264_decodes(P::kConstrainedHigh, P::kHigh));
    EXPECT_FALSE(h264_decodes(P::kUnknown, P::kConstrainedBaseline));
    EXPECT_FALSE(h264_decodes(P::kHigh, P::kUnknown));
}

TEST(SdpCodecTest, SendsH264InTheFormatOfItsProfile) {
    EXPECT_EQ(sent_as(0x42e01f), 108);  // Constrained Baseline
    EXPECT_EQ(sent_as(0x42001f), 102);  // Baseline
    EXPECT_EQ(sent_as(0x4d0028), 116);  // Main, of a higher level
    EXPECT_EQ(sent_as(0x640028), 41);   // High: covered by High 4:4:4
    EXPECT_EQ(sent_as(0x6e0028), 41);
    EXPECT_EQ(sent_as(0), 102);         // not known
    EXPECT_EQ(sent_as(0x2c0028), 102);  // CAVLC 4:4:4: nothing covers it
    EXPECT_EQ(sent_as(0x2c0028, false), -1);
}

TEST(SdpCodecTest, NeverSendsH264InPacketizationModeZero) {
    const std::vector<PayloadFormat> offers = {h264("42e01f", 96, 0), h264("42e01f", 97, 2)};
    const SendCodec mine = {Codec::kH264, 0x42e01f, 0, 0};
    EXPECT_EQ(choose_for_sending(mine, offers, true).format, nullptr);
    EXPECT_NE(why_none_fits(mine, offers).find("offer packetization-mode=1"), std::string::npos);
    EXPECT_EQ(why_none_fits({Codec::kVp8, 0, 0, 0}, offers), "");
}

TEST(SdpCodecTest, SendsModeOneWhereNoModeIsSaid) {
    const SendCodec mine = {Codec::kH264, 0x42e01f, 0, 0};
    // GStreamer's whepsrc with the caps that it has by itself.
    const std::vector<PayloadFormat> bare = {format(Codec::kH264)};
    EXPECT_EQ(choose_for_sending(mine, bare, false).fit, Fit::kUnsaidMode);
    EXPECT_EQ(fmtp_for_sending(mine, bare[0]), "packetization-mode=1");
    // A mode that is said comes first: Firefox offers both.
    const std::vector<PayloadFormat> firefox = {
        format(Codec::kH264, "profile-level-id=42e01f;level-asymmetry-allowed=1", 97),
        h264("42e01f", 126)};
    EXPECT_EQ(choose_for_sending(mine, firefox, false).format->payload_type, 126);
    const SendCodec high = {Codec::kH264, 0x640028, 0, 0};
    EXPECT_EQ(choose_for_sending(high, firefox, false).format, nullptr);
    EXPECT_EQ(choose_for_sending(high, firefox, true).format->payload_type, 126);
}

TEST(SdpCodecTest, TakesTheAbsenceOfAProfileAsAny) {
    const std::vector<PayloadFormat> offers = {format(Codec::kH264, "packetization-mode=1")};
    EXPECT_EQ(choose_for_sending({Codec::kH264, 0x640028, 0, 0}, offers, false).fit, Fit::kCovers);
    EXPECT_EQ(fmtp_for_sending({Codec::kH264, 0x640028, 0, 0}, offers[0]), "packetization-mode=1");
}

TEST(SdpCodecTest, ComparesTheProfilesOfOtherCodecs) {
    const auto fit = [](Codec codec, uint8_t profile, const char* fmtp) {
        return fit_for_sending({codec, 0, profile, 0}, format(codec, fmtp));
    };
    EXPECT_EQ(fit(Codec::kVp9, 0, ""), Fit::kExact);
    EXPECT_EQ(fit(Codec::kVp9, 0, "profile-id=2"), Fit::kNone);
    EXPECT_EQ(fit(Codec::kVp9, 2, "profile-id=2"), Fit::kExact);
    EXPECT_EQ(fit(Codec::kVp9, 0, "profile-id=x"), Fit::kNone);
    EXPECT_EQ(fit(Codec::kAv1, 0, ""), Fit::kExact);
    EXPECT_EQ(fit(Codec::kAv1, 0, "profile=1"), Fit::kCovers);
    EXPECT_EQ(fit(Codec::kAv1, 1, "profile=0"), Fit::kNone);
    EXPECT_EQ(fit(Codec::kHevc, 1, "profile-id=1;tx-mode=SRST"), Fit::kExact);
    EXPECT_EQ(fit(Codec::kHevc, 0, ""), Fit::kExact);
    EXPECT_EQ(fit(Codec::kHevc, 1, "profile-id=2"), Fit::kCovers);
    EXPECT_EQ(fit(Codec::kHevc, 2, "profile-id=1"), Fit::kOtherProfile);
    EXPECT_EQ(fit(Codec::kHevc, 1, "tx-mode=MRST"), Fit::kNone);
    EXPECT_EQ(fit(Codec::kHevc, 1, "sprop-max-don-diff=2"), Fit::kNone);
    EXPECT_EQ(fit(Codec::kVp8, 0, "max-fs=12288"), Fit::kExact);
    EXPECT_EQ(fit(Codec::kOpus, 0, ""), Fit::kExact);
    EXPECT_EQ(fit(Codec::kUnknown, 0, ""), Fit::kNone);
    EXPECT_EQ(fit_for_sending({Codec::kVp8, 0, 0, 0}, format(Codec::kVp9)), Fit::kNone);
    PayloadFormat wideband = format(Codec::kG711A);
    wideband.clock_hz = 16000;
    EXPECT_EQ(fit_for_sending({Codec::kG711A, 0, 0, 1}, wideband), Fit::kNone);
}

TEST(SdpCodecTest, ReceivesTheSimplestForm) {
    const auto chosen = [](Codec codec, std::vector<PayloadFormat> offered) {
        const PayloadFormat* best = choose_for_receiving(codec, offered);
        return best ? int{best->payload_type} : -1;
    };
    EXPECT_EQ(chosen(Codec::kH264, kChromium), 102);
    EXPECT_EQ(chosen(Codec::kH264, {h264("42e01f", 96, 0), h264("42e01f", 97, 1)}), 97);
    EXPECT_EQ(chosen(Codec::kH264, {h264("42e01f", 96, 0)}), 96);
    EXPECT_EQ(chosen(Codec::kH264, {h264("42e01f", 96, 2)}), -1);
    EXPECT_EQ(chosen(Codec::kH264, {h264("nonsense", 96, 1)}), -1);
    EXPECT_EQ(chosen(Codec::kVp9, {format(Codec::kVp9, "profile-id=2", 96),
                                   format(Codec::kVp9, "profile-id=0", 97)}),
              97);
    EXPECT_EQ(chosen(Codec::kVp9, {format(Codec::kVp9, "profile-id=2", 96)}), 96);
    EXPECT_EQ(chosen(Codec::kHevc, {format(Codec::kHevc, "tx-mode=MRST")}), -1);
    EXPECT_EQ(chosen(Codec::kHevc,
                     {format(Codec::kHevc, "profile-id=2", 96), format(Codec::kHevc, "", 97)}),
              97);
    EXPECT_EQ(chosen(Codec::kUnknown, {format(Codec::kUnknown)}), -1);
    EXPECT_EQ(chosen(Codec::kOpus, kChromium), -1);
}

TEST(SdpCodecTest, AnswersWithParametersOfTheOffer) {
    EXPECT_EQ(fmtp_for_receiving(h264("640c1f")),
              "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640c34");
    EXPECT_EQ(fmtp_for_receiving(h264("640c3e")),  // level 6.2 stays
              "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640c3e");
    EXPECT_EQ(
        fmtp_for_receiving(format(Codec::kH264, "packetization-mode=1;profile-level-id=42E01F")),
        "packetization-mode=1;profile-level-id=42e01f");
    EXPECT_EQ(fmtp_for_receiving(format(Codec::kH264)), "packetization-mode=0");
    EXPECT_EQ(fmtp_for_sending({Codec::kH264, 0x640028, 0, 0}, h264("f4001f")),
              "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=f4001f");
    EXPECT_EQ(fmtp_for_receiving(format(Codec::kOpus)), "minptime=10;stereo=1;useinbandfec=1");
    EXPECT_EQ(fmtp_for_sending({Codec::kOpus, 0, 0, 1}, format(Codec::kOpus)),
              "minptime=10;useinbandfec=1");
    EXPECT_EQ(fmtp_for_receiving(format(Codec::kVp8, "max-fs=12288;max-fr=60")), "");
    EXPECT_EQ(fmtp_for_receiving(format(Codec::kVp9, "max-fs=1;profile-id=2")), "profile-id=2");
    EXPECT_EQ(fmtp_for_receiving(format(Codec::kAv1, "tier=0;level-idx=5;profile=0;x=\"y\"")),
              "level-idx=5;profile=0;tier=0");
    EXPECT_EQ(fmtp_for_receiving(format(Codec::kHevc, "tx-mode=SRST;profile-id=1;level-id=93")),
              "level-id=93;profile-id=1;tx-mode=SRST");
    EXPECT_EQ(fmtp_for_receiving(format(Codec::kVp9, "profile-id=0 0")), "");
    EXPECT_EQ(fmtp_for_receiving(format(Codec::kG711A)), "");
}

TEST(SdpCodecTest, KnowsStaticPayloadTypes) {
    EXPECT_EQ(static_payload_type(0), (RtpMap{0, "PCMU", 8000, 1}));
    EXPECT_EQ(static_payload_type(8), (RtpMap{8, "PCMA", 8000, 1}));
    EXPECT_EQ(static_payload_type(9), (RtpMap{9, "G722", 8000, 1}));
    EXPECT_EQ(static_payload_type(13), (RtpMap{13, "CN", 8000, 1}));
    EXPECT_EQ(static_payload_type(18), std::nullopt);
}

TEST(SdpCodecTest, KnowsWhatTelephonesHaveBesideTheCodec) {
    PayloadFormat events;
    events.name = "Telephone-Event";
    PayloadFormat noise;
    noise.name = "cn";
    EXPECT_TRUE(is_telephone_event(events) && !is_telephone_event(noise));
    EXPECT_TRUE(is_comfort_noise(noise) && !is_comfort_noise(events));
    EXPECT_EQ(codec_of("telephone-event"), Codec::kUnknown);
    EXPECT_EQ(codec_of("CN"), Codec::kUnknown);
}

// RFC 3551 §4.5.2: 8000 in the description, 16 kHz on the wire.
TEST(SdpCodecTest, TheClockOfG722IsNotItsSampleRate) {
    EXPECT_EQ(sample_rate_of(Codec::kG722, 8000), 16'000U);
    EXPECT_EQ(sample_rate_of(Codec::kSpeex, 16'000), 16'000U);
    PayloadFormat offered = format(Codec::kG722);
    offered.clock_hz = 8000;
    EXPECT_EQ(fit_for_sending({Codec::kG722, 0, 0, 1}, offered), Fit::kExact);
    offered.clock_hz = 16'000;
    EXPECT_EQ(fit_for_sending({Codec::kG722, 0, 0, 1}, offered), Fit::kNone);
}

TEST(SdpCodecTest, SpeexHasThreeClocks) {
    PayloadFormat offered = format(Codec::kSpeex);
    for (const uint32_t clock_hz : {8000U, 16'000U, 32'000U}) {
        offered.clock_hz = clock_hz;
        EXPECT_EQ(choose_for_receiving(Codec::kSpeex, {&offered, 1}), &offered);
        EXPECT_EQ(fmtp_for_receiving(offered), "");
    }
    offered.clock_hz = 44'100;
    EXPECT_EQ(choose_for_receiving(Codec::kSpeex, {&offered, 1}), nullptr);
}

TEST(SdpCodecTest, SpeexAndG722AreOfTelephonyOnly) {
    EXPECT_TRUE(is_telephony_only(Codec::kSpeex) && is_telephony_only(Codec::kG722));
    for (const Codec codec : {Codec::kOpus, Codec::kG711A, Codec::kG711U, Codec::kH264}) {
        EXPECT_FALSE(is_telephony_only(codec));
    }
}

}  // namespace
}  // namespace weir::sdp
