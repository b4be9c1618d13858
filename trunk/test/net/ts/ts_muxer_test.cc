#include "net/ts/ts_muxer.h"

#include <gtest/gtest.h>

#include "media/opus.h"

#include "test/session/muxer_fixture.h"
#include "test/support/codec_samples.h"
#include "test/support/rtp_media.h"
#include "test/support/transport_stream.h"

namespace weir::net {
namespace {

using media::Codec;
using media::TrackKind;
using session::MuxerFixture;
using test::BodyKind;
using test::counted;
using test::nal_frame;
using test::ReadStream;
using test::tag_body;

class TsMuxerTest : public MuxerFixture {
  protected:
    TsMuxerTest() { stream_.attach(muxer_); }

    ~TsMuxerTest() override { stream_.detach(muxer_); }

    Bytes front(bool moved = true) const {
        Bytes out;
        muxer_.front(moved, out);
        return out;
    }

    // What a player gets that begins now.
    Bytes from_start() const {
        Bytes out = front();
        muxer_.log().copy_until(muxer_.log().start(), muxer_.log().head(), out);
        EXPECT_EQ(out.size() % mpegts::kPacketSize, 0U);
        return out;
    }

    ReadStream play() {
        const Bytes bytes = from_start();
        mpegts::Reader reader;
        ReadStream read = test::read_ts(reader, bytes);
        EXPECT_EQ(reader.counters().continuity_errors, 0U);
        EXPECT_EQ(reader.counters().malformed, 0U);
        return read;
    }

    // AC-3 has no configuration that would say which track is the default one.
    Bytes dolby(uint8_t track, uint32_t marker) {
        media::PacketInfo info;
        info.kind = TrackKind::kAudio;
        info.codec = Codec::kAc3;
        info.multitrack = track != 0;
        info.track_id = track;
        Bytes frame = test::counted({0x0B, 0x77, 0, 0, 0x14, 0x40}, 768, marker);
        const auto made = flv::make_packet(info, 0, frame);
        send(TrackKind::kAudio, clock_, Bytes(made->body().begin(), made->body().end()));
        return frame;
    }

