#include <gtest/gtest.h>

#include "stream/stream.h"

namespace weir::stream {
namespace {

class OnlyPublisher final : public Publisher {
  public:
    std::string describe() const override { return "the publisher"; }

    std::string_view client_id() const override { return "p1"; }

    void on_taken_over() override {}
};

// What a publisher can make the stream hold.
class StreamLimitsTest : public testing::Test {
  protected:
    StreamLimitsTest() {
        EXPECT_FALSE(stream_.start_publish(publisher_, PublishConflict::kRefuse, now_));
    }

    ~StreamLimitsTest() override { stream_.end_publish(publisher_, now_); }

    void config(uint8_t track, size_t size) {
        media::PacketInfo info;
        info.kind = media::TrackKind::kVideo;
        info.config = true;
        info.track_id = track;
        publish(info, size);
    }

    void frame(bool key, size_t size) {
        media::PacketInfo info;
        info.kind = media::TrackKind::kVideo;
        info.key = key;
        publish(info, size);
    }

    void publish(const media::PacketInfo& info, size_t size) {
        stream_.publish(publisher_,
                        make_ref<media::MediaPacket>(info, time_ms_++, Bytes(size, info.track_id)),
                        now_);
    }

    MonoTime now_{};
    int64_t time_ms_ = 0;
    OnlyPublisher publisher_;
    StreamOptions options_{.gop_cap_bytes = 1u << 20};
    Stream stream_{{"v", "live", "s"}, options_, now_};
};

TEST_F(StreamLimitsTest, AConfigurationOfAnySizeIsNotKept) {
    config(0, Stream::kMaxConfigBytes + 1);
    EXPECT_EQ(stream_.config(media::TrackKind::kVideo), nullptr);
    EXPECT_EQ(stream_.configs_dropped(), 1U);
    config(0, Stream::kMaxConfigBytes);
    EXPECT_NE(stream_.config(media::TrackKind::kVideo), nullptr);
}

TEST_F(StreamLimitsTest, ManyConfigurationsAreLimitedTogether) {
    for (uint8_t track = 0; track < Stream::kMaxConfigs; track++) {
        config(track, Stream::kMaxConfigBytes);
    }
    EXPECT_EQ(stream_.configs_dropped(),
              Stream::kMaxConfigs - Stream::kMaxConfigTotal / Stream::kMaxConfigBytes);
}

TEST_F(StreamLimitsTest, AChangedConfigurationReplacesTheOldOneInTheTotal) {
    for (size_t size = Stream::kMaxConfigBytes - 100; size < Stream::kMaxConfigBytes; size++) {
        config(0, size);
    }
    EXPECT_EQ(stream_.configs_dropped(), 0U);
}

TEST_F(StreamLimitsTest, ManySmallFramesCountWithWhatTheyCost) {
    frame(true, 6);
    const uint64_t fit = options_.gop_cap_bytes / (Stream::kFrameCost + 6);
    for (uint64_t i = 1; i < fit; i++) {
        frame(false, 6);
    }
    EXPECT_EQ(stream_.gop_bytes(), fit * 6);
    frame(false, 6);
    EXPECT_EQ(stream_.gop_bytes(), 0U) << "past the cap nothing is kept";
}

}  // namespace
}  // namespace weir::stream
