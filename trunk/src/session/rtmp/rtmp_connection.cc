#include "session/rtmp/rtmp_connection.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/random.h"
#include "io/coroutine.h"
#include "io/deadline.h"
#include "net/turn_reader.h"
#include "proto/rtmp/handshake.h"
#include "session/rtmp/rtmp_server.h"
#include "stream/registry.h"

namespace weir::session {
namespace {

constexpr Millis kAnswerTimeout{10'000};  // for a peer to take what we answer
// Who is refused reads why, and leaves. Encoders that stay wait for our end: until then OBS says
// nothing to its user.
constexpr Millis kRefusedStay{1'000};

// Whether the policy is asked about it, and perhaps a hook server.
bool is_command(rtmp::EventKind kind) {
    return kind == rtmp::EventKind::kConnect || kind == rtmp::EventKind::kPublish ||
           kind == rtmp::EventKind::kPlay;
}

}  // namespace

RtmpConnection::RtmpConnection(RtmpServer& server,
                               std::unique_ptr<io::TcpStream> stream,
                               std::unique_ptr<net::Client> client,
                               MonoTime since)
    : server_(server),
      stream_(std::move(stream)),
      client_(std::move(client)),
      session_([&] {
          rtmp::SessionOptions options;
          options.chunk_size = server.options().chunk_size;
          return options;
      }()),
      phase_since_(since) {
    client_->probe = this;
    client_->kick = [this] { end_by(net::EndClass::kKicked, "kicked by the API"); };
}

#if WEIR_PLANTS
// A callback that owns its owner. The client's entry goes, so that the server still ends in order.
[[gnu::noinline]] void RtmpConnection::tie_session_into_a_cycle(
    const std::shared_ptr<RtmpConnection>& self) {
    self->client_.reset();
    self->planted_callback_ = [self] { self->stream_.reset(); };
}
#endif

RtmpConnection::~RtmpConnection() {
    while (!publishes_.empty()) {
        end_publish(publishes_.back()->stream_id(), net::EndClass::kError, "the connection ended");
    }
}

// From outside the coroutine: the last words without waiting, then the socket ends and the
// coroutine with it.
void RtmpConnection::end_by(net::EndClass why, std::string detail) {
    if (!ended_by_.empty() || (!stream_ && !line_)) {
        return;
    }
    ended_by_ = std::move(detail);
    ended_why_ = why;
    if (!stream_) {
        line_->leave(net::EndReason::kKicked, ended_by_);
        return;
    }
    const Bytes last_words = session_.take_output();
    if (!last_words.empty()) {
        (void)stream_->try_write(last_words);
    }
    stream_->shutdown();
}

void RtmpConnection::run(const net::Ingress* ingress) {
    io::set_log_id(client_->id());
    const io::Deadline deadline = io::Deadline::at(phase_since_ + server_.options().handshake);
    if (Error refused =
            net::enter(ingress, *stream_, *client_, server_.services().limits, deadline)) {
        close(std::move(refused));
        return;
    }
    Result<Next> ended = handshake(deadline);
    if (!ended.ok()) {
        close(ended.take_error().with_context("handshake"));
        return;
    }
    if (*ended == Next::kGoOn) {
        ended = converse();
    }
    if (!ended.ok()) {
        close(ended.take_error());
    }
}

void RtmpConnection::run_again(rtmp::ServerSession session, Bytes unread) {
    io::set_log_id(client_->id());
    session_ = std::move(session);
    stray_noted_ = session_.stray_messages();
    client_->stop_playing();
    connected_ = true;
    client_->turn_ticket.end(*client_, net::EndClass::kPeerClosed, "stopped by the client");
    Result<Next> ended = hear(unread);
    if (ended.ok() && *ended == Next::kGoOn) {
        ended = converse();
    }
    if (!ended.ok()) {
        close(ended.take_error());
    }
}

Result<RtmpConnection::Next> RtmpConnection::handshake(io::Deadline deadline) {
    if (server_.services().placement != nullptr && !stream_->encrypted() && !stream_->replays()) {
        told_ = std::make_unique<Told>();
    }
    rtmp::ServerHandshake handshake(system_random());
    std::array<uint8_t, 2048> buffer;
    while (!handshake.done()) {
        WEIR_TRY_ASSIGN(const size_t got, stream_->read_some(buffer, deadline));
        client_->received_bytes += got;
        WEIR_TRY_ASSIGN(const size_t used, handshake.feed({buffer.data(), got}));
        note_told({buffer.data(), used});
        const Bytes answer = handshake.take_output();
        if (!answer.empty()) {
            WEIR_TRY(stream_->write_all(answer, deadline));
            client_->sent_bytes += answer.size();
        }
        if (handshake.done() && used < got) {
            // All its commands may come at once.
            return hear({buffer.data() + used, got - used});
        }
    }
    return Next::kGoOn;
}

MonoTime RtmpConnection::deadline() const {
    if (refused_) {
        return phase_since_ + kRefusedStay;
    }
    if (!connected_) {
        return phase_since_ + server_.options().handshake;
    }
    if (publishes_.empty()) {
        return phase_since_ + server_.options().first_command;
    }
    MonoTime earliest = publishes_.front()->deadline();
    for (const auto& publish : publishes_) {
        earliest = std::min(earliest, publish->deadline());
    }
    return earliest;
}

Error RtmpConnection::explain_timeout() const {
    if (refused_) {
        return make_error(ErrorCode::kTimeout, "the connect was refused, and the peer stayed");
    }
    if (!connected_) {
        return make_error(ErrorCode::kTimeout, "no connect command within {} ms",
                          server_.options().handshake.count());
    }
    if (publishes_.empty()) {
        return make_error(ErrorCode::kTimeout, "neither publish nor play within {} ms",
                          server_.options().first_command.count());
    }
    const MonoTime now = MonoClock::now();
    for (const auto& publish : publishes_) {
        if (publish->deadline() <= now && !publish->seen_media()) {
            return make_error(ErrorCode::kTimeout,
                              "no media within {} ms of publishing (firstpkt_timeout)",
                              publish->rules().first_packet.count());
        }
    }
    return make_error(ErrorCode::kTimeout, "the publisher was silent for {} ms (normal_timeout)",
                      publishes_.front()->rules().silent.count());
}

Error RtmpConnection::flush() {
    if (vod_) {
        return vod_->say();
    }
    if (!session_.has_output() && unsent_.empty()) {
        return {};
    }
    Bytes output = std::exchange(unsent_, {});
    session_.append_output(output);
    if (!stream_) {
        return line_->say(output) ? Error() : line_->ended();
    }
    Error failed = stream_->write_all(output, io::Deadline::after(kAnswerTimeout));
    if (failed.code() == ErrorCode::kTimeout && ended_by_.empty()) {
        ended_why_ = net::EndClass::kStalled;
        ended_by_ = failed.message();
    }
    WEIR_TRY(std::move(failed));
    client_->sent_bytes += output.size();
    return {};
}

Result<RtmpConnection::Next> RtmpConnection::converse() {
    for (;;) {
        WEIR_TRY(flush());
        WEIR_TRY_ASSIGN(const Next next, line_                ? hear_on_line()
                                         : vod_               ? hear_beside_recording()
                                         : publishes_.empty() ? hear_more()
                                                              : hear_in_turns());
        if (next == Next::kHandedOver) {
            return Next::kHandedOver;
        }
        if (!line_ && !vod_ && MonoClock::now() >= deadline()) {
            return explain_timeout();  // a peer that talks without a pause, but not of what it is
                                       // here for
        }
    }
}

// Yields. What the next read brings.
Result<RtmpConnection::Next> RtmpConnection::hear_more() {
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

// Yields. Sends what is due of the recording, until the peer says something.
Result<RtmpConnection::Next> RtmpConnection::hear_beside_recording() {
    Error ended = vod_->run();
    io::IoResult got;
    if (!ended) {
        got = stream_->try_read(net::TurnReader::buffer());
        if (got.status == io::IoStatus::kWouldBlock) {
            return Next::kGoOn;
        }
        if (got.status != io::IoStatus::kDone) {
            ended = net::VodPlayer::explain_end(got);
        }
    }
    if (ended.code() == ErrorCode::kTimeout && ended_by_.empty()) {
        ended_why_ = net::EndClass::kStalled;
        ended_by_ = ended.message();
    }
    WEIR_TRY(std::move(ended));
    client_->received_bytes += got.bytes;
    return hear({net::TurnReader::buffer().data(), got.bytes});
}

// Yields. Something of the peer, if there is any; or something for it.
Result<RtmpConnection::Next> RtmpConnection::hear_on_line() {
    WEIR_TRY(line_->wait(stream_.get()));
    WEIR_TRY(line_->ended());
    if (!stream_) {
        const Bytes bytes = line_->take_unheard();
        client_->received_bytes += bytes.size();
        if (!bytes.empty()) {
            line_->note_heard(MonoClock::now());
        }
        return hear(bytes);
    }
    if (stream_->readable()) {  // others have their turn now and then
        WEIR_TRY(stream_->wait_readable(io::Deadline::after(RtmpLine::kSilence)));
    }
    const io::IoResult got = stream_->try_read(net::TurnReader::buffer());
    if (got.status == io::IoStatus::kWouldBlock) {
        return Next::kGoOn;
    }
    if (got.status != io::IoStatus::kDone) {
        return net::TurnReader::explain_end(got);
    }
    client_->received_bytes += got.bytes;
    line_->note_heard(MonoClock::now());
    return hear({net::TurnReader::buffer().data(), got.bytes});
}

// Yields. Until something comes that is not media, or nothing does.
Result<RtmpConnection::Next> RtmpConnection::hear_in_turns() {
    rtmp::Event command;
    Bytes rest;  // behind it
    Result<bool> commanded = false;
    const auto take = [&](ByteSpan bytes) {
        Unread unread(bytes);
        commanded = take_in(unread, command);
        if (commanded.ok() && *commanded) {
            rest.assign(unread.rest().begin(), unread.rest().end());
            return true;
        }
        return !commanded.ok() || publishes_.empty() || session_.has_output();
    };
    net::TurnReader turns(*stream_, *client_,
                          {.take = take, .deadline = [this] { return deadline(); }});
    Error ended = turns.run();
    if (ended.code() == ErrorCode::kTimeout) {
        return explain_timeout();
    }
    WEIR_TRY(std::move(ended));
    WEIR_TRY_ASSIGN(const bool obeys, std::move(commanded));
    if (!obeys) {
        return Next::kGoOn;
    }
    Unread unread(rest);
    WEIR_TRY_ASSIGN(const Next next, obey(command, unread));
    return next == Next::kHandedOver ? Result<Next>(next) : hear(unread.rest());
}

// Yields where a hook server has to be asked.
Result<RtmpConnection::Next> RtmpConnection::hear(ByteSpan bytes) {
    Unread unread(bytes);
    rtmp::Event command;
    for (;;) {
        WEIR_TRY_ASSIGN(const bool commanded, take_in(unread, command));
        if (!commanded) {
            return Next::kGoOn;
        }
        unread.keep();
        WEIR_TRY_ASSIGN(const Next next, obey(command, unread));
        if (next == Next::kHandedOver) {
            return next;
        }
    }
}

// Up to the next command that may have to wait (true), or to the end. Never yields: the bytes may
// be in the shared buffer.
Result<bool> RtmpConnection::take_in(Unread& unread, rtmp::Event& command) {
    const io::NoYield no_yield;
    Result<bool> commanded = take_in_all(unread, command);
    note_stray();
    return commanded;
}

void RtmpConnection::note_stray() {
    const uint64_t stray = session_.stray_messages();
    if (stray == stray_noted_) {
        return;
    }
    server_.services().registry.count_stray(stray - stray_noted_);
    stray_noted_ = stray;
    // Encoders that were refused go on for a while: the log has said why.
    if (!told_of_stray_ && refusals_ == 0) {
        told_of_stray_ = true;
        server_.log_stray(*client_, publishes_.size());
    }
}

Result<bool> RtmpConnection::take_in_all(Unread& unread, rtmp::Event& command) {
    for (;;) {
        rtmp::Event event;
        while (session_.next_event(event)) {
            if (is_command(event.kind)) {
                command = std::move(event);
                return true;
            }
            WEIR_TRY(handle(event));
        }
        if (session_.failed()) {
            return session_.take_error();
        }
        if (unread.rest().empty()) {
            return false;
        }
        const size_t used = session_.feed(unread.rest());
        note_told(unread.rest().first(used));
        unread.skip(used);
    }
}

// Whoever says so much before it plays is served here.
void RtmpConnection::note_told(ByteSpan bytes) {
    if (!told_) {
        return;
    }
    if (told_->bytes.size() + bytes.size() > Told::kMaxBytes) {
        told_.reset();
        return;
    }
    told_->last = told_->bytes.size();
    told_->bytes.insert(told_->bytes.end(), bytes.begin(), bytes.end());
}

Error RtmpConnection::handle(rtmp::Event& event) {
    switch (event.kind) {
        case rtmp::EventKind::kMedia: return handle_media(event);
        case rtmp::EventKind::kUnpublish:
            end_publish(event.stream_id, net::EndClass::kPeerClosed, "stopped by the client");
            return {};
        case rtmp::EventKind::kStop: stop_playing(); return {};
        case rtmp::EventKind::kPause:
            if (vod_) {
                vod_->pause(event.stream_id, event.pause().on);
            }
            return {};
        case rtmp::EventKind::kSeek:
            vod_ ? vod_->seek(event.stream_id, event.seek().time_ms)
                 : session_.refuse_seek(event.stream_id);
            return {};
        case rtmp::EventKind::kCall: line_->obey(event.call()); return {};
        case rtmp::EventKind::kClosed: return make_error(ErrorCode::kClosed, "closed by the peer");
        default: return {};
    }
}

// Yields.
Result<RtmpConnection::Next> RtmpConnection::obey(rtmp::Event& command, const Unread& unread) {
    switch (command.kind) {
        case rtmp::EventKind::kConnect: return handle_connect(command.connect());
        case rtmp::EventKind::kPublish: return handle_publish(command.stream_id, command.publish());
        default: return handle_play(command.stream_id, command.play(), unread);
    }
}

void RtmpConnection::close(Error why) {
    if (vod_) {
        vod_.reset();
        (void)session_.take_output();  // it would stand within a message
    }
    if (ended_by_.empty()) {
        ended_why_ = net::end_class(why.code());
        ended_by_ = ended_why_ == net::EndClass::kStopping
                        ? net::to_string(net::EndReason::kServerStopping)
                        : why.message();
        const bool peer_fault = why.code() == ErrorCode::kMalformed ||
                                why.code() == ErrorCode::kLimit ||
                                why.code() == ErrorCode::kUnsupported;
        if (session_.has_output() && !peer_fault && stream_) {
            (void)stream_->try_write(session_.take_output());
        }
    }
    while (!publishes_.empty()) {
        end_publish(publishes_.back()->stream_id(), ended_why_, ended_by_);
    }
    if (client_->role == net::ClientRole::kConnecting) {
        client_->count_end(ended_why_);
        server_.log_rejected(*client_, why);
        client_->tell_end(ended_why_, ended_by_);
    } else {
        client_->log_summary(ended_why_, ended_by_);
    }
    if (stream_) {
        stream_->close();
    } else {
        line_->leave(ended_why_ == net::EndClass::kStopping ? net::EndReason::kServerStopping
                                                            : net::EndReason::kPeerClosed,
                     ended_by_);
    }
    line_.reset();
}

}  // namespace weir::session
