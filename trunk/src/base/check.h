// Checks for bugs of our own. Never for anything that a peer or a configuration can cause.
#pragma once

namespace weir {

// Prints where and what, then aborts (a core file is worth more than going on).
[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace weir

#define WEIR_CHECK(condition)                                     \
    do {                                                          \
        if (!(condition)) {                                       \
            ::weir::check_failed(__FILE__, __LINE__, #condition); \
        }                                                         \
    } while (false)

#ifdef WEIR_DEBUG_CHECKS
#define WEIR_DCHECK(condition) WEIR_CHECK(condition)
#else
#define WEIR_DCHECK(condition) \
    do {                       \
    } while (false)
#endif
