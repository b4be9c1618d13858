#include "session/rtsp/rtsp_connection.h"

#include <algorithm>
#include <utility>

#include "base/fnv.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/limits.h"
#include "net/placement.h"
#include "net/turn_reader.h"
#include "session/rtsp/rtsp_server.h"

namespace weir::session {
namespace {

constexpr std::string_view kTunnelAnswer =
    "HTTP/1.0 200 OK\r\nServer: weir\r\nConnection: close\r\nCache-Control: no-store\r\n"
    "Pragma: no-cache\r\nContent-Type: application/x-rtsp-tunnelled\r\n\r\n";
constexpr Millis kAnswerTimeout{10'000};  // for a peer to take what we answer

}  // namespace

RtspConnection::RtspConnection(RtspServer& server,
                               std::unique_ptr<io::TcpStream> stream,
                               std::unique_ptr<net::Client> client,
                               MonoTime since)
    : server_(server),
      stream_(std::move(stream)),
      client_(std::move(client)),
      phase_since_(since),
      placed_(stream_->replays()) {
    client_->probe = this;
    client_->kick = [this] { end_by(net::EndClass::kKicked, "kicked by the API"); };
}

RtspConnection::~RtspConnection() {
    end_publish(net::EndClass::kError, "the connection ended");
}

// From outside the coroutine: the socket ends, and the coroutine with it.
void RtspConnection::end_by(net::EndClass why, std::string detail) {
    if (ended_by_.empty() && stream_) {
        ended_by_ = std::move(detail);
        ended_why_ = why;
        stream_->shutdown();
    }
}

void RtspConnection::run(const net::Ingress* ingress) {
    io::set_log_id(client_->id());
    const auto deadline = io::Deadline::at(phase_since_ + server_.options().handshake);
    if (Error refused =
            net::enter(ingress, *stream_, *client_, server_.services().limits, deadline)) {
        close(std::move(refused).with_context("handshake"));
        return;
    }
    Result<Next> ended = converse();
    if (!ended.ok()) {
        close(ended.take_error());
    }
}

void RtspConnection::run_again(rtsp::ConnectionReader reader, Bytes unread) {
    io::set_log_id(client_->id());
    reader_ = std::move(reader);
    client_->stop_playing();
    client_->turn_ticket.end(*client_, net::EndClass::kPeerClosed, "stopped by the client");
    Result<Next> ended = hear(unread);
    if (ended.ok() && *ended == Next::kGoOn) {
        ended = converse();
    }
    if (!ended.ok()) {
        close(ended.take_error());
    }
}

// ---- the conversation ----

MonoTime RtspConnection::deadline() const {
    if (publish_) {
        return publish_->deadline();
    }
    return session_.id.empty() ? phase_since_ + server_.options().first_command
                               : phase_since_ + session_.timeout;
}

Error RtspConnection::explain_timeout() const {
    if (!publish_) {
        return session_.id.empty()
                   ? make_error(ErrorCode::kTimeout, "neither PLAY nor RECORD within {} ms",
                                server_.options().first_command.count())
                   : make_error(ErrorCode::kTimeout, "no request of its session within {} s",
                                session_.timeout.count());
    }
    return publish_->seen_media()
               ? make_error(ErrorCode::kTimeout,
                            "the publisher was silent for {} ms (normal_timeout)",
                            publish_->rules().silent.count())
               : make_error(ErrorCode::kTimeout,
                            "no media within {} ms of publishing (firstpkt_timeout)",
                            publish_->rules().first_packet.count());
}

// Yields.
Result<RtspConnection::Next> RtspConnection::converse() {
    for (;;) {
        WEIR_TRY_ASSIGN(const Next next, publish_ ? hear_in_turns()
                                         : vod_   ? hear_beside_recording()
                                                  : hear_more());
        if (next == Next::kHandedOver) {
            return next;
        }
        if (!vod_ && MonoClock::now() >= deadline()) {
            return explain_timeout();  // also of a peer that talks without a pause
        }
    }
}

// Yields. What the next read brings.
Result<RtspConnection::Next> RtspConnection::hear_more() {
    Error waited = stream_->wait_readable(io::Deadline::at(deadline()));
    if (waited.code() == ErrorCode::kTimeout) {
        return explain_timeout();
    }
    WEIR_TRY(std::move(waited));
    const io::IoResult got = stream_->try_read(net::TurnReader::buffer());
    if (got.status == io::IoStatus::kWouldBlock) {
        return Next::kGoOn;
    }
    if (got.status != io::IoStatus::kDone) {
        return net::TurnReader::explain_end(got);
    }
    client_->received_bytes += got.bytes;
    return hear({net::TurnReader::buffer().data(), got.bytes});
}

// Yields. Until something comes that is not media, or nothing does.
Result<RtspConnection::Next> RtspConnection::hear_in_turns() {
    bool requested = false;
    Error broken;
    net::TurnReader turns(*stream_, *client_,
                          {.take =
                               [&](ByteSpan bytes) {
                                   Result<bool> found = take_in(bytes);
                                   if (found.ok() && !*found) {
                                       publish_->handle_timeout(MonoClock::now());
                                       return false;
                                   }
                                   requested = found.ok();
                                   broken = found.ok() ? Error() : found.take_error();
                                   unread_.assign(bytes.begin(), bytes.end());
                                   return true;
                               },
                           .deadline = [this] { return deadline(); }});
    Error ended = turns.run();
    if (ended.code() == ErrorCode::kTimeout) {
        return explain_timeout();
    }
    WEIR_TRY(std::move(ended));
    WEIR_TRY(std::move(broken));
    if (!requested) {
        return Next::kGoOn;
    }
    const rtsp::Request request = std::move(reader_.request());
    WEIR_TRY_ASSIGN(const Next next, obey(request));
    return next == Next::kHandedOver ? Result<Next>(next) : hear(std::exchange(unread_, {}));
}

// Yields where requests are answered.
Result<RtspConnection::Next> RtspConnection::hear(ByteSpan bytes) {
    Bytes rest;
    for (;;) {
        WEIR_TRY_ASSIGN(const bool requested, take_in(bytes));
        if (!requested) {
            return Next::kGoOn;
        }
        unread_.assign(bytes.begin(), bytes.end());
        if (http_) {
            return handle_http();
        }
        const rtsp::Request request = std::move(reader_.request());
        WEIR_TRY_ASSIGN(const Next next, obey(request));
        if (next == Next::kHandedOver) {
            return next;
        }
        rest = std::exchange(unread_, {});
        bytes = rest;
    }
}

// Never yields: the bytes may be in the shared buffer. Up to the next request (true), or to the
// end.
Result<bool> RtspConnection::take_in(ByteSpan& bytes) {
    using Status = rtsp::ConnectionReader::Status;
    for (;;) {
        switch (reader_.next(bytes)) {
            case Status::kNeedMore: return false;
            case Status::kRequest: return true;
            case Status::kResponse: break;
            case Status::kFrame: {
                WEIR_TRY_ASSIGN(const bool goes_on, take_frame(reader_.frame()));
                if (!goes_on) {
                    return make_error(ErrorCode::kDenied,
                                      "the publisher sends more than {} kbit/s "
                                      "(max_publish_bitrate): lower the encoder's bit rate",
                                      publish_->rules().max_bits_per_second / 1000);
                }
                break;
            }
            case Status::kHttp:
                if (reader_.http().session_cookie().empty() || !session_.id.empty() ||
                    !announced_.empty()) {
                    return make_error(ErrorCode::kMalformed,
                                      "an HTTP request on a port of RTSP: the pages and the API "
                                      "are on the ports of http_server and http_api");
                }
                http_ = true;
                return true;
            case Status::kError: return refuse_broken();
        }
    }
}

// The GET's conversation goes on by a connection of its own, with the client's row.
Result<RtspConnection::Next> RtspConnection::handle_http() {
    const std::string cookie(reader_.http().session_cookie());
    if (move_to_its_tunnel(cookie)) {
        return Next::kHandedOver;
    }
    if (reader_.http().method == "POST") {
        WEIR_TRY(server_.tunnels().bring_up(cookie, *stream_, unread_));
        return make_error(ErrorCode::kClosed, "the tunnel has ended");
    }
    WEIR_TRY_ASSIGN(const net::AddressPlace place,
                    server_.services().limits.enter(net::Share::kRtspTunnels, stream_->peer(),
                                                    {.of_one = RtspTunnels::kMaxTunnelsOfOne,
                                                     .places = RtspTunnels::kMaxTunnels}));
    WEIR_TRY_ASSIGN(RtspTunnels::Opened opened, server_.tunnels().open(cookie, stream_->peer()));
    Error lost = send_bytes(as_bytes(kTunnelAnswer));
    if (!lost) {
        client_->kick = nullptr;
        client_->probe = nullptr;
        server_.begin(std::move(opened.inner), std::move(client_));
    }
    server_.tunnels().bring_down(cookie, *opened.tunnel, *stream_);
    WEIR_TRY(std::move(lost));
    stream_->close();
    return Next::kHandedOver;
}

// True: another process has the connection, as of all requests with that cookie: GET and POST are
// two connections, and nothing else says that they belong together.
bool RtspConnection::move_to_its_tunnel(std::string_view cookie) {
    const net::Placement* const placement = server_.services().placement;
    if (placement == nullptr || stream_->encrypted() || std::exchange(placed_, true)) {
        return false;
    }
    const std::optional<uint32_t> process = placement->process_of_hash(fnv1a(cookie));
    return process && move_to(*process, rtsp::write(reader_.http()));
}

// `text`: of the request that was read; what came behind it goes along. True: it is over here.
bool RtspConnection::move_to(uint32_t process, std::string_view text) {
    io::Replay replay;
    replay.heard.assign(text.begin(), text.end());
    replay.heard.insert(replay.heard.end(), unread_.begin(), unread_.end());
    if (!server_.services().placement->move(process, "rtsp", *stream_, std::move(replay))) {
        return false;
    }
    client_->tell_end(net::EndClass::kPeerClosed, "moved to another process");
    stream_->close();
    return true;
}

// The answer goes out without waiting; then the connection ends.
Error RtspConnection::refuse_broken() {
    const rtsp::ReadError& broken = reader_.error();
    if (broken.status != 0 && !vod_) {
        rtsp::Request request;
        request.cseq = broken.cseq;
        rtsp::Response answer = answer_to(request, broken.status);
        answer.reason = fmt::format("{} ({})", rtsp::status_text(broken.status), broken.reason);
        (void)stream_->try_write(as_bytes(rtsp::write(answer)));
    }
    return make_error(ErrorCode::kMalformed, "{}", broken.reason);
}

// Yields.
Error RtspConnection::send_bytes(ByteSpan bytes) {
    if (vod_) {
        return vod_->say(bytes) ? Error()
                                : make_error(ErrorCode::kLimit,
                                             "the peer asks again and again and does not read");
    }
    WEIR_TRY(stream_->write_all(bytes, io::Deadline::after(kAnswerTimeout)));
    client_->sent_bytes += bytes.size();
    return {};
}

// Yields.
Error RtspConnection::send(const rtsp::Response& answer) {
    const std::string text = rtsp::write(answer);
    return send_bytes(as_bytes(text));
}

void RtspConnection::close(Error why) {
    vod_.reset();
    if (ended_by_.empty()) {
        ended_why_ = net::end_class(why.code());
        ended_by_ = ended_why_ == net::EndClass::kStopping
                        ? net::to_string(net::EndReason::kServerStopping)
                        : why.message();
    }
    end_publish(ended_why_, ended_by_);
    if (client_->role == net::ClientRole::kConnecting) {
        client_->count_end(ended_why_);
        server_.log_rejected(*client_, why);
        client_->tell_end(ended_why_, ended_by_);
    } else {
        client_->log_summary(ended_why_, ended_by_);
    }
    stream_->close();
}

}  // namespace weir::session
