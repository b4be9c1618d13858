#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void check_failed(const char* file, int line, const char* condition) {
    std::fprintf(stderr, "weir: bug: %s:%d: check failed: %s\n", file, line, condition);
    std::abort();
}

}  // namespace weir
