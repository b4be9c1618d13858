#include "app/protocols/wiring.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/run/listener_service.h"
#include "app/run/listener_set.h"

#include "test/session/world.h"

namespace weir::app {
namespace {

using testing::ElementsAre;

class WiringTest : public session::World {
  protected:
    WiringTest() { wire_protocols({parsed(""), services_, who_}, protocols_); }

    static config::Config parsed(std::string_view text) {
        return *config::parse_config(text, "test").config;
    }

    // Kinds of the listeners that the configuration wants.
    std::vector<std::string> wanted(std::string_view text) {
        ListenerSet set;
        for (const auto& protocol : protocols_.all()) {
            for (ListenerService& service : protocol->listeners()) {
                set.add(std::move(service));
            }
        }
        std::vector<std::string> kinds;
        for (const WantedListener& each : set.wanted(parsed(text))) {
            kinds.emplace_back(each.kind);
        }
        return kinds;
    }

    const net::ServerIdentity who_{"vid-1234567", "89abcdef", MonoClock::now()};
    ProtocolSet protocols_;
};

TEST_F(WiringTest, EachTransportStandsOnceAndInTheOrderOfTheLists) {
    std::vector<std::string> names;
    for (const Transport& transport : protocols_.transports()) {
        names.emplace_back(transport.name);
    }
    EXPECT_THAT(names, ElementsAre("rtmp", "flv", "ws-flv", "relay", "hls", "dash", "ts", "ws-ts",
                                   "webrtc", "rtsp", "srt", "sip", "phone", "vod", "jpg"));
}

TEST_F(WiringTest, WantsTheListenersThatTheConfigurationEnables) {
    EXPECT_THAT(wanted(""), ElementsAre("rtmp"));
    EXPECT_THAT(wanted("listen 1 2; rtc_server { enabled on; }"),
                ElementsAre("rtmp", "rtmp", "webrtc-udp", "webrtc-tcp"));
    EXPECT_THAT(wanted("rtc_server { enabled on; tcp off; }"), ElementsAre("rtmp", "webrtc-udp"));
}

TEST_F(WiringTest, PagesAreToldThePortThatEverybodyCanUse) {
    net::Json head = net::Json::object();
    protocols_.all()[0]->reconfigure(parsed("listen 2001 proxy_protocol; listen 2002;"));
    protocols_.all()[0]->add_page_facts(head);
    EXPECT_EQ(head["rtmp_port"], 2002);
}

TEST_F(WiringTest, TheEnvironmentSaysWhereWebRtcIsReached) {
    config::Config off = parsed("");
    EXPECT_FALSE(apply_environment(off, {{"WEIR_CANDIDATE", "nonsense"}})) << "nobody needs it";
    config::Config on = parsed("rtc_server { enabled on; }");
    EXPECT_FALSE(apply_environment(on, {{"CANDIDATE", "192.0.2.1"}}));
    ASSERT_EQ(on.rtc_server.candidates.size(), 1U);
    EXPECT_EQ(on.rtc_server.candidates_from, "CANDIDATE");
    EXPECT_TRUE(apply_environment(on, {{"WEIR_CANDIDATE", "nonsense"}}));
}

}  // namespace
}  // namespace weir::app
