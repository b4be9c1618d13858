// Sources that the API has added, beside those of the configuration, and the file that keeps them
// where the operator names one (sources_file). It holds logins: only its owner may read it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "io/signal.h"
#include "io/worker_pool.h"
#include "net/source/source_spec.h"

namespace weir::app {

// What POST /api/v1/sources says, which is what the file says of each. kMalformed names the field
// and what was expected, and holds nothing of a URL, which may have a secret.
Result<net::SourceSpec> read_source(const nlohmann::json& json);

class AddedSources {
  public:
    static constexpr size_t kMost = 10'000;
    static constexpr size_t kMaxFileBytes = 32 << 20;
    static constexpr Millis kSaveWait{5'000};  // for those who save before
    // How often it is tried whether another process has written.
    static constexpr Millis kLockRetry{20};

    // Also called by a worker's thread.
    using IsOwn = std::function<bool(const stream::StreamKey&)>;

    // Blocks for the disk; before the server serves. Empty: they live as long as the process. A
    // file that is not there yet holds none. `is_own`: what this process has of a file that several
    // have together, the same of a stream as long as it runs; empty: all. kSystem, kMalformed: says
    // what is wrong with the file.
    Error load(const std::string& path, IsOwn is_own = {});

    // Must outlive this; before add() and remove().
    void set_workers(io::WorkerPool* workers) { workers_ = workers; }

    // Yield where there is a file. Nothing has changed after an error: kBusy, the stream has one
    // already; kFull, there are kMost; kNotFound, it has none; kSystem, the file cannot be written;
    // kTimeout, others are at it.
    Error add(net::SourceSpec spec);
    Error remove(const stream::StreamKey& key);

    const std::map<stream::StreamKey, net::SourceSpec>& all() const { return all_; }

  private:
    Error save();
    Error write(const std::map<stream::StreamKey, net::SourceSpec>& own);

    std::string path_;
    IsOwn is_own_;
    std::map<stream::StreamKey, net::SourceSpec> all_;
    io::WorkerPool* workers_ = nullptr;
    io::Signal saved_;
    bool saving_ = false;
};

}  // namespace weir::app
