// The server's end of one WebRTC session in memory, made of the project's own parts, for tests of
// the client's end.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "proto/dtls/identity.h"
#include "proto/dtls/transport.h"
#include "proto/ice/lite_agent.h"
#include "proto/srtp/control_cipher.h"
#include "proto/srtp/protector.h"
#include "proto/srtp/unprotector.h"
#include "proto/stun/message_writer.h"
#include "proto/webrtc/client_transport.h"

namespace weir::webrtc {

inline const dtls::Identity& test_identity(size_t which) {
    static const std::unique_ptr<dtls::Identity> kIdentities[2] = {*dtls::Identity::create(),
                                                                   *dtls::Identity::create()};
    return *kIdentities[which];
}

class CountingRandom final : public RandomSource {
  public:
    void fill(std::span<uint8_t> out) override {
        for (uint8_t& byte : out) {
            byte = static_cast<uint8_t>(next_ += 37);
        }
    }

  private:
    uint32_t next_ = 5;
};

// Takes what the client sends, and has what it is to be given.
class ServerEnd final : public ClientLink {
  public:
    explicit ServerEnd(MonoTime now)
        : agent_(now,
                 {},
                 ice::Credentials::make(random_),
                 {"peer", "the-password-of-the-peer"},
                 random_),
          dtls_(options()) {}

    void expect_client(const dtls::Fingerprint& fingerprint) { dtls_.remote = fingerprint; }

    // The role that it takes in DTLS. As the client, it begins when it was nominated.
    void set_role(dtls::Role role) { dtls_.role = role; }

    // Of a full agent: a check of the client, as the answer to which it waits for a success.
    void check_client(const ice::Credentials& client) {
        std::array<uint8_t, 256> buffer;
        stun::TransactionId transaction{};
        random_.fill(transaction);
        stun::MessageWriter writer(buffer, stun::MessageClass::kRequest, stun::kBinding,
                                   transaction);
        writer
            .username(fmt::format("{}:{}", client.ufrag_text(), agent_.credentials().ufrag_text()))
            .priority(1)
            .integrity(client.key())
            .fingerprint();
        const ByteSpan message = writer.message();
        to_client.emplace_back(message.begin(), message.end());
    }

    static NetAddress address() { return *NetAddress::parse("192.0.2.1:8000"); }

    // What follows the lines of the session; `media` behind them.
    std::string answer(std::string_view media) const {
        return fmt::format(
            "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=ice-lite\r\n"
            "a=ice-ufrag:{}\r\na=ice-pwd:{}\r\na=fingerprint:sha-256 {}\r\na=setup:passive\r\n{}",
            agent_.credentials().ufrag_text(), agent_.credentials().password_text(),
            test_identity(0).fingerprint().to_string(), media);
    }

    void send(const NetAddress& to, ByteSpan datagrams, size_t segment_bytes) override {
        if (to != live) {
            lost.push_back(to);
            return;
        }
        while (!datagrams.empty()) {
            const size_t size =
                segment_bytes == 0 ? datagrams.size() : std::min(segment_bytes, datagrams.size());
            from_client.emplace_back(datagrams.begin(),
                                     datagrams.begin() + static_cast<std::ptrdiff_t>(size));
            datagrams = datagrams.subspan(size);
        }
    }

    // Answers what came; media of the client is left decrypted in `media`.
    void serve(MonoTime now) {
        for (; !from_client.empty(); from_client.pop_front()) {
            take(now, from_client.front());
        }
    }

    void give_protected(Bytes packet, uint64_t index) {
        const size_t size = packet.size();
        packet.resize(size + srtp::kMaxOverhead);
        packet.resize(protector->protect_rtp(packet, size, index));
        to_client.push_back(std::move(packet));
    }

    NetAddress live = address();   // where it is; what goes elsewhere is lost
    std::vector<NetAddress> lost;  // where that went
    std::deque<Bytes> from_client;
    std::deque<Bytes> to_client;
    std::vector<Bytes> media;
    std::unique_ptr<srtp::Protector> protector;
    size_t checks = 0;  // of the client, and those with USE-CANDIDATE
    size_t nominations = 0;
    std::vector<NetAddress> successes;  // what the client saw as our address

  private:
    static dtls::TransportOptions options() {
        dtls::TransportOptions options;
        options.role = dtls::Role::kServer;
        return options;
    }

    void take(MonoTime now, Bytes& datagram) {
        if (datagram[0] < 4) {
            std::array<uint8_t, ice::kMaxResponseBytes> response;
            const ice::Path from{*NetAddress::parse("192.0.2.2:5000"), 0};
            const ice::Reply reply = agent_.handle_packet(now, datagram, from, response);
            if (reply.response_bytes > 0) {
                to_client.emplace_back(
                    response.begin(),
                    response.begin() + static_cast<std::ptrdiff_t>(reply.response_bytes));
            }
            note(datagram, reply);
            if (dtls_.role == dtls::Role::kClient && nominations > 0 && !transport_) {
                transport_ = std::make_unique<dtls::Transport>(test_identity(0), dtls_, now);
                drain();
            }
        } else if (datagram[0] < 64) {
            if (!transport_) {
                transport_ = std::make_unique<dtls::Transport>(test_identity(0), dtls_, now);
            }
            transport_->handle_packet(now, datagram);
            drain();
        } else if (opener_) {
            const bool is_rtcp = datagram[1] >= 192 && datagram[1] <= 223;
            const auto plain =
                is_rtcp ? opener_->unprotect_rtcp(datagram) : opener_->unprotect_rtp(datagram);
            if (plain.ok()) {
                datagram.resize(plain.size);
                media.push_back(datagram);
            }
        }
    }

    void note(ByteSpan datagram, const ice::Reply& reply) {
        stun::MessageView message;
        if (stun::MessageView::parse(datagram, message) != stun::ParseStatus::kDone) {
            return;
        }
        if (message.message_class == stun::MessageClass::kSuccess) {
            successes.push_back(message.xor_mapped_address.value_or(NetAddress()));
        } else if (reply.verdict == ice::Verdict::kAccepted) {
            checks++;
            nominations += message.use_candidate ? 1 : 0;
        }
    }

    void drain() {
        for (ByteSpan out = transport_->poll_transmit(); !out.empty();
             out = transport_->poll_transmit()) {
            to_client.emplace_back(out.begin(), out.end());
        }
        while (const auto event = transport_->poll_event()) {
            if (*event == dtls::Event::kConnected) {
                const srtp::Keys keys = transport_->take_keys();
                protector = std::make_unique<srtp::Protector>(keys.profile, keys.local, control_);
                opener_ = *srtp::Unprotector::create(keys.profile, keys.remote);
            }
        }
    }

    CountingRandom random_;
    srtp::ControlCipher control_;
    ice::LiteAgent agent_;
    dtls::TransportOptions dtls_;
    std::unique_ptr<dtls::Transport> transport_;
    std::unique_ptr<srtp::Unprotector> opener_;
};

}  // namespace weir::webrtc
