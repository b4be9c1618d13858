#include "proto/rtp/receiver.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/rtp/rtx.h"

#include "test/proto/rtp/packets.h"

namespace weir::rtp {
namespace {

using test::kPayloadType;
using test::kRtxPayloadType;
using test::kRtxSsrc;
using test::kSsrc;
using test::kStart;
using test::media_packet;
using testing::ElementsAre;
using testing::IsEmpty;
using Outcome = Receiver::Outcome;

constexpr uint32_t kLocalSsrc = 1;
constexpr int kLostMark = -1;
constexpr int kRestartMark = -2;

// Speaks of packets by their sequence numbers: arrive(3), out() gives {1, 2, 3} or marks.
class ReceiverTest : public testing::Test {
  protected:
    static ReceiverOptions options(bool rtx = true) {
        ReceiverOptions options;
        options.ssrc = kSsrc;
        options.payload_type = kPayloadType;
        options.nack = true;
        if (rtx) {
            options.rtx_ssrc = kRtxSsrc;
        }
        return options;
    }

    Outcome arrive(int sequence) { return handle(media_packet(static_cast<uint16_t>(sequence))); }

    Outcome arrive_by_rtx(int sequence) {
        Bytes rtx(kMaxPacketSize);
        const Bytes packet = media_packet(static_cast<uint16_t>(sequence));
        rtx.resize(wrap_rtx(packet, {kRtxPayloadType, false, rtx_sequence_++, 0, kRtxSsrc}, rtx));
        return handle(rtx);
    }

    Outcome handle(const Bytes& packet) {
        const Outcome outcome = receiver_.handle_packet(now_, packet);
        drain();
        return outcome;
    }

    void drain() {
        ReceiverEvent event;
        while (receiver_.poll_event(event)) {
            switch (event.kind) {
                case ReceiverEvent::Kind::kLost:
                    lost_ += event.lost;
                    out_.push_back(kLostMark);
                    break;
                case ReceiverEvent::Kind::kRestarted: out_.push_back(kRestartMark); break;
                case ReceiverEvent::Kind::kPacket:
                    EXPECT_EQ(event.packet.ssrc(), kSsrc);
                    EXPECT_EQ(event.packet.payload_type(), kPayloadType);
                    EXPECT_EQ(event.packet.payload()[0] << 8 | event.packet.payload()[1],
                              event.packet.sequence());
                    EXPECT_EQ(static_cast<uint16_t>(event.sequence), event.packet.sequence());
                    recovered_ += event.recovered ? 1 : 0;
                    out_.push_back(event.packet.sequence());
                    break;
            }
        }
    }

    std::vector<int> out() { return std::exchange(out_, {}); }

    void advance(Micros by) {
        now_ += by;
        receiver_.handle_timeout(now_);
        drain();
    }

    std::vector<int> asked() {
        std::array<uint8_t, 1200> buffer{};
        rtcp::CompoundWriter writer(buffer);
        receiver_.poll_transmit(kLocalSsrc, writer);
        std::vector<int> lost;
        rtcp::PacketView packet;
        for (rtcp::CompoundReader reader(writer.written()); reader.next(packet);) {
            const std::optional<rtcp::NackView> nack = rtcp::parse_nack(packet);
            EXPECT_TRUE(nack);
            EXPECT_EQ(nack->sources.sender_ssrc, kLocalSsrc);
            EXPECT_EQ(nack->sources.media_ssrc, kSsrc);
            nack->for_each_lost([&](uint16_t sequence) { lost.push_back(sequence); });
        }
        return lost;
    }

