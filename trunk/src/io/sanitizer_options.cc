// Sanitizer options of the server and of the load client; a test program can have its own.
// ASAN_OPTIONS goes before both.
#include "base/build.h"
#include "io/fiber.h"

#if WEIR_ASAN

// With --sanitizer-log=on the whole reports are in a file beside the log, too: NAME.PID in the
// working folder.
#if WEIR_SANITIZER_LOG
#define WEIR_AND_REPORT_FILE ":log_path=weir-sanitizer.log"
#else
#define WEIR_AND_REPORT_FILE ""
#endif

extern "C" {

// A test program may define this: its options instead of the built-in ones.
__attribute__((weak)) const char* weir_sanitizer_test_options();

// Strong, or a statically linked sanitizer would take its own empty ones. A leak check at exit
// would report what a killed server could not free; one on demand is in leak_check.h.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): name given by the
// sanitizer
__attribute__((no_sanitize("address", "undefined"), visibility("default"))) const char*
__asan_default_options() {
    if (&weir_sanitizer_test_options != nullptr) {
        return weir_sanitizer_test_options();
    }
    return "detect_leaks=1:leak_check_at_exit=0:halt_on_error=0" WEIR_AND_REPORT_FILE;
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the same
__attribute__((no_sanitize("address", "undefined"), visibility("default"))) const char*
__ubsan_default_options() {
    return "print_stacktrace=1" WEIR_AND_REPORT_FILE;
}
}

namespace weir::io {

const char* built_in_sanitizer_options();

const char* built_in_sanitizer_options() {
    return __asan_default_options();
}

}  // namespace weir::io

#endif
