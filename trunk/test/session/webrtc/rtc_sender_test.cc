// What one player is sent of a log, packet by packet; opened by libsrtp2.
#include "session/webrtc/rtc_sender.h"

#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/rtcp/writer.h"
#include "proto/srtp/unprotector.h"

#include "test/proto/srtp/support.h"
#include "test/session/webrtc/rtc_media.h"
#include "test/support/netem.h"

namespace weir::session {
namespace {

constexpr uint32_t kVideoSsrc = 1111;
constexpr uint32_t kRtxSsrc = 2222;
constexpr uint32_t kAudioSsrc = 3333;
constexpr uint8_t kVideoType = 102;
constexpr uint8_t kRtxType = 103;
constexpr uint8_t kAudioType = 111;
constexpr uint8_t kTwccId = 3;

// Where bursts go.
class Wire final : public net::RtpOutlet {
  public:
    bool send_burst(ByteSpan packets, size_t segment_bytes) override {
        bursts++;
        if (blocked) {
            return false;
        }
        while (!packets.empty()) {
            const size_t size =
                segment_bytes == 0 ? packets.size() : std::min(segment_bytes, packets.size());
            sent.emplace_back(packets.begin(), packets.begin() + static_cast<std::ptrdiff_t>(size));
            packets = packets.subspan(size);
        }
        return true;
    }

