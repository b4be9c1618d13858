// The peer's side of ICE for tests: makes checks, reads answers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/random.h"
#include "proto/ice/lite_agent.h"
#include "proto/stun/message_writer.h"

namespace weir::ice::test {

// Numbers in a row from a seed (xorshift); for tests only.
class SeededRandom final : public RandomSource {
  public:
    explicit SeededRandom(uint64_t seed) : state_(seed * 2 + 1) {}

    void fill(std::span<uint8_t> out) override {
        for (uint8_t& byte : out) {
            byte = static_cast<uint8_t>(next() >> 24U);
        }
    }

    uint64_t next() {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return state_;
    }

    bool chance(unsigned percent) { return (next() >> 20U) % 100 < percent; }

  private:
    uint64_t state_;
};

// What one check of the peer says.
struct Check {
    std::string username;
    std::string password;
    std::optional<uint32_t> priority = 1'845'501'695;
    std::optional<uint32_t> nomination;
    bool use_candidate = false;
    bool controlled = false;
    bool sha256 = false;
    bool integrity = true;
    bool fingerprint = true;
    std::optional<uint16_t> extra_attribute;
    uint8_t id = 7;

    static Check with(const Credentials& credentials) {
        Check check;
        check.username = std::string(credentials.ufrag_text()) + ":peer";
        check.password = credentials.password_text();
        return check;
    }

    Check nominating() const {
        Check check = *this;
        check.use_candidate = true;
        return check;
    }

    Check with_priority(uint32_t value) const {
        Check check = *this;
        check.priority = value;
        return check;
    }

    Check numbered(uint32_t value) const {
        Check check = *this;
        check.nomination = value;
        return check;
    }

    Bytes bytes() const {
        std::array<uint8_t, stun::kMaxMessageBytes> out{};
        stun::TransactionId transaction{};
        transaction.fill(id);
        stun::MessageWriter writer(out, stun::MessageClass::kRequest, stun::kBinding, transaction);
        if (!username.empty()) {
            writer.username(username);
        }
        controlled ? writer.ice_controlled(1) : writer.ice_controlling(1);
        if (priority) {
            writer.priority(*priority);
        }
        if (use_candidate) {
            writer.use_candidate();
        }
        if (nomination) {
            writer.nomination(*nomination);
        }
        if (extra_attribute) {
            writer.attribute(static_cast<stun::Attribute>(*extra_attribute), as_bytes("abc"));
        }
        if (integrity) {
            sha256 ? writer.integrity_sha256(as_bytes(password))
                   : writer.integrity(as_bytes(password));
        }
        if (fingerprint) {
            writer.fingerprint();
        }
        return {writer.message().begin(), writer.message().end()};
    }
};

// The peer's own credentials, as its offer says them.
inline RemoteCredentials peer_credentials() {
    return {"peer", "the-password-of-the-peer"};
}

// What the peer answers to a check of ours; empty when that is none for it.
inline Bytes answer_to(ByteSpan check, const RemoteCredentials& peer, const Path& seen_from) {
    stun::MessageView view;
    if (stun::MessageView::parse(check, view) != stun::ParseStatus::kDone ||
        view.message_class != stun::MessageClass::kRequest || !view.check_integrity(peer.key()) ||
        split_username(view.username.value_or("")).local != peer.ufrag) {
        return {};
    }
    std::array<uint8_t, kMaxResponseBytes> out{};
    stun::MessageWriter writer(out, stun::MessageClass::kSuccess, stun::kBinding, view.transaction);
    writer.xor_mapped_address(seen_from.remote).integrity(peer.key()).fingerprint();
    return {writer.message().begin(), writer.message().end()};
}

}  // namespace weir::ice::test
