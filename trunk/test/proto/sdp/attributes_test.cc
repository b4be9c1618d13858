#include "proto/sdp/attributes.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::sdp {
namespace {

using Strings = std::vector<std::string>;

constexpr Extension kAllExtensions[] = {
    Extension::kMid,          Extension::kRid,
    Extension::kRepairedRid,  Extension::kTransportCc,
    Extension::kAbsSendTime,  Extension::kAbsCaptureTime,
    Extension::kPlayoutDelay, Extension::kDependencyDescriptor,
};

TEST(SdpAttributesTest, TurnsDirectionsRound) {
    for (const Direction direction :
         {Direction::kSendRecv, Direction::kSendOnly, Direction::kRecvOnly, Direction::kInactive}) {
        EXPECT_EQ(parse_direction(to_string(direction)), direction);
        EXPECT_EQ(reversed(reversed(direction)), direction);
        EXPECT_EQ(sends(direction), receives(reversed(direction)));
    }
    EXPECT_EQ(reversed(Direction::kSendOnly), Direction::kRecvOnly);
    EXPECT_EQ(parse_direction("SendOnly"), std::nullopt);
}

TEST(SdpAttributesTest, KnowsTokens) {
    EXPECT_TRUE(is_token("0"));
    EXPECT_TRUE(is_token("video-1.a_b"));
    EXPECT_TRUE(is_token(std::string(kMaxTokenBytes, 'x')));
    for (const std::string& bad : Strings{"", "a b", "a:b", "a/b", "a\xC3\xA4", "a\n", "\"",
                                          std::string(kMaxTokenBytes + 1, 'x')}) {
        EXPECT_FALSE(is_token(bad)) << bad;
    }
}

TEST(SdpAttributesTest, ReadsRtpMaps) {
    EXPECT_EQ(parse_rtpmap("111 opus/48000/2"), (RtpMap{111, "opus", 48000, 2}));
    EXPECT_EQ(parse_rtpmap("96  H264/90000"), (RtpMap{96, "H264", 90000, 1}));
    EXPECT_EQ(parse_rtpmap("9 G722/8000/1"), (RtpMap{9, "G722", 8000, 1}));  // Firefox
    for (const char* bad : {"", "96", "96 ", "128 VP8/90000", "x VP8/90000", "96 VP8", "96 /90000",
                            "96 VP8/0", "96 VP8/x", "96 opus/48000/2/1", "96 opus/48000/0",
                            "96 opus/48000/256", "96 VP8/4294967296"}) {
        EXPECT_EQ(parse_rtpmap(bad), std::nullopt) << bad;
    }
}

TEST(SdpAttributesTest, FindsParameters) {
    constexpr std::string_view kFmtp = "a=1; Packetization-Mode = 1 ;flag;x=a=b;big=99999999999";
    EXPECT_EQ(fmtp_parameter(kFmtp, "packetization-mode"), "1");
    EXPECT_EQ(fmtp_parameter(kFmtp, "flag"), "");
    EXPECT_EQ(fmtp_parameter(kFmtp, "x"), "a=b");
    EXPECT_EQ(fmtp_parameter(kFmtp, "b"), std::nullopt);
    EXPECT_EQ(fmtp_parameter("", "b"), std::nullopt);
    EXPECT_EQ(fmtp_number(kFmtp, "a", 7), 1u);
    EXPECT_EQ(fmtp_number(kFmtp, "none", 7), 7u);
    EXPECT_EQ(fmtp_number(kFmtp, "flag", 7), std::nullopt);
    EXPECT_EQ(fmtp_number(kFmtp, "big", 7), std::nullopt);
    EXPECT_EQ(fmtp_number("apt=200", "apt", 0, 127), std::nullopt);
}

TEST(SdpAttributesTest, ReadsFeedback) {
    Feedback feedback;
    for (const std::string_view text :
         {"nack", "nack pli", "ccm fir", "transport-cc", "goog-remb"}) {
        Feedback one;
        one.add(text);
        EXPECT_EQ(one.texts(), std::vector<std::string_view>{text});
        feedback.add(one);
    }
    EXPECT_EQ(feedback, (Feedback{true, true, true, true, true}));
    Feedback other;
    for (const std::string_view text : {"", "nack rpsi", "nack sli", "ccm tmmbr", "trr-int 100"}) {
        other.add(text);
    }
    EXPECT_EQ(other, Feedback());
    const std::optional<ForPayload> all = parse_for_payload("* nack pli");
    ASSERT_TRUE(all);
    EXPECT_EQ(all->payload_type, std::nullopt);
    EXPECT_EQ(all->text, "nack pli");
    EXPECT_FALSE(parse_for_payload("128 nack"));
    EXPECT_FALSE(parse_for_payload(""));
}

TEST(SdpAttributesTest, NamesEachExtension) {
    for (size_t i = 0; i < kExtensionCount; i++) {
        EXPECT_EQ(static_cast<size_t>(kAllExtensions[i]), i);
        EXPECT_EQ(extension_of(uri_of(kAllExtensions[i])), kAllExtensions[i]);
    }
    EXPECT_EQ(extension_of("urn:3gpp:video-orientation"), std::nullopt);
    ExtensionIds ids;
    EXPECT_FALSE(ids.has(Extension::kMid));
    ids.set(Extension::kMid, 4);
    EXPECT_EQ(ids[Extension::kMid], 4);
    EXPECT_FALSE(ids.has(Extension::kRid));
}

TEST(SdpAttributesTest, ReadsExtensionMaps) {
    const std::optional<ExtMap> plain = parse_extmap("4 urn:x");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->id, 4u);
    EXPECT_EQ(plain->uri, "urn:x");
    EXPECT_EQ(plain->direction, std::nullopt);
    const std::optional<ExtMap> one_way = parse_extmap("255/recvonly urn:x attributes follow");
    ASSERT_TRUE(one_way);
    EXPECT_EQ(one_way->id, 255u);
    EXPECT_EQ(one_way->uri, "urn:x");
    EXPECT_EQ(one_way->direction, Direction::kRecvOnly);
    for (const char* bad :
         {"", "4", "0 urn:x", "x urn:x", "4/ urn:x", "4/both urn:x", "65536 urn:x"}) {
        EXPECT_FALSE(parse_extmap(bad)) << bad;
    }
}

