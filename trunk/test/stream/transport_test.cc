// A stream that carries a transport stream as it came, with frames of it or without.
#include <vector>

#include <gtest/gtest.h>

#include "stream/stream.h"

#include "test/support/media_packets.h"

namespace weir::stream {
namespace {

using media::Audience;

constexpr MonoTime kNow{Seconds(100)};

struct TestPublisher final : Publisher {
    std::string describe() const override { return "the test"; }

    std::string_view client_id() const override { return "test"; }

    void on_taken_over() override {}
};

struct Sink final : PacketSink {
    explicit Sink(Audience whose) : whose_(whose) {}

    Audience audience() const override { return whose_; }

    void on_packet(const media::PacketRef& packet, const Configs* start) override {
        packets.push_back(packet);
        starts += start != nullptr ? 1 : 0;
    }

    void on_start_lost(StartLost) override { lost++; }

    std::vector<media::PacketRef> packets;
    int starts = 0;
    int lost = 0;

  private:
    Audience whose_;
};

class StreamTransportTest : public testing::Test {
  protected:
    StreamTransportTest() { begin(); }

    ~StreamTransportTest() override {
        stream_.end_publish(publisher_, kNow);
        for (Sink* sink : {&ts_, &late_, &flv_}) {
            stream_.detach(*sink);
        }
    }

    void begin() {
        Error error = stream_.start_publish(publisher_, PublishConflict::kRefuse, kNow);
        EXPECT_FALSE(error);
    }

    void bytes(bool key, size_t size = 188, MonoTime now = kNow) {
        media::PacketInfo info;
        info.audience = Audience::kTransportStream;
        info.key = key;
        stream_.publish_transport(publisher_, make_ref<media::MediaPacket>(info, 0, Bytes(size)),
                                  now);
    }

    void frame(bool key) {
        stream_.publish(publisher_,
                        test::packet(media::TrackKind::kVideo, 0, test::avc_frame(key, 1)), kNow);
    }

    TestPublisher publisher_;
    Stream stream_{{"v", "udp", "group"}, {.gop_cap_bytes = 10'000}, kNow};
    Sink ts_{Audience::kTransportStream};
    Sink late_{Audience::kTransportStream};
    Sink flv_{Audience::kFlv};
};

TEST_F(StreamTransportTest, GoesToThoseWhoTakeItAndToNobodyElse) {
    stream_.attach(ts_);
    EXPECT_FALSE(stream_.wants_frames());
    stream_.attach(flv_);
    EXPECT_TRUE(stream_.wants_frames());
    bytes(true);
    frame(true);
    EXPECT_EQ(ts_.packets.size(), 1U);
    EXPECT_EQ(ts_.starts, 1);
    EXPECT_EQ(flv_.packets.size(), 1U);
}

TEST_F(StreamTransportTest, WhoComesLaterBeginsAtTheNewestStart) {
    bytes(true);
    bytes(true);
    bytes(false);
    stream_.attach(late_);
    EXPECT_EQ(late_.packets.size(), 2U);
    EXPECT_EQ(late_.starts, 1);
    EXPECT_EQ(stream_.kept_transport().size(), 2U);
}

TEST_F(StreamTransportTest, MoreThanTheCapIsNotKept) {
    stream_.attach(ts_);
    bytes(true, 9'000);
    bytes(false, 2'000);
    EXPECT_TRUE(stream_.kept_transport().empty());
    EXPECT_EQ(ts_.lost, 1);
    EXPECT_EQ(ts_.packets.size(), 2U) << "who plays goes on";
    stream_.attach(late_);
    bytes(false);
    EXPECT_EQ(late_.starts, 0);
    bytes(true);
    EXPECT_EQ(late_.starts, 1);
}

TEST_F(StreamTransportTest, WhatHappensToFramesDoesNotConcernIt) {
    stream_.attach(ts_);
    stream_.attach(flv_);
    bytes(true);
    frame(true);
    stream_.end_frames(publisher_);
    EXPECT_EQ(ts_.lost, 0);
    EXPECT_GT(flv_.lost, 0);
    EXPECT_FALSE(stream_.has_video());
    frame(false);
    EXPECT_EQ(flv_.packets.size(), 1U) << "up to the next key frame";
    EXPECT_EQ(stream_.kept_transport().size(), 1U);
}

TEST_F(StreamTransportTest, TheNextPublisherBeginsAnew) {
    stream_.attach(ts_);
    bytes(true);
    stream_.end_publish(publisher_, kNow);
    EXPECT_EQ(ts_.lost, 1);
    EXPECT_TRUE(stream_.kept_transport().empty());
    begin();
    stream_.attach(late_);
    EXPECT_TRUE(late_.packets.empty());
}

TEST_F(StreamTransportTest, IsCountedOnceWithTheFramesInIt) {
    bytes(true, 1'880);
    frame(true);
    EXPECT_EQ(stream_.bytes_received(), 1'880U);
    EXPECT_EQ(stream_.video().frames, 1U);
}

TEST_F(StreamTransportTest, ItsTimeIsThatOfArrival) {
    stream_.attach(ts_);
    bytes(true, 188, kNow + Millis(20));
    bytes(false, 188, kNow + Millis(45));
    EXPECT_EQ(ts_.packets[1]->time_ms() - ts_.packets[0]->time_ms(), 25);
}

}  // namespace
}  // namespace weir::stream
