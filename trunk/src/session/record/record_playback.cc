#include "session/record/record_playback.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "io/folder_files.h"
#include "io/own_fd.h"
#include "net/http/file_answer.h"
#include "net/http_newcomer.h"
#include "proto/hls/vod_playlist.h"
#include "proto/http/access_token.h"
#include "proto/http/target.h"
#include "proto/mp4/file_index.h"

namespace weir::session {
namespace {

constexpr std::string_view kPrefix = "/vod/";
constexpr std::string_view kListSuffix = ".m3u8";
constexpr std::string_view kFileSuffix = ".mp4";
constexpr std::string_view kListType = "application/vnd.apple.mpegurl";
constexpr size_t kMaxName = 1024;  // of app and of stream, as in RTMP
constexpr size_t kUsualHeaderBytes = 16u * 1024;
constexpr size_t kMaxIndexBytes = 32u << 20;
constexpr size_t kFilesAtOnce = 10'000;  // that are looked at before others have their turn

Result<Bytes> read_at(int fd, uint64_t offset, size_t size) {
    Bytes out(size);
    size_t filled = 0;
    while (filled < size) {
        const ssize_t got =
            ::pread(fd, out.data() + filled, size - filled, static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return Error::from_errno(errno, "reading a recording");
        }
        if (got == 0) {
            break;
        }
        filled += static_cast<size_t>(got);
    }
    out.resize(filled);
    return out;
}

// On a thread of readers.
Result<mp4::FileIndex> read_index(const RecordedFile& file) {
    WEIR_TRY_ASSIGN(const io::OwnFd fd, io::open_below(file.folder, file.file));

    struct stat facts {};

    if (::fstat(fd.get(), &facts) != 0) {
        return Error::from_errno(errno, file.file);
    }
    const auto size = static_cast<uint64_t>(facts.st_size);
    if (size < mp4::kIndexEnd) {
        return make_error(ErrorCode::kMalformed, "it is too short");
    }
    WEIR_TRY_ASSIGN(const Bytes end, read_at(fd.get(), size - mp4::kIndexEnd, mp4::kIndexEnd));
    const uint64_t tail_size = mp4::index_size(end);
    if (tail_size == 0 || tail_size > size || tail_size > kMaxIndexBytes) {
        return make_error(ErrorCode::kMalformed, "it has no index of its fragments");
    }
    WEIR_TRY_ASSIGN(const Bytes tail, read_at(fd.get(), size - tail_size, tail_size));
    // A header is some kilobytes; a playlist may be over a thousand files.
    Result<mp4::FileIndex> index = make_error(ErrorCode::kMalformed, "it has no header");
    for (const size_t most : {kUsualHeaderBytes, mp4::kMaxHeaderBytes}) {
        WEIR_TRY_ASSIGN(const Bytes head, read_at(fd.get(), 0, most));
        index = mp4::read_file_index(head, tail, size);
        if (index.ok()) {
            break;
        }
    }
    return index;
}

// "../" for each folder between the playlist and /vod/.
std::string way_up(std::string_view path) {
    std::string out;
    for (const char c : path) {
        out += c == '/' ? "../" : "";
    }
    return out;
}

std::optional<int64_t> time_of(const http::Query& query, std::string_view name, int64_t otherwise) {
    const auto text = query.get(name);
    return text ? parse_time_point(*text) : std::optional(otherwise);
}

int status_of(const Error& error) {
    switch (error.code()) {
        case ErrorCode::kDenied: return 403;
        case ErrorCode::kNotFound: return 404;
        case ErrorCode::kMalformed: return 400;
        default: return 503;
    }
}

// Yields.
void refuse(net::HttpExchange& exchange, int status, std::string_view reason) {
    http::Fields fields = {{"Cache-Control", "no-store"}};
    if (status == 503) {
        fields.add("Retry-After", "1");
    }
    (void)exchange.respond_error(status, reason, fields);
}

}  // namespace

// A file, and what of its time is wanted.
struct RecordPlayback::Piece {
    RecordedFile file;
    int64_t from_ms = 0;  // of the file's own time
    int64_t to_ms = std::numeric_limits<int64_t>::max();
};

void RecordPlayback::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.cors = true;
    options.first = true;  // "/vod/live/cam.flv" is no live stream
    router.add_predicate(
        [this](const http::Request& request) {
            return request.path.starts_with(kPrefix) && rules_.plays_recordings();
        },
        options, [this](net::HttpExchange& exchange) { handle(exchange); });
}

std::string RecordPlayback::address_of(const RecordedFile& file) const {
    return rules_.record_options(file.key).play
               ? fmt::format("{}{}", kPrefix, http::percent_encoded(file.file))
               : "";
}

// ---- who may ----

