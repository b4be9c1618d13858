#include "session/rtmp/rtmp_connection.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/log.h"
#include "base/plant.h"
#include "base/random.h"
#include "base/strings.h"
#include "io/coroutine.h"
#include "proto/flv/metadata.h"
#include "proto/flv/tag.h"
#include "proto/rtmp/handshake.h"
#include "session/rtmp/rtmp_player.h"
#include "session/rtmp/rtmp_server.h"

namespace weir::session {
namespace {

constexpr Millis kAnswerTimeout{10'000};  // for a peer to take what we answer
constexpr size_t kReadBytes = 64 * 1024;
constexpr uint32_t kToldTurns =
    10;  // a client may publish and play in turns without end: so many are logged

// Shared by all connections: what was read is consumed before the coroutine yields again.
std::array<uint8_t, kReadBytes>& read_buffer() {
    static std::array<uint8_t, kReadBytes> buffer;
    return buffer;
}

// "rtmp://host/app/stream?key=TOKEN"
std::string token_in(std::string_view query) {
    return std::string(query_value(parse_query(query), "key").value_or(""));
}

#if WEIR_PLANTS
// A container that is never cleared: reachable, so no tool calls it lost.
[[gnu::noinline]] void grow_a_container_per_frame(size_t frame_bytes) {
    static std::vector<std::unique_ptr<std::array<size_t, 16>>> history;
    history.push_back(std::make_unique<std::array<size_t, 16>>());
    history.back()->fill(frame_bytes);
}
#endif

}  // namespace

std::string RtmpPublish::describe() const {
    return fmt::format("client {} from {}", connection_.client_->id(), connection_.client_->ip());
}

std::string_view RtmpPublish::client_id() const {
    return connection_.client_->id();
}

void RtmpPublish::on_taken_over() {
    connection_.session_.reject(stream_id_, rtmp::status::kPublishBadName,
                                "Another publisher took over this stream.");
    connection_.end_by("another publisher took the stream over");
}

void RtmpPublish::publish(rtmp::MediaMessage&& message, MonoTime now) {
    last_media_ = now;
    seen_media_ = true;
    WEIR_PLANT("grow-container", grow_a_container_per_frame(message.body.size()));
    if (auto info = flv::parse_tag_body(message.kind, message.body)) {
        if (info->metadata && info->kind == media::TrackKind::kData) {
            stream_.describe(*this, flv::parse_metadata(message.body));
        }
        stream_.publish(
            *this, make_ref<media::MediaPacket>(*info, message.timestamp, std::move(message.body)),
            now);
    }
    if (stream_.configs_dropped() > 0 && !told_of_dropped_) {
        told_of_dropped_ = true;
        log::warn(
            "stream={}: codec configuration or metadata dropped; at most {} bytes each and {} "
            "together are passed on",
            log::escaped(stream_.key().to_string()), stream::Stream::kMaxConfigBytes,
            stream::Stream::kMaxConfigTotal);
    }
}

RtmpConnection::RtmpConnection(RtmpServer& server,
                               std::unique_ptr<io::TcpStream> stream,
                               std::unique_ptr<net::Client> client)
    : server_(server),
      stream_(std::move(stream)),
      client_(std::move(client)),
      session_([&] {
          rtmp::SessionOptions options;
          options.chunk_size = server.options().chunk_size;
          return options;
      }()),
      phase_since_(MonoClock::now()) {
    client_->kick = [this] { end_by("kicked by the API"); };
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
        end_publish(publishes_.back()->stream_id());
    }
}

// From outside the coroutine: the last words without waiting, then the socket ends and the
// coroutine with it.
void RtmpConnection::end_by(std::string reason) {
    if (!ended_by_.empty() || !stream_) {
        return;
    }
    ended_by_ = std::move(reason);
    const Bytes last_words = session_.take_output();
    if (!last_words.empty()) {
        (void)stream_->try_write(last_words);
    }
    stream_->shutdown();
}

void RtmpConnection::run() {
    io::set_log_id(client_->id());
    Result<Next> ended = handshake(io::Deadline::at(phase_since_ + server_.options().handshake));
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
    connected_ = true;
    Result<Next> ended = take_in(unread);
    if (ended.ok() && *ended == Next::kGoOn) {
        ended = converse();
    }
    if (!ended.ok()) {
        close(ended.take_error());
    }
}

Result<RtmpConnection::Next> RtmpConnection::handshake(io::Deadline deadline) {
    rtmp::ServerHandshake handshake(system_random());
    std::array<uint8_t, 2048> buffer;
    while (!handshake.done()) {
        WEIR_TRY_ASSIGN(const size_t got, stream_->read_some(buffer, deadline));
        client_->received_bytes += got;
        WEIR_TRY_ASSIGN(const size_t used, handshake.feed({buffer.data(), got}));
        const Bytes answer = handshake.take_output();
        if (!answer.empty()) {
            WEIR_TRY(stream_->write_all(answer, deadline));
            client_->sent_bytes += answer.size();
        }
        if (handshake.done() && used < got) {
            // All its commands may come at once.
            return take_in({buffer.data() + used, got - used});
        }
    }
    return Next::kGoOn;
}

MonoTime RtmpConnection::deadline() const {
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
    if (!session_.has_output()) {
        return {};
    }
    const Bytes output = session_.take_output();
    WEIR_TRY(stream_->write_all(output, io::Deadline::after(kAnswerTimeout)));
    client_->sent_bytes += output.size();
    return {};
}

Result<RtmpConnection::Next> RtmpConnection::converse() {
    for (;;) {
        WEIR_TRY(flush());
        Error waited = stream_->wait_readable(io::Deadline::at(deadline()));
        if (waited.code() == ErrorCode::kTimeout) {
            return explain_timeout();
        }
        WEIR_TRY(std::move(waited));
        const io::IoResult got = stream_->try_read(read_buffer());
        switch (got.status) {
            case io::IoStatus::kWouldBlock: continue;
            case io::IoStatus::kClosed: return make_error(ErrorCode::kClosed, "closed by the peer");
            case io::IoStatus::kFailed: return Error::from_errno(got.error_number, "read");
            case io::IoStatus::kDone: break;
        }
        client_->received_bytes += got.bytes;
        WEIR_TRY_ASSIGN(const Next next, take_in({read_buffer().data(), got.bytes}));
        if (next == Next::kHandedOver) {
            return Next::kHandedOver;
        }
        if (MonoClock::now() >= deadline()) {
            return explain_timeout();  // a peer that talks without a pause, but not of what it is
                                       // here for
        }
    }
}

// Never yields: the bytes may be in the shared buffer.
Result<RtmpConnection::Next> RtmpConnection::take_in(ByteSpan bytes) {
    const io::NoYield no_yield;
    while (!bytes.empty()) {
        bytes = bytes.subspan(session_.feed(bytes));
        rtmp::Event event;
        while (session_.next_event(event)) {
            WEIR_TRY_ASSIGN(const Next next, handle(event, bytes));
            if (next == Next::kHandedOver) {
                return Next::kHandedOver;
            }
        }
        if (session_.failed()) {
            return session_.take_error();
        }
    }
    return Next::kGoOn;
}

Result<RtmpConnection::Next> RtmpConnection::handle(rtmp::Event& event, ByteSpan rest) {
    switch (event.kind) {
        case rtmp::EventKind::kConnect:
            client_->tc_url = event.connect().tc_url;
            client_->page_url = event.connect().page_url;
            connected_ = true;
            phase_since_ = MonoClock::now();
            session_.accept_connect();
            break;
        case rtmp::EventKind::kPublish: handle_publish(event.stream_id, event.publish()); break;
        case rtmp::EventKind::kPlay:
            if (handle_play(event.stream_id, event.play(), rest)) {
                return Next::kHandedOver;
            }
            break;
        case rtmp::EventKind::kMedia:
            for (const auto& publish : publishes_) {
                if (publish->stream_id() == event.stream_id) {
                    publish->publish(std::move(event.media()), MonoClock::now());
                    break;
                }
            }
            break;
        case rtmp::EventKind::kUnpublish: end_publish(event.stream_id); break;
        case rtmp::EventKind::kClosed: return make_error(ErrorCode::kClosed, "closed by the peer");
        case rtmp::EventKind::kStop:
        case rtmp::EventKind::kPause:
        case rtmp::EventKind::kSeek: break;
    }
    return Next::kGoOn;
}

void RtmpConnection::handle_publish(uint32_t stream_id, const rtmp::PublishRequest& request) {
    const net::Services& services = server_.services();
    const stream::StreamKey key =
        services.policy.key_of(request.name.vhost, request.name.app, request.name.stream);
    const MonoTime now = MonoClock::now();
    Result<net::PublishRules> rules =
        services.policy.may_publish(key, stream_->peer(), token_in(request.name.query));
    if (!rules.ok()) {
        server_.log_refused("publish", key, *client_, rules.error());
        session_.reject(stream_id, rtmp::status::kPublishDenied, rules.error().message());
        return;
    }
    stream::Stream& target = services.registry.get_or_create(key, rules->stream, now);
    auto publish = std::make_unique<RtmpPublish>(*this, stream_id, target, *rules);
    if (Error busy = target.start_publish(*publish, rules->conflict, now)) {
        server_.log_refused("publish", key, *client_, busy);
        session_.reject(stream_id, rtmp::status::kPublishBadName, busy.message());
        return;
    }
    publish->begin(now);
    publishes_.push_back(std::move(publish));
    client_->role = net::ClientRole::kPublisher;
    client_->key = key;
    session_.accept_publish(stream_id);
    if (client_->turns++ < kToldTurns) {
        log::info("publish stream={} ip={}", log::escaped(key.to_string()), client_->ip());
    }
}

bool RtmpConnection::handle_play(uint32_t stream_id,
                                 const rtmp::PlayRequest& request,
                                 ByteSpan rest) {
    const net::Services& services = server_.services();
    if (!publishes_.empty()) {
        session_.reject(stream_id, rtmp::status::kPlayFailed,
                        "This connection publishes; play on another one.");
        return false;
    }
    const stream::StreamKey key =
        services.policy.key_of(request.name.vhost, request.name.app, request.name.stream);
    Result<net::PlayRules> rules =
        services.policy.may_play(key, stream_->peer(), token_in(request.name.query));
    if (!rules.ok()) {
        server_.log_refused("play", key, *client_, rules.error());
        session_.reject(stream_id, rtmp::status::kPlayFailed, rules.error().message());
        return false;
    }
    const stream::Stream* target = services.registry.find(key);
    if (rules->pump.wait_publisher == Millis(0) && !(target && target->live())) {
        session_.reject(stream_id, rtmp::status::kPlayStreamNotFound,
                        "No such stream: nobody publishes it.");
        return false;
    }
    client_->role = net::ClientRole::kPlayer;
    client_->key = key;
    if (client_->turns++ < kToldTurns) {
        log::info("play stream={} ip={}", log::escaped(key.to_string()), client_->ip());
    }
    hand_over(stream_id, *rules, rest);
    return true;
}

// Answers that are not sent yet go with the session; the player sends them at once.
void RtmpConnection::hand_over(uint32_t stream_id, const net::PlayRules& rules, ByteSpan rest) {
    client_->kick = nullptr;
    auto player = std::make_unique<RtmpPlayer>(std::move(session_), stream_id,
                                               Bytes(rest.begin(), rest.end()), server_.resume());
    server_.services().fanout.play(rules, server_.format(), std::move(stream_), std::move(player),
                                   std::move(client_));
}

void RtmpConnection::end_publish(uint32_t stream_id) {
    auto found = std::ranges::find_if(
        publishes_, [&](const auto& publish) { return publish->stream_id() == stream_id; });
    if (found == publishes_.end()) {
        return;
    }
    stream::Stream& target = (*found)->stream();
    if (client_->turns <= kToldTurns) {
        log::info("unpublish stream={}", log::escaped(target.key().to_string()));
    }
    target.end_publish(**found, MonoClock::now());
    publishes_.erase(found);
    server_.services().registry.release(target);
    phase_since_ = MonoClock::now();
}

void RtmpConnection::close(Error why) {
    while (!publishes_.empty()) {
        end_publish(publishes_.back()->stream_id());
    }
    const bool peer_fault = why.code() == ErrorCode::kMalformed ||
                            why.code() == ErrorCode::kLimit ||
                            why.code() == ErrorCode::kUnsupported;
    if (ended_by_.empty() && session_.has_output() && !peer_fault) {
        (void)stream_->try_write(session_.take_output());
    }
    if (client_->role == net::ClientRole::kConnecting) {
        server_.log_rejected(*client_, why);
    } else {
        const std::string_view reason = why.code() == ErrorCode::kInterrupted
                                            ? net::to_string(net::EndReason::kServerStopping)
                                            : why.message();
        client_->log_summary(ended_by_.empty() ? reason : std::string_view(ended_by_));
    }
    stream_->close();
}

}  // namespace weir::session
