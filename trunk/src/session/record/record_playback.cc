#include "session/record/record_playback.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <sys/stat.h>

#include <fmt/format.h>

#include "io/deadline.h"
#include "io/own_fd.h"
#include "io/tcp.h"
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
constexpr std::string_view kHeaderSuffix = "/header.mp4";  // behind the name of a file
constexpr std::string_view kListType = "application/vnd.apple.mpegurl";
constexpr size_t kMaxName = 1024;    // of app and of stream, as in RTMP
constexpr Millis kScanWait{10'000};  // for other requests of the same playlist

// "../" for each folder between the playlist and /vod/.
std::string way_up(std::string_view path) {
    std::string out;
    for (const char c : path) {
        out += c == '/' ? "../" : "";
    }
    return out;
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
std::optional<VodPiece> RecordPlayback::find(std::string_view file) {
    std::optional<VodPiece> piece = find_vod_file(service_, file);
    if (is_news_due(piece)) {
        service_.look_around();
        piece = find_vod_file(service_, file);
    }
    return piece;
}

// Yields.
void RecordPlayback::handle(net::HttpExchange& exchange) {
    std::string_view path = exchange.request().path;
    path.remove_prefix(kPrefix.size());
    if (path.ends_with(kHeaderSuffix)) {
        const std::string_view file = path.substr(0, path.size() - kHeaderSuffix.size());
        if (const auto piece = file.ends_with(kFileSuffix) ? find(file) : std::nullopt) {
            serve_header(exchange, *piece);
            return;
        }
    }
    if (!path.ends_with(kListSuffix)) {
        const std::optional<VodPiece> piece = find(path);
        if (!piece) {
            refuse(exchange, 404, "no recording has that name; GET /api/v1/recordings lists them");
            return;
        }
        serve_file(exchange, *piece);
        return;
    }
    path.remove_suffix(kListSuffix.size());
    std::optional<VodPiece> piece = find(fmt::format("{}{}", path, kFileSuffix));
    if (!piece) {
        serve_stream(exchange, path);
        return;
    }
    std::vector<VodPiece> pieces = {std::move(*piece)};
    if (const auto admitted = admit(exchange, pieces.front().file.key)) {
        serve_list(exchange, std::move(pieces));
        if (admitted->client) {
            admitted->client->end_quietly(net::EndClass::kPeerClosed, "playlist sent");
        }
    }
}

// Yields.
void RecordPlayback::serve_file(net::HttpExchange& exchange, const VodPiece& piece) {
    const RecordedFile& file = piece.file;
    const auto admitted = admit(exchange, file.key);
    io::WorkerPool* const pool = admitted ? readers(exchange) : nullptr;
    if (pool == nullptr) {
        return;
    }
    io::OwnFd fd;

    struct stat facts {};

    Error failed;
    Error busy = pool->run([&] {
        auto opened = open_vod_piece(piece);
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

// Yields.
void RecordPlayback::serve_header(net::HttpExchange& exchange, const VodPiece& piece) {
    const RecordedFile& file = piece.file;
    const auto admitted = admit(exchange, file.key);
    io::WorkerPool* const pool = admitted ? readers(exchange) : nullptr;
    if (pool == nullptr) {
        return;
    }
    Result<Bytes> header = Bytes();
    if (pool->run([&] { header = read_vod_header(piece); })) {
        refuse(exchange, 503, "the disk is busy, try again later");
    } else if (!header.ok()) {
        log::warn("recording not played file={}: {}", log::token(file.file),
                  header.error().message());
        refuse(exchange, status_of(header.error()),
               "the recording cannot be read: the log says why");
    } else {
        (void)exchange.respond(200, net::content_type_of(file.file), as_text(*header),
                               {{"Cache-Control", "no-cache"}});
    }
    if (admitted->client) {
        admitted->client->end_quietly(net::EndClass::kPeerClosed, "header sent");
    }
}

namespace {

// More segments will follow those that are there.
bool grows_on(const VodPiece& piece) {
    return piece.grows && piece.to_ms == INT64_MAX;
}

// The segments of a file that are wanted. The newest of a file that grows is not whole yet.
void add_segments(const VodPiece& piece, const mp4::FileIndex& index, hls::VodFile& file) {
    const size_t whole = index.spans.size() - (grows_on(piece) && !index.spans.empty() ? 1 : 0);
    for (size_t i = 0; i < whole; i++) {
        const mp4::FileSpan& span = index.spans[i];
        if (span.time_ms + span.duration_ms <= piece.from_ms || span.time_ms >= piece.to_ms) {
            continue;
        }
        if (file.segments.empty()) {
            file.wall_ms = piece.file.started_ms + span.time_ms;
        }
        file.segments.push_back({span.offset, span.bytes, span.duration_ms});
    }
}

}  // namespace

// Yields. All that needs the disk, or time, is done by a reader.
void RecordPlayback::serve_list(net::HttpExchange& exchange, std::vector<VodPiece> pieces) {
    io::WorkerPool* const pool = readers(exchange);
    if (pool == nullptr) {
        return;
    }
    const http::Request& request = exchange.request();
    const std::string up = way_up(std::string_view(request.path).substr(kPrefix.size()));
    const std::string carried = http::carried_query(request.query_text, {}, {"from", "to"});
    std::string list;
    std::string skipped;  // a file that cannot be read, and why
    size_t segments = 0;
    // Such a playlist is asked for again, until it says that it is whole.
    const bool grows =
        std::ranges::any_of(pieces, [](const VodPiece& piece) { return grows_on(piece); });
    // Of several that grow, which are rare, the last: who waited for one with another in hand could
    // be waited for.
    const auto newest = std::ranges::find(pieces.rbegin(), pieces.rend(), true, &VodPiece::grows);
    const VodPiece* const growing = newest != pieces.rend() ? &*newest : nullptr;
    std::optional<GrowingIndexes::Lease> lease;
    if (growing != nullptr) {
        auto taken = growing_.take(*growing, io::Deadline::after(kScanWait));
        if (!taken.ok()) {
            refuse(exchange, 503, "the disk is busy, try again later");
            return;
        }
        lease.emplace(std::move(*taken));
    }
    Error busy = pool->run([&] {
        std::vector<hls::VodFile> files;
        for (const VodPiece& piece : pieces) {
            const Result<mp4::FileIndex> index =
                &piece == growing ? lease->read(piece) : read_vod_index(piece);
            if (!index.ok()) {
                skipped = fmt::format("{}: {}", piece.file.file, index.error().message());
                continue;
            }
            const std::string name = up + http::percent_encoded(piece.file.file);
            const std::string query = carried.empty() ? "" : "?" + carried;
            hls::VodFile file{
                .uri = name + query, .header_bytes = index->header_bytes, .segments = {}};
            if (index->several_audio) {
                file.header_uri = fmt::format("{}{}{}", name, kHeaderSuffix, query);
            }
            add_segments(piece, *index, file);
            segments += file.segments.size();
            if (segments > kMaxSegments) {
                return;
            }
            if (!file.segments.empty()) {
                files.push_back(std::move(file));
            }
        }
        const auto kind = grows ? hls::VodKind::kGrowing : hls::VodKind::kWhole;
        list = segments > 0 ? hls::write_vod_playlist(files, kind) : "";
    });
    lease.reset();  // before a peer that may be slow
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
    } else if (list.empty() && grows) {
        refuse(exchange, 503, "the recording has just begun: it has no whole segment yet");
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
    const Result<VodSpan> span = parse_vod_span(request.query.get("from"), request.query.get("to"));
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == path.size() ||
        path.size() > kMaxName) {
        refuse(exchange, 404, "a playlist's address is /vod/APP/STREAM.m3u8 or /vod/FILE.m3u8");
        return;
    }
    if (!span.ok()) {
        refuse(exchange, 400, span.error().message());
        return;
    }
    const stream::StreamKey key = services_.policy.key_of(
        request.query.get_or("vhost", ""), path.substr(0, slash), path.substr(slash + 1));
    const auto admitted = admit(exchange, key);
    if (!admitted) {
        return;
    }
    Result<std::vector<VodPiece>> pieces = find_vod_span(service_, key, *span);
    if (!pieces.ok()) {
        refuse(exchange, status_of(pieces.error()), pieces.error().message());
    } else if (pieces->empty()) {
        refuse(exchange, 404, "nothing was recorded in that time, or not as mp4");
    } else {
        serve_list(exchange, std::move(*pieces));
    }
    if (admitted->client) {
        admitted->client->end_quietly(net::EndClass::kPeerClosed, "playlist sent");
    }
}

}  // namespace weir::session
