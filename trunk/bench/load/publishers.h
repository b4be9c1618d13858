// Publishers over RTMP, RTSP or WebRTC, synthetic or of a file in a loop: any number in this
// process, each at its own pace, two coroutines each. Or cameras, which wait until they are played
// (rtsp_cameras.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/signal.h"
#include "io/srt/srt_engine.h"
#include "io/tcp.h"

#include "bench/load/core/bitrate_plan.h"
#include "bench/load/core/frame_source.h"
#include "bench/load/core/histogram.h"
#include "bench/load/core/media_file.h"
#include "bench/load/core/options.h"
#include "bench/load/core/report.h"
#include "bench/load/core/units.h"

namespace weir::load {

// Options about the stream itself.
struct StreamOptions {
    StreamShape shape;
    std::string file;  // what to publish instead of synthetic frames; empty: none
    uint32_t streams = 1;
    bool by_udp = false;       // RTSP: packets go by UDP
    bool serve = false;        // RTSP: this process is the server, at the address of the URL
    Millis outage_every{0};    // of served ones, the last fails so often; 0: never
    Millis outage_for{2'000};  // and is away for so long

    // `rate_name`, `file_name`: what the options of bit rate and file are called.
    void add_to(OptionTable& table, std::string_view rate_name, std::string_view file_name);

    bool wanted() const { return shape.bits_per_second > 0 || !file.empty(); }
};

struct PublishTotals {
    Histogram lag;  // microseconds behind the schedule when a frame was made
    uint64_t frames = 0;
    uint64_t bytes = 0;  // of media messages
};

class Publisher;
class RtspCameras;
struct RtcPublishShared;

class PublisherGroup {
  public:
    // Publishes `streams` streams to the URL, whose "%d" is the number of the stream; http:// is
    // WebRTC (WHIP). Or serves them there. kMalformed: no "%d" though there are several, or the
    // file is broken; kBusy: the port to serve at.
    static Result<std::unique_ptr<PublisherGroup>> create(const std::string& url,
                                                          const StreamOptions& options);
    ~PublisherGroup();  // stop() must have been called if start() was
    PublisherGroup(const PublisherGroup&) = delete;
    PublisherGroup& operator=(const PublisherGroup&) = delete;

    // Starts all of them, spread evenly over `ramp`.
    Error start(Millis ramp, Millis connect_timeout);

    // Yields. Until each has started or failed, or the deadline passed (kTimeout), or one failed
    // (its error).
    Error wait_started(io::Deadline deadline);

    // Yields. Unpublishes and ends them all.
    void stop();

    size_t size() const;

    size_t started() const;  // now publishing; all cameras, once they can be asked

    // Of cameras: that are played now.
    size_t played() const;

    size_t failed() const;

    // Why the first one failed; empty when none did.
    std::string first_failure() const;

    const PublishTotals& totals() const { return totals_; }

    // Forgets what was counted: the measured window begins.
    void reset_totals() { totals_ = PublishTotals(); }

    void add_to(Report& report, double window_seconds) const;

    // Mean bit rate of each stream's messages.
    double bits_per_second() const;

    // Whether the frames of the track carry stamps, so that players can verify them.
    bool is_stamped(media::TrackKind kind) const;

  private:
    explicit PublisherGroup(const io::SocketAddress& address);

    Error add_all(const std::string& url, const StreamOptions& options);
    void add(const Url& url, uint32_t number);
    std::unique_ptr<FrameSource> source_of(uint32_t number) const;

    std::optional<BitratePlan> plan_;        // one of the two
    std::shared_ptr<const MediaFile> file_;  // for all of them
    io::SocketAddress address_;
    PublishTotals totals_;
    std::unique_ptr<RtcPublishShared> rtc_;  // over WebRTC; outlives the publishers
    std::unique_ptr<io::SrtEngine> srt_;     // by SRT; outlives the publishers
    std::vector<std::unique_ptr<Publisher>> publishers_;
    std::unique_ptr<RtspCameras> cameras_;  // instead of publishers
    io::TaskGroup tasks_;
    io::Signal changed_;
};

}  // namespace weir::load
