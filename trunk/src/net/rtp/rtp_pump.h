// RtpPump: sends one stream's RtpLog to all players of one profile. One coroutine per stream and
// profile.
//
// As net::Pump, with two differences: every frame goes out at once (delay is what RTP is for), and
// a player is held back by its own pace instead of a full socket.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "io/signal.h"
#include "net/rtp/rtp_log_writer.h"
#include "net/rtp/rtp_player.h"
#include "net/stream_pump.h"
#include "stream/wire_log.h"

namespace weir::stream {
class Stream;
}

namespace weir::net {

struct PumpOptions;

struct RtpPumpOptions {
    Millis wait_publisher{30'000};  // a player waits this long for a (new) publisher
    const char* transport = "rtp";  // of its players; a literal
};

class RtpPump : public StreamPump, private stream::LogListener {
  public:
    static constexpr size_t kRunsPerTurn = 8;        // of one player, before others have a turn
    static constexpr Millis kSlice{2};               // then the reactor runs
    static constexpr Micros kPaceTick{5'000};        // held back players are looked at this often
    static constexpr Micros kLookPeriod{1'000'000};  // and all of them this often

    // `stream` must outlive this.
    RtpPump(stream::Stream& stream,
            const RtpPumpOptions& options,
            std::unique_ptr<RtpLogWriter> writer);
    ~RtpPump() override;
    RtpPump(const RtpPump&) = delete;
    RtpPump& operator=(const RtpPump&) = delete;

    // Returns when idle() or interrupted.
    void run() override;

    // Of `options`, wait_publisher counts here.
    void reconfigure(const PumpOptions& options) override;

    void add(RtpPlayer& player);
    void remove(RtpPlayer& player);

    // All players are looked at when those that can have sent.
    void look_soon();

    // Something can be sent again: the log has grown, a path takes more.
    void wake();

    size_t players() const override { return by_transport_.players; }

    std::span<const TransportCount> by_transport() const override { return {&by_transport_, 1}; }

    // Nobody holds it: a session counts from its offer on, before it plays.
    void hold() { holders_++; }

    void release() {
        holders_--;
        wake();
    }

    bool idle() const { return holders_ == 0; }

    stream::Stream& stream() override { return stream_; }

    RtpLogWriter& writer() { return *writer_; }

    const RtpLogWriter& writer() const { return *writer_; }

  private:
    using Place = RtpPlayer::Place;
    using List = std::vector<RtpPlayer*>;

    void on_log_change() override;

    List& list(Place place) { return lists_[static_cast<size_t>(place) - 1]; }

    void move(RtpPlayer& player, Place place);
    bool serve(Place place);
    void look(MonoTime now);

    stream::Stream& stream_;
    RtpPumpOptions options_;
    std::unique_ptr<RtpLogWriter> writer_;
    List lists_[3];
    TransportCount by_transport_;  // all that are in lists_
    size_t holders_ = 0;
    io::Signal signal_;
    bool woken_ = false;
    MonoTime next_look_{};
};

}  // namespace weir::net
