// Turns a stream of chunks into messages (RTMP 1.0 §5.3).
//
//   while (!bytes.empty()) {
//     bytes = bytes.subspan(reader.feed(bytes));
//     switch (reader.next(message)) { kMessage: use it; kError: reader.take_error(), close;
//     kNeedMore: go on; }
//   }
//
// feed() stops behind each complete message, so nothing is queued here: at most one message waits.
// Payload goes from the input straight into the body of its message. Set Chunk Size and Abort are
// carried out here and not shown. After an error nothing is consumed any more. Memory: 48 bytes a
// chunk stream that the peer uses, bodies as far as they arrived.
//
// Peers: flv
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "proto/rtmp/message.h"

namespace weir::rtmp {

struct ChunkLimits {
    uint32_t max_message_size = kMaxMessageSize;    // bytes
    uint32_t max_partial_bytes = 24 * 1024 * 1024;  // of all unfinished messages together
};

class ChunkReader {
  public:
    enum class Status : uint8_t { kMessage, kNeedMore, kError };

    static constexpr size_t kMaxChunkStreams = 64;

    explicit ChunkReader(const ChunkLimits& limits = {}) : limits_(limits) {}

    // Consumes up to the end of the next message and returns how many bytes that were; 0 while a
    // message waits in next() or after an error.
    size_t feed(ByteSpan bytes);

    // Moves the complete message into `out`; `out` is untouched otherwise.
    Status next(Message& out);

    // Why next() gave kError: kMalformed or kLimit. Once.
    Error take_error() { return std::move(error_); }

    // The peer's chunk size in force.
    uint32_t chunk_size() const { return chunk_size_; }

    // Bytes of messages that are not complete.
    uint32_t partial_bytes() const { return partial_bytes_; }

    // For the messages that begin from now on.
    void set_limits(const ChunkLimits& limits) { limits_ = limits; }

    // Gives spare capacity back; for connections that have little to say from now on.
    void shrink();

  private:
    // What later headers on the same chunk stream refer to, and the message in progress.
    struct ChunkStream {
        uint32_t id = 0;
        uint32_t timestamp = 0;  // absolute, of the current or last message
        uint32_t field =
            0;  // timestamp field of the last header that had one: the delta that type 3 repeats
        uint32_t length = 0;
        uint32_t stream_id = 0;
        uint8_t type = 0;
        bool extended = false;  // the field was sent as an extended timestamp
        bool begun = false;     // a message is in progress
        Bytes body;
    };

    // Whether this peer repeats the extended timestamp in type 3 chunks (the specification says so,
    // some do not).
    enum class Repeats : uint8_t { kUnknown, kYes, kNo };

    // Each consumes from `bytes` and says whether there is reason to go on.
    bool read_header(ByteSpan& bytes);
    bool read_payload(ByteSpan& bytes);

    // Bytes that the header in header_ needs as far as it can be told from what is there.
    size_t header_needs();
    bool apply_header();
    bool apply_extended(ChunkStream& stream, ByteSpan header);
    bool begin_message(ChunkStream& stream);
    void finish_message(ChunkStream& stream);
    void drop_partial(ChunkStream& stream);
    bool apply_control(uint8_t type, ByteSpan body);
    bool fail(Error error);
    ChunkStream* find_or_add(uint32_t id);

    ChunkLimits limits_;
    std::vector<ChunkStream> streams_;
    Error error_;
    uint32_t chunk_size_ = kDefaultChunkSize;
    uint32_t partial_bytes_ = 0;
    uint32_t payload_left_ = 0;  // of the chunk in progress
    uint16_t current_ = 0;       // index of its chunk stream
    uint8_t header_[18] =
        {};  // the header in progress: basic 1..3, message 0..11, extended timestamp 0 or 4
    uint8_t header_size_ = 0;
    bool in_payload_ = false;
    bool ready_ = false;  // the message of streams_[current_] is complete and waits for next()
    bool failed_ = false;
    Repeats repeats_ = Repeats::kUnknown;
};

}  // namespace weir::rtmp
