#include "bench/load/core/mp4_file.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "bench/load/core/mp4_samples.h"

namespace weir::load {
namespace {

using media::Codec;
using media::TrackKind;

constexpr uint64_t kMaxMovieSize = 256U << 20;
constexpr size_t kVisualEntrySize = 78;  // ISO 14496-12 §12.1.3, from the reserved bytes on
constexpr size_t kPictureSizeAt = 24;
constexpr size_t kAudioEntrySize = 28;  // §12.2.3
constexpr uint8_t kObjectTypeAac = 0x40;
constexpr int kMaxDescriptorSizeBytes = 4;
// Bounds of what is computed with: units of an edit, seconds of a track, ms of composition (FLV has
// 24 bits for it).
constexpr int64_t kMaxTime = int64_t{1} << 42;
constexpr int64_t kMaxSeconds = 30 * 24 * 3600;
constexpr int64_t kMaxCompositionMs = (1 << 23) - 1;

// ISO 14496-1 §7.2.6: tag, size in groups of seven bits, content.
ByteSpan descriptor(ByteReader& reader, uint8_t tag) {
    if (reader.u8() != tag) {
        reader.fail();
    }
    size_t size = 0;
    uint8_t byte = 0x80;
    for (int i = 0; i < kMaxDescriptorSizeBytes && (byte & 0x80) != 0; i++) {
        byte = reader.u8();
        size = size << 7 | (byte & 0x7F);
    }
    // Deviation: the outer descriptors of some files claim more than there is; what is inside
    // counts.
    return reader.take(tag == 5 ? size : std::min(size, reader.remaining()));
}

// The AudioSpecificConfig of an 'esds' box.
Result<ByteSpan> audio_specific_config(const Mp4Box& esds) {
    ByteReader box(esds.content());
    box.u32();
    ByteReader stream(descriptor(box, 3));
    stream.u16();
    uint8_t flags = stream.u8();
    stream.skip((flags & 0x80) != 0 ? 2 : 0);
    if ((flags & 0x40) != 0) {
        stream.skip(stream.u8());
    }
    stream.skip((flags & 0x20) != 0 ? 2 : 0);
    ByteReader decoder(descriptor(stream, 4));
    uint8_t object_type = decoder.u8();
    decoder.skip(12);
    ByteSpan config = descriptor(decoder, 5);
    if (!decoder.ok() || config.size() < 2) {
        return esds.wrong("an AudioSpecificConfig in its descriptors",
                          fmt::format("{} bytes without one", esds.content().size()));
    }
    if (object_type != kObjectTypeAac) {
        return make_error(ErrorCode::kUnsupported,
                          "box 'esds' at byte {}: object type {:#04x}, expected AAC ({:#04x})",
                          esds.at(), object_type, kObjectTypeAac);
    }
    return config;
}

// Frame type and packet type are put in by complete_video_prefix().
Error describe_video(const Mp4Box& entry, FileTrack& track) {
    struct Kind {
        std::string_view entry;
        std::string_view config_box;
        Codec codec;
        std::string_view fourcc;  // empty: the header from before Enhanced RTMP
    };

    static constexpr Kind kKinds[] = {
        {"avc1", "avcC", Codec::kH264, ""},     {"avc3", "avcC", Codec::kH264, ""},
        {"hvc1", "hvcC", Codec::kHevc, "hvc1"}, {"hev1", "hvcC", Codec::kHevc, "hvc1"},
        {"av01", "av1C", Codec::kAv1, "av01"},
    };
    const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](const Kind& each) { return each.entry == entry.type(); });
    if (kind == std::end(kKinds)) {
        return make_error(ErrorCode::kUnsupported,
                          "video '{}' at byte {}: expected avc1, hvc1, hev1 or av01", entry.type(),
                          entry.at());
    }
    WEIR_TRY_ASSIGN(Mp4Box config, entry.child(kind->config_box, kVisualEntrySize));
    track.codec = kind->codec;
    ByteWriter header(track.config);
    ByteWriter prefix(track.frame_prefix);
    if (kind->fourcc.empty()) {
        header.u8(0x17).u8(0).u24(0);
        prefix.u8(0x07).u8(1).u24(0);
    } else {
        header.u8(0x90).text(kind->fourcc);  // SequenceStart
        prefix.u8(0x81).text(kind->fourcc);  // CodedFrames
        if (kind->codec == Codec::kHevc) {
            prefix.u24(0);
        }
    }
    header.bytes(config.content());
    return {};
}

