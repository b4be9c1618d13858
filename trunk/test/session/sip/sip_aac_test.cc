// AAC of what phones say, for players who cannot have their codecs, over real sockets and workers.
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "media/tone.h"
#include "session/sip/sip_ingest.h"
#include "transcode/pcm_codec.h"

#include "test/session/sip/sip_world.h"

namespace weir::session {
namespace {

using Kind = sip::CallEvent::Kind;
using media::Audience;
using media::Codec;

class Sink final : public stream::PacketSink {
  public:
    Sink(stream::Stream& stream, Audience whose) : stream_(stream), whose_(whose) {
        stream_.attach(*this);
    }

    ~Sink() override { stream_.detach(*this); }

    Audience audience() const override { return whose_; }

    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override {
        (packet->info().codec == Codec::kAac ? aac : others)++;
        starts += start != nullptr ? 1U : 0U;
        if (packet->info().config) {
            config.assign(packet->payload().begin(), packet->payload().end());
        } else if (packet->info().codec == Codec::kAac) {
            frames.emplace_back(packet->payload().begin(), packet->payload().end());
        }
    }

    void on_start_lost(stream::StartLost) override {}

    size_t aac = 0;
    size_t others = 0;
    size_t starts = 0;
    Bytes config;
    std::vector<Bytes> frames;  // of AAC

  private:
    stream::Stream& stream_;
    Audience whose_;
};

class SipAacTest : public SipWorld {
  protected:
    ~SipAacTest() override { start({}); }  // calls end before the workers do

    void serve(bool conference) {
        SipServerOptions options;
        options.trunks.push_back({NetAddress::parse_ip("127.0.0.1", 0)->v6(), 128});
        options.dial.push_back({"100", "live/stage", "talk/desk"});
        if (conference) {
            options.conferences.push_back({"300", "talk/desk"});
        }
        options.workers = workers_.get();
        start(std::move(options));
        publish();
    }

    stream::Stream& said() {
        return *registry_.find({std::string(stream::kDefaultVhost), "talk", "desk"});
    }

    template <typename Done>
    bool talks_until(Phone& phone, Done&& done) {
        const NetAddress to = phone.media_of_server();
        return io::eventually([&] {
            phone.say(to, sequence_++);
            EXPECT_FALSE(io::sleep_for(Millis(5)));
            return done();
        });
    }

    uint16_t sequence_ = 0;
    std::unique_ptr<io::WorkerPool> workers_ = [] {
        auto made = io::WorkerPool::create(2, 100);
        WEIR_CHECK(made.ok());
        return std::move(*made);
    }();
};

TEST_F(SipAacTest, IsMadeWhileSomebodyTakesItAndForNobodyElse) {
    serve(false);
    Phone phone(address_);
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    Sink flv(said(), Audience::kFlv);
    ASSERT_TRUE(talks_until(phone, [&] { return flv.others > 10; }));
    EXPECT_EQ(flv.aac, 0U);
    {
        Sink ts(said(), Audience::kMpeg);
        ASSERT_TRUE(talks_until(phone, [&] { return ts.aac > 5; }));
        EXPECT_EQ(ts.others, 0U);
        EXPECT_GT(ts.starts, 0U);
        EXPECT_EQ(ts.config, (Bytes{0x14, 0x08}));  // AAC LC, 16 kHz, one channel
    }
    EXPECT_EQ(flv.aac, 0U);
    phone.hang_up();
}

// What Speex and Opus phones say is heard in the AAC.
class SipAacCodecTest : public SipAacTest, public testing::WithParamInterface<sdp::PhoneCodec> {};

TEST_P(SipAacCodecTest, HasTheTone) {
    const sdp::PhoneCodec codec = GetParam();
    const uint32_t frame = codec.clock_hz / 50;
    serve(false);
    Phone phone(address_);
    phone.codecs = {codec};
    phone.call(number("100"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    transcode::AudioOptions spoken;
    spoken.to = codec.codec;
    spoken.to_rate = codec.clock_hz;
    spoken.to_channels = 1;
    auto encoder = transcode::PcmEncoder::create(spoken, codec.clock_hz);
    ASSERT_TRUE(encoder.ok()) << encoder.error().to_string();
    media::ToneGenerator tone(1000, codec.clock_hz);
    const NetAddress to = phone.media_of_server();
    Sink ts(said(), Audience::kMpeg);
    ASSERT_TRUE(io::eventually([&] {
        std::vector<int16_t> samples(frame);
        tone.fill(samples);
        (*encoder)->encode(samples, [&](ByteSpan bytes) {
            Bytes packet(rtp::kFixedHeaderSize);
            packet.insert(packet.end(), bytes.begin(), bytes.end());
            rtp::write_header({codec.payload_type, false, sequence_, sequence_ * frame, 4711},
                              packet.data());
            sequence_++;
            phone.send(to, packet);
        });
        EXPECT_FALSE(io::sleep_for(Millis(5)));
        return ts.frames.size() > 20;
    }));
    EXPECT_EQ(said().audio().codec, codec.codec);
    EXPECT_EQ(ts.others, 0U);
    transcode::AudioOptions made;
    made.from = Codec::kAac;
    made.from_config = ts.config;
    constexpr uint32_t kRate = 16'000;
    auto decoder = transcode::PcmDecoder::create(made, kRate);
    ASSERT_TRUE(decoder.ok()) << decoder.error().to_string();
    std::vector<int16_t> heard;
    for (const Bytes& each : ts.frames) {
        (*decoder)->decode(each, false, heard);
    }
    ASSERT_GT(heard.size(), 4'000U);
    EXPECT_GT(media::tone_share(std::span(heard).last(3'200), 1000, kRate), 0.9);
    phone.hang_up();
}

INSTANTIATE_TEST_SUITE_P(Codecs,
                         SipAacCodecTest,
                         testing::Values(sdp::PhoneCodec{Codec::kSpeex, 8'000, 98},
                                         sdp::PhoneCodec{Codec::kSpeex, 16'000, 97},
                                         sdp::PhoneCodec{Codec::kOpus, 48'000, 96}),
                         [](const auto& each) {
                             return fmt::format("{}_{}", media::to_string(each.param.codec),
                                                each.param.clock_hz);
                         });

TEST_F(SipAacTest, AConferenceHasItToo) {
    serve(true);
    Phone phone(address_);
    phone.call(number("300"));
    ASSERT_TRUE(phone.waits_for(Kind::kAnswered));
    Sink rtc(said(), Audience::kWebRtc);
    Sink ts(said(), Audience::kMpeg);
    ASSERT_TRUE(talks_until(phone, [&] { return ts.aac > 3 && rtc.others > 3; }));
    EXPECT_EQ(ts.others, 0U);
    EXPECT_EQ(rtc.aac, 0U);
    phone.hang_up();
}

TEST(TelephoneAacTest, EachCodecHasItsRate) {
    EXPECT_FALSE(net::telephone_aac(Codec::kAac, 16'000));
    EXPECT_EQ(net::telephone_aac(Codec::kOpus, 48'000)->rate, 48'000U);
    EXPECT_EQ(net::telephone_aac(Codec::kG711A, 8'000)->rate, 16'000U);
    EXPECT_EQ(net::telephone_aac(Codec::kSpeex, 8'000)->from_rate, 8'000U);
    EXPECT_EQ(net::telephone_aac(Codec::kSpeex, 16'000)->from_rate, 16'000U);
}

}  // namespace
}  // namespace weir::session
