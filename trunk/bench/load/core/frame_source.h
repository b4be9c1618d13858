// What a publisher sends and when: frames made to measure (synthetic.h) or those of a file in a
// loop, each with a stamp. Knows neither sockets nor clocks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "media/codec.h"

#include "bench/load/core/bitrate_plan.h"
#include "bench/load/core/media_file.h"

namespace weir::load {

struct SourceMessage {
    media::TrackKind kind = media::TrackKind::kData;
    uint32_t time_ms = 0;
    Bytes body;
};

class FrameSource {
  public:
    virtual ~FrameSource() = default;
    FrameSource() = default;
    FrameSource(const FrameSource&) = delete;
    FrameSource& operator=(const FrameSource&) = delete;

    // What goes before the first frame: metadata, sequence headers.
    virtual std::vector<SourceMessage> opening() const = 0;

    // When the next frame is due, microseconds from the first one on.
    virtual uint64_t next_due_us() const = 0;

    // Makes the next frame, stamped with `now_ns`. Fails when a file cannot be read any more.
    virtual Error next(uint64_t now_ns, SourceMessage& out) = 0;
};

// `plan` must outlive it. `number`: of the stream; `epoch`: of the publishing session.
std::unique_ptr<FrameSource> synthetic_source(const BitratePlan& plan,
                                              uint32_t number,
                                              uint32_t epoch);

// The file again and again. Its turns follow each other at the distance of its period, the same for
// both tracks: time never steps back and sound stays with picture.
std::unique_ptr<FrameSource> file_source(std::shared_ptr<const MediaFile> file,
                                         uint32_t number,
                                         uint32_t epoch);

}  // namespace weir::load
