// RecordService: which streams are recorded. It hears of publishers, and begins and ends recordings
// as the configuration says, or the API. doc/recording.md, doc/adr/0012-recording.md. All but
// look_around() and stop() never yield.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/signal.h"
#include "session/record/record_store.h"
#include "session/record/recording.h"
#include "stream/registry.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

class RecordService final : private stream::LifeObserver {
  public:
    // Streams that the API wants to be recorded or not, besides what is configured.
    static constexpr size_t kMaxWishes = 10'000;
    static constexpr size_t kMaxStores = 64;
    // For what other processes have recorded; who waited that long takes what is known.
    static constexpr Millis kLookWait{2'000};

    // What opens a folder; tests give their own.
    using MakeDisk = std::function<std::unique_ptr<RecordDisk>(const std::string& path)>;

    // Both must outlive this.
    RecordService(stream::Registry& registry,
                  RecordRules& rules,
                  MakeDisk make_disk = {},
                  io::MakeWorkers make_workers = io::WorkerPool::create);
    ~RecordService();  // stop() must have been called
    RecordService(const RecordService&) = delete;
    RecordService& operator=(const RecordService&) = delete;

    // A folder is configured: what a crash has left there is repaired now.
    void use_folder(const std::string& path);

    // By the API, until the stream is told otherwise: it is recorded now, and each time that it is
    // published. Of several processes all are told; RecordRules::records_here() says which of them
    // begins now. kBusy: it is recorded already. kUnsupported: no folder is configured for it.
    Error start(const stream::StreamKey& key);

    // The recording ends; the next publisher of the stream is treated as configured. kNotFound:
    // there is none.
    Error stop_recording(std::string_view id);
    Error stop_recording(const stream::StreamKey& key);

    // A finished file of this process, by file_id(). kNotFound.
    Error remove(std::string_view id);

    // Every 10 s.
    void tick();

    // Yields, kLookWait at most. Files that other processes of this server have begun or finished
    // are found then. Where there are none, it returns at once.
    void look_around();

    // Never yields. The same soon, and once a second at most.
    void look_soon();

    // Yields. Finishes all files. kTimeout: some could not be finished; the next start repairs
    // them.
    Error stop(io::Deadline deadline);

    const RecordStats& stats() const { return stats_; }

    uint64_t queued_bytes() const { return budget_.bytes; }

    size_t recording() const { return recordings_.size(); }

    // Of a finished file; the same after a restart.
    static std::string file_id(const RecordedFile& file);

    // A finished file of this process, by its id; of any process, by its name within a folder.
    // Null: there is none.
    const RecordedFile* find_file(std::string_view id) const;
    const RecordedFile* find_file_named(std::string_view file) const;

    const Recording* find(std::string_view id) const;
    const Recording* find(const stream::StreamKey& key) const;

    // visit(const Recording&)
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [key, recording] : recordings_) {
            visit(*recording);
        }
    }

    // visit(const RecordStore&)
    template <typename Visit>
    void for_each_store(Visit&& visit) const {
        for (const auto& [path, store] : stores_) {
            visit(*store);
        }
    }

  private:
    void on_publish(stream::Stream& stream) override;
    void on_unpublish(stream::Stream& stream, stream::PublishEnd why) override;

    RecordStore* store_of(const std::string& path);
    Error begin(stream::Stream& stream, const RecordOptions& options);
    size_t growing() const;

    stream::Registry& registry_;
    RecordRules& rules_;
    MakeDisk make_disk_;
    io::MakeWorkers make_workers_;
    RecordStats stats_;
    RecordBudget budget_;
    io::Signal idle_;
    io::Signal looked_;
    bool stopping_ = false;
    std::map<stream::StreamKey, bool> wishes_;  // of the API: recorded
    std::map<std::string, std::unique_ptr<RecordStore>> stores_;
    std::map<stream::StreamKey, std::unique_ptr<Recording>> recordings_;
};

}  // namespace weir::session
