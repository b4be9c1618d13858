// RecordSeat: which process of a server of several this is, as far as folders of recordings have to
// know. All have the same folders: each writes its own files and its own journal, and reads the
// journals of the others. doc/adr/0016-recording-processes.md.
#pragma once

#include <cstdint>
#include <string>

namespace weir::session {

struct RecordSeat {
    static constexpr uint32_t kMaxSeats = 64;

    uint32_t index = 0;
    uint32_t count = 1;
    // The same in all processes of the server, and in no other server; empty: there is one process.
    std::string server;
};

}  // namespace weir::session
