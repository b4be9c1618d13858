#include "net/http/client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/version.h"
#include "io/deadline.h"
#include "io/resolver.h"
#include "io/tcp.h"
#include "io/tls.h"
#include "io/worker_pool.h"
#include "proto/http/request.h"
#include "proto/http/response_parser.h"
#include "proto/http/url.h"

namespace weir::net {
namespace {

constexpr size_t kReadBytes = 4 * 1024;
constexpr size_t kMaxAddresses = 4;       // of one name that are tried
constexpr Seconds kTrustedFor{3600};      // then the system's certificates are read again
constexpr Millis kLeastConnectTime{200};  // for one of them, where there are more

// Those of the family that comes first and of the other one in turns (RFC 8305 §4), a few.
std::vector<io::SocketAddress> in_turns(const std::vector<io::SocketAddress>& all) {
    std::vector<io::SocketAddress> first;
    std::vector<io::SocketAddress> second;
    for (const io::SocketAddress& each : all) {
        (each.family() == all.front().family() ? first : second).push_back(each);
    }
    std::vector<io::SocketAddress> mixed;
    for (size_t i = 0; i < std::max(first.size(), second.size()); i++) {
        for (const auto* list : {&first, &second}) {
            if (i < list->size() && mixed.size() < kMaxAddresses) {
                mixed.push_back((*list)[i]);
            }
        }
    }
    return mixed;
}

// Nothing has come on it and it has not ended.
bool is_usable(io::TcpStream& stream) {
    uint8_t byte = 0;
    return !stream.hangup() &&
           (!stream.readable() || stream.try_read({&byte, 1}).status == io::IoStatus::kWouldBlock);
}

}  // namespace

struct HttpClient::Kept {
    std::unique_ptr<io::TcpStream> stream;
    MonoTime since;
};

HttpClient::HttpClient(io::Resolver& resolver, HttpClientOptions options)
    : resolver_(resolver), options_(options) {}

HttpClient::~HttpClient() = default;

std::string http_request(http::Method method,
                         const http::Url& url,
                         const http::Fields& fields,
                         std::string_view body) {
    std::string text = fmt::format(
        "{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Weir/{}\r\nConnection: keep-alive\r\n",
        to_string(method), url.target, url.authority(), kVersion);
    for (const http::Field& field : fields) {
        text += fmt::format("{}: {}\r\n", field.name, field.value);
    }
    if (method == http::Method::kPost || method == http::Method::kPut ||
        method == http::Method::kPatch || !body.empty()) {
        text += fmt::format("Content-Length: {}\r\n", body.size());
    }
    text += "\r\n";
    text += body;
    return text;
}

Result<http::Response> http_exchange_on(io::TcpStream& stream,
                                        std::string_view request,
                                        const http::ResponseLimits& limits,
                                        io::Deadline deadline,
                                        bool* untouched) {
    if (untouched != nullptr) {
        *untouched = true;
    }
    if (Error unsent = stream.write_all(as_bytes(request), deadline)) {
        return std::move(unsent).with_context("sending the request");
    }
    // A server that sends head and body apart waits for our word on the head (Nagle's algorithm),
    // and the kernel would keep it back for 40 ms.
    const int at_once = 1;
    setsockopt(stream.fd(), IPPROTO_TCP, TCP_QUICKACK, &at_once, sizeof at_once);
    http::ResponseParser parser(limits);
    Bytes buffer(kReadBytes);  // on the heap: coroutine stacks are small
    using Status = http::ResponseParser::Status;
    Status status = Status::kNeedMore;
    while (status == Status::kNeedMore) {
        Result<size_t> got = stream.read_some(buffer, deadline);
        if (got.ok()) {
            status = parser.feed(ByteSpan(buffer).first(*got));
        } else if (got.error().code() == ErrorCode::kClosed) {
            status = parser.end();
        } else if (got.error().code() == ErrorCode::kTimeout) {
            return make_error(ErrorCode::kTimeout, "no {}answer in time",
                              parser.untouched() ? "" : "complete ");
        } else {
            return got.take_error().with_context("reading the answer");
        }
        if (untouched != nullptr) {
            *untouched = parser.untouched();
        }
    }
    if (status == Status::kError) {
        return parser.take_error().with_context("the answer cannot be read");
    }
    return parser.take_response();
}

// Yields.
Error HttpClient::start_tls(io::TcpStream& stream,
                            const http::Url& url,
                            io::Deadline deadline,
                            bool verify) {
    if (!verify) {
        WEIR_TRY_ASSIGN(const auto any, io::TlsContext::client({.verify = false, .ca_file = {}}));
        return io::tls_connect(stream, *any, url.host, deadline);
    }
    const MonoTime now = MonoClock::now();
    if (!trusted_ || now - trusted_since_ > kTrustedFor) {
        using Made = Result<std::shared_ptr<const io::TlsContext>>;
        std::optional<Made> made;
        const auto make = [&made] { made.emplace(io::TlsContext::client()); };
        if (workers_ != nullptr) {
            WEIR_TRY(workers_->run(make));
        } else {
            make();
        }
        WEIR_TRY_ASSIGN(trusted_, std::move(*made));
        trusted_since_ = now;
    }
    const std::shared_ptr<const io::TlsContext> trusted = trusted_;
    return io::tls_connect(stream, *trusted, url.host, deadline);
}

Result<std::unique_ptr<io::TcpStream>> HttpClient::connect(const http::Url& url,
                                                           io::Deadline deadline,
                                                           bool verify,
                                                           const AddressFilter& allows) {
    WEIR_TRY_ASSIGN(std::vector<io::SocketAddress> all,
                    resolver_.resolve(url.host, url.port, deadline));
    if (allows) {
        const NetAddress refused = all.front().net_address();
        std::erase_if(all, [&](const auto& each) { return !allows(each.net_address()); });
        if (all.empty()) {
            return make_error(ErrorCode::kDenied, "{} is at {}, which is not allowed for it",
                              url.authority(), refused.ip_text());
        }
    }
    const std::vector<io::SocketAddress> addresses = in_turns(all);
    Error last;
    for (size_t i = 0; i < addresses.size(); i++) {
        const MonoTime now = MonoClock::now();
        const Micros left = deadline.time() - now;
        const Micros share =
            std::max<Micros>(left / static_cast<int>(addresses.size() - i), kLeastConnectTime);
        auto stream = io::TcpStream::connect(
            addresses[i], io::Deadline::at(std::min(now + share, deadline.time())));
        if (stream.ok()) {
            stats_.connects++;
            if (url.tls) {
                WEIR_TRY(start_tls(**stream, url, deadline, verify));
            }
            return stream;
        }
        last = stream.take_error();
        if (last.code() == ErrorCode::kInterrupted || deadline.passed()) {
            break;
        }
    }
    return last;
}

std::unique_ptr<io::TcpStream> HttpClient::take_kept(const std::string& origin, MonoTime now) {
    const auto found = kept_.find(origin);
    std::unique_ptr<io::TcpStream> stream;
    while (!stream && found != kept_.end() && !found->second.empty()) {
        Kept newest = std::move(found->second.back());
        found->second.pop_back();
        idle_--;
        if (now - newest.since < options_.idle && is_usable(*newest.stream)) {
            stream = std::move(newest.stream);
        } else {
            stats_.stale++;
        }
    }
    if (found != kept_.end() && found->second.empty()) {
        kept_.erase(found);
    }
    return stream;
}

void HttpClient::keep(const std::string& origin,
                      std::unique_ptr<io::TcpStream> stream,
                      MonoTime now) {
    if (idle_ >= options_.idle_at_all) {
        tidy(now);
    }
    if (idle_ >= options_.idle_at_all || options_.idle_per_server == 0) {
        return;
    }
    std::vector<Kept>& list = kept_[origin];
    if (list.size() >= options_.idle_per_server) {
        list.erase(list.begin());
        idle_--;
    }
    list.push_back({std::move(stream), now});
    idle_++;
}

void HttpClient::tidy(MonoTime now) {
    for (auto& [origin, list] : kept_) {
        idle_ -= std::erase_if(list, [&](Kept& kept) {
            return now - kept.since >= options_.idle || !is_usable(*kept.stream);
        });
    }
    std::erase_if(kept_, [](const auto& each) { return each.second.empty(); });
}

Result<http::Response> HttpClient::exchange(http::Method method,
                                            const http::Url& url,
                                            const http::Fields& fields,
                                            std::string_view body,
                                            io::Deadline deadline) {
    stats_.requests++;
    const std::string origin = url.origin();
    const std::string request = http_request(method, url, fields, body);
    std::unique_ptr<io::TcpStream> stream = take_kept(origin, MonoClock::now());
    bool reused = stream != nullptr;
    for (;;) {
        if (!stream) {
            Result<std::unique_ptr<io::TcpStream>> opened = connect(url, deadline);
            if (!opened.ok()) {
                return opened.take_error().with_context(origin);
            }
            stream = std::move(*opened);
        }
        bool untouched = true;
        Result<http::Response> response =
            http_exchange_on(*stream, request, options_.limits, deadline, &untouched);
        if (response.ok()) {
            stats_.reused += reused ? 1 : 0;
            if (response->keep_alive) {
                keep(origin, std::move(stream), MonoClock::now());
            }
            return response;
        }
        // The server ended it in the same moment (RFC 9112 §9.3.1): it has not seen the request.
        if (reused && untouched && response.error().code() == ErrorCode::kClosed) {
            stats_.stale++;
            reused = false;
            stream.reset();
            continue;
        }
        return response.take_error().with_context(origin);
    }
}

}  // namespace weir::net
