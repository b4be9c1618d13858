// Small MP4 files for tests, byte by byte (ISO 14496-12).
#pragma once

#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace weir::load {

inline Bytes box(std::string_view type, const std::vector<Bytes>& parts) {
    Bytes content;
    for (const Bytes& part : parts) {
        content.insert(content.end(), part.begin(), part.end());
    }
    Bytes out;
    ByteWriter(out).u32(static_cast<uint32_t>(content.size() + 8)).text(type).bytes(content);
    return out;
}

inline Bytes words(std::initializer_list<uint32_t> values) {
    Bytes out;
    for (uint32_t value : values) {
        ByteWriter(out).u32(value);
    }
    return out;
}

// One track; what a test wants otherwise is changed before track() is called.
struct Mp4Track {
    bool video = true;
    std::string_view entry = "avc1";
    std::string_view config_box = "avcC";
    Bytes config = {1, 66, 0xC0, 40, 0xFF, 0xE0, 0};
    uint32_t scale = 25'000;
    std::vector<uint32_t> sizes = {30, 10, 12, 14};
    Bytes times = words({0, 1, 4, 1000});  // version, entries, { count, delta }
    Bytes compositions = words({0, 1, 4, 2000});
    Bytes keys = words({0, 1, 1});
    uint32_t id = 1;
    Bytes edits;                                // of 'elst'; empty: none
    Bytes chunk_runs = words({0, 1, 1, 2, 1});  // two samples in each chunk
    std::vector<uint32_t> chunks = {0, 0};      // offsets from the beginning of the media data

    Bytes description() const {
        Bytes out(video ? 78 : 28);
        if (video) {
            store_u16(out.data() + 24, 640);
            store_u16(out.data() + 26, 360);
        }
        return box(entry, {out, box(config_box, {config})});
    }

    // `data_at`: where the media data begins in the file.
    Bytes build(uint32_t data_at) const {
        Bytes stsz = words({0, 0, static_cast<uint32_t>(sizes.size())});
        for (uint32_t size : sizes) {
            ByteWriter(stsz).u32(size);
        }
        Bytes stco = words({0, static_cast<uint32_t>(chunks.size())});
        for (uint32_t offset : chunks) {
            ByteWriter(stco).u32(data_at + offset);
        }
        std::vector<Bytes> tables = {box("stsd", {words({0, 1}), description()}),
                                     box("stts", {times}), box("stsc", {chunk_runs}),
                                     box("stsz", {stsz}), box("stco", {stco})};
        if (!compositions.empty()) {
            tables.push_back(box("ctts", {compositions}));
        }
        if (!keys.empty()) {
            tables.push_back(box("stss", {keys}));
        }
        Bytes handler = words({0, 0});
        ByteWriter(handler).text(video ? "vide" : "soun").u32(0);
        std::vector<Bytes> parts = {box("tkhd", {words({0, 0, 0, id, 0})})};
        if (!edits.empty()) {
            parts.push_back(box("edts", {box("elst", {edits})}));
        }
        parts.push_back(box("mdia", {box("mdhd", {words({0, 0, 0, scale, 0, 0})}),
                                     box("hdlr", {handler}), box("minf", {box("stbl", tables)})}));
        return box("trak", parts);
    }
};

// An 'esds' of AAC, 44,100 Hz, stereo.
inline Bytes esds() {
    Bytes out = {0, 0, 0, 0, 3, 22, 0, 1, 0, 4, 17, 0x40, 0x15};
    out.resize(out.size() + 11);
    ByteWriter(out).u8(5).u8(2).u8(0x12).u8(0x10);
    return out;
}

inline Mp4Track audio_track() {
    Mp4Track track;
    track.video = false;
    track.id = 2;
    track.entry = "mp4a";
    track.config_box = "esds";
    track.config = esds();
    track.scale = 44'100;
    track.sizes = {7, 8, 9};
    track.times = words({0, 1, 3, 1024});
    track.compositions = {};
    track.keys = {};
    track.chunk_runs = words({0, 1, 1, 3, 1});
    track.chunks = {66};
    return track;
}

// The media data is first, so that offsets do not depend on the rest: byte i of it is i.
inline Bytes mp4_file(const std::vector<Mp4Track>& tracks, const Bytes& more_in_movie = {}) {
    Bytes data(90);
    for (size_t i = 0; i < data.size(); i++) {
        data[i] = static_cast<uint8_t>(i);
    }
    Bytes file = box("ftyp", {words({0x69736F6D, 0})});
    Bytes mdat = box("mdat", {data});
    auto data_at = static_cast<uint32_t>(file.size() + 8);
    file.insert(file.end(), mdat.begin(), mdat.end());
    std::vector<Bytes> parts = {box("mvhd", {words({0, 0, 0, 1000, 0})}), more_in_movie};
    for (const Mp4Track& track : tracks) {
        parts.push_back(track.build(data_at));
    }
    Bytes movie = box("moov", parts);
    file.insert(file.end(), movie.begin(), movie.end());
    return file;
}

// A file whose movie has no samples: they are in the fragments (a list of boxes) that follow.
inline Bytes fragmented_file(const std::vector<Mp4Track>& tracks, const std::vector<Bytes>& rest) {
    std::vector<Bytes> parts = {box("mvhd", {words({0, 0, 0, 1000, 0})})};
    std::vector<Bytes> defaults;
    for (Mp4Track track : tracks) {
        track.sizes = {};
        track.times = track.chunk_runs = words({0, 0});
        track.compositions = track.keys = {};
        track.chunks = {};
        parts.push_back(track.build(0));
        defaults.push_back(box("trex", {words({0, track.id, 1, 1000, 5, 0x10000})}));
    }
    parts.push_back(box("mvex", defaults));
    Bytes file = box("ftyp", {words({0x69736F6D, 0})});
    Bytes movie = box("moov", parts);
    file.insert(file.end(), movie.begin(), movie.end());
    for (const Bytes& each : rest) {
        file.insert(file.end(), each.begin(), each.end());
    }
    return file;
}

// As above with chunks that lie one behind the other: 40 bytes, 26 bytes, then sound.
inline Mp4Track video_track() {
    Mp4Track track;
    track.chunks = {0, 40};
    return track;
}

}  // namespace weir::load
