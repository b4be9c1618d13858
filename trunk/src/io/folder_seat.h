// FolderSeat: which process of a server of several this is, as far as folders have to know into
// which all of them write: each has files and a list of its own there.
// doc/adr/0016-recording-processes.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::io {

struct FolderSeat {
    static constexpr uint32_t kMaxSeats = 64;

    uint32_t index = 0;
    uint32_t count = 1;
    // The same in all processes of the server, and in no other server; empty: there is one process.
    std::string server;

    // A name that each process has for itself: the first one as it is, so that it is that of a
    // server of one process.
    static std::string name_of(std::string_view name, uint32_t index) {
        return index == 0 ? std::string(name) : std::string(name) + "-" + std::to_string(index);
    }
};

}  // namespace weir::io
