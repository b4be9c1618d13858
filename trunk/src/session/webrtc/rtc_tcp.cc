#include "session/webrtc/rtc_tcp.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/log.h"
#include "io/deadline.h"
#include "net/placement.h"
#include "session/webrtc/rtc_transport.h"

namespace weir::session {
namespace {

constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kReadsPerTurn = 4;                         // then others have their turn
constexpr size_t kMaxFrames = io::UdpSocket::kMaxSegments;  // of one burst
constexpr size_t kHeader = ice::kFrameHeaderBytes;
// The first datagram, and what one read brings behind it.
constexpr size_t kMaxHeard = kReadBytes + 2 * RtcTcpConnection::kFrameLimit;

// What is read, and the datagram that is being looked at: by nobody else meanwhile, since nothing
// yields. Aligned as SRTP wants it.
std::span<uint8_t> read_buffer() {
    static std::array<uint8_t, kReadBytes> buffer;
    return buffer;
}

std::span<uint8_t> datagram_buffer() {
    alignas(8) static std::array<uint8_t, RtcTcpConnection::kFrameLimit> buffer;
    return buffer;
}

}  // namespace

RtcTcpConnection::RtcTcpConnection(RtcTransport& transport, std::unique_ptr<io::TcpStream> stream)
    : transport_(transport),
      stream_(std::move(stream)),
      reader_(kFrameLimit),
      may_move_(transport.shared_port() != nullptr && !stream_->replays()) {
    path_.remote = stream_->peer().net_address();
    io::StreamOptions options;
    options.notsent_lowat_bytes = kUnsentBytes;
    options.user_timeout = kStallTimeout;
    stream_->apply(options);
}

bool RtcTcpConnection::enter(const net::Ingress* ingress) {
    return begin(ingress) && take_place();
}

// False: its address has no place left.
bool RtcTcpConnection::take_place() {
    Result<net::Limits::AddressPlace> place = transport_.services().limits.enter(stream_->peer());
    if (!place.ok()) {
        log::debug("webrtc tcp connection refused: {}", place.error().message());
        transport_.note_refused_tcp();
        return false;
    }
    place_ = std::move(*place);
    return true;
}

bool RtcTcpConnection::begin(const net::Ingress* ingress) {
    if (ingress == nullptr) {
        return true;
    }
    const io::Deadline deadline = io::Deadline::after(transport_.options().tcp_proof_timeout);
    if (const Error refused = ingress->begin(*stream_, deadline)) {
        log::debug("webrtc tcp connection of {} rejected: {}", stream_->peer().host(),
                   log::escaped(refused.message()));
        transport_.note_unproven_tcp();
        return false;
    }
    path_.remote = stream_->peer().net_address();
    return true;
}

void RtcTcpConnection::on_ready(uint8_t) {
    signal_.notify_one();
}

void RtcTcpConnection::run(uint32_t link) {
    path_.link = link;
    stream_->set_handler(this);
    const Micros patience = transport_.options().tcp_proof_timeout;
    MonoTime proven = MonoClock::now();  // when it last had a session
    while (!io::interrupted()) {
        const bool open = read();
        const MonoTime now = MonoClock::now();
        flush(now);
        if (!open || broken_) {
            return;
        }
        if (transport_.has_session(path_)) {
            proven = now;
        } else if (now - proven >= patience) {
            transport_.note_unproven_tcp();
            return;
        }
        if (!queue_.empty() && now - queue_moved_ >= kStallTimeout) {
            return;
        }
        if (stream_->readable()) {
            io::yield();
            continue;
        }
        const MonoTime due =
            queue_.empty() ? proven + patience
                           : std::min<MonoTime>(proven + patience, queue_moved_ + kStallTimeout);
        // Time-out or edge: looked at above.
        (void)signal_.wait_until(io::Deadline::at(due));
    }
}

// ---- reading ----

// False: closed by the peer, or what it sends is no frames.
bool RtcTcpConnection::read() {
    for (size_t i = 0; i < kReadsPerTurn; i++) {
        const io::IoResult result = stream_->try_read(read_buffer());
        if (result.status == io::IoStatus::kWouldBlock) {
            return true;
        }
        if (result.status != io::IoStatus::kDone) {
            return false;
        }
        if (!take_frames(ByteSpan(read_buffer()).first(result.bytes))) {
            if (!moved_) {
                transport_.note_malformed_tcp();
            }
            return false;
        }
    }
    return true;
}

// Where all processes have one port: true when the first check names another one, which has the
// connection now.
bool RtcTcpConnection::move(ByteSpan check) {
    const Bytes heard = std::exchange(heard_, {});
    net::Placement* const placement = transport_.services().placement;
    const std::optional<uint32_t> named = transport_.elsewhere(check);
    if (!named || placement == nullptr || stream_->encrypted()) {
        return false;
    }
    const std::optional<uint32_t> process = placement->other(*named);
    moved_ =
        process && placement->move(*process, kKind, *stream_, {.answered = {}, .heard = heard});
    return moved_;
}

bool RtcTcpConnection::take_frames(ByteSpan bytes) {
    const MonoTime now = MonoClock::now();
    if (may_move_) {
        if (heard_.size() + bytes.size() > kMaxHeard) {  // empty frames could go on for ever
            may_move_ = false;
            heard_ = {};
        } else {
            heard_.insert(heard_.end(), bytes.begin(), bytes.end());
        }
    }
    auto status = ice::FrameReader::Status::kNeedMore;
    while (!bytes.empty() && status != ice::FrameReader::Status::kError) {
        bytes = bytes.subspan(reader_.feed(bytes));
        ByteSpan frame;
        while ((status = reader_.next(frame)) == ice::FrameReader::Status::kDatagram) {
            if (std::exchange(may_move_, false) && move(frame)) {
                return false;
            }
            std::memcpy(datagram_buffer().data(), frame.data(), frame.size());
            transport_.on_datagram(now, datagram_buffer().first(frame.size()), path_);
        }
    }
    transport_.settle(now);
    return status != ice::FrameReader::Status::kError;
}

// ---- writing ----

bool RtcTcpConnection::send(const NetAddress& remote, ByteSpan data, size_t segment_bytes) {
    // A path of a connection that had this number before leads nowhere.
    if (broken_ || data.empty() || remote != path_.remote) {
        return true;
    }
    const bool burst = segment_bytes != 0;
    if (burst && !takes_burst()) {
        refused_ = true;
        transport_.note_tcp_blocked();
        return false;
    }
    if (!queue_.empty() && queue_.size() - queue_taken_ + data.size() > kMaxQueueBytes) {
        transport_.note_tcp_dropped();
        return true;
    }
    const size_t segment = burst ? segment_bytes : data.size();
    const size_t written = queue_.empty() ? write_frames(data, segment) : 0;
    if (broken_) {
        signal_.notify_one();
        return true;
    }
    if (burst && written == 0) {
        refused_ = true;
        transport_.note_tcp_blocked();
        return false;
    }
    enqueue_frames(data, segment, written);
    return true;
}

// How many bytes the kernel took, frame headers included.
size_t RtcTcpConnection::write_frames(ByteSpan data, size_t segment) {
    std::array<std::array<uint8_t, kHeader>, kMaxFrames> headers;
    std::array<iovec, 2 * kMaxFrames> parts;
    size_t count = 0;
    for (size_t at = 0; at < data.size() && count < kMaxFrames; at += segment, count++) {
        const size_t size = std::min(segment, data.size() - at);
        ice::write_frame_header(headers[count].data(), size);
        parts[2 * count] = {headers[count].data(), kHeader};
        parts[2 * count + 1] = {const_cast<uint8_t*>(data.data()) + at, size};
    }
    const io::IoResult result = stream_->try_writev({parts.data(), 2 * count});
    switch (result.status) {
        case io::IoStatus::kDone: return result.bytes;
        case io::IoStatus::kWouldBlock: return 0;
        default: broken_ = true; return 0;
    }
}

void RtcTcpConnection::enqueue_frames(ByteSpan data, size_t segment, size_t written) {
    if (queue_.empty()) {
        queue_moved_ = MonoClock::now();
    }
    std::array<uint8_t, kHeader> header;
    const auto append = [&](ByteSpan bytes) {
        const size_t skip = std::min(written, bytes.size());
        written -= skip;
        queue_.insert(queue_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(skip), bytes.end());
    };
    for (size_t at = 0; at < data.size(); at += segment) {
        const ByteSpan frame = data.subspan(at, std::min(segment, data.size() - at));
        ice::write_frame_header(header.data(), frame.size());
        append(header);
        append(frame);
    }
}

void RtcTcpConnection::flush(MonoTime now) {
    while (queue_taken_ < queue_.size() && !broken_) {
        const io::IoResult result = stream_->try_write(ByteSpan(queue_).subspan(queue_taken_));
        if (result.status == io::IoStatus::kWouldBlock) {
            return;
        }
        broken_ = result.status != io::IoStatus::kDone;
        queue_taken_ += result.bytes;
        queue_moved_ = now;
    }
    if (!queue_.empty()) {
        queue_ = {};  // most connections never need it
        queue_taken_ = 0;
    }
    if (refused_ && takes_burst()) {
        refused_ = false;
        transport_.on_tcp_writable(path_);
    }
}

}  // namespace weir::session
