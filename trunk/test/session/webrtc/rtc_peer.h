// The other side of a WebRTC session, for tests: offers, ICE checks, the client's side of DTLS, and
// media in the clear in both directions. Driven by poll(); nothing here yields.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "io/udp.h"
#include "proto/dtls/identity.h"
#include "proto/dtls/transport.h"
#include "proto/rtcp/packet.h"
#include "proto/rtp/header.h"
#include "proto/srtp/control_cipher.h"
#include "proto/srtp/protector.h"
#include "proto/srtp/unprotector.h"
#include "session/webrtc/rtc_server.h"

#include "test/proto/ice/support.h"
#include "test/proto/sdp/support.h"
#include "test/support/io/loopback.h"

namespace weir::session {

// What follows `name` in the first line that begins so.
inline std::string sdp_value(std::string_view sdp, std::string_view name) {
    size_t at = sdp.find(name);
    if (at == std::string_view::npos) {
        return {};
    }
    at += name.size();
    return std::string(sdp.substr(at, sdp.find_first_of("\r\n", at) - at));
}

class RtcPeer {
  public:
    explicit RtcPeer(const io::SocketAddress& server) : server_(server.net_address()) { move(); }

    // Its packets come from another address from now on, as behind a NAT that forgot it.
    void move() {
        auto socket = io::UdpSocket::bind(io::loopback(), {});
        WEIR_CHECK(socket.ok());
        socket_ = std::move(*socket);
    }

    // One of the stored offers, with our fingerprint.
    static std::string offer(const std::string& name) {
        const std::string stored = sdp::test::read_offer(name);
        const std::string line = "a=fingerprint:sha-256 ";
        return sdp::test::replaced(stored, line + sdp_value(stored, line),
                                   line + identity().fingerprint().to_string());
    }

    void take_answer(std::string_view sdp) {
        ufrag = sdp_value(sdp, "a=ice-ufrag:");
        password = sdp_value(sdp, "a=ice-pwd:");
        EXPECT_FALSE(ufrag.empty() || password.empty()) << sdp;
        const auto fingerprint = dtls::Fingerprint::parse(sdp_value(sdp, "a=fingerprint:sha-256 "));
        ASSERT_TRUE(fingerprint.has_value()) << sdp;
        remote_ = *fingerprint;
        video_type =
            static_cast<uint8_t>(std::stoi("0" + sdp_value(sdp, "m=video 9 UDP/TLS/RTP/SAVPF ")));
    }

    Bytes check(bool nominate = true) {
        ice::test::Check check;
        check.username = ufrag + ":peer";
        check.password = password;
        check.use_candidate = nominate;
        check.id = ++check_id_;
        return check.bytes();
    }

    void send(ByteSpan datagram) {
        if (!drop_out || !drop_out(datagram)) {
            (void)socket_->send({server_, {}}, datagram);
        }
    }

    void send_check() { send(check()); }

    void start_dtls() {
        dtls::TransportOptions options;
        options.role = dtls::Role::kClient;
        options.remote = remote_;
        dtls_ = std::make_unique<dtls::Transport>(identity(), options, MonoClock::now());
    }

    // ICE and DTLS. Yields.
    bool connect(bool nominate = true) {
        send(check(nominate));
        if (!io::eventually([&] {
                poll();
                return stun_answers > 0;
            })) {
            return false;
        }
        start_dtls();
        return io::eventually([&] {
            poll();
            return connected;
        });
    }

    // Everything that came, and the timers.
    void poll() {
        bool more = true;
        while (more) {
            more = socket_->receive([this](std::span<uint8_t> datagram, const io::UdpPath&) {
                if (!drop_in || !drop_in(datagram)) {
                    take(datagram);
                }
            });
        }
        if (dtls_) {
            dtls_->handle_timeout(MonoClock::now());
            drain();
        }
    }

    // `packet`: plain; sent protected.
    void send_rtp(ByteSpan packet, uint64_t index) {
        Bytes buffer(packet.begin(), packet.end());
        buffer.resize(packet.size() + srtp::kMaxOverhead);
        buffer.resize(protector_->protect_rtp(buffer, packet.size(), index));
        send(buffer);
    }

