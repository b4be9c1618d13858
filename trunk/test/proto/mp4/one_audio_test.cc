#include "proto/mp4/one_audio.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "proto/mp4/fragment.h"
#include "proto/mp4/sample_reader.h"

#include "test/support/codec_samples.h"

namespace weir::mp4 {
namespace {

Bytes header(size_t audio_tracks, bool video = true) {
    std::vector<Track> tracks(audio_tracks,
                              *make_track(media::Codec::kAac, test::from_hex("1190"), {}));
    if (video) {
        tracks.insert(tracks.begin(), *make_track(media::Codec::kH264, test::kAvcHighConfig, {}));
    }
    Bytes out;
    write_header(tracks, out, Length::kFilledIn);
    return out;
}

size_t count(const Bytes& bytes, std::string_view what) {
    const std::string_view text = as_text(bytes);
    size_t found = 0;
    for (size_t at = 0; (at = text.find(what, at)) != text.npos; at++) {
        found++;
    }
    return found;
}

TEST(OneAudioTest, TheFirstAudioTrackStaysAndNoByteMoves) {
    for (const bool video : {true, false}) {
        const Bytes several = header(3, video);
        const auto one = one_audio_header(several);
        ASSERT_TRUE(one);
        EXPECT_EQ(one->size(), several.size());
        EXPECT_EQ(count(several, "soun"), 3U);
        EXPECT_EQ(count(*one, "soun"), 1U);
        EXPECT_EQ(as_text(*one).find("soun"), as_text(several).find("soun"));
        EXPECT_EQ(read_tracks(*one).size(), read_tracks(several).size());
    }
}

TEST(OneAudioTest, AHeaderWithOneIsAsItIs) {
    EXPECT_FALSE(one_audio_header(header(1)));
    EXPECT_FALSE(one_audio_header(header(0)));
    EXPECT_FALSE(one_audio_header({}));
}

TEST(OneAudioTest, ATruncatedHeaderIsNone) {
    const Bytes several = header(2);
    for (size_t size = 0; size < several.size(); size++) {
        EXPECT_FALSE(one_audio_header(ByteSpan(several).first(size))) << size;
    }
}

}  // namespace
}  // namespace weir::mp4
