#include "io/stacks.h"

#include <map>
#include <memory>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

extern "C" {
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): names of the linker's
// --wrap
void* __real_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset);
void* __wrap_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset);
}

namespace weir::io {
namespace {

struct Registry {
    std::map<uintptr_t, Stack> by_top;
    std::vector<Stack*> to_drop;
    StackTotals totals;
    size_t guard_failures = 0;
    uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
};

// Never destroyed: stacks and exit handlers outlive static objects.
Registry& registry() {
    static Registry* instance = std::make_unique<Registry>().release();
    return *instance;
}

thread_local int t_mapping_depth =
    0;  // NOLINT: seen by the mmap wrapper, which has no other way to know

// libst's mapping is one page of red zone, the stack, one page of red zone.
void on_stack_mapped(char* mapping, size_t mapped) {
    Registry& r = registry();
    if (mapped <= 2 * r.page) {
        return;
    }
    Stack stack;
    stack.bottom = mapping + r.page;
    stack.size = mapped - 2 * r.page;
    char* top = stack.bottom + stack.size;
    if (mprotect(mapping, r.page, PROT_NONE) != 0 || mprotect(top, r.page, PROT_NONE) != 0) {
        r.guard_failures++;
    }
    // A valgrind build registers the stack here: VALGRIND_STACK_REGISTER(stack.bottom, top - 1),
    // before its first use.
    r.totals.count++;
    r.totals.bytes += stack.size;
    r.by_top[reinterpret_cast<uintptr_t>(top)] = stack;
}

}  // namespace

StackMapping::StackMapping() {
    t_mapping_depth++;
}

StackMapping::~StackMapping() {
    t_mapping_depth--;
}

Stack* stack_of_thread(const void* st_thread) {
    Registry& r = registry();
    uintptr_t top = (reinterpret_cast<uintptr_t>(st_thread) + r.page - 1) & ~(r.page - 1);
    auto found = r.by_top.find(top);
    return found == r.by_top.end() ? nullptr : &found->second;
}

const Stack* stack_guarded_at(const void* address) {
    Registry& r = registry();
    auto at = reinterpret_cast<uintptr_t>(address);
    // Neighbours share a border of two guard pages; a stack grows down, so the one above the
    // address is asked first.
    auto above = r.by_top.upper_bound(at);
    if (above != r.by_top.end()) {
        auto bottom = reinterpret_cast<uintptr_t>(above->second.bottom);
        if (at < bottom && at >= bottom - r.page) {
            return &above->second;
        }
    }
    if (above != r.by_top.begin()) {
        auto below = std::prev(above);
        if (at >= below->first && at < below->first + r.page) {
            return &below->second;
        }
    }
    return nullptr;
}

void mark_for_drop(Stack& stack) {
    stack.in_use = false;
    if (!stack.awaits_drop) {
        stack.awaits_drop = true;
        registry().to_drop.push_back(&stack);
    }
}

bool drop_ended_stacks(size_t limit) {
    Registry& r = registry();
    for (; limit > 0 && !r.to_drop.empty(); limit--) {
        Stack* stack = r.to_drop.back();
        r.to_drop.pop_back();
        stack->awaits_drop = false;
        if (!stack->in_use) {  // else it was handed out again in the meantime
            madvise(stack->bottom, stack->size, MADV_DONTNEED);
            r.totals.dropped++;
        }
    }
    return !r.to_drop.empty();
}

size_t take_guard_failures() {
    return std::exchange(registry().guard_failures, 0);
}

StackTotals stack_totals() {
    return registry().totals;
}

std::vector<StackRange> merged_stack_ranges() {
    Registry& r = registry();
    std::vector<StackRange> ranges;
    for (const auto& [top, stack] : r.by_top) {
        const char* begin = stack.bottom - r.page;
        size_t size = stack.size + 2 * r.page;
        if (!ranges.empty() && ranges.back().begin + ranges.back().size == begin) {
            ranges.back().size += size;
        } else {
            ranges.push_back({begin, size});
        }
    }
    return ranges;
}

}  // namespace weir::io

// The wrapper is in this file, which the scheduler needs anyway, so that the linker always finds
// it.
void* __wrap_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
    void* mapping = __real_mmap(address, size, protection, flags, fd, offset);
    if (weir::io::t_mapping_depth > 0 && mapping != MAP_FAILED) {
        weir::io::on_stack_mapped(static_cast<char*>(mapping), size);
    }
    return mapping;
}