Error describe_audio(const Mp4Box& entry, FileTrack& track) {
    if (entry.type() != "mp4a") {
        return make_error(ErrorCode::kUnsupported, "audio '{}' at byte {}: expected mp4a (AAC)",
                          entry.type(), entry.at());
    }
    WEIR_TRY_ASSIGN(Mp4Box esds, entry.child("esds", kAudioEntrySize));
    WEIR_TRY_ASSIGN(ByteSpan config, audio_specific_config(esds));
    track.codec = Codec::kAac;
    ByteWriter(track.config).u8(0xAF).u8(0).bytes(config);
    ByteWriter(track.frame_prefix).u8(0xAF).u8(1);
    return {};
}

// The time scale of 'mvhd' and 'mdhd', which lies behind two times of 4 or 8 bytes.
Result<uint32_t> time_scale(const Mp4Box& box) {
    ByteReader reader(box.content());
    uint32_t version = reader.u32() >> 24;
    reader.skip(version == 1 ? 16 : 8);
    uint32_t scale = reader.u32();
    if (!reader.ok() || scale == 0) {
        return box.wrong("a time scale above 0", reader.ok() ? "0" : "too few bytes");
    }
    return scale;
}

int64_t to_ms(int64_t time, uint32_t scale) {
    // In two steps: the product of large times would not fit.
    int64_t seconds = time / scale;
    int64_t rest = time % scale;
    int64_t half = (rest < 0 ? -1 : 1) * int64_t{scale} / 2;
    return seconds * 1000 + (rest * 1000 + half) / scale;
}

// How much later than its samples say a track is presented, ms: an empty edit delays, the media
// time of the first other edit is skipped (ISO 14496-12 §8.6.6). Later edits are not followed.
Result<int64_t> edit_shift_ms(const Mp4Box& track, uint32_t movie_scale, uint32_t media_scale) {
    Result<Mp4Box> edits = track.child("edts");
    if (!edits.ok()) {
        return edits.error().code() == ErrorCode::kNotFound ? Result<int64_t>(0)
                                                            : edits.take_error();
    }
    WEIR_TRY_ASSIGN(Mp4Box list, edits->child("elst"));
    ByteReader reader(list.content());
    bool wide = reader.u32() >> 24 == 1;
    uint32_t count = reader.u32();
    size_t entry_size = wide ? 20 : 12;
    if (!reader.ok() || reader.remaining() / entry_size < count) {
        return list.wrong(fmt::format("{} edits of {} bytes", count, entry_size),
                          fmt::format("{} bytes", reader.remaining()));
    }
    int64_t shift = 0;
    for (uint32_t i = 0; i < count; i++) {
        auto duration = static_cast<int64_t>(wide ? reader.u64() : reader.u32());
        auto media_time =
            wide ? static_cast<int64_t>(reader.u64()) : int64_t{static_cast<int32_t>(reader.u32())};
        reader.u32();
        if (duration < 0 || duration > kMaxTime || media_time < -1 || media_time > kMaxTime) {
            return list.wrong("times of an edit that can be",
                              fmt::format("{} from {}", duration, media_time));
        }
        if (media_time >= 0) {
            return shift - to_ms(media_time, media_scale);
        }
        shift += to_ms(duration, movie_scale);
        if (shift > kMaxTime) {
            return list.wrong("empty edits that end", fmt::format("{} ms of them", shift));
        }
    }
    return shift;
}

}  // namespace

