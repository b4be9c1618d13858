#include "net/http/static_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/log.h"
#include "proto/http/byte_range.h"
#include "proto/http/not_here.h"
#include "proto/http/target.h"

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

class FileDescriptor {
  public:
    FileDescriptor() = default;

    explicit FileDescriptor(int fd) : fd_(fd) {}

    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }

    ~FileDescriptor() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }

    int get() const { return fd_; }

  private:
    int fd_ = -1;
};

struct OpenedFile {
    int status = 404;    // 200 when `file` is open
    std::string reason;  // otherwise: for people
    FileDescriptor file;

    struct stat info {};

    bool is_folder = false;  // asked for without its "/"
};

OpenedFile not_found(std::string reason) {
    OpenedFile out;
    out.reason = std::move(reason);
    return out;
}

std::optional<std::string> real_path(const std::string& path) {
    char* resolved = ::realpath(path.c_str(), nullptr);
    if (resolved == nullptr) {
        return std::nullopt;
    }
    std::string text(resolved);
    std::free(resolved);
    return text;
}

// Runs on a worker. `relative` has no ".." and no leading "/". What is opened is the resolved path,
// so that a link cannot lead out of the root; O_NONBLOCK so that a FIFO cannot hold the worker.
OpenedFile open_below(const std::string& root, const std::string& relative) {
    auto real_root = real_path(root);
    if (!real_root) {
        return not_found(
            "the folder of the pages is not there: look at the directive that names it");
    }
    auto resolved = real_path(*real_root + "/" + relative);
    std::string below = *real_root == "/" ? *real_root : *real_root + "/";
    if (!resolved || (*resolved != *real_root && !resolved->starts_with(below))) {
        return not_found("there is no such file");
    }
    OpenedFile out;
    out.file =
        FileDescriptor(::open(resolved->c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (out.file.get() < 0) {
        if (errno == EACCES) {
            out.status = 403;
            out.reason = "the server may not read this file";
            return out;
        }
        return not_found("there is no such file");
    }
    if (::fstat(out.file.get(), &out.info) != 0 || S_ISDIR(out.info.st_mode)) {
        out.is_folder = S_ISDIR(out.info.st_mode);
        out.reason = "this folder has no index.html";
        return out;
    }
    if (!S_ISREG(out.info.st_mode)) {
        return not_found("there is no such file");
    }
    out.status = 200;
    return out;
}

bool has_hidden_segment(std::string_view path) {
    return path.find("/.") !=
           std::string_view::npos;  // the path is normalised: "/." begins a dotfile
}

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

// Relative links of a page need the "/" of its folder.
std::string redirect_target(const http::Request& request) {
    std::string target = http::percent_encoded(request.path) + "/";
    return request.query_text.empty() ? target : target + "?" + request.query_text;
}

// Reads slices on a worker and writes them. An error ends the connection (the announced length
// cannot be kept).
Error send_file(HttpExchange& exchange, io::WorkerPool& workers, int fd, http::ByteRange range) {
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
    }
    return {};
}

Error answer_file(HttpExchange& exchange,
                  io::WorkerPool& workers,
                  const OpenedFile& opened,
                  std::string_view name) {
    const http::Request& request = exchange.request();
    auto size = static_cast<uint64_t>(opened.info.st_size);
    time_t modified = opened.info.st_mtim.tv_sec;
    std::string tag = entity_tag(opened.info);
    http::Fields fields{{"Last-Modified", http::http_date(modified)},
                        {"ETag", tag},
                        {"Cache-Control", "no-cache"},
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
    WEIR_TRY(exchange.begin(status, content_type_of(name), range.length, fields));
    return request.is_head() ? Error() : send_file(exchange, workers, opened.file.get(), range);
}

}  // namespace

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

StaticFiles::StaticFiles(StaticFilesOptions options, io::WorkerPool& workers)
    : options_(std::move(options)), workers_(workers) {}

void StaticFiles::handle(HttpExchange& exchange) {
    const std::string& whole = exchange.request().path;
    if (!whole.starts_with(options_.prefix)) {
        Error ignored = exchange.respond_error(404, "there is no such file");
        return;
    }
    const std::string path = whole.substr(options_.prefix.size());
    std::string relative;
    auto alias = options_.aliases.find(path);
    if (alias != options_.aliases.end()) {
        relative = alias->second;
    } else if (path.starts_with('/') && path.size() < PATH_MAX && !has_hidden_segment(path) &&
               !options_.hidden.contains(path.substr(1, path.find('/', 1) - 1))) {
        relative = path.substr(1) + (path.ends_with('/') ? "index.html" : "");
    } else if (path.empty() && !options_.prefix.empty()) {
        Error ignored =
            exchange.respond(301, {}, {}, {{"Location", redirect_target(exchange.request())}});
        return;
    } else {
        Error ignored = exchange.respond_error(404, "there is no such file");
        return;
    }
    OpenedFile opened;
    const std::string root = options_.root;  // it may change meanwhile
    if (Error e = workers_.run([&] { opened = open_below(root, relative); })) {
        Error ignored = exchange.respond_error(503, "the disk is busy, try again later",
                                               {{"Retry-After", "1"}});
        return;
    }
    Error failed;
    if (opened.is_folder && !path.ends_with('/')) {
        failed = exchange.respond(301, {}, {}, {{"Location", redirect_target(exchange.request())}});
    } else if (opened.status != 200) {
        failed = exchange.respond_error(opened.status, opened.status == 404
                                                           ? http::why_not_here(path, opened.reason)
                                                           : opened.reason);
    } else {
        failed = answer_file(exchange, workers_, opened, relative);
    }
    if (failed && failed.code() == ErrorCode::kSystem) {
        log::throttled(failed_log_, log::Level::kWarn, "static file not sent path={}: {}",
                       log::token(path), failed.message());
    }
}

}  // namespace weir::net
