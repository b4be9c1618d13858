#include "io/folder_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"
#include "io/coroutine.h"

namespace weir::io {
namespace {

constexpr Millis kLockPause{10};  // between tries

Error busy(const std::string& path) {
    return make_error(ErrorCode::kBusy,
                      "another server writes into {}, or this one by another spelling of its "
                      "name: each needs a folder of its own",
                      path);
}

bool says(int fd, std::string_view server) {
    std::array<char, 256> text{};
    const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
    return got >= 0 && std::string_view(text.data(), static_cast<size_t>(got)) == server;
}

}  // namespace

Result<OwnFd> lock_folder(const std::string& path,
                          const std::string& lock_name,
                          mode_t mode,
                          std::string_view what,
                          const std::string& server) {
    const std::string name = fmt::format("{}/{}", path, lock_name);
    OwnFd lock(::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!lock) {
        return Error::from_errno(errno, is_missing(errno) ? fmt::format("{}: path {}", what, path)
                                                          : fmt::format("{}: {}", what, name));
    }
    const MonoTime until = MonoClock::now() + kLockWait;
    for (;;) {
        if (server.empty()) {
            if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
                return lock;
            }
        } else if (::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) {
            // As long as somebody has it so, nobody can write another name.
            if (says(lock.get(), server)) {
                return lock;
            }
            // Its name is that of an earlier server, unless somebody else has it as well. A lock
            // that changes its kind may be lost in between: so it is looked at once more.
            if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
                // In place: a full disk may have no block for another one.
                WEIR_TRY(write_all(lock.get(), as_bytes(server), 0));
                if (::ftruncate(lock.get(), static_cast<off_t>(server.size())) != 0) {
                    return Error::from_errno(errno, fmt::format("{}: writing {}", what, name));
                }
                continue;
            }
        }
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return Error::from_errno(
                errno, fmt::format("{}: locking {}, where the file system must have flock(2)", what,
                                   name));
        }
        if (MonoClock::now() >= until) {
            return busy(path);
        }
        std::this_thread::sleep_for(kLockPause);  // lint: allow-block - a thread for disks
    }
}

Error lock_file(int fd, Millis wait) {
    const MonoTime until = MonoClock::now() + wait;
    while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return Error::from_errno(errno, "flock(2), which the file system must have");
        }
        if (MonoClock::now() >= until) {
            return make_error(ErrorCode::kBusy, "another process holds the lock");
        }
        std::this_thread::sleep_for(kLockPause);  // lint: allow-block - a thread for disks
    }
    return {};
}

Result<ClaimedFolder> claim_folder(const std::string& path,
                                   const std::string& lock_name,
                                   mode_t mode,
                                   std::string_view what) {
    ClaimedFolder folder;
    folder.root = OwnFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.root) {
        return Error::from_errno(errno, fmt::format("{}: path {}", what, path));
    }
    folder.lock = OwnFd(::openat(folder.root.get(), lock_name.c_str(),
                                 O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!folder.lock) {
        return Error::from_errno(errno, fmt::format("{}: the file {}/{}", what, path, lock_name));
    }

    struct stat mine {};

    struct stat named {};

    if (::flock(folder.lock.get(), LOCK_EX | LOCK_NB) != 0 && errno != EWOULDBLOCK) {
        return Error::from_errno(
            errno, fmt::format("{}: locking {}/{}, where the file system must have flock(2)", what,
                               path, lock_name));
    }
    if (::flock(folder.lock.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::fstat(folder.lock.get(), &mine) != 0 ||
        ::fstatat(folder.root.get(), lock_name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
        mine.st_ino != named.st_ino) {
        return busy(path);
    }
    return folder;
}

Error check_folder(const std::string& path, const OwnFd& root) {
    struct stat now {};

    struct stat ours {};

    if (::stat(path.c_str(), &now) != 0 || !root || ::fstat(root.get(), &ours) != 0 ||
        now.st_ino != ours.st_ino || now.st_dev != ours.st_dev) {
        return make_error(ErrorCode::kNotFound, "the folder {} is not there any more", path);
    }
    return {};
}

Result<OwnFd> open_parent(OwnFd at, const std::string& file, std::optional<mode_t> make) {
    const std::vector<std::string_view> components = split(file, '/');
    for (size_t i = 0; at && i + 1 < components.size(); i++) {
        const std::string name(components[i]);
        if (name.empty() || name == "." || name == "..") {
            return make_error(ErrorCode::kDenied, "{} leads out of the folder", file);
        }
        const bool made = !make || ::mkdirat(at.get(), name.c_str(), *make) == 0 || errno == EEXIST;
        at = made ? OwnFd(::openat(at.get(), name.c_str(), kFolderFlags)) : OwnFd();
    }
    if (!at && errno == ENOENT) {
        return make_error(ErrorCode::kNotFound, "the folder of {} is not there", file);
    }
    if (!at) {
        return Error::from_errno(errno, fmt::format("the folder of {}", file));
    }
    return at;
}

Result<OwnFd> open_below(const std::string& folder, const std::string& file) {
    OwnFd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    WEIR_TRY_ASSIGN(const OwnFd parent, open_parent(std::move(root), file, {}));
    OwnFd opened(::openat(parent.get(), leaf_of(file).c_str(),
                          O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (!opened) {
        return is_missing(errno) ? make_error(ErrorCode::kNotFound, "{} is not there", file)
                                 : Error::from_errno(errno, file);
    }
    return opened;
}

std::string leaf_of(const std::string& file) {
    return file.substr(file.rfind('/') + 1);
}

bool is_missing(int error_number) {
    return error_number == ENOENT || error_number == ENOTDIR || error_number == ELOOP;
}

std::string read_text(int fd, uint64_t most) {
    struct stat facts {};

    const bool known = ::fstat(fd, &facts) == 0;
    std::string text(known ? std::min(static_cast<uint64_t>(facts.st_size), most) : 0, '\0');
    size_t filled = 0;
    while (filled < text.size()) {
        const ssize_t got =
            ::pread(fd, text.data() + filled, text.size() - filled, static_cast<off_t>(filled));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        filled += static_cast<size_t>(got);
    }
    text.resize(filled);
    return text;
}

Error write_all(int fd, ByteSpan bytes, uint64_t offset) {
    while (!bytes.empty()) {
        const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return Error::from_errno(done == 0 ? ENOSPC : errno, "write");
        }
        bytes = bytes.subspan(static_cast<size_t>(done));
        offset += static_cast<uint64_t>(done);
    }
    return {};
}

}  // namespace weir::io
