#include "net/ingress.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "io/deadline.h"
#include "io/socket_address.h"
#include "io/tcp.h"
#include "io/tls.h"
#include "io/tls_acceptor.h"
#include "net/trusted_proxies.h"
#include "proto/proxy/header.h"

namespace weir::net {
namespace {

constexpr size_t kReadBytes = 1024;

}  // namespace

Error Ingress::begin(io::TcpStream& stream, io::Deadline deadline) const {
    if (proxy_protocol_) {
        Error failed = read_proxy_header(stream, deadline);
        switch (failed.code()) {
            case ErrorCode::kOk: break;
            case ErrorCode::kTimeout: shared_.stats.proxy_timeouts++; break;
            case ErrorCode::kDenied: shared_.stats.proxy_untrusted++; break;
            case ErrorCode::kMalformed: shared_.stats.proxy_malformed++; break;
            default: break;
        }
        if (failed) {
            return std::move(failed).with_context("PROXY protocol");
        }
    }
    if (context_ == nullptr) {
        return {};
    }
    if (*context_ == nullptr) {
        return make_error(ErrorCode::kInternal, "there is no certificate to show");
    }
    return shared_.tls.accept(stream, *context_, deadline);
}

Error Ingress::read_proxy_header(io::TcpStream& stream, io::Deadline deadline) const {
    if (!shared_.proxies.trusts(stream.peer())) {
        return make_error(ErrorCode::kDenied,
                          "{} is none of trusted_proxies; add it there, or let clients come to a "
                          "listener without proxy_protocol",
                          stream.peer().host());
    }
    proxy::HeaderReader reader;
    std::array<uint8_t, kReadBytes> buffer;
    for (;;) {
        const auto room = std::span(buffer).first(std::min(buffer.size(), reader.wanted()));
        WEIR_TRY_ASSIGN(const size_t got, stream.read_some(room, deadline));
        switch (reader.feed(ByteSpan(buffer).first(got))) {
            case proxy::HeaderReader::Status::kNeedMore: break;
            case proxy::HeaderReader::Status::kMalformed:
                return make_error(ErrorCode::kMalformed, "{}", reader.error());
            case proxy::HeaderReader::Status::kDone: {
                const proxy::Header& header = reader.header();
                if (!header.local) {
                    shared_.stats.proxied++;
                    log::debug("connection of {} by proxy {}", header.source.to_string(),
                               stream.peer().to_string());
                    // Unknown is 0.0.0.0: nobody is local because a proxy does not know him.
                    stream.set_peer(io::SocketAddress::of(header.source.empty()
                                                              ? NetAddress::from_v4({0, 0, 0, 0}, 0)
                                                              : header.source));
                }
                return {};
            }
        }
    }
}

}  // namespace weir::net
