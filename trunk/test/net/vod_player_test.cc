// A recording on a connection: paced, paused, sought, and held up by nobody but its own peer.
#include "net/vod_player.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/deadline.h"

#include "test/support/io/loopback.h"
#include "test/support/media_packets.h"

namespace weir::net {
namespace {

// A picture each 40 ms, key frames each 200 ms, of so many bytes.
class FakeSource final : public VodSource {
  public:
    explicit FakeSource(int64_t duration_ms, size_t bytes = 20, bool grows = false)
        : duration_ms_(duration_ms), bytes_(bytes), grows_(grows) {}

    void set_listener(Listener* listener) override { listener_ = listener; }

    const std::vector<media::PacketRef>& configs() const override { return configs_; }

    Codecs codecs() const override { return {.video = media::Codec::kH264}; }

    int64_t duration_ms() const override { return duration_ms_; }

    bool grows() const override { return grows_; }

    void seek(int64_t time_ms) override {
        at_ms_ = std::min(time_ms, duration_ms_ - 1) / 200 * 200;
        packet_ = {};
    }

    media::MediaPacket* front() override {
        if (!packet_ && at_ms_ < duration_ms_) {
            packet_ = test::packet(media::TrackKind::kVideo, static_cast<uint32_t>(at_ms_),
                                   test::avc_frame(at_ms_ % 200 == 0, 1, bytes_));
            at_ms_ += 40;
        }
        return packet_.get();
    }

    Ref<media::MediaPacket> pop() override { return std::move(packet_); }

    bool ended() const override { return !grows_ && !packet_ && at_ms_ >= duration_ms_; }

    // Whoever waits is told, though there is nothing new.
    void poll() override {
        polls_++;
        listener_->on_vod_ready();
    }

    int polls() const { return polls_; }

  private:
    int64_t duration_ms_;
    size_t bytes_;
    bool grows_;
    int polls_ = 0;
    Listener* listener_ = nullptr;
    int64_t at_ms_ = 0;
    Ref<media::MediaPacket> packet_;
    std::vector<media::PacketRef> configs_;
};

class VodPlayerTest : public testing::Test, protected VodWriter {
  protected:
    VodPlayer& play(int64_t duration_ms,
                    VodOptions options = {},
                    size_t bytes = 20,
                    bool grows = false) {
        auto source = std::make_unique<FakeSource>(duration_ms, bytes, grows);
        source_ = source.get();
        player_ = std::make_unique<VodPlayer>(*pair_.server, client_, std::move(source),
                                              static_cast<VodWriter&>(*this), options);
        return *player_;
    }

    // What a coroutine of the connection does, up to the end of what is said to it.
    Error run() {
        for (;;) {
            if (Error ended = player_->run()) {
                return ended;
            }
            std::array<uint8_t, 16> word;
            const io::IoResult got = pair_.server->try_read(word);
            if (got.status == io::IoStatus::kDone) {
                return {};
            }
            if (got.status != io::IoStatus::kWouldBlock) {
                return VodPlayer::explain_end(got);
            }
        }
    }

    void knock() { EXPECT_FALSE(pair_.client->write_all(as_bytes("."), io::soon())); }

    // Runs until the condition holds.
    template <typename Condition>
    void run_until(Condition&& condition) {
        io::Coroutine helper = io::go([&] {
            EXPECT_TRUE(io::eventually(condition));
            knock();
        });
        EXPECT_FALSE(run());
        helper.join();
    }

    void on_vod_start(const VodSource&, const media::MediaPacket& first, Bytes&) override {
        starts_.push_back(first.time_ms());
    }

    void on_vod_packet(Ref<media::MediaPacket> packet, Bytes& out) override {
        times_.push_back(packet->time_ms());
        out.insert(out.end(), packet->body().begin(), packet->body().end());
    }

    void on_vod_end(Bytes&) override { ends_++; }

    io::LoopbackPair pair_ = io::loopback_pair();
    ClientTable clients_;
    Client client_{clients_, "rtmp", "127.0.0.1"};
    std::vector<int64_t> starts_;
    std::vector<int64_t> times_;
    int ends_ = 0;
    FakeSource* source_ = nullptr;       // of player_
    std::unique_ptr<VodPlayer> player_;  // before the connection goes
};

using Times = std::vector<int64_t>;

TEST_F(VodPlayerTest, PacketsComeWhenTheyAreDue) {
    play(400);
    const MonoTime begun = MonoClock::now();
    run_until([this] { return ends_ > 0; });
    EXPECT_GE(MonoClock::now() - begun, Millis(360));
    EXPECT_EQ(times_, (Times{0, 40, 80, 120, 160, 200, 240, 280, 320, 360}));
    EXPECT_EQ(starts_, Times{0});
    EXPECT_GE(client_.first_frame_ms, 0);
    EXPECT_TRUE(player_->at_end());
}

TEST_F(VodPlayerTest, WhatIsInTheLeadComesAtOnce) {
    play(100'000, {.lead = Millis(4'000)});
    const MonoTime begun = MonoClock::now();
    run_until([this] { return times_.size() >= 100; });
    const auto due = static_cast<size_t>((MonoClock::now() - begun) / Millis(40));
    EXPECT_LE(times_.size(), 102U + due) << "and no more";
}

