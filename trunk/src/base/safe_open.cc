#include "base/safe_open.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir {
namespace {

bool is_trusted(int folder) {
    struct stat facts {};

    return ::fstat(folder, &facts) == 0 && (facts.st_uid == 0 || facts.st_uid == ::geteuid()) &&
           (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void close_quietly(int fd) {
    const int why = errno;
    ::close(fd);
    errno = why;
}

// The folder of that file, from / on; -1 and errno. A link in a folder of root's is root's word.
int open_folder(const std::filesystem::path& path, bool& trusted) {
    constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    int folder = ::open("/", kFlags);
    trusted = folder >= 0 && is_trusted(folder);
    for (const std::filesystem::path& part : path.parent_path().relative_path()) {
        if (folder < 0) {
            break;
        }
        const int next = ::openat(folder, part.c_str(), kFlags | (trusted ? 0 : O_NOFOLLOW));
        close_quietly(folder);
        folder = next;
        trusted = trusted && folder >= 0 && is_trusted(folder);
    }
    return folder;
}

}  // namespace

int open_to_write(const std::string& path, int flags, mode_t mode) {
    return ::geteuid() == 0 ? open_distrustfully(path, flags, mode)
                            : ::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, mode);
}

int open_distrustfully(const std::string& path, int flags, mode_t mode) {
    flags |= O_CREAT | O_CLOEXEC;
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(path, failed).lexically_normal();
    if (failed || whole.filename().empty()) {
        errno = failed ? failed.value() : EISDIR;
        return -1;
    }
    bool trusted = false;
    const int folder = open_folder(whole, trusted);
    if (folder < 0) {
        return -1;
    }
    const int fd =
        ::openat(folder, whole.filename().c_str(), flags | (trusted ? 0 : O_NOFOLLOW), mode);
    close_quietly(folder);

    struct stat facts {};

    if (fd >= 0 && !trusted && (::fstat(fd, &facts) != 0 || facts.st_nlink > 1)) {
        ::close(fd);
        errno = EMLINK;
        return -1;
    }
    return fd;
}

std::string_view why_not_opened(int error_number) {
    return error_number == ELOOP || error_number == EMLINK
               ? "root follows no link in a folder that another user may write to, nor a second "
                 "name of a file: remove it, or name the file itself"
               : "does the folder exist, and may this user write there?";
}

int give_away(int fd, uid_t user, gid_t group) {
    struct stat facts {};

    if (::fstat(fd, &facts) != 0) {
        return -1;
    }
    return S_ISREG(facts.st_mode) || S_ISFIFO(facts.st_mode) ? ::fchown(fd, user, group) : 0;
}

}  // namespace weir
