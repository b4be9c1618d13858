// FastChange: the receiver's side of a fast channel change (proto/fcc/message.h). It asks a server
// for the newest GOP of a group; what comes from there by unicast is given out; when the server
// says that it has caught up, the group is wanted; when the packets of the unicast have reached the
// first of the group, the server is told to stop, and that was all. Both are given to one RtpOrder,
// so packets that come by both ways are given out once.
//
// Whatever goes wrong ends in the group being joined at once. All waits and the number of servers
// are bounded. Only servers that are allowed are spoken to. A state machine: it is told the time
// and what came, and it owns no sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/net_address.h"
#include "proto/fcc/message.h"

namespace weir::net {

struct FastChangeTarget {
    fcc::Kind kind = fcc::Kind::kTelecom;
    NetAddress server;
    // Servers that may be spoken to: `server`, and those that it names. Null: none.
    std::function<bool(const NetAddress& server)> allowed;
};

class FastChangeOutput {
  public:
    // Sends a datagram from the socket of messages, or from that of media.
    virtual void send(const NetAddress& to, ByteSpan datagram, bool from_media) = 0;

    // A packet that came by unicast, good during the call only.
    virtual void on_unicast(MonoTime now, ByteSpan datagram) = 0;

  protected:
    ~FastChangeOutput() = default;
};

class FastChange {
  public:
    static constexpr int kRequests = 3;  // the same one, until there is an answer
    static constexpr Millis kRequestPeriod{40};
    static constexpr Millis kAnswerPatience{200};
    static constexpr Millis kFirstPatience{500};      // from the answer to the first packet
    static constexpr Millis kMediaPatience{1'000};    // between packets
    static constexpr Millis kSyncPatience{15'000};    // from the first packet on
    static constexpr Millis kOverlapPatience{3'000};  // from the join until both are in step
    static constexpr int kMaxRedirects = 5;
    static constexpr int kEnds = 3;  // the same farewell, since nothing confirms it

    // The server goes on for so many packets behind the first one of the group.
    static constexpr uint16_t kOverlap = 2;

    // `local` is where messages come to. `output` must outlive this.
    FastChange(FastChangeTarget target,
               const NetAddress& group,
               const NetAddress& local,
               FastChangeOutput& output);

    void start(MonoTime now);

    // A datagram on one of the two sockets.
    void feed(MonoTime now, const NetAddress& peer, ByteSpan datagram);

    // A datagram of the group, which was joined.
    void feed_group(MonoTime now, ByteSpan datagram);

    void handle_timeout(MonoTime now);

    MonoTime next_timeout() const { return due_; }

    // Nobody wants it any more: the server is told to stop.
    void stop();

    // The group should be joined.
    bool wants_group() const { return state_ == State::kJoined || state_ == State::kOver; }

    bool is_over() const { return state_ == State::kOver; }

    // How it went, when it is over.
    std::string_view outcome() const { return outcome_; }

    uint64_t packets() const { return packets_; }

  private:
    enum class State : uint8_t { kNew, kAsked, kAgreed, kUnicast, kJoined, kOver };

    void ask(MonoTime now);
    void take_message(MonoTime now, const fcc::Message& message);
    void redirect(MonoTime now, const fcc::Message& message);
    void begin_unicast(MonoTime now, const fcc::Message& message);
    void take_media(MonoTime now, ByteSpan datagram);
    void join(MonoTime now);
    void end(std::string_view outcome);
    void say_end(std::optional<uint16_t> first);
    bool is_allowed(const NetAddress& server) const;

    FastChangeTarget target_;
    NetAddress group_;
    NetAddress local_;
    FastChangeOutput& output_;
    State state_ = State::kNew;
    MonoTime due_ = MonoTime::max();
    MonoTime asked_{};
    MonoTime joined_{};
    MonoTime sync_due_{};
    int requests_ = 0;
    int redirects_ = 0;
    bool answered_ = false;
    bool said_end_ = false;
    std::optional<uint32_t> ssrc_;    // of the unicast
    std::optional<uint16_t> newest_;  // of the unicast
    std::optional<uint16_t> first_;   // of the group
    uint64_t packets_ = 0;
    std::string_view outcome_;
};

}  // namespace weir::net
