// Serves the files below one folder: content types, index.html, HEAD, conditional requests, one
// byte range.
//
// All disk work runs on the worker pool, in slices: a slow disk stalls one answer, never the
// server. Refused with 404: dotfiles, hidden names, anything that is no regular file, links that
// lead out of the folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "io/worker_pool.h"
#include "net/http/exchange.h"

namespace weir::net {

struct StaticFilesOptions {
    std::string root;  // folder; may be missing, then every answer is a readable 404
    // Where the folder begins among the paths: "/console" has its index.html at "/console/". Of the
    // paths below, and of aliases, this is not a part.
    std::string prefix;
    // Request path to a file relative to the root: {"/vendor/mpegts.js",
    // "node_modules/mpegts.js/dist/mpegts.js"}.
    std::map<std::string, std::string> aliases;
    // First path segments that are not served directly (an alias may point below them).
    std::set<std::string> hidden = {"node_modules", "package.json", "package-lock.json"};
    std::string no_file = "there is no such file";  // what a 404 says to people
};

class StaticFiles {
  public:
    // The pool must outlive this object.
    StaticFiles(StaticFilesOptions options, io::WorkerPool& workers);

    // For answers that begin from now on.
    void set_root(std::string root) { options_.root = std::move(root); }

    // Yields. Answers a GET or HEAD. This object must outlive the call: stop the server first.
    void handle(HttpExchange& exchange);

  private:
    StaticFilesOptions options_;
    io::WorkerPool& workers_;
    log::Throttle failed_log_{Seconds(1)};
};

}  // namespace weir::net
