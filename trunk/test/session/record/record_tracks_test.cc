// Recordings of streams with several audio tracks: which of them a file has, and what it says of
// them. That players choose by language is shown by trunk/test/e2e/record/test_record_tracks.py.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/segments/segmenter.h"
#include "proto/mp4/sample_reader.h"
#include "session/record/record_muxer.h"

#include "test/session/muxer_fixture.h"
#include "test/support/codec_samples.h"
#include "test/support/transport_stream.h"

namespace weir::session {
namespace {

using media::Codec;
using media::TrackKind;
using test::BodyKind;
using test::tag_body;
using testing::ElementsAre;

// All bytes of each file.
class Files final : public RecordOutput {
  public:
    bool begin_file(int64_t, Bytes beginning) override {
        all.push_back({std::move(beginning)});
        return true;
    }

    bool add(RecordUnit unit) override {
        all.back().push_back(std::move(unit.bytes));
        return true;
    }

    void end_file(const char* why) override { ends.emplace_back(why); }

    void lose(uint64_t, uint64_t, int64_t) override {}

    int64_t wall_now_ms() const override { return 0; }

    ByteSpan metadata() const override { return {}; }

    Bytes whole(size_t file) const {
        Bytes out;
        for (const Bytes& unit : all.at(file)) {
            out.insert(out.end(), unit.begin(), unit.end());
        }
        return out;
    }

    std::vector<std::vector<Bytes>> all;
    std::vector<std::string> ends;
};

class RecordTracksTest : public MuxerFixture {
  protected:
    ~RecordTracksTest() override { segmenter_.reset(); }

    void record(RecordFormat format) {
        auto muxer = std::make_unique<RecordMuxer>(format, SplitRules(), files_);
        segmenter_ = std::make_unique<net::Segmenter>(stream_, std::move(muxer), store_);
    }

    void name(std::vector<media::AudioTrack> tracks) {
        media::Description said;
        said.audio_tracks = std::move(tracks);
        stream_.describe(*this, std::move(said));
    }

