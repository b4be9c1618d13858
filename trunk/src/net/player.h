// Player: one connection that plays. A cursor into its pump's wire log, a socket, and a few private
// bytes.
//
// No coroutine: the pump writes to it, the reactor tells it what the peer says. What its protocol
// adds (an RTMP answer, the head of an HTTP one) comes from a PlayerProtocol, and a header before
// each write from its Framing, where it has one. Nothing here yields.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/object_count.h"
#include "io/tcp.h"
#include "net/client_table.h"
#include "net/framing.h"
#include "stream/muxer.h"

namespace weir::net {

enum class EndReason : uint8_t {
    kPeerClosed,
    kKicked,
    kProtocolError,
    kWriteStalled,
    kNoPublisher,    // it waited for a publisher in vain
    kPublisherGone,  // it played; no new publisher came in time
    kCodecsChanged,  // what it was told of the stream no longer holds (PlayerProtocol::fits)
    kServerStopping,
    kSystemError,
};

// Of kCodecsChanged, over whatever transport.
inline constexpr std::string_view kCodecsChangedText =
    "the codecs of the stream changed: the player has to ask for its description again";

std::string_view to_string(EndReason reason);

EndClass end_class(EndReason reason);

// What becomes of a playing connection after its peer said something.
enum class PlayerVerdict : uint8_t {
    kGoOn,
    kPause,         // no media until kResume
    kResume,        // from the newest key frame
    kClose,         // the peer said goodbye
    kError,         // it broke the protocol
    kConversation,  // stops playing and goes back to its session's coroutine
};

// What a protocol may do by itself, when its peer has said nothing. Good from on_joined() until
// on_end() or on_released(). Not inside a call of the protocol. Never yields.
class PlayerLink {
  public:
    // Goes out at the next entry boundary. False: the player has ended by that, since its peer does
    // not read.
    virtual bool say(ByteSpan bytes) = 0;

    // As kConversation; or on_end(), where the peer does not read.
    virtual void release() = 0;

    virtual void leave(EndReason reason, std::string_view detail) = 0;

  protected:
    ~PlayerLink() = default;
};

// Implemented by the egress sessions. Never yields.
class PlayerProtocol {
  public:
    PlayerProtocol() = default;
    PlayerProtocol(const PlayerProtocol&) = delete;
    PlayerProtocol& operator=(const PlayerProtocol&) = delete;
    virtual ~PlayerProtocol() = default;

    // The player is at its pump. First of all.
    virtual void on_joined(PlayerLink& link) { (void)link; }

    // Appends what comes before the log when playing starts (`first`) or starts again elsewhere in
    // the log.
    virtual void on_start(const stream::Stream& stream,
                          const stream::Muxer& muxer,
                          bool first,
                          Bytes& out) = 0;

    // Whether the peer was told what the muxer writes now. Asked when playing starts, and when the
    // muxer's edition has changed; a player that does not fit is ended with kCodecsChanged.
    virtual bool fits(const stream::Muxer& muxer) const {
        (void)muxer;
        return true;
    }

    // Why one ends that does not fit: kCodecsChanged, or kPublisherGone, which gets before what the
    // muxer has written.
    virtual EndReason misfit() const { return EndReason::kCodecsChanged; }

    // What on_start() has appended holds an answer to the peer: it goes out even where another
    // front takes the place of this one before it was sent.
    virtual bool front_answers() const { return false; }

    // The player begins to wait: nobody publishes its stream. At most once, before on_start.
    virtual void on_wait(Bytes& out) { (void)out; }

    // Stream time from the first start on after which the play is over; none: it goes on.
    virtual std::optional<Millis> duration() const { return std::nullopt; }

    // It is over: the last words. When they are sent, on_released.
    virtual void on_complete(Bytes& out) { (void)out; }

    // Bytes from the peer; answers are appended to `out` and go out between two entries.
    virtual PlayerVerdict on_data(ByteSpan data, Bytes& out) = 0;

    // The last words. `started`: on_start was called.
    virtual void on_end(EndReason reason, bool started, Bytes& out) = 0;

    // Asked once, before all else. Null: the log goes out as it is. The protocol itself frames what
    // it appends.
    virtual std::unique_ptr<Framing> make_framing() { return nullptr; }

    // After kConversation and on_complete: takes the connection (and itself) back.
    virtual void on_released(std::unique_ptr<PlayerProtocol> self,
                             std::unique_ptr<io::TcpStream> stream,
                             std::unique_ptr<Client> client) {
        (void)self;
        (void)stream;
        (void)client;
    }
};

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
