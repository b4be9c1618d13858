#include "io/stacks.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "base/build.h"
#include "base/object_count.h"
#include "io/fiber.h"

#if WEIR_VALGRIND
#include <valgrind/valgrind.h>
#endif

extern "C" {
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): names of the linker's
// --wrap
void* __real_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset);
void* __wrap_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset);
}

namespace weir::io {
namespace {

// NOLINTBEGIN: the stats registry, filled before main()

// Stacks in use: address space without guard pages, most of it never touched.
ObjectClass g_in_use({"stack", "coroutines"});
// Stacks that libst keeps for reuse, their memory given back; and the idle thread's.
ObjectClass g_kept({"stack_kept", "coroutines"});

// NOLINTEND

struct Registry {
    std::map<uintptr_t, Stack> by_top;
    Stack main;
    std::vector<Stack*> to_drop;
    uint64_t mapped = 0;
    uint64_t dropped = 0;
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

#if WEIR_GMC

// The heap check of gperftools looks for pointers in global data and not in mappings of our own:
// stacks come out of global data, as long as it lasts (3,700 of the usual ones); later ones make
// the check report what only they know.
constexpr size_t kArenaBytes = size_t{256} << 20;
constexpr size_t kLargestPage = size_t{64} << 10;  // that a kernel may have (arm64)

void* take_from_arena(size_t size) {
    alignas(kLargestPage) static char arena[kArenaBytes];
    static size_t used = 0;
    const size_t page = registry().page;
    const size_t rounded = (size + page - 1) / page * page;
    if (rounded > kArenaBytes - used) {
        return nullptr;
    }
    return arena + std::exchange(used, used + rounded);
}

#else

void* take_from_arena(size_t) {
    return nullptr;
}

#endif

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
#if WEIR_VALGRIND
    // Before its first use, or valgrind takes the switch to it for a huge jump of one stack. Never
    // taken back: libst keeps every stack.
    (void)VALGRIND_STACK_REGISTER(stack.bottom, top - 1);
#endif
    r.mapped++;
    g_kept.made(stack.size);
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

void mark_in_use(Stack& stack) {
    stack.in_use = true;
    g_kept.ended(stack.size);
    g_in_use.made(stack.size);
}

void mark_for_drop(Stack& stack) {
    stack.in_use = false;
    g_in_use.ended(stack.size);
    g_kept.made(stack.size);
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
            r.dropped++;
        }
    }
    return !r.to_drop.empty();
}

WEIR_NO_ASAN void wipe_dead_parts() {
    Registry& r = registry();
    for (auto& [top, stack] : r.by_top) {
        if (stack.live == nullptr) {
            continue;
        }
        const auto live = reinterpret_cast<uintptr_t>(stack.live);
        char* page = reinterpret_cast<char*>(live & ~(r.page - 1));
        if (page > stack.bottom) {
            madvise(stack.bottom, static_cast<size_t>(page - stack.bottom), MADV_DONTNEED);
        }
        // By volatile words, and not by memset: that one asks the sanitizer about dead frames.
        for (auto* word = reinterpret_cast<volatile uintptr_t*>(page);
             word < reinterpret_cast<volatile uintptr_t*>(live & ~(sizeof(uintptr_t) - 1));
             word++) {
            *word = 0;
        }
    }
}

Stack& main_stack() {
    return registry().main;
}

size_t take_guard_failures() {
    return std::exchange(registry().guard_failures, 0);
}

StackTotals stack_totals() {
    const Registry& r = registry();
    return {r.mapped, g_in_use.bytes() + g_kept.bytes(), r.dropped};
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

#if WEIR_ASAN

namespace {

// A call keeps the address of its fake frame on the real stack.
WEIR_NO_ASAN void add_fake_frames(const Stack& stack, std::vector<StackRange>& frames) {
    if (stack.live == nullptr || stack.fake == nullptr) {
        return;
    }
    const auto live = reinterpret_cast<uintptr_t>(stack.live) & ~(sizeof(uintptr_t) - 1);
    const auto top = reinterpret_cast<uintptr_t>(stack.bottom) + stack.size;
    for (uintptr_t at = live; at < top; at += sizeof(uintptr_t)) {
        void* begin = nullptr;
        void* end = nullptr;
        void* word = reinterpret_cast<void*>(*reinterpret_cast<const uintptr_t*>(at));
        if (__asan_addr_is_in_fake_stack(stack.fake, word, &begin, &end) != nullptr) {
            const auto* first = static_cast<const char*>(begin);
            frames.push_back({first, static_cast<size_t>(static_cast<const char*>(end) - first)});
        }
    }
}

}  // namespace

std::vector<StackRange> fake_frames() {
    std::vector<StackRange> frames;
    const Registry& r = registry();
    add_fake_frames(r.main, frames);
    for (const auto& [top, stack] : r.by_top) {
        add_fake_frames(stack, frames);
    }
    std::ranges::sort(frames, {}, &StackRange::begin);
    const auto same = std::ranges::unique(frames, {}, &StackRange::begin);
    frames.erase(same.begin(), same.end());
    return frames;
}

#else

std::vector<StackRange> fake_frames() {
    return {};
}

#endif

uint64_t resident_stack_bytes(const std::vector<StackRange>& ranges) {
    constexpr size_t kPagesAtOnce = 4096;
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> resident(kPagesAtOnce);
    uint64_t pages = 0;
    for (const StackRange& range : ranges) {
        for (size_t at = 0; at < range.size; at += kPagesAtOnce * page) {
            const size_t part = std::min(range.size - at, kPagesAtOnce * page);
            if (mincore(const_cast<char*>(range.begin) + at, part, resident.data()) == 0) {
                pages += static_cast<uint64_t>(std::count_if(
                    resident.begin(), resident.begin() + static_cast<std::ptrdiff_t>(part / page),
                    [](unsigned char byte) { return (byte & 1) != 0; }));
            }
        }
    }
    return pages * page;
}

}  // namespace weir::io

// The wrapper is in this file, which the scheduler needs anyway, so that the linker always finds
// it.
void* __wrap_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
    const bool is_stack = weir::io::t_mapping_depth > 0;
    void* mapping = is_stack ? weir::io::take_from_arena(size) : nullptr;
    if (mapping == nullptr) {
        mapping = __real_mmap(address, size, protection, flags, fd, offset);
    }
    if (is_stack && mapping != MAP_FAILED) {
        weir::io::on_stack_mapped(static_cast<char*>(mapping), size);
    }
    return mapping;
}
