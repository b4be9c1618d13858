// The client's end of one WebRTC transport: ICE (controlling, one candidate of ours against those
// of the server, RFC 8445), DTLS in either role, SRTP. What lies above it, playing or publishing,
// derives from it.
//
// A machine: start(), handle_packet() for each datagram, handle_timeout() when next_timeout() says.
// What is to be sent goes to the ClientLink at once. It knows no sockets; nothing here yields.
//
//   start -> [checks until one is answered] -> [nominated] -> [DTLS] -> connected -> over
//
// A server with one candidate is nominated by the first check; of several, the one that answers
// first. Checks of the server are answered, and where they come from is tried, too (§7.3.1.4).
//
// Peers: dtls ice rtp sdp srtp stun
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/net_address.h"
#include "base/random.h"
#include "proto/dtls/identity.h"
#include "proto/dtls/transport.h"
#include "proto/ice/credentials.h"
#include "proto/sdp/negotiate.h"
#include "proto/srtp/control_cipher.h"
#include "proto/srtp/protector.h"
#include "proto/srtp/unprotector.h"
#include "proto/stun/message.h"

namespace weir::webrtc {

// Where the datagrams of one client go.
class ClientLink {
  public:
    // One datagram, or several of `segment_bytes` end to end, the last may be shorter.
    virtual void send(const NetAddress& to, ByteSpan datagrams, size_t segment_bytes) = 0;

  protected:
    ~ClientLink() = default;
};

// What all clients of a process share; must outlive them.
struct ClientShared {
    const dtls::Identity& identity;
    srtp::ControlCipher& control;
    RandomSource& random;
};

class ClientTransport {
  public:
    static constexpr size_t kMaxCandidates = 8;          // of a server; more are not tried
    static constexpr Micros kPace = Millis(50);          // between first checks (RFC 8445 §14.2)
    static constexpr Micros kFirstRepeat = Millis(100);  // of an ICE check, then twice that
    static constexpr Micros kLongestRepeat = Millis(1600);
    static constexpr Micros kConsentInterval = Seconds(5);
    static constexpr Micros kConsentTimeout = Seconds(30);  // RFC 7675 §5.1

    // Both must outlive it.
    ClientTransport(const ClientShared& shared, ClientLink& link);
    ClientTransport(const ClientTransport&) = delete;
    ClientTransport& operator=(const ClientTransport&) = delete;
    virtual ~ClientTransport();

    const ice::Credentials& credentials() const { return credentials_; }

    // Those of the answer's candidates that can be tried: addresses, by UDP, the first
    // kMaxCandidates. Never more.
    static std::vector<NetAddress> addresses_of(const sdp::RemoteTransport& remote);

    // `servers`: at least one. The first check goes out. `timeout`: for checks and handshake
    // together.
    void start(const sdp::RemoteTransport& remote,
               std::vector<NetAddress> servers,
               Micros timeout,
               MonoTime now);

    // The bytes may be changed. They begin at a multiple of 4.
    void handle_packet(MonoTime now, std::span<uint8_t> datagram, const NetAddress& from);
    void handle_timeout(MonoTime now);

    // A time long gone means at once.
    MonoTime next_timeout() const;

    bool connected() const { return protector_ != nullptr && !over_; }

    // It is of no more use; failure() says why.
    bool over() const { return over_; }

    // kTimeout: no answer, or not any more; kClosed: the server ended the session; kDenied: it
    // refuses; others of what lies above.
    const Error& failure() const { return failure_; }

    Error take_failure() { return std::move(failure_); }

    // There were keys at some time.
    bool was_connected() const { return protector_ != nullptr; }

    // Tells the server that we go (close_notify).
    void close();

  protected:
    // The server has answered; false: there is to be no handshake.
    virtual bool on_path(MonoTime /*now*/) { return true; }

    // Keys are there.
    virtual void on_connected(MonoTime now) = 0;
    // Decrypted; the bytes are good during the call.
    virtual void on_rtp(MonoTime now, ByteSpan packet) = 0;
    virtual void on_rtcp(MonoTime now, ByteSpan compound) = 0;
    // When connected.
    virtual void on_timeout(MonoTime now) = 0;
    virtual MonoTime next_media_timeout() const = 0;

    // A check was answered after so long.
    virtual void on_round_trip(Micros /*rtt*/) {}

    // A packet of media is not authentic, or came before.
    virtual void on_refused() {}

    void fail(Error why);

    RandomSource& random() { return shared_.random; }

    const dtls::Identity& identity() const { return shared_.identity; }

    srtp::Protector& protector() { return *protector_; }

    // To the server that was chosen.
    void transmit(ByteSpan datagrams, size_t segment_bytes);

    // A whole compound of `size` bytes at the front of the buffer, which has room for the trailer.
    void send_rtcp(std::span<uint8_t> buffer, size_t size);

  private:
    // An address of the server, and the check that is under way there.
    struct Pair {
        NetAddress remote;
        stun::TransactionId transaction{};
        MonoTime sent{};
        MonoTime next = MonoTime::max();  // the next check, or repetition
        Micros repeat = kFirstRepeat;
        bool open = false;        // not answered yet
        bool repeated = false;    // so an answer says nothing of the round trip
        bool nominating = false;  // with USE-CANDIDATE
    };

    Pair* pair_at(const NetAddress& remote);
    void on_stun(MonoTime now, ByteSpan datagram, const NetAddress& from);
    void answer_check(MonoTime now, const stun::MessageView& check, const NetAddress& from);
    void on_check_answered(MonoTime now, Pair& pair);
    void on_check_refused(Pair& pair, uint16_t code);
    void send_check(MonoTime now, Pair& pair, bool nominating);
    void repeat_check(MonoTime now, Pair& pair);
    void choose(Pair& pair);
    void begin_dtls(MonoTime now);
    void drain_dtls(MonoTime now);
    void take_keys(MonoTime now);
    void on_media(MonoTime now, std::span<uint8_t> datagram);
    Error no_answer() const;

    const ClientShared& shared_;
    ClientLink& link_;
    Micros connect_timeout_{};
    ice::Credentials credentials_;
    std::string remote_ufrag_;
    std::string remote_pwd_;
    dtls::TransportOptions dtls_options_;
    uint64_t tie_breaker_ = 0;
    std::vector<Pair> pairs_;
    std::optional<NetAddress> chosen_;  // is in pairs_, then alone
    bool halted_ = false;               // no handshake is wanted
    MonoTime started_{};
    MonoTime answered_{};  // the last nominating check that was; zero: none yet
    std::unique_ptr<dtls::Transport> dtls_;
    std::unique_ptr<srtp::Protector> protector_;
    std::unique_ptr<srtp::Unprotector> unprotector_;
    bool over_ = false;
    Error failure_;
};

}  // namespace weir::webrtc
