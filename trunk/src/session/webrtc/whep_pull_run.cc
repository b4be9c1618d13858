#include "session/webrtc/whep_pull_run.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "io/deadline.h"
#include "io/tcp.h"
#include "net/http/client.h"
#include "net/source/source_spec.h"
#include "proto/http/response.h"
#include "proto/http/response_parser.h"
#include "session/webrtc/whep_request.h"

namespace weir::session {
namespace {

constexpr int kReceiveBuffer = 1 << 20;  // a key frame comes at once
constexpr size_t kBatchesPerTurn = 4;
constexpr size_t kMaxReason = 160;  // of a server's own words

bool is_redirect(int status) {
    return status == 307 || status == 308;  // those that keep the method
}

// What to do about it.
std::string_view advice(int status) {
    switch (status) {
        case 401:
        case 403: return "; does the URL need a user and password, or another token?";
        case 404: return "; does the URL name the endpoint, and a stream that is published there?";
        case 405: return "; is this a WHEP endpoint?";
        case 406: return "; it wants to make the offer itself, which is not supported";
        default: return "";
    }
}

}  // namespace

WhepPullRun::WhepPullRun(net::SourceRun& run, WhepPull& pulls, const webrtc::ClientShared& shared)
    : run_(run), pulls_(pulls), client_(shared, *this, run, pulls.options()) {
    run_.set_key_frame_request([this] {
        client_.request_key_frame();
        changed_.notify_all();
    });
    run_.set_sink_watch([this] { client_.on_sink(); });
}

WhepPullRun::~WhepPullRun() {
    WEIR_CHECK(!socket_);
}

Error WhepPullRun::run() {
    WEIR_TRY(ask());
    return flow();
}

// ---- the conversation ----

Error WhepPullRun::ask() {
    net::SourceUrl endpoint = run_.spec().url;
    for (size_t redirects = 0;; redirects++) {
        WEIR_TRY_ASSIGN(const http::Response response, post(endpoint, redirects > 0));
        if (!is_redirect(response.status)) {
            return take_response(response, endpoint);
        }
        const auto location = response.headers.get("Location");
        const Result<http::Url> next = endpoint.endpoint().resolve(location.value_or(""));
        if (!location || !next.ok()) {
            return make_error(ErrorCode::kMalformed,
                              "the server answers {} without an address to go to", response.status);
        }
        if (redirects == WhepPull::kMaxRedirects) {
            return make_error(ErrorCode::kLimit, "the server redirects more than {} times",
                              WhepPull::kMaxRedirects);
        }
        endpoint = net::SourceUrl::whep_at(*next);
        if (endpoint.host == run_.spec().url.host && endpoint.port == run_.spec().url.port &&
            endpoint.tls() == run_.spec().url.tls()) {
            endpoint.login = run_.spec().url.login;  // is given to no other server
        }
    }
}

Result<http::Response> WhepPullRun::post(const net::SourceUrl& endpoint, bool redirected) {
    WEIR_TRY_ASSIGN(const std::unique_ptr<io::TcpStream> stream,
                    redirected ? run_.follow(endpoint) : run_.connect());
    server_ = stream->connection_peer().net_address();
    if (!socket_) {
        WEIR_TRY(open_socket());
    }
    const NetAddress own = stream->local().net_address();
    const std::string request =
        whep_post(endpoint, client_.offer(own.with_port(socket_->local().port())));
    Result<http::Response> response =
        net::http_exchange_on(*stream, request, {}, run_.connect_deadline());
    if (!response.ok() && response.error().code() == ErrorCode::kTimeout) {
        return make_error(ErrorCode::kTimeout, "the server did not answer");
    }
    return response;
}

Error WhepPullRun::take_response(const http::Response& response, const net::SourceUrl& endpoint) {
    if (response.status != 200 && response.status != 201) {
        return refusal(response);
    }
    if (const auto location = response.headers.get("Location")) {
        const http::Url asked = endpoint.endpoint();
        const Result<http::Url> session = asked.resolve(*location);
        // Elsewhere anybody's DELETE would be ours.
        if (session.ok() && session->origin() == asked.origin()) {
            session_ = net::SourceUrl::whep_at(*session);
            session_->login = endpoint.login;
        }
    }
    return client_.take_answer(response.body, server_);
}

// A server may repeat the address that it was asked for.
bool WhepPullRun::tells_secret(std::string_view text) const {
    const net::SourceUrl& url = run_.spec().url;
    if (!url.login.password.empty() && text.find(url.login.password) != std::string_view::npos) {
        return true;
    }
    return std::ranges::any_of(parse_query(url.query), [text](const QueryItem& item) {
        const bool names_stream = item.key == "app" || item.key == "stream" || item.key == "vhost";
        return !names_stream && !item.value.empty() &&
               text.find(item.value) != std::string_view::npos;
    });
}

Error WhepPullRun::refusal(const http::Response& response) const {
    const std::string status =
        fmt::format("{} {}", response.status, http::status_text(response.status));
    std::string_view words =
        trim(std::string_view(response.body).substr(0, response.body.find_first_of("\r\n")));
    if (words.starts_with(status)) {  // which is said already
        words.remove_prefix(status.size());
        words = trim(words.substr(words.starts_with(':') ? 1 : 0));
    }
    const bool shown = !words.empty() && !words.starts_with('<') && !tells_secret(response.body);
    const ErrorCode code = response.status == 404 ? ErrorCode::kNotFound : ErrorCode::kDenied;
    return make_error(code, "the server answers {}{}{}{}", status, shown ? ": " : "",
                      shown ? words.substr(0, kMaxReason) : "", advice(response.status));
}

// For servers of both families: the answer says where they are.
Error WhepPullRun::open_socket() {
    io::UdpOptions options;
    options.receive_buffer_bytes = kReceiveBuffer;
    options.names_holder = false;
    Error failed;
    for (const char* any : {"[::]:0", "0.0.0.0:0"}) {
        WEIR_TRY_ASSIGN(const io::SocketAddress address, io::SocketAddress::parse(any));
        Result<std::unique_ptr<io::UdpSocket>> socket = io::UdpSocket::bind(address, options);
        if (socket.ok()) {
            socket_ = std::move(*socket);
            return {};
        }
        failed = socket.take_error();
    }
    return failed;
}

// ---- media ----

void WhepPullRun::send(const NetAddress& to, ByteSpan datagrams, size_t segment_bytes) {
    (void)socket_->send({to, {}}, datagrams, segment_bytes);  // what it does not take is lost
}

Error WhepPullRun::flow() {
    const MonoTime now = MonoClock::now();
    socket_->set_handler(this);
    client_.begin(run_.connect_deadline().time() - now, now);
    read_in_turn();  // the edge for what is there already is past
    for (;;) {
        if (client_.over()) {
            Error failed = client_.take_failure();
            return client_.was_connected() || failed.code() != ErrorCode::kTimeout
                       ? std::move(failed)
                       : make_error(ErrorCode::kTimeout,
                                    "{}: does a firewall let UDP through, and can the addresses of "
                                    "the answer be reached from here?",
                                    failed.message());
        }
        if (client_.connected() && run_.media_deadline().passed()) {
            return run_.silence();
        }
        if (more_ || client_.next_timeout() <= MonoClock::now()) {
            read_in_turn();
            io::yield();
            if (io::interrupted()) {
                return make_error(ErrorCode::kInterrupted, "stopped");
            }
            continue;
        }
        sleeping_until_ = next_due();
        Error waited = changed_.wait_until(io::Deadline::at(sleeping_until_), "media");
        sleeping_until_ = {};
        if (waited.code() == ErrorCode::kInterrupted) {
            return waited;
        }
    }
}

MonoTime WhepPullRun::next_due() const {
    const MonoTime due = client_.next_timeout();
    return client_.connected() ? std::min(due, run_.media_deadline().time()) : due;
}

void WhepPullRun::on_ready(uint8_t) {
    io::set_log_id(run_.publisher().client_id());  // of the reactor's coroutine
    read_in_turn();
    io::set_log_id({});
}

// Never yields. What is more than a turn's share is for the coroutine, which waits for its turn.
void WhepPullRun::read_in_turn() {
    const MonoTime now = MonoClock::now();
    more_ = true;
    for (size_t i = 0; more_ && i < kBatchesPerTurn && !client_.over(); i++) {
        more_ = socket_->receive([&](std::span<uint8_t> bytes, const io::UdpPath& path) {
            run_.note_bytes(bytes.size());
            client_.handle_packet(now, bytes, path.peer);
        });
    }
    if (client_.next_timeout() <= now) {
        client_.handle_timeout(now);
    }
    if (more_ || client_.over() || next_due() < sleeping_until_) {
        changed_.notify_all();
    }
}

void WhepPullRun::close() {
    run_.set_key_frame_request(nullptr);
    run_.set_sink_watch(nullptr);
    if (socket_) {
        client_.close();
        socket_->set_handler(nullptr);
        socket_->close();
        socket_.reset();
    }
    if (session_) {
        pulls_.say_farewell(run_.dialer(), *std::exchange(session_, std::nullopt), server_,
                            run_.spec().tls_verify);
    }
}

}  // namespace weir::session
