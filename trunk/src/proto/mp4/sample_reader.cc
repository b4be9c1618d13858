#include "proto/mp4/sample_reader.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "proto/mp4/box_reader.h"

namespace weir::mp4 {
namespace {

using media::Codec;

// tfhd, §8.8.7, and trun, §8.8.8
constexpr uint32_t kBaseOffset = 0x000001;
constexpr uint32_t kDescriptionIndex = 0x000002;
constexpr uint32_t kDefaultDuration = 0x000008;
constexpr uint32_t kDefaultSize = 0x000010;
constexpr uint32_t kDefaultFlags = 0x000020;
constexpr uint32_t kDataOffset = 0x000001;
constexpr uint32_t kFirstFlags = 0x000004;
constexpr uint32_t kDurations = 0x000100;
constexpr uint32_t kSizes = 0x000200;
constexpr uint32_t kFlags = 0x000400;
constexpr uint32_t kCompositions = 0x000800;
constexpr uint32_t kNotSync = 0x00010000;

constexpr uint64_t kMaxTime = uint64_t{1} << 53;    // in units of a timescale
constexpr uint64_t kMaxTimeMs = uint64_t{1} << 40;  // 34 years

constexpr size_t kVisualEntry = 78;  // VisualSampleEntry §12.1.3, up to its boxes
constexpr size_t kAudioEntry = 28;   // AudioSampleEntry §12.2.3

// ---- the header ----

// ISO/IEC 14496-1 §8.3.3: tag, length in bytes of seven bits, content.
struct Descriptor {
    uint8_t tag = 0;
    ByteSpan content;
};

std::optional<Descriptor> read_descriptor(ByteReader& reader) {
    Descriptor out;
    out.tag = reader.u8();
    uint32_t size = 0;
    for (int i = 0; i < 4; i++) {
        const uint8_t part = reader.u8();
        size = size << 7 | (part & 0x7FU);
        if ((part & 0x80) == 0) {
            break;
        }
    }
    if (!reader.ok() || size > reader.remaining()) {
        return std::nullopt;
    }
    out.content = reader.take(size);
    return out;
}

// ES_Descriptor, DecoderConfigDescriptor and DecoderSpecificInfo within esds.
void read_esds(ByteSpan esds, StoredTrack& track) {
    constexpr uint8_t kStream = 3;
    constexpr uint8_t kDecoder = 4;
    constexpr uint8_t kSpecific = 5;
    ByteReader reader(esds);
    read_full(reader);
    const auto stream = read_descriptor(reader);
    if (!stream || stream->tag != kStream) {
        return;
    }
    ByteReader inner(stream->content);
    inner.skip(3);
    const auto decoder = read_descriptor(inner);
    if (!decoder || decoder->tag != kDecoder) {
        return;
    }
    ByteReader fields(decoder->content);
    const uint8_t object_type = fields.u8();
    fields.skip(12);
    if (object_type == 0x6B || object_type == 0x69) {
        track.codec = Codec::kMp3;
        return;
    }
    const auto specific = fields.ok() ? read_descriptor(fields) : std::nullopt;
    if (object_type == 0x40 && specific && specific->tag == kSpecific) {
        track.codec = Codec::kAac;
        track.config.assign(specific->content.begin(), specific->content.end());
    }
}

// The dOps box as an OpusHead: numbers in the other order, and version 1.
void read_dops(ByteSpan dops, StoredTrack& track) {
    ByteReader reader(dops);
    reader.skip(1);
    const uint8_t channels = reader.u8();
    const uint16_t pre_skip = reader.u16();
    const uint32_t rate = reader.u32();
    const uint16_t gain = reader.u16();
    const uint8_t family = reader.u8();
    if (!reader.ok()) {
        return;
    }
    track.codec = Codec::kOpus;
    ByteWriter out(track.config);
    out.text("OpusHead").u8(1).u8(channels);
    out.u8(static_cast<uint8_t>(pre_skip)).u8(static_cast<uint8_t>(pre_skip >> 8));
    for (int shift = 0; shift < 32; shift += 8) {
        out.u8(static_cast<uint8_t>(rate >> shift));
    }
    out.u8(static_cast<uint8_t>(gain)).u8(static_cast<uint8_t>(gain >> 8)).u8(family);
    out.bytes(reader.take(reader.remaining()));
}

struct KnownEntry {
    std::string_view type;
    std::string_view box;  // with the configuration
    Codec codec;
    size_t skip = 0;  // of the box, in front of it
};

constexpr KnownEntry kVideoEntries[] = {
    {"avc1", "avcC", Codec::kH264},   {"avc3", "avcC", Codec::kH264},
    {"hvc1", "hvcC", Codec::kHevc},   {"hev1", "hvcC", Codec::kHevc},
    {"av01", "av1C", Codec::kAv1},    {"vp08", "vpcC", Codec::kVp8, 4},
    {"vp09", "vpcC", Codec::kVp9, 4},
};

void read_video_entry(std::string_view type, ByteSpan entry, StoredTrack& track) {
    const auto known = std::ranges::find(kVideoEntries, type, &KnownEntry::type);
    if (known == std::end(kVideoEntries) || entry.size() < kVisualEntry) {
        return;
    }
    ByteReader size(entry.subspan(24));
    track.width = size.u16();
    track.height = size.u16();
    for_each_box(entry.subspan(kVisualEntry), [&](std::string_view box, ByteSpan content, size_t) {
        if (box == known->box && content.size() > known->skip) {
            track.codec = known->codec;
            const ByteSpan config = content.subspan(known->skip);
            track.config.assign(config.begin(), config.end());
        }
    });
}

void read_audio_entry(std::string_view type, ByteSpan entry, StoredTrack& track) {
    if (entry.size() < kAudioEntry) {
        return;
    }
    if (type == "ac-3" || type == "ec-3") {
        track.codec = type == "ac-3" ? Codec::kAc3 : Codec::kEac3;
        return;
    }
    for_each_box(entry.subspan(kAudioEntry), [&](std::string_view box, ByteSpan content, size_t) {
        if (type == "mp4a" && box == "esds" && track.config.empty()) {
            read_esds(content, track);
        } else if (type == "Opus" && box == "dOps" && track.config.empty()) {
            read_dops(content, track);
        }
    });
}

void read_sample_table(ByteSpan stbl, StoredTrack& track) {
    for_each_box(stbl, [&](std::string_view type, ByteSpan content, size_t) {
        if (type != "stsd" || content.size() < 8 || track.codec != Codec::kUnknown) {
            return;
        }
        for_each_box(content.subspan(8), [&](std::string_view entry, ByteSpan inner, size_t) {
            if (track.codec == Codec::kUnknown) {
                track.video ? read_video_entry(entry, inner, track)
                            : read_audio_entry(entry, inner, track);
            }
        });
    });
}

StoredTrack read_track(ByteSpan trak) {
    StoredTrack track;
    read_track_box(trak, track, [&](std::string_view type, ByteSpan content) {
        if (type == "minf") {
            for_each_box(content, [&](std::string_view inner, ByteSpan stbl, size_t) {
                if (inner == "stbl") {
                    read_sample_table(stbl, track);
                }
            });
        }
    });
    return track;
}

// ---- fragments ----

struct Samples {
    std::vector<StoredSample> kept;
    size_t all = 0;  // those that are left out, too
};

struct Run {
    size_t track = 0;
    bool known = false;
    uint32_t timescale = 1;
    uint32_t default_duration = 0;
    uint32_t default_size = 0;
    uint32_t default_flags = 0;
    uint64_t time = 0;    // of the next sample, in units of the timescale
    uint64_t offset = 0;  // of the next sample in the fragment
};

int64_t in_ms(uint64_t ticks, uint32_t timescale) {
    const uint64_t bounded = std::min(ticks, kMaxTime);
    const uint64_t time_ms =
        bounded / timescale * 1000 + (bounded % timescale * 1000 + timescale / 2) / timescale;
    return static_cast<int64_t>(std::min(time_ms, kMaxTimeMs));
}

int32_t composition_in_ms(int32_t ticks, uint32_t timescale) {
    return static_cast<int32_t>(
        std::clamp<int64_t>(int64_t{ticks} * 1000 / timescale, INT32_MIN, INT32_MAX));
}

bool read_track_head(ByteSpan tfhd, std::span<const StoredTrack> tracks, Run& run) {
    ByteReader reader(tfhd);
    const FullHead full = read_full(reader);
    const uint32_t id = reader.u32();
    if ((full.flags & kBaseOffset) != 0) {
        return false;  // offsets in the file: not ours
    }
    reader.skip((full.flags & kDescriptionIndex) != 0 ? 4 : 0);
    run.default_duration = (full.flags & kDefaultDuration) != 0 ? reader.u32() : 0;
    run.default_size = (full.flags & kDefaultSize) != 0 ? reader.u32() : 0;
    run.default_flags = (full.flags & kDefaultFlags) != 0 ? reader.u32() : 0;
    const auto found = std::ranges::find(tracks, id, &StoredTrack::id);
    if (found != tracks.end()) {
        run.track = static_cast<size_t>(found - tracks.begin());
        run.known = found->codec != Codec::kUnknown;
        run.timescale = std::max<uint32_t>(found->timescale, 1);
    }
    return reader.ok();
}

bool read_run(ByteSpan trun, uint64_t whole, Run& run, Samples& out) {
    ByteReader reader(trun);
    const FullHead full = read_full(reader);
    const uint32_t count = reader.u32();
    if (count > kMaxStoredSamples - out.all) {
        return false;
    }
    out.all += count;
    if ((full.flags & kDataOffset) != 0) {
        run.offset = reader.u32();  // of a fragment whose base is its moof
    }
    const uint32_t first_flags = (full.flags & kFirstFlags) != 0 ? reader.u32() : run.default_flags;
    for (uint32_t i = 0; i < count && reader.ok(); i++) {
        const uint32_t duration =
            (full.flags & kDurations) != 0 ? reader.u32() : run.default_duration;
        const uint32_t size = (full.flags & kSizes) != 0 ? reader.u32() : run.default_size;
        const uint32_t flags = (full.flags & kFlags) != 0 ? reader.u32()
                               : i == 0                   ? first_flags
                                                          : run.default_flags;
        const auto composition =
            static_cast<int32_t>((full.flags & kCompositions) != 0 ? reader.u32() : 0);
        if (run.offset > whole || size > whole - run.offset) {
            return false;
        }
        if (run.known && size > 0) {
            out.kept.push_back({.track = run.track,
                                .time_ms = in_ms(run.time, run.timescale),
                                .composition_ms = composition_in_ms(composition, run.timescale),
                                .key = (flags & kNotSync) == 0,
                                .offset = static_cast<uint32_t>(run.offset),
                                .size = size});
        }
        run.offset += size;
        run.time = std::min(run.time + duration, kMaxTime);
    }
    return reader.ok();
}

bool read_track_fragment(ByteSpan traf,
                         std::span<const StoredTrack> tracks,
                         uint64_t whole,
                         Samples& out) {
    Run run;
    bool good = true;
    bool named = false;
    for_each_box(traf, [&](std::string_view type, ByteSpan content, size_t) {
        if (!good) {
            return;
        }
        if (type == "tfhd") {
            good = read_track_head(content, tracks, run);
            named = true;
        } else if (type == "tfdt") {
            ByteReader reader(content);
            const FullHead full = read_full(reader);
            run.time = std::min(full.version == 0 ? reader.u32() : reader.u64(), kMaxTime);
            good = reader.ok();
        } else if (type == "trun") {
            good = named && read_run(content, whole, run, out);
        }
    });
    return good;
}

}  // namespace

std::vector<StoredTrack> read_tracks(ByteSpan head) {
    std::vector<StoredTrack> tracks;
    for_each_box(head, [&](std::string_view type, ByteSpan moov, size_t) {
        if (type != "moov" || !tracks.empty()) {
            return;
        }
        for_each_box(moov, [&](std::string_view inner, ByteSpan trak, size_t) {
            if (inner == "trak" && tracks.size() < kMaxStoredTracks) {
                tracks.push_back(read_track(trak));
            }
        });
    });
    return tracks;
}

size_t moof_size(ByteSpan begin) {
    const auto box = read_head(begin);
    const bool good = box && box->type == "moof" && box->size <= kMaxMoofBytes;
    return good ? static_cast<size_t>(box->size) : 0;
}

std::optional<FragmentSize> fragment_size(size_t moof, ByteSpan data) {
    const auto box = read_head(data);
    if (!box || box->type != "mdat" || box->size > kMaxFragmentBytes - moof) {
        return std::nullopt;
    }
    return FragmentSize{moof, moof + box->size};
}

std::optional<std::vector<StoredSample>> read_samples(ByteSpan fragment,
                                                      std::span<const StoredTrack> tracks) {
    const size_t moof = moof_size(fragment);
    if (moof == 0 || moof > fragment.size() || fragment.size() > kMaxFragmentBytes) {
        return std::nullopt;
    }
    Samples found;
    bool good = true;
    for_each_box(fragment.first(moof), [&](std::string_view, ByteSpan content, size_t) {
        for_each_box(content, [&](std::string_view type, ByteSpan traf, size_t) {
            if (type == "traf" && good) {
                good = read_track_fragment(traf, tracks, fragment.size(), found);
            }
        });
    });
    if (!good) {
        return std::nullopt;
    }
    std::vector<StoredSample> samples = std::move(found.kept);
    std::ranges::stable_sort(samples, [&](const StoredSample& one, const StoredSample& other) {
        return one.time_ms != other.time_ms ? one.time_ms < other.time_ms
                                            : tracks[one.track].video && !tracks[other.track].video;
    });
    return samples;
}

}  // namespace weir::mp4
