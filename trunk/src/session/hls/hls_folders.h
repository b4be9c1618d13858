// HlsFolders: all folders of `hls { path; }`, and the threads that read what is asked for of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "io/worker_pool.h"
#include "net/http/exchange.h"
#include "session/hls/hls_folder.h"

namespace weir::io {
class Deadline;
}

namespace weir::session {

class HlsFolders {
  public:
    static constexpr size_t kMaxFolders = 64;
    static constexpr size_t kReaders = 2;      // threads
    static constexpr size_t kMaxReads = 4096;  // that wait for them; more requests are a 503

    // What opens a folder; tests give their own.
    using MakeDisk = std::function<std::unique_ptr<HlsDisk>(const std::string& path)>;

    // What `on_stored` refers to must outlive this.
    explicit HlsFolders(HlsFolder::OnStored on_stored,
                        MakeDisk make_disk = {},
                        io::MakeWorkers make_workers = io::WorkerPool::create);

    // A folder is configured: what an earlier server has left there goes now. Null: it cannot be
    // used, and the log says why.
    HlsFolder* use(const std::string& path);

    // Every 10 s.
    void tick();

    // Yields. All streams have been left.
    void stop(io::Deadline deadline);

    // Yields. Answers with a file below a root. The name is one that HlsArchive gave. The bytes
    // that the answer has; 0: it was refused.
    uint64_t answer(net::HttpExchange& exchange,
                    const std::string& root,
                    const std::string& file,
                    std::string_view content_type,
                    std::string_view cache);

    const HlsDiskStats& stats() const { return stats_; }

    // visit(const HlsFolder&)
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [path, folder] : folders_) {
            visit(*folder);
        }
    }

  private:
    HlsFolder::OnStored on_stored_;
    MakeDisk make_disk_;
    io::MakeWorkers make_workers_;
    HlsDiskStats stats_;
    std::map<std::string, std::unique_ptr<HlsFolder>> folders_;
    std::unique_ptr<io::WorkerPool> readers_;  // since the first request
};

}  // namespace weir::session
