// What the media thread and the engine thread share: commands one way, events the other, and the
// state of handshakes, which libsrt's threads look at too. Private to io/srt/.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "io/socket_address.h"
#include "io/srt/srt_engine.h"

namespace weir::io {

// The engine thread's own clock: MonoClock is the media thread's, and replaceable in tests.
using SrtClock = std::chrono::steady_clock;

struct SrtListenCommand {
    uint32_t listener = 0;
    int fd = -1;
};

struct SrtUnlistenCommand {
    uint32_t listener = 0;
};

struct SrtConnectCommand {
    SrtId id = 0;
    SocketAddress to;
    SrtOptions options;
};

struct SrtAdmitCommand {
    SrtId id = 0;
    SrtSendLimits limits;
};

struct SrtCloseCommand {
    SrtId id = 0;
};

struct SrtSendCommand {
    std::vector<SrtId> to;
    SrtBytes bytes;
};

using SrtCommand = std::variant<SrtListenCommand,
                                SrtUnlistenCommand,
                                SrtConnectCommand,
                                SrtAdmitCommand,
                                SrtCloseCommand,
                                SrtSendCommand>;

struct SrtNewcomerEvent {
    SrtNewcomer newcomer;
};

struct SrtConnectedEvent {
    SrtId id = 0;
    bool encrypted = false;
};

struct SrtDataEvent {
    SrtId id = 0;
    Bytes data;
};

struct SrtStatsEvent {
    SrtId id = 0;
    SrtStats stats;
};

struct SrtEndEvent {
    SrtId id = 0;
    Error why;
    SrtStats last;
};

struct SrtListenFailedEvent {
    std::string why;
};

struct SrtFailedHandshakesEvent {
    std::string peer;  // of one of them
};

struct SrtRefusedHandshakesEvent {
    std::string peer;  // of the last one
    int reason = 0;    // its code
};

struct SrtReadyEvent {
    std::string why_not;  // empty: libsrt is loaded
};

using SrtEvent = std::variant<SrtReadyEvent,
                              SrtNewcomerEvent,
                              SrtConnectedEvent,
                              SrtDataEvent,
                              SrtStatsEvent,
                              SrtEndEvent,
                              SrtListenFailedEvent,
                              SrtFailedHandshakesEvent,
                              SrtRefusedHandshakesEvent>;

struct SrtAtomicCounters {
    std::atomic<uint64_t> handshakes = 0;
    std::atomic<uint64_t> refused_overload = 0;
    std::atomic<uint64_t> refused_gate = 0;
    std::atomic<uint64_t> failed_handshakes = 0;
    std::atomic<uint64_t> accepted = 0;
    std::atomic<uint64_t> unread_dropped = 0;
    std::atomic<uint64_t> unsent_dropped = 0;
    std::atomic<uint64_t> slow = 0;
    std::atomic<uint64_t> connections = 0;
    std::atomic<uint64_t> listeners = 0;
};

// Handshakes that the gate let through and that have not become a connection yet, and their rate.
class SrtHandshakes {
  public:
    // A connection that has begun so long ago and is not there has failed.
    static constexpr std::chrono::seconds kPatience{1};

    explicit SrtHandshakes(SrtAtomicCounters& counters) : counters_(counters) {}

    void set_gate(std::shared_ptr<const SrtGate> gate);

    // By libsrt's threads. `socket`: of the new connection.
    SrtVerdict decide(int32_t socket, std::string_view peer, std::string_view stream_id);

    // By the engine thread: the handshake has succeeded; it is a newcomer from now on. False: the
    // gate did not let this socket through with that id, and it must be closed. A caller can send
    // two ids, one for the gate and one for the socket.
    bool succeeded(int32_t socket, std::string_view stream_id);

    // By the engine thread: a newcomer was let in, or has gone.
    void settled(int32_t socket);

    // By the engine thread, now and then. Counts those that failed; gives the peer of one.
    std::string expire(SrtClock::time_point now);

    struct Refused {
        std::string peer;  // empty: nobody since it was asked last
        int reason = 0;
    };

    // By the engine thread. The last one that was refused.
    Refused take_refused();

  private:
    struct Pending {
        SrtClock::time_point since;
        std::string peer;
        std::string stream_id;  // that the gate saw
    };

    // Of one address; forgotten when both are 0.
    struct Share {
        double used = 0;  // handshakes of the last second
        SrtClock::time_point since;
        size_t held = 0;  // of pending_ and unadmitted_
    };

    bool take_room(SrtClock::time_point now, const std::string& peer);
    void give_back(const std::string& peer);
    void forget_shares(SrtClock::time_point now);

    SrtAtomicCounters& counters_;
    std::mutex mutex_;  // guards what follows
    std::shared_ptr<const SrtGate> gate_;
    std::unordered_map<int32_t, Pending> pending_;         // kMaxUnadmitted at most
    std::unordered_map<int32_t, std::string> unadmitted_;  // newcomers: their addresses
    std::unordered_map<std::string, Share> shares_;        // of those that were let through lately
    Refused refused_;
    double tokens_ = SrtEngine::kHandshakeBurst;
    SrtClock::time_point filled_ = SrtClock::now();
};

struct SrtBridge {
    SrtBridge() = default;
    SrtBridge(const SrtBridge&) = delete;
    SrtBridge& operator=(const SrtBridge&) = delete;
    ~SrtBridge();

    // By the media thread. Media that find no room are dropped and counted.
    void command(SrtCommand command, size_t bytes = 0);

    // By the engine thread: waits for commands at most so long. False: it is to stop.
    bool take_commands(std::vector<SrtCommand>& out, SrtClock::duration at_most);

    // By the engine thread; `bytes`: of the media in them. Empties `events`.
    void tell(std::vector<SrtEvent>& events, size_t bytes);

    // By the media thread.
    void take_events(std::vector<SrtEvent>& out);

    void stop();

    SrtAtomicCounters counters;
    SrtHandshakes handshakes{counters};
    int event_fd = -1;
    std::atomic<uint64_t> batch = 0;      // how often the media thread has taken events
    std::atomic<size_t> event_bytes = 0;  // that it has not taken

  private:
    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::vector<SrtCommand> commands_;
    size_t command_bytes_ = 0;
    std::vector<SrtEvent> events_;
    bool stopping_ = false;
};

}  // namespace weir::io