    void configs() {
        send(TrackKind::kVideo, clock_,
             tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
        send(TrackKind::kAudio, clock_,
             tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
    }

    void picture(bool key, int composition_ms = 0) {
        const Bytes nal =
            test::h264_nal(key ? test::Picture::kKey : test::Picture::kReferenced, ++marker_, 500);
        nals_.push_back(nal);
        media::PacketInfo info;
        info.kind = TrackKind::kVideo;
        info.codec = Codec::kH264;
        info.key = key;
        info.composition_ms = composition_ms;
        const auto made = flv::make_packet(info, 0, nal_frame({nal}));
        send(TrackKind::kVideo, clock_, Bytes(made->body().begin(), made->body().end()));
    }

    void sound(Codec codec = Codec::kAac, Bytes frame = {}, uint32_t lag_ms = 0) {
        sounds_.push_back(frame.empty() ? counted({0x21}, 170, ++marker_) : std::move(frame));
        send(TrackKind::kAudio, clock_ - lag_ms, tag_body(codec, BodyKind::kFrame, sounds_.back()));
    }

    TsMuxer muxer_;
    std::vector<Bytes> nals_;
    std::vector<Bytes> sounds_;
};

TEST_F(TsMuxerTest, APlayerGetsTablesThenTheNewestKeyFrame) {
    configs();
    for (int i = 0; i < 50; i++) {
        picture(i % 25 == 0, (i * 3 % 4) * 40);
        sound();
        pass(40);
    }
    const ReadStream read = play();
    ASSERT_EQ(read.tracks.size(), 1U);
    EXPECT_EQ(read.tracks[0][0].info.content, mpegts::Content::kH264);
    EXPECT_EQ(read.tracks[0][1].info.content, mpegts::Content::kAac);
    ASSERT_EQ(read.units.size(), 50U);
    const test::ReadUnit& first = read.units[0];
    EXPECT_TRUE(first.key);
    EXPECT_EQ(first.nals.size(), 4U);  // delimiter, SPS, PPS
    EXPECT_EQ(first.nals[1], test::kAvcHighSps);
    for (size_t i = 0; i < 25; i++) {
        const test::ReadUnit& unit = read.units[2 * i];
        EXPECT_EQ(unit.nals.back(), nals_[25 + i]);
        EXPECT_EQ(unit.dts - first.dts, static_cast<int64_t>(i) * 3'600);
        EXPECT_EQ(unit.pts - unit.dts, static_cast<int64_t>((25 + i) * 3 % 4) * 3'600);
        EXPECT_EQ(read.units[2 * i + 1].dts, unit.dts);
    }
    EXPECT_EQ(first.dts, recorder_.packets[recorder_.start_index]->time_ms() * 90);
}

TEST_F(TsMuxerTest, EntriesAreWholePackets) {
    configs();
    for (int i = 0; i < 30; i++) {
        picture(i == 0);
        sound();
        pass(40);
    }
    const stream::WireLog& log = muxer_.log();
    EXPECT_EQ(log.entries_until(log.start(), log.head()), 60U);
    stream::Cursor cursor = log.start();
    while (log.bytes_behind(cursor) > 0) {
        EXPECT_EQ((cursor.position() - log.start().position()) % mpegts::kPacketSize, 0U);
        stream::WireLog::advance(cursor, 1);
        const uint64_t next = log.next_boundary(cursor);
        stream::WireLog::advance(cursor, next - cursor.position());
    }
}

TEST_F(TsMuxerTest, AudioAloneBeginsAnywhere) {
    send(TrackKind::kAudio, clock_,
         tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
    for (int i = 0; i < 20; i++) {
        sound();
        pass(21);
    }
    const ReadStream read = play();
    ASSERT_EQ(read.units.size(), 1U);
    EXPECT_EQ(read.tracks[0].size(), 1U);
    EXPECT_EQ(Bytes(read.units[0].data.begin() + 7, read.units[0].data.end()), sounds_.back());
}

// An encoder needs longer for a picture than for its sound: what the sound of its time sent before
// it is for those who begin there.
TEST_F(TsMuxerTest, AudioOfBeforeTheKeyFrameComesInTheFront) {
    configs();
    picture(true);
    pass(40);
    clock_ += 60;
    sound();
    clock_ += 20;
    sound();
    clock_ -= 60;
    picture(true);
    clock_ += 80;
    sound();
    const ReadStream read = play();
    ASSERT_EQ(read.units.size(), 4U);
    EXPECT_EQ(read.units[0].track, 1U);
    EXPECT_EQ(Bytes(read.units[0].data.begin() + 7, read.units[0].data.end()), sounds_[0]);
    EXPECT_EQ(read.units[2].nals.back(), nals_.back());
    EXPECT_EQ(read.units[0].pts - read.units[2].dts, 40 * 90);
    EXPECT_EQ(read.units[1].pts - read.units[0].pts, 21 * 90) << "a frame of 1,024 samples";
}

TEST_F(TsMuxerTest, ATrackThatComesLaterIsANewVersion) {
    configs();
    picture(true);
    pass(40);
    sound(Codec::kMp3, counted({0xFF, 0xFB, 0x90, 0x64}, 417));
    pass(40);
    picture(false);
    const ReadStream read = play();
    ASSERT_EQ(read.units.size(), 3U);
    EXPECT_EQ(read.tracks.back()[1].info.content, mpegts::Content::kMpegAudio);
}

TEST_F(TsMuxerTest, ACodecThatChangesIsANewVersion) {
    configs();
    picture(true);
    sound();
    pass(40);
    send(TrackKind::kAudio, clock_,
         tag_body(Codec::kOpus, BodyKind::kConfig, media::opus::build_head(2)));
    sound(Codec::kOpus, counted({0xFC}, 100));
    pass(40);
    picture(true);
    sound(Codec::kOpus, counted({0xFC}, 120));
    const ReadStream read = play();
    ASSERT_EQ(read.tracks[0].size(), 2U);
    EXPECT_EQ(read.tracks[0][1].info.content, mpegts::Content::kOpus);
    ASSERT_EQ(read.units.size(), 2U);
    EXPECT_EQ(read.units[1].data, sounds_.back());
}

TEST_F(TsMuxerTest, OtherCodecsAreLeftOutAndTheRestPlays) {
    send(TrackKind::kVideo, clock_, tag_body(Codec::kAv1, BodyKind::kConfig, test::kAv1Config));
    send(TrackKind::kAudio, clock_,
         tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
    for (int i = 0; i < 3; i++) {
        send(TrackKind::kVideo, clock_,
             tag_body(Codec::kAv1, i == 0 ? BodyKind::kKeyFrame : BodyKind::kFrame,
                      counted({0x12, 0x00, 0x32, 46}, 50)));
        sound();
        pass(40);
    }
    const ReadStream read = play();
    ASSERT_EQ(read.tracks.size(), 1U);
    ASSERT_EQ(read.tracks[0].size(), 1U);
    EXPECT_EQ(read.units.size(), 3U);
}

TEST_F(TsMuxerTest, SecondTracksAreLeftOut) {
    send(TrackKind::kVideo, clock_, test::hevc_multitrack(1, true, false, 1));
    send(TrackKind::kVideo, clock_, test::hevc_multitrack(1, false, true, 2));
    configs();
    picture(true);
    EXPECT_TRUE(play().units.empty());  // of track 1 the configuration is none
}

// go2rtc 1.9 ends at a packet without payload (issue 32).
TEST_F(TsMuxerTest, ANewPlayerGetsNoDiscontinuityAndOnlyPacketsWithPayload) {
    configs();
    picture(true);
    sound();
    const Bytes bytes = front(false);
    EXPECT_EQ(bytes.size(), 2 * mpegts::kPacketSize) << "PAT, PMT";
    for (size_t at = 0; at < bytes.size(); at += mpegts::kPacketSize) {
        const auto packet = mpegts::Packet::parse(ByteSpan(bytes).subspan(at));
        ASSERT_TRUE(packet);
        EXPECT_TRUE(packet->has_payload);
        EXPECT_FALSE(packet->discontinuity);
    }
}

TEST_F(TsMuxerTest, APlayerThatIsMovedOnReadsNoErrors) {
    configs();
    for (int i = 0; i < 5; i++) {
        picture(i == 0);
        sound();
        pass(40);
    }
    Bytes bytes = from_start();
    bytes.resize(bytes.size() - 2 * mpegts::kPacketSize);
    for (int i = 0; i < 37; i++) {
        picture(i % 10 == 0);
        sound();
        pass(40);
    }
    const Bytes more = from_start();
    bytes.insert(bytes.end(), more.begin(), more.end());
    mpegts::Reader reader;
    test::read_ts(reader, bytes);
    EXPECT_EQ(reader.counters().continuity_errors, 0U);
}

// What is kept begins with the other track.
TEST_F(TsMuxerTest, WhoBeginsLaterGetsTheDefaultAudioTrackToo) {
    send(TrackKind::kVideo, clock_,
         tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
    picture(true);
    dolby(0, 1);
    pass(1'000);
    picture(true);
    dolby(1, 2);
    const Bytes expected = dolby(0, 3);
    TsMuxer late;
    stream_.attach(late);
    picture(false);
    dolby(1, 4);
    Bytes out;
    late.front(false, out);
    late.log().copy_until(late.log().start(), late.log().head(), out);
    stream_.detach(late);
    const ReadStream read = test::read_ts(out);
    std::vector<Bytes> sounds;
    for (const test::ReadUnit& unit : read.units) {
        if (!unit.data.empty()) {
            sounds.push_back(unit.data);
        }
    }
    EXPECT_EQ(sounds, std::vector<Bytes>{expected});
}

}  // namespace
}  // namespace weir::net
