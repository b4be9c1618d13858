#include "io/leak_check.h"

#include "base/build.h"
#include "io/fiber.h"
#include "io/stacks.h"

#if WEIR_ASAN
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>

extern "C" {
// gcc installs no header for these three of the sanitizer's public interface.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
size_t __sanitizer_get_current_allocated_bytes();
size_t __sanitizer_get_heap_size();
const char* __sanitizer_get_report_path();
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}
#endif

namespace weir::io {

#if WEIR_ASAN

// Refers to sanitizer_options.cc, which nothing else would pull out of the archive.
const char* built_in_sanitizer_options();

namespace {

constexpr size_t kDropsPerTurn = 1024;
constexpr size_t kReportTail = 64 * 1024;

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
    const std::vector<StackRange> frames = fake_frames();
    roots.insert(roots.end(), frames.begin(), frames.end());
    return roots;
}

// Descriptor of the file that the sanitizer writes its reports to (log_path), else that of standard
// error. By the file and not by its name: that is a relative one when log_path is.
int report_descriptor() {
    const char* path = __sanitizer_get_report_path();

    struct stat wanted {};

    const bool is_file = path != nullptr && *path != '\0' && stat(path, &wanted) == 0;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(is_file ? opendir("/proc/self/fd") : nullptr,
                                                     &closedir);
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        struct stat found {};

        const int fd = std::atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fstat(fd, &found) == 0 && found.st_dev == wanted.st_dev &&
            found.st_ino == wanted.st_ino) {
            return fd;
        }
    }
    return STDERR_FILENO;
}

void set_report_descriptor(int fd) {
    // The interface takes the number in the clothes of a pointer.
    __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
}

std::string read_part(int fd, off_t at, size_t size) {
    std::string text(size, '\0');
    const ssize_t got = pread(fd, text.data(), text.size(), at);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
}

// All of it, or what fits of its begin and its end (the table of suppressions and the sum). A blank
// line stands behind each record: it is cut there, so that no half record is left.
std::string read_report(int fd, size_t limit) {
    const off_t end = std::max<off_t>(lseek(fd, 0, SEEK_END), 0);
    const auto size = static_cast<size_t>(end);
    if (size <= limit) {
        return read_part(fd, 0, size);
    }
    const size_t tail_size = std::min(limit / 4, kReportTail);
    std::string head = read_part(fd, 0, limit - tail_size);
    head.resize(std::min(head.rfind("\n\n"), head.size()));
    std::string tail = read_part(fd, end - static_cast<off_t>(tail_size), tail_size);
    tail.erase(0, std::min(tail.find("\n\n"), tail.size()));
    return head + tail;
}

// Takes what the sanitizer prints, outside the heap, which is being looked at.
class Print {
  public:
    Print() : memory_(memfd_create("leaks", MFD_CLOEXEC)) {}

    ~Print() {
        if (memory_ >= 0) {
            close(memory_);
        }
    }

    Print(const Print&) = delete;
    Print& operator=(const Print&) = delete;

    bool ready() const { return memory_ >= 0; }

    template <typename Work>
    void of(const Work& work) const {
        const int usual = report_descriptor();
        set_report_descriptor(memory_);
        work();
        set_report_descriptor(usual);
    }

    std::string text(size_t limit) const { return read_report(memory_, limit); }

  private:
    int memory_;
};

// Somebody traces this process, as the leak check itself wants to do.
bool is_traced() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        if (word == "TracerPid:") {
            int pid = 0;
            status >> pid;
            return pid != 0;
        }
    }
    return false;
}

// The last mention counts, as it does for the sanitizer.
bool is_turned_off() {
    for (const char* name : {"ASAN_OPTIONS", "LSAN_OPTIONS"}) {
        const char* value = std::getenv(name);
        const std::string options = value != nullptr ? value : "";
        const size_t at = options.rfind("detect_leaks=");
        if (at != std::string::npos) {
            const char set = options.c_str()[at + std::string_view("detect_leaks=").size()];
            if (set == '0' || set == 'f' || set == 'n') {
                return true;
            }
        }
    }
    return false;
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
    while (drop_ended_stacks(kDropsPerTurn)) {
    }
    wipe_dead_parts();
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

Result<SanitizerLeaks> sanitizer_leaks(size_t limit) {
    if (is_turned_off()) {
        return make_error(ErrorCode::kUnsupported,
                          "detect_leaks=0 in ASAN_OPTIONS or LSAN_OPTIONS turns leak checks off; "
                          "start the server without it");
    }
    if (is_traced()) {
        return make_error(ErrorCode::kBusy,
                          "a debugger or strace is attached, and a leak check would end the "
                          "process; detach it and ask again");
    }
    const Print report;
    const Print list;
    if (!report.ready() || !list.ready()) {
        return Error::from_errno(errno, "leak check: memfd_create");
    }
    bool found = false;
    report.of([&found] {
        const Result<bool> checked = check_leaks();
        found = checked.ok() && *checked;
    });
    // Whatever the sanitizer prints goes into the buffer of the next report as well, and that is
    // what --sanitizer-log shows: the list would leave no room for the report.
    if constexpr (WEIR_SANITIZER_LOG == 0) {
        list.of([] {
            constexpr size_t kAllOfIt = 100;  // percent
            __sanitizer_print_memory_profile(kAllOfIt, kMaxListedHeapStacks);
        });
    }
    // Before the texts are on the heap.
    SanitizerLeaks leaks;
    leaks.found = found;
    leaks.heap_bytes = __sanitizer_get_current_allocated_bytes();
    leaks.text = report.text(limit);
    leaks.heap = list.text(limit);
    return leaks;
}

SanitizerHeap sanitizer_heap() {
    return {__sanitizer_get_current_allocated_bytes(), __sanitizer_get_heap_size()};
}

#else

void install_leak_check() {}

Result<bool> check_leaks() {
    return make_error(ErrorCode::kUnsupported,
                      "leak checks need a build with ./configure --sanitizer=on");
}

Result<SanitizerLeaks> sanitizer_leaks(size_t) {
    return make_error(ErrorCode::kUnsupported,
                      "leak checks need a build with ./configure --sanitizer=on");
}

SanitizerHeap sanitizer_heap() {
    return {};
}

#endif

}  // namespace weir::io
