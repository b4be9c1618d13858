#include "bench/load/core/rtsp_camera_session.h"

#include <gtest/gtest.h>

#include "bench/load/core/bitrate_plan.h"
#include "bench/load/core/rtsp_play_client.h"
#include "test/support/counting_random.h"

namespace weir::load {
namespace {

// A camera and a player, joined in memory.
class RtspCameraSessionTest : public testing::Test {
  protected:
    RtspCameraSessionTest() { totals_.stall_ns = 1'000'000'000; }

    uint64_t ns() const { return static_cast<uint64_t>(now_.time_since_epoch().count()) * 1000; }

    RtspCameraHost host(std::optional<rtsp::PortPair> ports = std::nullopt) {
        return {.open = [this](std::string_view target) -> std::unique_ptr<FrameSource> {
                    asked_ = target;
                    return target == "/camera/3" ? synthetic_source(plan_, 3, 9) : nullptr;
                },
                .ports = ports,
                .send =
                    [this](bool rtcp, uint16_t port, ByteSpan bytes) {
                        const size_t track = port >= 5002 ? 1 : 0;
                        datagrams_++;
                        EXPECT_TRUE(player_->on_datagram(now_, track, rtcp, bytes));
                    },
                .random = random_};
    }

    void join(std::string_view url, std::optional<rtsp::PortPair> ports = std::nullopt) {
        camera_ = std::make_unique<RtspCameraSession>(host(ports), "192.0.2.1");
        player_ = std::make_unique<RtspPlayClient>(
            rtsp::Url::parse(url).value(), options_, check_, random_, [](size_t track) {
                const auto port = static_cast<uint16_t>(5000 + 2 * track);
                return rtsp::PortPair{port, static_cast<uint16_t>(port + 1)};
            });
        talk();
    }

    // Until neither has anything to say. False: the player has failed.
    bool talk() {
        while (!player_->output().empty() || camera_->has_output()) {
            const Bytes said = std::exchange(player_->output(), {});
            left_ = camera_->feed(said).code() == ErrorCode::kClosed;
            const std::string out = camera_->take_output();
            if (!player_->feed(as_bytes(out), ns())) {
                return false;
            }
        }
        return true;
    }

    void play_for(uint64_t ms) {
        SourceMessage frame;
        while (camera_->source()->next_due_us() < ms * 1000) {
            now_ = MonoTime(Seconds(1000) +
                            Micros(static_cast<int64_t>(camera_->source()->next_due_us())));
            ASSERT_FALSE(camera_->source()->next(ns(), frame));
            camera_->send(now_, frame);
            ASSERT_TRUE(talk());
        }
        player_->settle();
    }

    MonoTime now_{Seconds(1000)};
    test::CountingRandom random_;
    BitratePlan plan_ = BitratePlan::create({.bits_per_second = 1'000'000, .fps = 25}).value();
    RtspPlayOptions options_;
    RunTotals totals_;
    PlayerCheck check_{totals_, 3};
    std::unique_ptr<RtspCameraSession> camera_;
    std::unique_ptr<RtspPlayClient> player_;
    std::string asked_;
    size_t datagrams_ = 0;
    bool left_ = false;
};

TEST_F(RtspCameraSessionTest, EveryFrameArrivesOverTcp) {
    join("rtsp://server.example/camera/3");
    ASSERT_TRUE(player_->started()) << player_->failure();
    EXPECT_TRUE(camera_->playing());
    play_for(3'000);
    EXPECT_EQ(check_.counts().video_frames, 75U);
    EXPECT_GT(check_.counts().audio_frames, 100U);
    EXPECT_EQ(check_.counts().corrupted, 0U);
    EXPECT_EQ(check_.counts().unstamped, 0U);
    EXPECT_EQ(check_.lost(), 0U);
    EXPECT_EQ(datagrams_, 0U);
}

TEST_F(RtspCameraSessionTest, EveryFrameArrivesByUdp) {
    options_.way = RtspWay::kUdp;
    join("rtsp://server.example/camera/3", rtsp::PortPair{6000, 6001});
    ASSERT_TRUE(player_->started()) << player_->failure();
    EXPECT_EQ(player_->session().transport(0)->server_port, (rtsp::PortPair{6000, 6001}));
    play_for(2'000);
    EXPECT_EQ(check_.counts().video_frames, 50U);
    EXPECT_EQ(check_.counts().corrupted, 0U);
    EXPECT_EQ(check_.lost(), 0U);
    EXPECT_GT(datagrams_, 50U);
}

TEST_F(RtspCameraSessionTest, UdpIsRefusedWhereThereAreNoPorts) {
    options_.way = RtspWay::kUdp;
    join("rtsp://server.example/camera/3");
    EXPECT_FALSE(player_->started());
    EXPECT_FALSE(player_->failure().empty());
}

TEST_F(RtspCameraSessionTest, AnUnknownCameraIsNotFound) {
    join("rtsp://server.example/camera/4?x=1");
    EXPECT_EQ(asked_, "/camera/4?x=1");
    EXPECT_FALSE(player_->started());
    EXPECT_EQ(camera_->source(), nullptr);
}

TEST_F(RtspCameraSessionTest, TeardownEndsIt) {
    join("rtsp://server.example/camera/3");
    player_->leave();
    talk();
    EXPECT_TRUE(left_);
    EXPECT_FALSE(camera_->playing());
}

TEST_F(RtspCameraSessionTest, PlayBeforeSetupIsRefused) {
    RtspCameraSession camera(host(), "192.0.2.1");
    ASSERT_FALSE(
        camera.feed(as_bytes("PLAY rtsp://server.example/camera/3 RTSP/1.0\r\n"
                             "CSeq: 1\r\n\r\n")));
    EXPECT_TRUE(camera.take_output().starts_with("RTSP/1.0 455 "));
    EXPECT_FALSE(camera.playing());
}

TEST_F(RtspCameraSessionTest, WhatIsNoRtspEndsIt) {
    RtspCameraSession camera(host(), "192.0.2.1");
    EXPECT_EQ(camera.feed(as_bytes("GET / HTTP/1.1\r\n\r\n")).code(), ErrorCode::kMalformed);
}

}  // namespace
}  // namespace weir::load
