#include "base/memory_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace weir {
namespace {

using Slot = MemoryFile::Slot;

std::array<uint8_t, 4> in_file(uint64_t offset) {
    std::array<uint8_t, 4> bytes{};
    EXPECT_EQ(pread(MemoryFile::instance().file(), bytes.data(), bytes.size(),
                    static_cast<off_t>(offset)),
              4);
    return bytes;
}

TEST(MemoryFileTest, WhatIsWrittenToASlotStandsInTheFileAtItsPlace) {
    MemoryFile& memory = MemoryFile::instance();
    const Slot slot = memory.take().value();
    std::memcpy(slot.data + 1000, "weir", 4);
    EXPECT_EQ(in_file(slot.offset + 1000), (std::array<uint8_t, 4>{'w', 'e', 'i', 'r'}));
    memory.give_back(slot, false);
}

TEST(MemoryFileTest, SlotsAreApartAndAreUsedAgain) {
    MemoryFile& memory = MemoryFile::instance();
    std::vector<Slot> taken;
    std::set<uint64_t> places;
    for (size_t i = 0; i < MemoryFile::kChunkSlots + 1; i++) {
        taken.push_back(memory.take().value());
        places.insert(taken.back().offset);
        std::memset(taken.back().data, static_cast<int>(i), MemoryFile::kSlotBytes);
    }
    EXPECT_EQ(places.size(), taken.size());
    for (size_t i = 0; i < taken.size(); i++) {
        EXPECT_TRUE(std::all_of(taken[i].data, taken[i].data + MemoryFile::kSlotBytes,
                                [i](uint8_t byte) { return byte == static_cast<uint8_t>(i); }));
    }
    const size_t made = memory.slots();
    for (const Slot& slot : taken) {
        memory.give_back(slot, true);
    }
    for (Slot& slot : taken) {
        slot = memory.take().value();
    }
    EXPECT_EQ(memory.slots(), made);
    for (const Slot& slot : taken) {
        memory.give_back(slot, false);
    }
}

// The kernel may still have its pages; these are new ones.
TEST(MemoryFileTest, ASlotThatWasSentComesBackEmpty) {
    MemoryFile& memory = MemoryFile::instance();
    const Slot slot = memory.take().value();
    std::memset(slot.data, 7, MemoryFile::kSlotBytes);
    memory.give_back(slot, true);
    const Slot again = memory.take().value();
    ASSERT_EQ(again.offset, slot.offset);
    EXPECT_TRUE(std::all_of(again.data, again.data + MemoryFile::kSlotBytes,
                            [](uint8_t byte) { return byte == 0; }));
    memory.give_back(again, false);
}

TEST(MemoryFileTest, ALimitOfTheSizeOfFilesGivesNoSlotAndNoSignal) {
    MemoryFile& memory = MemoryFile::instance();
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{memory.slots() * MemoryFile::kSlotBytes, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    std::vector<Slot> taken;
    while (const std::optional<Slot> slot = memory.take()) {
        taken.push_back(*slot);
    }
    EXPECT_EQ(taken.size(), memory.slots());
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    for (const Slot& slot : taken) {
        memory.give_back(slot, false);
    }
}

}  // namespace
}  // namespace weir
