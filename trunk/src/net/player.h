// Player: one connection that plays. A cursor into its pump's wire log, a socket, and a few private
// bytes.
//
// No coroutine: the pump writes to it, the reactor tells it what the peer says. What its protocol
// adds (an RTMP answer, the head of an HTTP one) comes from a PlayerProtocol, and a header before
// each write from its Framing, where it has one. Nothing here yields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/object_count.h"
#include "io/io_result.h"
#include "io/reactor.h"
#include "net/client_probe.h"
#include "net/framing.h"
#include "net/player_protocol.h"
#include "stream/wire_log.h"

struct iovec;

namespace weir::io {
class TcpStream;
}

namespace weir::stream {
class Muxer;
class Stream;
}  // namespace weir::stream

namespace weir::net {

class Client;
class Pump;

class Player final : private io::EventHandler,
                     private ClientProbe,
                     private PlayerLink,
                     private Counted<Player> {
  public:
    static constexpr ObjectName kObjectName{"player", "fan_out"};

    // Bytes of answers that a peer may make us hold.
    static constexpr size_t kMaxPrivateBytes = 64 * 1024;
    // Private bytes of all kinds with which a paused player may go on. More: it asks again and
    // again without reading, and each time costs another front.
    static constexpr size_t kMaxResumeBytes = 1024 * 1024;
    static constexpr size_t kMaxWriteBytes = 256 * 1024;
    static constexpr int64_t kNoEnd = INT64_MAX;

    enum class State : uint8_t { kWaiting, kFlowing, kBlocked, kPaused, kEnded };

    // What a write came to. kEnded: the connection was lost, and the player is ended.
    enum class Flush : uint8_t { kCaughtUp, kBlocked, kMore, kEnded };

    Player(Pump& pump,
           std::unique_ptr<io::TcpStream> stream,
           std::unique_ptr<PlayerProtocol> protocol,
           std::unique_ptr<Client> client);
    ~Player();
    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;

  private:
    friend class Pump;
    friend class PlayerList;

    // Bytes for this player alone, due when its cursor reaches `at`.
    struct Outbox : private Counted<Outbox> {
        static constexpr ObjectName kObjectName{"player_outbox", "fan_out"};

        Bytes bytes;
        size_t sent = 0;
        uint64_t at = 0;
        size_t front_begin = SIZE_MAX;  // where the newest front begins, to replace it while unsent
        size_t answer_bytes = 0;        // of answers to the peer, since the box was last empty
        bool cut_header = false;        // holds the rest of a frame header whose frame is open
    };

    void on_ready(uint8_t ready) override;

    std::optional<LagFacts> lag_facts() const override;

    const io::TcpStream* tcp() const override { return stream_.get(); }

    // PlayerLink
    bool say(ByteSpan bytes) override;
    void release() override;
    void leave(EndReason reason, std::string_view detail) override;

    // Reads all that the peer sent; false when that ended the player.
    bool read_peer();

    // Gives the peer's bytes to the protocol and does what it says; false when that ended the
    // player.
    bool hear(ByteSpan data);

    // Places the cursor at the log's start, with the protocol's front before it.
    void place(const stream::Stream& stream, const stream::Muxer& muxer);

    // Leaves the log at an entry boundary: what the cursor is in the middle of becomes private
    // bytes.
    void close_entry(const stream::WireLog& log);

    // The same with the frame that is open; appended to `out`.
    void close_frame(const stream::WireLog& log, Bytes& out);

    uint64_t open_frame_bytes() const { return framing_ ? framing_->open_bytes() : 0; }

    void unplace();

    // Moves a cursor that fell behind to the log's start, its open entry finished first. Without a
    // start it is unplaced.
    void resync(const stream::Stream& stream, const stream::Muxer& muxer);

    Flush flush(const stream::WireLog& log);
    // Writes the parts. A large first one of a log in a file goes alone, without a copy: then
    // `total` is made less.
    io::IoResult write(std::span<const iovec> parts, size_t log_bytes, size_t& total);
    // Of the log, until the play is over; none: it is over now.
    std::optional<size_t> bytes_to_end(const stream::WireLog& log) const;
    void end_broken(const io::IoResult& result);
    void note_written(size_t written, size_t private_bytes, ByteSpan header, size_t log_bytes);
    Outbox& outbox();

    // Queues the answer in `out` at the next entry boundary; false when too much is queued already.
    bool say(const stream::WireLog& log, ByteSpan out);

    Pump& pump_;
    std::unique_ptr<io::TcpStream> stream_;
    std::unique_ptr<PlayerProtocol> protocol_;
    std::unique_ptr<Client> client_;
    stream::Cursor cursor_;
    std::unique_ptr<Outbox> outbox_;
    std::unique_ptr<Framing> framing_;  // null: none
    MonoTime since_;  // flowing: last write; blocked: last progress; waiting: joined
    MonoTime joined_;
    int64_t end_ms_ = kNoEnd;  // on the stream's timeline: what begins then is not sent
    Player* previous_ = nullptr;
    Player* next_ = nullptr;
    State state_ = State::kWaiting;
    bool placed_ = false;
    bool started_ = false;
    bool completed_ = false;  // the protocol has said its last words
};

// Intrusive list; a player is in at most one.
class PlayerList {
  public:
    Player* first() const { return first_; }

    bool empty() const { return first_ == nullptr; }

    size_t size() const { return size_; }

    static Player* next(const Player& player) { return player.next_; }

    // Brings the next players of the list into the cache: what a write needs of each is in four
    // places, and the kernel's own work on a socket throws them out again and again.
    static void prefetch_behind(const Player& player);

    void push_back(Player& player);
    void remove(Player& player);

  private:
    Player* first_ = nullptr;
    Player* last_ = nullptr;
    size_t size_ = 0;
};

}  // namespace weir::net
