#include "net/file_writes.h"

#include <cerrno>

#include "base/error.h"
#include "base/log.h"

namespace weir::net {

bool FileWrites::refuse(int error_number) {
    switch (error_number) {
        case EPERM:
        case EACCES:
        case ENOSYS:
        case EINVAL:
        case EOPNOTSUPP: break;
        default: return false;
    }
    if (!refused_) {
        refused_ = true;
        log::warn(
            "sendfile is not allowed here ({}): large writes to players are copied instead; "
            "a sandbox that forbids the call costs some processor time, and no more",
            Error::from_errno(error_number, "sendfile").message());
    }
    return true;
}

}  // namespace weir::net
