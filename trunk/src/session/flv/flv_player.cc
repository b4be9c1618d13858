#include "session/flv/flv_player.h"

#include <array>

#include "proto/flv/tag.h"
#include "proto/http/response.h"
#include "proto/ws/frame.h"
#include "session/flv/flv_muxer.h"

namespace weir::session {

namespace {

class WebSocketFraming final : public net::Framing {
  public:
    static_assert(ws::kMaxServerFrameHeader <= kMaxHeader);

    size_t write_header(uint64_t payload, uint8_t* out) override {
        return ws::write_frame_header(out, ws::Opcode::kBinary, payload);
    }
};

}  // namespace

using net::EndReason;
using net::PlayerVerdict;

FlvPlayer::FlvPlayer(std::string head,
                     http::Fields route_fields,
                     bool websocket,
                     net::ConnectionPermit permit)
    : head_(std::move(head)), route_fields_(std::move(route_fields)), permit_(std::move(permit)) {
    if (websocket) {
        reader_ = std::make_unique<ws::MessageReader>(ws::Role::kServer);
    }
}

void FlvPlayer::on_start(const stream::Stream& stream,
                         const stream::Muxer& muxer,
                         bool first,
                         Bytes& out) {
    ByteWriter writer(out);
    Bytes front;
    if (first) {
        writer.text(head_);
        head_ = {};
        std::array<uint8_t, flv::kFileHeaderSize> header;
        flv::write_file_header(stream.has_audio(), stream.has_video(), header.data());
        front.assign(header.begin(), header.end());
    }
    // The pump's muxer is of our format.
    static_cast<const FlvMuxer&>(muxer).front(front);
    if (front.empty()) {
        return;
    }
    if (reader_) {
        std::array<uint8_t, ws::kMaxServerFrameHeader> header;
        writer.bytes({header.data(),
                      ws::write_frame_header(header.data(), ws::Opcode::kBinary, front.size())});
    }
    writer.bytes(front);
}

void FlvPlayer::take_unread(ByteSpan unread) {
    if (reader_) {
        reader_->feed(unread);
    }
}

PlayerVerdict FlvPlayer::on_data(ByteSpan data, Bytes& out) {
    if (!reader_) {
        return PlayerVerdict::kGoOn;  // a second request: nobody answers it while the stream runs
    }
    reader_->feed(data);
    ws::Message message;
    ws::ReadStatus status = ws::ReadStatus::kNeedMore;
    while ((status = reader_->next(message)) == ws::ReadStatus::kMessage) {
        if (message.opcode == ws::Opcode::kPing && head_.empty()) {
            ByteWriter(out).bytes(ws::make_frame(ws::Opcode::kPong, message.payload));
        } else if (message.opcode == ws::Opcode::kClose) {
            return PlayerVerdict::kClose;
        }
    }
    return status == ws::ReadStatus::kError ? PlayerVerdict::kError : PlayerVerdict::kGoOn;
}

void FlvPlayer::on_end(EndReason reason, bool started, Bytes& out) {
    ByteWriter writer(out);
    if (!started) {
        if (reason == EndReason::kPeerClosed) {
            return;
        }
        const bool missing = reason == EndReason::kNoPublisher;
        const http::ErrorBody body = http::http_error_body(
            http::ErrorFormat::kText, missing ? 404 : 503,
            missing ? "no such stream: nobody publishes it" : net::to_string(reason));
        http::Fields fields = route_fields_;
        fields.add("Content-Type", body.content_type);
        fields.add("Content-Length", std::to_string(body.body.size()));
        fields.add("Connection", "close");
        writer.text(http::http_response_head(missing ? 404 : 503, fields));
        writer.text(body.body);
    } else if (reader_) {
        const bool fault = reason == EndReason::kProtocolError;
        writer.bytes(ws::make_close(fault ? reader_->close_code() : ws::CloseCode::kGoingAway,
                                    net::to_string(reason)));
    }
}

std::unique_ptr<net::Framing> FlvPlayer::make_framing() {
    return reader_ ? std::make_unique<WebSocketFraming>() : nullptr;
}

}  // namespace weir::session
