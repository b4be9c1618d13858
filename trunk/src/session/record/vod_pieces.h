// Which files a request for playback means: one of the list of recordings, or those of a stream in
// a span of time. Files that still grow are among them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "session/record/record_service.h"
#include "session/record/vod_file.h"
#include "stream/stream_key.h"

namespace weir::session {

// Of one request.
inline constexpr size_t kMaxVodFiles = 1'000;

// `file`: as the list of recordings has it. Nothing: none has that name.
std::optional<VodPiece> find_vod_file(const RecordService& service, std::string_view file);

// Another process may have begun or finished it meanwhile: RecordService::look_around() says.
bool is_news_due(const std::optional<VodPiece>& found);

// Whether it is being written still.
bool vod_file_grows(const RecordService& service, const RecordedFile& file);

// In milliseconds since 1970.
struct VodSpan {
    int64_t from_ms = std::numeric_limits<int64_t>::min();
    int64_t to_ms = std::numeric_limits<int64_t>::max();
};

// Points in time as a request has them; nothing where it has none. kMalformed says what they are.
Result<VodSpan> parse_vod_span(std::optional<std::string_view> from,
                               std::optional<std::string_view> to);

// Yields, in a long list. MP4 files of that stream in that time, the oldest first. kMalformed: more
// than kMaxVodFiles.
Result<std::vector<VodPiece>> find_vod_span(const RecordService& service,
                                            const stream::StreamKey& key,
                                            const VodSpan& span);

}  // namespace weir::session
