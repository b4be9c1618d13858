#include "diagnosis/profilers.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#if WEIR_CPU_PROFILER
#include <gperftools/profiler.h>
#endif
#if WEIR_HEAP_PROFILER
#include <gperftools/heap-profiler.h>
#endif

namespace weir::diagnosis {
namespace {

constexpr const char* kCpuFile = "gperf.weir.gcp";
constexpr const char* kHeapPrefix = "gperf.weir.gmp";

[[maybe_unused]] Error not_running(std::string_view which) {
    return make_error(ErrorCode::kNotFound, "no {} profile is running; ?action=start starts one",
                      which);
}

[[maybe_unused]] Error already_running(std::string_view which) {
    return make_error(
        ErrorCode::kBusy,
        "a {} profile is running; ?action=dump gives what it has so far, ?action=stop ends it",
        which);
}

[[maybe_unused]] Error no_profiler(std::string_view which, std::string_view flags) {
    return make_error(ErrorCode::kUnsupported,
                      "this build has no {} profiler; build one with: ./configure {} && make",
                      which, flags);
}

}  // namespace

CpuProfileFile::CpuProfileFile(CpuProfileFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      file_bytes_(other.file_bytes_),
      tail_(std::move(other.tail_)),
      goes_on_(other.goes_on_) {}

CpuProfileFile::~CpuProfileFile() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

Error CpuProfileFile::measure() {
    struct stat file {};

    if (fstat(fd_, &file) != 0) {
        return Error::from_errno(errno, "the size of the CPU profile");
    }
    file_bytes_ = static_cast<uint64_t>(file.st_size);
    if (goes_on_) {
        // The end that gperftools writes when it stops: an empty record, and where the code lies.
        const std::array<uintptr_t, 3> trailer = {0, 1, 0};
        std::ifstream maps("/proc/self/maps");
        tail_.assign(reinterpret_cast<const char*>(trailer.data()), sizeof trailer);
        tail_.append(std::istreambuf_iterator<char>(maps), {});
    }
    return {};
}

Result<size_t> CpuProfileFile::read(uint64_t at, std::span<uint8_t> out) const {
    if (at >= file_bytes_) {
        const size_t begin = std::min<size_t>(at - file_bytes_, tail_.size());
        return tail_.copy(reinterpret_cast<char*>(out.data()), out.size(), begin);
    }
    const size_t wanted = std::min<size_t>(out.size(), file_bytes_ - at);
    const ssize_t got = pread(fd_, out.data(), wanted, static_cast<off_t>(at));
    if (got < 0) {
        return Error::from_errno(errno, "read the CPU profile");
    }
    return static_cast<size_t>(got);
}

#if WEIR_CPU_PROFILER

namespace {

struct CpuProfile {
    std::string path;  // empty: in memory
    int memory_fd = -1;
    MonoTime begun{};
    std::string ended;  // why it was ended before its time; it waits to be taken
};

CpuProfile& cpu_profile() {
    static CpuProfile* instance = std::make_unique<CpuProfile>().release();
    return *instance;
}

void forget_memory(CpuProfile& profile) {
    if (profile.memory_fd >= 0) {
        close(std::exchange(profile.memory_fd, -1));
    }
    profile.ended.clear();
}

// What the profiler has written until now.
Result<CpuProfileFile> open_cpu_profile(bool goes_on) {
    const CpuProfile& profile = cpu_profile();
    const char* from_environment = std::getenv("CPUPROFILE");
    const char* path = !profile.path.empty()         ? profile.path.c_str()
                       : from_environment != nullptr ? from_environment
                                                     : kCpuFile;
    const int fd = profile.memory_fd >= 0 ? fcntl(profile.memory_fd, F_DUPFD_CLOEXEC, 0)
                                          : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return Error::from_errno(
            errno, profile.memory_fd >= 0 ? "the CPU profile: duplicate a descriptor" : path);
    }
    return CpuProfileFile(fd, goes_on);
}

}  // namespace

bool cpu_profile_running() {
    return ProfilingIsEnabledForAllThreads() != 0;
}

std::string cpu_profile_path() {
    return cpu_profile().path;
}

std::string cpu_profile_ended() {
    return cpu_profile().ended;
}

Error start_cpu_profile(const std::string& path) {
    if (cpu_profile_running()) {
        return already_running("CPU");
    }
    CpuProfile& profile = cpu_profile();
    forget_memory(profile);
    std::string opened = path;
    if (path.empty()) {
        // gperftools wants a name: that of a file which is nowhere but in memory.
        profile.memory_fd = memfd_create("weir-cpu-profile", MFD_CLOEXEC);
        if (profile.memory_fd < 0) {
            return Error::from_errno(errno, "memfd_create");
        }
        opened = fmt::format("/proc/self/fd/{}", profile.memory_fd);
    }
    if (ProfilerStart(opened.c_str()) == 0) {
        const int why = errno;
        forget_memory(profile);
        return make_error(ErrorCode::kSystem,
                          "the CPU profile {} cannot be written: {}; may this user write there?",
                          opened, std::strerror(why));
    }
    profile.path = path;
    profile.begun = MonoClock::now();
    return {};
}

void limit_cpu_profile(MonoTime now) {
    CpuProfile& profile = cpu_profile();
    if (profile.memory_fd < 0 || !cpu_profile_running()) {
        return;
    }

    struct stat file {};

    const bool large = fstat(profile.memory_fd, &file) == 0 &&
                       static_cast<uint64_t>(file.st_size) >= kMaxCpuProfile;
    if (!large && now - profile.begun < kMaxCpuProfileTime) {
        return;
    }
    ProfilerStop();
    profile.ended =
        large ? fmt::format("it has {} MiB", kMaxCpuProfile >> 20)
              : fmt::format("it has taken {} s",
                            std::chrono::duration_cast<Seconds>(kMaxCpuProfileTime).count());
    log::warn("CPU profile ended by itself: {}; ?action=stop gives it", profile.ended);
}

Result<CpuProfileFile> dump_cpu_profile() {
    if (!cpu_profile().ended.empty()) {
        return open_cpu_profile(false);
    }
    if (!cpu_profile_running()) {
        return not_running("CPU");
    }
    ProfilerFlush();
    return open_cpu_profile(true);
}

Result<CpuProfileFile> stop_cpu_profile() {
    CpuProfile& profile = cpu_profile();
    if (profile.ended.empty()) {
        if (!cpu_profile_running()) {
            return not_running("CPU");
        }
        ProfilerStop();
    }
    Result<CpuProfileFile> file = open_cpu_profile(false);
    if (!file.ok() && profile.memory_fd >= 0) {
        profile.ended = "it was stopped, and could not be given";
        return file;
    }
    forget_memory(profile);
    profile.path.clear();
    return file;
}

#else

bool cpu_profile_running() {
    return false;
}

std::string cpu_profile_path() {
    return {};
}

Error start_cpu_profile(const std::string&) {
    return no_profiler("CPU", "--gperf=on");
}

std::string cpu_profile_ended() {
    return {};
}

void limit_cpu_profile(MonoTime) {}

Result<CpuProfileFile> dump_cpu_profile() {
    return not_running("CPU");
}

Result<CpuProfileFile> stop_cpu_profile() {
    return not_running("CPU");
}

#endif

#if WEIR_HEAP_PROFILER

bool heap_profile_running() {
    return IsHeapProfilerRunning() != 0;
}

Error start_heap_profile(const std::string& prefix) {
    if (heap_profile_running()) {
        return already_running("heap");
    }
    HeapProfilerStart(prefix.c_str());
    return {};
}

Result<std::string> dump_heap_profile() {
    if (!heap_profile_running()) {
        return not_running("heap");
    }
    const std::unique_ptr<char, decltype(&std::free)> text(GetHeapProfile(), &std::free);
    return std::string(text.get());
}

Result<std::string> stop_heap_profile() {
    Result<std::string> text = dump_heap_profile();
    if (text.ok()) {
        HeapProfilerStop();
    }
    return text;
}

#else

bool heap_profile_running() {
    return false;
}

Error start_heap_profile(const std::string&) {
    return no_profiler("heap", "--gperf=on --gmp=on");
}

Result<std::string> dump_heap_profile() {
    return not_running("heap");
}

Result<std::string> stop_heap_profile() {
    return not_running("heap");
}

#endif

void start_whole_run_profiles() {
    if constexpr (WEIR_GCP != 0) {
        Error failed = cpu_profile_running() ? Error() : start_cpu_profile(kCpuFile);
        if (failed) {
            log::error("{}", failed.message());
        } else {
            log::info("CPU profile from start to end; then: google-pprof --text objs/weir {}",
                      kCpuFile);
        }
    }
    if constexpr (WEIR_GMP != 0) {
        Error failed = heap_profile_running() ? Error() : start_heap_profile(kHeapPrefix);
        if (failed) {
            log::error("{}", failed.message());
        } else {
            log::info("heap profile from start to end; then: google-pprof --text objs/weir {}.*",
                      kHeapPrefix);
        }
    }
}

void end_whole_run_profiles() {
#if WEIR_CPU_PROFILER
    if (cpu_profile_running()) {
        ProfilerStop();
    }
#endif
#if WEIR_HEAP_PROFILER
    if (heap_profile_running()) {
        HeapProfilerDump("the server ends");
        HeapProfilerStop();
    }
#endif
}

void enter_tool_settings([[maybe_unused]] char** arguments) {
    bool missing = false;
    const auto want = [&missing](const char* name, const char* value) {
        if (std::getenv(name) == nullptr) {
            setenv(name, value, 1);
            missing = true;
        }
    };
    if constexpr (WEIR_GMC != 0) {
        want("HEAPCHECK", "normal");
        setenv("PPROF_PATH", "/usr/bin/google-pprof", 0);
    }
    if constexpr (WEIR_HEAP_PROFILER != 0 && WEIR_GMP == 0) {
        want("HEAP_PROFILE_ALLOCATION_INTERVAL", "0");
        want("HEAP_PROFILE_INUSE_INTERVAL", "0");
    }
    if (missing) {
        // By its own name, which is the one that ps shows.
        std::error_code failed;
        const std::string program =
            std::filesystem::read_symlink("/proc/self/exe", failed).string();
        execv(failed ? "/proc/self/exe" : program.c_str(), arguments);
        log::error(
            "the settings of gperftools are not in force: the program cannot be started "
            "again with them: {}",
            std::strerror(errno));
    }
}

}  // namespace weir::diagnosis
