// What the configuration says of recording, for a stream; and how the recorder asks for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stream/stream_key.h"

namespace weir::session {

enum class RecordFormat : uint8_t { kMp4, kFlv, kTs };

// "mp4", "flv", "ts": the end of the file's name as well.
std::string_view to_string(RecordFormat format);

struct RecordOptions {
    bool enabled = false;
    std::string path;  // the folder; empty: nothing can be recorded
    RecordFormat format = RecordFormat::kMp4;
    std::string name = "{vhost}/{app}/{stream}/{time}";
    int64_t fragment_ms = 2'000;  // what a crash may cost
    int64_t split_ms = 0;         // 0: not by time
    uint64_t split_bytes = 0;     // 0: not by size
    bool split_midnight = false;
    // Finished files are removed, the oldest first; 0: not for that reason.
    int64_t keep_ms = 0;
    uint64_t keep_bytes = 0;
    std::string section;  // whose files keep_bytes counts together
    bool play = false;    // finished files are played at /vod/
};

// A file that is finished.
struct RecordedFile {
    stream::StreamKey key;
    std::string folder;  // as configured
    std::string file;    // within it
    std::string format;
    std::string section;
    int64_t started_ms = 0;  // wall clock
    int64_t ended_ms = 0;
    int64_t duration_ms = 0;  // of its media
    uint64_t bytes = 0;
    uint64_t frames = 0;
    std::string why;        // "unpublish", "split", "gap", "stop", "repaired" ...
    bool repaired = false;  // after a crash
    bool fresh = false;     // repaired just now
    // Another process of this server that has recorded it, and alone removes it; none: this one.
    std::optional<uint32_t> elsewhere = {};
};

// Implemented by app/. Never yields.
class RecordRules {
  public:
    virtual RecordOptions record_options(const stream::StreamKey& key) const = 0;

    // What has to stay free on the file system of that folder; 0: nothing.
    virtual uint64_t min_free_of(const std::string& /*folder*/) const { return 0; }

    // Some stream has `playback`.
    virtual bool plays_recordings() const { return false; }

    // This process is the one that records that stream, when the API asks for it; else another one
    // of the server does.
    virtual bool records_here(const stream::StreamKey& /*key*/) const { return true; }

    // A file is finished: hooks are told.
    virtual void on_recorded(const RecordedFile& file) = 0;

  protected:
    ~RecordRules() = default;
};

}  // namespace weir::session