TEST(SdpAttributesTest, ReadsAndWritesFingerprints) {
    std::string hex;
    for (int i = 0; i < 32; i++) {
        hex += i == 0 ? "0A" : ":fE";
    }
    const std::optional<Fingerprint> fingerprint = parse_fingerprint("SHA-256 " + hex);
    ASSERT_TRUE(fingerprint);
    EXPECT_EQ(fingerprint->hash, "sha-256");
    EXPECT_EQ(fingerprint->bytes.size(), 32u);
    EXPECT_EQ(fingerprint->bytes[0], 0x0A);
    EXPECT_EQ(fingerprint->bytes[31], 0xFE);
    EXPECT_EQ(parse_fingerprint(write_fingerprint(*fingerprint)), fingerprint);
    EXPECT_EQ(write_fingerprint(*fingerprint).substr(0, 13), "sha-256 0A:FE");
    for (size_t size = 0; size < hex.size(); size++) {
        EXPECT_FALSE(parse_fingerprint("sha-256 " + hex.substr(0, size))) << size;
    }
    for (const std::string& bad :
         Strings{hex, "sha-1 " + hex, "sha-256 " + hex + ":00", "sha-256 " + hex + " x",
                 "sha-256 0G" + hex.substr(2), "sha-256 0A-" + hex.substr(3)}) {
        EXPECT_FALSE(parse_fingerprint(bad)) << bad;
    }
    EXPECT_TRUE(parse_fingerprint("md5 00:11"));  // known by its name only, and refused later
}

TEST(SdpAttributesTest, ReadsSetup) {
    using S = sdp::Setup;  // testing::Test has a name like it
    for (const S setup : {S::kActPass, S::kActive, S::kPassive, S::kHoldConn}) {
        EXPECT_EQ(parse_setup(to_string(setup)), setup);
    }
    EXPECT_EQ(parse_setup("other"), std::nullopt);
}

TEST(SdpAttributesTest, ReadsSsrcsAndTheirGroups) {
    EXPECT_EQ(parse_ssrc("4294967295 cname:x"), 4294967295u);
    EXPECT_EQ(parse_ssrc("4294967296 cname:x"), std::nullopt);
    const std::optional<SsrcGroup> group = parse_ssrc_group("FID 1 2");
    ASSERT_TRUE(group);
    EXPECT_EQ(group->semantics, "FID");
    EXPECT_EQ(group->ssrcs, (std::vector<uint32_t>{1, 2}));
    EXPECT_FALSE(parse_ssrc_group("FID"));
    EXPECT_FALSE(parse_ssrc_group("FID 1 x"));
    std::string many = "SIM";
    for (size_t i = 0; i < kMaxSsrcsInGroup; i++) {
        many += " 1";
    }
    EXPECT_TRUE(parse_ssrc_group(many));
    EXPECT_FALSE(parse_ssrc_group(many + " 1"));
}

TEST(SdpAttributesTest, ReadsRestrictionIdentifiers) {
    EXPECT_EQ(parse_rid("h send"), (Rid{"h", true, {}}));
    EXPECT_EQ(parse_rid("1 recv max-width=1280;pt=96,97"), (Rid{"1", false, {96, 97}}));
    for (const std::string& bad :
         Strings{"", "h", "h both", "a:b send", "h send pt=x", "h send pt=96,128",
                 std::string(kMaxRidBytes + 1, 'h') + " send"}) {
        EXPECT_EQ(parse_rid(bad), std::nullopt) << bad;
    }
}

TEST(SdpAttributesTest, ReadsSimulcast) {
    EXPECT_EQ(parse_simulcast("send h;m;l", "send"), (Strings{"h", "m", "l"}));
    EXPECT_EQ(parse_simulcast("send 1,~4;2;3 recv c", "send"), (Strings{"1", "2", "3"}));
    EXPECT_EQ(parse_simulcast("send 1,~4;2;3 recv c", "recv"), (Strings{"c"}));
    EXPECT_EQ(parse_simulcast("recv ~a;;b c", "recv"), (Strings{"a", "b"}));
    EXPECT_EQ(parse_simulcast("send a", "recv"), Strings{});
    EXPECT_EQ(parse_simulcast("", "send"), Strings{});
    EXPECT_EQ(parse_simulcast("send", "send"), Strings{});
    EXPECT_EQ(parse_simulcast("send 1;2;3;4;5;6;7;8;9;10;11", "send").size(), kMaxSimulcastStreams);
}

TEST(SdpAttributesTest, FindsTheBundle) {
    EXPECT_EQ(find_bundle({{"group", "LS 0 1"}, {"group", "BUNDLE 0  a"}}), (Strings{"0", "a"}));
    EXPECT_EQ(find_bundle({{"group", "BUNDLE"}}), Strings{});
    EXPECT_EQ(find_bundle({{"group", "LS 0 1"}}), std::nullopt);
}

}  // namespace
}  // namespace weir::sdp
