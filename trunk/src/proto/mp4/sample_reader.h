// Reads what fragment.h writes: the tracks of a header, with the configuration of their codecs, and
// the samples of a fragment. Pure. Files may be cut off or spoilt: all that they say is bounded by
// the bytes that are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "media/codec.h"

namespace weir::mp4 {

struct StoredTrack {
    uint32_t id = 0;
    media::Codec codec = media::Codec::kUnknown;  // kUnknown: none that fragment.h writes
    bool video = false;
    uint32_t timescale = 1;
    uint32_t width = 0;  // in pixels
    uint32_t height = 0;
    // As the payload of the codec's sequence header in FLV; empty: the codec has none.
    Bytes config;

    bool operator==(const StoredTrack&) const = default;
};

inline constexpr size_t kMaxStoredTracks = 16;

// `head`: the beginning of a file, at least to the end of its moov. Empty: there is none, or it has
// no tracks.
std::vector<StoredTrack> read_tracks(ByteSpan head);

// How long the moof is that a fragment begins with, and how long the whole fragment is, by the
// heads of its boxes. Nothing: that is no fragment, or one that is too large.
inline constexpr size_t kMaxMoofBytes = 4u << 20;
inline constexpr uint64_t kMaxFragmentBytes = 64u << 20;

struct FragmentSize {
    size_t moof = 0;
    uint64_t whole = 0;
};

// `begin`: 8 bytes or more. The length of the moof; 0: it is none.
size_t moof_size(ByteSpan begin);
// `data`: the bytes behind the moof, 16 where the file has as many.
std::optional<FragmentSize> fragment_size(size_t moof, ByteSpan data);

struct StoredSample {
    size_t track = 0;     // of the list of tracks
    int64_t time_ms = 0;  // of decoding, from the beginning of the file
    int32_t composition_ms = 0;
    bool key = false;
    uint32_t offset = 0;  // in the fragment
    uint32_t size = 0;
};

// Of one fragment; more are those of a file that is not ours.
inline constexpr size_t kMaxStoredSamples = 100'000;

// The samples of a fragment, moof and mdat, by time of decoding; at the same time video first.
// Those of tracks without a known codec are left out. Nothing: it is malformed.
std::optional<std::vector<StoredSample>> read_samples(ByteSpan fragment,
                                                      std::span<const StoredTrack> tracks);

}  // namespace weir::mp4
