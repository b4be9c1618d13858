#include "io/folder_files.h"

#include <cerrno>
#include <utility>
#include <vector>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::io {

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
        return make_error(ErrorCode::kBusy,
                          "another server writes into {}, or this one by another spelling of its "
                          "name: each needs a folder of its own",
                          path);
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
        if (make && ::mkdirat(at.get(), name.c_str(), *make) != 0 && errno != EEXIST) {
            return Error::from_errno(errno, fmt::format("making the folder {}", name));
        }
        at = OwnFd(::openat(at.get(), name.c_str(), kFolderFlags));
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
