#include "app/processes/process_placement.h"

namespace weir::app {

uint32_t ProcessPlacement::home_of(const stream::StreamKey& key) const {
    const StreamOwner owner = link_.find(key);
    return owner.epoch != 0 ? owner.process : link_.home_of(key);
}

std::optional<uint32_t> ProcessPlacement::better_process(const stream::StreamKey& key,
                                                         net::PlaceBy by) {
    const std::optional<uint32_t> home = other(home_of(key));
    if (!home || by == net::PlaceBy::kSession) {
        return home;
    }
    const stream::Stream* const here = registry_.find(key);
    const bool is_here = here != nullptr && here->live();
    const bool is_busy = max_percent_ == 0 || link_.busy_of(*home) * 100 > max_percent_;
    return is_here || is_busy ? std::nullopt : home;
}

std::optional<uint32_t> ProcessPlacement::other(uint64_t process) const {
    const bool runs =
        process < link_.seat().count && link_.busy_of(static_cast<uint32_t>(process)) < 1.0;
    return runs && process != own() ? std::optional(static_cast<uint32_t>(process)) : std::nullopt;
}

}  // namespace weir::app
