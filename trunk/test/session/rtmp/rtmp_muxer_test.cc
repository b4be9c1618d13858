#include "session/rtmp/rtmp_muxer.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/rtmp/chunk_reader.h"
#include "proto/rtmp/message.h"

#include "test/session/muxer_fixture.h"

namespace weir::session {
namespace {

using media::TrackKind;

constexpr uint32_t kStreamId = 5;

// A client: parses a front and the log behind it.
class Viewer {
  public:
    Viewer(const RtmpMuxer& muxer, uint32_t chunk_size, const Recorder& recorder)
        : muxer_(muxer), recorder_(recorder), from_(recorder.start_index) {
        Bytes front;
        rtmp::write_set_chunk_size(chunk_size, front);
        muxer.front(kStreamId, front);
        parse(front);
        front_ = std::move(messages_);
        messages_.clear();
        cursor_ = muxer.log().start();
    }

    // What the pump does with one that fell behind, at an entry boundary.
    void move_to_start() {
        ASSERT_EQ(muxer_.log().next_boundary(cursor_), cursor_.position());
        messages_.clear();
        Bytes front;
        muxer_.front(kStreamId, front);
        parse(front);
        front_ = std::move(messages_);
        messages_.clear();
        cursor_ = muxer_.log().start();
        from_ = recorder_.start_index;
    }

    void read() {
        std::vector<iovec> parts(8);
        size_t count = 0;
        while (size_t got = muxer_.log().gather(cursor_, parts, 1000, count)) {
            for (size_t i = 0; i < count; i++) {
                parse({static_cast<const uint8_t*>(parts[i].iov_base), parts[i].iov_len});
            }
            stream::WireLog::advance(cursor_, got);
        }
    }

    // Everything from the start entry on has come, in order, with the source's bytes; the times of
    // media are the source's but for one distance, the same for all tracks.
    // `begins_at`: the latest.
    void expect_all_of_the_source(uint32_t begins_at = 1000) {
        read();
        std::vector<rtmp::Message> got;
        for (const rtmp::Message& message : messages_) {
            if (!message.body.empty()) {  // a silent track's clock
                got.push_back(message);
            }
        }
        ASSERT_EQ(got.size(), recorder_.packets.size() - from_);
        const media::MediaPacket& first = *recorder_.packets[from_];
        EXPECT_LE(got.at(0).timestamp, begins_at) << "a player's time begins near 0";
        for (size_t i = 0; i < got.size(); i++) {
            const media::MediaPacket& sent = *recorder_.packets[from_ + i];
            SCOPED_TRACE(testing::Message()
                         << "packet " << i << " of " << got.size() << ", "
                         << media::to_string(sent.info().kind) << " at " << sent.time_ms());
            ASSERT_EQ(got[i].type, flv::tag_type(sent.info().kind));
            ASSERT_EQ(got[i].stream_id, kStreamId);
            ASSERT_EQ(got[i].body, Bytes(sent.body().begin(), sent.body().end()));
            if (sent.info().kind != TrackKind::kData && !sent.info().config) {
                ASSERT_EQ(static_cast<int64_t>(got[i].timestamp) - got[0].timestamp,
                          sent.time_ms() - first.time_ms());
            }
        }
    }

    // Types and first bytes of the front's messages: "18:02" metadata, "9:17" AVC, "8:af" AAC.
    std::vector<std::string> front() const {
        std::vector<std::string> texts;
        for (const rtmp::Message& message : front_) {
            texts.push_back(message.body.empty()
                                ? fmt::format("{}:", message.type)
                                : fmt::format("{}:{:02x}", message.type, message.body[0]));
        }
        return texts;
    }

    const std::vector<rtmp::Message>& messages() const { return messages_; }

    const std::vector<rtmp::Message>& front_messages() const { return front_; }

