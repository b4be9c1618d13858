#include "session/rtsp/rtsp_tunnel.h"

#include <array>

#include "io/deadline.h"
#include "io/tcp.h"
#include "proto/rtsp/tunnel_decoder.h"

namespace weir::session {
namespace {

constexpr size_t kChunk = 2048;  // on the stack of a coroutine

// Apple's tunnel has none, but some clients wait for it (gortsplib); the others never read.
constexpr std::string_view kPostAnswer =
    "HTTP/1.0 200 OK\r\nServer: weir\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n";

NetAddress host_of(const io::SocketAddress& peer) {
    return peer.net_address().with_port(0);
}

io::Deadline write_deadline() {
    return io::Deadline::after(RtspTunnels::kWriteTimeout);
}

}  // namespace

Result<RtspTunnels::Opened> RtspTunnels::open(std::string_view cookie,
                                              const io::SocketAddress& peer) {
    if (cookie.size() > kMaxCookie || by_cookie_.size() >= kMaxTunnels) {
        return make_error(ErrorCode::kLimit, "there are too many tunnels");
    }
    const std::string key(cookie);
    if (by_cookie_.contains(key)) {
        return make_error(ErrorCode::kDenied, "another tunnel has this x-sessioncookie");
    }
    WEIR_TRY_ASSIGN(io::TcpStream::Pair pair, io::TcpStream::pair(peer));
    auto tunnel = std::make_shared<Tunnel>();
    tunnel->outer = std::move(pair.one);
    tunnel->host = host_of(peer);
    by_cookie_.emplace(key, tunnel);
    return Opened{std::move(tunnel), std::move(pair.other)};
}

// The conversation bounds how long it waits for requests, and ends the pair.
void RtspTunnels::bring_down(std::string_view cookie, Tunnel& tunnel, io::TcpStream& get) {
    std::array<uint8_t, kChunk> buffer;
    for (;;) {
        const Result<size_t> got =
            tunnel.outer->read_some(buffer, io::Deadline::after(RtspTunnels::kLook));
        if (!got.ok() && got.error().code() == ErrorCode::kTimeout && !get.hangup()) {
            continue;
        }
        if (!got.ok() || get.write_all({buffer.data(), *got}, write_deadline())) {
            break;
        }
    }
    by_cookie_.erase(std::string(cookie));
    tunnel.outer->shutdown();
}

Error RtspTunnels::bring_up(std::string_view cookie, io::TcpStream& post, ByteSpan body) {
    const auto found = by_cookie_.find(std::string(cookie));
    if (found == by_cookie_.end() || found->second->host != host_of(post.peer())) {
        return make_error(ErrorCode::kNotFound, "no GET of this host has this x-sessioncookie");
    }
    const std::shared_ptr<Tunnel> tunnel = found->second;
    WEIR_TRY(post.write_all(as_bytes(kPostAnswer), write_deadline()));
    rtsp::TunnelDecoder decoder;
    std::array<uint8_t, kChunk> buffer;
    Bytes plain;
    Error why;
    while (!why) {
        plain.clear();
        if (!decoder.feed(body, plain)) {
            why = make_error(ErrorCode::kMalformed, "the body of the POST is no base64");
            break;
        }
        why = plain.empty() ? Error() : tunnel->outer->write_all(plain, write_deadline());
        body = {};
        while (!why && body.empty()) {
            const Result<size_t> got = post.read_some(buffer, io::Deadline::after(kLook));
            if (got.ok()) {
                body = ByteSpan(buffer.data(), *got);
            } else if (got.error().code() != ErrorCode::kTimeout ||
                       !by_cookie_.contains(std::string(cookie))) {
                return {};  // some clients end their POST after each request, and begin another
            }
        }
    }
    return why;
}

}  // namespace weir::session
