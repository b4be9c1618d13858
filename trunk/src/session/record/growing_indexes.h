// GrowingIndexes: what playlists over recordings that grow are made of. A player asks for such a
// playlist every few seconds: the file stays open meanwhile, and only what was added since is gone
// through. On the media thread, but for Lease::read().
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "io/signal.h"
#include "proto/mp4/file_index.h"
#include "session/record/record_service.h"
#include "session/record/vod_file.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

class GrowingIndexes {
    // One file. Of a reader thread while a request has it.
    struct Scan {
        std::unique_ptr<VodFile> file;  // null: not open yet
        bool taken = false;
        io::Signal free;
    };

  public:
    static constexpr size_t kMaxFiles = 64;  // further ones are read from their beginning
    static constexpr Millis kKeep{60'000};   // a file that nobody asks for

    // A request that has a file for itself, until this goes. A request takes one at most.
    class Lease {
      public:
        Lease() = default;
        Lease(Lease&&) noexcept = default;
        Lease& operator=(Lease&&) noexcept = delete;
        ~Lease();

        // Blocks: for a reader thread. As read_vod_index().
        Result<mp4::FileIndex> read(const VodPiece& piece);

      private:
        friend class GrowingIndexes;
        std::shared_ptr<Scan> scan_;  // null: there are kMaxFiles
    };

    // Yields while another request has it. Of a piece that grows. kTimeout, kInterrupted.
    Result<Lease> take(const VodPiece& piece, io::Deadline deadline);

    // Every few seconds; never yields. Closes files that are finished, or that nobody asks for.
    void tick(const RecordService& service, MonoTime now);

    size_t size() const { return scans_.size(); }

  private:
    struct Entry {
        RecordedFile file;
        std::shared_ptr<Scan> scan;
        MonoTime asked_at;
    };

    // By path, and when the file was begun: names may come again.
    std::map<std::pair<std::string, int64_t>, Entry> scans_;
};

}  // namespace weir::session
