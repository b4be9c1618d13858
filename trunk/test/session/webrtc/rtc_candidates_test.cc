#include "session/webrtc/rtc_candidates.h"

#include <gtest/gtest.h>

namespace weir::session {
namespace {

std::string texts(const Result<RtcCandidates>& chosen) {
    if (!chosen.ok()) {
        return std::string("error: ") + std::string(chosen.error().message());
    }
    std::string text(chosen->source);
    for (const NetAddress& each : chosen->addresses) {
        text += " " + each.to_string();
    }
    return text;
}

TEST(RtcCandidatesTest, OwnVariableThenConfigurationThenTheCommonVariable) {
    const std::vector<NetAddress> none;
    const std::vector<NetAddress> configured = {*NetAddress::parse("192.0.2.1:8000")};
    EXPECT_EQ(texts(choose_candidates(none, nullptr, nullptr)), "interfaces");
    EXPECT_EQ(texts(choose_candidates(none, nullptr, "192.0.2.3:9")), "CANDIDATE 192.0.2.3:9");
    EXPECT_EQ(texts(choose_candidates(configured, nullptr, "192.0.2.3:9")),
              "configuration 192.0.2.1:8000");
    EXPECT_EQ(texts(choose_candidates(configured, "192.0.2.2:9", "192.0.2.3:9")),
              "WEIR_CANDIDATE 192.0.2.2:9");
    EXPECT_EQ(texts(choose_candidates(configured, " ", "")), "configuration 192.0.2.1:8000")
        << "set to nothing is not set";
}

TEST(RtcCandidatesTest, TakesListsAndTheStar) {
    EXPECT_EQ(
        choose_candidates({}, "192.0.2.1, 192.0.2.2:8001 [2001:db8::1]:8000 2001:db8::2", nullptr)
            ->addresses.size(),
        4U);
    EXPECT_EQ(texts(choose_candidates({*NetAddress::parse("192.0.2.1:8000")}, "*", nullptr)),
              "WEIR_CANDIDATE")
        << "the interfaces, whatever is configured";
}

TEST(RtcCandidatesTest, NamesWhatIsWrong) {
    for (const char* wrong :
         {"example.com", "192.0.2.1 192.0.2.256", "0.0.0.0", "[::]:8000", "192.0.2.1:99999"}) {
        const std::string text = texts(choose_candidates({}, wrong, nullptr));
        EXPECT_NE(text.find("error: environment variable WEIR_CANDIDATE: found '"),
                  std::string::npos)
            << text;
    }
    EXPECT_FALSE(choose_candidates({}, std::string(200, '1').c_str(), nullptr).ok());
    std::string many;
    for (int i = 0; i < 40; i++) {
        many += "192.0.2.1 ";
    }
    EXPECT_FALSE(choose_candidates({}, nullptr, many.c_str()).ok());
}

}  // namespace
}  // namespace weir::session
