// TurnReader: while media comes in on a TCP connection, the reactor's turns read it, and the
// connection's coroutine is woken for what else comes: commands, silence, the end. That saves two
// switches for each read.
//
// All connections share one buffer: what take() was given is consumed, or copied, before it
// returns.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "base/error.h"
#include "io/signal.h"
#include "io/tcp.h"
#include "net/client_table.h"

namespace weir::net {

class TurnReader final : private io::EventHandler {
  public:
    static constexpr size_t kReadBytes = 64 * 1024;

    struct Callbacks {
        // What was read. Never yields. True: there is something for the coroutine.
        std::function<bool(ByteSpan)> take;
        // When silence ends run(); moves on with what comes.
        std::function<MonoTime()> deadline;
    };

    // All must outlive this.
    TurnReader(io::TcpStream& stream, Client& client, Callbacks callbacks)
        : stream_(stream), client_(client), callbacks_(std::move(callbacks)) {}

    TurnReader(const TurnReader&) = delete;
    TurnReader& operator=(const TurnReader&) = delete;

    // Yields. Until take() says so. kTimeout: the deadline has passed; kClosed, kSystem: the end of
    // the connection; kInterrupted.
    Error run();

    // For reads outside of turns: good until the coroutine yields.
    static std::array<uint8_t, kReadBytes>& buffer();

    static Error explain_end(const io::IoResult& read);

  private:
    void on_ready(uint8_t ready) override;
    void read(bool look = false);

    io::TcpStream& stream_;
    Client& client_;
    Callbacks callbacks_;
    io::Signal signal_;
    MonoTime until_{};   // the coroutine waits so long
    bool over_ = false;  // there is something for the coroutine
    Error failed_;
};

}  // namespace weir::net
