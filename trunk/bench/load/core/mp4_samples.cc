#include "bench/load/core/mp4_samples.h"

#include <optional>

#include "bench/load/core/media_file.h"

namespace weir::load {
namespace {

// A full box that begins with a number of entries of `entry_size` bytes each.
struct Table {
    Mp4Box box;
    uint32_t flags_and_version = 0;
    uint32_t count = 0;
    ByteReader entries;
};

Result<Table> open_table(const Mp4Box& parent, std::string_view type, size_t entry_size) {
    WEIR_TRY_ASSIGN(Mp4Box box, parent.child(type));
    ByteReader reader(box.content());
    uint32_t flags = reader.u32();
    uint32_t count = reader.u32();
    if (!reader.ok() || reader.remaining() / entry_size < count) {
        return box.wrong(fmt::format("{} entries of {} bytes", count, entry_size),
                         fmt::format("{} bytes", reader.remaining()));
    }
    return Table{box, flags, count, reader};
}

// The table if it is there.
Result<std::optional<Table>> open_optional(const Mp4Box& parent,
                                           std::string_view type,
                                           size_t entry_size) {
    Result<Table> table = open_table(parent, type, entry_size);
    if (table.ok()) {
        return std::optional<Table>(std::move(*table));
    }
    if (table.error().code() == ErrorCode::kNotFound) {
        return std::optional<Table>();
    }
    return table.take_error();
}

Error too_many(const Mp4Box& box, uint64_t count) {
    return make_error(ErrorCode::kLimit, "box '{}' at byte {}: {} samples, expected at most {}",
                      box.type(), box.at(), count, kMaxFileFrames);
}

Error read_sizes(const Mp4Box& stbl, uint64_t file_size, std::vector<Mp4Sample>& samples) {
    WEIR_TRY_ASSIGN(Mp4Box box, stbl.child("stsz"));
    ByteReader reader(box.content());
    reader.u32();
    uint32_t same = reader.u32();
    uint32_t count = reader.u32();
    if (!reader.ok() || (same == 0 && reader.remaining() / 4 < count)) {
        return box.wrong(fmt::format("{} sizes", count),
                         fmt::format("{} bytes", reader.remaining()));
    }
    if (count > kMaxFileFrames) {
        return too_many(box, count);
    }
    if (same != 0 && file_size / same < count) {
        return box.wrong(fmt::format("samples within the file's {} bytes", file_size),
                         fmt::format("{} samples of {}", count, same));
    }
    samples.resize(count);
    for (uint32_t i = 0; i < count; i++) {
        samples[i].size = same != 0 ? same : reader.u32();
        if (samples[i].size > kMaxFileFrameSize) {
            return box.wrong(fmt::format("samples of at most {} bytes", kMaxFileFrameSize),
                             fmt::format("{} for sample {}", samples[i].size, i + 1));
        }
    }
    return {};
}

Error read_times(const Mp4Box& stbl, std::vector<Mp4Sample>& samples) {
    WEIR_TRY_ASSIGN(Table table, open_table(stbl, "stts", 8));
    size_t at = 0;
    int64_t time = 0;
    for (uint32_t i = 0; i < table.count; i++) {
        uint32_t count = table.entries.u32();
        uint32_t delta = table.entries.u32();
        for (; count > 0 && at < samples.size(); count--, at++) {
            samples[at].time = time;
            samples[at].duration = delta;
            time += delta;
        }
    }
    return at == samples.size()
               ? Error()
               : table.box.wrong(fmt::format("the times of {} samples", samples.size()),
                                 fmt::format("those of {}", at));
}

// Version 0 says unsigned; writers put signed numbers there as well, and no offset needs 31 bits.
Error read_compositions(const Mp4Box& stbl, std::vector<Mp4Sample>& samples) {
    WEIR_TRY_ASSIGN(std::optional<Table> table, open_optional(stbl, "ctts", 8));
    size_t at = 0;
    for (uint32_t i = 0; table && i < table->count; i++) {
        uint32_t count = table->entries.u32();
        auto offset = static_cast<int32_t>(table->entries.u32());
        for (; count > 0 && at < samples.size(); count--, at++) {
            samples[at].composition = offset;
        }
    }
    return {};
}

Error read_keys(const Mp4Box& stbl, std::vector<Mp4Sample>& samples) {
    WEIR_TRY_ASSIGN(std::optional<Table> table, open_optional(stbl, "stss", 4));
    if (!table) {  // every sample is one (§8.6.2.1)
        for (Mp4Sample& sample : samples) {
            sample.key = true;
        }
        return {};
    }
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t number = table->entries.u32();
        if (number == 0 || number > samples.size()) {
            return table->box.wrong(fmt::format("numbers from 1 to {}", samples.size()),
                                    fmt::format("{}", number));
        }
        samples[number - 1].key = true;
    }
    return {};
}

class ChunkOffsets {
  public:
    static Result<ChunkOffsets> open(const Mp4Box& stbl) {
        WEIR_TRY_ASSIGN(std::optional<Table> narrow, open_optional(stbl, "stco", 4));
        if (narrow) {
            return ChunkOffsets(std::move(*narrow), false);
        }
        WEIR_TRY_ASSIGN(Table wide, open_table(stbl, "co64", 8));
        return ChunkOffsets(std::move(wide), true);
    }

