#include "proto/mp4/fragment.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "proto/mp4/box.h"

namespace weir::mp4 {
namespace {

constexpr uint32_t kMovieTimescale = 1000;
constexpr uint16_t kAudioGroup = 1;        // §8.3.2: alternate_group
constexpr uint32_t kSync = 0x02000000;     // sample_depends_on 2: on nothing
constexpr uint32_t kNotSync = 0x01010000;  // depends on others, and is no sync sample

// tfhd, §8.8.7
constexpr uint32_t kDefaultFlags = 0x000020;
constexpr uint32_t kBaseIsMoof = 0x020000;
// trun, §8.8.8
constexpr uint32_t kDataOffset = 0x000001;
constexpr uint32_t kDurations = 0x000100;
constexpr uint32_t kSizes = 0x000200;
constexpr uint32_t kFlags = 0x000400;
constexpr uint32_t kCompositions = 0x000800;

void put_matrix(Bytes& out) {
    constexpr std::array<uint32_t, 9> kUnity = {0x00010000, 0, 0, 0,         0x00010000,
                                                0,          0, 0, 0x40000000};
    for (const uint32_t value : kUnity) {
        ByteWriter(out).u32(value);
    }
}

void put_movie_header(uint32_t next_id, Bytes& out) {
    const Box mvhd(out, "mvhd", 0, 0);
    ByteWriter(out).u32(0).u32(0).u32(kMovieTimescale).u32(0).u32(0x00010000).u16(0x0100);
    put_zeros(out, 10);
    put_matrix(out);
    put_zeros(out, 24);
    ByteWriter(out).u32(next_id);
}

// Which of the tracks of a movie one of them is.
struct Place {
    uint32_t id = 0;
    bool enabled = true;
    uint16_t alternate_group = 0;  // of several the player takes one; 0: no such group
};

void put_track_header(const Track& track, const Place& place, Bytes& out) {
    constexpr uint32_t kEnabled = 1;
    constexpr uint32_t kInMovie = 2;
    const Box tkhd(out, "tkhd", 0, kInMovie | (place.enabled ? kEnabled : 0));
    ByteWriter(out).u32(0).u32(0).u32(place.id).u32(0).u32(0);
    put_zeros(out, 8);
    ByteWriter(out).u16(0).u16(place.alternate_group).u16(track.video ? 0 : 0x0100).u16(0);
    put_matrix(out);
    ByteWriter(out).u32(track.width << 16).u32(track.height << 16);
}

void put_sample_table(const Track& track, Bytes& out) {
    const Box stbl(out, "stbl");
    {
        const Box stsd(out, "stsd", 0, 0);
        ByteWriter(out).u32(1).bytes(track.entry);
    }
    for (const char* empty : {"stts", "stsc"}) {
        const Box box(out, empty, 0, 0);
        ByteWriter(out).u32(0);
    }
    {
        const Box stsz(out, "stsz", 0, 0);
        ByteWriter(out).u32(0).u32(0);
    }
    const Box stco(out, "stco", 0, 0);
    ByteWriter(out).u32(0);
}

void put_media_information(const Track& track, Bytes& out) {
    const Box minf(out, "minf");
    if (track.video) {
        const Box vmhd(out, "vmhd", 0, 1);
        put_zeros(out, 8);
    } else {
        const Box smhd(out, "smhd", 0, 0);
        put_zeros(out, 4);
    }
    {
        const Box dinf(out, "dinf");
        const Box dref(out, "dref", 0, 0);
        ByteWriter(out).u32(1);
        const Box url(out, "url ", 0, 1);  // in this file
    }
    put_sample_table(track, out);
}

// §8.4.2.3: three times 5 bits.
uint16_t packed_language(const Track& track) {
    uint16_t packed = 0;
    for (const char letter : track.language) {
        packed = static_cast<uint16_t>(packed << 5 | (letter - 0x60));
    }
    return packed;
}

void put_track(const Track& track, const Place& place, Bytes& out) {
    const Box trak(out, "trak");
    put_track_header(track, place, out);
    const Box mdia(out, "mdia");
    {
        const Box mdhd(out, "mdhd", 0, 0);
        ByteWriter(out)
            .u32(0)
            .u32(0)
            .u32(track.timescale)
            .u32(0)
            .u16(packed_language(track))
            .u16(0);
    }
    {
        const Box hdlr(out, "hdlr", 0, 0);
        ByteWriter(out).u32(0).text(track.video ? "vide" : "soun");
        put_zeros(out, 12);
        ByteWriter(out).text(track.name.empty() ? "weir" : track.name).u8(0);
    }
    put_media_information(track, out);
}

void put_run_header(const RunView& run, Bytes& out) {
    {
        const Box tfhd(out, "tfhd", 0, kBaseIsMoof | (run.video ? 0 : kDefaultFlags));
        ByteWriter(out).u32(run.track_id);
        if (!run.video) {
            ByteWriter(out).u32(kSync);
        }
    }
    const Box tfdt(out, "tfdt", 1, 0);
    ByteWriter(out).u64(run.decode_time);
}

// The place of trun's data_offset.
size_t put_run(const RunView& run, Bytes& out) {
    const Box traf(out, "traf");
    put_run_header(run, out);
    const Box trun(out, "trun", 1,
                   kDataOffset | kDurations | kSizes | (run.video ? kFlags | kCompositions : 0));
    ByteWriter(out).u32(static_cast<uint32_t>(run.samples.size()));
    const size_t place = out.size();
    ByteWriter(out).u32(0);
    for (const SampleView& sample : run.samples) {
        ByteWriter(out).u32(sample.duration).u32(static_cast<uint32_t>(sample.data.size()));
        if (run.video) {
            ByteWriter(out)
                .u32(sample.key ? kSync : kNotSync)
                .u32(static_cast<uint32_t>(sample.composition));
        }
    }
    return place;
}

}  // namespace

void write_header(std::span<const Track> tracks, Bytes& out, Length length, uint32_t first_id) {
    const auto next_id = static_cast<uint32_t>(first_id + tracks.size());
    {
        const Box ftyp(out, "ftyp");
        ByteWriter(out).text("iso6").u32(0).text("iso6").text("mp41").text("dash");
    }
    const Box moov(out, "moov");
    put_movie_header(next_id, out);
    const bool choice = std::ranges::count(tracks, false, &Track::video) > 1;
    bool played = false;  // an audio track stands before
    for (uint32_t id = first_id; id < next_id; id++) {
        const Track& track = tracks[id - first_id];
        const bool other = choice && !track.video;
        put_track(track,
                  {.id = id,
                   .enabled = !other || !std::exchange(played, true),
                   .alternate_group = other ? kAudioGroup : uint16_t{0}},
                  out);
    }
    const Box mvex(out, "mvex");
    if (length == Length::kFilledIn) {
        const Box mehd(out, "mehd", 1, 0);
        ByteWriter(out).u64(0);
    }
    for (uint32_t id = first_id; id < next_id; id++) {
        const Box trex(out, "trex", 0, 0);
        ByteWriter(out).u32(id).u32(1).u32(0).u32(0).u32(0);
    }
}

void write_segment_type(Bytes& out) {
    const Box styp(out, "styp");
    ByteWriter(out).text("msdh").u32(0).text("msdh").text("msix");
}

void write_reference_time(uint32_t track_id, uint64_t ntp_time, uint64_t media_time, Bytes& out) {
    constexpr uint32_t kEncoderInput = 0;
    const Box prft(out, "prft", 1, kEncoderInput);
    ByteWriter(out).u32(track_id).u64(ntp_time).u64(media_time);
}

void write_fragment(uint32_t number, std::span<const RunView> runs, Bytes& out) {
    const size_t begin = out.size();
    std::vector<size_t> places;
    {
        const Box moof(out, "moof");
        {
            const Box mfhd(out, "mfhd", 0, 0);
            ByteWriter(out).u32(number);
        }
        for (const RunView& run : runs) {
            if (!run.samples.empty()) {
                places.push_back(put_run(run, out));
            }
        }
    }
    const Box mdat(out, "mdat");
    auto place = places.begin();
    for (const RunView& run : runs) {
        if (run.samples.empty()) {
            continue;
        }
        store_u32(out.data() + *place++, static_cast<uint32_t>(out.size() - begin));
        for (const SampleView& sample : run.samples) {
            ByteWriter(out).bytes(sample.data);
        }
    }
}

void write_empty_fragment(uint32_t number, const RunView& run, Bytes& out) {
    {
        const Box moof(out, "moof");
        {
            const Box mfhd(out, "mfhd", 0, 0);
            ByteWriter(out).u32(number);
        }
        const Box traf(out, "traf");
        put_run_header(run, out);
    }
    const Box mdat(out, "mdat");
}

}  // namespace weir::mp4
