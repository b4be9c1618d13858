#include <fstream>

#include <unistd.h>

#include "test/support/io/loopback.h"

namespace weir::io {

size_t resident_kib() {
    size_t total = 0;
    size_t resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

}  // namespace weir::io
