// Files that a configuration names: certificates, secrets, key sets.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/error.h"

namespace weir {

struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

using FilePointer = std::unique_ptr<std::FILE, FileCloser>;

// Opened to be read; blocks on disk. kSystem for what is not there, may not be read, or is no
// regular file: a pipe would hold the reader for as long as nobody writes. The error begins with
// the path.
Result<FilePointer> open_regular_file(const std::string& path);

}  // namespace weir