    // The track 0, and others.
    void begin(const std::vector<uint8_t>& more) {
        send(TrackKind::kVideo, clock_,
             tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
        send(TrackKind::kAudio, clock_,
             tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
        for (const uint8_t id : more) {
            send(TrackKind::kAudio, clock_, test::aac_multitrack(id, true, 0));
        }
    }

    void seconds(int count, const std::vector<uint8_t>& more) {
        for (int i = 0; i < 25 * count; i++, pass(40)) {
            const bool key = i % 25 == 0;
            send(TrackKind::kVideo, clock_,
                 tag_body(Codec::kH264, key ? BodyKind::kKeyFrame : BodyKind::kFrame,
                          Bytes{0, 0, 0, 2, static_cast<uint8_t>(key ? 0x65 : 0x41), 0x88}));
            send(TrackKind::kAudio, clock_,
                 tag_body(Codec::kAac, BodyKind::kFrame, test::from_hex("211004")));
            for (const uint8_t id : more) {
                send(TrackKind::kAudio, clock_, test::aac_multitrack(id, false, id));
            }
        }
    }

    void ac3(uint8_t id) {
        media::PacketInfo info;
        info.kind = TrackKind::kAudio;
        info.codec = Codec::kAc3;
        info.multitrack = true;
        info.track_id = id;
        const auto made = flv::make_packet(info, 0, test::from_hex("0b770000144000000000"));
        send(TrackKind::kAudio, clock_, Bytes(made->body().begin(), made->body().end()));
    }

    void finish() {
        segmenter_->on_start_lost(stream::StartLost::kPublisherGone);
        segmenter_.reset();
    }

    // The codec of each track of a file; and how many frames it has.
    std::vector<Codec> codecs(size_t file) const {
        std::vector<Codec> out;
        for (const mp4::StoredTrack& track : mp4::read_tracks(files_.all.at(file).front())) {
            out.push_back(track.codec);
        }
        return out;
    }

    std::vector<size_t> frames(size_t file) const {
        const std::vector<Bytes>& units = files_.all.at(file);
        const auto tracks = mp4::read_tracks(units.front());
        std::vector<size_t> out(tracks.size());
        for (size_t i = 1; i < units.size(); i++) {
            const auto samples = mp4::read_samples(units[i], tracks);
            EXPECT_TRUE(samples);
            for (const mp4::StoredSample& sample :
                 samples.value_or(std::vector<mp4::StoredSample>())) {
                out.at(sample.track)++;
            }
        }
        return out;
    }

    Files files_;
    net::SegmentStore store_{{.fragment_ms = 1'000, .part_ms = 1'000, .window = 3}, 100};
    std::unique_ptr<net::Segmenter> segmenter_;
};

TEST_F(RecordTracksTest, EveryAudioTrackIsATrackOfTheFile) {
    name({{0, "en", {}}, {1, "fr", {}}, {2, {}, "Kommentar"}});
    record(RecordFormat::kMp4);
    begin({1, 2});
    seconds(4, {1, 2});
    finish();
    ASSERT_EQ(files_.all.size(), 1U);
    EXPECT_THAT(codecs(0), ElementsAre(Codec::kH264, Codec::kAac, Codec::kAac, Codec::kAac));
    EXPECT_THAT(frames(0), ElementsAre(100, 100, 100, 100));
    const std::string header(as_text(files_.all[0][0]));
    for (const char* handler : {"English", "French", "Kommentar"}) {
        EXPECT_NE(header.find(handler), std::string::npos) << handler;
    }
}

TEST_F(RecordTracksTest, FramesOfEachTrackAreItsOwn) {
    record(RecordFormat::kMp4);
    begin({1, 2});
    seconds(2, {1, 2});
    finish();
    const std::vector<Bytes>& units = files_.all.at(0);
    const auto tracks = mp4::read_tracks(units.front());
    const auto samples = mp4::read_samples(units.at(1), tracks);
    ASSERT_TRUE(samples);
    for (const auto& sample : *samples) {
        if (sample.track > 1) {
            const auto id = static_cast<uint8_t>(sample.track - 1);
            const Bytes wanted = test::aac_multitrack(id, false, id);
            const ByteSpan data = ByteSpan(units[1]).subspan(sample.offset, sample.size);
            EXPECT_TRUE(as_text(wanted).ends_with(as_text(data))) << sample.track;
        }
    }
}

TEST_F(RecordTracksTest, ATrackThatComesLaterIsInTheNextFile) {
    record(RecordFormat::kMp4);
    begin({});
    seconds(3, {});
    send(TrackKind::kAudio, clock_, test::aac_multitrack(1, true, 0));
    seconds(3, {1});
    finish();
    ASSERT_EQ(files_.all.size(), 2U);
    EXPECT_THAT(codecs(0), ElementsAre(Codec::kH264, Codec::kAac));
    EXPECT_THAT(codecs(1), ElementsAre(Codec::kH264, Codec::kAac, Codec::kAac));
    EXPECT_EQ(files_.ends.front(), "codecs");
}

TEST_F(RecordTracksTest, ATrackThatPausesEndsNoFile) {
    record(RecordFormat::kMp4);
    begin({1});
    seconds(2, {1});
    seconds(5, {});
    seconds(2, {1});
    finish();
    ASSERT_EQ(files_.all.size(), 1U);
    EXPECT_THAT(frames(0), ElementsAre(225, 225, 100));
}

TEST_F(RecordTracksTest, ATrackThatIsPromisedAndNeverComesIsInNoFile) {
    name({{0, "en", {}}, {1, "fr", {}}});
    record(RecordFormat::kMp4);
    begin({1});
    seconds(4, {});
    finish();
    ASSERT_EQ(files_.all.size(), 1U);
    EXPECT_THAT(codecs(0), ElementsAre(Codec::kH264, Codec::kAac));
}

TEST_F(RecordTracksTest, ATrackHasTheCodecThatItHas) {
    record(RecordFormat::kMp4);
    begin({});
    for (int i = 0; i < 4; i++) {
        ac3(1);
        seconds(1, {});
    }
    finish();
    ASSERT_EQ(files_.all.size(), 1U);
    EXPECT_THAT(codecs(0), ElementsAre(Codec::kH264, Codec::kAac, Codec::kAc3));
}

TEST_F(RecordTracksTest, AnotherCodecInATrackIsAnotherFile) {
    record(RecordFormat::kMp4);
    begin({1});
    seconds(3, {1});
    for (int i = 0; i < 4; i++) {
        ac3(1);
        seconds(1, {});
    }
    finish();
    ASSERT_EQ(files_.all.size(), 2U);
    EXPECT_THAT(codecs(0), ElementsAre(Codec::kH264, Codec::kAac, Codec::kAac));
    EXPECT_THAT(codecs(1), ElementsAre(Codec::kH264, Codec::kAac, Codec::kAc3));
}

TEST_F(RecordTracksTest, ATrackThatChangesAgainAndAgainEndsFilesOnlySometimes) {
    record(RecordFormat::kMp4);
    begin({1});
    for (int i = 0; i < 30; i++) {
        send(TrackKind::kAudio, clock_, test::aac_multitrack(1, true, static_cast<uint32_t>(i)));
        seconds(2, {1});
    }
    finish();
    EXPECT_LE(files_.all.size(), net::MoreAudio::kMaxChanges + 2);
}

TEST_F(RecordTracksTest, TwentyTracksAreBounded) {
    std::vector<uint8_t> more(19);
    for (size_t i = 0; i < more.size(); i++) {
        more[i] = static_cast<uint8_t>(i + 1);
    }
    record(RecordFormat::kMp4);
    begin(more);
    seconds(3, more);
    finish();
    ASSERT_EQ(files_.all.size(), 1U);
    EXPECT_EQ(codecs(0).size(), 1 + media::Description::kMaxAudioTracks);
}

TEST_F(RecordTracksTest, AudioAloneHasItsTracksToo) {
    record(RecordFormat::kMp4);
    send(TrackKind::kAudio, clock_,
         tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
    send(TrackKind::kAudio, clock_, test::aac_multitrack(1, true, 0));
    for (int i = 0; i < 200; i++, pass(21)) {
        send(TrackKind::kAudio, clock_,
             tag_body(Codec::kAac, BodyKind::kFrame, test::from_hex("211004")));
        send(TrackKind::kAudio, clock_, test::aac_multitrack(1, false, 1));
    }
    finish();
    ASSERT_EQ(files_.all.size(), 1U);
    EXPECT_THAT(frames(0), ElementsAre(200, 200));
}

TEST_F(RecordTracksTest, ATransportStreamHasAllTracksWithTheirLanguages) {
    name({{0, "en", {}}, {1, "fr", {}}, {2, {}, "Kommentar"}});
    record(RecordFormat::kTs);
    begin({1, 2});
    seconds(3, {1, 2});
    finish();
    ASSERT_EQ(files_.all.size(), 1U);
    const Bytes file = files_.whole(0);
    const auto read = test::read_ts(file);
    ASSERT_EQ(read.tracks.size(), 1U);
    std::vector<std::string> languages;
    for (const mpegts::Track& track : read.tracks[0]) {
        languages.emplace_back(track.info.language.data(), track.info.language[0] != 0 ? 3 : 0);
    }
    EXPECT_THAT(languages, ElementsAre("", "eng", "fra", ""));
    std::map<uint16_t, size_t> frames;
    for (size_t at = 0; at < file.size(); at += mpegts::kPacketSize) {
        const auto packet =
            mpegts::Packet::parse(ByteSpan(file).subspan(at, mpegts::kPacketSize)).value();
        frames[packet.pid] += packet.unit_start ? 1U : 0U;
    }
    for (uint16_t track = 0; track < 4; track++) {
        EXPECT_EQ(frames[mpegts::kFirstWrittenPid + track], 75U) << track;
    }
}

TEST_F(RecordTracksTest, FlvFilesHaveTheDefaultTrack) {
    record(RecordFormat::kFlv);
    begin({1});
    seconds(2, {1});
    finish();
    ASSERT_EQ(files_.all.size(), 1U);
    const Bytes other = test::aac_multitrack(1, false, 1);
    EXPECT_EQ(as_text(files_.whole(0)).find(as_text(other)), std::string_view::npos);
}

}  // namespace
}  // namespace weir::session
