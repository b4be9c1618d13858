// What the recorder needs of a disk. All of it blocks, and is called on the writer's thread of its
// folder only: by a RecordDisk (record_folder.h in the server, something slow or full in tests).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "session/record/record_options.h"
#include "session/record/record_siblings.h"

namespace weir::session {

// A file that is to be made.
struct FileOrder {
    stream::StreamKey key;
    RecordFormat format = RecordFormat::kMp4;
    std::string name;  // within the folder, without its end; a number is added if it is taken
    std::string section;
    int64_t started_ms = 0;  // wall clock
};

class GrowingFile {
  public:
    GrowingFile() = default;
    GrowingFile(const GrowingFile&) = delete;
    GrowingFile& operator=(const GrowingFile&) = delete;
    virtual ~GrowingFile() = default;

    // Within the folder, as it is called while it grows.
    virtual const std::string& name() const = 0;

    // Whole units of the format: the beginning, a fragment, tags, packets. After an error nothing
    // of the unit is part of the file.
    virtual Error append(ByteSpan bytes) = 0;

    // Fills in what is known at the end only, and gives the file its name. A file without frames is
    // removed: `frames` is 0 then. `fallback_ms`: its duration where the file does not say it.
    virtual Result<RecordedFile> finish(std::string_view why, int64_t fallback_ms) = 0;
};

class RecordDisk {
  public:
    RecordDisk() = default;
    RecordDisk(const RecordDisk&) = delete;
    RecordDisk& operator=(const RecordDisk&) = delete;
    virtual ~RecordDisk() = default;

    // Called once, before anything else, and again after an error: claims the folder, repairs what
    // a crash of this process has left, and tells which files this process has recorded, the oldest
    // first. kBusy: another server records into it.
    virtual Result<std::vector<RecordedFile>> open() = 0;

    virtual Result<std::unique_ptr<GrowingFile>> create(const FileOrder& order) = 0;

    // Of the file system, for who is no superuser.
    virtual Result<uint64_t> free_bytes() = 0;

    // A finished file of this process; kNotFound is no failure of the disk.
    virtual Error remove(const std::string& file) = 0;

    // Called once, on the media thread. Null: no other process records into this folder.
    virtual std::unique_ptr<RecordSiblings> siblings() const { return nullptr; }
};

}  // namespace weir::session
