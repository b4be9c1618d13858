// Opening files to write to as root, where another user may have a hand in their folder.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

namespace weir {

// open(2) with O_CREAT, O_CLOEXEC and `flags`, which must not have O_TRUNC; -1 and errno. Blocks on
// disk. For root (any other user opens by its own rights): from the first folder on that somebody
// else than root may write to, links do not count (ELOOP), and a file with a second name is refused
// (EMLINK), as that user could have made them of any file of the machine.
int open_to_write(const std::string& path, int flags, mode_t mode);

// The same with root's rules for any caller: folders of root and of the caller itself are trusted.
int open_distrustfully(const std::string& path, int flags, mode_t mode);

// What to look at, for a message with an errno of open_to_write().
std::string_view why_not_opened(int error_number);

// Gives the open file (regular or a FIFO; others stay as they are) to a user; -1 and errno.
int give_away(int fd, uid_t user, gid_t group);

}  // namespace weir
