// SRT players of a group. All share one engine: one thread of ours, as in the server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/deadline.h"
#include "io/signal.h"
#include "io/srt/srt_engine.h"

#include "bench/load/core/ts_scanner.h"
#include "bench/load/player.h"

namespace weir::load {

class SrtPlayerFactory final : public PlayerFactory {
  public:
    struct Target {
        io::SocketAddress server;
        std::vector<io::SrtOptions> calls;  // one for each stream
    };

    explicit SrtPlayerFactory(Target target) : target_(std::move(target)) {}

    std::unique_ptr<Player> make(PlayerListener& listener,
                                 RunTotals& totals,
                                 uint32_t stream) override;

    void stop() override {}

  private:
    friend class SrtPlayer;

    Target target_;
    io::SrtEngine engine_{nullptr};
};

class SrtPlayer final : public Player, private io::SrtPeer {
  public:
    SrtPlayer(PlayerListener& listener,
              RunTotals& totals,
              uint32_t stream,
              SrtPlayerFactory& factory)
        : Player(listener, totals, stream), stream_(stream), factory_(factory) {}

    ~SrtPlayer() override;

    Error connect(const io::SocketAddress* from, io::Deadline deadline) override;

    // It reads by itself.
    void read() override {}

    void close() override;

    bool connected() const override { return open_; }

  private:
    void on_srt_connected(bool encrypted) override;
    void on_srt_data(ByteSpan data) override;
    void on_srt_end(Error why) override;

    uint32_t stream_;
    SrtPlayerFactory& factory_;
    io::SrtId id_ = 0;
    bool open_ = false;
    bool ended_ = false;
    std::string why_;
    TsScanner scanner_;
    io::Signal changed_;
};

}  // namespace weir::load
