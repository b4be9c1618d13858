// Fanout: the pumps of the process, whatever they send by. Sessions over TCP hand a connection over
// to it when playing begins; others get their pump from it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "io/coroutine.h"
#include "io/signal.h"
#include "net/file_writes.h"
#include "net/merge_window.h"
#include "net/pump_stats.h"
#include "net/stream_pump.h"

namespace weir::io {
class Deadline;
class TcpStream;
}  // namespace weir::io

namespace weir::stream {
class Format;
class Registry;
class Stream;
struct StreamKey;
struct StreamOptions;
}  // namespace weir::stream

namespace weir::net {

class Client;
class PlayerProtocol;
class Pump;
struct PlayRules;
struct PumpOptions;

class Fanout {
  public:
    explicit Fanout(stream::Registry& registry);
    ~Fanout();  // stop() must have been called
    Fanout(const Fanout&) = delete;
    Fanout& operator=(const Fanout&) = delete;

    // From now on the connection belongs to the pump of the stream (client->key) and format. It
    // waits there while nobody publishes. The rules of the first player of a pump hold for all of
    // its players.
    void play(const PlayRules& rules,
              const stream::Format& format,
              std::unique_ptr<io::TcpStream> stream,
              std::unique_ptr<PlayerProtocol> protocol,
              std::unique_ptr<Client> client);

    // Asks for each pump what holds for its players from now on; none leaves it as it is. `ask`
    // must not yield.
    void reconfigure(
        const std::function<std::optional<PumpOptions>(const stream::StreamKey&)>& ask);

    // The pump of that stream and kind. Where there is none, `make` makes it and its coroutine
    // begins. kInterrupted: the server is stopping; kSystem: no coroutine could be had.
    Result<StreamPump*> pump_for(
        const stream::StreamKey& key,
        const stream::StreamOptions& options,
        const PumpKind& kind,
        const std::function<std::unique_ptr<StreamPump>(stream::Stream&)>& make);

    // nullptr: there is none.
    StreamPump* find(const stream::Stream& stream, const PumpKind& kind) const;

    // visit(StreamPump&) for all of one kind, which must not yield.
    template <typename Visit>
    void for_each(const PumpKind& kind, Visit&& visit) const {
        for (const auto& [key, pump] : pumps_) {
            if (key.second == kind.id) {
                visit(*pump);
            }
        }
    }

    // Players of a stream, over all kinds.
    size_t players(const stream::Stream& stream) const;

    // The same by transport. `visit(const TransportCount&)`; one may come twice.
    template <typename Visit>
    void for_each_transport(const stream::Stream& stream, Visit&& visit) const {
        for (auto at = pumps_.lower_bound({&stream, nullptr});
             at != pumps_.end() && at->first.first == &stream; ++at) {
            for (const TransportCount& count : at->second->by_transport()) {
                visit(count);
            }
        }
    }

    size_t pumps() const { return pumps_.size(); }

    MergeWindow& automatic_window() { return window_; }

    FileWrites& file_writes() { return file_writes_; }

    const FileWrites& file_writes() const { return file_writes_; }

    PumpStats& stats() { return stats_; }

    const PumpStats& stats() const { return stats_; }

    // The pump has a few players and something for them at once: they are written to when the
    // coroutines that are ready now have run. Thousands of small streams share one coroutine for
    // that; waking a pump of its own for each message costs more than the write.
    void write_soon(Pump& pump);

    // Audio of the pump waits for video since `now`: Pump::end_ride() comes AudioRide::kLongest
    // later. One coroutine looks after all pumps.
    void end_ride_later(Pump& pump, MonoTime now);

    // It is going.
    void forget(Pump& pump);

    // Yields. Ends all players over TCP with kServerStopping. Whoever has players at a pump of
    // another kind takes them away before.
    void stop(io::Deadline deadline);

  private:
    friend class Pump;
    // Of its stream, then of an object that stands for its kind.
    using PumpKey = std::pair<const stream::Stream*, const void*>;

    struct Ride {
        Pump* pump;  // null: gone since
        MonoTime since;
    };

    bool start_writer();
    void run_writer();
    void write_batch();
    void end_rides();

    stream::Registry& registry_;
    MergeWindow window_;
    PumpStats stats_;
    FileWrites file_writes_;
    std::map<PumpKey, std::unique_ptr<StreamPump>> pumps_;
    std::vector<Pump*> due_;    // for write_batch()
    std::vector<Pump*> batch_;  // those it is at; nullptr: gone since
    std::deque<Ride> rides_;    // in order of `since`
    io::Signal due_signal_;
    io::Coroutine writer_;
    bool writing_ = false;  // writer_ runs
    io::TaskGroup tasks_;
    bool stopping_ = false;
    log::Throttle no_pump_{Millis(1000)};
};

}  // namespace weir::net
