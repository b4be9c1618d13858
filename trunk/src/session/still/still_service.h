// GET /app/stream.jpg: the newest key frame of a live stream as a picture, by the rules for playing
// it. Decoded by a thread of its own when somebody asks, at most once a second for a stream;
// whoever asks meanwhile gets the same picture. doc/publish-and-play.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "io/signal.h"
#include "io/worker_pool.h"
#include "net/admission.h"
#include "net/http/router.h"
#include "net/services.h"

namespace weir::session {

struct StillStats {
    uint64_t made = 0;
    uint64_t answered = 0;
    uint64_t failed = 0;  // frames of which no picture could be made
};

// Implemented by app/. Never yields.
class StillRules {
  public:
    virtual bool has_stills(const stream::StreamKey& key) const = 0;

  protected:
    ~StillRules() = default;
};

class StillService {
  public:
    static constexpr const char* kTransport = "jpg";
    static constexpr Millis kMaxAge{1'000};
    static constexpr Millis kKeyFrameWait{5'000};  // of a stream that has begun just now
    static constexpr Millis kMakeWait{10'000};     // for the picture that somebody else asked for
    static constexpr Millis kForget{30'000};       // a picture that nobody asks for
    static constexpr Millis kTracksSettle{2'000};  // then a stream without video has none
    static constexpr size_t kMaxPictures = 10'000;
    static constexpr size_t kMaxBytes = 64u << 20;  // of all; the one asked for longest ago goes
    static constexpr size_t kMaxJobs = 256;         // that wait for the thread; more are a 503

    using MakeWorkers =
        std::function<Result<std::unique_ptr<io::WorkerPool>>(size_t threads, size_t queue_limit)>;

    // All must outlive this.
    StillService(const net::Services& services, const StillRules& rules, MakeWorkers make_workers)
        : services_(services), rules_(rules), make_workers_(std::move(make_workers)) {}

    // This object must outlive the router's server.
    void add_to(net::HttpRouter& router);

    // Every 10 s.
    void tick(MonoTime now);

    const StillStats& stats() const { return stats_; }

    size_t pictures() const { return pictures_.size(); }

    size_t bytes() const { return bytes_; }

  private:
    struct Picture {
        std::shared_ptr<const Bytes> jpeg;  // null: none could be made
        std::string why;
        int64_t time_ms = -1;   // of its frame, on the stream's timeline
        MonoTime live_since{};  // of its publisher: another one's times may be the same
        MonoTime made{};
        MonoTime asked{};
        bool busy = false;
        io::Signal done;
    };

    void handle(net::HttpExchange& exchange);
    void answer(net::HttpExchange& exchange, const stream::StreamKey& key);
    Error find(const stream::StreamKey& key, std::shared_ptr<Picture>& out);
    bool is_new_enough(const stream::StreamKey& key, const Picture& picture) const;
    Error make(const stream::StreamKey& key, Picture& picture);
    void keep(Picture& picture, std::shared_ptr<const Bytes> jpeg);

    net::Services services_;
    net::Admission admission_{services_};
    const StillRules& rules_;
    MakeWorkers make_workers_;
    StillStats stats_;
    size_t bytes_ = 0;  // of pictures_
    std::map<stream::StreamKey, std::shared_ptr<Picture>> pictures_;
    std::unique_ptr<io::WorkerPool> maker_;  // since the first request
};

}  // namespace weir::session
