// RTMP messages: type ids, protocol control messages (RTMP 1.0 §5.4), user control messages
// (§7.1.7), aggregates (§7.1.6).
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weir::rtmp {

// Message type ids.
enum MessageType : uint8_t {
    kSetChunkSize = 1,
    kAbort = 2,
    kAcknowledgement = 3,
    kUserControl = 4,
    kWindowAckSize = 5,
    kSetPeerBandwidth = 6,
    kAudio = 8,
    kVideo = 9,
    kDataAmf3 = 15,
    kSharedObjectAmf3 = 16,
    kCommandAmf3 = 17,
    kDataAmf0 = 18,
    kSharedObjectAmf0 = 19,
    kCommandAmf0 = 20,
    kAggregate = 22,
};

// User control event types.
enum UserControlEvent : uint16_t {
    kStreamBegin = 0,
    kStreamEof = 1,
    kStreamDry = 2,
    kSetBufferLength = 3,
    kStreamIsRecorded = 4,
    kPingRequest = 6,
    kPingResponse = 7,
};

enum class BandwidthLimit : uint8_t { kHard = 0, kSoft = 1, kDynamic = 2 };

inline constexpr uint32_t kDefaultChunkSize = 128;
inline constexpr uint32_t kMaxChunkSize =
    0xFFFFFF;  // larger values mean the same: no message is longer
inline constexpr uint32_t kMaxMessageSize = 0xFFFFFF;

// Chunk streams that we send on. Media have one each, so that their delta timestamps are
// independent.
inline constexpr uint32_t kControlChunkStream = 2;
inline constexpr uint32_t kCommandChunkStream = 3;
inline constexpr uint32_t kAudioChunkStream = 4;
inline constexpr uint32_t kStatusChunkStream = 5;
inline constexpr uint32_t kVideoChunkStream = 6;
inline constexpr uint32_t kDataChunkStream = 7;

// A whole message. `timestamp` is absolute, in milliseconds, and wraps at 32 bits.
struct Message {
    uint8_t type = 0;
    uint32_t timestamp = 0;
    uint32_t stream_id = 0;
    uint32_t chunk_stream_id = 0;
    Bytes body;
};

// The first four bytes of set chunk size, abort, acknowledgement, window acknowledgement size and
// set peer bandwidth; nothing when there are fewer.
std::optional<uint32_t> parse_u32(ByteSpan body);

struct UserControl {
    uint16_t event = 0;
    uint32_t value = 0;      // stream id; for pings the timestamp in milliseconds
    uint32_t buffer_ms = 0;  // only of kSetBufferLength
};

// Nothing when it is truncated. Events unknown here keep value 0 if they carry no four bytes.
std::optional<UserControl> parse_user_control(ByteSpan body);

// Whole control messages as one chunk on chunk stream 2, message stream 0, appended to `out`.
void write_set_chunk_size(uint32_t chunk_size, Bytes& out);
void write_abort(uint32_t chunk_stream_id, Bytes& out);
void write_acknowledgement(uint32_t sequence, Bytes& out);
void write_window_ack_size(uint32_t size, Bytes& out);
void write_set_peer_bandwidth(uint32_t size, BandwidthLimit limit, Bytes& out);
void write_user_control(const UserControl& control, Bytes& out);

// Splits an aggregate: FLV tags with their previous tag sizes. Times are moved so that the first
// part has the time of the message. Stops at the first part that is truncated.
class AggregateSplitter {
  public:
    struct PartView {
        uint8_t type = 0;
        uint32_t timestamp = 0;
        ByteSpan body;  // borrows the aggregate
    };

    static constexpr size_t kMaxParts = 4096;

    explicit AggregateSplitter(uint32_t message_timestamp)
        : message_timestamp_(message_timestamp) {}

    // The part at the current position of `aggregate`, which must be the same bytes at each call.
    // Nothing at the end.
    std::optional<PartView> next(ByteSpan aggregate);

  private:
    uint32_t message_timestamp_;
    uint32_t first_timestamp_ = 0;
    uint32_t position_ = 0;
    uint16_t parts_ = 0;
};

}  // namespace weir::rtmp