    bool blocked = false;
    size_t bursts = 0;
    std::vector<Bytes> sent;
};

// A packet that came, in the clear.
struct Received {
    Bytes wire;
    Bytes plain;
    uint8_t type = 0;
    uint16_t sequence = 0;
    uint32_t time = 0;
    bool marker = false;
    Bytes payload;
    std::optional<uint16_t> twcc;
};

enum class Resend : uint8_t { kRtx, kSame };

class RtcSenderTest : public testing::TestWithParam<Resend> {
  protected:
    RtcSenderTest() {
        stream_.attach(muxer_);
        publisher_ = std::make_unique<TestPublisher>(stream_);
        protector_ = std::make_unique<srtp::Protector>(srtp::Profile::kAeadAes128Gcm,
                                                       srtp::test_key(), control_);
        auto opened = srtp::Unprotector::create(srtp::Profile::kAeadAes128Gcm, srtp::test_key());
        WEIR_CHECK(opened.ok());
        unprotector_ = std::move(*opened);
        video_ = media(TrackKind::kVideo, kVideoSsrc, kVideoType, 90'000);
        audio_ = media(TrackKind::kAudio, kAudioSsrc, kAudioType, 48'000);
    }

    ~RtcSenderTest() override {
        publisher_.reset();
        stream_.detach(muxer_);
    }

    using TrackKind = media::TrackKind;

    sdp::NegotiatedMedia media(TrackKind kind, uint32_t ssrc, uint8_t type, uint32_t clock) {
        sdp::NegotiatedMedia media;
        media.kind = kind;
        media.accepted = true;
        media.direction = sdp::Direction::kSendOnly;
        media.ssrc = ssrc;
        media.payload_type = type;
        media.clock_hz = clock;
        media.feedback.nack = kind == TrackKind::kVideo;
        media.feedback.transport_cc = kind == TrackKind::kVideo;
        media.extensions.set(sdp::Extension::kTransportCc, kTwccId);
        if (kind == TrackKind::kVideo && resends() == Resend::kRtx) {
            media.rtx_ssrc = kRtxSsrc;
            media.rtx_payload_type = kRtxType;
        }
        return media;
    }

    Resend resends() const { return GetParam(); }

    void join() {
        player_ = std::make_unique<RtcSender>(muxer_.log(), *protector_, &audio_, &video_, random_,
                                              now());
    }

    MonoTime& now() { return publisher_->now; }

    // Until the player has all that there is, or its path is full; pacing takes no time here.
    net::RtpFlush flush() {
        MonoTime at = now();
        for (int turn = 0; turn < 100'000; turn++) {
            const net::RtpFlush state = player_->flush(at, wire_, 8);
            if (state == net::RtpFlush::kPaced) {
                EXPECT_GT(player_->next_send(), at);
                at = player_->next_send();
            } else if (state != net::RtpFlush::kMore) {
                open();
                return state;
            }
        }
        ADD_FAILURE() << "the player never catches up";
        return net::RtpFlush::kMore;
    }

    void open() {
        for (Bytes& wire : wire_.sent) {
            Received one;
            one.wire = wire;
            const srtp::Unprotected plain = unprotector_->unprotect_rtp(wire);
            if (plain.status == srtp::Status::kReplayed) {
                again.push_back(one.wire);
                continue;
            }
            ASSERT_TRUE(plain.ok()) << to_string(plain.status);
            wire.resize(plain.size);
            const auto packet = rtp::PacketView::parse(wire);
            ASSERT_TRUE(packet.has_value());
            one.type = packet->payload_type();
            one.sequence = packet->sequence();
            one.time = packet->timestamp();
            one.marker = packet->marker();
            one.payload.assign(packet->payload().begin(), packet->payload().end());
            if (const auto number = packet->extension(kTwccId)) {
                one.twcc = static_cast<uint16_t>((*number)[0] << 8 | (*number)[1]);
            }
            one.plain = wire;
            (one.type == kVideoType   ? video_packets
             : one.type == kAudioType ? audio_packets
                                      : rtx)
                .push_back(std::move(one));
        }
        wire_.sent.clear();
    }

    // Frames of the video from index `from` on; there is no hole in their numbers.
    std::vector<Bytes> frames(size_t from = 0) const {
        FrameReader reader;
        for (size_t i = from; i < video_packets.size(); i++) {
            reader.feed(video_packets[i].plain);
        }
        EXPECT_EQ(reader.holes, 0);
        return reader.frames;
    }

    void begin_apart() {
        publisher_->config();
        publisher_->clock_ms = 5'000;
    }

    void expect_late_audio_is_played(uint32_t behind_ms) {
        begin_apart();
        apart(behind_ms, 0, 75);
        join();
        const size_t before = publisher_->sounds.size();
        for (int i = 0; i < 100; i++) {
            apart(behind_ms, 0, 1);
            EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
        }
        const std::vector<Bytes> since(
            publisher_->sounds.begin() + static_cast<std::ptrdiff_t>(before),
            publisher_->sounds.end());
        EXPECT_EQ(heard(since.size()), since);
        EXPECT_LE(audio_packets.size() - since.size(), net::RtpSender::kFirstAudioLagMs / 20 + 1U);
    }

    // Video each 40 ms and audio each 20 ms: one of both is behind the other on the timeline.
    void apart(uint32_t audio_behind_ms, uint32_t video_behind_ms, int pictures) {
        for (int i = 0; i < pictures; i++) {
            const uint32_t clock_ms = publisher_->clock_ms;
            publisher_->clock_ms = clock_ms - video_behind_ms;
            publisher_->video(published_++ % 25 == 0 ? Picture::kKey : Picture::kUnreferenced,
                              1000);
            for (const uint32_t each_ms : {0U, 20U}) {
                publisher_->clock_ms = clock_ms - audio_behind_ms + each_ms;
                publisher_->opus();
            }
            publisher_->clock_ms = clock_ms;
            publisher_->pass(40);
        }
    }

    // The newest audio that came.
    std::vector<Bytes> heard(size_t count) const {
        std::vector<Bytes> all;
        for (const Received& packet : audio_packets) {
            all.push_back(packet.payload);
        }
        all.erase(all.begin(),
                  all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size())));
        return all;
    }

    bool feedback(const std::function<void(rtcp::CompoundWriter&)>& write) {
        std::array<uint8_t, 1400> buffer;
        rtcp::CompoundWriter writer(buffer);
        write(writer);
        bool wants_key = false;
        rtcp::PacketView packet;
        for (rtcp::CompoundReader reader(writer.written()); reader.next(packet);) {
            wants_key = player_->on_rtcp(now(), packet, wire_) || wants_key;
        }
        open();
        return wants_key;
    }

    void nack(std::vector<uint16_t> numbers, uint32_t ssrc = kVideoSsrc) {
        while (!numbers.empty()) {
            size_t taken = 0;
            feedback(
                [&](rtcp::CompoundWriter& writer) { taken = writer.nack({1, ssrc}, numbers); });
            ASSERT_GT(taken, 0U);
            numbers.erase(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(taken));
        }
    }

