#include "session/flv/flv_muxer.h"

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/flv/reader.h"
#include "session/flv/relay_muxer.h"

#include "test/session/muxer_fixture.h"

namespace weir::session {
namespace {

using media::TrackKind;

class FlvMuxerTest : public MuxerFixture {
  protected:
    FlvMuxerTest() { stream_.attach(muxer_); }

    ~FlvMuxerTest() override { stream_.detach(muxer_); }

    // The tags of a front, or of the log from its start on.
    static std::vector<flv::Tag> parse(Bytes bytes) {
        Bytes file(flv::kFileHeaderSize);
        flv::write_file_header(true, true, file.data());
        file.insert(file.end(), bytes.begin(), bytes.end());
        flv::TagReader reader;
        std::vector<flv::Tag> tags;
        ByteSpan rest(file);
        while (!rest.empty()) {
            rest = rest.subspan(reader.feed(rest));
            flv::Tag tag;
            flv::TagReader::Status status = flv::TagReader::Status::kNeedMore;
            while ((status = reader.next(tag)) == flv::TagReader::Status::kTag) {
                tags.push_back(std::move(tag));
            }
            if (status == flv::TagReader::Status::kError) {
                ADD_FAILURE() << reader.take_error().message();
                break;
            }
        }
        return tags;
    }

    std::vector<flv::Tag> front() const {
        Bytes out;
        muxer_.front(out);
        return parse(out);
    }

    std::vector<flv::Tag> log_from_start() const {
        Bytes out;
        muxer_.log().copy_until(muxer_.log().start(), muxer_.log().head(), out);
        return parse(out);
    }

    void expect_log_is_the_source(int64_t origin_ms) const {
        const std::vector<flv::Tag> tags = log_from_start();
        ASSERT_EQ(tags.size(), recorder_.packets.size() - recorder_.start_index);
        for (size_t i = 0; i < tags.size(); i++) {
            const media::MediaPacket& sent = *recorder_.packets[recorder_.start_index + i];
            ASSERT_EQ(tags[i].type, flv::tag_type(sent.info().kind));
            ASSERT_EQ(tags[i].timestamp, static_cast<uint32_t>(sent.time_ms() - origin_ms)) << i;
            ASSERT_EQ(tags[i].body, Bytes(sent.body().begin(), sent.body().end()));
        }
    }

