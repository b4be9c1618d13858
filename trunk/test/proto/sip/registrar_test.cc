#include "proto/sip/registrar.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::sip {
namespace {

class RegistrarTest : public testing::Test {
  protected:
    explicit RegistrarTest(RegistrarOptions options = {}) : registrar(options) {}

    Registrar::Answer put(const http::Fields& headers, std::string_view user = "bob") {
        Request request;
        request.method = Method::kRegister;
        request.headers = {{"To", fmt::format("<sip:{}@h:5070;x=y>", user)},
                           {"Call-ID", call_id},
                           {"CSeq", fmt::format("{} REGISTER", ++cseq)}};
        for (const http::Field& field : headers) {
            request.headers.add(field.name, field.value);
        }
        return registrar.on_register(now, request, flow);
    }

    std::vector<std::string> contacts(std::string_view user = "bob") const {
        std::vector<std::string> out;
        for (const Binding* each : registrar.lookup(now, fmt::format("sip:{}@h", user))) {
            out.push_back(each->contact);
        }
        return out;
    }

    using Names = std::vector<std::string>;

    Registrar registrar;
    MonoTime now{Seconds(10)};
    Flow flow{Transport::kTcp, 7, *NetAddress::parse("192.0.2.1:999"), {}};
    std::string call_id = "c";
    uint32_t cseq = 0;
};

TEST_F(RegistrarTest, KeepsContactsAndListsThem) {
    const auto answer = put({{"Contact", "<sip:a@x>;q=0.5;expires=100, <sip:b@x>"}});
    EXPECT_EQ(answer.status, 200);
    ASSERT_EQ(answer.headers.count("Contact"), 2U);
    EXPECT_EQ(answer.headers.get("Contact"), "<sip:b@x>;q=1.000;expires=3600");
    EXPECT_EQ(contacts(), (Names{"sip:b@x", "sip:a@x"}));
    EXPECT_EQ(registrar.lookup(now, "sip:bob@h")[0]->flow, flow);
    EXPECT_EQ(put({}).headers.count("Contact"), 2U);  // a question
    EXPECT_TRUE(contacts("carol").empty());
}

TEST_F(RegistrarTest, ForgetsContactsInTime) {
    put({{"Contact", "<sip:a@x>;expires=100"}, {"Expires", "60"}});
    put({{"Contact", "<sip:b@x>"}, {"Expires", "60"}});
    EXPECT_EQ(registrar.next_timeout(), now + Seconds(60));
    now += Seconds(60);
    EXPECT_EQ(contacts(), Names{"sip:a@x"});
    registrar.handle_timeout(now);
    EXPECT_EQ(registrar.size(), 1U);
    now += Seconds(40);
    registrar.handle_timeout(now);
    EXPECT_EQ(registrar.size(), 0U);
    EXPECT_FALSE(registrar.next_timeout());
}

TEST_F(RegistrarTest, RefreshesAndRemovesAContact) {
    put({{"Contact", "<sip:a@X;transport=tcp>"}});
    put({{"Contact", "<sip:a@x;transport=TCP>;expires=200"}});
    EXPECT_EQ(registrar.size(), 1U);
    EXPECT_EQ(registrar.next_timeout(), now + Seconds(200));
    put({{"Contact", "<sip:a@x;transport=tcp>;expires=0"}});
    EXPECT_EQ(registrar.size(), 0U);
}

TEST_F(RegistrarTest, RemovesAll) {
    put({{"Contact", "<sip:a@x>, <sip:b@x>"}});
    EXPECT_EQ(put({{"Contact", "*"}}).status, 400);
    EXPECT_EQ(put({{"Contact", "*"}, {"Expires", "5"}}).status, 400);
    EXPECT_EQ(put({{"Contact", "*"}, {"Contact", "<sip:a@x>"}, {"Expires", "0"}}).status, 400);
    EXPECT_EQ(registrar.size(), 2U);
    EXPECT_EQ(put({{"Contact", "*"}, {"Expires", "0"}}).status, 200);
    EXPECT_EQ(registrar.size(), 0U);
}

TEST_F(RegistrarTest, RefusesWhatComesOutOfOrder) {
    put({{"Contact", "<sip:a@x>"}});
    cseq -= 1;
    EXPECT_EQ(put({{"Contact", "<sip:a@x>;expires=0"}}).status, 500);
    cseq -= 1;
    EXPECT_EQ(put({{"Contact", "*"}, {"Expires", "0"}}).status, 500);
    EXPECT_EQ(registrar.size(), 1U);
    call_id = "another";  // a phone that has started again
    EXPECT_EQ(put({{"Contact", "<sip:a@x>;expires=0"}}).status, 200);
    EXPECT_EQ(registrar.size(), 0U);
}

TEST_F(RegistrarTest, TakesAllContactsOrNone) {
    EXPECT_EQ(put({{"Contact", "<sip:a@x>, <http://x>"}}).status, 400);
    const auto brief = put({{"Contact", "<sip:a@x>, <sip:b@x>;expires=5"}});
    EXPECT_EQ(brief.status, 423);
    EXPECT_EQ(brief.headers.get("Min-Expires"), "60");
    EXPECT_EQ(registrar.size(), 0U);
}

TEST_F(RegistrarTest, LimitsHowLongAContactStays) {
    put({{"Contact", "<sip:a@x>;expires=999999999999999"}});
    EXPECT_EQ(registrar.next_timeout(), now + Seconds(7200));
}

TEST_F(RegistrarTest, ForgetsWithTheConnection) {
    put({{"Contact", "<sip:a@x>"}});
    flow.connection = 8;
    put({{"Contact", "<sip:b@x>"}});
    registrar.on_connection_closed(7);
    EXPECT_EQ(contacts(), Names{"sip:b@x"});
}

TEST_F(RegistrarTest, KnowsNoAddressWithoutSip) {
    Request request;
    request.headers = {{"To", "<http://x>"}};
    EXPECT_EQ(registrar.on_register(now, request, flow).status, 404);
}

class SmallRegistrarTest : public RegistrarTest {
  protected:
    SmallRegistrarTest() : RegistrarTest(small()) {}

