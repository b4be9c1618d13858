// RtcPump: sends one stream's RtpLog to all of its WebRTC players. One coroutine per stream.
//
// As net::Pump, with two differences: every frame goes out at once (delay is what WebRTC is for),
// and a player is held back by its own pace instead of a full socket.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/object_count.h"
#include "io/coroutine.h"
#include "net/pump.h"
#include "session/webrtc/rtc_player.h"
#include "session/webrtc/rtp_muxer.h"
#include "stream/stream.h"

namespace weir::session {

// A session that plays, as the pump sees it.
class PumpedPlayer {
  public:
    // Sends what it can; kCaughtUp also while it is not connected yet.
    virtual RtcPlayer::Flush flush(MonoTime now, size_t most_runs) = 0;

    // Once a second. A player that must go says so.
    struct Fate {
        bool go_on = true;
        std::string_view reason;  // a literal
    };

    virtual Fate look(MonoTime now) = 0;
    // `reason`: a literal. May remove itself.
    virtual void end_playing(net::EndClass why, std::string_view reason) = 0;

  protected:
    virtual ~PumpedPlayer() = default;

  private:
    friend class RtcPump;

    enum class Place : uint8_t { kNowhere, kFlowing, kPaced, kBlocked };

    Place place_ = Place::kNowhere;
    size_t index_ = 0;  // in its list
};

class RtcPump final : private stream::LogListener, private Counted<RtcPump> {
  public:
    static constexpr ObjectName kObjectName{"rtc_pump", "webrtc"};
    static constexpr size_t kCountedInside = sizeof(RtpMuxer);
    static constexpr size_t kRunsPerTurn = 8;        // of one player, before others have a turn
    static constexpr Millis kSlice{2};               // then the reactor runs
    static constexpr Micros kPaceTick{5'000};        // held back players are looked at this often
    static constexpr Micros kLookPeriod{1'000'000};  // and all of them this often

    // `workers`, `opus_bps`: see RtpMuxer.
    RtcPump(stream::Stream& stream,
            Millis wait_publisher,
            io::WorkerPool* workers,
            int64_t opus_bps);
    ~RtcPump();
    RtcPump(const RtcPump&) = delete;
    RtcPump& operator=(const RtcPump&) = delete;

    // The body of the pump's coroutine. Yields. Returns when idle() or interrupted.
    void run();

    void add(PumpedPlayer& player);
    void remove(PumpedPlayer& player);

    // It has become able to take something.
    void wake();

    size_t players() const { return lists_[0].size() + lists_[1].size() + lists_[2].size(); }

    // Nobody holds it: a session counts from its offer on, before it plays.
    void hold() { holders_++; }

    void release() {
        holders_--;
        wake();
    }

    bool idle() const { return holders_ == 0; }

    stream::Stream& stream() { return stream_; }

    RtpMuxer& muxer() { return muxer_; }

  private:
    using Place = PumpedPlayer::Place;
    using List = std::vector<PumpedPlayer*>;

    void on_log_change() override;

    List& list(Place place) { return lists_[static_cast<size_t>(place) - 1]; }

    void move(PumpedPlayer& player, Place place);
    bool serve(Place place);
    void look(MonoTime now);

    stream::Stream& stream_;
    Millis wait_publisher_;
    RtpMuxer muxer_;
    List lists_[3];
    size_t holders_ = 0;
    io::Signal signal_;
    bool woken_ = false;
    MonoTime next_look_{};
};

}  // namespace weir::session
