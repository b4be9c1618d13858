// HlsFolder: a folder of `hls { path; }` as the media thread sees it: its writer's thread, and the
// streams that have files in it. One turn of one stream is at the disk at a time; streams take
// turns. What does not fit into the queue is lost and counted, never waited for. Never yields,
// except stop().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "io/signal.h"
#include "io/worker_pool.h"
#include "session/hls/hls_archive.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

// Of all folders. Counters since the start, except the first.
struct HlsDiskStats {
    uint64_t queued_bytes = 0;  // that wait for disks
    uint64_t segments = 0;      // that were written
    uint64_t bytes = 0;         // with headers and playlists
    uint64_t lost = 0;          // segments that were not written
    uint64_t errors = 0;        // of disks
    uint64_t reads = 0;         // files that were answered from disks
};

class HlsFolder {
  public:
    static constexpr size_t kMaxStreams = 10'000;
    static constexpr uint64_t kMaxWaitingBytes = 256u << 20;  // of all folders
    static constexpr size_t kMaxJobs = 16;                    // one at a time is usual
    static constexpr Millis kRetry{2'000};  // a folder that could not be opened is tried again

    using OnStored = std::function<void(const HlsStoredView&)>;

    // `stats` and what `on_stored` refers to must outlive this. The folder is opened at once.
    static Result<std::unique_ptr<HlsFolder>> create(std::string path,
                                                     std::unique_ptr<HlsDisk> disk,
                                                     HlsDiskStats& stats,
                                                     OnStored on_stored,
                                                     const io::MakeWorkers& make_workers);
    ~HlsFolder();  // waits for the turn that is at the disk; no pump may have files here
    HlsFolder(const HlsFolder&) = delete;
    HlsFolder& operator=(const HlsFolder&) = delete;

    const std::string& path() const { return path_; }

    // The files of a stream, as long as the caller has not called leave(). What an earlier time of
    // the stream has left goes. Null: its name is in use, or there are too many.
    HlsArchive* begin(const stream::StreamKey& key, const HlsOptions& options);

    // What it has of a stream; null: nothing.
    const HlsArchive* find(const stream::StreamKey& key) const;

    // Streams that have files.
    size_t streams() const { return files_.size(); }

    // Why nothing is written; empty: it is.
    const std::string& trouble() const { return trouble_; }

    // Every 10 s: files of streams that have ended long ago go.
    void tick();

    // Yields. Until all is written that waits; all streams have been left. kTimeout.
    Error stop(io::Deadline deadline);

    // ---- for HlsArchive ----

    void want_turn(HlsArchive& files);

    bool has_room(uint64_t bytes) const { return stats_.queued_bytes + bytes <= kMaxWaitingBytes; }

    void note_waiting(int64_t bytes) { stats_.queued_bytes += static_cast<uint64_t>(bytes); }

    void note_lost();
    void note_too_slow();
    void note_stored(const HlsStoredView& stored);

    // What the disk is at now; null: not at that.
    const net::Segment* segment_at_disk(const HlsArchive& files, uint64_t number) const;

  private:
    struct AtDisk;

    HlsFolder(std::string path,
              std::unique_ptr<HlsDisk> disk,
              HlsDiskStats& stats,
              OnStored on_stored);

    void open();
    void go_on();
    void take_back();
    void note_trouble(std::string_view why);
    bool is_idle() const;

    std::string path_;
    std::unique_ptr<HlsDisk> disk_;
    HlsDiskStats& stats_;
    OnStored on_stored_;
    std::map<std::string, std::unique_ptr<HlsArchive>> files_;  // by folder_name()
    std::deque<HlsArchive*> queue_;
    std::unique_ptr<HlsArchive> replaced_;  // is at the disk, and another has its name
    std::unique_ptr<AtDisk> at_disk_;
    io::Signal idle_;
    std::string trouble_;
    uint64_t lost_in_trouble_ = 0;
    MonoTime retry_at_{};
    bool opening_ = false;
    bool opened_ = false;
    bool going_ = false;  // go_on() runs, or take_back()
    // Last: its thread ends before what its jobs refer to.
    std::unique_ptr<io::WorkerPool> pool_;
};

}  // namespace weir::session
