// One publisher of a group: its life, whatever its protocol (publishers.cc has RTMP's,
// rtc_publisher.h WebRTC's). One coroutine runs it.
#pragma once

#include <memory>
#include <string>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/signal.h"

#include "bench/load/core/frame_source.h"
#include "bench/load/publishers.h"

namespace weir::load {

class Publisher {
  public:
    enum class State : uint8_t { kWaiting, kPublishing, kFailed, kStopped };

    Publisher(std::unique_ptr<FrameSource> source, PublishTotals& totals, io::Signal& changed)
        : source_(std::move(source)), totals_(totals), changed_(changed) {}

    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;
    virtual ~Publisher() = default;

    State state() const { return state_; }

    const std::string& failure() const { return failure_; }

    void ask_to_stop() { stop_ = true; }

    // Yields. The whole life: connects, publishes until asked to stop or something fails.
    void run(io::Deadline begin, Millis connect_timeout);

  protected:
    // All three yield.
    virtual Error connect(io::Deadline deadline) = 0;
    virtual Error publish() = 0;
    virtual void disconnect() = 0;

    bool asked_to_stop() const { return stop_; }

    FrameSource& source() { return *source_; }

    PublishTotals& totals() { return totals_; }

    // For a failure that another coroutine of the publisher sees.
    void note_failure(std::string why) { failure_ = std::move(why); }

  private:
    void enter(State state) {
        state_ = state;
        changed_.notify_all();
    }

    std::unique_ptr<FrameSource> source_;
    PublishTotals& totals_;
    io::Signal& changed_;
    std::string failure_;
    State state_ = State::kWaiting;
    bool stop_ = false;
};

}  // namespace weir::load