    MonoTime now_ = kStart;
    Receiver receiver_{options()};
    std::vector<int> out_;
    int64_t lost_ = 0;
    int recovered_ = 0;
    uint16_t rtx_sequence_ = 9'000;
};

TEST_F(ReceiverTest, GivesPacketsInOrderAtOnce) {
    for (int sequence : {100, 101, 102}) {
        EXPECT_EQ(arrive(sequence), Outcome::kAccepted);
        EXPECT_THAT(out(), ElementsAre(sequence));
    }
    EXPECT_FALSE(receiver_.next_timeout());
    EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ReceiverTest, PutsReorderedPacketsInOrderWithoutAsking) {
    arrive(1);
    arrive(4);
    arrive(3);
    EXPECT_THAT(out(), ElementsAre(1));
    advance(Millis(5));
    EXPECT_THAT(asked(), IsEmpty());
    arrive(2);
    EXPECT_THAT(out(), ElementsAre(2, 3, 4));
    EXPECT_FALSE(receiver_.next_timeout());
    EXPECT_EQ(recovered_, 0);
}

TEST_F(ReceiverTest, SurvivesTheWrapOfSequenceNumbers) {
    arrive(65'534);
    arrive(0);
    arrive(1);
    arrive(65'535);
    EXPECT_THAT(out(), ElementsAre(65'534, 65'535, 0, 1));
    rtcp::ReportBlock block;
    ASSERT_TRUE(receiver_.report(now_, block));
    EXPECT_EQ(block.highest_sequence, 0x1'0001u);
    EXPECT_EQ(block.cumulative_lost, 0);
}

TEST_F(ReceiverTest, AsksForWhatIsMissingAndTakesItFromRtx) {
    arrive(1);
    arrive(5);
    EXPECT_EQ(receiver_.next_timeout(), kStart + Receiver::kReorderDelay);
    advance(Receiver::kReorderDelay);
    EXPECT_THAT(asked(), ElementsAre(2, 3, 4));
    EXPECT_THAT(asked(), IsEmpty());
    advance(Millis(40));
    EXPECT_EQ(arrive_by_rtx(3), Outcome::kAccepted);
    EXPECT_EQ(arrive_by_rtx(2), Outcome::kAccepted);
    EXPECT_EQ(arrive_by_rtx(4), Outcome::kAccepted);
    EXPECT_THAT(out(), ElementsAre(1, 2, 3, 4, 5));
    EXPECT_EQ(recovered_, 3);
    EXPECT_EQ(receiver_.counters().recovered, 3u);
    EXPECT_EQ(receiver_.counters().retransmitted, 3u);
    EXPECT_EQ(receiver_.rtt(), Millis(40));       // measured by the answers
    EXPECT_EQ(receiver_.stats().received(), 2u);  // RTX does not hide the loss
}

TEST_F(ReceiverTest, TakesThePacketItselfAgainWithoutRtx) {
    arrive(1);
    arrive(3);
    advance(Receiver::kReorderDelay);
    EXPECT_THAT(asked(), ElementsAre(2));
    advance(Millis(70));
    EXPECT_EQ(arrive(2), Outcome::kAccepted);
    EXPECT_THAT(out(), ElementsAre(1, 2, 3));
    EXPECT_EQ(receiver_.rtt(), Millis(70));
}

TEST_F(ReceiverTest, FindsALongRoundTripAlthoughItAsksTooEarlyAtFirst) {
    int sequence = 0;
    arrive(sequence);
    for (int i = 0; i < 40; i++) {  // each second packet is lost and comes 250 ms after the request
        arrive(sequence += 2);
        const MonoTime answer = now_ + Receiver::kReorderDelay + Millis(250);
        while (now_ < answer) {
            advance(Millis(5));
            asked();
        }
        arrive_by_rtx(sequence - 1);
        if (i == 19) {
            EXPECT_NEAR(static_cast<double>(receiver_.rtt().count()), 250e3, 5e3);
            receiver_.set_rtt(Millis(60));  // the path was shorter, and now it is not
        }
    }
    EXPECT_EQ(lost_, 0);
    EXPECT_NEAR(static_cast<double>(receiver_.rtt().count()), 250e3, 5e3);
}

TEST_F(ReceiverTest, GivesUpWhenTheTimeIsOver) {
    receiver_.set_rtt(Millis(20));
    arrive(1);
    arrive(4);
    arrive(6);
    EXPECT_THAT(out(), ElementsAre(1));
    advance(receiver_.wait() - Micros(1));
    EXPECT_THAT(out(), IsEmpty());
    advance(Micros(1));
    EXPECT_THAT(out(), ElementsAre(kLostMark, 4, kLostMark, 6));
    EXPECT_EQ(lost_, 3);
    EXPECT_EQ(receiver_.counters().lost, 3u);
    EXPECT_FALSE(receiver_.next_timeout());
    EXPECT_EQ(arrive_by_rtx(2), Outcome::kRepeated);  // too late
    EXPECT_THAT(out(), IsEmpty());
    EXPECT_EQ(receiver_.counters().late, 1u);
}

TEST_F(ReceiverTest, WaitsLongerOnALongPathButNeverBeyondTheLimit) {
    receiver_.set_rtt(Millis(0));
    EXPECT_EQ(receiver_.wait(), Millis(100));
    receiver_.set_rtt(Millis(100));
    EXPECT_EQ(receiver_.wait(), Millis(500));
    receiver_.set_rtt(Seconds(30));
    EXPECT_EQ(receiver_.wait(), Millis(800));
}

TEST_F(ReceiverTest, WithoutNackItWaitsForReorderedPacketsOnly) {
    ReceiverOptions plain = options(false);
    plain.nack = false;
    Receiver receiver(plain);
    EXPECT_EQ(receiver.wait(), Millis(20));
    ReceiverEvent event;
    receiver.handle_packet(now_, media_packet(1));
    while (receiver.poll_event(event)) {
    }
    receiver.handle_packet(now_, media_packet(3));
    EXPECT_FALSE(receiver.poll_event(event));
    EXPECT_EQ(receiver.next_timeout(), now_ + Millis(20));
    std::array<uint8_t, 1200> buffer{};
    rtcp::CompoundWriter writer(buffer);
    receiver.handle_timeout(now_ + Millis(20));
    EXPECT_FALSE(receiver.poll_transmit(1, writer));
    ASSERT_TRUE(receiver.poll_event(event));
    EXPECT_EQ(event.kind, ReceiverEvent::Kind::kLost);
    ASSERT_TRUE(receiver.poll_event(event));
    EXPECT_EQ(event.packet.sequence(), 3);
}

TEST_F(ReceiverTest, CountsDuplicatesAndLatePackets) {
    arrive(1);
    EXPECT_EQ(arrive(1), Outcome::kRepeated);
    arrive(3);
    EXPECT_EQ(arrive(3), Outcome::kRepeated);
    EXPECT_EQ(arrive_by_rtx(3), Outcome::kRepeated);
    EXPECT_EQ(receiver_.counters().late, 1u);
    EXPECT_EQ(receiver_.counters().duplicates, 2u);
    EXPECT_THAT(out(), ElementsAre(1));
}

TEST_F(ReceiverTest, PaddingUsesASequenceNumberAndIsNotGivenOut) {
    arrive(1);
    EXPECT_EQ(handle(test::make_packet({kPayloadType, false, 2, 0, kSsrc}, {})),
              Outcome::kAccepted);
    handle(test::make_packet({kPayloadType, false, 4, 0, kSsrc}, {}));  // held
    arrive(5);
    arrive(3);
    EXPECT_THAT(out(), ElementsAre(1, 3, 5));
    EXPECT_EQ(handle(test::make_packet({kRtxPayloadType, false, 1, 0, kRtxSsrc}, {})),
              Outcome::kIgnored);
}

TEST_F(ReceiverTest, OneStrayPacketFarAwayIsIgnoredTwoInARowAreARestart) {
    arrive(1);
    arrive(2);
    EXPECT_EQ(arrive(30'000), Outcome::kIgnored);
    EXPECT_EQ(arrive(3), Outcome::kAccepted);
    EXPECT_EQ(arrive(30'000), Outcome::kIgnored);
    EXPECT_THAT(out(), ElementsAre(1, 2, 3));
    EXPECT_EQ(arrive(30'001), Outcome::kAccepted);
    EXPECT_THAT(out(), ElementsAre(kRestartMark, 30'001));
    EXPECT_EQ(receiver_.counters().restarts, 1u);
    EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ReceiverTest, ARestartALittleBehindIsFoundByItsLatePackets) {
    for (int sequence = 1000; sequence < 1500; sequence++) {
        arrive(sequence);
    }
    out();
    int dropped = 0;
    for (int sequence = 900; sequence < 1100; sequence++) {
        dropped += arrive(sequence) == Outcome::kRepeated ? 1 : 0;
    }
    EXPECT_EQ(dropped, 64);
    const std::vector<int> given = out();
    ASSERT_EQ(given.size(), 137u);
    EXPECT_EQ(given.front(), kRestartMark);
    EXPECT_EQ(given.back(), 1099);
}

TEST_F(ReceiverTest, AGapTooLargeToAskForIsLostAtOnce) {
    arrive(1);
    arrive(3);
    EXPECT_EQ(arrive(1500), Outcome::kAccepted);
    EXPECT_THAT(out(), ElementsAre(1, kLostMark, 1500));
    EXPECT_EQ(lost_, 1498);  // what was held is lost as well
    EXPECT_EQ(receiver_.counters().overflows, 1u);
    EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ReceiverTest, AGapThatIsNeverFilledDoesNotHoldMoreThanItsLimit) {
    receiver_.set_rtt(Seconds(1));
    arrive(0);
    for (int sequence = 2; sequence < 2 + 3 * static_cast<int>(kMaxHeldPackets); sequence++) {
        arrive(sequence);  // all within the wait
    }
    EXPECT_GE(receiver_.counters().overflows, 1u);
    EXPECT_EQ(out_.back(), 1 + 3 * static_cast<int>(kMaxHeldPackets));
}

TEST_F(ReceiverTest, MalformedAndForeignPacketsChangeNothing) {
    arrive(1);
    const Bytes good = media_packet(2);
    for (size_t size = 0; size < kFixedHeaderSize; size++) {
        EXPECT_EQ(handle(Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size))),
                  Outcome::kMalformed);
    }
    EXPECT_EQ(handle(media_packet(2, 0, kMaxPacketSize)), Outcome::kMalformed);  // with its header
    EXPECT_EQ(handle(test::make_packet({kPayloadType, false, 2, 0, 42}, Bytes(10))),
              Outcome::kIgnored);
    EXPECT_THAT(out(), ElementsAre(1));
    EXPECT_EQ(receiver_.counters().malformed, kFixedHeaderSize + 1);
}

TEST_F(ReceiverTest, RtxBeforeTheFirstPacketOrFarAwayIsIgnored) {
    EXPECT_EQ(arrive_by_rtx(7), Outcome::kIgnored);
    arrive(10);
    EXPECT_EQ(arrive_by_rtx(20'000), Outcome::kIgnored);
    EXPECT_EQ(arrive_by_rtx(12), Outcome::kAccepted);  // overtook the packet itself
    EXPECT_EQ(arrive(11), Outcome::kAccepted);
    EXPECT_THAT(out(), ElementsAre(10, 11, 12));
}

TEST_F(ReceiverTest, ReportsAreMadeFromTheFirstPacketOn) {
    rtcp::ReportBlock block;
    EXPECT_FALSE(receiver_.report(now_, block));
    arrive(5);
    receiver_.handle_sender_report(now_, rtcp::NtpTime{0x0001'0002'0003'0004U});
    ASSERT_TRUE(receiver_.report(now_ + Seconds(1), block));
    EXPECT_EQ(block.ssrc, kSsrc);
    EXPECT_EQ(block.last_sr, 0x0002'0003u);
    EXPECT_EQ(block.delay_since_sr, 0x1'0000u);
}

TEST_F(ReceiverTest, ManyRequestsGoIntoSeveralPacketsAndNoneIsForgotten) {
    arrive(0);
    for (int sequence = 2; sequence < 400; sequence += 2) {
        arrive(sequence);
    }
    advance(Receiver::kReorderDelay);
    std::vector<int> all;
    for (std::vector<int> some = asked(); !some.empty(); some = asked()) {
        all.insert(all.end(), some.begin(), some.end());
    }
    ASSERT_EQ(all.size(), 199u);
    for (int i = 0; i < 199; i++) {
        EXPECT_EQ(all[static_cast<size_t>(i)], 2 * i + 1);
    }
}

}  // namespace
}  // namespace weir::rtp
