#include "session/rtsp/rtsp_muxer.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "media/opus.h"
#include "proto/rtcp/report.h"
#include "proto/rtp/header.h"
#include "proto/rtsp/connection_reader.h"

#include "test/session/muxer_fixture.h"
#include "test/support/codec_samples.h"
#include "test/support/payloads.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;
using test::BodyKind;

struct Frame {
    uint8_t channel;
    Bytes payload;
};

class RtspMuxerTest : public MuxerFixture {
  protected:
    static RtspChannels both() {
        RtspChannels channels;
        channels[net::kRtpVideoTrack] = rtsp::ChannelPair{0, 1};
        channels[net::kRtpAudioTrack] = rtsp::ChannelPair{2, 3};
        return channels;
    }

    void send_video(uint32_t time_ms, bool key, size_t size) {
        const uint8_t type = key ? 0x65 : 0x41;
        send(TrackKind::kVideo, time_ms,
             test::tag_body(Codec::kH264, key ? BodyKind::kKeyFrame : BodyKind::kFrame,
                            test::nal_frame({test::counted({type, 0x88}, size)})));
    }

    void send_audio(uint32_t time_ms) {
        send(TrackKind::kAudio, time_ms,
             test::tag_body(Codec::kAac, BodyKind::kFrame, Bytes(100, 0x21)));
    }

