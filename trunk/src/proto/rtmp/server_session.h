// The server's side of an RTMP connection behind the handshake, as a state machine without I/O,
// clock or log.
//
//   while (!bytes.empty()) {
//     bytes = bytes.subspan(session.feed(bytes));
//     while (session.next_event(event)) { ... accept or reject it ... }
//     if (session.failed()) { return session.take_error(); }
//   }
//   send(session.take_output());
//
// Each feed() consumes at most one message, and none while next_event() has not been asked until it
// said false: so nothing is queued here. kConnect, kPublish and kPlay must be answered before more
// bytes are fed; the answer may come later. Output past kMaxOutput is an error (kLimit): a peer
// that asks and never reads costs no memory. Messages over kMaxCommandSize are refused until a
// publish was accepted. A playing client keeps its session: about 500 bytes with everything, after
// shrink(), and kMaxWhilePlaying of unfinished messages. Media bodies are FLV tag bodies
// (proto/flv/tag.h reads them).
//
// Peers: amf
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "proto/amf/amf0.h"
#include "proto/rtmp/chunk_reader.h"
#include "proto/rtmp/command.h"
#include "proto/rtmp/message.h"
#include "proto/rtmp/server_events.h"

namespace weir::rtmp {

struct SessionOptions {
    uint32_t chunk_size = 60000;  // of what we send
    uint32_t window_ack_size =
        2'500'000;  // how often the peer shall acknowledge; also when we do if it names no window
    ChunkLimits limits;
};

class ServerSession {
  public:
    static constexpr size_t kMaxStreams = 16;
    static constexpr uint32_t kMaxCommandSize = 64 * 1024;
    static constexpr uint32_t kMaxPartialBeforePublish = 128 * 1024;
    static constexpr uint32_t kMaxWhilePlaying = 4 * 1024;  // of a message, and of all unfinished
    static constexpr size_t kMaxOutput = 64 * 1024;
    static constexpr size_t kMaxConnectArguments = 8;  // further ones are not read
    static constexpr uint32_t kMinAckWindow = 1024;  // smaller windows of a peer are taken as this

    explicit ServerSession(const SessionOptions& options = {});
    ServerSession(ServerSession&&) noexcept;
    ServerSession& operator=(ServerSession&&) noexcept;
    ~ServerSession();

    // Returns how many bytes were consumed; 0 while events wait and after an error.
    size_t feed(ByteSpan bytes);

    // Fills `event` and gives true, or false when more bytes are needed or failed().
    bool next_event(Event& event);

    bool failed() const { return failed_; }

    // kMalformed, kLimit or kUnsupported, with a message for the log. Once. The output may hold a
    // refusal for the peer: send it before closing.
    Error take_error();

    bool has_output() const { return !output_.empty(); }

    // Bytes to send now; the buffer is given away.
    Bytes take_output();

    // The same, appended to `out`.
    void append_output(Bytes& out);

    // Answers. Each is ignored when the stream is not in the state that it answers (the peer may
    // have closed it meanwhile).
    void accept_connect();
    void reject_connect(std::string_view code, std::string_view description);
    void accept_publish(uint32_t stream_id);
    // StreamBegin, Play.Reset if asked for, Play.Start, |RtmpSampleAccess. A peer that has begun
    // more than kMaxWhilePlaying of other messages fails. A recording: StreamIsRecorded as well.
    enum class PlayKind : uint8_t { kLive, kRecorded };
    void accept_play(uint32_t stream_id, PlayKind kind = PlayKind::kLive);
    // Nobody publishes yet: an onStatus of level status, before accept_play.
    void notify_waiting(uint32_t stream_id);
    // The duration that the client asked for is over: StreamEOF, Play.Stop, Play.Complete and
    // Play.UnpublishNotify. The stream may play or publish again.
    void complete_play(uint32_t stream_id);
    // Refuses a publish or play, or ends one that had been accepted: an onStatus of level error.
    void reject(uint32_t stream_id, std::string_view code, std::string_view description);
    void answer_pause(uint32_t stream_id, bool on);
    // StreamEOF, Seek.Notify, StreamBegin, Play.Start: what follows is of another place.
    void answer_seek(uint32_t stream_id, int64_t time_ms);
    void refuse_seek(uint32_t stream_id);
    // All of a recording was sent: StreamEOF, Play.Stop, Play.Complete. The peer may seek then, or
    // play something else.
    void end_recording(uint32_t stream_id);
    // The stream that the client plays has ended: Play.UnpublishNotify and StreamEOF.
    void notify_unpublish(uint32_t stream_id);
    // Any onStatus on a stream.
    void send_status(uint32_t stream_id, const Status& status);

    // From now on commands that are not of RTMP itself are kCall events, and the peer may publish
    // while it plays.
    void take_calls() { takes_calls_ = true; }

    // Answers a call that waits for it. An empty `refused`: it was done.
    void answer_call(double transaction, std::string_view refused = {});
    // Calls the peer, which does not answer.
    void call(std::string_view name, std::span<const amf::Value> arguments);
    // A ping request; the peer sends `timestamp_ms` back.
    void make_ping(uint32_t timestamp_ms);

