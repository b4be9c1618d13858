// Pump: sends one wire log to all of its players. One coroutine per stream and format
// (doc/adr/0005-fan-out.md).
//
// A flowing player is written to when the merge window has passed since its last write; the list of
// flowing players is ordered by that time, so a pass costs what it writes. These times are rounded
// down to slots, so that players who joined at different moments share wake-ups. A blocked one
// waits for its socket. Joining, leaving and answers of the peers happen in the reactor's event
// handlers; the pump's own passes yield by budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/object_count.h"
#include "io/signal.h"
#include "net/audio_ride.h"
#include "net/play_rules.h"
#include "net/player.h"
#include "net/stream_pump.h"
#include "stream/muxer.h"
#include "stream/wire_log.h"

namespace weir::io {
class TcpStream;
}

namespace weir::stream {
class Stream;
}

namespace weir::net {

class Client;
class Fanout;
class FileWrites;
struct PumpStats;

class Pump final : public StreamPump, private stream::LogListener, private Counted<Pump> {
  public:
    static constexpr ObjectName kObjectName{"pump", "fan_out"};

    // Then the reactor runs: small writes are counted, of large ones a few take as long.
    static constexpr size_t kWritesPerSlice = 256;
    static constexpr Millis kSlice{2};
    // Of one player: 16 MiB; and where several have a turn without a yield.
    static constexpr int kMaxWritesInARow = 64;
    static constexpr int kMaxWritesNow = 4;
    // Up to so many players are written to by the coroutine that all small pumps share.
    static constexpr size_t kSmall = 8;
    static constexpr Millis kSweepPeriod{250};  // slow and waiting players are looked at this often

    Pump(Fanout& fanout,
         stream::Stream& stream,
         const stream::Format& format,
         const PumpOptions& options);
    ~Pump() override;
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    // Returns when the last player has left, or when interrupted.
    void run() override;

    void add(std::unique_ptr<io::TcpStream> stream,
             std::unique_ptr<PlayerProtocol> protocol,
             std::unique_ptr<Client> client);

    void reconfigure(const PumpOptions& options) override;

    size_t players() const override {
        return waiting_.size() + flowing_.size() + blocked_.size() + paused_.size();
    }

    size_t waiting() const { return waiting_.size(); }

    std::span<const TransportCount> by_transport() const override { return by_transport_; }

    stream::Stream& stream() override { return stream_; }

    const stream::Format& format() const { return format_; }

    stream::Muxer& muxer() { return *muxer_; }

    stream::WireLog& log() { return muxer_->log(); }

  private:
    friend class Player;
    friend class Fanout;

    PumpStats& stats();
    FileWrites& file_writes();
    void on_log_change() override;
    bool rides();
    void notice();

    // Whether the audio that began to wait then still does.
    bool rides_since(MonoTime time) const { return ride_.waits() && ride_.since() == time; }

    // It goes out.
    void end_ride();
    Millis window() const;
    Micros slot() const;
    MonoTime slot_of(MonoTime time) const;
    // Counts a write. Yields when the slice that began at `slice_begin` is used up, and begins the
    // next. False: interrupted.
    bool spend_slice(size_t& writes, MonoTime& slice_begin);
    void pass(MonoTime now);
    // Never yields. A pass over a few players who are not kept waiting.
    void write_now(MonoTime now);
    void sweep(MonoTime now);
    void sweep_blocked(MonoTime now);
    void sweep_waiting(MonoTime now);
    void start_waiting(MonoTime now);
    // Of another edition of the muxer, those players who were told something else.
    void end_misfits();
    void begin(Player& player, MonoTime now);
    void tell_wait(Player& player);
    bool is_due(const Player& player) const;
    bool first_is_behind() const;
    bool outran_sweep() const;
    Micros until_next_due(MonoTime now) const;
    void write_to(Player& player, MonoTime now, int most = kMaxWritesInARow);
    void enter(Player& player, Player::State state, MonoTime now);
    void pause(Player& player);
    void resume(Player& player);
    // `detail`: for the log and hooks, in place of the reason's own words.
    void end(Player& player, EndReason reason, std::string_view detail = {});
    // The duration that the player asked for is over: it goes back to its session.
    void complete(Player& player);
    // Of a piece of the log that lies in the heap.
    void note_large_write();
    void limit_stall(io::TcpStream& stream) const;
    void release(Player& player);
    void count(const Client& client, bool comes);
    void wake();
    void bury();
    PlayerList* list_of(Player::State state);

    Fanout& fanout_;
    stream::Stream& stream_;
    const stream::Format& format_;
    PumpOptions options_;
    std::unique_ptr<stream::Muxer> muxer_;
    PlayerList waiting_;
    PlayerList flowing_;
    PlayerList blocked_;
    PlayerList paused_;
    std::vector<TransportCount> by_transport_;
    PlayerList ended_;  // until the next pass: an event of this batch may still name them
    AudioRide ride_;
    uint32_t large_writes_ = 0;
    uint32_t edition_ = 0;  // of the muxer, that all players fit
    io::Signal signal_;
    bool woken_ = false;
    bool queued_ = false;  // for Fanout::write_soon()
    bool due_armed_ = false;
    MonoTime next_sweep_{};
    uint64_t swept_head_ = 0;  // the log's head at the last sweep
};

}  // namespace weir::net
