#include "proto/sip/uri.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir::sip {
namespace {

SipUri uri_of(std::string_view text) {
    const std::optional<SipUri> uri = SipUri::parse(text);
    EXPECT_TRUE(uri) << text;
    return uri.value_or(SipUri());
}

TEST(SipUriTest, ReadsAllParts) {
    const SipUri uri =
        uri_of("sips:alice:s%20c@Atlanta.COM:5071;transport=tcp;lr?subject=a%20b&x=");
    EXPECT_EQ(uri.scheme, Scheme::kSips);
    EXPECT_EQ(uri.user, "alice");
    EXPECT_EQ(uri.password, "s c");
    EXPECT_EQ(uri.host, "atlanta.com");
    EXPECT_EQ(uri.port, 5071);
    EXPECT_EQ(uri.parameters.get("Transport"), "tcp");
    EXPECT_TRUE(uri.parameters.has("lr"));
    ASSERT_EQ(uri.headers.size(), 2U);
    EXPECT_EQ(uri.headers[0], (UriHeader{"subject", "a b"}));
    EXPECT_EQ(uri.headers[1], (UriHeader{"x", ""}));
}

TEST(SipUriTest, WritesWhatItHasRead) {
    for (const std::string_view text :
         {"sip:example.com", "sip:a@[2001:db8::1]:5060;maddr=[::1]", "sips:a:b%3A@h;lr?x=y",
          "tel:+1-201-555-0123;phone-context=example.com", "sip:%00-null@h",
          "sip:user;par=u%40example.net@example.com", "sip:a%25b@h"}) {
        const SipUri uri = uri_of(text);
        EXPECT_EQ(uri_of(uri.write()), uri) << text;
    }
    EXPECT_EQ(uri_of("sip:alice@h:5071;lr").write(), "sip:alice@h:5071;lr");
    EXPECT_EQ(uri_of("sip:user;par=u%40example.net@example.com").write(),
              "sip:user;par=u%40example.net@example.com");
}

TEST(SipUriTest, ShowsNoPasswordInPublic) {
    EXPECT_EQ(uri_of("sip:a:secret@h;lr?x=secret").write_public(), "sip:a@h;lr");
    EXPECT_EQ(uri_of("sip:a:b@h").write(), "sip:a:b@h");
}

TEST(SipUriTest, RefusesWhatIsMalformed) {
    for (const std::string_view text : {"",
                                        "sip:",
                                        "http://h",
                                        "sip:@h",
                                        "sip:a@",
                                        "sip:a@h:",
                                        "sip:a@h:0",
                                        "sip:a@h:65536",
                                        "sip:a@h:x",
                                        "sip:a b@h",
                                        "sip:a@h;a=%zz",
                                        "sip:%1@h",
                                        "sip:a@h;",
                                        "sip:a@h?x",
                                        "sip:[2001:db8::10",
                                        "sip:2001:db8::10",
                                        "sip:[1.2.3.4]",
                                        "<sip:a@h>",
                                        "sip:a@h\r\n",
                                        "tel:",
                                        "tel:a+x",
                                        "sip:a@h;=b",
                                        "mailto:a@h",
                                        "sip:a@h^"}) {
        EXPECT_FALSE(SipUri::parse(text)) << text;
    }
    EXPECT_FALSE(SipUri::parse("sip:" + std::string(kMaxUriBytes, 'a')));
    std::string parameters = "sip:h";
    for (size_t i = 0; i <= kMaxParameters; i++) {
        parameters += ";a" + std::to_string(i);
    }
    EXPECT_FALSE(SipUri::parse(parameters));
}

// The pairs of RFC 3261 §19.1.4.
TEST(SipUriTest, ComparesAsTheStandardSays) {
    const auto same = [](std::string_view a, std::string_view b) {
        return uri_of(a).equivalent(uri_of(b)) && uri_of(b).equivalent(uri_of(a));
    };
    EXPECT_TRUE(
        same("sip:%61lice@atlanta.com;transport=TCP", "sip:alice@AtLanTa.CoM;Transport=tcp"));
    EXPECT_TRUE(same("sip:carol@chicago.com", "sip:carol@chicago.com;newparam=5"));
    EXPECT_TRUE(same("sip:carol@chicago.com;security=on", "sip:carol@chicago.com;newparam=5"));
    EXPECT_TRUE(same("sip:b@biloxi.com;transport=tcp;method=REGISTER?to=sip:bob%40biloxi.com",
                     "sip:b@biloxi.com;method=REGISTER;transport=tcp?to=sip:bob%40biloxi.com"));
    EXPECT_TRUE(same("sip:a@h?subject=x&priority=y", "sip:a@h?priority=y&subject=x"));
    EXPECT_FALSE(same("sip:alice@atlanta.com", "sip:ALICE@atlanta.com"));
    EXPECT_FALSE(same("sip:bob@biloxi.com", "sip:bob@biloxi.com:5060"));
    EXPECT_FALSE(same("sip:bob@biloxi.com", "sip:bob@biloxi.com;transport=udp"));
    EXPECT_FALSE(same("sip:bob@biloxi.com", "sip:bob@biloxi.com:6000;transport=tcp"));
    EXPECT_FALSE(same("sip:carol@chicago.com", "sip:carol@chicago.com?Subject=next"));
    EXPECT_FALSE(same("sip:carol@chicago.com;security=on", "sip:carol@chicago.com;security=off"));
    EXPECT_FALSE(same("sip:a@h", "sips:a@h"));
    EXPECT_TRUE(same("tel:+1-201-555", "tel:+1(201)555"));
    EXPECT_FALSE(same("tel:1", "tel:2"));
}

TEST(SipUriTest, GivesTheAddressOfRecord) {
    EXPECT_EQ(uri_of("sips:Bob:x@Example.COM:5061;lr?a=b").address_of_record(),
              "sip:Bob@example.com");
    EXPECT_EQ(uri_of("sip:example.com").address_of_record(), "sip:example.com");
    EXPECT_EQ(uri_of("tel:+1-2").address_of_record(), "tel:+12");
}

TEST(SipUriTest, KnowsThePortWhereNoneIsWritten) {
    EXPECT_EQ(uri_of("sip:h").port_or_default(), 5060);
    EXPECT_EQ(uri_of("sips:h").port_or_default(), 5061);
    EXPECT_EQ(uri_of("sips:h:9").port_or_default(), 9);
}

TEST(SipParametersTest, ReadsQuotedValuesOfAHeader) {
    const auto read = Parameters::parse_of_header(R"( ; a = "x\"y;z" ;b ; c=[::1]:5)");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->get("A"), "x\"y;z");
    EXPECT_TRUE(read->has("b"));
    EXPECT_EQ(read->get("c"), "[::1]:5");
    EXPECT_EQ(read->write_for_header(), R"(;a="x\"y;z";b;c=[::1]:5)");
    for (const std::string_view bad : {"a", ";", ";;a", ";a=\"x", ";a=\"x\"y", ";a b", ";a=b c"}) {
        EXPECT_FALSE(Parameters::parse_of_header(bad)) << bad;
    }
}

TEST(SipParametersTest, ReplacesAndRemoves) {
    Parameters parameters;
    parameters.set("tag", "a");
    parameters.set("TAG", "b");
    parameters.set_flag("lr");
    EXPECT_EQ(parameters.write_for_uri(), ";tag=b;lr");
    EXPECT_EQ(parameters.number("tag", 9), std::nullopt);
    parameters.remove("Tag");
    EXPECT_EQ(parameters.write_for_uri(), ";lr");
}

}  // namespace
}  // namespace weir::sip
