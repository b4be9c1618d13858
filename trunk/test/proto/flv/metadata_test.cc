#include "proto/flv/metadata.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/amf/amf0.h"
#include "proto/flv/tag.h"

namespace weir::flv {
namespace {

using media::AudioTrack;
using testing::ElementsAre;
using testing::IsEmpty;

amf::Value track(std::string_view language, std::string_view name) {
    amf::Value value = amf::Value::object();
    value.set("channels", amf::Value::number(2.0));
    value.set("language", amf::Value::string(language));
    value.set("name", amf::Value::string(name));
    return value;
}

media::Description said(std::vector<std::pair<std::string, amf::Value>> tracks,
                        std::string_view language = "") {
    amf::Value map = amf::Value::object();
    for (auto& [id, value] : tracks) {
        map.set(id, std::move(value));
    }
    amf::Value values = amf::Value::ecma_array();
    values.set("width", amf::Value::number(640.0));
    values.set("language", amf::Value::string(language));
    values.set("audioTrackIdInfoMap", std::move(map));
    Bytes body;
    amf::write(amf::Value::string("onMetaData"), body);
    amf::write(values, body);
    return parse_metadata(body);
}

TEST(MetadataTest, NamesTheAudioTracks) {
    const media::Description description = said(
        {{"0", track("eng", "Stadium")}, {"2", track("de", "")}, {"1", track("", "Comments")}});
    EXPECT_EQ(description.width, 640U);
    EXPECT_THAT(description.audio_tracks,
                ElementsAre(AudioTrack{0, "en", "Stadium"}, AudioTrack{1, "", "Comments"},
                            AudioTrack{2, "de", ""}));
}

TEST(MetadataTest, TheDefaultTrackNeedNotBeInTheMap) {
    EXPECT_THAT(said({{"1", track("fr", "")}}, "en").audio_tracks,
                ElementsAre(AudioTrack{0, "en", "", true}, AudioTrack{1, "fr", ""}));
}

TEST(MetadataTest, WhatIsMadeSaysTheSame) {
    media::Description description;
    description.width = 640;
    description.height = 360;
    description.audio_tracks = {{0, "en", "Stadium"}, {1, "", ""}, {3, "pt-BR", ""}};
    const auto packet = make_metadata(description, 7);
    EXPECT_EQ(packet->time_ms(), 7);
    const auto info = parse_tag_body(media::TrackKind::kData, packet->body());
    ASSERT_TRUE(info);
    EXPECT_TRUE(info->metadata && packet->info().metadata);
    const media::Description read = parse_metadata(packet->body());
    EXPECT_EQ(read.audio_tracks, description.audio_tracks);
    EXPECT_EQ(read.width, 640U);
    EXPECT_EQ(read.height, 360U);
    EXPECT_THAT(parse_metadata(make_metadata({}, 0)->body()).audio_tracks, IsEmpty());
}

TEST(MetadataTest, WithoutAMapThereIsOneTrack) {
    EXPECT_THAT(said({}, "en").audio_tracks, IsEmpty());
}

TEST(MetadataTest, WhatIsNoTrackIsLeftOut) {
    EXPECT_THAT(said({{"x", track("en", "")},
                      {"256", track("en", "")},
                      {"-1", track("en", "")},
                      {"1x", track("en", "")},
                      {"", track("en", "")}})
                    .audio_tracks,
                IsEmpty());
}

TEST(MetadataTest, NamesAreBoundedAndPlain) {
    const auto name_of = [](const std::string& text) {
        return said({{"0", track("", text)}}).audio_tracks.at(0).name;
    };
    EXPECT_EQ(name_of("a\"b\nc\xFF"), "abc");
    EXPECT_EQ(name_of("Français"), "Français");
    EXPECT_EQ(name_of(std::string(1'000, 'x')).size(), 64U);
    EXPECT_EQ(name_of(std::string(63, 'x') + "é"), std::string(63, 'x')) << "whole characters";
}

TEST(MetadataTest, ManyTracksAreBounded) {
    std::vector<std::pair<std::string, amf::Value>> tracks;
    for (int id = 1; id < 200; id++) {
        tracks.emplace_back(std::to_string(id), track("en", ""));
    }
    const auto found = said(std::move(tracks)).audio_tracks;
    EXPECT_EQ(found.size(), media::Description::kMaxAudioTracks);
    EXPECT_EQ(found.front().id, 0);
}

}  // namespace
}  // namespace weir::flv
