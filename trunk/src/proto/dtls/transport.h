// DTLS of one WebRTC session (RFC 6347, RFC 5764): a handshake that gives SRTP keys, and an orderly
// end.
//
// Peers: srtp
//
// A machine: after each handle_* call drain poll_transmit() and poll_event(). It carries no
// application data. Once the keys are there, the OpenSSL object (77 KB) is gone; what stays are a
// few hundred bytes:
//   - as the server, the last flight, to answer a peer that lost it (RFC 6347 §4.2.4),
//   - a close_notify record, ready to be sent,
//   - the key that tells an authentic close_notify or fatal alert of the peer from a forged one.
// Why that is safe: doc/adr/0009-srtp-dtls.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/object_count.h"
#include "proto/dtls/fingerprint.h"
#include "proto/dtls/handshake.h"
#include "proto/dtls/record.h"
#include "proto/srtp/keys.h"

namespace weir::dtls {

class Identity;

// What a peer may send before its handshake is done; a large chain twice over.
inline constexpr size_t kMaxHandshakeBytes = 128 * 1024;
inline constexpr size_t kMaxHandshakeDatagrams = 512;
inline constexpr size_t kMaxDatagram = 4096;  // longer ones are dropped

// A flight is repeated after 250 ms, then after twice that, at most every second, until the
// deadline. (RFC 6347 §4.2.4.1 has 1 s and up to 60; RFC 9147 §5.8.2 less for media. Most peers
// start with 50 ms.)
inline constexpr Millis kFirstRepeat{250};
inline constexpr Millis kLongestRepeat{1000};

// A peer that repeats itself did not get our flight: answered at once, but not more often than
// this,
inline constexpr Millis kAnswerInterval{50};
// and, once the handshake is done, not more often in all.
inline constexpr int kMaxAnswersAfterwards = 32;

// A peer that backs off (1.6, 3.2, 6.4 s ...) and whose repetitions are lost as well would wait
// very long for the flight that ends the handshake. Deviation from RFC 6347 §4.2.4, which only
// answers: it is also repeated unasked, so often, until the peer shows that it has the keys.
inline constexpr int kUnaskedRepeats = 5;

struct TransportOptions {
    Role role = Role::kServer;
    Fingerprint remote;  // of the peer's certificate
    size_t mtu = 1200;
    Millis handshake_timeout{10'000};
};

enum class Event : uint8_t {
    kConnected,  // take_keys()
    kFailed,     // take_error(): the handshake came to nothing. What is polled now is an alert.
    kClosed,     // the peer ended the connection, authentically
};

class Transport final : private Counted<Transport> {
  public:
    static constexpr ObjectName kObjectName{"dtls_transport", "dtls"};

    // As the client, the first flight is there to be polled at once. `identity` must outlive this.
    Transport(const Identity& identity, const TransportOptions& options, MonoTime now);
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    ~Transport();

    // One datagram whose first byte is 20..63 (RFC 7983 §7). What is no DTLS is ignored.
    void handle_packet(MonoTime now, ByteSpan datagram);
    void handle_timeout(MonoTime now);

    // When to call handle_timeout(); none when nothing is awaited.
    std::optional<MonoTime> next_timeout() const;

    // Bytes of the next datagram to send, 0 when there is none. Its path may not take them yet.
    size_t transmit_bytes() const;

    // The next datagram to send, empty when there is none. Valid until the next call of this
    // object.
    ByteSpan poll_transmit();
    std::optional<Event> poll_event();

    bool is_connected() const { return state_ == State::kConnected; }

    // The peer has sent something that its keys opened.
    void confirm() { repeat_last_at_ = MonoTime::max(); }

    // After kConnected, once; they are wiped here.
    srtp::Keys take_keys();

    // After kFailed.
    Error take_error() { return std::move(error_); }

    // What it holds besides itself, without the handshake, which is counted separately.
    size_t heap_bytes() const;

    bool handshaking() const { return ongoing_ != nullptr; }

    // Queues a close_notify when connected. Afterwards nothing more happens; destroy it once
    // polled.
    void close();

  private:
    enum class State : uint8_t { kHandshaking, kConnected, kOver };

    // What only the handshake needs.
    struct Ongoing;

    void step(MonoTime now, ByteSpan datagram);
    void connect(MonoTime now, bool with_flight);
    void fail(Error error);
    void repeat_flight(MonoTime now);
    static bool is_repetition(const RecordView& record);
    void handle_late_packet(MonoTime now, ByteSpan datagram);

    ByteSpan last_flight() const { return ByteSpan(kept_).first(last_flight_bytes_); }

    ByteSpan close_notify() const { return ByteSpan(kept_).subspan(last_flight_bytes_); }

    std::unique_ptr<Ongoing> ongoing_;
    Bytes kept_;  // the last flight and the close_notify, one behind the other
    srtp::Keys keys_;
    RecordKey remote_records_;
    MonoTime next_answer_{};
    MonoTime repeat_last_at_ = MonoTime::max();  // the last flight, unasked
    Error error_;
    uint16_t last_flight_bytes_ = 0;
    uint8_t answers_ = 0;
    uint8_t unasked_ = 0;
    State state_ = State::kHandshaking;
    bool send_last_flight_ = false;
    bool send_close_ = false;
    std::optional<Event> event_;
};

}  // namespace weir::dtls