bool is_mp4(std::string_view type) {
    static constexpr std::string_view kFirst[] = {"ftyp", "moov", "mdat", "free", "skip", "wide"};
    return std::find(std::begin(kFirst), std::end(kFirst), type) != std::end(kFirst);
}

void complete_video_prefix(std::span<uint8_t> body, const FileFrame& frame) {
    bool enhanced = (body[0] & 0x80) != 0;
    body[0] = static_cast<uint8_t>((body[0] & 0x8F) | (frame.key ? 0x10 : 0x20));
    if (!enhanced) {
        store_u24(body.data() + 2, static_cast<uint32_t>(frame.composition_ms));
    } else if (body[1] == 'h') {
        store_u24(body.data() + 5, static_cast<uint32_t>(frame.composition_ms));
    }
}

Error Mp4FileReader::read() {
    const ByteSource& source = *file_.source_;
    std::array<uint8_t, kMaxBoxHeader> head{};
    for (uint64_t at = 0; at < source.size() && (fragmented_ || !has_movie_);) {
        uint64_t room = source.size() - at;
        std::span<uint8_t> part = std::span(head).first(std::min<uint64_t>(room, head.size()));
        WEIR_TRY(source.read(at, part));
        WEIR_TRY_ASSIGN(Mp4BoxHeader header, parse_box_header(part, at, room, "the file"));
        WEIR_TRY(read_top_box(text_of(header.type), at, header));
        at += header.size;
    }
    if (!has_movie_) {
        return make_error(ErrorCode::kMalformed, "expected a box 'moov', found none in {} bytes",
                          source.size());
    }
    for (const Track& track : tracks_) {
        WEIR_TRY(add_frames(track));
    }
    return {};
}

Error Mp4FileReader::read_top_box(std::string_view type, uint64_t at, const Mp4BoxHeader& header) {
    bool is_movie = type == "moov" && !has_movie_;
    if (!is_movie && !(type == "moof" && fragmented_)) {
        return {};
    }
    if (header.size > kMaxMovieSize) {
        return make_error(ErrorCode::kLimit, "box '{}' at byte {}: {} bytes, expected at most {}",
                          type, at, header.size, kMaxMovieSize);
    }
    Bytes content(header.size - header.header_size);
    WEIR_TRY(file_.source_->read(at + header.header_size, content));
    Mp4Box box(header.type, at + header.header_size, content);
    return is_movie ? read_movie(box)
                    : read_fragment(box, at, file_.source_->size(), fragmented_tracks());
}

std::vector<Mp4FragmentedTrack*> Mp4FileReader::fragmented_tracks() {
    std::vector<Mp4FragmentedTrack*> out;
    for (Track& each : tracks_) {
        out.push_back(&each.data);
    }
    return out;
}

Error Mp4FileReader::read_movie(const Mp4Box& movie) {
    has_movie_ = true;
    WEIR_TRY_ASSIGN(Mp4Box header, movie.child("mvhd"));
    WEIR_TRY_ASSIGN(movie_scale_, time_scale(header));
    WEIR_TRY(movie.each(
        [this](const Mp4Box& box) { return box.type() == "trak" ? read_track(box) : Error(); }));
    auto extends = movie.child("mvex");
    if (extends.ok()) {
        fragmented_ = true;
        return read_track_defaults(*extends, fragmented_tracks());
    }
    return extends.error().code() == ErrorCode::kNotFound ? Error() : extends.take_error();
}

