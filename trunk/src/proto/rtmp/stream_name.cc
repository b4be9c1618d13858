#include "proto/rtmp/stream_name.h"

#include <algorithm>

#include "base/stream_path.h"

namespace weir::rtmp {
namespace {

// Appends the parts of `path` to `out` with single slashes between.
void append_parts(std::string_view path, std::string& out) {
    while (!path.empty()) {
        const size_t slash = std::min(path.find('/'), path.size());
        if (slash > 0) {
            if (!out.empty()) {
                out += '/';
            }
            out += path.substr(0, slash);
        }
        path.remove_prefix(std::min(slash + 1, path.size()));
    }
}

}  // namespace

std::pair<std::string_view, std::string_view> split_query(std::string_view text) {
    const size_t mark = text.find('?');
    if (mark == std::string_view::npos) {
        return {text, {}};
    }
    return {text.substr(0, mark), text.substr(mark + 1)};
}

std::string_view url_host(std::string_view url) {
    const size_t scheme = url.find("://");
    if (scheme == std::string_view::npos) {
        return {};
    }
    url.remove_prefix(scheme + 3);
    url = url.substr(0, url.find_first_of("/?"));
    if (const size_t user = url.rfind('@'); user != std::string_view::npos) {
        url.remove_prefix(user + 1);
    }
    if (url.starts_with('[')) {
        const size_t end = url.find(']');
        return end == std::string_view::npos ? std::string_view() : url.substr(1, end - 1);
    }
    return url.substr(0, url.find(':'));
}

std::string_view query_value(std::string_view query, std::string_view key) {
    while (!query.empty()) {
        const size_t end = std::min(query.find('&'), query.size());
        const std::string_view pair = query.substr(0, end);
        if (pair.size() > key.size() && pair.starts_with(key) && pair[key.size()] == '=') {
            return pair.substr(key.size() + 1);
        }
        query.remove_prefix(std::min(end + 1, query.size()));
    }
    return {};
}

std::string normal_app(std::string_view app) {
    std::string out;
    append_parts(split_query(app).first, out);
    return out;
}

Error parse_path(std::string_view app, std::string_view name, StreamName& out) {
    if (app.size() > kMaxAppSize || name.size() > kMaxStreamNameSize) {
        return make_error(ErrorCode::kLimit, "stream name of {} bytes: at most {} are allowed",
                          app.size() + name.size(), kMaxStreamNameSize);
    }
    std::string stream;
    append_parts(name, stream);
    std::string path;
    append_parts(app, path);
    append_parts(name, path);
    WEIR_TRY(check_stream_path(path));
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) {
        return make_error(ErrorCode::kMalformed,
                          "empty {} name: the address has the form rtmp://host/app/stream",
                          stream.empty() ? "stream" : "application");
    }
    out.app = path.substr(0, slash);
    out.stream = path.substr(slash + 1);
    return {};
}

}  // namespace weir::rtmp
