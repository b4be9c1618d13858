// What a recording says of itself, whatever its format: how far it is whole, its frames, its
// duration, and what is to be written at its end. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "session/record/record_options.h"

namespace weir::session {

class RecordScan {
  public:
    struct Advance {
        uint64_t bytes = 0;
        size_t need = 0;
    };  // as of mp4::FileScan

    struct Patch {
        uint64_t offset = 0;
        Bytes bytes;
    };

    static std::unique_ptr<RecordScan> create(RecordFormat format);

    RecordScan() = default;
    RecordScan(const RecordScan&) = delete;
    RecordScan& operator=(const RecordScan&) = delete;
    virtual ~RecordScan() = default;

    virtual Advance advance(ByteSpan window, uint64_t left) = 0;
    virtual uint64_t position() const = 0;
    virtual bool playable() const = 0;
    virtual uint64_t frames() const = 0;
    // -1: the file does not say it.
    virtual int64_t duration_ms() const = 0;
    virtual std::vector<Patch> patches() const = 0;

    // Written behind position().
    virtual Bytes index() const { return {}; }

    // All whole units of `bytes`, which follow what was taken.
    void take(ByteSpan bytes);
};

}  // namespace weir::session
