// The player's side of HTTP-FLV, HTTP-TS and both over WebSocket, sans-IO: request, answer header,
// then tags or frames into a PlayerCheck.
//
// Driven like RtmpPlayClient. Bodies come until close, in HTTP chunks, or in WebSocket frames.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/random.h"

#include "bench/load/core/flv_scanner.h"
#include "bench/load/core/play_client.h"
#include "bench/load/core/player_check.h"
#include "bench/load/core/ts_scanner.h"

namespace weir::load {

// Shared by all players of a stream and must outlive them.
struct FlvTarget {
    std::string authority;  // "host:port"
    std::string path;       // with the query
    bool websocket = false;
    bool transport_stream = false;  // not FLV
};

class FlvPlayClient final : public PlayClient {
  public:
    // The request is in the output at once, and counts as the play request.
    FlvPlayClient(const FlvTarget& target,
                  PlayerCheck& check,
                  RandomSource& random,
                  uint64_t now_ns);

    bool feed(ByteSpan bytes, uint64_t now_ns) override;

    bool started() const override { return state_ == State::kBody; }

  private:
    static constexpr size_t kMaxHeaderSize = 16 * 1024;
    static constexpr size_t kMaxChunkLine = 64;

    enum class State : uint8_t { kHeader, kBody };
    enum class Framing : uint8_t { kNone, kChunked, kWebSocket };

    bool read_header(ByteSpan& bytes);
    bool feed_body(ByteSpan bytes);
    bool feed_chunked(ByteSpan bytes);
    bool feed_frames(ByteSpan bytes);
    bool begin_frame(ByteSpan& bytes);
    bool end_control_frame();
    void send_control(uint8_t opcode, ByteSpan payload);

    PlayerCheck& check_;
    RandomSource& random_;
    FlvScanner scanner_;
    std::unique_ptr<TsScanner> ts_;  // in its place; null: it is FLV
    Bytes collected_;  // the answer's header, a chunk size line, a frame header, or the payload of
                       // a control frame
    std::string accept_;  // what Sec-WebSocket-Accept must be
    uint64_t left_ = 0;   // of the HTTP chunk or frame in progress
    State state_ = State::kHeader;
    Framing framing_ = Framing::kNone;
    uint8_t control_ = 0;  // opcode of the control frame in progress
    bool skip_line_ = false;
};

}  // namespace weir::load
