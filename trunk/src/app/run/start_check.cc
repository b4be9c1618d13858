#include "app/run/start_check.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "app/run/config_search.h"
#include "app/run/log_setup.h"
#include "base/log.h"
#include "base/safe_open.h"

namespace weir::app {
namespace {

constexpr mode_t kPidMode = 0644;

Result<int> open_pid_file(const std::string& path) {
    const int fd = open_to_write(path, O_WRONLY | O_NOCTTY, kPidMode);
    if (fd < 0) {
        const int why = errno;
        return make_error(ErrorCode::kSystem, "pid {}: cannot be written: {}; {}", path,
                          std::strerror(why), why_not_opened(why));
    }
    return fd;
}

bool exists(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

// One for each folder of recordings or segments that is not there.
std::set<std::string> missing_folders(const config::Config& config) {
    std::set<std::string> warnings;
    const auto look = [&warnings](std::string_view what, const std::string& path,
                                  std::string_view effect) {
        std::error_code ignored;
        if (!path.empty() && !std::filesystem::is_directory(path, ignored)) {
            warnings.insert(fmt::format("{} path {}: there is no such folder, so {}", what,
                                        log::escaped(path), effect));
        }
    };
    const auto look_at = [&look](const config::VhostConfig& section) {
        look("record", section.record.path, "nothing is recorded");
        look("hls", section.hls.path, "no segments are written");
    };
    for (const config::VhostConfig& vhost : config.vhosts) {
        look_at(vhost);
        std::ranges::for_each(vhost.applications, look_at);
    }
    return warnings;
}

}  // namespace

Result<int> write_pid_file(const std::string& path) {
    WEIR_TRY_ASSIGN(const int fd, open_pid_file(path));
    const std::string text = fmt::format("{}\n", getpid());
    const bool written = ::ftruncate(fd, 0) == 0 &&
                         ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!written) {
        const int why = errno;
        ::close(fd);
        return make_error(ErrorCode::kSystem, "pid {}: cannot be written: {}", path,
                          std::strerror(why));
    }
    return fd;
}

void remove_pid_file(const std::string& path) {
    // Root may remove it, and must not follow a link to what it would empty.
    if (unlink(path.c_str()) != 0 && (geteuid() == 0 || truncate(path.c_str(), 0) != 0)) {
        log::warn("pid {}: cannot be removed: {}", log::escaped(path), std::strerror(errno));
    }
}

StartCheck check_start(const config::Config& config) {
    StartCheck found;
    const auto refuse = [&](const Error& why) {
        found.errors.push_back({config.file, 0, 0, std::string(why.message())});
    };
    const bool had_log = exists(config.log_file);
    if (Error bad = LogSetup::check(config)) {
        refuse(bad);
    } else if (!config.log_file.empty() && !had_log) {
        // Of root, perhaps, and the server is somebody else.
        unlink(config.log_file.c_str());
    }
    if (!config.pid.empty()) {
        const bool had_pid = exists(config.pid);
        Result<int> opened = open_pid_file(config.pid);
        if (opened.ok()) {
            ::close(*opened);
            if (!had_pid) {
                unlink(config.pid.c_str());
            }
        } else {
            refuse(opened.error());
        }
    }
    std::error_code ignored;
    const std::string pages = pages_folder(config.http_server.dir);
    if (config.http_server.enabled && !std::filesystem::is_directory(pages, ignored)) {
        found.warnings.push_back(
            fmt::format("http_server dir {}: there is no such folder, so there are no pages",
                        log::escaped(pages)));
    }
    for (const std::string& warning : missing_folders(config)) {
        found.warnings.push_back(warning);
    }
    return found;
}

}  // namespace weir::app
