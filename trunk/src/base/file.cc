#include "base/file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir {

Result<FilePointer> open_regular_file(const std::string& path) {
    const int descriptor =
        open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // NOLINT: varargs
    if (descriptor < 0) {
        return Error::from_errno(errno, path + ": cannot be opened");
    }

    struct stat facts {};

    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        close(descriptor);
        return make_error(ErrorCode::kSystem,
                          "{}: cannot be read: it is not a regular file; name one", path);
    }
    FilePointer file(fdopen(descriptor, "r"));
    if (!file) {
        const int why = errno;
        close(descriptor);
        return Error::from_errno(why, path + ": cannot be opened");
    }
    return file;
}

}  // namespace weir
