// The handshakes: bytes of a plain stream to a channel in memory and back, until it is done.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <sys/resource.h>
#include <unistd.h>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/check.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "io/tls.h"
#include "io/tls_acceptor.h"
#include "io/tls_channel.h"
#include "io/worker_pool.h"

namespace weir::io {
namespace {

constexpr size_t kReadBytes = 1024;
constexpr size_t kMaxServerBytes = 128 * 1024;  // of a server's handshake: its chain is the most
constexpr size_t kMethodLetters = 3;            // "GET", "PUT": what begins so is HTTP
constexpr Millis kLinger{500};

constexpr std::string_view kSpeakTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    "Content-Length: 56\r\n\r\nThis port speaks TLS: the address begins with https://.\n";

// Yields. What the peer has sent, at least one byte, into the channel; counts it in `total`.
Error read_into(TcpStream& stream, TlsChannel& channel, size_t& total, size_t limit, Deadline end) {
    std::array<uint8_t, kReadBytes> buffer;
    WEIR_TRY_ASSIGN(const size_t got, stream.read_some(buffer, end));
    total += got;
    if (total > limit) {
        return make_error(ErrorCode::kLimit, "the handshake is longer than {} bytes", limit);
    }
    channel.feed(ByteSpan(buffer).first(got));
    return {};
}

// Yields. The answer of the channel to the peer.
Error send_output(TcpStream& stream, TlsChannel& channel, Deadline deadline) {
    const Bytes output = channel.take_output();
    return output.empty() ? Error() : stream.write_all(output, deadline);
}

// The last words of a failed handshake: an alert, if there is room.
Error give_up(TcpStream& stream, TlsChannel& channel) {
    if (const Bytes alert = channel.take_output(); !alert.empty()) {
        (void)stream.try_write(alert);
    }
    return channel.take_error();
}

bool is_address(const std::string& host) {
    in6_addr address{};
    return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
           inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// The thread gives way to others from now on: media must not wait for a flood of handshakes, also
// where there is one core for both.
void lower_priority_once() {
    constexpr int kNice = 10;
    thread_local bool lowered = false;
    if (!lowered) {
        lowered = true;
        // Linux: of this thread alone. Who may not lower it has the old one.
        (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
    }
}

// OpenSSL's macro for it has a cast that we do not write.
bool set_server_name(SSL* ssl, std::string& name) {
    return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
}

// Yields. A peer that does not speak TLS; HTTP is answered in its own words.
Error refuse_plain(TcpStream& stream, ByteSpan first) {
    const bool http = first.size() >= kMethodLetters &&
                      std::ranges::all_of(first.first(kMethodLetters),
                                          [](uint8_t c) { return c >= 'A' && c <= 'Z'; });
    if (!http) {
        return make_error(ErrorCode::kMalformed,
                          "the peer does not speak TLS, which this port expects (first byte {:#x})",
                          first.front());
    }
    const Deadline deadline = Deadline::after(kLinger);
    if (!stream.write_all(as_bytes(kSpeakTls), deadline) && stream.end_writing()) {
        std::array<uint8_t, kReadBytes> dropped;
        size_t total = 0;
        while (total < TlsAcceptor::kMaxHandshakeBytes) {
            const Result<size_t> got = stream.read_some(dropped, deadline);
            if (!got.ok()) {
                break;
            }
            total += *got;
        }
    }
    return make_error(ErrorCode::kMalformed, "plain HTTP came to a port that expects TLS");
}

}  // namespace

// Yields. One step of the arithmetic, on a worker where there are some. True: the handshake is
// done.
Result<bool> TlsAcceptor::step(TlsChannel& channel, Deadline deadline) {
    TlsChannel::Step result = TlsChannel::Step::kFailed;
    Error failure;
    const auto work = [&] {
        result = channel.step();
        if (result == TlsChannel::Step::kFailed) {
            failure = channel.take_error();  // OpenSSL keeps errors per thread
        }
    };
    if (workers_ == nullptr) {
        work();
    } else {
        while (on_workers_ >= kMaxOnWorkers) {
            WEIR_TRY(turn_.wait_until(deadline));
        }
        on_workers_++;
        Error refused = workers_->run([&] {
            lower_priority_once();
            work();
        });
        on_workers_--;
        turn_.notify_one();
        if (refused) {
            return refused;
        }
    }
    if (result == TlsChannel::Step::kFailed) {
        return failure;
    }
    return result == TlsChannel::Step::kDone;
}

Error TlsAcceptor::shake(TcpStream& stream, const TlsContext& context, Deadline deadline) {
    std::array<uint8_t, kReadBytes> buffer;
    WEIR_TRY_ASSIGN(const size_t first, stream.read_some(buffer, deadline));
    constexpr uint8_t kHandshakeRecord = 22;
    if (buffer[0] != kHandshakeRecord) {
        stats_.not_tls++;
        return refuse_plain(stream, ByteSpan(buffer).first(first));
    }
    auto channel = std::make_unique<TlsChannel>(context.raw(), true);
    channel->feed(ByteSpan(buffer).first(first));
    size_t total = first;
    while (!channel->has_record()) {  // a hello in crumbs is no work for a worker yet
        WEIR_TRY(read_into(stream, *channel, total, kMaxHandshakeBytes, deadline));
    }
    for (;;) {
        Result<bool> done = step(*channel, deadline);
        if (!done.ok()) {
            if (const Bytes alert = channel->take_output(); !alert.empty()) {
                (void)stream.try_write(alert);
            }
            return done.take_error();
        }
        WEIR_TRY(send_output(stream, *channel, deadline));
        if (*done) {
            break;
        }
        WEIR_TRY(read_into(stream, *channel, total, kMaxHandshakeBytes, deadline));
    }
    stats_.resumed += SSL_session_reused(channel->raw()) == 1 ? 1U : 0U;
    stream.encrypt(std::move(channel));
    return {};
}

Error TlsAcceptor::accept(TcpStream& stream,
                          std::shared_ptr<const TlsContext> context,
                          Deadline deadline) {
    WEIR_CHECK(context != nullptr);
    stats_.ongoing++;
    const uint64_t not_tls = stats_.not_tls;
    Error error = shake(stream, *context, deadline);
    stats_.ongoing--;
    switch (error.code()) {
        case ErrorCode::kOk: stats_.handshakes++; break;
        case ErrorCode::kInterrupted: break;
        case ErrorCode::kClosed: stats_.closed++; break;
        case ErrorCode::kTimeout: stats_.timeouts++; break;
        default: stats_.failed += stats_.not_tls == not_tls ? 1 : 0;
    }
    return std::move(error).with_context("TLS handshake");
}

Error tls_connect(TcpStream& stream,
                  const TlsContext& context,
                  std::string_view host,
                  Deadline deadline) {
    std::string name(host);
    if (name.size() > 2 && name.front() == '[' && name.back() == ']') {
        name = name.substr(1, name.size() - 2);
    }
    if (name.ends_with('.')) {
        name.pop_back();
    }
    auto channel = std::make_unique<TlsChannel>(context.raw(), false);
    SSL* ssl = channel->raw();
    const bool address = is_address(name);
    // RFC 6066 §3: no addresses in the server name.
    bool good = address || name.empty() || set_server_name(ssl, name);
    if (context.verifies()) {
        SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        good = good && !name.empty() &&
               (address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1
                        : SSL_set1_host(ssl, name.c_str()) == 1);
    }
    if (!good) {
        return make_error(ErrorCode::kMalformed, "TLS: '{}' is no name of a host", name);
    }
    size_t total = 0;
    for (;;) {
        const TlsChannel::Step step = channel->step();
        if (step == TlsChannel::Step::kFailed) {
            return give_up(stream, *channel).with_context(fmt::format("TLS with {}", name));
        }
        WEIR_TRY(send_output(stream, *channel, deadline));
        if (step == TlsChannel::Step::kDone) {
            break;
        }
        WEIR_TRY(read_into(stream, *channel, total, kMaxServerBytes, deadline));
    }
    stream.encrypt(std::move(channel));
    return {};
}

}  // namespace weir::io