    static RegistrarOptions small() {
        RegistrarOptions out;
        out.max_contacts = 2;
        out.max_bindings = 3;
        return out;
    }
};

TEST_F(SmallRegistrarTest, DropsTheContactThatWouldEndFirst) {
    put({{"Contact", "<sip:a@x>;expires=300"}});
    put({{"Contact", "<sip:b@x>;expires=100"}});
    put({{"Contact", "<sip:c@x>;expires=200"}});
    EXPECT_EQ(contacts(), (Names{"sip:c@x", "sip:a@x"}));
    EXPECT_EQ(put({{"Contact", "<sip:a@x>,<sip:b@x>,<sip:c@x>"}}).status, 400);
}

TEST_F(SmallRegistrarTest, RefusesMoreThanItHolds) {
    EXPECT_EQ(put({{"Contact", "<sip:a@x>, <sip:b@x>"}}).status, 200);
    EXPECT_EQ(put({{"Contact", "<sip:a@x>"}}, "carol").status, 200);
    EXPECT_EQ(put({{"Contact", "<sip:a@x>"}}, "dave").status, 503);
    EXPECT_EQ(registrar.size(), 3U);
}

TEST_F(RegistrarTest, LeavesNothingBehind) {
    for (int i = 0; i < 100; i++) {
        put({{"Contact", "<sip:a@x>"}}, fmt::format("u{}", i));
    }
    size_t seen = 0;
    registrar.for_each([&](const Binding&) { seen++; });
    EXPECT_EQ(seen, 100U);
    EXPECT_EQ(find_object_class("sip_binding")->live(), 100U);
    registrar.handle_timeout(now + Seconds(3600));
    EXPECT_EQ(find_object_class("sip_binding")->live(), 0U);
}

}  // namespace
}  // namespace weir::sip
