#include "proto/rtp/telephone_event.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test/support/netem.h"

namespace weir::rtp {
namespace {

constexpr uint32_t kClock = 8000;
constexpr uint32_t kTick = 160;

TEST(EventPayloadTest, ReadsAndWritesExactBytes) {
    // RFC 4733 §5.1, the last packet of the table's digit 9 (event 9, end, volume 7, 1600 ticks).
    const Bytes bytes = {9, 0x87, 0x06, 0x40};
    const EventPayload payload{9, true, 7, 1600};
    EXPECT_EQ(EventPayload::parse(bytes), payload);
    const auto written = payload.write();
    EXPECT_EQ(Bytes(written.begin(), written.end()), bytes);
    EXPECT_EQ(EventPayload::parse(Bytes{9, 0x47, 0, 1}), (EventPayload{9, false, 7, 1}))
        << "the reserved bit is ignored";
    for (size_t size = 0; size < bytes.size(); size++) {
        EXPECT_FALSE(EventPayload::parse(ByteSpan(bytes).first(size)));
    }
    EXPECT_TRUE(EventPayload::parse(Bytes{9, 0x87, 0x06, 0x40, 1, 2, 3, 4}));
}

TEST(EventPayloadTest, NamesDigits) {
    std::string all;
    for (int event = 0; event <= 17; event++) {
        const char digit = digit_of(static_cast<uint8_t>(event));
        all += digit == 0 ? '-' : digit;
        if (digit != 0) {
            EXPECT_EQ(event_of(digit), event);
        }
    }
    EXPECT_EQ(all, "0123456789*#ABCD!-");
    EXPECT_EQ(event_of('d'), 15);
    EXPECT_EQ(event_of('!'), kFlashEvent);
    for (const char other : {'E', 'e', ' ', '\0', '/', ':'}) {
        EXPECT_FALSE(event_of(other)) << other;
    }
}

TEST(EventPayloadTest, ReadsAndWritesListsOfEvents) {
    const EventSet usual = parse_event_list("0-15,66, 70 ");
    EXPECT_EQ(usual.count(), 18U);
    EXPECT_TRUE(usual[0] && usual[15] && usual[66] && usual[70] && !usual[16]);
    EXPECT_EQ(write_event_list(usual), "0-15,66,70");
    EXPECT_EQ(write_event_list(parse_event_list("")), "0-15");
    EXPECT_EQ(write_event_list(parse_event_list("16,x,300,9-,7-5,1-2-3,255")), "16,255");
    EXPECT_EQ(write_event_list({}), "");
    EXPECT_EQ(parse_event_list("0-255").count(), 256U);
}

class TelephoneEventReceiverTest : public testing::Test {
  protected:
    void packet(uint32_t time, uint8_t event, uint16_t duration, bool end = false) {
        EventPayload payload{event, end, 10, duration};
        const auto bytes = payload.write();
        EXPECT_TRUE(receiver.handle_packet(now, time, bytes));
        collect();
        now += Millis(20);
    }

    // A digit as phones send it: 5 packets and 3 ends.
    void digit(uint32_t time, uint8_t event) {
        for (uint16_t i = 1; i <= 5; i++) {
            packet(time, event, static_cast<uint16_t>(i * kTick));
        }
        for (int i = 0; i < 3; i++) {
            packet(time, event, 6 * kTick, true);
        }
    }

    void pass(Micros time) {
        now += time;
        receiver.handle_timeout(now);
        collect();
    }

    void collect() {
        while (const auto event = receiver.poll_event()) {
            events.push_back(*event);
            digits += event->digit;
        }
    }

