// Sanitizer options of the server. Weak, so that a test program can have its own; ASAN_OPTIONS goes
// before both.
#include "io/fiber.h"

#if WEIR_ASAN

extern "C" {

// A leak check at exit would report what a killed server could not free; one on demand is in
// leak_check.h. NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): name
// given by the sanitizer
__attribute__((weak, no_sanitize("address", "undefined"), visibility("default"))) const char*
__asan_default_options() {
    return "detect_leaks=1:leak_check_at_exit=0:halt_on_error=0";
}
}

namespace weir::io {

const char* built_in_sanitizer_options();

const char* built_in_sanitizer_options() {
    return __asan_default_options();
}

}  // namespace weir::io

#endif
