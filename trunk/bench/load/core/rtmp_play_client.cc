#include "bench/load/core/rtmp_play_client.h"

#include <algorithm>

#include "proto/amf/amf0.h"
#include "proto/rtmp/chunk_writer.h"
#include "proto/rtmp/command.h"
#include "proto/rtmp/message.h"

namespace weir::load {
namespace {

constexpr double kConnectTransaction = 1;
constexpr double kCreateTransaction = 2;
constexpr uint32_t kBufferMs = 1000;

bool is_command(uint8_t type) {
    return type == rtmp::kCommandAmf0 || type == rtmp::kCommandAmf3;
}

// Messages that are collected as a whole.
bool is_collected(uint8_t type) {
    return is_command(type) || type == rtmp::kUserControl || type == rtmp::kWindowAckSize;
}

}  // namespace

RtmpPlayClient::RtmpPlayClient(const RtmpTarget& target, PlayerCheck& check, RandomSource& random)
    : target_(target), check_(check), handshake_(std::make_unique<rtmp::ClientHandshake>(random)) {
    output_ = handshake_->take_output();
}

RtmpPlayClient::~RtmpPlayClient() = default;

bool RtmpPlayClient::feed(ByteSpan bytes, uint64_t now_ns) {
    now_ns_ = now_ns;
    check_.received(bytes.size(), now_ns);
    acknowledge(bytes.size());
    while (handshake_ && !bytes.empty()) {
        auto used = handshake_->feed(bytes);
        if (!used.ok()) {
            fail("handshake: " + std::string(used.error().message()));
            return false;
        }
        bytes = bytes.subspan(*used);
        Bytes answer = handshake_->take_output();
        output_.insert(output_.end(), answer.begin(), answer.end());
        if (handshake_->done()) {
            handshake_.reset();
            send_connect();
        }
    }
    if (!scanner_.feed(bytes, *this)) {
        fail(scanner_.error());
    }
    return failure_.empty();
}

void RtmpPlayClient::acknowledge(size_t bytes) {
    bytes_ += bytes;
    if (window_ != 0 && bytes_ - acknowledged_ >= window_) {
        acknowledged_ = bytes_;
        rtmp::write_acknowledgement(static_cast<uint32_t>(bytes_), output_);
    }
}

void RtmpPlayClient::begin(const ScannedMessage& message) {
    if (is_collected(message.type)) {
        message_.clear();
    } else {
        check_.begin(message);
    }
}

void RtmpPlayClient::part(const ScannedMessage& message, ByteSpan bytes) {
    if (!is_collected(message.type)) {
        check_.part(message, bytes);
    } else if (message_.size() + bytes.size() <= kMaxCommandSize) {
        message_.insert(message_.end(), bytes.begin(), bytes.end());
    } else {
        fail("the server sent a command that is too long");
    }
}

void RtmpPlayClient::end(const ScannedMessage& message) {
    if (is_command(message.type)) {
        handle_command(message);
    } else if (message.type == rtmp::kUserControl) {
        handle_user_control();
    } else if (message.type == rtmp::kWindowAckSize) {
        window_ = rtmp::parse_u32(message_).value_or(window_);
    } else {
        check_.end(message);
        return;
    }
    if (state_ == State::kPlaying) {
        message_ = Bytes();  // thousands of players: nobody needs it for now
    }
}

void RtmpPlayClient::handle_user_control() {
    auto control = rtmp::parse_user_control(message_);
    if (!control) {
        return;
    }
    if (control->event == rtmp::kPingRequest) {
        rtmp::write_user_control({rtmp::kPingResponse, control->value, 0}, output_);
    } else if (control->event == rtmp::kStreamEof) {
        stream_ended_ = true;
    }
}

void RtmpPlayClient::handle_command(const ScannedMessage& message) {
    auto command = rtmp::parse_command(message.type, message_);
    if (!command.ok()) {
        fail("a command that cannot be read: " + std::string(command.error().message()));
        return;
    }
    if (command->name == "onStatus") {
        const amf::Value& info = command->arg(0);
        handle_status(info.text_of("level"), info.text_of("code"), info.text_of("description"));
    } else if (command->name == "_error") {
        const amf::Value& info = command->arg(0);
        fail(fmt::format("refused: {} {}", info.text_of("code"), info.text_of("description")));
    } else if (command->name == "_result" && state_ == State::kConnecting &&
               command->transaction == kConnectTransaction) {
        send_create_stream();
    } else if (command->name == "_result" && state_ == State::kCreating &&
               command->transaction == kCreateTransaction) {
        stream_id_ =
            static_cast<uint32_t>(std::clamp(command->arg(0).as_number(1), 0.0, 4294967295.0));
        send_play();
    }
}

void RtmpPlayClient::handle_status(std::string_view level,
                                   std::string_view code,
                                   std::string_view description) {
    if (level == "error" || code == rtmp::status::kPlayStreamNotFound ||
        code == rtmp::status::kPlayFailed) {
        fail(fmt::format("refused: {} {}", code, description));
    } else if (code == rtmp::status::kPlayStart) {
        state_ = State::kPlaying;
    } else if (code == rtmp::status::kPlayUnpublishNotify || code == rtmp::status::kPlayStop) {
        stream_ended_ = true;
    } else if (code == rtmp::status::kPlayPublishNotify) {
        stream_ended_ = false;
    }
}

void RtmpPlayClient::send_command(uint32_t chunk_stream, uint32_t stream_id, const Bytes& body) {
    rtmp::ChunkHeader header;
    header.type = rtmp::kCommandAmf0;
    header.chunk_stream_id = chunk_stream;
    header.stream_id = stream_id;
    rtmp::write_message(header, body, rtmp::kDefaultChunkSize, output_);
}

void RtmpPlayClient::send_connect() {
    Bytes body;
    amf::Writer writer(body);
    writer.string("connect").number(kConnectTransaction).begin_object();
    writer.key("app").string(target_.app);
    writer.key("flashVer").string("LNX 9,0,124,2");
    writer.key("tcUrl").string(target_.tc_url);
    writer.key("fpad").boolean(false);
    writer.key("capabilities").number(15);
    writer.key("audioCodecs").number(4071);
    writer.key("videoCodecs").number(252);
    writer.key("videoFunction").number(1);
    writer.end_object();
    send_command(rtmp::kCommandChunkStream, 0, body);
    state_ = State::kConnecting;
}

void RtmpPlayClient::send_create_stream() {
    Bytes body;
    amf::Writer(body).string("createStream").number(kCreateTransaction).null();
    send_command(rtmp::kCommandChunkStream, 0, body);
    state_ = State::kCreating;
}

void RtmpPlayClient::send_play() {
    Bytes body;
    amf::Writer(body).string("play").number(0).null().string(target_.stream).number(-2000);
    send_command(rtmp::kStatusChunkStream, stream_id_, body);
    rtmp::write_user_control({rtmp::kSetBufferLength, stream_id_, kBufferMs}, output_);
    state_ = State::kStarting;
    check_.joined(now_ns_);
}

}  // namespace weir::load