    FlvMuxer muxer_;
};

TEST_F(FlvMuxerTest, TagsCarryTheStreamsTimeFromTheLogsFirstPacketOn) {
    publish_again(17'000'000);
    headers();
    const int64_t origin = stream_.timeline().latest();
    gop();
    expect_log_is_the_source(origin);
    EXPECT_EQ(log_from_start().at(0).timestamp, 0U);
    gop();
    expect_log_is_the_source(origin);
    EXPECT_EQ(log_from_start().at(0).timestamp, 1000U);
}

TEST_F(FlvMuxerTest, TheFrontHasTheTimeOfTheStart) {
    headers();
    gop();
    gop();
    const std::vector<flv::Tag> tags = front();
    ASSERT_EQ(tags.size(), 3U);
    EXPECT_EQ(tags[0].type, flv::kScriptTag);
    EXPECT_EQ(tags[1].body, test::avc_header(1));
    EXPECT_EQ(tags[2].body, test::aac_header(1));
    for (const flv::Tag& tag : tags) {
        EXPECT_EQ(tag.timestamp, log_from_start().at(0).timestamp);
    }
}

TEST_F(FlvMuxerTest, AudioThatCameBeforeItsKeyFrameIsInTheFront) {
    headers();
    gop();
    const uint32_t key = clock_;
    for (int i = 0; i < 5; i++) {
        audio();
        pass(20);
    }
    send(TrackKind::kVideo, key, test::avc_frame(true, 77));
    audio();
    const std::vector<flv::Tag> tags = front();
    ASSERT_EQ(tags.size(), 3U + 5U);
    const uint32_t start = log_from_start().at(0).timestamp;
    for (uint32_t i = 0; i < 5; i++) {
        EXPECT_EQ(tags[3 + i].type, flv::kAudioTag);
        EXPECT_EQ(tags[3 + i].timestamp, start + i * 20);
    }
    EXPECT_EQ(log_from_start().at(1).timestamp, start + 100);
}

TEST_F(FlvMuxerTest, PlayersGetTheFirstTrackAsIfItWereTheOnlyOne) {
    send(TrackKind::kVideo, 0, test::hevc_multitrack(0, true, false, 1));
    send(TrackKind::kVideo, 0, test::hevc_multitrack(1, true, false, 2));
    for (int i = 0; i < 10; i++) {
        send(TrackKind::kVideo, clock_, test::hevc_multitrack(0, false, i == 0, ++marker_));
        send(TrackKind::kVideo, clock_, test::hevc_multitrack(1, false, i == 0, ++marker_));
        pass(40);
    }
    ASSERT_EQ(front().size(), 1U);
    EXPECT_EQ(front()[0].body.at(0), 0x90);
    ASSERT_EQ(log_from_start().size(), 10U);
    for (const flv::Tag& tag : log_from_start()) {
        EXPECT_TRUE(tag.body.at(0) == 0x93 || tag.body.at(0) == 0xA3);
    }
    publish_again();
    send(TrackKind::kVideo, clock_, test::hevc_multitrack(1, true, false, 2));
    send(TrackKind::kVideo, clock_, test::hevc_multitrack(1, false, true, 2));
    EXPECT_EQ(log_from_start().size(), 1U) << "the next publisher has another first track";
}

TEST_F(FlvMuxerTest, TheFrontTellsTheConfigurationAtTheStartNotTheNewest) {
    headers(1);
    gop(5);
    send(TrackKind::kAudio, clock_, test::aac_header(2));
    audio();
    EXPECT_EQ(front().at(2).body, test::aac_header(1));
    const auto tags = log_from_start();
    EXPECT_EQ(tags.at(tags.size() - 2).body, test::aac_header(2))
        << "the new one stands in its place in the log";
}

TEST_F(FlvMuxerTest, AStreamWithoutConfigurationsHasAnEmptyFront) {
    send(TrackKind::kAudio, 0, test::mp3_frame(1));
    EXPECT_TRUE(muxer_.log().has_start());
    EXPECT_TRUE(front().empty());
}

TEST_F(FlvMuxerTest, AudioOfBeforeTheFirstPacketIsLeftOut) {
    send(TrackKind::kVideo, 1000, test::avc_frame(true, 1));
    for (const uint32_t time : {400U, 990U, 1010U}) {
        send(TrackKind::kAudio, time, test::aac_frame(static_cast<uint8_t>(time % 100)));
    }
    const std::vector<flv::Tag> tags = log_from_start();
    ASSERT_EQ(tags.size(), 2U);
    EXPECT_EQ(tags[1].timestamp, 10U);
}

TEST_F(FlvMuxerTest, TimesGoOnThroughARepublish) {
    headers();
    const int64_t origin = stream_.timeline().latest();
    gop();
    publish_again(4'294'967'000U);
    headers();
    gop();
    expect_log_is_the_source(origin);
}

TEST_F(FlvMuxerTest, TimesOverTwentyFourBitsUseTheExtensionByte) {
    headers();
    const int64_t origin = stream_.timeline().latest();
    gop(2);
    pass(0x1234567);
    gop(2);
    expect_log_is_the_source(origin);
    EXPECT_GT(log_from_start().at(0).timestamp, 0xffffffU);
}

TEST_F(FlvMuxerTest, BigBodiesSpanBlocks) {
    headers();
    const int64_t origin = stream_.timeline().latest();
    for (size_t size : {4081U, 4082U, 65'521U, 200'000U}) {
        video(true, size);
        video(false, size);
        pass(40);
        expect_log_is_the_source(origin);
    }
}

class RelayMuxerTest : public MuxerFixture {
  protected:
    RelayMuxerTest() { stream_.attach(muxer_); }

    ~RelayMuxerTest() override { stream_.detach(muxer_); }

    RelayMuxer muxer_;
};

TEST_F(RelayMuxerTest, AnotherNodeGetsAllTracksAsTheyCame) {
    const Bytes first = test::hevc_multitrack(0, true, false, 1);
    const Bytes second = test::hevc_multitrack(1, true, false, 2);
    send(TrackKind::kVideo, 0, first);
    send(TrackKind::kVideo, 0, second);
    send(TrackKind::kVideo, 0, test::hevc_multitrack(0, false, true, 3));
    Bytes front;
    muxer_.front(front);
    EXPECT_EQ(front.size(), flv::tag_size(first.size()) + flv::tag_size(second.size()));
}

}  // namespace
}  // namespace weir::session
