// What a pump gives to the disk, where another process may have the publisher.
#include "session/hls/hls_pump.h"

#include <atomic>

#include <gtest/gtest.h>

#include "base/log.h"
#include "net/play_rules.h"
#include "stream/registry.h"

#include "test/support/codec_samples.h"
#include "test/support/io/loopback.h"
#include "test/support/media_packets.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;
using test::BodyKind;
using test::tag_body;

// Takes all; of the writer's thread and of the test.
class CountingDisk final : public HlsDisk {
  public:
    explicit CountingDisk(std::atomic<size_t>& turns) : turns_(turns) {}

    Error open() override { return {}; }

    HlsWritten write(const HlsWrite& what) override {
        turns_++;
        HlsWritten done;
        done.segment = !what.segment_name.empty();
        done.lists = done.gone = true;
        return done;
    }

  private:
    std::atomic<size_t>& turns_;
};

class HlsPumpTest : public testing::Test, protected stream::Publisher {
  protected:
    HlsPumpTest() : stream_(registry_.get_or_create({"", "live", "cam"}, {}, MonoClock::now())) {
        log::set_sink([](log::Level, std::string_view) {});
        auto made = HlsFolder::create(
            "/somewhere", std::make_unique<CountingDisk>(turns_), stats_,
            [](const HlsStoredView&) {}, io::WorkerPool::create);
        EXPECT_TRUE(made.ok());
        folder_ = std::move(*made);
        options_.segments.fragment_ms = 1'000;
        pump_ = std::make_unique<HlsPump>(stream_, options_, net::PumpOptions(), numbers_,
                                          folder_.get(), [this] { return here_; });
    }

    ~HlsPumpTest() override {
        pump_.reset();
        folder_.reset();
        registry_.release(stream_);
        log::set_sink(nullptr);
    }

    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}

    // `here`: in this process.
    void publish(bool here) {
        here_ = here;
        EXPECT_FALSE(stream_.start_publish(*this, {}, MonoClock::now()));
        send(tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    }

    void unpublish() { stream_.end_publish(*this, MonoClock::now()); }

    // 25 a second, a key frame at each.
    void pictures(uint32_t count) {
        for (uint32_t i = 0; i < count; i++, at_ms_ += 40) {
            const bool key = at_ms_ % 1'000 == 0;
            send(tag_body(Codec::kH264, key ? BodyKind::kKeyFrame : BodyKind::kFrame,
                          Bytes{0, 0, 0, 2, static_cast<uint8_t>(key ? 0x65 : 0x41), 0x88}));
        }
    }

    size_t turns() {
        EXPECT_FALSE(folder_->stop(io::soon()));
        return turns_;
    }

    stream::Registry registry_;
    stream::Stream& stream_;
    std::atomic<size_t> turns_ = 0;
    HlsDiskStats stats_;
    HlsNumbers numbers_;
    HlsOptions options_;
    std::unique_ptr<HlsFolder> folder_;
    std::unique_ptr<HlsPump> pump_;

  private:
    void send(Bytes body) {
        stream_.publish(*this, test::packet(TrackKind::kVideo, at_ms_, std::move(body)),
                        MonoClock::now());
    }

    bool here_ = true;
    uint32_t at_ms_ = 0;
};

TEST_F(HlsPumpTest, WhatIsPublishedHereIsWritten) {
    publish(true);
    pictures(25 * 5);
    EXPECT_GE(turns(), 3U);
    unpublish();
}

TEST_F(HlsPumpTest, WhatAnotherProcessHasIsNotWrittenNorItsEnd) {
    publish(false);
    pictures(25 * 5 + 1);  // the newest segment has just begun
    unpublish();
    pump_->end_files();
    EXPECT_EQ(turns(), 0U);
}

TEST_F(HlsPumpTest, WhenThePublisherComesBackInAnotherProcessNothingMoreIsWritten) {
    publish(true);
    pictures(25 * 5);
    unpublish();
    const size_t before = turns();
    publish(false);
    pump_.reset();  // nothing has come of it
    EXPECT_EQ(turns(), before) << "no end of the playlist";
    unpublish();
}

TEST_F(HlsPumpTest, WhenItComesBackHereItIsWrittenAgain) {
    publish(false);
    pictures(25 * 5);
    unpublish();
    EXPECT_EQ(turns(), 0U);
    publish(true);
    pictures(25 * 5);
    EXPECT_GE(turns(), 3U);
    unpublish();
}

}  // namespace
}  // namespace weir::session
