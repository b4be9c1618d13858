#include "io/leak_check.h"

#include "io/fiber.h"
#include "io/stacks.h"

#if WEIR_ASAN
#include <cstdlib>

#include <pthread.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace weir::io {

#if WEIR_ASAN

// Refers to sanitizer_options.cc, which nothing else would pull out of the archive.
const char* built_in_sanitizer_options();

namespace {

std::vector<StackRange> leak_roots() {
    std::vector<StackRange> roots = merged_stack_ranges();
    // Inside a coroutine the sanitizer takes the coroutine's stack for that of the thread.
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void* bottom = nullptr;
        size_t size = 0;
        pthread_attr_getstack(&attributes, &bottom, &size);
        pthread_attr_destroy(&attributes);
        roots.push_back({static_cast<const char*>(bottom), size});
    }
    return roots;
}

void add_roots_at_exit() {
    for (const StackRange& root : leak_roots()) {
        __lsan_register_root_region(root.begin, root.size);
    }
}

}  // namespace

void install_leak_check() {
    (void)built_in_sanitizer_options();
    // Cannot fail: there is room for 32 of them at least, and we are early.
    (void)std::atexit(&add_roots_at_exit);
}

Result<bool> check_leaks() {
    std::vector<StackRange> roots = leak_roots();
    for (const StackRange& root : roots) {
        __lsan_register_root_region(root.begin, root.size);
    }
    bool found = __lsan_do_recoverable_leak_check() != 0;
    for (const StackRange& root : roots) {
        __lsan_unregister_root_region(root.begin, root.size);
    }
    return found;
}

#else

void install_leak_check() {}

Result<bool> check_leaks() {
    return make_error(ErrorCode::kUnsupported,
                      "leak checks need a build with ./configure --sanitizer=on");
}

#endif

}  // namespace weir::io
