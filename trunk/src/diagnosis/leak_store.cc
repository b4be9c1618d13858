#include "diagnosis/leak_store.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/mman.h>

namespace weir::diagnosis {

Result<std::unique_ptr<LeakStore>> LeakStore::create() {
    void* memory = mmap(nullptr, kKeptLeakAnswers * kMaxLeakAnswer, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return Error::from_errno(errno, "memory for the answers of leak checks");
    }
    return std::unique_ptr<LeakStore>(new LeakStore(static_cast<char*>(memory)));
}

LeakStore::~LeakStore() {
    munmap(memory_, kKeptLeakAnswers * kMaxLeakAnswer);
}

void LeakStore::put(uint64_t id, int status, std::string_view text) {
    WEIR_CHECK(id != 0 && text.size() <= kMaxLeakAnswer);
    const auto slot = std::ranges::min_element(slots_, {}, [](const Slot& each) {
        return std::pair(each.id != 0 && !each.read, each.id);
    });
    const auto index = static_cast<size_t>(slot - slots_.begin());
    std::ranges::copy(text, memory_ + index * kMaxLeakAnswer);
    *slot = {.id = id, .status = status, .size = text.size()};
}

void LeakStore::mark_read(uint64_t id) {
    const auto slot = std::ranges::find(slots_, id, &Slot::id);
    if (id != 0 && slot != slots_.end()) {
        slot->read = true;
    }
}

std::optional<LeakStore::AnswerView> LeakStore::find(uint64_t id) const {
    const auto slot = std::ranges::find(slots_, id, &Slot::id);
    if (id == 0 || slot == slots_.end()) {
        return std::nullopt;
    }
    const auto index = static_cast<size_t>(slot - slots_.begin());
    return AnswerView{slot->status, {memory_ + index * kMaxLeakAnswer, slot->size}};
}

}  // namespace weir::diagnosis