// Yields. Null: it has been answered.
std::unique_ptr<net::AdmittedPlayer> RecordPlayback::admit(net::HttpExchange& exchange,
                                                           const stream::StreamKey& key) {
    const http::Request& request = exchange.request();
    if (!rules_.record_options(key).play) {
        refuse(exchange, 404,
               "recordings of this stream are not played (record { playback on; } turns it on)");
        return nullptr;
    }
    const std::optional<std::string_view> token = http::access_token(request);
    if (!token) {
        refuse(exchange, 400, "that is no token: Authorization: Bearer TOKEN");
        return nullptr;
    }
    const std::string url = net::url_of(request);
    net::NewcomerView who = net::newcomer_of(exchange, key, *token, kTransport, url);
    who.needs_stream = false;
    who.begins = false;
    auto admitted = admission_.play(who);
    if (!admitted.ok()) {
        refuse(exchange, status_of(admitted.error()), admitted.error().message());
        return nullptr;
    }
    auto out = std::make_unique<net::AdmittedPlayer>(std::move(*admitted));
    if (out->client) {  // a hook server has allowed it, and hears of the end
        out->client->kick = [&connection = exchange.connection()] { connection.shutdown(); };
        net::begin_turn(*out->client, net::ClientRole::kPlayer, key);
    }
    return out;
}

// Yields. Null: it has been answered.
io::WorkerPool* RecordPlayback::readers(net::HttpExchange& exchange) {
    if (!readers_) {
        auto made = make_workers_(kReaders, kMaxReads);
        if (!made.ok()) {
            refuse(exchange, 503, made.error().message());
            return nullptr;
        }
        readers_ = std::move(*made);
    }
    return readers_.get();
}

// ---- requests ----

// Yields.
void RecordPlayback::handle(net::HttpExchange& exchange) {
    std::string_view path = exchange.request().path;
    path.remove_prefix(kPrefix.size());
    if (!path.ends_with(kListSuffix)) {
        const RecordedFile* const file = service_.find_file_named(path);
        if (file == nullptr) {
            refuse(exchange, 404,
                   "no finished recording has that name; GET /api/v1/recordings lists them");
            return;
        }
        serve_file(exchange, RecordedFile(*file));
        return;
    }
    path.remove_suffix(kListSuffix.size());
    const RecordedFile* const file =
        service_.find_file_named(fmt::format("{}{}", path, kFileSuffix));
    if (file == nullptr) {
        serve_stream(exchange, path);
        return;
    }
    std::vector<Piece> pieces = {{.file = *file}};
    if (const auto admitted = admit(exchange, pieces.front().file.key)) {
        serve_list(exchange, std::move(pieces));
        if (admitted->client) {
            admitted->client->end_quietly(net::EndClass::kPeerClosed, "playlist sent");
        }
    }
}

// Yields.
void RecordPlayback::serve_file(net::HttpExchange& exchange, const RecordedFile& file) {
    const auto admitted = admit(exchange, file.key);
    io::WorkerPool* const pool = admitted ? readers(exchange) : nullptr;
    if (pool == nullptr) {
        return;
    }
    io::OwnFd fd;

    struct stat facts {};

    Error failed;
    Error busy = pool->run([&] {
        auto opened = io::open_below(file.folder, file.file);
        if (!opened.ok()) {
            failed = opened.take_error();
        } else if (::fstat(opened->get(), &facts) != 0) {
            failed = Error::from_errno(errno, file.file);
        } else {
            fd = std::move(*opened);
        }
    });
    if (busy) {
        refuse(exchange, 503, "the disk is busy, try again later");
    } else if (failed) {
        log::warn("recording not played file={}: {}", log::token(file.file), failed.message());
        refuse(exchange, status_of(failed), "the recording cannot be read: the log says why");
    } else {
        (void)net::answer_file(exchange, *pool, fd.get(), facts, net::content_type_of(file.file));
    }
    if (admitted->client) {
        admitted->client->end_quietly(net::EndClass::kPeerClosed, "file sent");
    }
}

