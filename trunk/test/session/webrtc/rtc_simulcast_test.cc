// Simulcast: layers told apart by rid, the one that everybody gets, and the one that a player gets.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/rtcp/feedback.h"
#include "proto/rtp/header.h"
#include "proto/rtp/payload_vp8.h"
#include "proto/srtp/unprotector.h"
#include "session/webrtc/rtc_ingest.h"
#include "session/webrtc/rtc_layers.h"
#include "session/webrtc/rtc_sender.h"

#include "test/proto/srtp/support.h"
#include "test/session/muxer_fixture.h"
#include "test/support/payloads.h"

namespace weir::session {
namespace {

constexpr uint8_t kType = 96;
constexpr uint8_t kRtxType = 97;
constexpr uint8_t kRid = 4;
constexpr uint8_t kRepairedRid = 5;
constexpr std::string_view kNames[] = {"h", "m", "l"};

// A frame of VP8 of that width, real in its first bytes.
Bytes vp8_frame(bool key, uint32_t width, uint32_t marker) {
    if (!key) {
        return test::counted({0xd1, 0x22, 0x00}, 400, marker);
    }
    const uint32_t height = width * 9 / 16;
    return test::counted({0x50, 0x69, 0x00, 0x9d, 0x01, 0x2a, static_cast<uint8_t>(width),
                          static_cast<uint8_t>(width >> 8U), static_cast<uint8_t>(height),
                          static_cast<uint8_t>(height >> 8U)},
                         1500, marker);
}

class WebRtcRecorder final : public stream::PacketSink {
  public:
    media::Audience audience() const override { return media::Audience::kWebRtc; }

    void on_packet(const media::PacketRef& packet, const stream::Configs*) override {
        packets.push_back(packet);
    }

    void on_start_lost(stream::StartLost) override {}

    std::vector<media::PacketRef> packets;
};

class RtcSimulcastPublisher : public MuxerFixture {
  protected:
    RtcSimulcastPublisher() {
        sdp::Answer answer;
        sdp::NegotiatedMedia& media = answer.media.emplace_back();
        media.kind = media::TrackKind::kVideo;
        media.accepted = true;
        media.direction = sdp::Direction::kRecvOnly;
        media.codec = media::Codec::kVp8;
        media.payload_type = kType;
        media.rtx_payload_type = kRtxType;
        media.clock_hz = 90'000;
        media.feedback.nack = media.feedback.pli = true;
        media.extensions.set(sdp::Extension::kRid, kRid);
        media.extensions.set(sdp::Extension::kRepairedRid, kRepairedRid);
        media.rids = {"h", "m", "l"};
        const stream::Publisher& self = *this;
        rtc_ = std::make_unique<RtcIngest>(stream_, self, answer, RtcIngestOptions());
        at_ = MonoClock::now();
    }

    ~RtcSimulcastPublisher() override {
        if (players_attached_) {
            stream_.detach(players_);
        }
    }

    void attach_players() {
        stream_.attach(players_);
        players_attached_ = true;
    }

    static uint32_t ssrc(size_t layer) { return static_cast<uint32_t>(100 + layer); }

