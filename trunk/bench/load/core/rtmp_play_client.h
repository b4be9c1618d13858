// The player's side of an RTMP connection, sans-IO: handshake, connect, createStream, play, then
// media into a PlayerCheck without being assembled (proto/rtmp/client_session.h is the one that
// gives whole messages).
//
// Driven by feed(); what is to be sent lies in output(). One per player; about 300 bytes once it
// plays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/random.h"
#include "proto/rtmp/handshake.h"

#include "bench/load/core/chunk_scanner.h"
#include "bench/load/core/play_client.h"
#include "bench/load/core/player_check.h"

namespace weir::load {

// What to play; shared by all players of a stream and must outlive them.
struct RtmpTarget {
    std::string app;
    std::string tc_url;
    std::string stream;
};

class RtmpPlayClient final : public PlayClient {
  public:
    // C0 and C1 are in the output at once.
    RtmpPlayClient(const RtmpTarget& target, PlayerCheck& check, RandomSource& random);
    ~RtmpPlayClient() override;

    bool feed(ByteSpan bytes, uint64_t now_ns) override;

    bool started() const override { return state_ == State::kPlaying; }

    // The sink of ChunkScanner; not for others.
    void begin(const ScannedMessage& message);
    void part(const ScannedMessage& message, ByteSpan bytes);
    void end(const ScannedMessage& message);

  private:
    static constexpr size_t kMaxCommandSize = 16 * 1024;

    enum class State : uint8_t { kHandshake, kConnecting, kCreating, kStarting, kPlaying };

    void send_connect();
    void send_create_stream();
    void send_play();
    void send_command(uint32_t chunk_stream, uint32_t stream_id, const Bytes& body);
    void handle_command(const ScannedMessage& message);
    void handle_status(std::string_view level, std::string_view code, std::string_view description);
    void handle_user_control();
    void acknowledge(size_t bytes);

    const RtmpTarget& target_;
    PlayerCheck& check_;
    std::unique_ptr<rtmp::ClientHandshake> handshake_;
    ChunkScanner scanner_;
    Bytes message_;  // the command or control message in progress
    uint64_t now_ns_ = 0;
    uint64_t bytes_ = 0;
    uint64_t acknowledged_ = 0;
    uint32_t window_ = 0;
    uint32_t stream_id_ = 0;
    State state_ = State::kHandshake;
};

}  // namespace weir::load
