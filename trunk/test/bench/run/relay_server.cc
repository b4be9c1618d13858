#include "test/bench/run/relay_server.h"

#include <algorithm>

#include "base/random.h"
#include "io/deadline.h"
#include "proto/flv/tag.h"
#include "proto/rtmp/chunk_writer.h"
#include "proto/rtmp/handshake.h"

#include "test/support/io/loopback.h"

namespace weir::load {
namespace {

constexpr uint64_t kFaultyFrame = 20;
constexpr uint64_t kTurningFrame = 75;
constexpr uint64_t kFreezeFrame = 45;
constexpr uint64_t kEarlyFrame = 15;
constexpr Millis kLateBy{900};
constexpr uint32_t kStepBackMs = 500;

uint32_t chunk_stream_of(media::TrackKind kind) {
    return kind == media::TrackKind::kAudio ? rtmp::kAudioChunkStream : rtmp::kVideoChunkStream;
}

}  // namespace

RelayServer::RelayServer(Fault fault, size_t players) : fault_(fault), players_(players) {
    auto listener = io::TcpListener::listen(io::loopback());
    WEIR_CHECK(listener.ok());
    listener_ = std::move(*listener);
    acceptor_ = io::go([this] { accept(); });
}

RelayServer::~RelayServer() {
    acceptor_.interrupt();
    acceptor_.join();
    connections_.interrupt_all();
    Error error = connections_.join_all(io::soon());
    WEIR_CHECK(!error);
}

std::string RelayServer::url(std::string_view stream) const {
    return fmt::format("rtmp://{}/live/{}", address().to_string(), stream);
}

void RelayServer::accept() {
    for (;;) {
        auto stream = listener_->accept(io::Deadline::forever());  // ended by the destructor
        if (!stream.ok()) {
            return;
        }
        std::shared_ptr<io::TcpStream> shared = std::move(*stream);
        Error error =
            connections_.spawn("relay", io::StackSize::kNormal, [this, shared] { serve(*shared); });
        WEIR_CHECK(!error);
    }
}

void RelayServer::serve(io::TcpStream& stream) {
    rtmp::ServerHandshake handshake(system_random());
    Connection self;
    self.stream = &stream;
    Bytes buffer(4096);
    for (bool alive = true; alive;) {
        auto size = stream.read_some(buffer, io::Deadline::forever());  // ended by the destructor
        if (!size.ok()) {
            break;
        }
        if (fault_ == Fault::kSilent) {
            continue;
        }
        ByteSpan bytes = ByteSpan(buffer).first(*size);
        while (!handshake.done() && !bytes.empty()) {
            auto used = handshake.feed(bytes);
            WEIR_CHECK(used.ok());
            bytes = bytes.subspan(*used);
            Error error = stream.write_all(handshake.take_output(), io::soon());
            WEIR_CHECK(!error || error.code() == ErrorCode::kClosed);
        }
        alive = feed(self, bytes);
    }
    auto& players = streams_[self.name].players;
    players.erase(std::remove(players.begin(), players.end(), &self), players.end());
}

bool RelayServer::feed(Connection& self, ByteSpan bytes) {
    while (!bytes.empty()) {
        bytes = bytes.subspan(self.session.feed(bytes));
        rtmp::Event event;
        while (self.session.next_event(event)) {
            answer(self, event);
        }
        if (self.session.failed()) {
            return false;
        }
    }
    Error error = self.session.has_output()
                      ? self.stream->write_all(self.session.take_output(), io::soon())
                      : Error();
    if (!error && self.id != 0 && !self.name.empty()) {
        // Only now: nothing may come between the answer to play and the first frames.
        auto& stream = streams_[self.name];
        bool is_player =
            std::find(stream.players.begin(), stream.players.end(), &self) != stream.players.end();
        if (!is_player && self.begun) {
            self.begun = false;
            for (const rtmp::MediaMessage& config : stream.configs) {
                send(self, config);
            }
            stream.players.push_back(&self);
        }
    }
    return !error;
}

void RelayServer::answer(Connection& self, rtmp::Event& event) {
    switch (event.kind) {
        case rtmp::EventKind::kConnect: self.session.accept_connect(); break;
        case rtmp::EventKind::kPublish:
            self.name = event.publish().name.stream;
            self.session.accept_publish(event.stream_id);
            break;
        case rtmp::EventKind::kPlay:
            if (fault_ == Fault::kRefusePlay) {
                self.session.reject(event.stream_id, "NetStream.Play.StreamNotFound",
                                    "no such stream");
                break;
            }
            self.name = event.play().name.stream;
            self.id = event.stream_id;
            self.begun = true;  // marks: to be added
            self.session.accept_play(event.stream_id);
            break;
        case rtmp::EventKind::kMedia: relay(streams_[self.name], event.media()); break;
        default: break;
    }
}

void RelayServer::relay(Stream& stream, rtmp::MediaMessage& message) {
    auto info = flv::parse_tag_body(message.kind, message.body);
    if (message.kind == media::TrackKind::kData || !info) {
        return;
    }
    if (info->config) {
        stream.configs.push_back(message);
    } else if (message.kind == media::TrackKind::kVideo) {
        relay_frame(stream, message);
    } else {
        give(stream, message);
    }
    while (!stream.late.empty() && stream.late.front().due <= MonoClock::now()) {
        for (Connection* player : stream.players) {
            send(*player, stream.late.front().message);
        }
        stream.late.pop_front();
    }
}

void RelayServer::relay_frame(Stream& stream, rtmp::MediaMessage& message) {
    stream.video_frames++;
    if (stream.frames_for_all > 0 || stream.players.size() >= players_) {
        stream.frames_for_all++;
    }
    if (stream.frames_for_all >= kTurningFrame && fault_ == Fault::kClosePlayers) {
        for (Connection* player : stream.players) {
            player->stream->shutdown();
        }
        return;
    }
    if ((fault_ == Fault::kFreeze && stream.frames_for_all >= kFreezeFrame) ||
        (fault_ == Fault::kFreezeEarly && stream.frames_for_all >= kEarlyFrame)) {
        return;
    }
    bool faulty = stream.video_frames % kFaultyFrame == 15;
    if (faulty && fault_ == Fault::kDrop) {
        return;
    }
    if (faulty && fault_ == Fault::kSwap) {
        stream.held.push_back(message);
        return;
    }
    if (faulty && fault_ == Fault::kCorrupt) {
        message.body[message.body.size() - 40] ^= 1;
    }
    if (faulty && fault_ == Fault::kTimeBack) {
        message.timestamp -= std::min(message.timestamp, kStepBackMs);
    }
    give(stream, message);
    if (faulty && fault_ == Fault::kDuplicate) {
        give(stream, message);
    }
    for (const rtmp::MediaMessage& each : std::exchange(stream.held, {})) {
        give(stream, each);
    }
}

void RelayServer::give(Stream& stream, const rtmp::MediaMessage& message) {
    if (fault_ == Fault::kDelay && stream.frames_for_all >= kTurningFrame) {
        stream.late.push_back({MonoClock::now() + Micros(kLateBy), message});
        return;
    }
    for (Connection* player : stream.players) {
        send(*player, message);
    }
}

void RelayServer::send(Connection& player, const rtmp::MediaMessage& message) {
    auto info = flv::parse_tag_body(message.kind, message.body);
    bool is_key = message.kind == media::TrackKind::kVideo && info && info->key;
    player.begun = player.begun || is_key;
    if (!player.begun && !(info && info->config)) {
        return;
    }
    rtmp::ChunkHeader header;
    header.chunk_stream_id = chunk_stream_of(message.kind);
    header.type = message.kind == media::TrackKind::kAudio ? rtmp::kAudio : rtmp::kVideo;
    header.timestamp = message.timestamp;
    header.stream_id = player.id;
    Bytes out;
    rtmp::write_message(header, message.body, player.session.chunk_size(), out);
    io::IoResult result = player.stream->try_write(out);
    // The streams of these tests are far thinner than a socket's buffer.
    WEIR_CHECK(result.status != io::IoStatus::kDone || result.bytes == out.size());
}

}  // namespace weir::load
