// Files below a folder that the operator has named, while their own names come from peers and
// others may have rights there: below the folder no link is followed, and nothing leads out of it.
// One server uses such a folder at a time. All of it blocks: for threads that may.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/own_fd.h"

namespace weir::io {

inline constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// A folder that is this process's, as long as `lock` is open.
struct ClaimedFolder {
    OwnFd root;
    OwnFd lock;  // open for reading and for writing to its end
};

// Opens the folder, which must exist, and takes the lock: flock(2) on the file `lock_name` in it,
// which is made with `mode`. `what` begins messages: "record". kBusy: another has it, or this
// process by another spelling of the name. kSystem.
Result<ClaimedFolder> claim_folder(const std::string& path,
                                   const std::string& lock_name,
                                   mode_t mode,
                                   std::string_view what);

// The lock of a server on a folder, which must exist: as long as the descriptor is open no other
// server gets it. flock(2) on the file `lock_name` in it, which is made with `mode`. `server`: the
// processes of one server say the same, and have the lock together; it stands in the file. Empty:
// the only process. Waits up to kLockWait for who tries at the same time. kBusy, kSystem.
inline constexpr Millis kLockWait{500};
Result<OwnFd> lock_folder(const std::string& path,
                          const std::string& lock_name,
                          mode_t mode,
                          std::string_view what,
                          const std::string& server);

// Takes flock(2) for this descriptor alone, within that time. kBusy: somebody else has it. kSystem.
Error lock_file(int fd, Millis wait);

// kNotFound: the folder that was opened as `root` is gone, or another one stands in its place.
Error check_folder(const std::string& path, const OwnFd& root);

// The folder of `file`, a path below the folder `at`. `make`: with this mode, where it is not
// there. kDenied: it leads out of the folder. kNotFound: it is not there, or was removed meanwhile.
// kSystem.
Result<OwnFd> open_parent(OwnFd at, const std::string& file, std::optional<mode_t> make);

// A file below the folder, open for reading. kNotFound, kSystem.
Result<OwnFd> open_below(const std::string& folder, const std::string& file);

// The last component of a path.
std::string leaf_of(const std::string& file);

// There is no such file; else it could not be looked at, for now.
bool is_missing(int error_number);

// What the file says, from its beginning, up to so many bytes; what cannot be read is left out.
std::string read_text(int fd, uint64_t most);

// All bytes, at that offset of the file.
Error write_all(int fd, ByteSpan bytes, uint64_t offset);

}  // namespace weir::io
