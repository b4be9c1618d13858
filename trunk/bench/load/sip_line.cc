#include "bench/load/sip_line.h"

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/random.h"
#include "io/deadline.h"
#include "proto/rtmp/handshake.h"

#include "bench/load/run_control.h"

namespace weir::load {
namespace {

constexpr size_t kReadSize = 2048;
constexpr int kReadsPerTurn = 16;
constexpr uint8_t kMuLawTag = 0x82;  // FLV: sound format 8, 16 bits, mono
constexpr uint8_t kMuLaw = 8;
constexpr uint8_t kALaw = 7;
constexpr uint32_t kPacketMs = 20;
constexpr size_t kMaxOutput = 64 * 1024;  // that the server does not read

}  // namespace

SipLine::SipLine(Url url, double say, uint32_t voice)
    : url_(std::move(url)), source_(std::make_unique<VoiceSource>(say, voice)) {}

SipLine::SipLine(Url url, double hear, uint32_t voice, Histogram& delays) : url_(std::move(url)) {
    check_.emplace(hear, voice, delays);
}

SipLine::~SipLine() = default;

Error SipLine::connect(const io::SocketAddress& server,
                       const io::SocketAddress* from,
                       io::Deadline deadline) {
    WEIR_TRY_ASSIGN(stream_, io::TcpStream::connect(server, deadline, from));
    if (closed_) {
        return make_error(ErrorCode::kInterrupted, "the call is over");
    }
    Bytes buffer(kReadSize);
    size_t unread = 0;
    WEIR_TRY(shake_hands(deadline, buffer, unread));
    rtmp::ClientOptions options;
    options.role = source_ ? rtmp::ClientRole::kPublish : rtmp::ClientRole::kPlay;
    options.app = url_.app;
    options.tc_url = fmt::format("rtmp://{}/{}", url_.authority(), url_.app);
    options.stream = url_.stream;
    options.enhanced = false;  // G.711 goes as a tag of FLV
    options.buffer_ms = kPacketMs;
    session_ = std::make_unique<rtmp::ClientSession>(std::move(options));
    for (;;) {
        WEIR_TRY(take(ByteSpan(buffer).first(unread)));
        session_->append_output(output_);
        if (!output_.empty()) {
            WEIR_TRY(stream_->write_all(output_, deadline));
            output_.clear();
        }
        if (session_->started()) {
            break;
        }
        WEIR_TRY_ASSIGN(unread, stream_->read_some(buffer, deadline));
    }
    if (closed_) {
        return make_error(ErrorCode::kInterrupted, "the call is over");
    }
    started_ = true;
    stream_->set_handler(this);
    on_ready(io::kReadable);
    return {};
}

// `unread`: what came behind it, at the front of the buffer.
Error SipLine::shake_hands(io::Deadline deadline, Bytes& buffer, size_t& unread) {
    rtmp::ClientHandshake handshake(system_random());
    while (!handshake.done()) {
        WEIR_TRY(stream_->write_all(handshake.take_output(), deadline));
        if (unread == 0) {
            WEIR_TRY_ASSIGN(unread, stream_->read_some(buffer, deadline));
        }
        WEIR_TRY_ASSIGN(const size_t used, handshake.feed(ByteSpan(buffer).first(unread)));
        unread -= used;
        std::memmove(buffer.data(), buffer.data() + used, unread);
    }
    return stream_->write_all(handshake.take_output(), deadline);
}

Error SipLine::take(ByteSpan bytes) {
    rtmp::ClientEvent event;
    while (!bytes.empty()) {
        bytes = bytes.subspan(session_->feed(bytes));
        while (session_->next_event(event)) {
            if (event.kind == rtmp::ClientEventKind::kMedia) {
                take_media(event.media());
            } else if (event.kind == rtmp::ClientEventKind::kEnded) {
                return make_error(ErrorCode::kClosed, "the server ended the stream");
            }
        }
        if (session_->failed()) {
            return session_->take_error();
        }
    }
    return {};
}

void SipLine::take_media(const rtmp::MediaMessage& message) {
    if (message.kind != media::TrackKind::kAudio || message.body.size() < 2 || !check_) {
        return;
    }
    const ByteSpan codes = ByteSpan(message.body).subspan(1);
    const unsigned format = message.body.front() >> 4U;
    if (format == kMuLaw) {
        check_->feed_mu(codes, now_ns());
    } else if (format == kALaw) {
        check_->feed_a(codes, now_ns());
    }
}

void SipLine::on_ready(uint8_t) {
    std::array<uint8_t, kReadSize> buffer;
    for (int i = 0; stream_ && failure_.empty() && i < kReadsPerTurn; i++) {
        const io::IoResult got = stream_->try_read(buffer);
        if (got.status == io::IoStatus::kWouldBlock) {
            break;
        }
        if (got.status != io::IoStatus::kDone) {
            fail("closed by the server");
            return;
        }
        if (Error error = take(ByteSpan(buffer).first(got.bytes))) {
            fail(std::string(error.message()));
            return;
        }
    }
    flush();
}

void SipLine::say(uint64_t now_ns) {
    if (!started_ || !source_ || !stream_ || !failure_.empty()) {
        return;
    }
    std::array<uint8_t, 1 + kVoiceSamples> body;
    body.front() = kMuLawTag;
    const uint32_t time_ms = source_->packets() * kPacketMs;
    source_->next(now_ns, std::span(body).last<kVoiceSamples>());
    session_->send_media(media::TrackKind::kAudio, time_ms, body);
    flush();
}

bool SipLine::flush() {
    if (session_) {
        session_->append_output(output_);
    }
    while (!output_.empty() && stream_) {
        const io::IoResult done = stream_->try_write(output_);
        if (done.status == io::IoStatus::kWouldBlock) {
            break;
        }
        if (done.status != io::IoStatus::kDone) {
            fail("connection lost");
            return false;
        }
        output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(done.bytes));
    }
    if (output_.size() > kMaxOutput) {
        fail("the server does not read");
    }
    return failure_.empty();
}

void SipLine::close() {
    closed_ = true;
    if (started_) {
        stream_.reset();
    } else if (stream_) {
        stream_->shutdown();
    }
}

void SipLine::fail(std::string why) {
    if (failure_.empty()) {
        failure_ = std::move(why);
        stream_->set_handler(nullptr);
    }
}

}  // namespace weir::load
