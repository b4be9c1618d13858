#include "app/run/start_check.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
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
#include "base/strings.h"

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

// As posix_spawnp() looks for it: with '/' a path, else in PATH.
bool is_program(const std::string& name) {
    const auto can_run = [](const std::string& path) {
        std::error_code ignored;
        return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, ignored);
    };
    if (name.find('/') != std::string::npos) {
        return can_run(name);
    }
    const char* const path = std::getenv("PATH");
    for (const std::string_view folder : split(path != nullptr ? path : "/bin:/usr/bin", ':')) {
        if (can_run(fmt::format("{}/{}", folder.empty() ? "." : folder, name))) {
            return true;
        }
    }
    return false;
}

// One for each program of exec_push that is not there.
std::set<std::string> missing_programs(const config::Config& config) {
    std::set<std::string> warnings;
    const auto look_at = [&warnings](const config::VhostConfig& section) {
        for (const std::vector<std::string>& command : section.commands) {
            // With a variable in it, it is another one for each stream.
            if (command[0].find('$') == std::string::npos && !is_program(command[0])) {
                warnings.insert(fmt::format(
                    "exec_push {}: there is no such program{}, so it is not run: install it, or "
                    "write its whole path",
                    log::escaped(command[0]),
                    command[0].find('/') == std::string::npos ? " in PATH" : ""));
            }
        }
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
    for (const auto& missing : {missing_folders(config), missing_programs(config)}) {
        found.warnings.insert(found.warnings.end(), missing.begin(), missing.end());
    }
    return found;
}

}  // namespace weir::app
