// What the media thread and the engine thread share: commands one way, events the other, and the
// state of handshakes, which libsrt's threads look at too. Private to io/srt/.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/net_address.h"
#include "io/socket_address.h"
#include "io/srt/srt_engine.h"

namespace weir::io {

// The engine thread's own clock: MonoClock is the media thread's, and replaceable in tests.
using SrtClock = std::chrono::steady_clock;

struct SrtAtomicCounters {
    std::atomic<uint64_t> handshakes = 0;
    std::atomic<uint64_t> refused_overload = 0;
    std::atomic<uint64_t> refused_full = 0;
    std::atomic<uint64_t> refused_address = 0;
    std::atomic<uint64_t> refused_gate = 0;
    std::atomic<uint64_t> unheard = 0;
    std::atomic<uint64_t> failed_handshakes = 0;
    std::atomic<uint64_t> accepted = 0;
    std::atomic<uint64_t> unread_dropped = 0;
    std::atomic<uint64_t> unsent_dropped = 0;
    std::atomic<uint64_t> slow = 0;
    std::atomic<uint64_t> connections = 0;
    std::atomic<uint64_t> listeners = 0;
};

// All that called in, from its handshake to its end: their rate, their number, and the memory of
// those that are not let in (strangers).
class SrtHandshakes {
  public:
    // A connection that has begun so long ago and is not there has failed.
    static constexpr std::chrono::seconds kPatience{1};

    enum class Why : uint8_t { kOverload, kFull, kAddress, kStreamId, kVhost, kUnheard };

    explicit SrtHandshakes(SrtAtomicCounters& counters) : counters_(counters) {}

    void set_gate(std::shared_ptr<const SrtGate> gate);
    void set_limits(const SrtLimits& limits);

    // By libsrt's threads. False: too many of this address were refused lately (loopback exempt: a
    // proxy there speaks for many), or the memory of strangers is used up; even a refusal costs
    // memory, so its handshakes are dropped before libsrt sees them. The last quarter of the memory
    // is for addresses that hold none. Only handshakes that came from where they say count, so
    // nobody can do that to others.
    bool hears(const NetAddress& peer);

    // By libsrt's threads: packets on their way to a peer that asks for this latency.
    uint32_t flight_window(Millis latency);

    struct Decision {
        SrtVerdict verdict;
        uint32_t receive_window = 0;  // packets
    };

    // By libsrt's threads. `socket`: of the new connection; `latency`: that the caller asks for.
    Decision decide(int32_t socket,
                    const NetAddress& peer,
                    std::string_view stream_id,
                    Millis latency,
                    SrtClock::time_point now);

    // By the engine thread: the handshake has succeeded; it is a newcomer from now on. False: the
    // gate did not let this socket through with that id, and it must be closed. A caller can send
    // two ids, one for the gate and one for the socket.
    bool succeeded(int32_t socket, std::string_view stream_id, SrtClock::time_point now);

    // By the engine thread: a newcomer was let in.
    void admitted(int32_t socket);

    // By the engine thread: a connection that succeeded is closed.
    void gone(int32_t socket, SrtClock::time_point now);

    // By the engine thread, now and then. Counts those that failed; gives the peer of one.
    std::string expire(SrtClock::time_point now);

    struct Refused {
        std::string peer;  // empty: nobody since it was asked last
        Why why{};
    };

    // By the engine thread. The last one that was refused, or one that is not heard.
    Refused take_refused();

    // Of those that are not let in, and that libsrt has not forgotten.
    size_t stranger_bytes();

  private:
    enum class State : uint8_t { kPending, kNewcomer, kAdmitted };

    struct Caller {
        State state = State::kPending;
        SrtClock::time_point since;
        NetAddress peer;
        std::string stream_id;  // that the gate saw
        size_t bytes = 0;
    };

    // Of one address; forgotten when nothing is left of it.
    struct Share {
        double used = 0;  // handshakes of the last second
        SrtClock::time_point since;
        size_t strangers = 0;  // not admitted
        size_t all = 0;
        size_t bytes = 0;    // of its strangers, and in leaving_
        size_t refused = 0;  // in leaving_
    };

    // That libsrt still holds, some time after its end.
    struct Leaving {
        SrtClock::time_point until;
        NetAddress address;
        size_t bytes = 0;
        bool refused = false;
    };

    using Callers = std::unordered_map<int32_t, Caller>;

    static size_t most_bytes(const Share& share);
    std::optional<Why> take_room(SrtClock::time_point now, const NetAddress& peer, size_t bytes);
    void refuse(const NetAddress& peer, Why why, SrtClock::time_point now);
    void leave(const NetAddress& address, size_t bytes, bool refused, SrtClock::time_point now);
    Callers::iterator remove(Callers::iterator caller, SrtClock::time_point now);
    void forget_leaving(SrtClock::time_point now);
    void forget_shares(SrtClock::time_point now);

    SrtAtomicCounters& counters_;
    std::mutex mutex_;  // guards what follows
    std::shared_ptr<const SrtGate> gate_;
    SrtLimits limits_;
    Callers callers_;  // SrtLimits::connections at most
    size_t strangers_ = 0;
    size_t bytes_ = 0;  // of strangers, and of leaving_
    std::deque<Leaving> leaving_;
    std::unordered_map<NetAddress, Share> shares_;  // by NetAddress::network()
    Refused refused_;
    double tokens_ = SrtEngine::kHandshakeBurst;
    SrtClock::time_point filled_ = SrtClock::now();
};

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
    SrtHandshakes::Why why{};
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
