#include "app/processes/process_seat.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace weir::app {

std::string seat_argument(const ProcessSeat& seat, int control, bool single_port) {
    return fmt::format("{}{}/{},{}{}", kSeatOption, seat.index, seat.count, control,
                       single_port ? ",1" : "");
}

std::optional<SeatArgument> parse_seat(std::string_view text) {
    const Halves halves = split_once(text, ',');
    const Halves seat = split_once(halves.before, '/');
    const auto index = parse_uint(seat.before, 0, kMaxProcesses - 1);
    const auto count = parse_uint(seat.after, 2, kMaxProcesses);
    const Halves rest = split_once(halves.after, ',');
    const auto control = parse_uint(rest.before, 3, 1'000'000);
    if (!index || !count || !control || *index >= *count || (rest.found && rest.after != "1")) {
        return std::nullopt;
    }
    return SeatArgument{{static_cast<uint32_t>(*index), static_cast<uint32_t>(*count)},
                        static_cast<int>(*control),
                        rest.found};
}

}  // namespace weir::app
