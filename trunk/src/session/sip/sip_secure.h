// What protects the media of calls: SRTP with keys of the description (SDES, RFC 4568) or of
// DTLS-SRTP (RFC 5763, RFC 5764), and ICE lite (RFC 8445) that says where a phone is. No sockets,
// no coroutines: datagrams in, plain packets out, and the other way round. Plain calls without ICE
// have none of this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/net_address.h"
#include "base/object_count.h"
#include "base/random.h"
#include "proto/dtls/transport.h"
#include "proto/ice/lite_agent.h"
#include "proto/sdp/phone.h"
#include "proto/srtp/protector.h"
#include "proto/srtp/unprotector.h"
#include "session/sip/sip_security.h"

namespace weir::session {

// Of one section of a call, with the two ports of its RTP and its RTCP. After each call of take(),
// agree() and handle_timeout(): poll_transmit() until it has nothing.
class SipSecure final : private Counted<SipSecure> {
  public:
    // ICE and SRTP of one section of a call.
    static constexpr ObjectName kObjectName{"sip_secure", "sip"};
    // From the agreement to the keys of DTLS.
    static constexpr Millis kKeyTimeout{15'000};
    // From the agreement to ICE's path; then it is as with phones that have no ICE.
    static constexpr Millis kIceTimeout{10'000};

    // Both must outlive this.
    SipSecure(SipSecurity& security, RandomSource& random);
    ~SipSecure();
    SipSecure(const SipSecure&) = delete;
    SipSecure& operator=(const SipSecure&) = delete;

    // Whether a track has to do with any of it.
    static bool is_for(const sdp::PhoneTrack& track) {
        return track.secured.keys != sdp::PhoneKeys::kNone || track.secured.has_ice();
    }

    // At first and again. What has not changed goes on: numbers, replay windows, the handshake.
    // kInternal: the library of SRTP does not work.
    Error agree(MonoTime now, const sdp::PhoneTrack& track);

    // ---- what comes ----

    struct Taken {
        enum class Kind : uint8_t {
            kNothing,   // it was for this object, or is no use: counted
            kStranger,  // of an address that may not send
            kRtp,
            kRtcp,
        };

        Kind kind = Kind::kNothing;
        std::span<uint8_t> bytes = {};  // the plain packet, of the datagram
    };

    // In place; the datagram begins at a multiple of 4 bytes. `rtcp_port`: it came to the port of
    // RTCP. `named`: the description or the signalling named its address.
    Taken take(MonoTime now,
               bool rtcp_port,
               std::span<uint8_t> datagram,
               const NetAddress& from,
               bool named);

    // ---- what goes ----

    // Whether media may be sent: there are keys, if there must be any, and ICE's path.
    bool ready() const { return is_ready(0); }

    bool rtcp_ready() const { return is_ready(mux_ ? 0 : 1); }

    bool encrypts() const { return secured_.keys != sdp::PhoneKeys::kNone; }

    // Where ICE says that the phone is; empty: it does not say.
    NetAddress path(bool rtcp_port) const;

    // In place, once it is ready; the size, 0: it does not fit. An encrypted packet gets the next
    // number, whatever its own was: none is left out.
    size_t seal_rtp(std::span<uint8_t> buffer, size_t size);

    // In place, once rtcp_ready(); the size, 0: it does not fit.
    size_t seal_rtcp(std::span<uint8_t> buffer, size_t size);

    // Handshakes and checks.
    struct Transmit {
        bool rtcp_port = false;
        NetAddress to;  // empty: where media goes
        ByteSpan bytes;
    };

    // Whether so many bytes of a handshake may be sent there now (`to` as in Transmit); if so, they
    // are counted. Of what goes by ICE nobody is asked: it has counts of its own.
    using MaySend = std::function<bool(bool rtcp_port, const NetAddress& to, size_t bytes)>;

    // Good until the next call of this object. What may not be sent waits.
    std::optional<Transmit> poll_transmit(MonoTime now, const MaySend& may);

    // ---- time ----

    // A few times a second.
    void handle_timeout(MonoTime now);

    // Why there will be no keys, once; no error: nothing has failed.
    Error take_failure() { return std::move(failure_); }

  private:
    struct Keys {
        std::unique_ptr<srtp::Protector> protector;
        std::unique_ptr<srtp::Unprotector> unprotector;
    };

    // Of RTP, and of RTCP where that has a port of its own.
    struct Component {
        std::unique_ptr<ice::LiteAgent> agent;
        std::unique_ptr<dtls::Transport> dtls;
        Keys keys;  // of SDES those of the first are both's
        NetAddress dtls_peer;
    };

    static constexpr size_t kComponents = 2;

    size_t component_of(bool rtcp_port) const { return rtcp_port && !mux_ ? 1 : 0; }

    Keys& keys_of(size_t component) {
        return components_[secured_.keys == sdp::PhoneKeys::kDtls ? component : 0].keys;
    }

    const Keys& keys_of(size_t component) const {
        return components_[secured_.keys == sdp::PhoneKeys::kDtls ? component : 0].keys;
    }

    bool is_ready(size_t component) const;
    void agree_ice(MonoTime now, const sdp::PhoneSecured& before);
    Error agree_sdes(const sdp::PhoneSecured& before);
    void agree_dtls(MonoTime now, const sdp::PhoneSecured& before);
    void start_dtls(MonoTime now, Component& component);
    void take_stun(MonoTime now, size_t at, ByteSpan datagram, const ice::Path& from);
    void take_dtls(MonoTime now, Component& component, ByteSpan datagram, const ice::Path& from);
    void settle(MonoTime now);
    void drain_ice(MonoTime now, Component& component);
    void drain_dtls(size_t at);
    Error set_keys(Keys& keys, const srtp::Keys& made);
    void restart_numbers();

    SipSecurity& security_;
    RandomSource& random_;
    sdp::PhoneSecured secured_;
    bool mux_ = false;
    std::array<Component, kComponents> components_;
    uint64_t next_number_ = 0;  // roll-over counter * 65536 + sequence number
    MonoTime keys_due_ = MonoTime::max();
    Error failure_;
    // The answer to a STUN request, or a check of ours.
    std::array<uint8_t, ice::kMaxCheckBytes> out_{};
    Transmit reply_;
};

}  // namespace weir::session
