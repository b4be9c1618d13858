#include "session/rtmp/rtmp_client.h"

#include <array>
#include <utility>

#include "base/random.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/source/source_spec.h"
#include "net/source/source_url.h"
#include "proto/rtmp/handshake.h"

namespace weir::session {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
constexpr Millis kWriteTimeout{10'000};  // for a server to take a command or an acknowledgement

// Shared by all of them: nothing yields between a read and its use.
std::span<uint8_t> read_buffer() {
    static std::array<uint8_t, kReadBytes> buffer;
    return buffer;
}

rtmp::ClientOptions options_of(const net::SourceUrl& url,
                               rtmp::ClientRole role,
                               uint32_t chunk_size) {
    rtmp::ClientOptions options;
    options.role = role;
    options.app = url.before_last();
    options.tc_url = fmt::format("{}://{}/{}", url.scheme, url.authority(), url.before_last());
    options.stream = url.last();
    if (!url.query.empty()) {
        options.stream += "?" + url.query;
    }
    options.chunk_size = chunk_size;
    return options;
}

}  // namespace

RtmpClient::RtmpClient(net::SourceRun& run, rtmp::ClientRole role, uint32_t chunk_size)
    : run_(run), session_(options_of(run.spec().url, role, chunk_size)) {}

Error RtmpClient::open() {
    WEIR_TRY_ASSIGN(stream_, run_.connect());
    return shake_hands().with_context("RTMP handshake");
}

Error RtmpClient::shake_hands() {
    const io::Deadline deadline = run_.connect_deadline();
    rtmp::ClientHandshake handshake(system_random());
    for (;;) {
        if (const Bytes out = handshake.take_output(); !out.empty()) {
            WEIR_TRY(stream_->write_all(out, deadline));
        }
        if (handshake.done()) {
            return {};
        }
        WEIR_TRY(stream_->wait_readable(deadline));
        // No more than the handshake takes: what follows is for the session.
        const io::IoResult got = stream_->try_read(read_buffer());
        if (got.status == io::IoStatus::kWouldBlock) {
            continue;
        }
        if (got.status != io::IoStatus::kDone) {
            return make_error(ErrorCode::kClosed, "the server closed the connection");
        }
        run_.note_bytes(got.bytes);
        ByteSpan bytes(read_buffer().data(), got.bytes);
        while (!bytes.empty() && !handshake.done()) {
            WEIR_TRY_ASSIGN(const size_t taken, handshake.feed(bytes));
            bytes = bytes.subspan(taken);
        }
        // Nothing is said behind the handshake before our connect has come.
        if (!bytes.empty()) {
            return make_error(ErrorCode::kMalformed, "bytes behind the handshake");
        }
    }
}

Error RtmpClient::flush(io::Deadline deadline) {
    if (!session_.has_output()) {
        return {};
    }
    const Bytes output = session_.take_output();
    return stream_->write_all(output, deadline);
}

Error RtmpClient::converse(io::Deadline deadline,
                           const std::function<Error(rtmp::ClientEvent& event)>& handle) {
    WEIR_TRY(flush(io::Deadline::after(kWriteTimeout)));
    WEIR_TRY(stream_->wait_readable(deadline));
    const io::IoResult got = stream_->try_read(read_buffer());
    switch (got.status) {
        case io::IoStatus::kWouldBlock: return {};
        case io::IoStatus::kClosed:
            return make_error(ErrorCode::kClosed, "the server closed the connection");
        case io::IoStatus::kFailed: return Error::from_errno(got.error_number, "read");
        case io::IoStatus::kDone: break;
    }
    run_.note_bytes(got.bytes);
    const io::NoYield no_yield;
    ByteSpan bytes(read_buffer().data(), got.bytes);
    for (;;) {
        rtmp::ClientEvent event;
        while (session_.next_event(event)) {
            WEIR_TRY(handle(event));
        }
        if (session_.failed()) {
            return session_.take_error();
        }
        if (bytes.empty()) {
            return {};
        }
        bytes = bytes.subspan(session_.feed(bytes));
    }
}

void RtmpClient::close() {
    if (!stream_) {
        return;
    }
    session_.stop();
    if (session_.has_output()) {
        (void)stream_->try_write(session_.take_output());
    }
    stream_->close();
}

}  // namespace weir::session