  private:
    void parse(ByteSpan bytes) {
        while (!bytes.empty()) {
            bytes = bytes.subspan(reader_.feed(bytes));
            rtmp::Message message;
            rtmp::ChunkReader::Status status = rtmp::ChunkReader::Status::kNeedMore;
            while ((status = reader_.next(message)) == rtmp::ChunkReader::Status::kMessage) {
                messages_.push_back(std::move(message));
            }
            ASSERT_NE(status, rtmp::ChunkReader::Status::kError) << reader_.take_error().message();
        }
    }

    const RtmpMuxer& muxer_;
    const Recorder& recorder_;
    size_t from_;
    rtmp::ChunkReader reader_;
    stream::Cursor cursor_;
    std::vector<rtmp::Message> front_;
    std::vector<rtmp::Message> messages_;
};

class RtmpMuxerTest : public MuxerFixture {
  protected:
    RtmpMuxerTest() { use(60'000); }

    ~RtmpMuxerTest() override {
        viewers_.clear();
        stream_.detach(*muxer_);
    }

    void use(uint32_t chunk_size, RtmpTracks tracks = RtmpTracks::kDefault) {
        viewers_.clear();
        if (muxer_) {
            stream_.detach(*muxer_);
        }
        chunk_size_ = chunk_size;
        muxer_ = std::make_unique<RtmpMuxer>(chunk_size, tracks);
        stream_.attach(*muxer_);
    }

    Viewer& join() {
        EXPECT_TRUE(muxer_->log().has_start());
        viewers_.push_back(std::make_unique<Viewer>(*muxer_, chunk_size_, recorder_));
        return *viewers_.back();
    }

    void expect_all_viewers_have_all() {
        for (auto& viewer : viewers_) {
            viewer->expect_all_of_the_source();
        }
    }

    // How many frames of audio there are.
    size_t expect_audio_times_rise(const Viewer& viewer) {
        viewers_.back()->read();
        std::vector<uint32_t> times;
        for (const rtmp::Message& message : viewer.messages()) {
            if (message.type == rtmp::kAudio && !message.body.empty() && message.body[1] == 1) {
                times.push_back(message.timestamp);
            }
        }
        EXPECT_GT(times.size(), 10U);
        EXPECT_EQ(std::ranges::adjacent_find(times, std::greater_equal()), times.end());
        return times.size();
    }

    uint32_t chunk_size_ = 0;
    std::unique_ptr<RtmpMuxer> muxer_;
    std::vector<std::unique_ptr<Viewer>> viewers_;
};

TEST_F(RtmpMuxerTest, EveryJoinerGetsTheSameMediaFromItsKeyFrameOn) {
    headers();
    gop();
    join();
    gop(10);
    join();
    gop(25);
    gop(25);
    join();
    gop(3);
    join();
    expect_all_viewers_have_all();
}

TEST_F(RtmpMuxerTest, TheFrontHoldsMetadataAndConfigurationsAtTheJoinersTime) {
    headers();
    gop();
    gop();
    EXPECT_THAT(join().front(), testing::ElementsAre("18:02", "9:17", "8:af"));
    for (const rtmp::Message& message : join().front_messages()) {
        EXPECT_EQ(message.stream_id, kStreamId);
        EXPECT_LE(message.timestamp, 1000U);
    }
    EXPECT_EQ(join().front_messages().at(0).timestamp, 0U)
        << "metadata of a later time is taken for a subtitle";
}

TEST_F(RtmpMuxerTest, TimesBeginNearZeroHoursLaterAndWhateverThePublishersClock) {
    for (uint32_t clock : {17'000'000U, 0xffffff00U}) {
        publish_again(clock);
        headers();
        gop();
        join();
        gop();
        join();
    }
    expect_all_viewers_have_all();
}

TEST_F(RtmpMuxerTest, VideoAlone) {
    send(TrackKind::kVideo, 0, test::avc_header());
    for (int i = 0; i < 4; i++) {
        gop(25, false);
        join();
    }
    expect_all_viewers_have_all();
    for (auto& viewer : viewers_) {
        for (const rtmp::Message& message : viewer->messages()) {
            EXPECT_FALSE(message.type == rtmp::kAudio && !message.body.empty());
        }
        for (const rtmp::Message& message : viewer->front_messages()) {
            EXPECT_NE(message.type, rtmp::kAudio) << "announces a track that never comes";
        }
    }
}

TEST_F(RtmpMuxerTest, AudioAlone) {
    send(TrackKind::kAudio, 0, test::aac_header());
    for (int i = 0; i < 400; i++) {
        audio();
        pass(23);
        if (i % 90 == 0) {
            join();
        }
    }
    expect_all_viewers_have_all();
    for (auto& viewer : viewers_) {
        for (const rtmp::Message& message : viewer->front_messages()) {
            EXPECT_NE(message.type, rtmp::kVideo);
        }
    }
}

TEST_F(RtmpMuxerTest, AudioThatCameBeforeItsKeyFrameIsInTheFront) {
    headers();
    for (int round = 0; round < 3; round++) {
        gop();
        const uint32_t key = clock_;
        for (int i = 0; i < 15; i++) {
            audio();
            pass(20);
        }
        send(TrackKind::kVideo, key, test::avc_frame(true, 77));
        join();
        audio();
    }
    expect_all_viewers_have_all();
    for (auto& viewer : viewers_) {
        const std::vector<rtmp::Message>& front = viewer->front_messages();
        ASSERT_EQ(front.size(), 3U + 15U);
        EXPECT_THAT(viewer->front().at(2), "8:af")
            << "the configuration, with the time of what follows";
        const std::vector<rtmp::Message>& log = viewer->messages();
        for (size_t i = 0; i < 15; i++) {
            EXPECT_EQ(front[3 + i].type, rtmp::kAudio);
            EXPECT_EQ(front[3 + i].timestamp, log.at(0).timestamp + i * 20);
        }
        EXPECT_EQ(log.at(0).type, rtmp::kVideo);
        EXPECT_EQ(log.at(1).type, rtmp::kAudio);
        EXPECT_EQ(log.at(1).timestamp, log.at(0).timestamp + 300);
    }
}

TEST_F(RtmpMuxerTest, AudioThatStartsLate) {
    send(TrackKind::kVideo, 0, test::avc_header());
    gop(25, false);
    join();
    gop(60, false);
    join();
    send(TrackKind::kAudio, clock_, test::aac_header());
    gop(25, true);
    join();
    gop(25, true);
    join();
    expect_all_viewers_have_all();
}

// Its configuration has the newest time of the stream, and moves no clock.
TEST_F(RtmpMuxerTest, AudioThatComesLateAfterItsPictureKeepsItsTimes) {
    send(TrackKind::kVideo, 0, test::avc_header());
    gop(8, false);
    send(TrackKind::kAudio, clock_, test::aac_header());
    for (int64_t time = 20; time < clock_; time += 20) {
        send(TrackKind::kAudio, time, test::aac_frame(++marker_));
    }
    join();
    gop(25, true);
    expect_all_viewers_have_all();
}

// AAC that is made of a browser's audio from when a player comes, at the end of a GOP.
TEST_F(RtmpMuxerTest, MadeAudioThatComesBehindTheNextKeyFrameKeepsItsTimes) {
    const auto make = [this](int64_t time_ms, Bytes body) {
        auto info = flv::parse_tag_body(TrackKind::kAudio, body);
        info->audience = media::Audience::kFlv;
        stream_.publish_derived(
            *this, make_ref<media::MediaPacket>(*info, time_ms, std::move(body)), now_);
    };
    send(TrackKind::kVideo, 0, test::avc_header());
    const int64_t begin = stream_.timeline().latest();
    gop(25, false);
    const Viewer& viewer = join();
    make(0, test::aac_header());
    gop(2, false);
    size_t sent = 0;
    for (int64_t time = begin; time < stream_.timeline().latest(); time += 20, sent++) {
        make(time, test::aac_frame(++marker_));
    }
    gop(25, false);
    EXPECT_EQ(expect_audio_times_rise(viewer), sent);
}

// As AAC that is made of a browser's audio does on a machine that is late: times below those of the
// log would all be the same.
TEST_F(RtmpMuxerTest, AudioOfLongBeforeTheFirstPictureIsLeftOut) {
    send(TrackKind::kVideo, 0, test::avc_header());
    send(TrackKind::kAudio, 0, test::aac_header());
    pass(400);
    gop(1, false);
    const Viewer& viewer = join();
    for (int64_t time = 20; time < 500; time += 20) {
        send(TrackKind::kAudio, time, test::aac_frame(++marker_));
    }
    expect_audio_times_rise(viewer);
}

TEST_F(RtmpMuxerTest, AudioOfBeforeTheNewestKeyFrameIsLeftOutWhereThereWasNone) {
    send(TrackKind::kVideo, 0, test::avc_header());
    gop(25, false);
    const Viewer& viewer = join();
    gop(25, false);
    send(TrackKind::kAudio, 0, test::aac_header());
    for (int64_t time = 20; time < clock_; time += 20) {
        send(TrackKind::kAudio, time, test::aac_frame(++marker_));
    }
    expect_audio_times_rise(viewer);
}

TEST_F(RtmpMuxerTest, VideoThatStartsLate) {
    send(TrackKind::kAudio, 0, test::aac_header());
    for (int i = 0; i < 200; i++) {
        audio();
        pass(23);
    }
    join();
    send(TrackKind::kVideo, clock_, test::avc_header());
    gop(25, true);
    join();
    gop(25, true);
    join();
    expect_all_viewers_have_all();
}

TEST_F(RtmpMuxerTest, AudioThatStopsForTenSeconds) {
    headers();
    gop();
    join();
    for (int i = 0; i < 10; i++) {
        gop(25, false);
        join();
    }
    gop();
    join();
    gop();
    join();
    expect_all_viewers_have_all();
}

TEST_F(RtmpMuxerTest, VideoThatStopsForTwentySeconds) {
    headers();
    gop();
    join();
    for (int i = 0; i < 1000; i++) {
        audio();
        pass(20);
    }
    join();  // at audio: video is given up after ten seconds
    gop();
    join();
    gop();
    join();
    expect_all_viewers_have_all();
}

TEST_F(RtmpMuxerTest, AudioBehindAndAheadOfVideoKeepsItsTimes) {
    headers();
    for (int i = 0; i < 120; i++) {
        video(i % 25 == 0);
        audio(30, 200);
        pass(20);
        audio(30, 200);
        pass(20);
        if (i % 40 == 30) {
            join();
        }
    }
    publish_again();
    for (int i = 0; i < 120; i++) {
        video(i % 25 == 0);
        send(TrackKind::kAudio, clock_ + 400, test::aac_frame(++marker_));
        pass(40);
        if (i % 40 == 30) {
            join();
        }
    }
    expect_all_viewers_have_all();
}

TEST_F(RtmpMuxerTest, PlayersStayThroughARepublish) {
    headers(1);
    gop();
    join();
    publish_again(4'000'000'000);
    headers(1);
    gop();
    join();
    publish_again(0);
    headers(2);
    gop(40);
    join();
    publish_again(77);
    headers(2);
    gop(12, false);
    gop(12, false);
    join();
    expect_all_viewers_have_all();
}

TEST_F(RtmpMuxerTest, ThePublishersClockWraps) {
    publish_again(0xffffffff - 1500);
    headers();
    for (int i = 0; i < 4; i++) {
        gop();
        join();
    }
    expect_all_viewers_have_all();
}

TEST_F(RtmpMuxerTest, ATrackSilentForHoursNeedsAnExtendedDelta) {
    for (uint32_t chunk_size : {128U, 60'000U}) {
        use(chunk_size);
        publish_again(5);
        headers();
        gop();
        join();
        pass(0xffffff + 10'000);
        gop();
        join();
        // Exactly the border, for each side of it.
        for (uint32_t delta : {0xfffffeU, 0xffffffU, 0x1000000U}) {
            video(true, 700);
            pass(delta);
            video(false, 700);
            video(true, 700);
            join();
        }
        expect_all_viewers_have_all();
    }
}

TEST_F(RtmpMuxerTest, BodiesAroundMultiplesOfTheChunkSize) {
    for (uint32_t chunk_size : {1U, 128U, 4096U, 60'000U}) {
        use(chunk_size);
        publish_again();
        headers();
        for (uint32_t times : {1U, 2U, 3U}) {
            for (uint32_t off = 0; off < 3; off++) {
                const size_t body = size_t{times} * chunk_size + off;  // one less, equal, one more
                if (body < 16) {
                    continue;
                }
                video(true, body - 1 - 5);
                audio(body - 1 - 2);
                pass(40);
                join();
            }
        }
        gop(3);
        expect_all_viewers_have_all();
    }
}

TEST_F(RtmpMuxerTest, DataMessagesTravelWithTheMedia) {
    headers();
    for (int i = 0; i < 60; i++) {
        video(i % 20 == 0);
        if (i % 7 == 0) {
            send(TrackKind::kData, clock_, test::cue_point(static_cast<uint8_t>(i)));
        }
        if (i > 30) {
            audio();
        }
        if (i == 35) {
            send(TrackKind::kData, clock_, test::metadata(2));
        }
        pass(40);
        if (i % 15 == 5) {
            join();
        }
    }
    expect_all_viewers_have_all();
}

TEST_F(RtmpMuxerTest, ADataMessageDoesNotDisturbTheTimesOfATrackThatIsBehind) {
    headers();
    for (int i = 0; i < 50; i++) {
        video(i % 25 == 0);
        send(TrackKind::kData, clock_, test::cue_point(static_cast<uint8_t>(i)));
        audio(30, 150);
        pass(40);
    }
    join();
    expect_all_viewers_have_all();
}

TEST_F(RtmpMuxerTest, SeveralVideoTracksShareTheChunkStream) {
    use(60'000, RtmpTracks::kAll);
    send(TrackKind::kVideo, 0, test::hevc_multitrack(0, true, false, 1));
    send(TrackKind::kVideo, 0, test::hevc_multitrack(1, true, false, 2));
    send(TrackKind::kAudio, 0, test::aac_header());
    for (int i = 0; i < 60; i++) {
        send(TrackKind::kVideo, clock_, test::hevc_multitrack(0, false, i % 20 == 0, ++marker_));
        send(TrackKind::kVideo, clock_, test::hevc_multitrack(1, false, i % 20 == 0, ++marker_));
        audio();
        pass(40);
        if (i % 20 == 10) {
            join();
        }
    }
    expect_all_viewers_have_all();
    EXPECT_EQ(join().front_messages().size(), 3U) << "a configuration of each track";
}

TEST_F(RtmpMuxerTest, APeerWithoutMultitrackGetsTheFirstTrackAlone) {
    send(TrackKind::kVideo, 0, test::hevc_multitrack(0, true, false, 1));
    send(TrackKind::kVideo, 0, test::hevc_multitrack(1, true, false, 2));
    send(TrackKind::kAudio, 0, test::aac_header());
    for (int i = 0; i < 20; i++) {
        send(TrackKind::kVideo, clock_, test::hevc_multitrack(0, false, i == 0, ++marker_));
        send(TrackKind::kVideo, clock_, test::hevc_multitrack(1, false, i == 0, ++marker_));
        pass(40);
    }
    Viewer& viewer = join();
    viewer.read();
    EXPECT_THAT(viewer.front(), testing::ElementsAre("9:90", "8:af"));
    ASSERT_EQ(viewer.messages().size(), 20U);
    for (size_t i = 0; i < 20; i++) {
        EXPECT_EQ(viewer.messages()[i].body.at(0), i == 0 ? 0x93 : 0xA3);
        EXPECT_EQ(viewer.messages()[i].timestamp - viewer.messages()[0].timestamp, 40 * i);
    }
}

TEST_F(RtmpMuxerTest, AViewerMovedToTheNewestKeyFrameBeginsAnew) {
    headers();
    gop();
    Viewer& slow = join();
    slow.read();
    for (int i = 0; i < 5; i++) {
        gop();
    }
    slow.move_to_start();
    gop(10);
    slow.expect_all_of_the_source();
}

// The muxer begins with that start: the audio in front of it is not 300 ms early.
TEST_F(RtmpMuxerTest, TheFirstPlayerGetsAudioOfBeforeItsKeyFrameAtItsTime) {
    headers();
    gop();
    const uint32_t key = clock_;
    for (int i = 0; i < 15; i++) {
        audio();
        pass(20);
    }
    send(TrackKind::kVideo, key, test::avc_frame(true, 77));
    use(60'000);
    Viewer& viewer = join();
    audio();
    viewer.read();
    const std::vector<rtmp::Message>& front = viewer.front_messages();
    ASSERT_EQ(front.size(), 3U + 15U);
    const std::vector<rtmp::Message>& log = viewer.messages();
    for (size_t i = 0; i < 15; i++) {
        EXPECT_EQ(front[3 + i].timestamp, log.at(0).timestamp + i * 20);
    }
    EXPECT_EQ(log.at(1).timestamp, log.at(0).timestamp + 300);
}

// A multiplexer that sends video up to two seconds before its audio.
TEST_F(RtmpMuxerTest, AudioThatIsAlwaysFarBehindKeepsItsTimes) {
    for (const uint32_t lag : {700U, 1000U, 2000U}) {
        publish_again();
        headers();
        for (int i = 0; i < 250; i++) {
            video(i % 25 == 0);
            if (clock_ >= lag) {
                audio(30, lag);
                pass(20);
                audio(30, lag);
                pass(20);
            } else {
                pass(40);
            }
            if (i == 150) {
                join();
            }
        }
        viewers_.back()->expect_all_of_the_source(lag + 100);  // its audio begins near 0
        viewers_.clear();
    }
}

TEST_F(RtmpMuxerTest, AMuxerAttachedLateTellsTheSame) {
    headers();
    gop();
    gop(12);
    use(60'000);
    join();
    gop();
    join();
    expect_all_viewers_have_all();
}

// A multiplexer that sends each audio track for itself.
TEST_F(RtmpMuxerTest, AnotherAudioTrackThatIsAheadDoesNotMoveTheDefaultOne) {
    use(60'000, RtmpTracks::kAll);
    headers();
    send(TrackKind::kAudio, 0, test::aac_multitrack(1, true, 1));
    gop();
    Viewer& viewer = join();
    for (int i = 0; i < 50; i++) {
        video(false);
        audio();
        send(TrackKind::kAudio, clock_ + 800, test::aac_multitrack(1, false, 2));
        pass(20);
        audio();
        pass(20);
    }
    viewer.read();
    std::optional<uint32_t> picture;
    int sounds = 0;
    for (const rtmp::Message& message : viewer.messages()) {
        if (message.body.empty()) {
            continue;
        }
        if (message.type == rtmp::kVideo) {
            picture = message.timestamp;
        } else if (picture && message.type == rtmp::kAudio && message.body.at(0) == 0xAF &&
                   message.body.at(1) == 1) {
            EXPECT_NEAR(message.timestamp, *picture, 100);
            sounds++;
        }
    }
    EXPECT_GE(sounds, 50);
}

TEST_F(RtmpMuxerTest, AServerWithoutMultitrackGetsOneAudioTrack) {
    use(60'000, RtmpTracks::kOneAudio);
    headers();
    send(TrackKind::kAudio, 0, test::aac_multitrack(1, true, 1));
    gop();
    Viewer& viewer = join();
    send(TrackKind::kAudio, clock_, test::aac_multitrack(1, false, 2));
    audio();
    viewer.read();
    EXPECT_THAT(viewer.front(), testing::ElementsAre("18:02", "9:17", "8:af"));
    for (const rtmp::Message& message : viewer.messages()) {
        EXPECT_FALSE(message.type == rtmp::kAudio && !message.body.empty() &&
                     message.body[0] != 0xAF);
    }
}

}  // namespace
}  // namespace weir::session
