// RecordVod: recordings as sessions of other protocols play them (net/vod_source.h). Each playback
// reads its files by itself, at most kAhead fragments before they are due, on threads that all of
// them share: a disk that hangs holds up playback and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/worker_pool.h"
#include "net/vod_source.h"
#include "session/record/record_service.h"
#include "session/record/vod_pieces.h"

namespace weir::net {
class Limits;
}

namespace weir::session {

class RecordVodSource;

class RecordVod final : public net::VodLibrary {
  public:
    static constexpr size_t kMaxPlaybacks = 1'000;     // at a time; more are kFull
    static constexpr size_t kMaxPlaybacksOfOne = 100;  // of one address, once half are taken
    static constexpr size_t kAhead = 2;                // fragments of one playback
    // Of all fragments that are read and not sent. Beyond it each playback has one fragment, and
    // none begins.
    static constexpr uint64_t kMaxHeldBytes = 512u << 20;
    static constexpr size_t kReaders = 2;  // threads

    // All must outlive this.
    RecordVod(RecordService& service,
              const RecordRules& rules,
              net::Limits& limits,
              io::MakeWorkers make_workers = io::WorkerPool::create)
        : service_(service),
          rules_(rules),
          limits_(limits),
          make_workers_(std::move(make_workers)) {}

    ~RecordVod();  // nothing may be open
    RecordVod(const RecordVod&) = delete;
    RecordVod& operator=(const RecordVod&) = delete;

    bool serves() const override { return rules_.plays_recordings(); }

    Result<std::unique_ptr<net::VodRecording>> find(const net::Policy& policy,
                                                    std::string_view vhost,
                                                    std::string_view path,
                                                    std::string_view query) override;
    Result<std::unique_ptr<net::VodSource>> open(std::unique_ptr<net::VodRecording> recording,
                                                 const io::SocketAddress& peer) override;

    // That are open now.
    size_t playbacks() const { return open_; }

  private:
    friend class RecordVodSource;

    RecordService& service_;
    const RecordRules& rules_;
    net::Limits& limits_;
    io::MakeWorkers make_workers_;
    std::unique_ptr<io::WorkerPool> readers_;  // since the first playback
    size_t open_ = 0;
    uint64_t held_bytes_ = 0;
};

}  // namespace weir::session
