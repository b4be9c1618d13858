// A VoiceLine in time: what one phone says, each 20 ms, on a worker where its codec needs that.
// Frames come out on the media thread, in order. Never yields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/object_count.h"
#include "io/worker_pool.h"
#include "session/sip/voice_line.h"

namespace weir::session {

class SipVoice final : private Counted<SipVoice> {
  public:
    // What one phone says, each 20 ms.
    static constexpr ObjectName kObjectName{"sip_voice", "sip"};
    static constexpr size_t kMaxPending = 128;  // packets and ticks that wait for a worker
    static constexpr int kMaxTicks = 5;         // at once, when the media thread was busy

    // `skipped`: ticks of 20 ms that were left out before this frame, since time had run out.
    using Output = std::function<void(MonoTime now, ByteSpan frame, uint32_t skipped)>;

    // `workers` must outlive this; null: only for what needs none (VoiceLine::needs_worker()).
    // `name`: of the stream, for the line that says why there is no audio. `out` is not called
    // after this is gone.
    SipVoice(const VoiceOptions& options,
             io::WorkerPool* workers,
             std::string name,
             uint64_t noise_seed,
             Output out);
    ~SipVoice();
    SipVoice(const SipVoice&) = delete;
    SipVoice& operator=(const SipVoice&) = delete;

    const VoiceOptions& options() const { return options_; }

    void handle_packet(MonoTime now, const rtp::PlayoutPacketView& packet);

    // Often; does what is due.
    void tick(MonoTime now);

    // One tick, for an owner that counts the time itself.
    void step(MonoTime now);

    // As of the newest tick that is done.
    const rtp::PlayoutStats& stats() const { return stats_; }

    bool silent() const { return silent_; }

    // Packets and ticks that no worker had time for.
    uint64_t dropped() const { return dropped_; }

  private:
    struct Event {
        MonoTime at{};
        bool tick = false;
        rtp::PlayoutPacketView packet;  // without its payload
        Bytes payload;
    };

    struct Shared;

    void pend(Event event);
    void start();
    void finish();
    void give(ByteSpan frame);

    VoiceOptions options_;
    io::WorkerPool* workers_;
    std::string name_;
    Output out_;
    std::unique_ptr<VoiceLine> line_;  // where no worker is needed
    std::shared_ptr<Shared> shared_;   // with the worker, which may be at it when this goes
    std::vector<Event> pending_;
    MonoTime due_{};  // of the next tick
    uint32_t skipped_ = 0;
    uint64_t dropped_ = 0;
    rtp::PlayoutStats stats_;
    bool silent_ = true;
    log::Throttle trouble_{Millis(1000)};
};

}  // namespace weir::session
