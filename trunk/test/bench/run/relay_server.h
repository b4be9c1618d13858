// A small RTMP server for tests of the load client: hands each publisher's messages to the players
// of its stream, from the next key frame on, and can be told to do that badly.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/coroutine.h"
#include "io/tcp.h"
#include "proto/rtmp/server_session.h"

namespace weir::load {

enum class Fault : uint8_t {
    kNone,
    // Every 20th video frame:
    kDrop,
    kCorrupt,
    kDuplicate,
    kSwap,
    kTimeBack,
    // From the 75th video frame on, counted from when all players are there:
    kClosePlayers,
    kDelay,        // players get everything 900 ms late
    kFreeze,       // from the 45th: players stay connected and get nothing more
    kFreezeEarly,  // the same from the 15th on
    // From the start:
    kRefusePlay,
    kSilent,  // says nothing at all
};

class RelayServer {
  public:
    // `players`: so many are all of a stream.
    explicit RelayServer(Fault fault, size_t players = 0);
    ~RelayServer();  // Yields.
    RelayServer(const RelayServer&) = delete;
    RelayServer& operator=(const RelayServer&) = delete;

    io::SocketAddress address() const { return listener_->local(); }

    std::string url(std::string_view stream) const;

  private:
    struct Connection {
        io::TcpStream* stream = nullptr;
        rtmp::ServerSession session;
        std::string name;  // of the stream it publishes or plays
        uint32_t id = 0;
        bool begun = false;  // player: it has got a key frame
    };

    struct Late {
        MonoTime due;
        rtmp::MediaMessage message;
    };

    struct Stream {
        std::vector<rtmp::MediaMessage> configs;
        std::vector<Connection*> players;
        std::vector<rtmp::MediaMessage> held;
        std::deque<Late> late;
        uint64_t video_frames = 0;
        uint64_t frames_for_all = 0;  // since all players were there
    };

    void accept();
    void serve(io::TcpStream& stream);
    bool feed(Connection& self, ByteSpan bytes);
    void answer(Connection& self, rtmp::Event& event);
    void relay(Stream& stream, rtmp::MediaMessage& message);
    void relay_frame(Stream& stream, rtmp::MediaMessage& message);
    void give(Stream& stream, const rtmp::MediaMessage& message);
    void send(Connection& player, const rtmp::MediaMessage& message);

    Fault fault_;
    size_t players_;
    std::unique_ptr<io::TcpListener> listener_;
    io::Coroutine acceptor_;
    io::TaskGroup connections_;
    std::map<std::string, Stream> streams_;
};

}  // namespace weir::load