    // Timestamp of the last ping response, and how many came.
    uint32_t last_pong_ms() const { return last_pong_ms_; }

    uint32_t pongs() const { return pongs_; }

    // Its connect announced Enhanced RTMP v2 with tracks (capsEx), so it may be sent all of that.
    bool takes_multitrack() const { return takes_multitrack_; }

    // How much a playing peer wants to have in advance, as it said last; 0: nothing.
    uint32_t buffer_ms() const { return buffer_ms_; }

    // Media messages that were dropped because no publish could be told to be theirs.
    uint64_t stray_messages() const { return stray_messages_; }

    // Bytes that were fed, and the last sequence number that the peer acknowledged (wraps).
    uint64_t bytes_received() const { return bytes_received_; }

    uint32_t peer_acknowledged() const { return peer_acknowledged_; }

    // Chunk size of everything that goes to the peer once the connect is answered.
    uint32_t chunk_size() const { return options_.chunk_size; }

    // Gives spare memory back; call when a client begins to play.
    void shrink();

  private:
    enum class StreamState : uint8_t { kIdle, kPublishAsked, kPublishing, kPlayAsked, kPlaying };

    struct StreamSlot {
        uint32_t id = 0;
        StreamState state = StreamState::kIdle;
        bool reset = false;
        bool published = false;  // now or before
        bool ended = false;      // it plays a recording, all of which was sent
        std::string name;        // "app/stream" while it publishes or plays
    };

    enum class State : uint8_t { kNew, kConnectAsked, kConnected, kClosed };

    struct Aggregate;

    using Handler = bool (ServerSession::*)(const Message&, const Command&, Event&);

    struct CommandEntry {
        std::string_view name;
        Handler handler;
    };

    static const CommandEntry kCommands[];

    // Each gives true when `event` was filled.
    bool handle_message(Message& message, Event& event);
    bool handle_command(Message& message, Event& event);
    bool media_event(
        uint8_t type, uint32_t timestamp, uint32_t stream_id, Bytes body, Event& event);
    bool next_part(Event& event);
    void handle_control(const Message& message);
    void handle_user_control(const Message& message);

    bool on_connect(const Message& message, const Command& command, Event& event);
    bool on_create_stream(const Message& message, const Command& command, Event& event);
    bool on_fc_publish(const Message& message, const Command& command, Event& event);
    bool on_fc_unpublish(const Message& message, const Command& command, Event& event);
    bool on_fc_subscribe(const Message& message, const Command& command, Event& event);
    bool on_publish(const Message& message, const Command& command, Event& event);
    bool on_play(const Message& message, const Command& command, Event& event);
    bool on_pause(const Message& message, const Command& command, Event& event);
    bool on_seek(const Message& message, const Command& command, Event& event);
    bool on_delete_stream(const Message& message, const Command& command, Event& event);
    bool on_close_stream(const Message& message, const Command& command, Event& event);
    bool on_close(const Message& message, const Command& command, Event& event);
    bool on_get_stream_length(const Message& message, const Command& command, Event& event);
    bool on_acknowledged(const Message& message, const Command& command, Event& event);
    bool on_ignored(const Message& message, const Command& command, Event& event);

    void answer_named(const Command& command, std::string_view callback, const Status& info);
    bool end_stream(StreamSlot& slot, bool tell, Event& event);
    StreamState leave_state(StreamSlot& slot);
    static Error parse_connect(const amf::Value& object, ConnectRequest& request);
    Result<StreamName> parse_name(std::string_view text) const;
    StreamSlot* find_stream(uint32_t id);
    StreamSlot* find_stream(uint32_t id, StreamState state);
    bool is_publishing(uint32_t id);
    std::optional<uint32_t> publish_of(uint32_t id);
    void limit_messages(const ChunkLimits& limits);

    void send(uint32_t chunk_stream_id, uint8_t type, uint32_t stream_id, ByteSpan body);
    void send_command(ByteSpan body);
    void acknowledge();
    void check_output();
    bool fail(Error error);

    ChunkReader reader_;
    SessionOptions options_;
    std::unique_ptr<ConnectAnswer> pending_connect_;
    std::string names_;  // app, vhost and query of the connect, one behind the other
    std::unique_ptr<Aggregate> aggregate_;
    std::vector<StreamSlot> streams_;
    Bytes output_;
    Error error_;
    uint64_t stray_messages_ = 0;
    uint64_t bytes_received_ = 0;
    uint64_t bytes_acknowledged_ = 0;  // to the peer
    uint32_t peer_window_ = 0;         // 0: it named none
    uint32_t peer_acknowledged_ = 0;
    uint32_t last_pong_ms_ = 0;
    uint32_t pongs_ = 0;
    uint32_t buffer_ms_ = 0;
    uint32_t next_stream_id_ = 1;
    uint32_t send_chunk_size_ = kDefaultChunkSize;
    uint16_t app_size_ = 0;
    uint16_t vhost_size_ = 0;
    State state_ = State::kNew;
    bool fmle_ = false;  // the peer says that it is Adobe's encoder, or one that does as that does
    bool failed_ = false;
    bool takes_calls_ = false;
    bool takes_multitrack_ = false;
};

}  // namespace weir::rtmp
