// The client's end of one WebRTC transport: ICE (controlling, one pair of candidates, RFC 8445),
// DTLS, SRTP. What lies above it, playing or publishing, derives from it.
//
// A machine: start(), handle_packet() for each datagram, handle_timeout() when next_timeout() says.
// What is to be sent goes to the RtcLink at once. It knows no sockets.
//
//   start -> [checks until one is answered] -> [DTLS] -> connected -> failed or closed
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "proto/dtls/identity.h"
#include "proto/dtls/transport.h"
#include "proto/ice/credentials.h"
#include "proto/srtp/control_cipher.h"
#include "proto/srtp/protector.h"
#include "proto/srtp/unprotector.h"
#include "proto/stun/message.h"

#include "bench/load/core/rtc_signalling.h"
#include "bench/load/core/rtc_totals.h"

namespace weir::load {

// Where the datagrams of one peer go.
class RtcLink {
  public:
    // One datagram, or several of `segment_bytes` end to end, the last may be shorter.
    virtual void send(ByteSpan datagrams, size_t segment_bytes) = 0;

  protected:
    ~RtcLink() = default;
};

// What all peers of a process share; must outlive them.
struct RtcShared {
    const dtls::Identity& identity;
    srtp::ControlCipher& control;
    RandomSource& random;
};

// Where a peer stops on its way, to look at what a server holds for it there.
enum class RtcHalt : uint8_t {
    kNever,
    kCreated,  // it was answered, and sends nothing
    kIce,      // one check was answered; no handshake
};

class RtcPeer {
  public:
    static constexpr Micros kFirstRepeat = Millis(100);  // of an ICE check, then twice that
    static constexpr Micros kLongestRepeat = Millis(1600);
    static constexpr Micros kConsentInterval = Seconds(5);
    static constexpr Micros kConsentTimeout = Seconds(30);  // RFC 7675 §5.1

    // All of them must outlive it. `connect_timeout`: for checks and handshake together.
    RtcPeer(const RtcShared& shared, RtcLink& link, RtcTotals& totals, Micros connect_timeout);
    RtcPeer(const RtcPeer&) = delete;
    RtcPeer& operator=(const RtcPeer&) = delete;
    virtual ~RtcPeer();

    // Before start().
    void halt_at(RtcHalt halt) { halt_ = halt; }

    const ice::Credentials& credentials() const { return credentials_; }

    // `asked`: when the request went out.
    void start(RtcAnswer answer, MonoTime asked, MonoTime now);

    // The bytes may be changed. They begin at a multiple of 4.
    void handle_packet(MonoTime now, std::span<uint8_t> datagram);
    void handle_timeout(MonoTime now);

    // A time long gone means at once.
    MonoTime next_timeout() const;

    bool connected() const { return protector_ != nullptr && !over_; }

    // It is of no more use; failure() says why.
    bool over() const { return over_; }

    const std::string& failure() const { return failure_; }

    // Tells the server that we go (close_notify).
    void close();

  protected:
    // Keys are there.
    virtual void on_connected(MonoTime now) = 0;
    // Decrypted; the bytes are good during the call.
    virtual void on_rtp(MonoTime now, ByteSpan packet) = 0;
    virtual void on_rtcp(MonoTime now, ByteSpan compound) = 0;
    // When connected.
    virtual void on_timeout(MonoTime now) = 0;
    virtual MonoTime next_media_timeout() const = 0;

    void fail(std::string why);

    const RtcAnswer& answer() const { return answer_; }

    RtcTotals& totals() { return totals_; }

    RandomSource& random() { return shared_.random; }

    const dtls::Identity& identity() const { return shared_.identity; }

    srtp::Protector& protector() { return *protector_; }

    RtcLink& link() { return link_; }

    // The last round trip of a check; zero before the first.
    Micros rtt() const { return rtt_; }

    // A whole compound of `size` bytes at the front of the buffer, which has room for the trailer.
    void send_rtcp(std::span<uint8_t> buffer, size_t size);

    MonoTime asked() const { return asked_; }

  private:
    void on_stun(MonoTime now, ByteSpan datagram);
    void answer_check(const stun::MessageView& check);
    void send_check(MonoTime now);
    void repeat_check(MonoTime now);
    void drain_dtls(MonoTime now);
    void take_keys(MonoTime now);
    void on_media(MonoTime now, std::span<uint8_t> datagram);

    const RtcShared& shared_;
    RtcLink& link_;
    RtcTotals& totals_;
    Micros connect_timeout_;
    ice::Credentials credentials_;
    RtcAnswer answer_;
    uint64_t tie_breaker_ = 0;
    MonoTime asked_{};
    MonoTime started_{};
    MonoTime next_check_ = MonoTime::max();
    MonoTime check_sent_{};
    MonoTime answered_{};  // the last check that was; zero: none yet
    Micros repeat_ = kFirstRepeat;
    stun::TransactionId transaction_{};
    bool check_open_ = false;  // not answered yet
    bool repeated_ = false;    // so an answer says nothing of the round trip
    Micros rtt_{};
    std::unique_ptr<dtls::Transport> dtls_;
    std::unique_ptr<srtp::Protector> protector_;
    std::unique_ptr<srtp::Unprotector> unprotector_;
    RtcHalt halt_ = RtcHalt::kNever;
    bool over_ = false;
    std::string failure_;
};

}  // namespace weir::load