    void send(size_t layer, bool key, bool with_rid = true) {
        rtp::Vp8Packetizer packetizer;
        const auto payloads =
            test::packetize(packetizer, vp8_frame(key, 1280U >> layer, ++marker_), 1100);
        for (const test::Payload& payload : payloads) {
            const rtp::Header header{kType, payload.marker, sequence_[layer]++, time_, ssrc(layer)};
            const rtp::Extension rid{kRid, as_bytes(kNames[layer])};
            std::array<uint8_t, 64> bytes;
            const size_t size = with_rid ? rtp::write_header(header, {&rid, 1}, bytes.data())
                                         : rtp::write_header(header, bytes.data());
            Bytes packet(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
            packet.insert(packet.end(), payload.bytes.begin(), payload.bytes.end());
            rtc_->on_rtp(at_, packet);
        }
    }

    void pass(int ms = 40) {
        at_ += Millis(ms);
        time_ += static_cast<uint32_t>(90 * ms);
    }

    // All of them, so many frames of 40 ms.
    void flow(std::vector<size_t> layers, int frames, bool keys = false) {
        for (int i = 0; i < frames; i++) {
            for (const size_t layer : layers) {
                send(layer, keys && i == 0);
            }
            pass();
        }
    }

    // SSRCs that a key frame is asked of now.
    std::vector<uint32_t> asked() {
        std::array<uint8_t, 1200> buffer;
        std::vector<uint32_t> ssrcs;
        while (const size_t size = rtc_->poll_transmit(at_, buffer)) {
            rtcp::PacketView packet;
            for (rtcp::CompoundReader reader(ByteSpan(buffer).first(size)); reader.next(packet);) {
                if (const auto loss = rtcp::parse_picture_loss(packet)) {
                    ssrcs.push_back(loss->media_ssrc);
                }
            }
        }
        return ssrcs;
    }

    std::vector<uint8_t> layers_of(const std::vector<media::PacketRef>& packets) {
        std::vector<uint8_t> layers;
        for (const media::PacketRef& packet : packets) {
            if (!packet->info().config) {
                layers.push_back(packet->info().layer);
            }
        }
        return layers;
    }

    uint32_t width() const { return stream_.description().width; }

    std::unique_ptr<RtcIngest> rtc_;
    WebRtcRecorder players_;
    bool players_attached_ = false;
    MonoTime at_;
    uint32_t time_ = 1000;
    uint32_t marker_ = 0;
    std::array<uint16_t, 3> sequence_{};
};

TEST_F(RtcSimulcastPublisher, EverybodyGetsTheBestLayerAndWebRtcAll) {
    attach_players();
    flow({2, 1, 0}, 3, true);
    flow({0, 1, 2}, 2);
    EXPECT_THAT(layers_of(recorder_.packets), testing::ElementsAre(2, 1, 0, 0, 0, 0, 0))
        << "at the beginning a better one is taken as it comes";
    for (const media::PacketRef& packet : recorder_.packets) {
        EXPECT_EQ(packet->info().track_id, 0);
        EXPECT_EQ(packet->info().audience, media::Audience::kEverybody);
    }
    EXPECT_EQ(layers_of(players_.packets).size(), 15U);
    for (const media::PacketRef& packet : players_.packets) {
        EXPECT_EQ(packet->info().audience == media::Audience::kWebRtc,
                  packet->info().track_id != 0);
    }
    EXPECT_EQ(width(), 1280U);
    ASSERT_EQ(stream_.description().layers.size(), 3U);
    EXPECT_EQ(stream_.description().layers[2], (media::Layer{"l", 320, 180}));
}

TEST_F(RtcSimulcastPublisher, OtherLayersCostNothingWithoutPlayers) {
    flow({2, 1, 0}, 1, true);
    const size_t before = recorder_.packets.size();
    const uint64_t bytes = stream_.gop_bytes();
    flow({1, 2}, 10);
    EXPECT_EQ(recorder_.packets.size(), before);
    EXPECT_EQ(stream_.gop_bytes(), bytes);
    EXPECT_THAT(asked(), testing::IsEmpty()) << "nor key frames";
    attach_players();
    flow({0, 1, 2}, 1);
    EXPECT_THAT(asked(), testing::UnorderedElementsAre(ssrc(1), ssrc(2)));
}

TEST_F(RtcSimulcastPublisher, PacketsOfNoLayerAreDroppedUntilTheirSsrcIsKnown) {
    send(0, true, false);
    EXPECT_EQ(rtc_->stats().frames, 0U);
    EXPECT_GT(rtc_->stats().unknown_packets, 0U);
    send(0, true);
    send(0, false, false);
    EXPECT_EQ(rtc_->stats().frames, 2U);
}

TEST_F(RtcSimulcastPublisher, NextLayerTakesOverFromOneThatStopsAndGivesBackLater) {
    flow({0, 1, 2}, 80, true);
    recorder_.packets.clear();
    flow({1, 2}, 30);
    EXPECT_THAT(asked(), testing::Contains(ssrc(1))) << "it can only begin with a key frame";
    EXPECT_THAT(asked(), testing::Not(testing::Contains(ssrc(0)))) << "which sends none";
    flow({1, 2}, 3, true);
    EXPECT_THAT(layers_of(recorder_.packets), testing::ElementsAre(1, 1, 1));
    EXPECT_EQ(width(), 640U);
    EXPECT_EQ(rtc_->stats().main_changes, 1U);
    flow({0, 1, 2}, 70, true);
    EXPECT_EQ(width(), 640U) << "not yet";
    flow({0, 1, 2}, 10);
    EXPECT_THAT(asked(), testing::Contains(ssrc(0)));
    flow({0, 1, 2}, 2, true);
    EXPECT_EQ(width(), 1280U);
    const auto layers = rtc_->layers(at_);
    ASSERT_EQ(layers.size(), 3U);
    EXPECT_TRUE(layers[0].main && layers[0].flowing && !layers[1].main);
    EXPECT_NEAR(layers[1].frame_rate, 25, 3);
    EXPECT_GT(layers[1].bits_per_second, 50'000);
}

// ---- choice ----

class LayerChoice : public testing::Test {
  protected:
    LayerChoice() {
        layers_.configure(3);
        for (uint8_t i = 0; i < 3; i++) {
            layers_.set_pixels(i, 1'000'000U >> (2U * i));
        }
        flow({0, 1, 2}, 100);
    }

    // 1,500, 500 and 150 kbit/s.
    void flow(std::vector<uint8_t> layers, int frames) {
        constexpr size_t kSizes[] = {7500, 2500, 750};
        for (int i = 0; i < frames; i++, time_ms_ += 40) {
            for (const uint8_t layer : layers) {
                layers_.on_frame(layer, kSizes[layer], time_ms_);
            }
        }
    }

    // What is chosen at the end of so many seconds on such a path.
    uint8_t stay(int ms, int64_t estimate_bps, bool strained = false) {
        for (int i = 0; i < ms; i += 200, now_ += Millis(200)) {
            current_ = chooser_.choose(now_, layers_, {estimate_bps, strained}, current_);
        }
        return *current_;
    }

    RtcLayers layers_;
    LayerChooser chooser_{std::nullopt};
    std::optional<uint8_t> current_;
    MonoTime now_ = MonoTime() + Seconds(100);
    int64_t time_ms_ = 0;
};

TEST_F(LayerChoice, MeasuresRates) {
    EXPECT_NEAR(static_cast<double>(layers_.bps(0)), 1'500'000, 50'000);
    EXPECT_NEAR(static_cast<double>(layers_.bps(2)), 150'000, 5'000);
}

TEST_F(LayerChoice, BeginsWithTheBestThatFits) {
    EXPECT_EQ(stay(200, 4'000'000), 0);
    current_.reset();
    EXPECT_EQ(stay(200, 600'000), 1);
    current_.reset();
    EXPECT_EQ(stay(200, 10'000), 2) << "the lowest, whatever the estimate";
}

TEST_F(LayerChoice, GoesDownSoonButNotForAMoment) {
    stay(1000, 4'000'000);
    EXPECT_EQ(stay(400, 700'000), 0);
    EXPECT_EQ(stay(1000, 4'000'000), 0);
    EXPECT_EQ(stay(1000, 700'000), 1);
    EXPECT_EQ(stay(1000, 200'000), 2);
}

TEST_F(LayerChoice, GoesUpWhenTheEstimateIsAmple) {
    stay(200, 200'000);
    EXPECT_EQ(stay(800, 560'000), 2) << "fits, but barely";
    EXPECT_EQ(stay(1600, 700'000), 1);
}

// An estimate of 1.5 times what is sent never reaches the next layer.
TEST_F(LayerChoice, TriesTheNextLayerAndLearnsThatItPasses) {
    stay(200, 225'000);
    EXPECT_EQ(stay(6000, 225'000), 1);
    EXPECT_GE(chooser_.trial_bps(), 500'000);
    EXPECT_EQ(stay(2000, 300'000), 1) << "the estimate has no say while it is on trial";
    EXPECT_EQ(chooser_.take_carried(), 0);
    EXPECT_EQ(stay(600, 300'000), 1);
    EXPECT_GE(chooser_.take_carried(), 500'000);
    EXPECT_EQ(chooser_.take_carried(), 0);
    EXPECT_EQ(stay(2000, 620'000), 1) << "which the estimate has been told of";
}

TEST_F(LayerChoice, FailedTrialsBecomeRare) {
    stay(200, 225'000);
    int tries = 0;
    for (int s = 0; s < 120; s++) {
        const uint8_t before = *current_;
        const uint8_t after = stay(1000, 225'000, before == 1);
        tries += before == 2 && after == 1 ? 1 : 0;
    }
    EXPECT_GE(tries, 2);
    EXPECT_LE(tries, 5);
}

TEST_F(LayerChoice, LeavesALayerThatStops) {
    stay(200, 4'000'000);
    flow({1, 2}, 30);
    EXPECT_EQ(stay(200, 4'000'000), 1);
}

TEST_F(LayerChoice, FixedLayerIsLeftOnlyWhileItStops) {
    chooser_ = LayerChooser(1);
    EXPECT_EQ(stay(2000, 10'000, true), 1);
    flow({0, 2}, 30);
    EXPECT_EQ(stay(200, 4'000'000), 2) << "the next lower one";
    flow({0, 1, 2}, 2);
    EXPECT_EQ(stay(200, 4'000'000), 1);
}

// ---- playing ----

class Wire final : public net::RtpOutlet {
  public:
    bool send_burst(ByteSpan packets, size_t) override {
        sent.emplace_back(packets.begin(), packets.end());  // frames of one packet
        return true;
    }

    std::vector<Bytes> sent;
};

class RtcLayerPlayer : public testing::Test {
  protected:
    RtcLayerPlayer() {
        video_.kind = media::TrackKind::kVideo;
        video_.accepted = true;
        video_.direction = sdp::Direction::kSendOnly;
        video_.ssrc = 1;
        video_.payload_type = kType;
        video_.clock_hz = 90'000;
        video_.feedback.nack = true;
        layers_.configure(3);
        for (uint8_t i = 0; i < 3; i++) {
            layers_.set_pixels(i, 1'000'000U >> (2U * i));
        }
        unprotector_ =
            std::move(srtp::Unprotector::create(srtp::Profile::kAeadAes128Gcm, srtp::test_key()))
                .value();
    }

    void join(std::optional<uint8_t> fixed) {
        player_ = std::make_unique<RtcSender>(log_, protector_, nullptr, &video_, random_, now_,
                                              RtcLayerOptions{&layers_, fixed});
    }

    // One frame of each of these layers, at about the same time; the first byte says which.
    void frame(std::vector<uint8_t> layers, bool key = false) {
        for (const uint8_t layer : layers) {
            stream::RtpLog::Frame frame;
            frame.track = static_cast<uint8_t>(kRtpVideoTrack + layer);
            frame.key = key;
            frame.start = key && layer == 0;
            frame.time_ms = time_ms_;
            frame.rtp_time = static_cast<uint32_t>(time_ms_ * 90);
            const Bytes payload(200, layer);
            log_.begin_frame(frame);
            log_.add_packet({}, payload);
            log_.end_frame();
            layers_.on_frame(layer, 200, time_ms_);
        }
        time_ms_ += 40;
        now_ += Millis(40);
    }

    struct Got {
        uint8_t layer = 0;
        uint16_t sequence = 0;
        uint32_t time = 0;
    };

    std::vector<Got> flush() {
        for (int i = 0; i < 1000 && player_; i++) {
            const net::RtpFlush done = player_->flush(now_ + Millis(i), wire_, 8);
            if (done == net::RtpFlush::kCaughtUp) {
                break;
            }
        }
        return open();
    }

    std::vector<Got> open() {
        std::vector<Got> all;
        for (Bytes& wire : wire_.sent) {
            raw_.push_back(wire);
            const srtp::Unprotected plain = unprotector_->unprotect_rtp(wire);
            const auto packet = rtp::PacketView::parse(ByteSpan(wire).first(plain.size));
            if (plain.ok() && packet) {
                all.push_back({packet->payload()[0], packet->sequence(), packet->timestamp()});
            }
        }
        wire_.sent.clear();
        return all;
    }

    static std::vector<uint8_t> layers_of(const std::vector<Got>& all) {
        std::vector<uint8_t> layers;
        for (const Got& one : all) {
            layers.push_back(one.layer);
        }
        return layers;
    }

    // What a decoder needs: one number after the other, times that rise.
    static void expect_continuous(const std::vector<Got>& all) {
        for (size_t i = 1; i < all.size(); i++) {
            EXPECT_EQ(all[i].sequence, static_cast<uint16_t>(all[i - 1].sequence + 1));
            EXPECT_GT(static_cast<int32_t>(all[i].time - all[i - 1].time), 0) << i;
        }
    }

    stream::RtpLog log_;
    RtcLayers layers_;
    sdp::NegotiatedMedia video_;
    srtp::ControlCipher control_;
    srtp::Protector protector_{srtp::Profile::kAeadAes128Gcm, srtp::test_key(), control_};
    std::unique_ptr<srtp::Unprotector> unprotector_;
    Wire wire_;
    std::vector<Bytes> raw_;
    MonoTime now_ = MonoTime() + Seconds(100);
    int64_t time_ms_ = 1000;
    std::unique_ptr<RtcSender> player_;

  private:
    class Zeros final : public RandomSource {
      public:
        void fill(std::span<uint8_t> out) override { std::ranges::fill(out, uint8_t{1}); }
    };

  protected:
    Zeros random_;
};

TEST_F(RtcLayerPlayer, GetsTheLayerThatWasAskedForAndNoOther) {
    frame({2, 1, 0}, true);
    frame({2, 1, 0});
    join(1);
    auto all = flush();
    frame({2, 1, 0});
    for (const Got& got : flush()) {
        all.push_back(got);
    }
    EXPECT_THAT(layers_of(all), testing::ElementsAre(1, 1, 1));
    expect_continuous(all);
}

TEST_F(RtcLayerPlayer, WaitsForAKeyFrameThatItAsksFor) {
    frame({0}, true);
    frame({0, 1});
    join(1);
    EXPECT_THAT(flush(), testing::IsEmpty());
    EXPECT_EQ(player_->take_layer_request(), 1);
    EXPECT_EQ(player_->take_layer_request(), std::nullopt);
    frame({0, 1});
    EXPECT_THAT(flush(), testing::IsEmpty());
    frame({0, 1}, true);
    EXPECT_THAT(layers_of(flush()), testing::ElementsAre(1));
}

TEST_F(RtcLayerPlayer, ChangesAtAKeyFrameAndItsNumbersGoOn) {
    frame({0, 1, 2}, true);
    join(0);
    auto all = flush();
    const auto more = [&] {
        for (const Got& got : flush()) {
            all.push_back(got);
        }
    };
    for (int i = 0; i < 30; i++) {
        frame({1, 2});  // layer 0 has stopped
        more();
    }
    EXPECT_THAT(layers_of(all), testing::ElementsAre(0));
    EXPECT_EQ(player_->take_layer_request(), 1);
    frame({1, 2}, true);
    frame({1, 2});
    more();
    EXPECT_THAT(layers_of(all), testing::ElementsAre(0, 1, 1));
    // Back, at the very time of a frame of the other layer.
    frame({1, 0}, true);
    more();
    for (int i = 0; i < 8; i++) {
        frame({1, 0}, true);
        more();
    }
    EXPECT_EQ(all.back().layer, 0);
    EXPECT_EQ(player_->stats().layer_changes, 2U);
    expect_continuous(all);
}

// Without RTX a packet that is sent again must be the same, byte for byte, or GCM is broken.
TEST_F(RtcLayerPlayer, ResendsAcrossAChangeWhatItSent) {
    frame({0, 1}, true);
    join(0);
    flush();
    for (int i = 0; i < 30; i++) {
        frame({1});
        flush();
    }
    frame({1, 0}, true);
    flush();
    frame({1, 0}, true);
    const auto last = flush();
    ASSERT_FALSE(last.empty());
    const std::vector<Bytes> first_time = raw_;
    raw_.clear();
    for (const Bytes& wire : first_time) {
        std::array<uint8_t, 64> buffer;
        rtcp::CompoundWriter writer(buffer);
        const uint16_t lost = rtp::sequence_of(wire.data());
        ASSERT_TRUE(writer.nack({9, video_.ssrc}, {&lost, 1}));
        rtcp::PacketView packet;
        rtcp::CompoundReader reader(ByteSpan(buffer).first(writer.size()));
        ASSERT_TRUE(reader.next(packet));
        now_ += Millis(100);
        player_->on_rtcp(now_, packet, wire_);
    }
    open();
    EXPECT_EQ(raw_, std::vector<Bytes>(first_time.begin() + 1, first_time.end()))
        << "all but the one that is older than the history";
}

// The longest packet: header, the extensions that may be there, the number of RTX and the tag.
TEST(RtcPlayerPacket, StaysWithinWhatPassesEverywhere) {
    const std::array<uint8_t, 2> number{};
    const std::array<uint8_t, 1> mid{'0'};
    const std::array<rtp::Extension, 2> extensions = {rtp::Extension{3, number},
                                                      rtp::Extension{4, mid}};
    EXPECT_LE(rtp::header_size(extensions) + 2 + kMaxRtcPayload +
                  srtp::rtp_overhead(srtp::Profile::kAeadAes128Gcm),
              1200U);
}

}  // namespace
}  // namespace weir::session
