// Streams with several audio tracks: which of them segments have, and that the others are as they
// were.
#include "net/segments/more_audio.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/segments/segment_store.h"
#include "net/segments/segmenter.h"

#include "test/session/muxer_fixture.h"
#include "test/support/codec_samples.h"

namespace weir::net {
namespace {

using media::Codec;
using media::TrackKind;
using session::MuxerFixture;
using test::BodyKind;
using test::tag_body;
using testing::ElementsAre;
using testing::IsEmpty;

size_t count(std::string_view text, std::string_view what) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; at++) {
        found++;
    }
    return found;
}

class MoreAudioTest : public MuxerFixture {
  protected:
    ~MoreAudioTest() override { segmenter_.reset(); }

    void watch(SegmentContainer container = SegmentContainer::kMp4) {
        segmenter_ = std::make_unique<Segmenter>(stream_, container, store_);
    }

    void name(std::vector<media::AudioTrack> tracks) {
        media::Description said;
        said.audio_tracks = std::move(tracks);
        stream_.describe(*this, std::move(said));
    }

    void begin() {
        send(TrackKind::kVideo, clock_,
             tag_body(Codec::kH264, BodyKind::kConfig, test::kAvcHighConfig));
        send(TrackKind::kAudio, clock_,
             tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
        for (const uint8_t id : more_) {
            send(TrackKind::kAudio, clock_, test::aac_multitrack(id, true, 0));
        }
    }

    // 25 pictures a second, with a key frame in each, and as many frames of each audio track.
    void seconds(int count) {
        for (int i = 0; i < 25 * count; i++, pass(40)) {
            send(
                TrackKind::kVideo, clock_,
                tag_body(Codec::kH264, i % 25 == 0 ? BodyKind::kKeyFrame : BodyKind::kFrame,
                         Bytes{0, 0, 0, 2, static_cast<uint8_t>(i % 25 == 0 ? 0x65 : 0x41), 0x88}));
            send(TrackKind::kAudio, clock_,
                 tag_body(Codec::kAac, BodyKind::kFrame, test::from_hex("211004")));
            for (const uint8_t id : more_) {
                send(TrackKind::kAudio, clock_, test::aac_multitrack(id, false, id));
            }
        }
    }

    const SegmentFormat& newest() const { return *store_.all().back().format; }

    std::vector<int> tracks() const {
        std::vector<int> ids;
        for (const SegmentAudio& each : newest().more) {
            ids.push_back(each.id);
        }
        return ids;
    }

    size_t formats() const {
        std::map<uint64_t, bool> ids;
        for (const Segment& segment : store_.all()) {
            ids[segment.format->id] = true;
        }
        return ids.size();
    }

    SegmentStore store_{{.fragment_ms = 1'000, .part_ms = 200, .window = 10}, 100};
    std::unique_ptr<Segmenter> segmenter_;
    std::vector<uint8_t> more_;
};

// As transport streams have them, where several frames of a track come together.
TEST_F(MoreAudioTest, WhoBeginsInTheMiddleWaitsForTracksThatComeLate) {
    now_ -= Millis(10'000);
    publish_again();
    more_ = {1};
    name({{0, "en", {}}, {1, "de", {}}});
    begin();
    const auto two_gops = [this] {
        for (int i = 0; i < 50; i++, pass(40)) {
            const int place = i % 25;
            send(TrackKind::kVideo, clock_,
                 tag_body(Codec::kH264, place == 0 ? BodyKind::kKeyFrame : BodyKind::kFrame,
                          Bytes{0, 0, 0, 2, static_cast<uint8_t>(place == 0 ? 0x65 : 0x41), 0x88}));
            send(TrackKind::kAudio, clock_,
                 tag_body(Codec::kAac, BodyKind::kFrame, test::from_hex("211004")));
            if (place >= 12) {
                send(TrackKind::kAudio, clock_, test::aac_multitrack(1, false, 1));
            }
        }
    };
    two_gops();
    SegmentStore joined({.fragment_ms = 1'000, .part_ms = 200, .window = 10, .settle_ms = 1'000},
                        100);
    const Segmenter late(stream_, SegmentContainer::kMp4, joined);
    two_gops();
    ASSERT_FALSE(joined.all().empty());
    EXPECT_EQ(joined.all().front().format->more.size(), 1U);
    EXPECT_EQ(joined.all().front().format.get(), joined.all().back().format.get());
}

TEST_F(MoreAudioTest, EachTrackHasFragmentsOfItsOwnInEachPart) {
    more_ = {1, 2};
    name({{0, "en", {}}, {1, "de", {}}, {2, {}, "Kommentar"}});
    watch();
    begin();
    seconds(4);
    ASSERT_THAT(tracks(), ElementsAre(1, 2));
    EXPECT_EQ(formats(), 1U);
    EXPECT_EQ(newest().audio_language, "en");
    EXPECT_EQ(newest().audio_name, "English");
    EXPECT_EQ(newest().more[0].language, "de");
    EXPECT_EQ(newest().more[0].name, "German");
    EXPECT_EQ(newest().more[1].name, "Kommentar");
    EXPECT_EQ(newest().more[0].codecs, "mp4a.40.2");
    EXPECT_EQ(newest().more[0].sample_rate, 48'000U);
    EXPECT_EQ(newest().more[0].channels, 2);
    EXPECT_EQ(count(as_text(newest().more[0].header), "trak"), 1U);
    for (const Segment& segment : store_.all()) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < segment.parts.size(); i++) {
            const SegmentPart& part = segment.parts[i];
            EXPECT_EQ(count(as_text(part.bytes->bytes()), "moof"), 2U) << "video and default audio";
            ASSERT_EQ(part.more.size(), 2U);
            const std::string_view first = as_text(part.more[0]->bytes());
            EXPECT_EQ(count(first, "moof"), 1U);
            EXPECT_EQ(count(first, "styp"), i == 0 ? 1U : 0U);
            bytes += first.size();
        }
        EXPECT_EQ(segment.more_bytes.at(0), bytes);
    }
}

// As ffmpeg's transport streams have them.
TEST_F(MoreAudioTest, PartsOfTracksThatComeInBurstsHaveSamples) {
    more_ = {1};
    name({{0, "en", {}}, {1, "de", {}}});
    watch();
    begin();
    seconds(2);
    const uint64_t from = store_.next_number() + 1;  // the first part without sound is before that
    constexpr int kBurst = 8;                        // 320 ms
    for (int i = 0; i < 200; i++, pass(40)) {
        send(TrackKind::kVideo, clock_,
             tag_body(Codec::kH264, i % 25 == 0 ? BodyKind::kKeyFrame : BodyKind::kFrame,
                      Bytes{0, 0, 0, 2, static_cast<uint8_t>(i % 25 == 0 ? 0x65 : 0x41), 0x88}));
        for (uint32_t k = kBurst; i % kBurst == kBurst - 1 && k > 0; k--) {
            const uint32_t time_ms = clock_ - 40 * (k - 1);
            send(TrackKind::kAudio, time_ms,
                 tag_body(Codec::kAac, BodyKind::kFrame, test::from_hex("211004")));
            send(TrackKind::kAudio, time_ms, test::aac_multitrack(1, false, 1));
        }
    }
    size_t parts = 0;
    for (const Segment& segment : store_.all()) {
        for (size_t i = 0; segment.number >= from && i < segment.parts.size(); i++, parts++) {
            const SegmentPart& part = segment.parts[i];
            EXPECT_EQ(count(as_text(part.bytes->bytes().subspan(part.audio_at)), "trun"), 1U)
                << segment.number << ", part " << i;
            EXPECT_EQ(count(as_text(part.more.at(0)->bytes()), "trun"), 1U)
                << segment.number << ", part " << i;
        }
    }
    EXPECT_GT(parts, 25U);
}

TEST_F(MoreAudioTest, NothingIsHeldBackWhereAFormatEnds) {
    more_ = {1};
    name({{0, "en", {}}, {1, "de", {}}});
    watch();
    begin();
    seconds(1);
    more_.clear();  // for a part or two
    for (int i = 1; i < 13; i++, pass(40)) {
        send(TrackKind::kVideo, clock_,
             tag_body(Codec::kH264, BodyKind::kFrame, Bytes{0, 0, 0, 2, 0x41, 0x88}));
    }
    for (int i = 0; i < 5; i++) {
        send(TrackKind::kAudio, clock_, test::aac_multitrack(1, false, 0x4d41524b));
    }
    publish_again(clock_);
    size_t found = 0;
    for (const SegmentPart& part : store_.all().back().parts) {
        found += count(as_text(part.more.at(0)->bytes()), "MARK");
    }
    EXPECT_EQ(found, 5U);
}

TEST_F(MoreAudioTest, OneTrackIsAsItWas) {
    const auto made = [this] {
        publish_again();
        const auto store = std::make_unique<SegmentStore>(store_.options(), 100);
        segmenter_ = std::make_unique<Segmenter>(stream_, SegmentContainer::kMp4, *store);
        begin();
        seconds(3);
        std::string all(as_text(store->all().front().format->header));
        for (const Segment& segment : store->all()) {
            for (const SegmentPart& part : segment.parts) {
                all += as_text(part.bytes->bytes());
                EXPECT_THAT(part.more, IsEmpty());
            }
        }
        segmenter_.reset();
        return all;
    };
    const std::string one = made();
    EXPECT_EQ(count(one, "und"), 0U);
    EXPECT_EQ(count(one, "weir"), 2U) << "no name, as always";
}

TEST_F(MoreAudioTest, AContainerThatKeepsNoTracksApartHasTheDefaultOne) {
    more_ = {1};
    watch(SegmentContainer::kTs);
    begin();
    seconds(3);
    EXPECT_THAT(tracks(), IsEmpty());
    EXPECT_GT(segmenter_->frames_left_out(), 0U);
}

TEST_F(MoreAudioTest, ATrackThatComesLaterBeginsWithAKeyFrame) {
    watch();
    begin();
    seconds(2);
    EXPECT_THAT(tracks(), IsEmpty());
    more_ = {1};
    send(TrackKind::kAudio, clock_, test::aac_multitrack(1, true, 0));
    seconds(2);
    EXPECT_THAT(tracks(), ElementsAre(1));
    EXPECT_EQ(newest().audio_name, "Audio 1");
    EXPECT_EQ(newest().more[0].name, "Audio 2");
    EXPECT_EQ(formats(), 2U);
}

TEST_F(MoreAudioTest, ATrackThatEndsIsGoneAfterTwoSeconds) {
    more_ = {1};
    watch();
    begin();
    seconds(2);
    more_ = {};
    seconds(2);
    EXPECT_THAT(tracks(), ElementsAre(1));
    for (const SegmentPart& part : store_.all().back().parts) {
        const std::string_view bytes = as_text(part.more.at(0)->bytes());
        EXPECT_EQ(count(bytes, "tfdt"), 1U);
        EXPECT_EQ(count(bytes, "trun"), 0U) << "a fragment without a sample";
    }
    seconds(3);
    EXPECT_THAT(tracks(), IsEmpty());
}

TEST_F(MoreAudioTest, ATrackThatComesAndGoesAgainAndAgainCutsOnlySometimes) {
    watch();
    begin();
    send(TrackKind::kAudio, clock_, test::aac_multitrack(1, true, 0));
    for (int i = 0; i < 20; i++) {
        more_ = {1};
        seconds(2);
        more_ = {};
        seconds(4);
    }
    EXPECT_LE(store_.discontinuities_before() + formats(), MoreAudio::kMaxChanges + 2);
}

TEST_F(MoreAudioTest, ManyTracksAreBounded) {
    for (int id = 1; id < 200; id++) {
        more_.push_back(static_cast<uint8_t>(id));
    }
    watch();
    begin();
    seconds(2);
    EXPECT_EQ(tracks().size(), MoreAudio::kMaxTracks);
    std::vector<std::string> names = {newest().audio_name};
    for (const SegmentAudio& each : newest().more) {
        names.push_back(each.name);
    }
    std::ranges::sort(names);
    EXPECT_TRUE(std::ranges::unique(names).empty());
}

TEST_F(MoreAudioTest, TracksOfOneLanguageHaveDifferentNames) {
    more_ = {1, 2};
    name({{0, "en", {}}, {1, "en", {}}, {2, "en", {}}});
    watch();
    begin();
    seconds(2);
    EXPECT_EQ(newest().audio_name, "English");
    EXPECT_EQ(newest().more[0].name, "English (2)");
    EXPECT_EQ(newest().more[1].name, "English (3)");
}

TEST_F(MoreAudioTest, ANameThatHasItsNumberAlreadyIsNotGivenTwice) {
    more_ = {1, 2};
    name({{0, {}, "A"}, {1, {}, "A (3)"}, {2, {}, "A"}});
    watch();
    begin();
    seconds(2);
    EXPECT_EQ(newest().audio_name, "A");
    EXPECT_EQ(newest().more[0].name, "A (3)");
    EXPECT_EQ(newest().more[1].name, "A (4)");
}

TEST_F(MoreAudioTest, FramesBeforeTheFirstKeyFrameAreNotLeftOut) {
    more_ = {1};
    watch();
    begin();
    for (int i = 0; i < 10; i++, pass(40)) {
        send(TrackKind::kVideo, clock_,
             tag_body(Codec::kH264, BodyKind::kFrame, Bytes{0, 0, 0, 2, 0x41, 0x88}));
        send(TrackKind::kAudio, clock_,
             tag_body(Codec::kAac, BodyKind::kFrame, test::from_hex("211004")));
        send(TrackKind::kAudio, clock_, test::aac_multitrack(1, false, 1));
    }
    EXPECT_EQ(segmenter_->frames_left_out(), 0U);
}

TEST_F(MoreAudioTest, ATrackOfAnotherCodecIsLeftOut) {
    more_ = {};
    watch();
    begin();
    media::PacketInfo info;
    info.kind = TrackKind::kAudio;
    info.codec = Codec::kAc3;
    info.multitrack = true;
    info.track_id = 1;
    const Bytes frame = test::from_hex("0b770000144000000000");
    const auto made = flv::make_packet(info, 0, frame);
    for (int i = 0; i < 3; i++) {
        seconds(1);
        send(TrackKind::kAudio, clock_, Bytes(made->body().begin(), made->body().end()));
    }
    EXPECT_THAT(tracks(), IsEmpty());
    EXPECT_EQ(formats(), 1U) << "nor does it cut";
}

TEST_F(MoreAudioTest, AudioAloneHasItsTracksToo) {
    watch();
    send(TrackKind::kAudio, clock_,
         tag_body(Codec::kAac, BodyKind::kConfig, test::from_hex("1190")));
    for (int i = 0; i < 200; i++, pass(21)) {
        send(TrackKind::kAudio, clock_,
             tag_body(Codec::kAac, BodyKind::kFrame, test::from_hex("211004")));
        if (i == 0) {
            send(TrackKind::kAudio, clock_, test::aac_multitrack(1, true, 0));
        }
        send(TrackKind::kAudio, clock_, test::aac_multitrack(1, false, 1));
    }
    EXPECT_THAT(tracks(), ElementsAre(1));
    EXPECT_EQ(formats(), 1U);
}

TEST_F(MoreAudioTest, TheNextPublisherBringsItsOwnTracks) {
    more_ = {1, 2, 3, 4, 5, 6, 7};
    watch();
    begin();
    seconds(2);
    publish_again();
    more_ = {9};
    begin();
    seconds(2);
    EXPECT_THAT(tracks(), ElementsAre(9));
}

}  // namespace
}  // namespace weir::net