TEST_F(VodPlayerTest, ASeekGoesToAKeyFrameAndBeginsAgain) {
    play(1'000, {.lead = Millis(10'000)});
    run_until([this] { return ends_ == 1; });
    times_.clear();
    player_->seek(777);
    player_->stop_at(800);
    run_until([this] { return ends_ == 2; });
    EXPECT_EQ(starts_, (Times{0, 600}));
    EXPECT_EQ(times_, (Times{600, 640, 680, 720, 760}));
}

TEST_F(VodPlayerTest, APauseKeepsThePlace) {
    play(100'000);
    run_until([this] { return times_.size() >= 3; });
    player_->pause();
    const int64_t place = times_.back();
    times_.clear();
    const uint64_t sent = client_.sent_bytes;
    io::Coroutine helper = io::go([&] {
        (void)io::sleep_for(Millis(150));
        knock();
    });
    EXPECT_FALSE(run());
    helper.join();
    EXPECT_TRUE(times_.empty());
    EXPECT_EQ(client_.sent_bytes, sent);
    EXPECT_STREQ(player_->lag_facts().state, "paused");
    player_->resume();
    run_until([this] { return times_.size() >= 2; });
    EXPECT_EQ(times_.front(), place + 40);
    EXPECT_EQ(starts_, Times{0});
}

TEST_F(VodPlayerTest, APeerThatDoesNotReadHoldsUpItselfAndIsEnded) {
    play(1'000'000, {.lead = Millis(1'000'000), .write_stall = Millis(300)}, 60'000);
    const Error ended = run();
    EXPECT_EQ(ended.code(), ErrorCode::kTimeout) << ended.message();
    EXPECT_LE(player_->take_unsent().size(), VodPlayer::kMaxUnsent + 60'100);
}

TEST_F(VodPlayerTest, APausedPeerMayStopReading) {
    play(1'000'000, {.lead = Millis(1'000'000), .write_stall = Millis(200)}, 60'000);
    io::Coroutine helper = io::go([&] {
        EXPECT_TRUE(io::eventually([&] { return client_.sent_bytes > 100'000; }));
        knock();
        (void)io::sleep_for(Millis(400));
        knock();
    });
    EXPECT_FALSE(run());
    player_->pause();
    EXPECT_FALSE(run());
    helper.join();
}

TEST_F(VodPlayerTest, APeerThatAsksAndDoesNotReadIsTold) {
    play(1'000);
    const Bytes answer(1'000);
    size_t said = 0;
    while (player_->say(answer)) {
        ASSERT_LE(++said, VodPlayer::kMaxAnswerBytes / answer.size());
    }
    EXPECT_EQ(said, VodPlayer::kMaxAnswerBytes / answer.size());
}

TEST_F(VodPlayerTest, ARecordingThatGrowsIsLookedAtNowAndThen) {
    play(40, {}, 20, true);
    const MonoTime begun = MonoClock::now();
    run_until([this] { return source_->polls() >= 3; });
    EXPECT_GE(MonoClock::now() - begun, 2 * VodPlayer::kPoll);
    EXPECT_EQ(ends_, 0);
}

TEST_F(VodPlayerTest, APeerThatHasToSaySomethingAndDoesNotIsEnded) {
    play(100'000, {.silence = Millis(200)});
    const MonoTime begun = MonoClock::now();
    io::Coroutine helper = io::go([&] {
        (void)io::sleep_until(io::Deadline::at(begun + Millis(100)));
        player_->note_heard(MonoClock::now());
    });
    EXPECT_EQ(run().code(), ErrorCode::kTimeout);
    EXPECT_GE(MonoClock::now() - begun, Millis(300));
    helper.join();
}

TEST_F(VodPlayerTest, APeerThatHasPausedNeedNotSayAnything) {
    play(100'000, {.silence = Millis(100)});
    player_->pause();
    io::Coroutine helper = io::go([&] {
        (void)io::sleep_for(Millis(250));
        knock();
    });
    EXPECT_FALSE(run());
    helper.join();
}

TEST_F(VodPlayerTest, TheEndOfTheConnectionIsSeen) {
    play(100'000);
    io::Coroutine helper = io::go([&] {
        EXPECT_TRUE(io::eventually([&] { return times_.size() > 1; }));
        pair_.client->close();
    });
    EXPECT_EQ(run().code(), ErrorCode::kClosed);
    helper.join();
}

}  // namespace
}  // namespace weir::net
