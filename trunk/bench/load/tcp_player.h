// A player on one TCP connection: its socket and its protocol client.
#pragma once

#include <memory>

#include "io/deadline.h"
#include "io/reactor.h"

#include "bench/load/core/play_client.h"
#include "bench/load/play_target.h"
#include "bench/load/player.h"

namespace weir::load {

class TcpPlayer final : public Player, private io::EventHandler {
  public:
    // `buffer` is shared by all players and, as `target`, must outlive it.
    TcpPlayer(PlayerListener& listener,
              RunTotals& totals,
              uint32_t stream,
              const PlayTarget& target,
              std::span<uint8_t> buffer)
        : Player(listener, totals, stream), target_(target), stream_(stream), buffer_(buffer) {}

    Error connect(const io::SocketAddress* from, io::Deadline deadline) override;
    void read() override;
    bool may_rest(uint64_t now_ns) const override;
    void rest() override;
    bool read_turn() override;
    void wake() override;
    void close() override;
    void settle() override;

    bool connected() const override { return connection_ != nullptr; }

  private:
    void on_ready(uint8_t ready) override;
    bool read_once(size_t& bytes);
    bool flush();

    const PlayTarget& target_;
    uint32_t stream_;
    std::span<uint8_t> buffer_;
    std::unique_ptr<io::TcpStream> connection_;
    std::unique_ptr<PlayClient> client_;
    uint64_t due_ns_ = 0;  // that the listener was told
    bool restless_ = false;
};

}  // namespace weir::load