// Yields. All that needs the disk, or time, is done by a reader.
void RecordPlayback::serve_list(net::HttpExchange& exchange, std::vector<Piece> pieces) {
    io::WorkerPool* const pool = readers(exchange);
    if (pool == nullptr) {
        return;
    }
    const http::Request& request = exchange.request();
    const std::string up = way_up(std::string_view(request.path).substr(kPrefix.size()));
    const std::string carried = http::carried_query(request.query_text);
    std::string list;
    std::string skipped;  // a file that cannot be read, and why
    size_t segments = 0;
    Error busy = pool->run([&] {
        std::vector<hls::VodFile> files;
        for (const Piece& piece : pieces) {
            const Result<mp4::FileIndex> index = read_index(piece.file);
            if (!index.ok()) {
                skipped = fmt::format("{}: {}", piece.file.file, index.error().message());
                continue;
            }
            hls::VodFile file{
                .uri = fmt::format("{}{}{}{}", up, http::percent_encoded(piece.file.file),
                                   carried.empty() ? "" : "?", carried),
                .header_bytes = index->header_bytes};
            for (const mp4::FileSpan& span : index->spans) {
                if (span.time_ms + span.duration_ms <= piece.from_ms ||
                    span.time_ms >= piece.to_ms) {
                    continue;
                }
                if (file.segments.empty()) {
                    file.wall_ms = piece.file.started_ms + span.time_ms;
                }
                file.segments.push_back({span.offset, span.bytes, span.duration_ms});
            }
            segments += file.segments.size();
            if (segments > kMaxSegments) {
                return;
            }
            if (!file.segments.empty()) {
                files.push_back(std::move(file));
            }
        }
        list = segments > 0 ? hls::write_vod_playlist(files) : "";
    });
    if (!skipped.empty()) {
        log::warn("recording not played file={}", log::escaped(skipped));
    }
    if (busy) {
        refuse(exchange, 503, "the disk is busy, try again later");
    } else if (segments > kMaxSegments) {
        refuse(exchange, 400,
               fmt::format("that is more than {} segments: ask for a span of time of "
                           "/vod/APP/STREAM.m3u8, with ?from=TIME&to=TIME",
                           kMaxSegments));
    } else if (list.empty()) {
        refuse(exchange, 404,
               skipped.empty() ? "nothing was recorded in that time"
                               : "the recording cannot be read: the log says why");
    } else {
        (void)exchange.respond(200, kListType, list, {{"Cache-Control", "no-cache"}});
    }
}

// Yields. "APP/STREAM".
void RecordPlayback::serve_stream(net::HttpExchange& exchange, std::string_view path) {
    const http::Request& request = exchange.request();
    const size_t slash = path.rfind('/');
    const auto from = time_of(request.query, "from", std::numeric_limits<int64_t>::min());
    const auto to = time_of(request.query, "to", std::numeric_limits<int64_t>::max());
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == path.size() ||
        path.size() > kMaxName) {
        refuse(exchange, 404, "a playlist's address is /vod/APP/STREAM.m3u8 or /vod/FILE.m3u8");
        return;
    }
    if (!from || !to || *from >= *to) {
        refuse(exchange, 400,
               "from and to are points in time, as in ?from=2026-11-25T17:00:00Z&to=1764092000, "
               "and to is the later one");
        return;
    }
    const stream::StreamKey key = services_.policy.key_of(
        request.query.get_or("vhost", ""), path.substr(0, slash), path.substr(slash + 1));
    const auto admitted = admit(exchange, key);
    if (!admitted) {
        return;
    }
    std::vector<Piece> pieces;
    if (const Error error = find_pieces(key, *from, *to, pieces)) {
        refuse(exchange, status_of(error), error.message());
    } else if (pieces.empty()) {
        refuse(exchange, 404, "nothing was recorded in that time, or not as mp4");
    } else {
        serve_list(exchange, std::move(pieces));
    }
    if (admitted->client) {
        admitted->client->end_quietly(net::EndClass::kPeerClosed, "playlist sent");
    }
}

// Yields, between files.
Error RecordPlayback::find_pieces(const stream::StreamKey& key,
                                  int64_t from_ms,
                                  int64_t to_ms,
                                  std::vector<Piece>& out) const {
    Error error;
    service_.for_each_store([&](const RecordStore& store) {
        size_t looked = 0;
        const RecordStore::Files& files = store.files();
        for (auto at = files.begin(); at != files.end() && !error;) {
            const uint64_t number = at->first;
            const RecordedFile& file = at->second;
            if (file.key == key && file.format == to_string(RecordFormat::kMp4) &&
                file.started_ms < to_ms && file.started_ms + file.duration_ms > from_ms) {
                if (out.size() == kMaxFiles) {
                    error = make_error(ErrorCode::kMalformed,
                                       "that is more than {} files: ask for a span of time, with "
                                       "?from=TIME&to=TIME",
                                       kMaxFiles);
                    break;
                }
                Piece& piece = out.emplace_back(Piece{.file = file});
                piece.from_ms = from_ms > file.started_ms ? from_ms - file.started_ms : 0;
                piece.to_ms = to_ms < piece.to_ms ? to_ms - file.started_ms : piece.to_ms;
            }
            if (++looked % kFilesAtOnce == 0) {
                io::yield();  // files may go meanwhile
            }
            at = files.upper_bound(number);
        }
    });
    std::ranges::stable_sort(out, {}, [](const Piece& piece) { return piece.file.started_ms; });
    return error;
}

}  // namespace weir::session
