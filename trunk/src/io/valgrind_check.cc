#include "io/valgrind_check.h"

#include "base/build.h"

#if WEIR_VALGRIND
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>
#include <valgrind/memcheck.h>
#endif

namespace weir::io {

#if WEIR_VALGRIND

namespace {

// A regular file that this process (or valgrind on its behalf) has open for writing.
struct OpenFile {
    std::string path;  // of the descriptor in /proc: also leads to a file that was renamed
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
};

bool is_written_to(const char* descriptor) {
    std::ifstream info(std::string("/proc/self/fdinfo/") + descriptor);
    std::string word;
    while (info >> word) {
        if (word == "flags:") {
            unsigned flags = 0;
            info >> std::oct >> flags;
            return (flags & O_ACCMODE) != O_RDONLY;
        }
    }
    return false;
}

// Valgrind hides its own descriptors from system calls that take one, but not from /proc.
std::vector<OpenFile> open_files() {
    std::vector<OpenFile> files;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), &closedir);
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        if (entry->d_name[0] == '.' || !is_written_to(entry->d_name)) {
            continue;
        }
        OpenFile file;
        file.path = std::string("/proc/self/fd/") + entry->d_name;

        struct stat status {};

        if (stat(file.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
            continue;
        }
        file.device = status.st_dev;
        file.inode = status.st_ino;
        file.size = status.st_size;
        const bool known = std::ranges::any_of(files, [&](const OpenFile& other) {
            return other.device == file.device && other.inode == file.inode;
        });
        if (!known) {
            files.push_back(std::move(file));
        }
    }
    return files;
}

// What was appended since, at most the last `limit` bytes of it. Blocks: regular files only.
std::string appended_to(const OpenFile& file, size_t limit, int& error_number) {
    const int fd = open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        error_number = errno;
        return {};
    }

    struct stat status {};

    std::string text;
    if (fstat(fd, &status) == 0 && status.st_size > file.size) {
        const auto wanted = std::min(static_cast<size_t>(status.st_size - file.size), limit);
        text.resize(wanted);
        const ssize_t got =
            pread(fd, text.data(), wanted, status.st_size - static_cast<off_t>(wanted));
        text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    }
    close(fd);
    return text;
}

// The part between the two lines of ours; from the first whole line on when the first one is cut
// off.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
    const size_t last = text.rfind(end);
    if (last == std::string::npos) {
        return {};
    }
    size_t first = text.rfind(begin, last);
    first = text.find('\n', first == std::string::npos ? 0 : first);
    return first >= last ? std::string() : text.substr(first + 1, last - first - 1);
}

void find_text(const std::vector<OpenFile>& files,
               const std::string& begin,
               const std::string& end,
               size_t limit,
               ValgrindReport& report) {
    int error_number = 0;
    for (const OpenFile& file : files) {
        report.text = between(appended_to(file, limit, error_number), begin, end);
        if (!report.text.empty()) {
            return;
        }
    }
    report.no_text =
        error_number == 0
            ? "valgrind does not write its log into a regular file; start it with --log-file=FILE "
              "and the records come here"
            : std::string("valgrind's log cannot be read: ") + std::strerror(error_number) +
                  "; start valgrind with a --log-file=FILE that the user of the server may read";
}

void request(ValgrindCheck check) {
    switch (check) {
        case ValgrindCheck::kFull: VALGRIND_DO_LEAK_CHECK; return;
        case ValgrindCheck::kAdded: VALGRIND_DO_ADDED_LEAK_CHECK; return;
        case ValgrindCheck::kChanged: VALGRIND_DO_CHANGED_LEAK_CHECK; return;
        case ValgrindCheck::kQuick: VALGRIND_DO_QUICK_LEAK_CHECK; return;
        case ValgrindCheck::kNew:
#ifdef VALGRIND_DO_NEW_LEAK_CHECK
            VALGRIND_DO_NEW_LEAK_CHECK;
#endif
            return;
    }
}

}  // namespace

bool on_valgrind() {
    return RUNNING_ON_VALGRIND != 0;
}

bool knows_new_valgrind_check() {
#ifdef VALGRIND_DO_NEW_LEAK_CHECK
    return true;
#else
    return false;
#endif
}

Result<ValgrindReport> valgrind_leak_check(ValgrindCheck check, size_t limit) {
    if (!on_valgrind()) {
        return make_error(ErrorCode::kUnsupported, "the server does not run under valgrind");
    }
    if (check == ValgrindCheck::kNew && !knows_new_valgrind_check()) {
        return make_error(ErrorCode::kUnsupported,
                          "check=new needs valgrind 3.21 or later; this server was built with the "
                          "header of an earlier one");
    }
    static uint64_t number = 0;
    number++;
    const std::string begin = fmt::format("weir leak check {} begins", number);
    const std::string end = fmt::format("** weir leak check {} ends", number);
    ValgrindReport report;
    const std::vector<OpenFile> files = open_files();
    VALGRIND_PRINTF("%s\n", begin.c_str());
    request(check);
    VALGRIND_COUNT_LEAKS(report.bytes.lost, report.bytes.possibly, report.bytes.reachable,
                         report.bytes.suppressed);
    VALGRIND_COUNT_LEAK_BLOCKS(report.blocks.lost, report.blocks.possibly, report.blocks.reachable,
                               report.blocks.suppressed);
    VALGRIND_PRINTF("** weir leak check %lu ends\n", static_cast<unsigned long>(number));
    find_text(files, begin, end, limit, report);
    if (report.text.find("unknown memcheck leak search deltamode") != std::string::npos) {
        return make_error(ErrorCode::kUnsupported,
                          "the valgrind that runs this server does not know check=new (3.21 and "
                          "later do); take check=added");
    }
    return report;
}

#else

bool on_valgrind() {
    return false;
}

bool knows_new_valgrind_check() {
    return false;
}

Result<ValgrindReport> valgrind_leak_check(ValgrindCheck, size_t) {
    return make_error(ErrorCode::kUnsupported,
                      "this build knows nothing of valgrind; ./configure --valgrind=on && make");
}

#endif

}  // namespace weir::io
