#include "proto/mp4/file_index.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "proto/mp4/box_reader.h"

namespace weir::mp4 {
namespace {

constexpr uint64_t kMaxTime = uint64_t{1} << 53;  // in units of a timescale

struct Header {
    uint64_t end = 0;
    uint32_t movie_timescale = 1;
    uint64_t duration = 0;  // in units of it
    uint32_t track = 0;     // that was looked for
    uint32_t timescale = 0;
    size_t audio_tracks = 0;
};

struct Kind {
    uint32_t id = 0;
    uint32_t timescale = 0;
    bool video = false;
};

// The timescale of a track, where it is the one that is looked for.
void read_track(ByteSpan trak, Header& header) {
    Kind track;
    read_track_box(trak, track, [](std::string_view, ByteSpan) {});
    header.timescale = track.id == header.track ? track.timescale : header.timescale;
    header.audio_tracks += track.video ? 0U : 1U;
}

void read_movie(ByteSpan moov, Header& header) {
    for_each_box(moov, [&](std::string_view type, ByteSpan content, size_t) {
        ByteReader reader(content);
        if (type == "mvhd") {
            const bool old = read_full(reader).version == 0;
            reader.skip(old ? 8 : 16);
            header.movie_timescale = std::max<uint32_t>(reader.u32(), 1);
            header.duration = old ? reader.u32() : reader.u64();
        } else if (type == "trak") {
            read_track(content, header);
        } else if (type == "mvex") {
            for_each_box(content, [&](std::string_view inner, ByteSpan mehd, size_t) {
                ByteReader whole(mehd);
                if (inner == "mehd") {
                    header.duration = read_full(whole).version == 0 ? whole.u32() : whole.u64();
                }
            });
        }
    });
}

std::optional<Header> read_header(ByteSpan head, uint32_t track) {
    Header header{.track = track};
    for_each_box(head, [&](std::string_view type, ByteSpan content, size_t offset) {
        if (type == "moov" && header.end == 0) {
            read_movie(content, header);
            header.end = offset + content.size();
        }
    });
    return header.end > 0 && header.timescale > 0 ? std::optional(header) : std::nullopt;
}

int64_t in_ms(uint64_t time, uint32_t timescale) {
    return static_cast<int64_t>(static_cast<double>(std::min(time, kMaxTime)) * 1000.0 / timescale);
}

// TrackFragmentRandomAccessBox, §8.8.10, as FileScan writes it: 64 bits, and one byte for each
// number.
struct Entries {
    uint32_t track = 0;
    std::vector<FileSpan> spans;  // their time is in units of the timescale
};

std::optional<Entries> read_entries(ByteSpan tfra) {
    constexpr size_t kEntry = 19;
    ByteReader reader(tfra);
    Entries out;
    const bool known = read_full(reader).version == 1;
    out.track = reader.u32();
    const bool small = reader.u32() == 0;
    const uint32_t count = reader.u32();
    if (!reader.ok() || !known || !small || count > reader.remaining() / kEntry) {
        return std::nullopt;
    }
    out.spans.reserve(count);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t time = reader.u64();
        out.spans.push_back(
            {.offset = reader.u64(), .time_ms = static_cast<int64_t>(std::min(time, kMaxTime))});
        reader.skip(3);
    }
    return out;
}

}  // namespace

uint64_t index_size(ByteSpan end) {
    ByteReader reader(end);
    const uint32_t box = reader.u32();
    const bool found = as_text(reader.take(4)) == "mfro";
    reader.skip(4);
    const uint32_t size = reader.u32();
    return reader.ok() && found && box == kIndexEnd && size >= kIndexEnd ? size : 0;
}

Result<FileIndex> read_file_index(ByteSpan head, ByteSpan tail, uint64_t size) {
    std::optional<Entries> entries;
    for_each_box(tail, [&](std::string_view type, ByteSpan mfra, size_t) {
        if (type == "mfra") {
            for_each_box(mfra, [&](std::string_view inner, ByteSpan tfra, size_t) {
                if (inner == "tfra" && !entries) {
                    entries = read_entries(tfra);
                }
            });
        }
    });
    const std::optional<Header> header = entries ? read_header(head, entries->track) : std::nullopt;
    if (!header || entries->spans.empty() || tail.size() > size) {
        return make_error(ErrorCode::kMalformed, "it has no index of its fragments");
    }
    FileIndex out{.header_bytes = header->end,
                  .spans = std::move(entries->spans),
                  .several_audio = header->audio_tracks > 1};
    // What stands before the first key frame cannot be shown; sound of it is left out.
    uint64_t end = size - tail.size();
    int64_t end_ms = in_ms(header->duration, header->movie_timescale);
    for (size_t i = out.spans.size(); i > 0; i--) {
        FileSpan& span = out.spans[i - 1];
        span.time_ms = in_ms(static_cast<uint64_t>(span.time_ms), header->timescale);
        if (span.offset < out.header_bytes || span.offset >= end || span.time_ms > end_ms) {
            return make_error(ErrorCode::kMalformed, "the index of its fragments is wrong");
        }
        span.bytes = end - span.offset;
        span.duration_ms = end_ms - span.time_ms;
        end = span.offset;
        end_ms = span.time_ms;
    }
    return out;
}

}  // namespace weir::mp4