    // 44.1 kHz, stereo; the key frame is three packets.
    void publish() {
        send(TrackKind::kVideo, 0,
             test::tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
        send(TrackKind::kAudio, 0,
             test::tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1210")));
        send_video(0, true, 4000);
        for (uint32_t i = 1; i < 5; i++) {
            send_audio(23 * i);
            send_video(40 * i, false, 500);
        }
    }

    // All frames from the log's start on.
    static std::vector<Frame> frames(const stream::WireLog& log) {
        Bytes bytes;
        log.copy_until(log.start(), log.head(), bytes);
        std::vector<Frame> found;
        rtsp::ConnectionReader reader;
        ByteSpan rest = bytes;
        while (reader.next(rest) == rtsp::ConnectionReader::Status::kFrame) {
            const ByteSpan payload = reader.frame().payload;
            found.push_back({reader.frame().channel, Bytes(payload.begin(), payload.end())});
        }
        EXPECT_FALSE(reader.in_message());
        return found;
    }
};

TEST_F(RtspMuxerTest, CutsFramesIntoPacketsWithNumbersThatGoOn) {
    RtspMuxer muxer(both());
    stream_.attach(muxer);
    publish();
    std::array<uint16_t, 4> next{};
    std::array<size_t, 4> packets{};
    for (const Frame& frame : frames(muxer.log())) {
        ASSERT_LT(frame.channel, 4);
        if (frame.channel % 2 == 1) {
            continue;
        }
        const auto packet = rtp::PacketView::parse(frame.payload);
        ASSERT_TRUE(packet);
        if (packets[frame.channel]++ > 0) {
            EXPECT_EQ(packet->sequence(), next[frame.channel]);
        }
        next[frame.channel] = static_cast<uint16_t>(packet->sequence() + 1);
    }
    EXPECT_GE(packets[0], 7U) << "the key frame is three packets";
    EXPECT_EQ(packets[2], 4U);
    stream_.detach(muxer);
}

TEST_F(RtspMuxerTest, NamesTheFirstPacketsOfTheStart) {
    RtspMuxer muxer(both());
    stream_.attach(muxer);
    publish();
    send_video(400, true, 4000);
    send_audio(410);
    for (const auto& [track, channel] :
         {std::pair(net::kRtpVideoTrack, 0), std::pair(net::kRtpAudioTrack, 2)}) {
        const RtspNumbers::First first = muxer.numbers().first(track);
        for (const Frame& frame : frames(muxer.log())) {
            if (frame.channel == channel) {
                const auto packet = rtp::PacketView::parse(frame.payload);
                EXPECT_EQ(packet->sequence(), first.sequence);
                EXPECT_EQ(packet->timestamp(), first.rtp_time);
                break;
            }
        }
    }
    stream_.detach(muxer);
}

// A publisher may be silent when a player comes.
TEST_F(RtspMuxerTest, NamesTheTimeOfTheStartForATrackThatHasNotCome) {
    RtspMuxer muxer(both());
    stream_.attach(muxer);
    send(TrackKind::kVideo, 0,
         test::tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    send_video(0, true, 4000);
    EXPECT_FALSE(muxer.numbers().first(net::kRtpAudioTrack).rtp_time) << "nothing is known of it";
    send(TrackKind::kAudio, 0,
         test::tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1210")));
    send_video(1000, true, 4000);
    const auto named = muxer.numbers().first(net::kRtpAudioTrack).rtp_time;
    ASSERT_TRUE(named);
    send_audio(1500);
    for (const Frame& frame : frames(muxer.log())) {
        if (frame.channel == 2) {
            const auto packet = rtp::PacketView::parse(frame.payload);
            EXPECT_EQ(packet->timestamp() - *named, 44'100U / 2);
        }
    }
    stream_.detach(muxer);
}

TEST_F(RtspMuxerTest, LeavesOutTracksWithoutChannels) {
    RtspChannels channels;
    channels[net::kRtpAudioTrack] = rtsp::ChannelPair{4, 5};
    RtspMuxer muxer(channels);
    stream_.attach(muxer);
    publish();
    const std::vector<Frame> got = frames(muxer.log());
    ASSERT_EQ(got.size(), 4U) << "a player of the audio alone begins at the audio";
    for (const Frame& frame : got) {
        EXPECT_EQ(frame.channel, 4);
    }
    stream_.detach(muxer);
}

TEST_F(RtspMuxerTest, HasTheAudioOfABrowserAsItCameAndItsMainLayer) {
    const Bytes opus = test::counted({0x78}, 60);
    stream_.detach(recorder_);
    RtspMuxer muxer(both());
    stream_.attach(muxer);
    EXPECT_FALSE(stream_.has_audience(media::Audience::kFlv)) << "no AAC is made for it";
    EXPECT_FALSE(stream_.has_audience(media::Audience::kWebRtc)) << "no layers are asked for";
    send(TrackKind::kVideo, 0,
         test::tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    send_original(test::tag_body(Codec::kOpus, BodyKind::kConfig, media::opus::build_head(2)));
    send_derived(test::tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1210")));
    send_video(0, true, 500);
    auto layer = test::packet(TrackKind::kVideo, 0,
                              test::tag_body(Codec::kH264, BodyKind::kKeyFrame,
                                             test::nal_frame({test::counted({0x65, 0x88}, 500)})));
    media::PacketInfo info = layer->info();
    info.audience = media::Audience::kWebRtc;
    info.track_id = info.layer = 1;
    stream_.publish_derived(
        *this,
        make_ref<media::MediaPacket>(info, 0, Bytes(layer->body().begin(), layer->body().end())),
        now_);
    for (int i = 0; i < 3; i++) {
        send_original(test::tag_body(Codec::kOpus, BodyKind::kFrame, opus));
        send_derived(test::tag_body(Codec::kAac, BodyKind::kFrame, Bytes(100, 0x21)));
        pass(20);
    }
    send_video(clock_, false, 100);
    int pictures = 0;
    int sounds = 0;
    for (const Frame& frame : frames(muxer.log())) {
        if (frame.channel % 2 == 1) {
            continue;
        }
        const auto packet = rtp::PacketView::parse(frame.payload);
        ASSERT_TRUE(packet);
        if (frame.channel == 0) {
            pictures += packet->marker() ? 1 : 0;
        } else {
            sounds++;
            EXPECT_EQ(packet->payload_type(), rtsp_payload_type_of(Codec::kOpus));
            EXPECT_TRUE(std::ranges::equal(packet->payload(), opus));
        }
    }
    EXPECT_EQ(pictures, 2);
    EXPECT_EQ(sounds, 3);
    stream_.detach(muxer);
}

// The pair of times that a sender report of each track gives.
std::vector<rtcp::SenderReport> reports_of(const RtspMuxer& muxer, MonoTime at) {
    Bytes out;
    muxer.write_reports(at, out);
    rtsp::ConnectionReader reader;
    ByteSpan rest = out;
    std::vector<rtcp::SenderReport> reports;
    while (reader.next(rest) == rtsp::ConnectionReader::Status::kFrame) {
        rtcp::PacketView packet;
        rtcp::CompoundReader compound(reader.frame().payload);
        if (compound.next(packet)) {
            if (const auto report = rtcp::parse_sender_report(packet)) {
                reports.push_back(*report);
            }
        }
    }
    return reports;
}

TEST_F(RtspMuxerTest, ReportsOneMomentForBothTracks) {
    RtspMuxer muxer(both());
    stream_.attach(muxer);
    publish();
    const auto reports = reports_of(muxer, MonoClock::now());
    ASSERT_EQ(reports.size(), 2U);
    EXPECT_NEAR(rtcp::ntp_to_unix_us(reports[1].ntp_time),
                rtcp::ntp_to_unix_us(reports[0].ntp_time), 5'000);
    stream_.detach(muxer);
}

TEST_F(RtspMuxerTest, ReportsHaveThePublishersWallClock) {
    constexpr int64_t kCameraUs = 981'173'106'000'000;  // 2001-02-03T04:05:06Z, at the first frame
    await_wall_clock();
    RtspMuxer muxer(both());
    stream_.attach(muxer);
    publish();
    EXPECT_TRUE(reports_of(muxer, now_).empty()) << "players wait for it";
    say_wall_clock(kCameraUs);
    const auto reports = reports_of(muxer, MonoClock::now());
    ASSERT_EQ(reports.size(), 2U);
    EXPECT_EQ(reports[0].ntp_time, reports[1].ntp_time);
    const RtspNumbers& numbers = muxer.numbers();
    for (const rtcp::SenderReport& report : reports) {
        if (report.ssrc == numbers.ssrc(net::kRtpVideoTrack)) {
            const auto ticks = static_cast<int32_t>(
                report.rtp_time - numbers.first(net::kRtpVideoTrack).rtp_time.value_or(0));
            EXPECT_NEAR(rtcp::ntp_to_unix_us(report.ntp_time),
                        kCameraUs + int64_t{ticks} * 1'000'000 / 90'000, 100);
        }
    }
    stream_.detach(muxer);
}

TEST_F(RtspMuxerTest, ReportsHaveTheServersClockWhereThePublisherGivesNone) {
    await_wall_clock();
    RtspMuxer muxer(both());
    stream_.attach(muxer);
    publish();
    const MonoTime now = now_ + stream::PublisherClock::kMaxWait;
    const auto reports = reports_of(muxer, now);
    ASSERT_EQ(reports.size(), 2U);
    EXPECT_NEAR(rtcp::ntp_to_unix_us(reports[0].ntp_time), wall_time_us(now), 5'000);
    stream_.detach(muxer);
}

// A process that had to wait between the question and the answer: its players' clocks do not jump.
TEST_F(RtspMuxerTest, ReportsTheMomentThatItIsAskedForHoweverLateItWrites) {
    RtspMuxer muxer(both());
    stream_.attach(muxer);
    publish();
    const MonoTime now = MonoClock::now();
    const auto late = reports_of(muxer, now - Millis(500));
    const auto prompt = reports_of(muxer, now);
    ASSERT_EQ(late.size(), 2U);
    ASSERT_EQ(prompt.size(), 2U);
    for (size_t i = 0; i < late.size(); i++) {
        const auto wall =
            rtcp::ntp_to_unix_us(prompt[i].ntp_time) - rtcp::ntp_to_unix_us(late[i].ntp_time);
        EXPECT_NEAR(wall, 500'000, 5'000);
    }
    stream_.detach(muxer);
}

}  // namespace
}  // namespace weir::session
