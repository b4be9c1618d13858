#include "session/record/vod_pieces.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/rfc3339.h"
#include "io/coroutine.h"
#include "session/record/record_folder.h"

namespace weir::session {
namespace {

constexpr size_t kFilesAtOnce = 10'000;  // that are looked at before others have their turn

// Of a file that grows: what is known of it now.
RecordedFile facts_of(const RecordStore& store, const FileQueue& queue) {
    const FileOrder& order = queue.order();
    RecordedFile file;
    file.key = order.key;
    file.folder = store.path();
    file.file = queue.name().substr(0, queue.name().size() - kGrowingEnd.size());
    file.format = to_string(order.format);
    file.started_ms = order.started_ms;
    file.duration_ms = queue.duration_ms();
    file.bytes = queue.written_bytes();
    return file;
}

// The same of one that grows in another process: what was written is not known, only the time.
RecordedFile facts_of(const RecordedFile& growing) {
    RecordedFile file = growing;
    file.duration_ms = std::max<int64_t>(wall_time_ms() - file.started_ms, 0);
    return file;
}

void add_piece(RecordedFile file, bool grows, const VodSpan& span, std::vector<VodPiece>& out) {
    const bool within =
        file.started_ms < span.to_ms && file.started_ms + file.duration_ms > span.from_ms;
    if (!within || file.format != to_string(RecordFormat::kMp4)) {
        return;
    }
    VodPiece piece{.file = std::move(file), .grows = grows};
    const int64_t started_ms = piece.file.started_ms;
    piece.from_ms = span.from_ms > started_ms ? span.from_ms - started_ms : 0;
    piece.to_ms = span.to_ms < piece.to_ms ? span.to_ms - started_ms : piece.to_ms;
    out.push_back(std::move(piece));
}

}  // namespace

std::optional<VodPiece> find_vod_file(const RecordService& service, std::string_view file) {
    if (const RecordedFile* const found = service.find_file_named(file)) {
        return VodPiece{.file = *found};
    }
    std::optional<VodPiece> out;
    service.for_each_store([&](const RecordStore& store) {
        const FileQueue* const queue = out ? nullptr : store.growing_named(file);
        if (queue != nullptr) {
            out = VodPiece{.file = facts_of(store, *queue), .grows = true};
        }
        const auto elsewhere = store.growing_elsewhere().find(file);
        if (!out && elsewhere != store.growing_elsewhere().end()) {
            out = VodPiece{.file = facts_of(elsewhere->second), .grows = true};
        }
    });
    return out;
}

bool is_news_due(const std::optional<VodPiece>& found) {
    return !found || (found->grows && found->file.elsewhere);
}

bool vod_file_grows(const RecordService& service, const RecordedFile& file) {
    bool grows = false;
    service.for_each_store([&](const RecordStore& store) {
        grows = grows ||
                (store.path() == file.folder && (store.growing_named(file.file) != nullptr ||
                                                 store.growing_elsewhere().contains(file.file)));
    });
    return grows;
}

Result<VodSpan> parse_vod_span(std::optional<std::string_view> from,
                               std::optional<std::string_view> to) {
    VodSpan span;
    const auto read = [](std::optional<std::string_view> text, int64_t& out) {
        const auto time = text ? parse_time_point(*text) : std::optional(out);
        out = time.value_or(0);
        return time.has_value();
    };
    if (!read(from, span.from_ms) || !read(to, span.to_ms) || span.from_ms >= span.to_ms) {
        return make_error(ErrorCode::kMalformed,
                          "from and to are points in time, as in "
                          "?from=2026-11-25T17:00:00Z&to=1764092000, and to is the later one");
    }
    return span;
}

// Yields, between files.
Result<std::vector<VodPiece>> find_vod_span(const RecordService& service,
                                            const stream::StreamKey& key,
                                            const VodSpan& span) {
    std::vector<VodPiece> out;
    service.for_each_store([&](const RecordStore& store) {
        size_t looked = 0;
        const RecordStore::Files& files = store.files();
        for (auto at = files.begin(); at != files.end() && out.size() <= kMaxVodFiles;) {
            const RecordStore::Place place = at->first;
            if (at->second.key == key) {
                add_piece(at->second, false, span, out);
            }
            if (++looked % kFilesAtOnce == 0) {
                io::yield();  // files may go meanwhile
            }
            at = files.upper_bound(place);
        }
        store.for_each_growing([&](const FileQueue& queue) {
            if (queue.order().key == key && queue.name().ends_with(kGrowingEnd)) {
                add_piece(facts_of(store, queue), true, span, out);
            }
        });
        for (const auto& [name, growing] : store.growing_elsewhere()) {
            if (growing.key == key) {
                add_piece(facts_of(growing), true, span, out);
            }
        }
    });
    if (out.size() > kMaxVodFiles) {
        return make_error(ErrorCode::kMalformed,
                          "that is more than {} files: ask for a span of time, with "
                          "?from=TIME&to=TIME",
                          kMaxVodFiles);
    }
    std::ranges::stable_sort(out, {}, [](const VodPiece& piece) { return piece.file.started_ms; });
    return out;
}

}  // namespace weir::session
