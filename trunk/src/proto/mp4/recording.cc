#include "proto/mp4/recording.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "proto/mp4/box.h"
#include "proto/mp4/box_reader.h"

namespace weir::mp4 {
namespace {

constexpr uint32_t kNotSyncFlag = 0x00010000;  // sample_is_non_sync_sample, §8.8.3.1

// TrackFragmentHeaderBox and TrackRunBox, §8.8.7 and §8.8.8: as far as durations go.
struct FragmentTrack {
    uint32_t id = 0;
    uint32_t default_duration = 0;
    uint64_t decode_time = 0;
    uint64_t duration = 0;
    uint64_t samples = 0;
    std::optional<bool> first_is_key;
};

void read_fragment_header(ByteSpan content, FragmentTrack& track) {
    ByteReader reader(content);
    const FullHead full = read_full(reader);
    track.id = reader.u32();
    reader.skip((full.flags & 0x01) != 0 ? 8 : 0);
    reader.skip((full.flags & 0x02) != 0 ? 4 : 0);
    if ((full.flags & 0x08) != 0) {
        track.default_duration = reader.u32();
    }
}

bool read_run(ByteSpan content, FragmentTrack& track) {
    ByteReader reader(content);
    const FullHead full = read_full(reader);
    const uint32_t count = reader.u32();
    reader.skip((full.flags & 0x01) != 0 ? 4 : 0);
    reader.skip((full.flags & 0x04) != 0 ? 4 : 0);
    for (uint32_t i = 0; i < count && reader.ok(); i++) {
        track.duration += (full.flags & 0x100) != 0 ? reader.u32() : track.default_duration;
        reader.skip((full.flags & 0x200) != 0 ? 4 : 0);
        const uint32_t flags = (full.flags & 0x400) != 0 ? reader.u32() : 0;
        reader.skip((full.flags & 0x800) != 0 ? 4 : 0);
        if (!track.first_is_key) {
            track.first_is_key = (flags & kNotSyncFlag) == 0;
        }
    }
    track.samples += count;
    return reader.ok();
}

}  // namespace

FileScan::Advance FileScan::advance(ByteSpan window, uint64_t left) {
    if (left < kBoxHead) {
        return {};
    }
    if (window.size() < std::min<uint64_t>(left, kLargeBoxHead)) {
        return {.need = static_cast<size_t>(std::min<uint64_t>(left, kLargeBoxHead))};
    }
    const auto box = read_head(window);
    if (!box || box->size > left || box->type == "mfra" || box->type == "mdat") {
        return {};
    }
    const bool fragment = box->type == "moof";
    if (!fragment && box->type != "moov") {
        position_ += box->size;
        return {.bytes = box->size};
    }
    if (box->size > kMaxBoxBytes || (fragment ? !playable() : playable())) {
        return {};
    }
    const auto size = static_cast<size_t>(box->size);
    const size_t wanted = size + (fragment ? std::min<uint64_t>(kLargeBoxHead, left - size) : 0);
    if (window.size() < wanted) {
        return {.need = wanted};
    }
    const ByteSpan content = window.subspan(box->head, size - box->head);
    uint64_t taken = size;
    if (fragment) {
        const auto data = read_head(window.subspan(size, wanted - size));
        if (!data || data->type != "mdat" || data->size > left - size || !take_fragment(content)) {
            return {};
        }
        taken += data->size;
    } else if (!take_header(content)) {
        return {};
    }
    position_ += taken;
    header_bytes_ = fragment ? header_bytes_ : position_;
    return {.bytes = taken};
}

bool FileScan::take_header(ByteSpan moov) {
    const uint64_t base = position_ + kBoxHead;
    std::vector<Track> tracks;
    for_each_box(moov, [&](std::string_view type, ByteSpan content, size_t offset) {
        if (type == "mvhd") {
            ByteReader reader(content);
            if (read_full(reader).version == 0) {
                reader.skip(8);
                movie_timescale_ = std::max<uint32_t>(reader.u32(), 1);
                movie_duration_at_ = reader.ok() ? base + offset + reader.position() : 0;
            }
        } else if (type == "mvex") {
            for_each_box(content, [&](std::string_view inner, ByteSpan mehd, size_t at) {
                if (inner == "mehd" && mehd.size() == 12 && mehd[0] == 1) {
                    whole_duration_at_ = base + offset + at + 4;
                }
            });
        } else if (type == "trak" && tracks.size() < kMaxTracks) {
            read_track_box(content, tracks.emplace_back(), [](std::string_view, ByteSpan) {});
        }
    });
    if (tracks.empty()) {
        return false;
    }
    tracks_ = std::move(tracks);
    const auto video = std::ranges::find_if(tracks_, &Track::video);
    index_track_ = video != tracks_.end() ? video->id : tracks_.front().id;
    return true;
}

FileScan::Track* FileScan::track_of(uint32_t id) {
    const auto found = std::ranges::find(tracks_, id, &Track::id);
    return found == tracks_.end() ? nullptr : &*found;
}

bool FileScan::take_fragment(ByteSpan moof) {
    bool good = true;
    for_each_box(moof, [&](std::string_view type, ByteSpan traf, size_t) {
        if (type != "traf") {
            return;
        }
        FragmentTrack found;
        for_each_box(traf, [&](std::string_view inner, ByteSpan content, size_t) {
            ByteReader reader(content);
            if (inner == "tfhd") {
                read_fragment_header(content, found);
            } else if (inner == "tfdt") {
                const FullHead full = read_full(reader);
                found.decode_time = full.version == 0 ? reader.u32() : reader.u64();
            } else if (inner == "trun") {
                good = read_run(content, found) && good;
            }
        });
        Track* const track = track_of(found.id);
        if (track == nullptr || !good) {
            return;
        }
        frames_ += found.samples;
        track->begin = std::min(track->begin, found.decode_time);
        track->end = std::max(track->end, found.decode_time + found.duration);
        if (found.id == index_track_ && found.first_is_key.value_or(false) &&
            index_.size() < kMaxIndexed) {
            index_.push_back({found.decode_time, position_});
        }
    });
    fragments_ += good ? 1 : 0;
    return good;
}

int64_t FileScan::duration_ms() const {
    constexpr double kLongest = 1e12;  // in ms: what a broken file says is bounded
    double longest = 0;
    for (const Track& track : tracks_) {
        longest = std::max(longest, static_cast<double>(track.end) * 1000.0 / track.timescale);
    }
    return static_cast<int64_t>(std::min(longest, kLongest));
}

std::vector<FileScan::Patch> FileScan::patches() const {
    std::vector<Patch> list;
    constexpr uint64_t kMost = UINT64_MAX / UINT32_MAX;  // no product overflows
    const auto ms = std::min(static_cast<uint64_t>(duration_ms()), kMost);
    const uint64_t ticks = ms * movie_timescale_ / 1000;
    if (movie_duration_at_ != 0) {
        Patch& patch = list.emplace_back(Patch{movie_duration_at_, {}});
        ByteWriter(patch.bytes).u32(static_cast<uint32_t>(std::min<uint64_t>(ticks, UINT32_MAX)));
    }
    if (whole_duration_at_ != 0) {
        Patch& patch = list.emplace_back(Patch{whole_duration_at_, {}});
        ByteWriter(patch.bytes).u64(ticks);
    }
    return list;
}

FileIndex FileScan::spans() const {
    FileIndex out;
    out.header_bytes = header_bytes_;
    out.several_audio = std::ranges::count(tracks_, false, &Track::video) > 1;
    const auto track = std::ranges::find(tracks_, index_track_, &Track::id);
    uint64_t end = position_;
    int64_t end_ms = duration_ms();
    for (size_t i = index_.size(); i > 0 && track != tracks_.end(); i--) {
        const Entry& entry = index_[i - 1];
        const double ms = static_cast<double>(entry.time) * 1000.0 / track->timescale;
        const auto time_ms = static_cast<int64_t>(std::min(ms, static_cast<double>(end_ms)));
        out.spans.push_back({.offset = entry.offset,
                             .bytes = end - entry.offset,
                             .time_ms = time_ms,
                             .duration_ms = end_ms - time_ms});
        end = entry.offset;
        end_ms = time_ms;
    }
    std::ranges::reverse(out.spans);
    return out;
}

// MovieFragmentRandomAccessBox, §8.8.9 to §8.8.11.
Bytes FileScan::index() const {
    Bytes out;
    {
        const Box mfra(out, "mfra");
        {
            const Box tfra(out, "tfra", 1, 0);
            ByteWriter(out).u32(index_track_).u32(0).u32(static_cast<uint32_t>(index_.size()));
            for (const Entry& entry : index_) {
                ByteWriter(out).u64(entry.time).u64(entry.offset).u8(1).u8(1).u8(1);
            }
        }
        const Box mfro(out, "mfro", 0, 0);
        ByteWriter(out).u32(0);
    }
    store_u32(out.data() + out.size() - 4, static_cast<uint32_t>(out.size()));
    return out;
}

}  // namespace weir::mp4
