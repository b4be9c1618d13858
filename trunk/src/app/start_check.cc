#include "app/start_check.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "app/config_search.h"
#include "app/log_setup.h"
#include "base/log.h"

namespace weir::app {
namespace {

constexpr mode_t kPidMode = 0644;

Result<int> open_pid_file(const std::string& path, int flags) {
    const int fd =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, kPidMode);
    if (fd < 0) {
        return make_error(
            ErrorCode::kSystem,
            "pid {}: cannot be written: {}; does the folder exist, and may this user write there?",
            path, std::strerror(errno));
    }
    return fd;
}

bool exists(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

}  // namespace

Error write_pid_file(const std::string& path) {
    WEIR_TRY_ASSIGN(const int fd, open_pid_file(path, O_TRUNC));
    const std::string text = fmt::format("{}\n", getpid());
    const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const int why = errno;
    ::close(fd);
    if (!written) {
        return make_error(ErrorCode::kSystem, "pid {}: cannot be written: {}", path,
                          std::strerror(why));
    }
    return {};
}

void remove_pid_file(const std::string& path) {
    if (unlink(path.c_str()) != 0 && truncate(path.c_str(), 0) != 0) {
        log::warn("pid {}: cannot be removed: {}", log::escaped(path), std::strerror(errno));
    }
}

StartCheck check_start(const Config& config) {
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
        Result<int> opened = open_pid_file(config.pid, 0);
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
    return found;
}

}  // namespace weir::app
