#include "proto/rtmp/client_session.h"

#include <algorithm>
#include <utility>

#include "proto/rtmp/chunk_writer.h"

namespace weir::rtmp {
namespace {

// Transactions, one each: which answer belongs to which question.
constexpr double kConnectTransaction = 1;
constexpr double kReleaseTransaction = 2;
constexpr double kFcPublishTransaction = 3;
constexpr double kCreateTransaction = 4;
constexpr double kUnpublishTransaction = 5;

// Enhanced RTMP v2: can decode (1), encode (2), forward (4); multitrack (2), ModEx (4).
constexpr double kAnyUse = 7;
constexpr double kCapsEx = 6;
constexpr unsigned kCapsMultitrack = 2;

constexpr std::string_view kOnMetaData("\x02\x00\x0AonMetaData", 13);

uint32_t chunk_stream_of(media::TrackKind kind) {
    switch (kind) {
        case media::TrackKind::kAudio: return kAudioChunkStream;
        case media::TrackKind::kVideo: return kVideoChunkStream;
        case media::TrackKind::kData: break;
    }
    return kDataChunkStream;
}

std::string_view without_query(std::string_view name) {
    return split_query(name).first;
}

// Of either object in the answer to connect.
bool has_multitrack(const amf::Value& value) {
    const double caps = value.number_of("capsEx");
    return caps >= 0 && caps <= UINT8_MAX && (static_cast<unsigned>(caps) & kCapsMultitrack) != 0;
}

}  // namespace

ClientSession::ClientSession(ClientOptions options)
    : reader_(options.limits), options_(std::move(options)) {
    options_.chunk_size = std::clamp(options_.chunk_size, uint32_t{1}, kMaxChunkSize);
    send_connect();
}

bool ClientSession::fail(Error error) {
    if (!failed_) {
        error_ = std::move(error);
        failed_ = true;
    }
    return false;
}

Error ClientSession::take_error() {
    return std::move(error_);
}

Bytes ClientSession::take_output() {
    return std::exchange(output_, Bytes());
}

void ClientSession::append_output(Bytes& out) {
    out.insert(out.end(), output_.begin(), output_.end());
    output_.clear();
}

size_t ClientSession::feed(ByteSpan bytes) {
    const size_t consumed = reader_.feed(bytes);
    bytes_received_ += consumed;
    acknowledge();
    return consumed;
}

void ClientSession::acknowledge() {
    if (server_window_ != 0 && bytes_received_ - bytes_acknowledged_ >= server_window_) {
        bytes_acknowledged_ = bytes_received_;
        write_acknowledgement(static_cast<uint32_t>(bytes_received_), output_);
    }
}

bool ClientSession::next_event(ClientEvent& event) {
    while (!failed_) {
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

bool ClientSession::handle_message(Message& message, ClientEvent& event) {
    switch (message.type) {
        case kAudio:
        case kVideo:
        case kDataAmf0: {
            const media::TrackKind kind = message.type == kAudio   ? media::TrackKind::kAudio
                                          : message.type == kVideo ? media::TrackKind::kVideo
                                                                   : media::TrackKind::kData;
            event.kind = ClientEventKind::kMedia;
            event.data = MediaMessage{kind, message.timestamp, std::move(message.body)};
            return true;
        }
        case kCommandAmf0:
        case kCommandAmf3: return handle_command(message, event);
        case kUserControl: return handle_user_control(message, event);
        case kWindowAckSize:
            server_window_ = parse_u32(message.body).value_or(server_window_);
            return false;
        default: return false;
    }
}

bool ClientSession::handle_user_control(const Message& message, ClientEvent& event) {
    const std::optional<UserControl> control = parse_user_control(message.body);
    if (!control) {
        return false;
    }
    if (control->event == kPingRequest) {
        write_user_control({kPingResponse, control->value, 0}, output_);
    }
    if (control->event == kStreamEof && control->value == stream_id_ && state_ == State::kStarted &&
        !paused_) {
        state_ = State::kEnded;
        event.kind = ClientEventKind::kEnded;
        event.data = std::monostate();
        return true;
    }
    return false;
}

bool ClientSession::handle_command(const Message& message, ClientEvent& event) {
    Result<Command> command = parse_command(message.type, message.body);
    if (!command.ok()) {
        return fail(command.take_error().with_context("command"));
    }
    if (command->name == "_result") {
        return handle_result(*command, event);
    }
    if (command->name == "_error") {
        const bool needed = command->transaction == kConnectTransaction ||
                            command->transaction == kCreateTransaction;
        const amf::Value& info = command->arg(0);
        return needed && fail(make_error(ErrorCode::kDenied, "{}: {}", info.text_of("code"),
                                         info.text_of("description")));
    }
    if (command->name == "onStatus") {
        return handle_status(*command, event);
    }
    return false;
}

bool ClientSession::handle_result(const Command& command, ClientEvent& event) {
    if (command.transaction == kConnectTransaction && state_ == State::kConnecting) {
        state_ = State::kCreating;
        takes_multitrack_ = has_multitrack(command.object) || has_multitrack(command.arg(0));
        write_window_ack_size(options_.window_ack_size, output_);
        write_set_chunk_size(options_.chunk_size, output_);
        send_chunk_size_ = options_.chunk_size;
        Bytes body;
        if (options_.role == ClientRole::kPublish) {
            amf::Writer(body)
                .string("releaseStream")
                .number(kReleaseTransaction)
                .null()
                .string(options_.stream);
            send_command(0, std::exchange(body, Bytes()));
            amf::Writer(body)
                .string("FCPublish")
                .number(kFcPublishTransaction)
                .null()
                .string(options_.stream);
            send_command(0, std::exchange(body, Bytes()));
        }
        amf::Writer(body).string("createStream").number(kCreateTransaction).null();
        send_command(0, body);
        event.kind = ClientEventKind::kConnected;
        event.data = std::monostate();
        return true;
    }
    if (command.transaction == kCreateTransaction && state_ == State::kCreating) {
        const double id = command.arg(0).as_number();
        if (!(id >= 1 && id <= UINT32_MAX)) {
            return fail(make_error(ErrorCode::kMalformed, "createStream gave stream id {}", id));
        }
        stream_id_ = static_cast<uint32_t>(id);
        state_ = State::kStarting;
        send_start();
    }
    return false;
}

bool ClientSession::handle_status(const Command& command, ClientEvent& event) {
    const amf::Value& info = command.arg(0);
    const std::string_view code = info.text_of("code");
    if (info.text_of("level") == "error") {
        return fail(make_error(ErrorCode::kDenied, "{}: {}", code, info.text_of("description")));
    }
    const std::string_view start =
        options_.role == ClientRole::kPublish ? status::kPublishStart : status::kPlayStart;
    event.data = std::monostate();
    if (code == start && state_ == State::kStarting) {
        state_ = State::kStarted;
        event.kind = ClientEventKind::kStarted;
        return true;
    }
    if (code == status::kPlayUnpublishNotify || code == status::kPlayStop ||
        code == "NetStream.Play.Complete") {
        if (state_ == State::kEnded) {
            return false;
        }
        state_ = State::kEnded;
        event.kind = ClientEventKind::kEnded;
        return true;
    }
    event.kind = ClientEventKind::kStatus;
    event.data = StatusText{std::string(info.text_of("level")), std::string(code),
                            std::string(info.text_of("description"))};
    return true;
}

void ClientSession::send_connect() {
    Bytes body;
    amf::Writer writer(body);
    writer.string("connect").number(kConnectTransaction).begin_object();
    writer.key("app").string(options_.app);
    if (options_.role == ClientRole::kPublish) {
        writer.key("type").string("nonprivate");
    }
    writer.key("flashVer").string(options_.flash_version);
    writer.key("tcUrl").string(options_.tc_url);
    if (options_.role == ClientRole::kPlay) {
        writer.key("fpad").boolean(false);
        writer.key("capabilities").number(15);
        writer.key("audioCodecs").number(4071);
        writer.key("videoCodecs").number(252);
        writer.key("videoFunction").number(1);
    }
    if (options_.enhanced) {
        writer.key("fourCcList").begin_strict_array(1).string("*");
        writer.key("videoFourCcInfoMap").begin_object().key("*").number(kAnyUse).end_object();
        writer.key("audioFourCcInfoMap").begin_object().key("*").number(kAnyUse).end_object();
        writer.key("capsEx").number(kCapsEx);
    }
    writer.end_object();
    send_command(0, body);
}

void ClientSession::send_start() {
    Bytes body;
    if (options_.role == ClientRole::kPublish) {
        amf::Writer(body).string("publish").number(0).null().string(options_.stream).string("live");
        send_command(stream_id_, body);
        return;
    }
    amf::Writer(body).string("play").number(0).null().string(options_.stream).number(-2000);
    send_command(stream_id_, body);
    write_user_control({kSetBufferLength, stream_id_, options_.buffer_ms}, output_);
}

void ClientSession::send_media(media::TrackKind kind, uint32_t timestamp, ByteSpan body) {
    if (state_ != State::kStarted || options_.role != ClientRole::kPublish) {
        return;
    }
    ChunkHeader header;
    header.type = kind == media::TrackKind::kAudio   ? kAudio
                  : kind == media::TrackKind::kVideo ? kVideo
                                                     : kDataAmf0;
    header.chunk_stream_id = chunk_stream_of(kind);
    header.timestamp = timestamp;
    header.stream_id = stream_id_;
    if (kind == media::TrackKind::kData && as_text(body).starts_with(kOnMetaData)) {
        Bytes framed;
        amf::Writer(framed).string("@setDataFrame");
        framed.insert(framed.end(), body.begin(), body.end());
        write_message(header, framed, send_chunk_size_, output_);
        return;
    }
    write_message(header, body, send_chunk_size_, output_);
}

void ClientSession::pause(bool on) {
    if (state_ != State::kStarted) {
        return;
    }
    paused_ = on;
    Bytes body;
    amf::Writer(body).string("pause").number(0).null().boolean(on).number(0);
    send_command(stream_id_, body);
}

void ClientSession::stop() {
    if (stream_id_ == 0 || stopped_) {
        return;
    }
    stopped_ = true;
    state_ = State::kEnded;
    Bytes body;
    if (options_.role == ClientRole::kPublish) {
        amf::Writer(body)
            .string("FCUnpublish")
            .number(kUnpublishTransaction)
            .null()
            .string(without_query(options_.stream));
        send_command(0, std::exchange(body, Bytes()));
    }
    amf::Writer(body).string("deleteStream").number(0).null().number(stream_id_);
    send_command(0, body);
}

void ClientSession::send_command(uint32_t stream_id, ByteSpan body) {
    ChunkHeader header;
    header.type = kCommandAmf0;
    header.chunk_stream_id = kCommandChunkStream;
    header.stream_id = stream_id;
    write_message(header, body, send_chunk_size_, output_);
}

}  // namespace weir::rtmp
