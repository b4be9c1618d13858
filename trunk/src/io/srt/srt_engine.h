// SrtEngine: SRT connections and listeners. One thread makes every call of libsrt; what it reads,
// and what happens, crosses to the media thread in batches, and so do media and commands on their
// way back.
//
// All public functions are for the media thread. Peers and sinks are called on it, from the
// reactor's coroutine: they must not yield. Both directions are bounded, and what is dropped is
// counted. libsrt's own threads call the gate and nothing else of ours.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "io/srt/srt_types.h"

namespace weir::io {

class SocketAddress;

// One connection, as its owner hears of it.
class SrtPeer {
  public:
    // A connection that was called for is there.
    virtual void on_srt_connected(bool encrypted) { (void)encrypted; }

    // Messages, end to end. Good during the call only.
    virtual void on_srt_data(ByteSpan data) { (void)data; }

    // Once a second.
    virtual void on_srt_stats(const SrtStats& stats) { (void)stats; }

    // It is over, and nothing more comes. kClosed: the peer's doing; kTimeout: it did not answer;
    // kDenied: it refused, with its reason; kLimit: too slow; kSystem.
    virtual void on_srt_end(Error why) = 0;

  protected:
    ~SrtPeer() = default;
};

// Whoever takes connections that come in.
class SrtSink {
  public:
    // Calls attach() or close() before it returns, and admit() or close() later.
    virtual void on_srt_newcomer(SrtNewcomer newcomer) = 0;

  protected:
    ~SrtSink() = default;
};

class SrtEngine {
  public:
    static constexpr size_t kMaxUnadmitted = 256;  // handshakes and newcomers at a time
    static constexpr double kHandshakesPerSecond = 200;
    static constexpr double kHandshakeBurst = 400;
    // Of one address, while less than half of what there is for all is left:
    static constexpr size_t kMaxUnadmittedOfOne = 32;
    static constexpr double kHandshakesPerSecondOfOne = 20;
    // Memory of those that are not let in yet, and of those that were refused or have gone before:
    // libsrt keeps a connection for kForgotten after its end.
    static constexpr size_t kMaxStrangerBytes = 40'000'000;
    static constexpr size_t kMaxStrangerBytesOfOne = kMaxStrangerBytes / 8;  // as above
    static constexpr Seconds kForgotten{3};
    static constexpr size_t kMaxRefusedOfOne = 32;         // of kForgotten; then it is not answered
    static constexpr size_t kMaxUnreadBytes = 2u << 20;    // of a connection, on their way
    static constexpr size_t kMaxEventBytes = 64u << 20;    // of all
    static constexpr size_t kMaxCommandBytes = 64u << 20;  // of media on their way to the engine

    // Without a thread: start() makes it. `sink` may be null for callers only; outlives this.
    explicit SrtEngine(SrtSink* sink);
    ~SrtEngine();  // ends the thread and all connections; no peer is told
    SrtEngine(const SrtEngine&) = delete;
    SrtEngine& operator=(const SrtEngine&) = delete;

    // False: built with --srt=off.
    static bool built();

    // Yields the first time: loads libsrt and starts the thread. kUnsupported, kSystem.
    Error start();

    bool started() const;

    // For handshakes from now on.
    void set_gate(std::shared_ptr<const SrtGate> gate);

    // The same.
    void set_limits(const SrtLimits& limits);

    // Listens on a bound UDP socket, whose descriptor belongs to the engine from now on. The
    // number is for unlisten(). Only after start().
    uint32_t listen(int fd);

    // Connections that came by it go on, and keep its port.
    void unlisten(uint32_t listener);

    // Begins to call `to`; `peer` is told what comes of it, and must live until close() or its
    // end. Only after start().
    SrtId connect(const SocketAddress& to, const SrtOptions& options, SrtPeer& peer);

    // `peer` hears of this newcomer from now on.
    void attach(SrtId id, SrtPeer& peer);

    // The newcomer is let in, or a call has become what it is for: what may wait for it.
    void admit(SrtId id, const SrtSendLimits& limits);

    // Its peer hears nothing more. Also of one that has ended.
    void close(SrtId id);

    // Sends `bytes` (a number of MPEG-TS packets) to all of them, in messages of kSrtPayload.
    void send(std::span<const SrtId> to, SrtBytes bytes);

    SrtCounters counters() const;

    struct Impl;

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace weir::io