    void send_rtcp(ByteSpan packet) {
        Bytes buffer(packet.begin(), packet.end());
        buffer.resize(packet.size() + srtp::kMaxOverhead);
        buffer.resize(protector_->protect_rtcp(buffer, packet.size()));
        send(buffer);
    }

    void close() {
        dtls_->close();
        drain();
    }

    // The ice-pwd of its offer: with it, it answers the server's checks. Empty: it answers none.
    std::string own_password;
    std::string ufrag;
    std::string password;
    uint8_t video_type = 0;  // payload type
    std::function<bool(ByteSpan)> drop_out;
    std::function<bool(ByteSpan)> drop_in;
    bool connected = false;
    bool closed = false;  // the server said so
    uint64_t stun_answers = 0;
    uint64_t stun_errors = 0;
    uint64_t stun_checks = 0;  // of the server
    uint64_t not_opened = 0;   // by libsrtp2
    std::vector<Bytes> rtp;
    std::vector<Bytes> rtcp;  // packets of compounds, with their headers

    size_t count_rtcp(rtcp::PacketType type, uint8_t format) const {
        size_t found = 0;
        for (const Bytes& compound : rtcp) {
            rtcp::PacketView packet;
            for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
                found += packet.is_feedback(type, format) ? 1U : 0U;
            }
        }
        return found;
    }

    static const dtls::Identity& identity() {
        static const std::unique_ptr<dtls::Identity> made =
            std::move(dtls::Identity::create()).value();
        return *made;
    }

  private:
    void answer_check(const stun::MessageView& check) {
        stun_checks++;
        if (own_password.empty() || !check.check_integrity(as_bytes(own_password))) {
            return;
        }
        std::array<uint8_t, 128> out;
        stun::MessageWriter writer(out, stun::MessageClass::kSuccess, stun::kBinding,
                                   check.transaction);
        writer.xor_mapped_address(server_).integrity(as_bytes(own_password)).fingerprint();
        send(writer.message());
    }

    void take(std::span<uint8_t> datagram) {
        const uint8_t first = datagram[0];
        if (first <= 3) {
            stun::MessageView message;
            ASSERT_EQ(stun::MessageView::parse(datagram, message), stun::ParseStatus::kDone);
            if (message.message_class == stun::MessageClass::kRequest) {
                answer_check(message);
                return;
            }
            const bool good = message.message_class == stun::MessageClass::kSuccess &&
                              message.check_integrity(as_bytes(password));
            (good ? stun_answers : stun_errors)++;
        } else if (first >= 20 && first <= 63) {
            if (dtls_) {
                dtls_->handle_packet(MonoClock::now(), datagram);
                drain();
            }
        } else if (unprotector_) {
            const bool control = rtp::is_rtcp(datagram);
            const srtp::Unprotected plain = control ? unprotector_->unprotect_rtcp(datagram)
                                                    : unprotector_->unprotect_rtp(datagram);
            if (!plain.ok()) {
                not_opened++;
                return;
            }
            (control ? rtcp : rtp)
                .emplace_back(datagram.begin(),
                              datagram.begin() + static_cast<std::ptrdiff_t>(plain.size));
        }
    }

    void drain() {
        for (ByteSpan out = dtls_->poll_transmit(); !out.empty(); out = dtls_->poll_transmit()) {
            send(out);
        }
        while (const auto event = dtls_->poll_event()) {
            if (*event == dtls::Event::kConnected) {
                connected = true;
                const srtp::Keys keys = dtls_->take_keys();
                protector_ =
                    std::make_unique<srtp::Protector>(keys.profile, keys.local, control_cipher_);
                unprotector_ =
                    std::move(srtp::Unprotector::create(keys.profile, keys.remote)).value();
            } else {
                closed = closed || *event == dtls::Event::kClosed;
            }
        }
    }

    NetAddress server_;
    std::unique_ptr<io::UdpSocket> socket_;
    dtls::Fingerprint remote_;
    uint8_t check_id_ = 0;
    std::unique_ptr<dtls::Transport> dtls_;
    srtp::ControlCipher control_cipher_;
    std::unique_ptr<srtp::Protector> protector_;
    std::unique_ptr<srtp::Unprotector> unprotector_;
};

}  // namespace weir::session
