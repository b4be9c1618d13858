#include "session/srt/srt_rules.h"

#include <gtest/gtest.h>

#include "net/source/source_url.h"
#include "session/srt/srt_call.h"

namespace weir::session {
namespace {

SrtVhost vhost(std::string name, std::string passphrase, bool enabled = true) {
    SrtVhost out;
    out.name = std::move(name);
    out.enabled = enabled;
    out.options.passphrase = std::move(passphrase);
    return out;
}

class SrtRulesTest : public testing::Test {
  protected:
    const SrtRules rules_{{vhost("", "default-secret"), vhost("a.example", "secret-of-a"),
                           vhost("off.example", "", false)}};
};

TEST_F(SrtRulesTest, TheVhostHasThePassphrase) {
    EXPECT_EQ(rules_.decide("live/cam").options.passphrase, "default-secret");
    EXPECT_EQ(rules_.decide("#!::r=live/cam,h=A.example").options.passphrase, "secret-of-a");
    EXPECT_EQ(rules_.decide("live/cam?vhost=a.example").options.passphrase, "secret-of-a");
    EXPECT_EQ(rules_.decide("#!::r=live/cam,h=other").options.passphrase, "default-secret");
}

TEST_F(SrtRulesTest, RefusesWhatNamesNoStreamAndVhostsThatAreDisabled) {
    EXPECT_EQ(rules_.decide("").reject, io::kSrtBadRequest);
    EXPECT_EQ(rules_.decide("cam").reject, io::kSrtBadRequest);
    EXPECT_EQ(rules_.decide("#!::m=fly").reject, io::kSrtBadRequest);
    EXPECT_EQ(rules_.decide("#!::r=live/cam,h=off.example").reject, io::kSrtForbidden);
}

TEST_F(SrtRulesTest, OnlyACallerThatSaysThatItPlaysSendsNothing) {
    EXPECT_FALSE(rules_.decide("#!::r=live/cam,m=request").receives);
    EXPECT_FALSE(rules_.decide("read:live/cam").receives);
    EXPECT_TRUE(rules_.decide("#!::r=live/cam,m=publish").receives);
    EXPECT_TRUE(rules_.decide("live/cam").receives) << "who sends publishes";
}

TEST(SrtDefaultStreamTest, IsThatOfCallersThatNameNone) {
    const SrtRules rules({vhost("", ""), vhost("a.example", "secret-of-a")}, "live/x");
    for (const char* text : {"", "#!::m=publish", "#!::bmd_uuid=1", "#!::h=a.example,m=request"}) {
        const Result<srt::StreamId> id = rules.read(text);
        ASSERT_TRUE(id.ok()) << text;
        EXPECT_EQ(id->resource, "live/x") << text;
        EXPECT_EQ(rules.decide(text).reject, 0) << text;
    }
    EXPECT_EQ(rules.read("")->mode, srt::StreamMode::kNone) << "whoever sends publishes";
    EXPECT_EQ(rules.read("live/cam")->resource, "live/cam");
    EXPECT_EQ(rules.decide("#!::h=a.example").options.passphrase, "secret-of-a");
    EXPECT_EQ(rules.decide("cam").reject, io::kSrtBadRequest) << "it names something, not a stream";
}

io::SrtOptions options_of(std::string_view text) {
    const Result<net::SourceUrl> url = net::SourceUrl::parse(text);
    EXPECT_TRUE(url.ok()) << text;
    const auto options = srt_options_of(url.value(), srt::StreamMode::kRequest);
    EXPECT_TRUE(options.ok()) << text;
    return options.ok() ? *options : io::SrtOptions();
}

TEST(SrtCallTest, TheUrlSaysHowToCall) {
    const io::SrtOptions options =
        options_of("srt://h:9000/live/cam?passphrase=0123456789&pbkeylen=32&latency=500&key=k");
    EXPECT_EQ(options.stream_id, "#!::r=live/cam,key=k,m=request");
    EXPECT_EQ(options.passphrase, "0123456789");
    EXPECT_EQ(options.key_bytes, 32);
    EXPECT_EQ(options.latency, Millis(500));
    EXPECT_EQ(options_of("srt://h:9000?streamid=%23!::r=a/b").stream_id, "#!::r=a/b");
}

TEST(SrtCallTest, RefusesNamesThatWouldBeMoreThanAName) {
    for (const char* text : {"srt://h/live/cam,m=publish", "srt://h/live/{a",
                             "srt://h/live/a?key=a%2Cb", "srt://h/live/a?vhost=v%2Cu=x"}) {
        const auto url = net::SourceUrl::parse(text);
        ASSERT_TRUE(url.ok()) << text;
        const auto options = srt_options_of(*url, srt::StreamMode::kRequest);
        ASSERT_FALSE(options.ok()) << text;
        EXPECT_EQ(options.error().code(), ErrorCode::kMalformed) << text;
    }
}

TEST(SrtCallTest, RefusesWhatIsNotPossible) {
    for (const char* query : {"passphrase=short", "pbkeylen=17", "latency=x", "latency=90000"}) {
        const auto url = net::SourceUrl::parse(std::string("srt://h/live/cam?") + query);
        ASSERT_TRUE(url.ok());
        EXPECT_FALSE(srt_options_of(*url, srt::StreamMode::kRequest).ok()) << query;
    }
}

}  // namespace
}  // namespace weir::session
