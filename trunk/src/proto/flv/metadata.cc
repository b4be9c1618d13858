#include "proto/flv/metadata.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "media/language.h"
#include "proto/amf/amf0.h"

namespace weir::flv {
namespace {

constexpr double kMaxPixels = 65536;
constexpr double kMaxFrameRate = 1000;
constexpr size_t kMaxEncoderName = 128;

// A key of a map of tracks. Nothing: it is no number of a track.
std::optional<uint8_t> track_id_of(std::string_view key) {
    uint8_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    return error == std::errc() && end == key.data() + key.size() ? std::optional(id)
                                                                  : std::nullopt;
}

media::AudioTrack audio_track_of(uint8_t id, const amf::Value& said) {
    const auto first_of = [&said](std::string_view name, std::string_view other) {
        const std::string_view text = said.text_of(name);
        return text.empty() ? said.text_of(other) : text;
    };
    return {.id = id,
            .language = media::language_tag(first_of("language", "lang")),
            .name = media::track_name(first_of("name", "title"))};
}

// Enhanced RTMP v2, "Enhancing onMetaData": what differs from the default track, by track id. It
// names no property for a language or a name; these are what encoders write.
std::vector<media::AudioTrack> audio_tracks_of(const amf::Value& values) {
    std::vector<media::AudioTrack> tracks;
    const amf::Value* const map = values.find("audioTrackIdInfoMap");
    if (map == nullptr || !map->has_members()) {
        return tracks;
    }
    for (const amf::Member& member : map->members()) {
        const std::optional<uint8_t> id = track_id_of(member.name);
        if (id && std::ranges::find(tracks, *id, &media::AudioTrack::id) == tracks.end() &&
            tracks.size() < media::Description::kMaxAudioTracks) {
            tracks.push_back(audio_track_of(*id, member.value));
        }
    }
    // The default track is 0, and described by the metadata itself where the map does not have it.
    if (!tracks.empty() && std::ranges::find(tracks, 0, &media::AudioTrack::id) == tracks.end()) {
        tracks.resize(std::min(tracks.size(), media::Description::kMaxAudioTracks - 1));
        tracks.push_back({.id = 0,
                          .language = media::language_tag(values.text_of("language")),
                          .implied = true});
    }
    std::ranges::sort(tracks, {}, &media::AudioTrack::id);
    return tracks;
}

}  // namespace

media::Description parse_metadata(ByteSpan body) {
    media::Description description;
    ByteReader reader(body);
    Result<amf::Value> name = amf::parse(reader);
    Result<amf::Value> values =
        name.ok() ? amf::parse(reader) : Result<amf::Value>(name.take_error());
    if (!values.ok() || !values->has_members()) {
        return description;
    }
    const auto number = [&](std::string_view key, double highest) {
        const double value = values->number_of(key);
        return value > 0 && value <= highest ? value : 0;  // also for NaN
    };
    description.width = static_cast<uint32_t>(number("width", kMaxPixels));
    description.height = static_cast<uint32_t>(number("height", kMaxPixels));
    description.frame_rate = number("framerate", kMaxFrameRate);
    description.names_video = values->find("videocodecid") != nullptr || description.width > 0;
    description.names_audio = values->find("audiocodecid") != nullptr;
    description.audio_tracks = audio_tracks_of(*values);
    description.encoder = values->text_of("encoder").substr(0, kMaxEncoderName);
    return description;
}

Ref<media::MediaPacket> make_metadata(const media::Description& description, int64_t time_ms) {
    const bool sized = description.width > 0 && description.height > 0;
    const bool several = !description.audio_tracks.empty();
    Bytes body;
    amf::Writer writer(body);
    writer.string("onMetaData").begin_ecma_array((sized ? 2U : 0U) + (several ? 1U : 0U));
    if (sized) {
        writer.key("width").number(description.width).key("height").number(description.height);
    }
    if (several) {
        writer.key("audioTrackIdInfoMap").begin_object();
        for (const media::AudioTrack& track : description.audio_tracks) {
            writer.key(fmt::to_string(track.id)).begin_object();
            if (!track.language.empty()) {
                writer.key("language").string(track.language);
            }
            if (!track.name.empty()) {
                writer.key("name").string(track.name);
            }
            writer.end_object();
        }
        writer.end_object();
    }
    writer.end_object();
    media::PacketInfo info;
    info.kind = media::TrackKind::kData;
    info.metadata = true;
    return make_ref<media::MediaPacket>(info, time_ms, std::move(body));
}

}  // namespace weir::flv
