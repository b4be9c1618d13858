#include "proto/sip/info_body.h"

#include <string>

#include <gtest/gtest.h>

namespace weir::sip {
namespace {

TEST(InfoBodyTest, ReadsWhatIsUsualForDigits) {
    struct Case {
        std::string_view type;
        std::string_view body;
        char digit;  // 0: none
        int duration_ms = 100;
    };

    for (const Case& each : {
             Case{"application/dtmf-relay", "Signal=5\r\nDuration=160\r\n", '5', 160},
             Case{"Application/DTMF-Relay; charset=utf-8", "signal= # \nDURATION = 250", '#', 250},
             Case{"application/dtmf-relay", "Signal=*", '*'},
             Case{"application/dtmf-relay", "Signal=10\r\nDuration=100\r\n", '*'},
             Case{"application/dtmf-relay", "Signal=16\r\n", '!'},
             Case{"application/dtmf-relay", "Duration=90\r\nSignal=d\r\n", 'D', 90},
             Case{"application/dtmf-relay", "Signal=1\r\nDuration=1\r\n", '1', 40},
             Case{"application/dtmf-relay", "Signal=1\r\nDuration=999999\r\n", '1', 4000},
             Case{"application/dtmf-relay", "Signal=1\r\nDuration=99999999999999999999\r\n", '1'},
             Case{"application/dtmf-relay", "Signal=1\r\nDuration=-5\r\n", '1'},
             Case{"application/dtmf", "7", '7'},
             Case{"application/dtmf", " 11\r\n", '#'},
             Case{"application/dtmf", "", 0},
             Case{"application/dtmf", "17", 0},
             Case{"application/dtmf", "05", 0},
             Case{"application/dtmf", "123", 0},
             Case{"application/dtmf-relay", "", 0},
             Case{"application/dtmf-relay", "Signal\r\nDuration=100", 0},
             Case{"application/dtmf-relay", "Signal=e", 0},
             Case{"application/dtmf-relays", "Signal=5", 0},
             Case{"text/plain", "Signal=5", 0},
             Case{"", "5", 0},
         }) {
        const auto digit = parse_info_digit(each.type, each.body);
        EXPECT_EQ(digit ? digit->digit : 0, each.digit) << each.type << " " << each.body;
        if (digit) {
            EXPECT_EQ(digit->duration, Millis(each.duration_ms)) << each.body;
        }
    }
}

TEST(InfoBodyTest, WritesWhatItReads) {
    EXPECT_EQ(write_info_digit({'#', Millis(160)}), "Signal=#\r\nDuration=160\r\n");
    for (const char each : std::string("0123456789*#ABCD!")) {
        const InfoDigit digit{each, Millis(120)};
        EXPECT_EQ(parse_info_digit(kDtmfRelayType, write_info_digit(digit)), digit);
    }
}

TEST(InfoBodyTest, ManyLinesAreNotRead) {
    std::string body;
    for (int i = 0; i < 1000; i++) {
        body += "x=1\r\n";
    }
    EXPECT_FALSE(parse_info_digit(kDtmfRelayType, body + "Signal=5\r\n"));
}

// RFC 5168 §5.
TEST(InfoBodyTest, KnowsTheRequestForAPicture) {
    const std::string_view body =
        "<?xml version=\"1.0\" encoding=\"utf-8\" ?><media_control><vc_primitive><to_encoder>"
        "<picture_fast_update></picture_fast_update></to_encoder></vc_primitive></media_control>";
    EXPECT_TRUE(asks_for_picture("application/media_control+xml", body));
    EXPECT_FALSE(asks_for_picture("application/xml", body));
    EXPECT_FALSE(asks_for_picture("application/media_control+xml", "<media_control/>"));
    EXPECT_FALSE(parse_info_digit("application/media_control+xml", body));
}

}  // namespace
}  // namespace weir::sip
