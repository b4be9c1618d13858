#include "net/http_player.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "net/http/detached_connection.h"
#include "net/http_play.h"
#include "net/player.h"
#include "proto/http/response.h"
#include "proto/ws/frame.h"
#include "stream/stream.h"

namespace weir::net {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";

class WebSocketFraming final : public Framing {
  public:
    static_assert(ws::kMaxServerFrameHeader <= kMaxHeader);

    size_t write_header(uint64_t payload, uint8_t* out) override {
        return ws::write_frame_header(out, ws::Opcode::kBinary, payload);
    }
};

// Each chunk brings the end of line of what was before it: of the chunk before, or for the first
// one the empty line behind the head.
class ChunkFraming final : public Framing {
  public:
    size_t write_header(uint64_t payload, uint8_t* out) override {
        static_assert(Player::kMaxWriteBytes < 1ULL << 48U, "12 digits between two ends of line");
        char* at = reinterpret_cast<char*>(out);
        at = std::ranges::copy(kLineEnd, at).out;
        at = std::to_chars(at, reinterpret_cast<char*>(out) + kMaxHeader, payload, 16).ptr;
        at = std::ranges::copy(kLineEnd, at).out;
        return static_cast<size_t>(at - reinterpret_cast<char*>(out));
    }
};

void append_framed(Framing* framing, ByteSpan piece, Bytes& out) {
    if (piece.empty()) {
        return;
    }
    ByteWriter writer(out);
    if (framing != nullptr) {
        std::array<uint8_t, Framing::kMaxHeader> header;
        writer.bytes({header.data(), framing->write_header(piece.size(), header.data())});
    }
    writer.bytes(piece);
}

}  // namespace

HttpPlayer::HttpPlayer(const HttpFormat& format, HttpPlayerAnswer answer, ConnectionPermit permit)
    : format_(format),
      body_(answer.body),
      unsent_(std::make_unique<HttpPlayerAnswer>(std::move(answer))),
      permit_(std::move(permit)) {
    if (body_ == HttpPlayerBody::kWebSocket) {
        reader_ = std::make_unique<ws::MessageReader>(ws::Role::kServer);
    }
}

std::unique_ptr<Framing> HttpPlayer::make_framing() {
    switch (body_) {
        case HttpPlayerBody::kPlain: return nullptr;
        case HttpPlayerBody::kChunks: return std::make_unique<ChunkFraming>();
        case HttpPlayerBody::kWebSocket: return std::make_unique<WebSocketFraming>();
    }
    return nullptr;
}

void HttpPlayer::on_start(const stream::Stream& stream,
                          const stream::Muxer& muxer,
                          bool first,
                          Bytes& out) {
    Bytes front;
    if (first) {
        std::string_view head = unsent_->head;
        if (body_ == HttpPlayerBody::kChunks) {
            head.remove_suffix(kLineEnd.size());  // the first chunk brings it
        }
        ByteWriter(out).text(head);
        unsent_.reset();
        edition_ = muxer.edition();
        if (format_.header != nullptr) {
            format_.header(stream, front);
        }
    }
    if (format_.front != nullptr) {
        format_.front(muxer, !first, front);
    }
    append_framed(make_framing().get(), front, out);
}

bool HttpPlayer::fits(const stream::Muxer& muxer) const {
    return !format_.one_publisher || unsent_ || edition_ == muxer.edition();
}

EndReason HttpPlayer::misfit() const {
    return format_.one_publisher ? EndReason::kPublisherGone : EndReason::kCodecsChanged;
}

void HttpPlayer::take_unread(ByteSpan unread) {
    if (reader_) {
        reader_->feed(unread);
    }
}

PlayerVerdict HttpPlayer::on_data(ByteSpan data, Bytes& out) {
    if (!reader_) {
        return PlayerVerdict::kGoOn;  // a second request: nobody answers it while the stream runs
    }
    reader_->feed(data);
    ws::Message message;
    ws::ReadStatus status = ws::ReadStatus::kNeedMore;
    while ((status = reader_->next(message)) == ws::ReadStatus::kMessage) {
        if (message.opcode == ws::Opcode::kPing && !unsent_) {
            ByteWriter(out).bytes(ws::make_frame(ws::Opcode::kPong, message.payload));
        } else if (message.opcode == ws::Opcode::kClose) {
            return PlayerVerdict::kClose;
        }
    }
    return status == ws::ReadStatus::kError ? PlayerVerdict::kError : PlayerVerdict::kGoOn;
}

void HttpPlayer::on_end(EndReason reason, bool started, Bytes& out) {
    if (!started) {
        refuse(reason, out);
        return;
    }
    ByteWriter writer(out);
    if (body_ == HttpPlayerBody::kWebSocket) {
        const bool fault = reason == EndReason::kProtocolError;
        writer.bytes(ws::make_close(fault ? reader_->close_code() : ws::CloseCode::kGoingAway,
                                    to_string(reason)));
    } else if (body_ == HttpPlayerBody::kChunks && reason == EndReason::kPublisherGone) {
        writer.text(kLastChunk);  // the stream is whole; after every other end it is not
    }
}

// The answer in place of a stream that did not come.
void HttpPlayer::refuse(EndReason reason, Bytes& out) const {
    if (reason == EndReason::kPeerClosed) {
        return;
    }
    const bool missing = reason == EndReason::kNoPublisher;
    const int status = missing ? 404 : 503;
    const http::ErrorBody body =
        http::http_error_body(http::ErrorFormat::kText, status,
                              missing ? "no such stream: nobody publishes it" : to_string(reason));
    http::Fields fields = unsent_->route_fields;
    fields.add("Content-Type", body.content_type);
    fields.add("Content-Length", std::to_string(body.body.size()));
    fields.add("Connection", "close");
    ByteWriter writer(out);
    writer.text(http::http_response_head(status, fields));
    writer.text(body.body);
}

}  // namespace weir::net