    MonoTime now{Seconds(50)};
    TelephoneEventReceiver receiver{kClock};
    std::vector<ReceivedEvent> events;
    std::string digits;
};

TEST_F(TelephoneEventReceiverTest, GivesEachDigitOnce) {
    digit(1000, 1);
    digit(4000, 1);
    digit(8000, 11);
    EXPECT_EQ(digits, "11#");
    EXPECT_EQ(events[0].duration, Millis(120));
    EXPECT_FALSE(events[0].lost_end);
    EXPECT_FALSE(receiver.next_timeout());
}

TEST_F(TelephoneEventReceiverTest, TimesMayWrap) {
    digit(0xFFFFFF00, 5);
    digit(0x00000800, 6);
    EXPECT_EQ(digits, "56");
}

TEST_F(TelephoneEventReceiverTest, OneEndIsEnough) {
    packet(1000, 7, 800, true);
    packet(2600, 8, 800, true);
    EXPECT_EQ(digits, "78");
}

TEST_F(TelephoneEventReceiverTest, GivesAnEventWithoutEndWhenTheNextBegins) {
    packet(1000, 2, 160);
    packet(1000, 2, 320);
    packet(4000, 3, 160);
    EXPECT_EQ(digits, "2");
    EXPECT_TRUE(events[0].lost_end);
    EXPECT_EQ(events[0].duration, Millis(40));
}

TEST_F(TelephoneEventReceiverTest, GivesAnEventWithoutEndAfterAPause) {
    packet(1000, 4, 160);
    ASSERT_TRUE(receiver.next_timeout());
    EXPECT_EQ(*receiver.next_timeout(), now - Millis(20) + TelephoneEventReceiver::kEndTimeout);
    pass(Millis(179));
    EXPECT_EQ(digits, "");
    pass(Millis(1));
    EXPECT_EQ(digits, "4");
    EXPECT_FALSE(receiver.next_timeout());
    packet(1000, 4, 320);
    packet(1000, 4, 480, true);
    pass(Millis(500));
    EXPECT_EQ(digits, "4") << "its late packets are not another digit";
}

TEST_F(TelephoneEventReceiverTest, LateAndRepeatedPacketsMeanNothing) {
    digit(1000, 1);
    digit(4000, 2);
    packet(1000, 1, 960, true);
    packet(4000, 2, 960, true);
    packet(4000, 2, 320);
    EXPECT_EQ(digits, "12");
}

TEST_F(TelephoneEventReceiverTest, ALongEventInSeveralPartsIsOne) {
    for (uint32_t part = 0; part < 2; part++) {
        for (uint32_t at = 6553; at < 65536; at += 6553) {
            packet(1000 + part * 65'530, 9, static_cast<uint16_t>(at));
        }
    }
    packet(1000 + 2 * 65'530, 9, 800, true);
    EXPECT_EQ(digits, "9");
    EXPECT_EQ(events[0].duration.count(), (2 * 65'530 + 800) * 125);
}

TEST_F(TelephoneEventReceiverTest, AnotherSourceStartsAgain) {
    digit(100'000, 1);
    receiver.reset();
    digit(90'000, 2);
    EXPECT_EQ(digits, "12");
    digit(0x40000000, 3);  // a clock that jumped, without another source
    EXPECT_EQ(digits, "123");
}

TEST_F(TelephoneEventReceiverTest, AFloodIsBounded) {
    for (uint32_t i = 0; i < 10'000; i++) {
        const auto bytes = EventPayload{1, true, 10, 160}.write();
        receiver.handle_packet(now, i * 160, bytes);
    }
    collect();
    EXPECT_EQ(digits.size(), TelephoneEventReceiver::kMaxBurst);
    EXPECT_EQ(receiver.dropped(), 10'000 - TelephoneEventReceiver::kMaxBurst);
    now += Millis(100);
    digit(5'000'000, 2);
    EXPECT_EQ(digits.back(), '2');
}

TEST_F(TelephoneEventReceiverTest, ShortPayloadsAreNoEvents) {
    EXPECT_FALSE(receiver.handle_packet(now, 1, Bytes{1, 2, 3}));
    EXPECT_FALSE(receiver.handle_packet(now, 1, {}));
    pass(Seconds(1));
    EXPECT_TRUE(events.empty());
}

class TelephoneEventSenderTest : public testing::Test {
  protected:
    struct Sent {
        bool marker;
        uint32_t time;
        EventPayload payload;
    };

    void run(int ticks) {
        for (int i = 0; i < ticks; i++) {
            if (const auto packet = sender.tick(time)) {
                sent.push_back(
                    {packet->marker, packet->rtp_time, *EventPayload::parse(packet->payload)});
                at.push_back(time);
            }
            time += kTick;
        }
    }

    uint32_t time = 0xFFFFFF00;
    TelephoneEventSender sender{kClock, kTick};
    std::vector<Sent> sent;
    std::vector<uint32_t> at;
};

TEST_F(TelephoneEventSenderTest, SendsGrowingDurationsAndThreeEnds) {
    run(3);
    EXPECT_TRUE(sent.empty());
    const uint32_t begin = time;
    ASSERT_TRUE(sender.send(*event_of('5'), Millis(100)));
    EXPECT_FALSE(sender.idle());
    run(20);
    ASSERT_EQ(sent.size(), 7U);
    for (size_t i = 0; i < sent.size(); i++) {
        EXPECT_EQ(sent[i].marker, i == 0);
        EXPECT_EQ(sent[i].time, begin);
        EXPECT_EQ(sent[i].payload.event, 5);
        EXPECT_EQ(sent[i].payload.duration, std::min<size_t>(i + 1, 5) * kTick);
        EXPECT_EQ(sent[i].payload.end, i >= 4);
        EXPECT_EQ(at[i], begin + static_cast<uint32_t>(i) * kTick);
    }
    EXPECT_TRUE(sender.idle());
}

TEST_F(TelephoneEventSenderTest, PausesBetweenEvents) {
    sender.send(1);
    sender.send(1);
    run(40);
    std::vector<uint32_t> begins;
    for (const Sent& packet : sent) {
        if (packet.marker) {
            begins.push_back(packet.time);
        }
    }
    ASSERT_EQ(begins.size(), 2U);
    EXPECT_EQ(begins[1] - begins[0], (7 + 3) * kTick);
}

TEST_F(TelephoneEventSenderTest, DurationsAndTheLineAreBounded) {
    EXPECT_TRUE(sender.send(1, Micros(0)));
    EXPECT_TRUE(sender.send(2, Seconds(3600)));
    run(400);
    EXPECT_EQ(sent[3].payload.duration, 320);
    EXPECT_EQ(sent.back().payload.duration, 32'000);
    for (size_t i = 0; i < TelephoneEventSender::kMaxWaiting; i++) {
        EXPECT_TRUE(sender.send(1));
    }
    EXPECT_FALSE(sender.send(1));
    TelephoneEventSender fast(48'000, 960);
    fast.send(1, Seconds(4));
    std::optional<TelephoneEventSender::Packet> last;
    for (uint32_t i = 0; i < 200; i++) {
        if (const auto packet = fast.tick(i * 960)) {
            last = packet;
        }
    }
    EXPECT_EQ(EventPayload::parse(last->payload)->duration, 65'535) << "what the field can say";
}

TEST_F(TelephoneEventSenderTest, StopsWithAnEnd) {
    sender.send(1, Seconds(2));
    sender.send(2);
    run(10);
    sender.stop();
    run(20);
    EXPECT_TRUE(sender.idle());
    ASSERT_EQ(sent.size(), 13U);
    EXPECT_TRUE(sent.back().payload.end);
    EXPECT_EQ(sent.back().payload.duration, 11 * kTick);
}

TEST_F(TelephoneEventSenderTest, ItsEventsSurviveLossAndDisorder) {
    test::SeededRandom random(7);
    TelephoneEventReceiver receiver(kClock);
    const std::string typed = "0123456789*#ABCD!1123";
    for (const char c : typed) {
        sender.send(*event_of(c));
    }
    MonoTime now{Seconds(1)};
    std::string heard;
    std::optional<TelephoneEventSender::Packet> held;
    const auto deliver = [&](const TelephoneEventSender::Packet& packet) {
        for (int copies = random.chance(0.1) ? 2 : 1; copies > 0; copies--) {
            receiver.handle_packet(now, packet.rtp_time, packet.payload);
        }
    };
    for (int i = 0; i < 400; i++) {
        const auto packet = sender.tick(time);
        if (packet && !random.chance(0.2)) {
            if (!held && random.chance(0.1)) {
                held = packet;  // comes after the next one
            } else {
                deliver(*packet);
            }
        } else if (held) {
            deliver(*held);
            held.reset();
        }
        receiver.handle_timeout(now);
        while (const auto event = receiver.poll_event()) {
            heard += event->digit;
        }
        time += kTick;
        now += Millis(20);
    }
    EXPECT_EQ(heard, typed);
}

}  // namespace
}  // namespace weir::rtp
