// What phones say, through the jitter buffer, over real sockets and workers.
#include "session/sip/sip_voice.h"

#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "media/g711.h"
#include "media/tone.h"
#include "transcode/pcm_codec.h"

#include "test/session/sip/sip_world.h"

namespace weir::session {
namespace {

using testing::HasSubstr;
using Kind = sip::CallEvent::Kind;
using Samples = std::vector<int16_t>;

class SipVoiceTest : public SipWorld {
  protected:
    ~SipVoiceTest() override { start({}); }  // calls end before the workers do

    void serve(bool jitter_buffer) {
        SipServerOptions options;
        options.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
        options.dial.push_back({"100", "live/stage", "talk/desk"});
        options.jitter_buffer = jitter_buffer;
        options.workers = workers_.get();
        start(std::move(options));
        publish();
    }

    stream::Stream& said() {
        return *registry_.find({std::string(stream::kDefaultVhost), "talk", "desk"});
    }

    // Packets at their pace, until so many frames are published.
    template <typename Packet>
    bool say_until(Phone& phone, uint64_t frames, Packet&& packet) {
        const NetAddress to = phone.media_of_server();
        return io::eventually([&] {
            if (const Bytes bytes = packet(); !bytes.empty()) {
                phone.send(to, bytes);
            }
            EXPECT_FALSE(io::sleep_for(Millis(20)));
            return said().audio().frames >= frames;
        });
    }

    std::unique_ptr<io::WorkerPool> workers_ = [] {
        auto made = io::WorkerPool::create(2, 100);
        WEIR_CHECK(made.ok());
        return std::move(*made);
    }();
};

TEST_F(SipVoiceTest, WithAJitterBufferG711StaysG711) {
    serve(true);
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    uint16_t sequence = 0;
    ASSERT_TRUE(say_until(phone, 10, [&] { return Phone::packet(sequence++); }));
    EXPECT_EQ(said().audio().codec, media::Codec::kG711U);
    // The phone says nothing any more, and the stream goes on.
    EXPECT_TRUE(say_until(phone, 40, [] { return Bytes(); }));
    ASSERT_TRUE(calls().at(0).voice);
    EXPECT_EQ(calls().at(0).voice->received, sequence);
}

TEST_F(SipVoiceTest, ComfortNoiseBringsAJitterBuffer) {
    serve(false);
    Phone phone(address_);
    phone.comfort_noise = true;
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    uint16_t sequence = 0;
    ASSERT_TRUE(say_until(phone, 5, [&] { return Phone::packet(sequence++); }));
    EXPECT_FALSE(calls().at(0).voice);
    const uint64_t before = said().audio().frames;
    bool sent = false;
    EXPECT_TRUE(say_until(phone, before + 20, [&] {
        Bytes noise(rtp::kFixedHeaderSize + 1, 60);
        rtp::write_header({13, false, sequence, sequence * uint32_t{kPhoneFrame}, 4711},
                          noise.data());
        return std::exchange(sent, true) ? Bytes() : noise;
    }));
    EXPECT_TRUE(calls().at(0).voice);
    EXPECT_EQ(said().audio().codec, media::Codec::kG711U);
    // And when it speaks again, it is heard.
    ASSERT_TRUE(
        say_until(phone, said().audio().frames + 5, [&] { return Phone::packet(++sequence); }));
    EXPECT_GT(calls().at(0).voice->received, 2U);
}

TEST_F(SipVoiceTest, WhatAPhoneSaysInG722IsAac) {
    serve(false);
    Phone phone(address_);
    phone.codecs = {{media::Codec::kG722, 8000, 9}};
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    EXPECT_THAT(phone.last.sdp, HasSubstr("G722/8000"));
    EXPECT_THAT(phone.last.sdp, HasSubstr("a=sendrecv"));
    transcode::AudioOptions g722;
    g722.to = media::Codec::kG722;
    auto encoder = transcode::PcmEncoder::create(g722, 16'000);
    ASSERT_TRUE(encoder.ok()) << encoder.error().to_string();
    media::ToneGenerator tone(1000, 16'000);
    uint16_t sequence = 0;
    ASSERT_TRUE(say_until(phone, 8, [&] {
        Samples samples(320);
        tone.fill(samples);
        Bytes packet(rtp::kFixedHeaderSize);
        (*encoder)->encode(samples, [&](ByteSpan frame) {
            packet.insert(packet.end(), frame.begin(), frame.end());
        });
        rtp::write_header({9, false, sequence, sequence * uint32_t{160}, 4711}, packet.data());
        sequence++;
        return packet;
    }));
    EXPECT_EQ(said().audio().codec, media::Codec::kAac);
}

// A worker pool that is busy: frames are left out, nothing waits without end.
TEST_F(SipVoiceTest, WorkersThatCannotFollowAreNotWaitedFor) {
    auto small = io::WorkerPool::create(1, 1);
    ASSERT_TRUE(small.ok());
    uint32_t skipped = 0;
    SipVoice voice({media::Codec::kG711U, 8000, media::Codec::kOpus, 48'000}, small->get(), "test",
                   1, [&](MonoTime, ByteSpan, uint32_t left_out) { skipped += left_out; });
    const Bytes payload(160, 0x55);
    rtp::PlayoutPacketView packet;
    packet.payload = payload;
    const MonoTime begin = MonoClock::now();
    for (int i = 0; i < 1000; i++) {  // without a turn for the workers' answers
        packet.sequence++;
        packet.rtp_time += 160;
        voice.handle_packet(begin + i * Millis(20), packet);
        voice.tick(begin + i * Millis(20));
    }
    EXPECT_GT(voice.dropped(), 500U);
    EXPECT_TRUE(io::eventually([&] {
        packet.sequence++;
        packet.rtp_time += 160;
        voice.handle_packet(MonoClock::now() + Seconds(20), packet);
        voice.step(MonoClock::now() + Seconds(20));
        return skipped > 500;
    }));
}

}  // namespace
}  // namespace weir::session
