// PlayerProtocol: what a protocol adds to a player: what comes before the log, what is said to its
// peer and heard of it, and how it ends. net::Player has the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "net/end_class.h"
#include "net/framing.h"

namespace weir::io {
class TcpStream;
}

namespace weir::stream {
class Muxer;
class Stream;
}  // namespace weir::stream

namespace weir::net {

class Client;

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
                             std::unique_ptr<Client> client);
};

}  // namespace weir::net
