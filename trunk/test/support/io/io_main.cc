// main() of the component tests: the scheduler is up before the first test, and every test body
// runs in a coroutine.
#include <cstdio>

#include <gtest/gtest.h>

#include "io/fiber.h"
#include "io/runtime.h"

#if WEIR_ASAN
extern "C" {
// What io/sanitizer_options.cc asks for.
const char* weir_sanitizer_test_options();

__attribute__((no_sanitize("address", "undefined"))) const char* weir_sanitizer_test_options() {
    return "detect_leaks=1:leak_check_at_exit=1:halt_on_error=1:detect_stack_use_after_return=1:"
           "strict_string_checks=1:check_initialization_order=1";
}
}
#endif

int main(int argc, char** argv) {
    if (weir::Error error = weir::io::init_runtime()) {
        std::fprintf(stderr, "cannot start the runtime: %s\n", error.to_string().c_str());
        return 1;
    }
    GTEST_FLAG_SET(
        death_test_style,
        "threadsafe");  // a fork would share the epoll instance; the command line may say otherwise
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
