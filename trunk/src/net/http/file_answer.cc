#include "net/http/file_answer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "base/bytes.h"
#include "proto/http/byte_range.h"
#include "proto/http/request.h"
#include "proto/http/response.h"

namespace weir::net {
namespace {

struct ContentType {
    std::string_view extension;
    std::string_view type;
};

constexpr std::array<ContentType, 24> kContentTypes = {{
    {"html", "text/html; charset=utf-8"},
    {"htm", "text/html; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"js", "text/javascript; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"map", "application/json"},
    {"txt", "text/plain; charset=utf-8"},
    {"md", "text/plain; charset=utf-8"},
    {"xml", "application/xml"},
    {"svg", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"ico", "image/x-icon"},
    {"wasm", "application/wasm"},
    {"woff2", "font/woff2"},
    {"m3u8", "application/vnd.apple.mpegurl"},
    {"ts", "video/mp2t"},
    {"m4s", "video/iso.segment"},
    {"mp4", "video/mp4"},
    {"flv", "video/x-flv"},
}};

std::string entity_tag(const struct stat& info) {
    return fmt::format("\"{:x}-{:x}-{:x}\"", info.st_size, info.st_mtim.tv_sec,
                       info.st_mtim.tv_nsec);
}

// RFC 9110 §13.2.2: If-None-Match wins over If-Modified-Since.
bool not_modified(const http::Request& request, const std::string& tag, time_t modified) {
    if (request.headers.has("If-None-Match")) {
        return request.headers.has_token("If-None-Match", tag) ||
               request.headers.has_token("If-None-Match", "W/" + tag) ||
               request.headers.has_token("If-None-Match", "*");
    }
    auto since = request.headers.get("If-Modified-Since");
    auto date = since ? http::parse_http_date(*since) : std::nullopt;
    return date && modified <= *date;
}

// RFC 9110 §13.1.5: a range of something that changed is answered with the whole.
bool range_applies(const http::Request& request, const std::string& tag, time_t modified) {
    auto condition = request.headers.get("If-Range");
    return !condition || *condition == tag || http::parse_http_date(*condition) == modified;
}

// Reads slices on a worker and writes them. An error ends the connection (the announced length
// cannot be kept).
Error send_file(HttpExchange& exchange,
                io::WorkerPool& workers,
                int fd,
                http::ByteRange range,
                uint64_t* sent) {
    Bytes slice(std::min<uint64_t>(kFileSliceBytes, range.length));
    while (range.length > 0) {
        ssize_t got = 0;
        int why = 0;
        WEIR_TRY(workers.run([&] {
            got = ::pread(fd, slice.data(), std::min<uint64_t>(slice.size(), range.length),
                          static_cast<off_t>(range.offset));
            why = errno;
        }));
        if (got <= 0) {
            return got < 0 ? Error::from_errno(why, "read a file")
                           : make_error(ErrorCode::kSystem, "a file became shorter");
        }
        auto bytes = static_cast<size_t>(got);
        WEIR_TRY(exchange.write(ByteSpan(slice).first(bytes)));
        range.offset += bytes;
        range.length -= bytes;
        if (sent != nullptr) {
            *sent += bytes;
        }
    }
    return {};
}

}  // namespace

Error answer_file(HttpExchange& exchange,
                  io::WorkerPool& workers,
                  int fd,
                  const struct stat& info,
                  std::string_view content_type,
                  std::string_view cache,
                  uint64_t* sent) {
    const http::Request& request = exchange.request();
    auto size = static_cast<uint64_t>(info.st_size);
    time_t modified = info.st_mtim.tv_sec;
    std::string tag = entity_tag(info);
    http::Fields fields{{"Last-Modified", http::http_date(modified)},
                        {"ETag", tag},
                        {"Cache-Control", std::string(cache)},
                        {"Accept-Ranges", "bytes"},
                        {"X-Content-Type-Options", "nosniff"}};
    if (not_modified(request, tag, modified)) {
        return exchange.respond(304, {}, {}, fields);
    }
    http::ByteRange range{0, size};
    int status = 200;
    auto asked = request.headers.get("Range");
    if (asked && request.method == http::Method::kGet && range_applies(request, tag, modified)) {
        switch (http::parse_byte_range(*asked, size, range)) {
            case http::RangeStatus::kWhole: break;
            case http::RangeStatus::kUnsatisfiable:
                return exchange.respond_error(416, "the range lies outside of the file",
                                              {{"Content-Range", fmt::format("bytes */{}", size)}});
            case http::RangeStatus::kPart:
                status = 206;
                fields.add("Content-Range", fmt::format("bytes {}-{}/{}", range.offset,
                                                        range.offset + range.length - 1, size));
                break;
        }
    }
    WEIR_TRY(exchange.begin(status, content_type, range.length, fields));
    return request.is_head() ? Error() : send_file(exchange, workers, fd, range, sent);
}

std::string_view content_type_of(std::string_view file_name) {
    size_t dot = file_name.rfind('.');
    std::string_view extension =
        dot == std::string_view::npos ? std::string_view() : file_name.substr(dot + 1);
    for (const ContentType& known : kContentTypes) {
        if (http::equal_ignoring_case(known.extension, extension)) {
            return known.type;
        }
    }
    return "application/octet-stream";
}

}  // namespace weir::net
