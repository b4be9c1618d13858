#include "base/memory_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

namespace weir {

MemoryFile& MemoryFile::instance() {
    static auto* memory = new MemoryFile;  // lint: allow-new, never destroyed
    return *memory;
}

MemoryFile::MemoryFile() : file_(memfd_create("weir-log", MFD_CLOEXEC)) {
    if (file_ < 0) {
        log::warn(
            "memfd_create is not allowed here ({}), so sendfile cannot be used: large writes to "
            "players are copied instead; a sandbox that forbids the call costs some processor "
            "time, "
            "and no more",
            Error::from_errno(errno, "memfd_create").message());
    }
}

bool MemoryFile::grow() {
    constexpr size_t kBytes = kChunkSlots * kSlotBytes;
    const uint64_t begin = slots_ * kSlotBytes;
    rlimit limit{};
    // Beyond the limit, ftruncate() ends the process by a signal.
    const bool allowed = file_ >= 0 && slots_ + kChunkSlots <= kMaxSlots &&
                         getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= begin + kBytes;
    if (!allowed || ftruncate(file_, static_cast<off_t>(begin + kBytes)) != 0) {
        return false;
    }
    void* mapped =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(begin));
    if (mapped == MAP_FAILED) {
        return false;
    }
    for (size_t at = kBytes; at > 0; at -= kSlotBytes) {
        free_.push_back({static_cast<uint8_t*>(mapped) + at - kSlotBytes, begin + at - kSlotBytes});
    }
    slots_ += kChunkSlots;
    return true;
}

std::optional<MemoryFile::Slot> MemoryFile::take() {
    if (free_.empty() && !grow()) {
        return std::nullopt;
    }
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
}

void MemoryFile::give_back(const Slot& slot, bool sent) {
    // Always, when many are free: they would keep the memory of the busiest moment.
    if (sent || free_.size() >= kChunkSlots) {
        const int failed = fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                     static_cast<off_t>(slot.offset), kSlotBytes);
        if (failed != 0 && sent) {
            return;  // never used again: what is under way stays as it is
        }
    }
    free_.push_back(slot);
}

}  // namespace weir
