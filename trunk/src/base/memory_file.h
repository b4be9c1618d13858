// MemoryFile: memory in slots of one size that is a file, too (memfd_create): the kernel can send
// from it without a copy (sendfile). Blocks of logs lie in it (doc/adr/0005).
//
// What was sent stays in use by the kernel until the peer has it. So a slot that was sent is
// punched out of the file when it is given back: the kernel keeps the old pages, and the next owner
// writes to new ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir {

class MemoryFile {
  public:
    struct Slot {
        uint8_t* data = nullptr;  // kSlotBytes
        uint64_t offset = 0;      // of it in the file
    };

    static constexpr size_t kSlotBytes = 64 * 1024;
    static constexpr size_t kChunkSlots = 64;       // made at once
    static constexpr size_t kMaxSlots = 64 * 1024;  // 4 GiB

    // The one of the process; never destroyed, as blocks may outlive all else.
    static MemoryFile& instance();

    // Nothing: the system has no such files, does not let this one grow, or all slots are taken.
    std::optional<Slot> take();

    // `sent`: the kernel may still have pages of it.
    void give_back(const Slot& slot, bool sent);

    // -1: the system has none.
    int file() const { return file_; }

    // Slots that were ever made.
    size_t slots() const { return slots_; }

  private:
    MemoryFile();

    bool grow();

    int file_;
    std::vector<Slot> free_;
    size_t slots_ = 0;
};

}  // namespace weir
