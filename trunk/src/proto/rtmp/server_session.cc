// Invariants: at most one message is between reader_ and the owner; aggregate_ is set only while it
// has parts left; streams_ holds at most kMaxStreams slots, at most one of them playing (or asking
// to).
#include "proto/rtmp/server_session.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "proto/rtmp/chunk_writer.h"

namespace weir::rtmp {
namespace {

// AMF0 strings in front of data messages that a server acts on itself.
constexpr std::string_view kSetDataFrame("\x02\x00\x0D@setDataFrame", 16);
constexpr std::string_view kClearDataFrame("\x02\x00\x0F@clearDataFrame", 18);

ChunkLimits limits_before_publish(const ChunkLimits& wanted) {
    ChunkLimits limits = wanted;
    limits.max_message_size = std::min(limits.max_message_size, ServerSession::kMaxCommandSize);
    limits.max_partial_bytes =
        std::min(limits.max_partial_bytes, ServerSession::kMaxPartialBeforePublish);
    return limits;
}

std::optional<media::TrackKind> media_kind(uint8_t type) {
    switch (type) {
        case kAudio: return media::TrackKind::kAudio;
        case kVideo: return media::TrackKind::kVideo;
        case kDataAmf0:
        case kDataAmf3: return media::TrackKind::kData;
        default: return std::nullopt;
    }
}

// Turns the body of a data message into what players get; false when it is none of their business.
bool strip_data(uint8_t type, Bytes& body) {
    ByteSpan data = amf0_part(type, body);
    if (as_text(data).starts_with(kClearDataFrame)) {
        return false;
    }
    if (as_text(data).starts_with(kSetDataFrame)) {
        data = data.subspan(kSetDataFrame.size());
    }
    // Players' parsers are not all as careful as ours: what does not parse is not passed on.
    if (data.empty() || !amf::parse_all(data).ok()) {
        return false;
    }
    body.erase(body.begin(), body.end() - static_cast<std::ptrdiff_t>(data.size()));
    return true;
}

}  // namespace

struct ServerSession::Aggregate {
    Message message;
    AggregateSplitter splitter;
};

ServerSession::ServerSession(const SessionOptions& options)
    : reader_(limits_before_publish(options.limits)), options_(options) {
    options_.chunk_size = std::clamp(options_.chunk_size, kDefaultChunkSize, kMaxChunkSize);
}

ServerSession::ServerSession(ServerSession&&) noexcept = default;
ServerSession& ServerSession::operator=(ServerSession&&) noexcept = default;
ServerSession::~ServerSession() = default;

bool ServerSession::fail(Error error) {
    if (!failed_) {
        error_ = std::move(error);
        failed_ = true;
    }
    return false;
}

Error ServerSession::take_error() {
    return std::move(error_);
}

size_t ServerSession::feed(ByteSpan bytes) {
    if (failed_ || aggregate_) {
        return 0;
    }
    const size_t consumed = reader_.feed(bytes);
    bytes_received_ += consumed;
    acknowledge();
    return consumed;
}

void ServerSession::acknowledge() {
    const uint32_t window = peer_window_ ? peer_window_ : options_.window_ack_size;
    if (state_ == State::kConnected && bytes_received_ - bytes_acknowledged_ >= window) {
        bytes_acknowledged_ = bytes_received_;
        write_acknowledgement(static_cast<uint32_t>(bytes_received_), output_);
        check_output();
    }
}

bool ServerSession::next_event(Event& event) {
    while (!failed_) {
        if (aggregate_) {
            if (next_part(event)) {
                return true;
            }
            continue;
        }
        Message message;
        switch (reader_.next(message)) {
            case ChunkReader::Status::kNeedMore: return false;
            case ChunkReader::Status::kError: return fail(reader_.take_error());
            case ChunkReader::Status::kMessage: break;
        }
        if (handle_message(message, event)) {
            return true;
        }
    }
    return false;
}

bool ServerSession::handle_message(Message& message, Event& event) {
    switch (message.type) {
        case kAudio:
        case kVideo:
        case kDataAmf0:
        case kDataAmf3:
            return media_event(message.type, message.timestamp, message.stream_id,
                               std::move(message.body), event);
        case kCommandAmf0:
        case kCommandAmf3: return handle_command(message, event);
        case kAggregate:
            if (const std::optional<uint32_t> publish = publish_of(message.stream_id)) {
                message.stream_id = *publish;
                const uint32_t timestamp = message.timestamp;
                aggregate_ = std::make_unique<Aggregate>(
                    Aggregate{std::move(message), AggregateSplitter(timestamp)});
            } else {
                stray_messages_++;
            }
            return false;
        default: handle_control(message); return false;
    }
}

void ServerSession::handle_control(const Message& message) {
    switch (message.type) {
        case kAcknowledgement:
            peer_acknowledged_ = parse_u32(message.body).value_or(peer_acknowledged_);
            break;
        case kWindowAckSize:
            if (const auto window = parse_u32(message.body)) {
                peer_window_ = std::max(*window, kMinAckWindow);
            }
            break;
        case kSetPeerBandwidth:
            // RTMP 1.0 §5.4.5: answered with the window when that changes. Our sending is paced by
            // the socket.
            if (const auto window = parse_u32(message.body);
                window && *window != options_.window_ack_size) {
                options_.window_ack_size = std::max(*window, kMinAckWindow);
                write_window_ack_size(*window, output_);
                check_output();
            }
            break;
        case kUserControl: handle_user_control(message); break;
        default: break;  // shared objects and types that do not exist
    }
}

void ServerSession::handle_user_control(const Message& message) {
    const std::optional<UserControl> control = parse_user_control(message.body);
    if (!control) {
        return;
    }
    if (control->event == kPingRequest) {
        write_user_control({kPingResponse, control->value, 0}, output_);
        check_output();
    } else if (control->event == kPingResponse) {
        last_pong_ms_ = control->value;
        pongs_++;
    } else if (control->event == kSetBufferLength) {
        buffer_ms_ = control->buffer_ms;
    }
}

// `type`: of the message, or of a part of an aggregate.
bool ServerSession::media_event(
    uint8_t type, uint32_t timestamp, uint32_t stream_id, Bytes body, Event& event) {
    const std::optional<media::TrackKind> kind = media_kind(type);
    if (!kind) {
        return false;
    }
    const std::optional<uint32_t> publish = publish_of(stream_id);
    if (!publish) {
        stray_messages_++;
        return false;
    }
    if (*kind == media::TrackKind::kData && !strip_data(type, body)) {
        return false;
    }
    event.kind = EventKind::kMedia;
    event.stream_id = *publish;
    event.data.emplace<MediaMessage>(MediaMessage{*kind, timestamp, std::move(body)});
    return true;
}

bool ServerSession::next_part(Event& event) {
    const Message& whole = aggregate_->message;
    const std::optional<AggregateSplitter::PartView> part = aggregate_->splitter.next(whole.body);
    if (!part || !is_publishing(whole.stream_id)) {
        aggregate_.reset();
        return false;
    }
    return media_event(part->type, part->timestamp, whole.stream_id,
                       Bytes(part->body.begin(), part->body.end()), event);
}

// The slot becomes idle. A player that stops may say long commands again.
ServerSession::StreamState ServerSession::leave_state(StreamSlot& slot) {
    const StreamState state = std::exchange(slot.state, StreamState::kIdle);
    slot.ended = false;
    if (state == StreamState::kPlaying && !takes_calls_) {
        limit_messages(limits_before_publish(options_.limits));
    }
    return state;
}

ServerSession::StreamSlot* ServerSession::find_stream(uint32_t id) {
    for (StreamSlot& slot : streams_) {
        if (slot.id == id) {
            return &slot;
        }
    }
    return nullptr;
}

ServerSession::StreamSlot* ServerSession::find_stream(uint32_t id, StreamState state) {
    StreamSlot* slot = find_stream(id);
    return slot && slot->state == state ? slot : nullptr;
}

bool ServerSession::is_publishing(uint32_t id) {
    return find_stream(id, StreamState::kPublishing) != nullptr;
}

// The message stream whose publish the media of `id` belongs to. Some encoders send on stream 0, or
// on one that they made for nothing: where one stream publishes, that is the one. What comes late
// for a publish that has ended never goes to another.
std::optional<uint32_t> ServerSession::publish_of(uint32_t id) {
    const StreamSlot* own = find_stream(id);
    if (own && own->state == StreamState::kPublishing) {
        return id;
    }
    if (own ? own->published : id != 0 && id < next_stream_id_) {
        return std::nullopt;
    }
    std::optional<uint32_t> only;
    for (const StreamSlot& slot : streams_) {
        if (slot.state != StreamState::kPublishing) {
            continue;
        }
        if (only) {
            return std::nullopt;
        }
        only = slot.id;
    }
    return only;
}

void ServerSession::limit_messages(const ChunkLimits& limits) {
    reader_.set_limits(limits);
    if (reader_.partial_bytes() > limits.max_partial_bytes) {
        fail(make_error(ErrorCode::kLimit, "unfinished messages of more than {} bytes",
                        limits.max_partial_bytes));
    }
}

void ServerSession::check_output() {
    if (output_.size() > kMaxOutput) {
        fail(make_error(ErrorCode::kLimit, "the peer does not read: {} bytes of answers wait",
                        output_.size()));
    }
}

void ServerSession::send(uint32_t chunk_stream_id,
                         uint8_t type,
                         uint32_t stream_id,
                         ByteSpan body) {
    ChunkHeader header;
    header.type = type;
    header.chunk_stream_id = chunk_stream_id;
    header.stream_id = stream_id;
    write_message(header, body, send_chunk_size_, output_);
    check_output();
}

void ServerSession::send_command(ByteSpan body) {
    send(kCommandChunkStream, kCommandAmf0, 0, body);
}

Bytes ServerSession::take_output() {
    return std::exchange(output_, Bytes());
}

void ServerSession::append_output(Bytes& out) {
    out.insert(out.end(), output_.begin(), output_.end());
    output_ = Bytes();
}

void ServerSession::accept_connect() {
    if (state_ != State::kConnectAsked) {
        return;
    }
    state_ = State::kConnected;
    write_window_ack_size(options_.window_ack_size, output_);
    write_set_peer_bandwidth(options_.window_ack_size, BandwidthLimit::kDynamic, output_);
    write_set_chunk_size(options_.chunk_size, output_);
    send_chunk_size_ = options_.chunk_size;
    Bytes body;
    write_connect_result(*pending_connect_, body);
    send_command(body);
    pending_connect_.reset();
}

void ServerSession::reject_connect(std::string_view code, std::string_view description) {
    if (state_ != State::kConnectAsked) {
        return;
    }
    state_ = State::kClosed;
    Bytes body;
    write_connect_error(pending_connect_->transaction, {"error", code, description}, body);
    send_command(body);
    pending_connect_.reset();
}

void ServerSession::accept_publish(uint32_t stream_id) {
    StreamSlot* slot = find_stream(stream_id, StreamState::kPublishAsked);
    if (!slot) {
        return;
    }
    slot->state = StreamState::kPublishing;
    slot->published = true;
    limit_messages(options_.limits);
    write_user_control({kStreamBegin, stream_id, 0}, output_);
    const std::string description = slot->name + " is now published.";
    send_status(stream_id, {"status", status::kPublishStart, description, slot->name});
}

void ServerSession::accept_play(uint32_t stream_id, PlayKind kind) {
    StreamSlot* slot = find_stream(stream_id, StreamState::kPlayAsked);
    if (!slot) {
        return;
    }
    slot->state = StreamState::kPlaying;
    if (!takes_calls_) {
        limit_messages({kMaxWhilePlaying, kMaxWhilePlaying});
    }
    if (kind == PlayKind::kRecorded) {
        write_user_control({kStreamIsRecorded, stream_id, 0}, output_);
    }
    write_user_control({kStreamBegin, stream_id, 0}, output_);
    if (slot->reset) {
        send_status(stream_id, {"status", status::kPlayReset,
                                "Playing and resetting " + slot->name + ".", slot->name});
    }
    send_status(stream_id,
                {"status", status::kPlayStart, "Started playing " + slot->name + ".", slot->name});
    Bytes body;
    write_sample_access(body);
    send(kStatusChunkStream, kDataAmf0, stream_id, body);
}

void ServerSession::reject(uint32_t stream_id,
                           std::string_view code,
                           std::string_view description) {
    StreamSlot* slot = find_stream(stream_id);
    if (!slot || slot->state == StreamState::kIdle) {
        return;
    }
    leave_state(*slot);
    const std::string name = std::exchange(slot->name, std::string());
    send_status(stream_id, {"error", code, description, name});
}

void ServerSession::answer_pause(uint32_t stream_id, bool on) {
    StreamSlot* slot = find_stream(stream_id, StreamState::kPlaying);
    if (!slot) {
        return;
    }
    if (on) {
        write_user_control({kStreamEof, stream_id, 0}, output_);
        send_status(stream_id,
                    {"status", status::kPauseNotify, "Paused " + slot->name + ".", slot->name});
    } else {
        write_user_control({kStreamBegin, stream_id, 0}, output_);
        send_status(stream_id, {"status", status::kUnpauseNotify,
                                "Goes on playing " + slot->name + ".", slot->name});
    }
}

void ServerSession::answer_seek(uint32_t stream_id, int64_t time_ms) {
    StreamSlot* slot = find_stream(stream_id, StreamState::kPlaying);
    if (!slot) {
        return;
    }
    slot->ended = false;
    write_user_control({kStreamEof, stream_id, 0}, output_);
    send_status(stream_id, {"status", status::kSeekNotify,
                            "Seeking to " + std::to_string(time_ms) + " ms of " + slot->name + ".",
                            slot->name});
    write_user_control({kStreamBegin, stream_id, 0}, output_);
    send_status(stream_id,
                {"status", status::kPlayStart, "Started playing " + slot->name + ".", slot->name});
}

// Deviation: level "status", where the book says "error": players take an error for the end of the
// stream.
void ServerSession::refuse_seek(uint32_t stream_id) {
    send_status(stream_id, {"status", status::kSeekFailed,
                            "A live stream cannot be sought; playing goes on."});
}

void ServerSession::end_recording(uint32_t stream_id) {
    StreamSlot* slot = find_stream(stream_id, StreamState::kPlaying);
    if (!slot) {
        return;
    }
    slot->ended = true;
    write_user_control({kStreamEof, stream_id, 0}, output_);
    send_status(stream_id,
                {"status", status::kPlayStop, "Played all of " + slot->name + ".", slot->name});
    Bytes body;
    write_play_status(status::kPlayComplete, body);
    send(kStatusChunkStream, kDataAmf0, stream_id, body);
}

void ServerSession::notify_unpublish(uint32_t stream_id) {
    StreamSlot* slot = find_stream(stream_id, StreamState::kPlaying);
    if (!slot) {
        return;
    }
    send_status(stream_id, {"status", status::kPlayUnpublishNotify,
                            slot->name + " is not published any more.", slot->name});
    write_user_control({kStreamEof, stream_id, 0}, output_);
}

void ServerSession::notify_waiting(uint32_t stream_id) {
    if (const StreamSlot* slot = find_stream(stream_id, StreamState::kPlayAsked)) {
        send_status(stream_id, {"status", status::kPlayWaiting,
                                "Nobody publishes " + slot->name + " yet; waiting.", slot->name});
    }
}

// What Flash Media Server says at the end of a recording. The last one is for players that wait for
// the end of something live.
void ServerSession::complete_play(uint32_t stream_id) {
    StreamSlot* slot = find_stream(stream_id, StreamState::kPlaying);
    if (!slot) {
        return;
    }
    write_user_control({kStreamEof, stream_id, 0}, output_);
    send_status(stream_id, {"status", status::kPlayStop,
                            "Stopped playing " + slot->name + ": the duration asked for is over.",
                            slot->name});
    Bytes body;
    write_play_status(status::kPlayComplete, body);
    send(kStatusChunkStream, kDataAmf0, stream_id, body);
    notify_unpublish(stream_id);
    leave_state(*slot);
    slot->name.clear();
}

void ServerSession::send_status(uint32_t stream_id, const Status& info) {
    Bytes body;
    write_on_status(info, body);
    send(kStatusChunkStream, kCommandAmf0, stream_id, body);
}

void ServerSession::answer_call(double transaction, std::string_view refused) {
    if (transaction == 0) {
        return;
    }
    Bytes body;
    if (refused.empty()) {
        write_empty_result(transaction, body);
    } else {
        write_call_failed(transaction, refused, body);
    }
    send_command(body);
}

void ServerSession::call(std::string_view name, std::span<const amf::Value> arguments) {
    Bytes body;
    write_call(name, arguments, body);
    send_command(body);
}

void ServerSession::make_ping(uint32_t timestamp_ms) {
    write_user_control({kPingRequest, timestamp_ms, 0}, output_);
    check_output();
}

void ServerSession::shrink() {
    reader_.shrink();
    streams_.shrink_to_fit();
    output_.shrink_to_fit();
}

}  // namespace weir::rtmp
