// FileWrites: whether large writes to players go by sendfile, which copies nothing
// (base/memory_file.h, doc/adr/0005). One for all pumps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory_file.h"

namespace weir::net {

class FileWrites {
  public:
    // Below it, the copy costs less than the handling of pages.
    static constexpr size_t kLeast = 16 * 1024;

    // A log gets its blocks from the file after so many large writes to so many players: a few
    // that join are no reason, and new pages of the file cost more than the copies for a few.
    static constexpr uint32_t kWritesToBegin = 64;
    static constexpr size_t kLeastPlayers = 4;

    void set_wanted(bool wanted) { wanted_ = wanted; }

    // Wanted, allowed, and the system has such files.
    bool on() const { return wanted_ && !refused_ && MemoryFile::instance().file() >= 0; }

    // After a failed call. False: the connection is at fault. Else there will be no more such
    // calls; the log says so, once.
    bool refuse(int error_number);

  private:
    bool wanted_ = true;
    bool refused_ = false;
};

}  // namespace weir::net