    uint32_t count() const { return table_.count; }

    uint64_t next() { return wide_ ? table_.entries.u64() : table_.entries.u32(); }

  private:
    ChunkOffsets(Table table, bool wide) : table_(std::move(table)), wide_(wide) {}

    Table table_;
    bool wide_;
};

// Puts the samples of one chunk one behind the other from `offset` on.
Error place_chunk(const Mp4Box& box,
                  uint64_t offset,
                  uint32_t count,
                  uint64_t file_size,
                  std::vector<Mp4Sample>& samples,
                  size_t& at) {
    for (; count > 0 && at < samples.size(); count--, at++) {
        if (offset > file_size || samples[at].size > file_size - offset) {
            return box.wrong(
                fmt::format("samples within the file's {} bytes", file_size),
                fmt::format("{} bytes at byte {} for sample {}", samples[at].size, offset, at + 1));
        }
        samples[at].offset = offset;
        offset += samples[at].size;
    }
    return {};
}

Error read_places(const Mp4Box& stbl, uint64_t file_size, std::vector<Mp4Sample>& samples) {
    WEIR_TRY_ASSIGN(Table runs, open_table(stbl, "stsc", 12));
    WEIR_TRY_ASSIGN(ChunkOffsets chunks, ChunkOffsets::open(stbl));
    size_t at = 0;
    uint32_t chunk = 1;
    uint32_t first = runs.count > 0 ? runs.entries.u32() : 1;
    if (first != 1) {
        return runs.box.wrong("chunk 1 first", fmt::format("chunk {}", first));
    }
    for (uint32_t i = 0; i < runs.count; i++) {
        uint32_t per_chunk = runs.entries.u32();
        if (uint32_t description = runs.entries.u32(); description != 1) {
            return make_error(ErrorCode::kUnsupported,
                              "box 'stsc' at byte {}: sample description {}, expected only the "
                              "first",
                              runs.box.at(), description);
        }
        uint32_t next = i + 1 < runs.count ? runs.entries.u32() : chunks.count() + 1;
        if (next < chunk || next > chunks.count() + 1) {
            return runs.box.wrong(
                fmt::format("chunk numbers that rise up to {}", chunks.count() + 1),
                fmt::format("{} after {}", next, chunk));
        }
        for (; chunk < next; chunk++) {
            WEIR_TRY(place_chunk(runs.box, chunks.next(), per_chunk, file_size, samples, at));
        }
    }
    return at == samples.size()
               ? Error()
               : runs.box.wrong(fmt::format("the places of {} samples", samples.size()),
                                fmt::format("those of {}", at));
}

}  // namespace

Result<std::vector<Mp4Sample>> read_samples(const Mp4Box& table, uint64_t file_size) {
    std::vector<Mp4Sample> samples;
    WEIR_TRY(read_sizes(table, file_size, samples));
    WEIR_TRY(read_times(table, samples));
    WEIR_TRY(read_compositions(table, samples));
    WEIR_TRY(read_keys(table, samples));
    WEIR_TRY(read_places(table, file_size, samples));
    return samples;
}

}  // namespace weir::load
