// SrtPump: sends one stream as MPEG-TS to all of its SRT players. One coroutine per stream.
//
// Players have no cursor of their own: once they have begun, all get the same batches, cut once
// for all, and what waits for one of them waits in the SRT engine, which bounds it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/object_count.h"
#include "io/signal.h"
#include "io/srt/srt_engine.h"
#include "net/client_table.h"
#include "net/play_rules.h"
#include "net/stream_pump.h"
#include "net/ts/ts_muxer.h"
#include "session/srt/srt_link.h"
#include "stream/stream.h"

namespace weir::session {

// Who plays. The owner removes it before either dies.
struct SrtPlayer {
    SrtLink& link;
    net::Client& client;
    MonoTime since;
    bool flowing = false;                // it has its first bytes
    std::function<void()> on_flow = {};  // when it gets them; may be empty. Must not yield
};

class SrtPump final : public net::StreamPump,
                      private stream::LogListener,
                      private Counted<SrtPump> {
  public:
    static constexpr ObjectName kObjectName{"srt_pump", "srt"};
    static const net::PumpKind kKind;
    static constexpr Millis kDrain{10};    // media of so long go together
    static constexpr Millis kLook{1'000};  // whether players wait in vain

    // Both must outlive this.
    SrtPump(stream::Stream& stream, io::SrtEngine& engine, const net::PumpOptions& options);
    ~SrtPump() override;
    SrtPump(const SrtPump&) = delete;
    SrtPump& operator=(const SrtPump&) = delete;

    void add(SrtPlayer& player);
    void remove(SrtPlayer& player);

    const net::PumpOptions& options() const { return options_; }

    // net::StreamPump
    void run() override;

    size_t players() const override { return players_.size(); }

    std::span<const net::TransportCount> by_transport() const override { return {&count_, 1}; }

    void reconfigure(const net::PumpOptions& options) override { options_ = options; }

    stream::Stream& stream() override { return stream_; }

  private:
    void on_log_change() override;
    void drain();
    void begin_waiting();
    void look(MonoTime now);

    stream::Stream& stream_;
    io::SrtEngine& engine_;
    net::PumpOptions options_;
    net::TsMuxer muxer_;
    std::vector<SrtPlayer*> players_;
    std::vector<io::SrtId> flowing_;  // of those that flow; made anew when it is `stale_`
    bool stale_ = false;
    stream::Cursor cursor_;  // of those that flow
    net::TransportCount count_{"srt", 0};
    io::Signal signal_;
    bool woken_ = false;
    bool used_ = false;  // a player has come
    MonoTime next_look_{};
};

}  // namespace weir::session
