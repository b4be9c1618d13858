#include "proto/sdp/description.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "test/proto/sdp/support.h"

namespace weir::sdp {
namespace {

using test::kPlayers;
using test::kPublishers;
using test::parse_or_die;
using test::read_offer;

// The example of RFC 8866 §5, without its i, u, e, p lines.
constexpr std::string_view kExample =
    "v=0\r\n"
    "o=jdoe 3724394400 3724394405 IN IP4 198.51.100.1\r\n"
    "s=Call to John Smith\r\n"
    "c=IN IP4 198.51.100.1\r\n"
    "t=0 0\r\n"
    "m=audio 49170 RTP/AVP 0\r\n"
    "m=audio 49180 RTP/AVP 0\r\n"
    "m=video 51372 RTP/AVP 99\r\n"
    "c=IN IP6 2001:db8::2\r\n"
    "a=rtpmap:99 h263-1998/90000\r\n";

std::string error_of(std::string_view text) {
    const Result<Session> session = Session::parse(text);
    return session.ok() ? "" : session.error().to_string();
}

TEST(SdpDescriptionTest, ReadsTheExampleOfTheRfc) {
    const Session session = parse_or_die(kExample);
    EXPECT_EQ(session.origin, "jdoe 3724394400 3724394405 IN IP4 198.51.100.1");
    EXPECT_EQ(session.name, "Call to John Smith");
    EXPECT_EQ(session.connection, "IN IP4 198.51.100.1");
    EXPECT_TRUE(session.attributes.empty());
    ASSERT_EQ(session.media.size(), 3u);
    EXPECT_EQ(session.media[1].port, 49180);
    EXPECT_EQ(session.media[1].protocol, "RTP/AVP");
    EXPECT_EQ(session.media[2].kind, "video");
    EXPECT_EQ(session.media[2].formats, std::vector<std::string>{"99"});
    EXPECT_EQ(session.media[2].connection, "IN IP6 2001:db8::2");
    EXPECT_EQ(find_attribute(session.media[2].attributes, "rtpmap"), "99 h263-1998/90000");
    EXPECT_EQ(find_attribute(session.media[2].attributes, "fmtp"), std::nullopt);
}

TEST(SdpDescriptionTest, WritesTheSameBytes) {
    EXPECT_EQ(parse_or_die(kExample).write(), kExample);
}

TEST(SdpDescriptionTest, TakesEveryLineEnding) {
    const Session expected = parse_or_die(kExample);
    for (const std::string_view end : {"\n", "\r", "\n\n", "  \r\n", "\r\n\r\n"}) {
        EXPECT_EQ(parse_or_die(test::replaced(std::string(kExample), "\r\n", end)), expected)
            << end;
    }
    std::string unfinished(kExample);
    unfinished.resize(unfinished.size() - 2);
    EXPECT_EQ(parse_or_die(unfinished), expected);
}

TEST(SdpDescriptionTest, IgnoresLinesOfNoUseAndFillsWhatIsMissing) {
    const Session session =
        parse_or_die("v=0\r\ni=info\r\nz=0 0\r\nQ=what\r\nm=audio 9/2 A 0\r\nk=x\r\n");
    EXPECT_EQ(session.name, "-");
    EXPECT_EQ(session.time, "0 0");
    ASSERT_EQ(session.media.size(), 1u);
    EXPECT_EQ(session.media[0].port, 9);
}

TEST(SdpDescriptionTest, ReadsWhatItWritesOfEveryStoredOffer) {
    for (const auto* names : {&kPublishers, &kPlayers}) {
        for (const std::string& name : *names) {
            const Session session = parse_or_die(read_offer(name));
            EXPECT_GE(session.media.size(), 2u) << name;
            EXPECT_EQ(parse_or_die(session.write()), session) << name;
        }
    }
}

TEST(SdpDescriptionTest, TrimsNamesAndValues) {
    const Session session =
        parse_or_die("v=0\r\na=rtcp-fb:96 nack \r\na=msid-semantic: WMS x\r\na=x:\r\n");
    ASSERT_EQ(session.attributes.size(), 3u);
    EXPECT_EQ(session.attributes[0].value, "96 nack");
    EXPECT_EQ(session.attributes[1].value, "WMS x");
    EXPECT_EQ(session.attributes[2], (Attribute{"x", ""}));
}

TEST(SdpDescriptionTest, SaysWhatIsWrongAndWhere) {
    EXPECT_EQ(error_of(""), "malformed: an empty session description");
    EXPECT_EQ(error_of("\r\n\r\n"), "malformed: an empty session description");
    EXPECT_EQ(error_of("{\"sdp\":1}"), "malformed: line 1: not of the form x=value");
    EXPECT_EQ(error_of("v=1\r\n"), "malformed: not SDP: it does not begin with v=0");
    EXPECT_EQ(error_of("o=x\r\nv=0\r\n"), "malformed: not SDP: it does not begin with v=0");
    EXPECT_EQ(error_of("v=0\r\nm=audio 9 RTP/AVP\r\n"),
              "malformed: line 2: m= needs a kind, a port, a protocol and a format");
    EXPECT_EQ(error_of("v=0\r\nm=audio 65536 RTP/AVP 0\r\n"),
              "malformed: line 2: m= has no valid port");
    EXPECT_EQ(error_of("v=0\r\n\r\na=:x\r\n"), "malformed: line 3: a= without a name");
    EXPECT_EQ(error_of(std::string_view("v=0\r\na=x\0y\r\n", 12)),
              "malformed: line 2: control characters");
}

TEST(SdpDescriptionTest, SkipsBrokenLinesWhereThatIsAskedFor) {
    constexpr std::string_view kText =
        "v=0\r\nwhat\r\na=:x\r\nm=audio 9 RTP/AVP\r\na=of-the-broken\r\nm=video x RTP/AVP 96\r\n"
        "a=of-the-video\r\n";
    EXPECT_EQ(error_of(kText), "malformed: line 2: not of the form x=value");
    const Result<Session> read = Session::parse(kText, BrokenLines::kSkip);
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(read->attributes.empty());
    ASSERT_EQ(read->media.size(), 2U);
    EXPECT_EQ(read->media[0].kind, "audio");
    EXPECT_TRUE(read->media[0].formats.empty());
    EXPECT_TRUE(has_attribute(read->media[0].attributes, "of-the-broken"));
    EXPECT_EQ(read->media[1].formats, std::vector<std::string>{"96"});
    EXPECT_EQ(read->media[1].port, 0);
    const Result<Session> none = Session::parse("what\r\n", BrokenLines::kSkip);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().to_string(), "malformed: not SDP: neither v=0 nor an m= line");
}

TEST(SdpDescriptionTest, BoundsEverything) {
    std::string text = "v=0\r\n";
    for (size_t i = 0; i < kMaxMedia; i++) {
        text += "m=audio 9 RTP/AVP 0\r\n";
    }
    EXPECT_EQ(error_of(text), "");
    EXPECT_EQ(error_of(text + "m=audio 9 RTP/AVP 0\r\n"), "limit: line 34: more than 32 media");
    EXPECT_EQ(error_of("v=0\r\na=" + std::string(kMaxLineBytes - 2, 'x')), "");
    EXPECT_EQ(error_of("v=0\r\na=" + std::string(kMaxLineBytes - 1, 'x')),
              "limit: line 2: too long");
    EXPECT_EQ(error_of(std::string(kMaxTextBytes + 1, 'x')),
              "limit: 65537 bytes of SDP; at most 65536 are read");
    std::string lines = "v=0\n";
    for (size_t i = 1; i < kMaxLines; i++) {
        lines += "a=x\n";
    }
    EXPECT_EQ(error_of(lines), "");
    EXPECT_EQ(error_of(lines + "a=x\n"), "limit: line 3001: too many lines");
    std::string formats = "v=0\r\nm=audio 9 RTP/AVP";
    for (size_t i = 0; i < kMaxFormats; i++) {
        formats += " 0";
    }
    EXPECT_EQ(error_of(formats), "");
    EXPECT_EQ(error_of(formats + " 0"), "limit: line 2: more than 128 formats");
    EXPECT_EQ(error_of(formats + " 0 0 0 0 0 0 0 0 0 0"), "limit: line 2: more than 128 formats");
}

TEST(SdpDescriptionTest, BlanksInAnMLineMayBeMany) {
    const std::string blanks(500, ' ');
    const Session session =
        parse_or_die("v=0\r\nm=audio " + blanks + " 9 RTP/AVP" + blanks + "0" + blanks + "8\r\n");
    ASSERT_EQ(session.media.size(), 1U);
    EXPECT_EQ(session.media[0].formats, (std::vector<std::string>{"0", "8"}));
}

TEST(SdpDescriptionTest, SurvivesEveryTruncation) {
    const std::string text = read_offer("libdatachannel-whip");
    for (size_t size = 0; size < text.size(); size++) {
        const Result<Session> session = Session::parse(std::string_view(text).substr(0, size));
        if (session.ok()) {
            EXPECT_EQ(parse_or_die(session->write()), *session) << size;
        }
    }
}

}  // namespace
}  // namespace weir::sdp
