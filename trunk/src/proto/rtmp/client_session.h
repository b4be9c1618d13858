// The client's side of an RTMP connection behind the handshake: publish or play one stream. For the
// load client and tests.
//
// Driven like ServerSession; connect is in the output from the start.
//
// Peers: amf
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "base/error.h"
#include "media/codec.h"
#include "proto/rtmp/chunk_reader.h"
#include "proto/rtmp/command.h"
#include "proto/rtmp/message.h"
#include "proto/rtmp/server_session.h"

namespace weir::rtmp {

enum class ClientRole : uint8_t { kPublish, kPlay };

struct ClientOptions {
    ClientRole role = ClientRole::kPlay;
    std::string app = "live";
    std::string tc_url;  // "rtmp://host/app"
    std::string stream;  // may carry a query
    std::string flash_version = "WEIR/1.0 (compatible; FMLE/3.0)";
    uint32_t chunk_size = 60000;           // of what we send
    uint32_t window_ack_size = 2'500'000;  // asked of the server
    uint32_t buffer_ms = 3000;             // player: sent as set buffer length
    bool enhanced = true;  // player and publisher: announce Enhanced RTMP, any codec
    ChunkLimits limits;
};

enum class ClientEventKind : uint8_t {
    kConnected,  // connect was accepted
    kStarted,    // publisher: media may be sent; player: Play.Start came
    kMedia,      // MediaMessage
    kStatus,     // every other onStatus of level status or warning
    kEnded,  // player: the stream ended (UnpublishNotify, Play.Stop, Play.Complete, or StreamEOF)
};

// Owns its texts, unlike Status.
struct StatusText {
    std::string level;
    std::string code;
    std::string description;
};

struct ClientEvent {
    ClientEventKind kind = ClientEventKind::kStatus;
    std::variant<std::monostate, MediaMessage, StatusText> data;

    MediaMessage& media() { return std::get<MediaMessage>(data); }

    StatusText& status() { return std::get<StatusText>(data); }
};

class ClientSession {
  public:
    explicit ClientSession(ClientOptions options);

    // As of ServerSession: at most one message is consumed; drain next_event() after each.
    size_t feed(ByteSpan bytes);
    bool next_event(ClientEvent& event);

    bool failed() const { return failed_; }

    // A refusal by the server is kDenied with "code: description"; broken bytes are kMalformed or
    // kLimit. Once.
    Error take_error();

    bool has_output() const { return !output_.empty(); }

    Bytes take_output();
    void append_output(Bytes& out);

    // Publisher, after kStarted: appends the message to the output. `body` is an FLV tag body, or
    // AMF0 for data (onMetaData goes out as @setDataFrame).
    void send_media(media::TrackKind kind, uint32_t timestamp, ByteSpan body);

    // Player: pause or go on.
    void pause(bool on);

    // Publisher: FCUnpublish and deleteStream; player: deleteStream.
    void stop();

    bool started() const { return state_ == State::kStarted; }

    uint32_t stream_id() const { return stream_id_; }

    // The answer to connect announced Enhanced RTMP v2 with tracks (capsEx).
    bool takes_multitrack() const { return takes_multitrack_; }

    uint64_t bytes_received() const { return bytes_received_; }

  private:
    enum class State : uint8_t { kConnecting, kCreating, kStarting, kStarted, kEnded };

    bool handle_message(Message& message, ClientEvent& event);
    bool handle_command(const Message& message, ClientEvent& event);
    bool handle_result(const Command& command, ClientEvent& event);
    bool handle_status(const Command& command, ClientEvent& event);
    bool handle_user_control(const Message& message, ClientEvent& event);
    void send_connect();
    void send_start();
    void send_command(uint32_t stream_id, ByteSpan body);
    void acknowledge();
    bool fail(Error error);

    ChunkReader reader_;
    ClientOptions options_;
    Bytes output_;
    Error error_;
    uint64_t bytes_received_ = 0;
    uint64_t bytes_acknowledged_ = 0;
    uint32_t server_window_ = 0;
    uint32_t stream_id_ = 0;
    uint32_t send_chunk_size_ = kDefaultChunkSize;
    State state_ = State::kConnecting;
    bool failed_ = false;
    bool paused_ = false;
    bool stopped_ = false;
    bool takes_multitrack_ = false;
};

}  // namespace weir::rtmp
