#include "proto/sdp/ice_fragment.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/sdp/media_offer.h"

namespace weir::sdp {
namespace {

// The form of RFC 9725 §4.3.2: candidates for a bundle, sent for its first section.
constexpr std::string_view kTrickle =
    "a=group:BUNDLE 0 1\r\n"
    "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"
    "a=mid:0\r\n"
    "a=ice-ufrag:EsAw\r\n"
    "a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\n"
    "a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0\r\n"
    "a=candidate:3471623853 1 udp 2122194687 198.51.100.2 61765 typ host generation 0\r\n"
    "a=end-of-candidates\r\n";

IceFragment parse_or_die(std::string_view text) {
    Result<IceFragment> fragment = IceFragment::parse(text);
    EXPECT_TRUE(fragment.ok()) << fragment.error().to_string();
    return fragment.ok() ? std::move(fragment).value() : IceFragment();
}

std::string error_of(std::string_view text) {
    const Result<IceFragment> fragment = IceFragment::parse(text);
    return fragment.ok() ? "" : fragment.error().to_string();
}

TEST(SdpIceFragmentTest, ReadsTrickledCandidates) {
    const IceFragment fragment = parse_or_die(kTrickle);
    EXPECT_EQ(fragment.bundle, (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(fragment.media_line, "audio 9 UDP/TLS/RTP/SAVPF 111");
    EXPECT_EQ(fragment.mid, "0");
    EXPECT_EQ(fragment.ice_ufrag, "EsAw");
    EXPECT_EQ(fragment.ice_pwd, "P2uYro0UCOQ4zxjKXaWCBui1");
    ASSERT_EQ(fragment.candidates.size(), 2u);
    EXPECT_EQ(fragment.candidates[0],
              "1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0");
    EXPECT_TRUE(fragment.end_of_candidates);
    EXPECT_FALSE(fragment.ice_lite || fragment.trickle);
}

TEST(SdpIceFragmentTest, WritesTheSameBytes) {
    EXPECT_EQ(parse_or_die(kTrickle).write(), kTrickle);
}

TEST(SdpIceFragmentTest, WritesTheAnswerToARestart) {
    const IceFragment request = parse_or_die(
        "a=ice-options:trickle ice2\r\n"
        "a=group:BUNDLE 0 1\r\n"
        "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n"
        "a=mid:0\r\n"
        "a=ice-ufrag:ysXw\r\n"
        "a=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n");
    LocalTransport local;
    local.ice_ufrag = "289b31b754eaa438";
    local.ice_pwd = "0b66f472495ef0ccac7bda653ab6be49ea13114472a5d10a";
    local.candidates = {"1 1 udp 2130706431 198.51.100.1 39132 typ host"};
    const IceFragment answer = answer_restart(request, local);
    EXPECT_EQ(answer.write(),
              "a=ice-lite\r\na=ice-options:trickle\r\na=group:BUNDLE 0 1\r\n"
              "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=ice-ufrag:289b31b754eaa438\r\n"
              "a=ice-pwd:0b66f472495ef0ccac7bda653ab6be49ea13114472a5d10a\r\n"
              "a=candidate:1 1 udp 2130706431 198.51.100.1 39132 typ host\r\n"
              "a=end-of-candidates\r\n");
    EXPECT_EQ(parse_or_die(answer.write()), answer);
}

// RFC 8840 §9.1 puts the credentials at session level.
TEST(SdpIceFragmentTest, JoinsSectionsAndLevels) {
    const IceFragment fragment = parse_or_die(
        "a=ice-ufrag:EsAw\n"
        "a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\n"
        "m=audio 9 RTP/AVP 0\n"
        "a=mid:a\n"
        "a=candidate:1 1 udp 1 192.0.2.1 1 typ host\n"
        "m=video 9 RTP/AVP 0\n"
        "a=mid:b\n"
        "a=ice-ufrag:other\n"
        "a=candidate:1 1 udp 1 192.0.2.1 1 typ host\n"
        "a=candidate:2 1 udp 1 192.0.2.2 1 typ host\n");
    EXPECT_EQ(fragment.mid, "a");
    EXPECT_EQ(fragment.ice_ufrag, "EsAw");
    EXPECT_EQ(fragment.candidates.size(), 2u);
    EXPECT_FALSE(fragment.end_of_candidates);
}

TEST(SdpIceFragmentTest, TakesTheEndAlone) {
    EXPECT_TRUE(parse_or_die("a=end-of-candidates\r\n").end_of_candidates);
    EXPECT_EQ(parse_or_die("a=candidate:x\r\n").candidates.size(), 1u);
}

TEST(SdpIceFragmentTest, SaysWhatIsWrong) {
    EXPECT_EQ(error_of(""), "malformed: neither credentials nor candidates");
    EXPECT_EQ(error_of("a=mid:0\r\n"), "malformed: neither credentials nor candidates");
    EXPECT_EQ(error_of("hello"), "malformed: line 1: not of the form x=value");
    EXPECT_EQ(error_of("a=ice-ufrag:EsAw\r\n"),
              "malformed: a=ice-ufrag and a=ice-pwd come together");
    EXPECT_EQ(error_of("a=x:1\r\na=ice-pwd:short\r\n"),
              "malformed: line 2: a=ice-pwd is not 22 to 256 ice characters");
    EXPECT_EQ(error_of("m=audio\r\n"),
              "malformed: line 1: m= needs a kind, a port, a protocol and a format");
    EXPECT_EQ(error_of("a=mid:a b\r\n"), "malformed: line 1: a=mid is no token");
}

TEST(SdpIceFragmentTest, BoundsCandidates) {
    std::string text;
    for (size_t i = 0; i < kMaxCandidates; i++) {
        text += "a=candidate:" + std::to_string(i) + "\r\n";
    }
    EXPECT_EQ(error_of(text), "");
    EXPECT_EQ(error_of(text + "a=candidate:x\r\n"),
              "limit: line 65: more or longer candidates than are taken");
    EXPECT_EQ(error_of("a=candidate:" + std::string(kMaxCandidateBytes + 1, 'x')),
              "limit: line 1: more or longer candidates than are taken");
    EXPECT_EQ(error_of(std::string(70000, 'x')), "limit: 70000 bytes; at most 65536 are read");
}

TEST(SdpIceFragmentTest, SurvivesEveryTruncation) {
    for (size_t size = 0; size < kTrickle.size(); size++) {
        const Result<IceFragment> fragment = IceFragment::parse(kTrickle.substr(0, size));
        if (fragment.ok()) {
            EXPECT_EQ(parse_or_die(fragment->write()), *fragment) << size;
        }
    }
}

}  // namespace
}  // namespace weir::sdp
