#include "session/sip/sip_audio_out.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "media/g711.h"

namespace weir::session {
namespace {

constexpr uint32_t kSsrc = 77;
constexpr uint8_t kEvents = 101;
constexpr Micros kTick = SipAudioOut::kTick;

class SipAudioOutTest : public testing::Test {
  protected:
    SipAudioOutTest() { set_up({media::Codec::kG711U, 0, kEvents, std::nullopt, 8000, kSsrc}); }

    void set_up(const SipAudioOut::Setup& setup) { out_.set_up(now_, setup); }

    // A packet of the stream, as it leaves.
    rtp::PacketView stream_says() {
        packet_.assign(rtp::kFixedHeaderSize + 160, 0x55);
        rtp::write_header({0, false, sequence_++, time_ += 160, kSsrc}, packet_.data());
        const auto gone = out_.take(now_, packet_);
        now_ += kTick;
        return *rtp::PacketView::parse(gone);
    }

    // What goes by itself; nothing: nothing does.
    std::optional<ByteSpan> poll(bool quiet = false) {
        now_ += kTick;
        return out_.poll(now_, quiet, room_);
    }

    // What goes by itself in a minute, and when, in milliseconds.
    struct Minute {
        std::vector<Bytes> gone;
        std::vector<int64_t> at;
    };

    Minute minute(bool quiet = false) {
        Minute all;
        const MonoTime begin = now_;
        while (now_ - begin < Seconds(61)) {
            if (const auto bytes = poll(quiet)) {
                all.gone.emplace_back(bytes->begin(), bytes->end());
                all.at.push_back((now_ - begin) / Millis(1));
            }
        }
        return all;
    }

    MonoTime now_{Seconds(100)};
    SipAudioOut out_{1000};
    uint16_t sequence_ = 60'000;
    uint32_t time_ = 5;
    Bytes packet_;
    std::array<uint8_t, SipAudioOut::kMaxOwnPacket> room_{};
};

TEST_F(SipAudioOutTest, PacketsOfTheStreamAreNumberedInOneSequence) {
    EXPECT_EQ(stream_says().sequence(), 1001);
    EXPECT_EQ(stream_says().sequence(), 1002);
    out_.restart();
    sequence_ = 7;
    const auto packet = stream_says();
    EXPECT_EQ(packet.sequence(), 1003);
    EXPECT_EQ(packet.timestamp(), time_);
    EXPECT_EQ(packet.payload()[0], 0x55);
}

TEST_F(SipAudioOutTest, APacketThatIsMissingStaysMissing) {
    EXPECT_EQ(stream_says().sequence(), 1001);
    sequence_++;
    EXPECT_EQ(stream_says().sequence(), 1003);
}

TEST_F(SipAudioOutTest, DigitsTakeThePlaceOfAudio) {
    stream_says();
    ASSERT_TRUE(out_.send_digits("5", Millis(60)));
    rtp::TelephoneEventReceiver heard(8000);
    int events = 0;
    for (int i = 0; i < 20; i++) {
        const auto packet = stream_says();
        EXPECT_EQ(packet.sequence(), 1002 + i);
        EXPECT_EQ(packet.ssrc(), kSsrc);
        if (packet.payload_type() == kEvents) {
            EXPECT_EQ(packet.marker(), events == 0);
            EXPECT_TRUE(heard.handle_packet(now_, packet.timestamp(), packet.payload()));
            events++;
        }
    }
    EXPECT_EQ(events, 2 + rtp::TelephoneEventSender::kEndPackets);
    const auto event = heard.poll_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->digit, '5');
    EXPECT_EQ(event->duration, Millis(60));
    EXPECT_FALSE(heard.poll_event());
}

TEST_F(SipAudioOutTest, DigitsGoWhileTheStreamSaysNothing) {
    EXPECT_EQ(stream_says().sequence(), 1001);
    ASSERT_TRUE(out_.send_digits("12", Millis(100)));
    rtp::TelephoneEventReceiver heard(8000);
    std::string digits;
    uint16_t last = 1001;
    for (int i = 0; i < 50; i++) {
        if (const auto bytes = poll()) {
            const auto packet = rtp::PacketView::parse(*bytes);
            ASSERT_TRUE(packet);
            EXPECT_EQ(packet->sequence(), ++last);
            heard.handle_packet(now_, packet->timestamp(), packet->payload());
        }
        while (const auto event = heard.poll_event()) {
            digits += event->digit;
        }
    }
    EXPECT_EQ(digits, "12");
    EXPECT_EQ(stream_says().sequence(), static_cast<uint16_t>(last + 1));
}

TEST_F(SipAudioOutTest, DigitsAreSentAllOrNone) {
    EXPECT_FALSE(out_.send_digits("12x", Millis(100)));
    EXPECT_FALSE(out_.send_digits(std::string(65, '1'), Millis(100)));
    EXPECT_TRUE(out_.send_digits(std::string(64, '1'), Millis(100)));
    EXPECT_FALSE(out_.send_digits("1", Millis(100)));
    set_up({media::Codec::kG711U, 0, std::nullopt, std::nullopt, 8000, kSsrc});
    EXPECT_FALSE(out_.takes_digits());
    EXPECT_FALSE(out_.send_digits("1", Millis(100)));
}

TEST_F(SipAudioOutTest, SilenceKeepsThePathOpen) {
    stream_says();
    const auto [gone, at] = minute();
    EXPECT_EQ(at, (std::vector<int64_t>{14'980, 29'980, 44'980, 59'980}));
    const auto packet = rtp::PacketView::parse(gone[1]);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->sequence(), 1003);
    EXPECT_EQ(packet->payload().size(), 160U);
    EXPECT_EQ(packet->payload()[0], media::g711::kSilenceMu);
}

TEST_F(SipAudioOutTest, ComfortNoiseBeginsWithTheSilence) {
    set_up({media::Codec::kG711A, 8, kEvents, 13, 8000, kSsrc});
    stream_says();
    const auto [gone, at] = minute();
    ASSERT_EQ(gone.size(), 5U);
    EXPECT_EQ(at[0], 180);  // 200 ms after the packet
    const auto packet = rtp::PacketView::parse(gone[0]);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->payload_type(), 13);
    EXPECT_EQ(packet->payload().size(), 1U);
    EXPECT_EQ(packet->timestamp(), time_ + 8 * 200);
    EXPECT_EQ(stream_says().sequence(), 1001 + 5 + 1);
}

TEST_F(SipAudioOutTest, WhatHasNoSilenceGetsEmptyDatagrams) {
    set_up({media::Codec::kSpeex, 97, kEvents, std::nullopt, 16000, kSsrc});
    stream_says();
    const std::vector<Bytes> gone = minute().gone;
    ASSERT_EQ(gone.size(), 4U);
    EXPECT_TRUE(gone[0].empty());
    EXPECT_EQ(stream_says().sequence(), 1002);
}

TEST_F(SipAudioOutTest, NothingIsHeardOnHold) {
    stream_says();
    ASSERT_TRUE(out_.send_digits("1", Millis(100)));
    const std::vector<Bytes> gone = minute(true).gone;
    ASSERT_EQ(gone.size(), 4U);
    for (const Bytes& each : gone) {
        EXPECT_TRUE(each.empty());
    }
}

}  // namespace
}  // namespace weir::session