Error Mp4FileReader::read_track(const Mp4Box& box) {
    WEIR_TRY_ASSIGN(Mp4Box media, box.child("mdia"));
    WEIR_TRY_ASSIGN(Mp4Box handler, media.child("hdlr"));
    ByteReader reader(handler.content());
    reader.skip(8);
    std::string_view kind = as_text(reader.take(4));
    Track track;
    track.kind = kind == "vide" ? TrackKind::kVideo : TrackKind::kAudio;
    bool have_one = std::any_of(tracks_.begin(), tracks_.end(),
                                [&](const Track& each) { return each.kind == track.kind; });
    if ((kind != "vide" && kind != "soun") || have_one) {
        return {};
    }
    WEIR_TRY_ASSIGN(Mp4Box track_header, box.child("tkhd"));
    ByteReader id(track_header.content());
    id.skip(id.u32() >> 24 == 1 ? 16 : 8);  // two times
    track.data.id = id.u32();
    WEIR_TRY_ASSIGN(Mp4Box media_header, media.child("mdhd"));
    WEIR_TRY_ASSIGN(track.scale, time_scale(media_header));
    WEIR_TRY_ASSIGN(Mp4Box information, media.child("minf"));
    WEIR_TRY_ASSIGN(Mp4Box table, information.child("stbl"));
    WEIR_TRY_ASSIGN(Mp4Box descriptions, table.child("stsd"));
    WEIR_TRY(describe(descriptions, track.kind));
    WEIR_TRY_ASSIGN(track.data.samples, read_samples(table, file_.source_->size()));
    if (!track.data.samples.empty()) {
        const Mp4Sample& last = track.data.samples.back();
        track.data.next_time = last.time + last.duration;
    }
    WEIR_TRY_ASSIGN(track.shift_ms, edit_shift_ms(box, movie_scale_, track.scale));
    tracks_.push_back(std::move(track));
    return {};
}

Error Mp4FileReader::describe(const Mp4Box& descriptions, TrackKind kind) {
    FileTrack& track = described(kind);
    bool done = false;
    auto take = [&](const Mp4Box& entry) {
        if (done) {
            return Error();  // only the first is used, which read_samples() checks
        }
        done = true;
        if (kind == TrackKind::kAudio) {
            return describe_audio(entry, track);
        }
        ByteReader size(entry.content());
        size.skip(kPictureSizeAt);
        file_.description_.width = size.u16();
        file_.description_.height = size.u16();
        return describe_video(entry, track);
    };
    WEIR_TRY(descriptions.each(take, 8));
    return done ? Error() : descriptions.wrong("a sample description", "none");
}

Error Mp4FileReader::add_frames(const Track& track) {
    const std::vector<Mp4Sample>& samples = track.data.samples;
    if (samples.empty()) {
        return {};
    }
    if (samples.back().time / track.scale > kMaxSeconds) {
        return make_error(ErrorCode::kMalformed, "{}: expected a track of at most {} s, found {} s",
                          media::to_string(track.kind), kMaxSeconds,
                          samples.back().time / track.scale);
    }
    if (file_.frames_.size() + samples.size() > kMaxFileFrames) {
        return make_error(ErrorCode::kLimit, "more than {} frames", kMaxFileFrames);
    }
    for (const Mp4Sample& sample : samples) {
        FileFrame frame;
        frame.offset = sample.offset;
        frame.size = sample.size;
        frame.time_ms = track.shift_ms + to_ms(sample.time, track.scale);
        int64_t composition_ms = to_ms(sample.time + sample.composition, track.scale) -
                                 to_ms(sample.time, track.scale);
        if (std::abs(composition_ms) > kMaxCompositionMs) {
            return make_error(ErrorCode::kMalformed,
                              "sample at byte {}: expected a composition offset of at most {} ms, "
                              "found {} ms",
                              sample.offset, kMaxCompositionMs, composition_ms);
        }
        frame.composition_ms = static_cast<int32_t>(composition_ms);
        frame.kind = track.kind;
        frame.key = track.kind == TrackKind::kVideo && sample.key;
        file_.frames_.push_back(frame);
    }
    described(track.kind).present = true;
    described(track.kind).frame_ms = to_ms(samples.back().duration, track.scale);
    return {};
}

}  // namespace weir::load
