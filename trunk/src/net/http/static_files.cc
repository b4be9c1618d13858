#include "net/http/static_files.h"

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
#include "io/own_fd.h"
#include "net/http/file_answer.h"
#include "proto/http/target.h"

namespace weir::net {

namespace {

struct OpenedFile {
    int status = 404;    // 200 when `file` is open
    std::string reason;  // otherwise: for people; empty: StaticFilesOptions::no_file
    io::OwnFd file;

    struct stat info {};

    bool is_folder = false;  // asked for without its "/"
};

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
        OpenedFile out;
        out.reason = "the folder of the pages is not there: look at the directive that names it";
        return out;
    }
    auto resolved = real_path(*real_root + "/" + relative);
    std::string below = *real_root == "/" ? *real_root : *real_root + "/";
    if (!resolved || (*resolved != *real_root && !resolved->starts_with(below))) {
        return {};
    }
    OpenedFile out;
    out.file = io::OwnFd(::open(resolved->c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (out.file.get() < 0) {
        if (errno == EACCES) {
            out.status = 403;
            out.reason = "the server may not read this file";
            return out;
        }
        return {};
    }
    if (::fstat(out.file.get(), &out.info) != 0 || S_ISDIR(out.info.st_mode)) {
        out.is_folder = S_ISDIR(out.info.st_mode);
        out.reason = "this folder has no index.html";
        return out;
    }
    if (!S_ISREG(out.info.st_mode)) {
        return {};
    }
    out.status = 200;
    return out;
}

bool has_hidden_segment(std::string_view path) {
    return path.find("/.") !=
           std::string_view::npos;  // the path is normalised: "/." begins a dotfile
}

// Relative links of a page need the "/" of its folder.
std::string redirect_target(const http::Request& request) {
    std::string target = http::percent_encoded(request.path) + "/";
    return request.query_text.empty() ? target : target + "?" + request.query_text;
}

}  // namespace

StaticFiles::StaticFiles(StaticFilesOptions options, io::WorkerPool& workers)
    : options_(std::move(options)), workers_(workers) {}

void StaticFiles::handle(HttpExchange& exchange) {
    const std::string& whole = exchange.request().path;
    if (!whole.starts_with(options_.prefix)) {
        Error ignored = exchange.respond_error(404, options_.no_file);
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
        Error ignored = exchange.respond_error(404, options_.no_file);
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
        failed = exchange.respond_error(opened.status,
                                        opened.reason.empty() ? options_.no_file : opened.reason);
    } else {
        failed = answer_file(exchange, workers_, opened.file.get(), opened.info,
                             content_type_of(relative));
    }
    if (failed && failed.code() == ErrorCode::kSystem) {
        log::throttled(failed_log_, log::Level::kWarn, "static file not sent path={}: {}",
                       log::token(path), failed.message());
    }
}

}  // namespace weir::net
