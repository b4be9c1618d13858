#include "net/ts/ts_carrier.h"

#include <gtest/gtest.h>

#include "test/support/transport_stream.h"

namespace weir::net {
namespace {

using mpegts::Content;
using mpegts::kPacketSize;
using test::annex_b;
using test::counted;
using test::ts_packet;

constexpr uint16_t kPmtPid = 0x1000;
constexpr uint16_t kVideoPid = 0x100;
constexpr uint16_t kAudioPid = 0x101;
constexpr uint8_t kRandomAccess = 0x40;
constexpr uint8_t kDiscontinuity = 0x80;
constexpr uint64_t kMost = 1u << 20;

class TsCarrierTest : public testing::Test {
  protected:
    void tables(Content video) {
        mpegts::StreamInfo first;
        first.pid = kVideoPid;
        first.content = video;
        mpegts::StreamInfo second;
        second.pid = kAudioPid;
        second.content = Content::kAac;
        ts_.pat({{1, kPmtPid}}).pmt(kPmtPid, 1, {first, second});
    }

    void picture(const Bytes& start, size_t size = 500) {
        ts_.pes(kVideoPid, 0, 0, annex_b({counted(start, size)}));
    }

    // Feeds what was built, and takes it.
    void pass() {
        carrier_.feed(ts_.out);
        fed_.insert(fed_.end(), ts_.out.begin(), ts_.out.end());
        ts_.out.clear();
        take();
    }

    void take() {
        carrier_.take(now_, [this](Ref<media::MediaPacket> packet) {
            packets_.emplace_back(packet);
            const ByteSpan payload = packets_.back()->payload();
            given_.insert(given_.end(), payload.begin(), payload.end());
        });
    }

    Bytes front(size_t index) const {
        const ByteSpan body = packets_.at(index)->body();
        const ByteSpan tables = body.first(body.size() - packets_.at(index)->payload().size());
        return {tables.begin(), tables.end()};
    }

    bool starts(size_t index) const { return packets_.at(index)->info().key; }

