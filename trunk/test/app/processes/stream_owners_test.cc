#include "app/processes/stream_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/process_config.h"

namespace weir::app {
namespace {

const stream::StreamKey kCam{"v", "live", "cam"};
const stream::StreamKey kDoor{"v", "live", "door"};

TEST(StreamOwners, TheFirstHasTheNameUntilItReleasesIt) {
    StreamOwners owners;
    const uint64_t epoch = owners.claim(kCam, 1, false);
    EXPECT_NE(epoch, 0U);
    EXPECT_EQ(owners.claim(kCam, 2, false), 0U);
    EXPECT_EQ(owners.claim(kCam, 1, false), epoch) << "its own";
    EXPECT_FALSE(owners.release(kCam, 2, epoch)) << "not its own";
    EXPECT_TRUE(owners.release(kCam, 1, epoch));
    EXPECT_EQ(owners.find(kCam).epoch, 0U);
    EXPECT_GT(owners.claim(kCam, 2, false), epoch);
}

TEST(StreamOwners, ATakeoverHasAHigherEpochAndTheOldOneReleasesNothing) {
    StreamOwners owners;
    const uint64_t before = owners.claim(kCam, 1, false);
    const uint64_t after = owners.claim(kCam, 2, true);
    EXPECT_GT(after, before);
    EXPECT_FALSE(owners.release(kCam, 1, before));
    EXPECT_EQ(owners.find(kCam), (StreamOwner{2, after}));
}

TEST(StreamOwners, TheStreamsOfAProcessThatEndedAreNobodys) {
    StreamOwners owners;
    owners.claim(kCam, 1, false);
    owners.claim(kDoor, 2, false);
    EXPECT_THAT(owners.drop(1), testing::ElementsAre(kCam));
    EXPECT_EQ(owners.find(kCam).epoch, 0U);
    EXPECT_NE(owners.find(kDoor).epoch, 0U);
    EXPECT_THAT(owners.drop(1), testing::IsEmpty());
}

TEST(ProcessConfig, HomesAreSpreadAndTheSameEverywhere) {
    std::vector<int> streams(4);
    for (int i = 0; i < 1000; i++) {
        const stream::StreamKey key{"v", "live", std::to_string(i)};
        ASSERT_LT(config::home_of(key, 4), 4U);
        EXPECT_EQ(config::home_of(key, 4), config::home_of(key, 4));
        streams[config::home_of(key, 4)]++;
    }
    EXPECT_THAT(streams, testing::Each(testing::AllOf(testing::Gt(200), testing::Lt(300))));
}

TEST(ProcessConfig, EachProcessHasItsOwnPortsAndOnlyOneWhatThereIsOnce) {
    config::Config config;
    config.rtc_server.listen = {{.address = "[::]:8000"}, {.address = "127.0.0.1:0"}};
    config.rtsp_server.rtp_listen = {{.address = "0.0.0.0:5000"}};
    config.rtsp_server.rtcp_listen = {{.address = "0.0.0.0:5001"}};
    config.srt_server.enabled = config.sip_server.enabled = true;
    config.pid = "/run/weir.pid";
    config.cpu_affinity.ranges = {{.first = 2, .last = 5}};
    config::Config first = config;
    config::fit_to_process(first, 0, 4);
    EXPECT_EQ(first.rtc_server.listen[0].address, "[::]:8000");
    EXPECT_TRUE(first.srt_server.enabled);
    EXPECT_TRUE(first.pid.empty()) << "it is the supervisor's";
    config::Config third = config;
    config::fit_to_process(third, 2, 4);
    EXPECT_EQ(third.rtc_server.listen[0].address, "[::]:8002");
    EXPECT_EQ(third.rtc_server.listen[1].address, "127.0.0.1:0");
    EXPECT_EQ(third.rtsp_server.rtp_listen[0].address, "0.0.0.0:5004");
    EXPECT_EQ(third.rtsp_server.rtcp_listen[0].address, "0.0.0.0:5005");
    EXPECT_FALSE(third.srt_server.enabled);
    EXPECT_FALSE(third.sip_server.enabled);
    EXPECT_THAT(third.cpu_affinity.numbers(), testing::ElementsAre(4));
    EXPECT_EQ(third.process, 2U);
}

TEST(ProcessConfig, WithASinglePortAllProcessesHaveTheSame) {
    config::Config config;
    config.rtc_server.listen = {{.address = "[::]:8000"}};
    config.rtc_server.single_port = true;
    config::fit_to_process(config, 2, 4);
    EXPECT_EQ(config.rtc_server.listen[0].address, "[::]:8000");
}

}  // namespace
}  // namespace weir::app
