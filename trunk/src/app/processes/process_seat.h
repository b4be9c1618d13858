// ProcessSeat: which of several processes of one server this is. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::app {

struct ProcessSeat {
    uint32_t index = 0;
    uint32_t count = 1;

    bool is_one_of_many() const { return count > 1; }

    bool operator==(const ProcessSeat&) const = default;
};

inline constexpr uint32_t kMaxProcesses = 64;
inline constexpr std::string_view kSeatOption = "--seat=";

// "--seat=2/4,5": how a supervisor starts a process. `control`: the descriptor by which they speak.
// With ",1" behind it all have one port for WebRTC, whatever the configuration says by now.
std::string seat_argument(const ProcessSeat& seat, int control, bool single_port = false);

struct SeatArgument {
    ProcessSeat seat;
    int control = -1;
    bool single_port = false;
};

// Without kSeatOption in front. None: it is no such argument.
std::optional<SeatArgument> parse_seat(std::string_view text);

}  // namespace weir::app