    MonoTime now_{Seconds(100)};
    TsCarrier carrier_{kMost};
    test::TsBuilder ts_;
    Bytes fed_;
    Bytes given_;
    std::vector<media::PacketRef> packets_;
};

TEST_F(TsCarrierTest, GivesWhatItGets) {
    tables(Content::kH264);
    picture({0x65});
    pass();
    picture({0x41});
    pass();
    EXPECT_EQ(given_, fed_);
    EXPECT_EQ(carrier_.counters().continuity_errors, 0U);
    for (const media::PacketRef& packet : packets_) {
        EXPECT_EQ(packet->info().audience, media::Audience::kTransportStream);
    }
}

TEST_F(TsCarrierTest, PlayersBeginAtAKeyFrameWithTheTablesInFront) {
    tables(Content::kH264);
    const Bytes tables = ts_.out;
    picture({0x65});
    pass();
    picture({0x41});
    pass();
    ASSERT_EQ(packets_.size(), 3U);
    EXPECT_TRUE(starts(0)) << "nothing is known yet: the present";
    EXPECT_TRUE(starts(1));
    EXPECT_EQ(front(1), tables);
    EXPECT_FALSE(starts(2));
    EXPECT_EQ(carrier_.counters().starts, 1U);
}

struct KeyFrame {
    Content content;
    Bytes key;
    Bytes other;
};

class TsCarrierKeyTest : public TsCarrierTest, public testing::WithParamInterface<KeyFrame> {};

TEST_P(TsCarrierKeyTest, IsSeenInTheBytes) {
    tables(GetParam().content);
    picture(GetParam().key);
    picture(GetParam().other);
    picture(GetParam().key);
    pass();
    EXPECT_EQ(carrier_.counters().starts, 2U);
    ASSERT_EQ(packets_.size(), 2U) << "players begin at the newest of what came together";
    EXPECT_EQ(packets_[1]->payload().size(), 3 * kPacketSize);
    EXPECT_TRUE(starts(1));
    EXPECT_EQ(given_, fed_);
}

INSTANTIATE_TEST_SUITE_P(Codecs,
                         TsCarrierKeyTest,
                         testing::Values(KeyFrame{Content::kH264, {0x67}, {0x41}},
                                         KeyFrame{Content::kH264, {0x65}, {0x01}},
                                         KeyFrame{Content::kHevc, {0x40, 1}, {0x02, 1}},
                                         KeyFrame{Content::kHevc, {0x26, 1}, {0x00, 1}},
                                         KeyFrame{Content::kMpegVideo, {0xB3}, {0x00}}));

TEST_F(TsCarrierTest, TheRandomAccessFlagIsEnough) {
    tables(Content::kHevc);
    ts_.raw(ts_packet(kVideoPid, 0, true, counted({0, 0, 1, 0xE0}, 100), kRandomAccess));
    pass();
    EXPECT_EQ(carrier_.counters().starts, 1U);
}

TEST_F(TsCarrierTest, TheFlagOfAudioIsNone) {
    tables(Content::kH264);
    ts_.raw(ts_packet(kAudioPid, 0, true, counted({0, 0, 1, 0xC0}, 100), kRandomAccess));
    pass();
    EXPECT_EQ(carrier_.counters().starts, 0U);
}

TEST_F(TsCarrierTest, WithoutKeyFramesPlayersBeginAtThePresent) {
    for (int i = 0; i < 3; i++) {
        picture({0x41});
        pass();
        EXPECT_TRUE(starts(packets_.size() - 1));
    }
}

TEST_F(TsCarrierTest, AKeyFrameThatIsTooOldOrTooFarBackIsNoStart) {
    tables(Content::kH264);
    picture({0x65});
    pass();
    picture({0x41});
    now_ += TsCarrier::kOldestStart;
    pass();
    EXPECT_FALSE(starts(packets_.size() - 1));
    now_ += Millis(1);
    picture({0x41});
    pass();
    EXPECT_TRUE(starts(packets_.size() - 1));
    EXPECT_FALSE(front(packets_.size() - 1).empty());

    picture({0x65});
    pass();
    EXPECT_TRUE(starts(packets_.size() - 1));
    picture({0x41}, kMost);
    pass();
    EXPECT_TRUE(starts(packets_.size() - 1)) << "more than may be kept";
    picture({0x41});
    pass();
    EXPECT_TRUE(starts(packets_.size() - 1)) << "and so up to the next key frame";
}

TEST_F(TsCarrierTest, ThePartOfAPacketWaitsForTheRest) {
    tables(Content::kH264);
    picture({0x65}, 3'000);
    const Bytes all = ts_.out;
    for (size_t at = 0; at < all.size(); at += 100) {
        carrier_.feed(ByteSpan(all).subspan(at, std::min<size_t>(100, all.size() - at)));
        take();
    }
    EXPECT_EQ(given_, all);
    for (const media::PacketRef& packet : packets_) {
        EXPECT_EQ(packet->payload().size() % kPacketSize, 0U);
    }
}

TEST_F(TsCarrierTest, AfterALossThePartOfAPacketIsDropped) {
    picture({0x41});
    const Bytes first = ts_.out;
    carrier_.feed(first);
    carrier_.feed(ByteSpan(first).first(50));
    carrier_.lose();
    carrier_.feed(first);
    take();
    EXPECT_EQ(given_.size(), 2 * first.size());
    EXPECT_EQ(carrier_.counters().unsynced_bytes, 0U);
}

TEST_F(TsCarrierTest, WhatStandsBetweenPacketsIsDroppedAndCounted) {
    picture({0x41});
    const Bytes packets = ts_.out;
    carrier_.feed(Bytes(70, 0x11));
    carrier_.feed(packets);
    take();
    EXPECT_EQ(given_, packets);
    EXPECT_EQ(carrier_.counters().unsynced_bytes, 70U);
}

TEST_F(TsCarrierTest, CountsWhatIsMissing) {
    const auto feed = [this](uint8_t counter, uint8_t flags = 0) {
        carrier_.feed(ts_packet(kVideoPid, counter, false, Bytes(100, 1), flags));
        return carrier_.counters().continuity_errors;
    };
    EXPECT_EQ(feed(14), 0U);
    EXPECT_EQ(feed(15), 0U);
    EXPECT_EQ(feed(0), 0U);
    EXPECT_EQ(feed(0), 0U) << "each may come twice";
    EXPECT_EQ(feed(2), 1U);
    EXPECT_EQ(feed(9, kDiscontinuity), 1U) << "announced";
    EXPECT_EQ(feed(10), 1U);
    carrier_.feed(ts_packet(mpegts::kNullPid, 7, false, Bytes(100, 1)));
    carrier_.feed(ts_packet(mpegts::kNullPid, 3, false, Bytes(100, 1)));
    EXPECT_EQ(carrier_.counters().continuity_errors, 1U);
}

TEST_F(TsCarrierTest, TablesInFrontAreTheNewest) {
    tables(Content::kH264);
    picture({0x65});
    pass();
    mpegts::StreamInfo other;
    other.pid = kVideoPid;
    other.content = Content::kHevc;
    ts_.pat({{7, kPmtPid + 1}}, 1).pmt(kPmtPid + 1, 7, {other}, 0);
    const Bytes tables = ts_.out;
    picture({0x40, 1});
    pass();
    EXPECT_EQ(front(packets_.size() - 1), tables);
    EXPECT_EQ(carrier_.counters().starts, 2U);
}

}  // namespace
}  // namespace weir::net
