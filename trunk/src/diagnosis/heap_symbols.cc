#include "diagnosis/heap_symbols.h"

#include "base/build.h"

#if WEIR_HEAP_PROFILER
#include <cstdlib>
#include <memory>

#include <backtrace.h>
#include <cxxabi.h>
#include <dlfcn.h>
#endif

namespace weir::diagnosis {

#if WEIR_HEAP_PROFILER

namespace {

// What cannot be read is told by the absence of a name.
void ignore_error(void*, const char*, int) {}

// Never destroyed: there is no way to.
backtrace_state* state() {
    static backtrace_state* instance = backtrace_create_state(nullptr, 0, &ignore_error, nullptr);
    return instance;
}

std::string readable(const char* name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
    return status == 0 && plain ? plain.get() : name;
}

int add_frame(void* to, uintptr_t, const char* file, int line, const char* function) {
    auto& frames = *static_cast<std::vector<StackFrame>*>(to);
    if (function != nullptr && frames.size() < kMaxReportFrames) {
        frames.push_back({readable(function), file != nullptr ? file : "", line});
    }
    return 0;
}

void add_symbol(void* to, uintptr_t, const char* symbol, uintptr_t, uintptr_t) {
    auto& frame = *static_cast<StackFrame*>(to);
    if (symbol != nullptr) {
        frame.function = readable(symbol);
    }
}

// Without debug information: the symbol, and the library.
StackFrame frame_by_symbol(uintptr_t address) {
    StackFrame frame;
    backtrace_syminfo(state(), address, &add_symbol, &ignore_error, &frame);
    Dl_info info{};
    // The table of the dynamic linker knows its objects by address.
    if (dladdr(reinterpret_cast<const void*>(address), &info) != 0) {
        frame.file = info.dli_fname != nullptr ? info.dli_fname : "";
        if (frame.function.empty() && info.dli_sname != nullptr) {
            frame.function = readable(info.dli_sname);
        }
    }
    if (frame.function.empty()) {
        frame.function = "???";
    }
    return frame;
}

}  // namespace

std::vector<StackFrame> name_addresses(std::span<const uintptr_t> addresses) {
    std::vector<StackFrame> frames;
    for (const uintptr_t address : addresses) {
        if (frames.size() >= kMaxReportFrames) {
            break;
        }
        const uintptr_t call = address - 1;  // an address of return is behind the call
        const size_t before = frames.size();
        backtrace_pcinfo(state(), call, &add_frame, &ignore_error, &frames);
        if (frames.size() == before) {
            frames.push_back(frame_by_symbol(call));
        }
    }
    return frames;
}

bool is_heap_profiler(uintptr_t address) {
    return frame_by_symbol(address - 1).file.find("libtcmalloc") != std::string::npos;
}

#else

std::vector<StackFrame> name_addresses(std::span<const uintptr_t>) {
    return {};
}

bool is_heap_profiler(uintptr_t) {
    return false;
}

#endif

}  // namespace weir::diagnosis