    // Asks for this packet again, and gets it as it was.
    void expect_resend(const Received& first) {
        rtx.clear();
        again.clear();
        nack({first.sequence});
        if (resends() == Resend::kSame) {
            ASSERT_EQ(again.size(), 1U) << first.sequence;
            EXPECT_EQ(again[0], first.wire);
            return;
        }
        ASSERT_EQ(rtx.size(), 1U) << first.sequence;
        Bytes expected = {static_cast<uint8_t>(first.sequence >> 8),
                          static_cast<uint8_t>(first.sequence)};
        expected.insert(expected.end(), first.payload.begin(), first.payload.end());
        EXPECT_EQ(rtx[0].payload, expected);
        EXPECT_EQ(rtx[0].time, first.time);
        EXPECT_EQ(rtx[0].marker, first.marker);
    }

    stream::Stream stream_{{"v", "live", "a"}, {}, MonoClock::now()};
    RtcLogWriter muxer_{nullptr, 0, "a"};
    std::unique_ptr<TestPublisher> publisher_;
    srtp::ControlCipher control_;
    std::unique_ptr<srtp::Protector> protector_;
    std::unique_ptr<srtp::Unprotector> unprotector_;
    sdp::NegotiatedMedia video_;
    sdp::NegotiatedMedia audio_;
    test::SeededRandom random_{7};
    std::unique_ptr<RtcSender> player_;
    Wire wire_;
    int published_ = 0;
    std::vector<Received> video_packets;
    std::vector<Received> audio_packets;
    std::vector<Received> rtx;
    std::vector<Bytes> again;  // byte for byte what came before, says the replay check
};

INSTANTIATE_TEST_SUITE_P(Resends,
                         RtcSenderTest,
                         testing::Values(Resend::kRtx, Resend::kSame),
                         [](const auto& value) {
                             return value.param == Resend::kRtx ? "ByRtx" : "ByTheSamePacket";
                         });

TEST_P(RtcSenderTest, GetsTheGopAndWhatFollows) {
    publisher_->config();
    publisher_->gop(25);
    join();
    EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
    EXPECT_EQ(frames(), publisher_->frames);
    publisher_->gop(3);
    EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
    EXPECT_EQ(frames(), publisher_->frames);
    EXPECT_EQ(player_->stats().packets, video_packets.size());
    EXPECT_EQ(player_->stats().resyncs, 0U);
}

TEST_P(RtcSenderTest, PlayerThatIsALittleBehindGetsNoFramesThatNothingRefersTo) {
    publisher_->config();
    publisher_->gop(2);
    join();
    flush();
    wire_.blocked = true;
    std::vector<Bytes> referenced(publisher_->frames);
    for (int i = 0; i < 12; i++) {
        publisher_->video(i % 2 == 0 ? Picture::kUnreferenced : Picture::kReferenced);
        if (i % 2 != 0 || i >= 6) {  // the last 250 ms are no lag
            referenced.push_back(publisher_->frames.back());
        }
        publisher_->pass(40);
        EXPECT_EQ(player_->flush(now(), wire_, 8), net::RtpFlush::kBlocked);
    }
    wire_.blocked = false;
    EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
    EXPECT_EQ(frames(), referenced);
    EXPECT_GT(player_->stats().skipped_runs, 0U);
    EXPECT_EQ(player_->stats().resyncs, 0U);
}

TEST_P(RtcSenderTest, PlayerThatIsFarBehindGoesOnAtTheNewestKeyFrame) {
    publisher_->config();
    publisher_->gop(5);
    join();
    flush();
    wire_.blocked = true;
    publisher_->gop(25);
    EXPECT_EQ(player_->flush(now(), wire_, 8), net::RtpFlush::kBlocked);
    publisher_->gop(25);
    publisher_->gop(25);
    wire_.blocked = false;
    EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
    std::vector<Bytes> expected(publisher_->frames.begin(), publisher_->frames.begin() + 5);
    expected.insert(expected.end(), publisher_->frames.end() - 25, publisher_->frames.end());
    EXPECT_EQ(frames(), expected);
    EXPECT_EQ(player_->stats().resyncs, 1U);
    EXPECT_GE(player_->stats().skipped_runs, 50U);
}

// What is left out makes no hole, so a frame that was broken off would look like a whole one.
TEST_P(RtcSenderTest, FrameThatHasBegunIsFinished) {
    publisher_->config();
    publisher_->gop(1);
    join();
    flush();
    publisher_->video(Picture::kUnreferenced, 150'000);
    EXPECT_NE(player_->flush(now(), wire_, 1), net::RtpFlush::kCaughtUp) << "one run of several";
    for (int i = 0; i < 10; i++) {
        publisher_->pass(40);
        publisher_->video(Picture::kReferenced);
    }
    EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
    EXPECT_EQ(frames(), publisher_->frames);
    EXPECT_EQ(player_->stats().skipped_runs, 0U);
}

TEST_P(RtcSenderTest, FrameWhoseRestIsGoneIsALoss) {
    publisher_->config();
    publisher_->gop(1);
    join();
    flush();
    publisher_->video(Picture::kReferenced, 150'000);
    EXPECT_NE(player_->flush(now(), wire_, 1), net::RtpFlush::kCaughtUp) << "one run of several";
    publisher_->pass(40);
    publisher_->gop(50);
    EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
    EXPECT_EQ(player_->stats().resyncs, 1U);
    FrameReader reader;
    for (const Received& packet : video_packets) {
        reader.feed(packet.plain);
    }
    EXPECT_EQ(reader.holes, 1);
    std::vector<Bytes> expected = publisher_->frames;
    expected.erase(expected.begin() + 1);
    EXPECT_EQ(reader.frames, expected);
}

TEST_P(RtcSenderTest, ResendsTheRightPacketAfterSeveralResyncs) {
    publisher_->config();
    publisher_->gop(3, 6000);
    join();
    flush();
    for (int i = 0; i < 5; i++) {
        wire_.blocked = true;
        publisher_->gop(30, 5000);  // skipped
        wire_.blocked = false;
        publisher_->gop(3, 5000 + static_cast<size_t>(i));
        flush();
    }
    EXPECT_EQ(player_->stats().resyncs, 5U);
    int looked_at = 0;
    for (size_t i = video_packets.size(); i-- > 0 && looked_at < 12; looked_at++) {
        expect_resend(video_packets[i]);
    }
    EXPECT_EQ(looked_at, 12);
    EXPECT_EQ(player_->stats().retransmitted, 12U);
}

// Each frame that is left out shifts the numbers once more.
TEST_P(RtcSenderTest, ResendsTheRightPacketBetweenFramesThatWereLeftOut) {
    publisher_->config();
    publisher_->gop(2);
    join();
    flush();
    for (int i = 0; i < 16; i++) {
        publisher_->video(i % 2 == 0 ? Picture::kReferenced : Picture::kUnreferenced, 2500);
        publisher_->pass(40);
    }
    flush();
    EXPECT_GT(player_->stats().skipped_runs, 2U);
    size_t resent = 0;
    for (const Received& packet : std::vector<Received>(video_packets)) {
        const uint64_t late = player_->stats().too_late;
        rtx.clear();
        again.clear();
        nack({packet.sequence});
        if (player_->stats().too_late == late) {
            expect_resend(packet);
            resent++;
        }
    }
    EXPECT_GT(resent, video_packets.size() / 2);
}

TEST_P(RtcSenderTest, NumbersThatWereNeverSentOrAreTooOldBringNothing) {
    publisher_->config();
    join();
    nack({1, 2, 3});  // before anything
    publisher_->gop(3);
    flush();
    const Received old = video_packets.front();
    const uint16_t next = static_cast<uint16_t>(video_packets.back().sequence + 1);
    again.clear();
    rtx.clear();
    nack({next, static_cast<uint16_t>(next + 1), static_cast<uint16_t>(next + 1000)});
    nack({static_cast<uint16_t>(old.sequence - 1)});
    nack({old.sequence}, 99);          // of nobody
    nack({old.sequence}, kAudioSsrc);  // no NACK was negotiated
    EXPECT_TRUE(again.empty() && rtx.empty());
    EXPECT_EQ(player_->stats().retransmitted, 0U);
    EXPECT_EQ(player_->stats().too_late, 0U);
    for (int i = 0; i < 4; i++) {
        publisher_->gop(25);
        flush();
    }
    nack({old.sequence});
    EXPECT_TRUE(again.empty() && rtx.empty());
    EXPECT_EQ(player_->stats().too_late, 1U);
}

TEST_P(RtcSenderTest, NumbersWrap) {
    publisher_->config();
    publisher_->gop(1);
    join();
    flush();
    const uint16_t first = video_packets.front().sequence;
    uint64_t packets = video_packets.size();
    bool asked = false;
    while (packets < 80'000) {
        video_packets.erase(video_packets.begin(), video_packets.end() - 1);
        const uint16_t before = video_packets[0].sequence;
        publisher_->video(packets % 100 == 0 ? Picture::kKey : Picture::kReferenced, 40'000);
        publisher_->pass(40);
        flush();
        for (size_t i = 1; i < video_packets.size(); i++) {
            ASSERT_EQ(video_packets[i].sequence,
                      static_cast<uint16_t>(video_packets[i - 1].sequence + 1));
        }
        packets += video_packets.size() - 1;
        if (video_packets.back().sequence < before) {
            asked = true;
            for (const Received& packet : std::vector<Received>(video_packets)) {
                if (packet.sequence >= 0xFFFC || packet.sequence < 4) {
                    expect_resend(packet);
                }
            }
        }
    }
    EXPECT_TRUE(asked);
    EXPECT_EQ(video_packets.back().sequence, static_cast<uint16_t>(first + packets - 1));
    EXPECT_EQ(player_->stats().packets, packets);
}

TEST_P(RtcSenderTest, FloodOfNacksIsBoundedByTheBudget) {
    publisher_->config();
    publisher_->gop(20, 40'000);
    join();
    flush();
    std::vector<uint16_t> all;
    for (const Received& packet : video_packets) {
        all.push_back(packet.sequence);
    }
    ASSERT_GT(all.size() * 1000, 512U * 1024);
    for (int i = 0; i < 20; i++) {
        nack(all);
    }
    uint64_t bytes = 0;
    for (const Bytes& packet : again) {
        bytes += packet.size();
    }
    for (const Received& packet : rtx) {
        bytes += packet.wire.size();
    }
    EXPECT_GT(bytes, 200U * 1024);
    EXPECT_LE(bytes, 256U * 1024 + 2000);
    // A second later it may have 375 KB more, but no more than the burst at once.
    publisher_->pass(1000);
    const uint64_t before = player_->stats().retransmitted;
    for (int i = 0; i < 20; i++) {
        nack(all);
    }
    EXPECT_LE((player_->stats().retransmitted - before) * 1000, 256U * 1024 + 2000);
}

TEST_P(RtcSenderTest, PictureLossAndFullIntraRequestsAskForAKeyFrame) {
    publisher_->config();
    publisher_->gop(3);
    join();
    flush();
    EXPECT_TRUE(feedback([](auto& writer) { writer.picture_loss({1, kVideoSsrc}); }));
    EXPECT_TRUE(feedback([](auto& writer) { writer.full_intra_request(1, {kVideoSsrc, 1}); }));
    EXPECT_FALSE(feedback([](auto& writer) { writer.full_intra_request(1, {99, 2}); }));
    EXPECT_FALSE(feedback([](auto& writer) { writer.receiver_report(1, {}); }));
    EXPECT_EQ(player_->stats().key_requests, 2U);
}

TEST_P(RtcSenderTest, OldAudioIsLeftOutAtTheStart) {
    publisher_->config();
    for (int i = 0; i < 50; i++) {
        publisher_->video(i == 0 ? Picture::kKey : Picture::kReferenced, 1000);
        publisher_->opus();
        publisher_->pass(20);
    }
    join();
    flush();
    EXPECT_EQ(frames().size(), 50U);
    ASSERT_FALSE(audio_packets.empty());
    EXPECT_EQ(audio_packets.size(), net::RtpSender::kFirstAudioLagMs / 20 + 1U);
    EXPECT_EQ(audio_packets.back().payload, publisher_->sounds.back());
    for (size_t i = 1; i < audio_packets.size(); i++) {
        EXPECT_EQ(audio_packets[i].sequence,
                  static_cast<uint16_t>(audio_packets[i - 1].sequence + 1));
        EXPECT_EQ(audio_packets[i].time - audio_packets[i - 1].time, 960U);
    }
}

// ---- audio and video apart from each other on the timeline ----

TEST_P(RtcSenderTest, AudioThatComesHalfASecondBehindTheVideoIsPlayed) {
    expect_late_audio_is_played(500);
}

TEST_P(RtcSenderTest, AudioThatComesTwoSecondsBehindTheVideoIsPlayed) {
    expect_late_audio_is_played(2'000);
}

TEST_P(RtcSenderTest, VideoThatComesBehindTheAudioIsNeitherThinnedNorSkipped) {
    begin_apart();
    apart(0, 2'000, 10);
    join();
    flush();
    const uint64_t thinned = player_->stats().skipped_runs;  // of the start
    for (int i = 0; i < 200; i++) {
        apart(0, 2'000, 1);
        EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
        EXPECT_EQ(player_->lag_ms(), 0);
    }
    EXPECT_EQ(player_->stats().skipped_runs, thinned);
    EXPECT_EQ(player_->stats().resyncs, 0U);
}

// AAC in transport streams: a PES packet has up to 0.4 s.
TEST_P(RtcSenderTest, AudioThatComesInBunchesIsPlayed) {
    publisher_->config();
    publisher_->video(Picture::kKey, 1000);
    join();
    for (int bunch = 0; bunch < 10; bunch++) {
        for (int i = 0; i < 20; i++) {
            publisher_->opus();
            publisher_->clock_ms += 20;
        }
        publisher_->now += Millis(400);
        publisher_->video(Picture::kReferenced, 1000);
        EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
    }
    const std::vector<Bytes> since(publisher_->sounds.begin() + 20, publisher_->sounds.end());
    EXPECT_EQ(heard(since.size()), since) << "all but the first bunch, of which it has the end";
    EXPECT_LE(audio_packets.size(), since.size() + 10);
}

TEST_P(RtcSenderTest, AudioThatHadToWaitForThePathIsLeftOut) {
    begin_apart();
    apart(500, 0, 10);
    join();
    flush();
    const size_t before = audio_packets.size();
    wire_.blocked = true;
    for (int i = 0; i < 50; i++) {
        apart(500, 0, 1);
        EXPECT_EQ(player_->flush(now(), wire_, 8), net::RtpFlush::kBlocked);
    }
    wire_.blocked = false;
    flush();
    EXPECT_EQ(audio_packets.size() - before, net::RtpSender::kMaxAudioLagMs / 20 + 1U);
    EXPECT_EQ(audio_packets.back().payload, publisher_->sounds.back());
}

TEST_P(RtcSenderTest, AudioThatWaitedForAMomentIsSent) {
    publisher_->config();
    publisher_->video(Picture::kKey, 1000);
    publisher_->opus();
    join();
    flush();
    wire_.blocked = true;
    for (int i = 0; i < 20; i++) {
        publisher_->clock_ms += 20;
        publisher_->opus();
    }
    EXPECT_EQ(player_->flush(now(), wire_, 8), net::RtpFlush::kBlocked);
    publisher_->now += Millis(100);
    wire_.blocked = false;
    flush();
    EXPECT_EQ(audio_packets.size(), publisher_->sounds.size());
}

// Opus is made of the AAC of a GOP when the first player comes.
TEST_P(RtcSenderTest, OldAudioThatIsWrittenAfterTheStartIsLeftOut) {
    publisher_->config();
    publisher_->gop(25);
    join();
    flush();
    const int64_t newest_ms = muxer_.log().head_time_ms();
    muxer_.log().note_coming(kRtpAudioTrack, newest_ms);
    for (int64_t time_ms = newest_ms - 960; time_ms <= newest_ms; time_ms += 20) {
        stream::RtpLog::Frame frame;
        frame.track = kRtpAudioTrack;
        frame.time_ms = time_ms;
        muxer_.log().begin_frame(frame);
        muxer_.log().add_packet({}, Bytes(80, 1));
        muxer_.log().end_frame();
        flush();
    }
    EXPECT_EQ(audio_packets.size(), net::RtpSender::kMaxAudioLagMs / 20 + 1U);
}

TEST_P(RtcSenderTest, ReportsPutAudioAndVideoOnOneClock) {
    publisher_->config();
    for (int i = 0; i < 10; i++) {
        publisher_->video(i == 0 ? Picture::kKey : Picture::kReferenced, 1000);
        publisher_->opus();
        publisher_->pass(40);
    }
    join();
    flush();
    publisher_->pass(40);
    std::array<uint8_t, 1200> buffer;
    EXPECT_EQ(player_->report(player_->next_report() - Micros(1), MonoTime{}, buffer), 0U);
    const size_t size = player_->report(now(), MonoTime{}, buffer);
    ASSERT_GT(size, 0U);
    EXPECT_GT(player_->next_report(), now());
    std::map<uint32_t, rtcp::SenderReport> reports;
    rtcp::PacketView packet;
    for (rtcp::CompoundReader reader(ByteSpan(buffer).first(size)); reader.next(packet);) {
        if (const auto report = rtcp::parse_sender_report(packet)) {
            reports[report->ssrc] = *report;
        }
    }
    ASSERT_EQ(reports.size(), 2U);
    EXPECT_EQ(reports[kVideoSsrc].ntp_time, reports[kAudioSsrc].ntp_time);
    EXPECT_EQ(reports[kVideoSsrc].packets, video_packets.size());
    EXPECT_EQ(reports[kAudioSsrc].packets, audio_packets.size());
    // The last frames of video and audio were made at the same time.
    const auto age_us = [](uint32_t report, uint32_t packet_time, int64_t clock) {
        return static_cast<int64_t>(static_cast<int32_t>(report - packet_time)) * 1'000'000 / clock;
    };
    EXPECT_NEAR(static_cast<double>(
                    age_us(reports[kVideoSsrc].rtp_time, video_packets.back().time, 90'000)),
                static_cast<double>(
                    age_us(reports[kAudioSsrc].rtp_time, audio_packets.back().time, 48'000)),
                100);
}

// Until a receiver has one of each track, it cannot play them together.
TEST_P(RtcSenderTest, ReportsATrackAsSoonAsItHasBegun) {
    publisher_->config();
    publisher_->video(Picture::kKey, 1000);
    join();
    flush();
    publisher_->pass(40);
    std::array<uint8_t, 1200> buffer;
    const size_t of_video = player_->report(now(), MonoTime{}, buffer);
    ASSERT_GT(of_video, 0U);
    EXPECT_GE(player_->next_report(), now() + Millis(1'000));
    publisher_->opus();
    publisher_->video(Picture::kReferenced, 1000);
    flush();
    ASSERT_FALSE(audio_packets.empty());
    publisher_->pass(20);
    EXPECT_LE(player_->next_report(), now());
    EXPECT_GT(player_->report(now(), MonoTime{}, buffer), of_video);
}

TEST_P(RtcSenderTest, GoesOnWithTheNextPublisher) {
    publisher_->config();
    publisher_->gop(10);
    join();
    flush();
    const size_t before = video_packets.size();
    const MonoTime then = now();
    publisher_.reset();
    publisher_ = std::make_unique<TestPublisher>(stream_);
    now() = then + Seconds(20);
    publisher_->clock_ms = 3'000'000;
    publisher_->marker = 5000;
    EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
    publisher_->config(test::kAvcHighConfig);
    publisher_->gop(10);
    EXPECT_EQ(flush(), net::RtpFlush::kCaughtUp);
    EXPECT_EQ(frames(before), publisher_->frames);
    EXPECT_EQ(video_packets[before].sequence,
              static_cast<uint16_t>(video_packets[before - 1].sequence + 1));
    EXPECT_GT(static_cast<int32_t>(video_packets[before].time - video_packets[before - 1].time), 0);
}

// Nothing was sent, so nothing has a number.
TEST_P(RtcSenderTest, BurstThatThePathDoesNotTakeHasNoNumbers) {
    publisher_->config();
    publisher_->gop(3);
    join();
    flush();
    wire_.blocked = true;
    publisher_->gop(2);
    for (int i = 0; i < 5; i++) {
        EXPECT_EQ(player_->flush(now(), wire_, 8), net::RtpFlush::kBlocked);
    }
    wire_.blocked = false;
    flush();
    EXPECT_EQ(frames(), publisher_->frames);
    EXPECT_EQ(video_packets[0].twcc.has_value(), resends() == Resend::kRtx);
    for (size_t i = 1; i < video_packets.size() && resends() == Resend::kRtx; i++) {
        EXPECT_EQ(*video_packets[i].twcc, static_cast<uint16_t>(*video_packets[i - 1].twcc + 1));
    }
}

TEST_P(RtcSenderTest, AnyLimitThatAPeerNamesIsSurvived) {
    publisher_->config();
    publisher_->gop(3);
    join();
    flush();
    const uint32_t sources[] = {kVideoSsrc};
    for (uint64_t bps :
         {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40, uint64_t{1} << 62, UINT64_MAX}) {
        feedback([&](auto& writer) { writer.bitrate_limit(1, bps, sources); });
        publisher_->video(Picture::kReferenced);
        publisher_->pass(40);
        flush();
        EXPECT_GT(player_->estimate_bps(), 0);
    }
    rtcp::ReportBlock block;
    block.ssrc = kVideoSsrc;
    for (uint32_t highest : {0U, 1U, 0x8000'0000U, 0xFFFF'FFFFU, 5U}) {
        for (int32_t lost : {0, -8'388'608, 8'388'607}) {
            block.highest_sequence = highest;
            block.cumulative_lost = lost;
            block.last_sr = highest;
            block.delay_since_sr = ~highest;
            feedback([&](auto& writer) { writer.receiver_report(1, {&block, 1}); });
        }
    }
    EXPECT_EQ(frames(), publisher_->frames);
}

TEST_P(RtcSenderTest, RoundTripIsWhatReportsTell) {
    publisher_->config();
    publisher_->gop(3);
    join();
    flush();
    publisher_->pass(40);
    std::array<uint8_t, 1200> buffer;
    const size_t size = player_->report(now(), MonoTime{}, buffer);
    rtcp::PacketView packet;
    rtcp::CompoundReader reader(ByteSpan(buffer).first(size));
    ASSERT_TRUE(reader.next(packet)) << size;
    const auto report = rtcp::parse_sender_report(packet);
    ASSERT_TRUE(report.has_value());
    publisher_->pass(350);
    rtcp::ReportBlock block;
    block.ssrc = kVideoSsrc;
    block.fraction_lost = 64;
    block.last_sr = rtcp::compact_ntp(report->ntp_time);
    block.delay_since_sr = rtcp::compact_ntp_duration(200'000);
    feedback([&](auto& writer) { writer.receiver_report(1, {&block, 1}); });
    EXPECT_NEAR(static_cast<double>(player_->stats().rtt.count()), 150'000, 100);
    EXPECT_DOUBLE_EQ(player_->stats().loss, 0.25);
}

TEST_P(RtcSenderTest, ReportsHaveTheWallClockThatTheyAreGiven) {
    constexpr int64_t kOffsetUs = 981'173'106'000'000;
    publisher_->config();
    publisher_->gop(3);
    join();
    flush();
    publisher_->pass(40);
    std::array<uint8_t, 1200> buffer;
    const size_t size = player_->report(now(), MonoTime{}, buffer, kOffsetUs);
    rtcp::PacketView packet;
    rtcp::CompoundReader reader(ByteSpan(buffer).first(size));
    ASSERT_TRUE(reader.next(packet)) << size;
    const auto report = rtcp::parse_sender_report(packet);
    ASSERT_TRUE(report.has_value());
    EXPECT_NEAR(rtcp::ntp_to_unix_us(report->ntp_time) - kOffsetUs,
                stream_.timeline().latest() * 1000, 100'000);
}

}  // namespace
}  // namespace weir::session
