// The last few answers, by id, in memory of their own outside the heap: keeping one never shows as
// growth in the next check. Those that somebody has read make room first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace weir::diagnosis {

inline constexpr size_t kMaxLeakAnswer = 1024 * 1024;  // bytes of JSON
inline constexpr size_t kKeptLeakAnswers = 16;

class LeakStore {
  public:
    // Reserves address space; memory is used as answers come. kSystem.
    static Result<std::unique_ptr<LeakStore>> create();
    ~LeakStore();
    LeakStore(const LeakStore&) = delete;
    LeakStore& operator=(const LeakStore&) = delete;

    // Replaces, when full, the oldest that was read, else the oldest. `id` is more than that of any
    // answer before, `text` at most kMaxLeakAnswer bytes. `status`: of HTTP.
    void put(uint64_t id, int status, std::string_view text);

    // Nothing when it is not kept any more.
    void mark_read(uint64_t id);

    struct AnswerView {
        int status = 0;
        std::string_view text;  // until the next put()
    };

    // nullopt: never stored, or replaced since.
    std::optional<AnswerView> find(uint64_t id) const;

  private:
    struct Slot {
        uint64_t id = 0;  // 0: unused
        int status = 0;
        bool read = false;
        size_t size = 0;
    };

    explicit LeakStore(char* memory) : memory_(memory) {}

    char* memory_;
    std::array<Slot, kKeptLeakAnswers> slots_;
};

}  // namespace weir::diagnosis
