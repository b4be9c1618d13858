// Packets, keys, and libsrtp2 as the sender and receiver that ours are held against.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <srtp2/srtp.h>

#include "base/bytes.h"
#include "base/check.h"
#include "proto/srtp/keys.h"
#include "proto/srtp/unprotector.h"

namespace weir::srtp {

inline constexpr Profile kProfiles[] = {Profile::kAeadAes128Gcm, Profile::kAes128CmSha1_80,
                                        Profile::kAes128CmSha1_32};

// For gtest.
inline const char* name_of(Profile profile) {
    switch (profile) {
        case Profile::kAeadAes128Gcm: return "Gcm";
        case Profile::kAes128CmSha1_80: return "CounterMode";
        case Profile::kAes128CmSha1_32: return "CounterModeShortTag";
    }
    return "";
}

inline Bytes from_hex(std::string_view text) {
    Bytes out;
    int high = -1;
    for (char c : text) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) {
            continue;
        }
        if (high < 0) {
            high = digit;
        } else {
            out.push_back(static_cast<uint8_t>(high << 4 | digit));
            high = -1;
        }
    }
    return out;
}

template <size_t N>
std::array<uint8_t, N> array_of(std::string_view hex) {
    const Bytes bytes = from_hex(hex);
    WEIR_CHECK(bytes.size() == N);
    std::array<uint8_t, N> out;
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return out;
}

inline MasterKey test_key(uint8_t seed = 1) {
    MasterKey master;
    for (size_t i = 0; i < master.key.size(); i++) {
        master.key[i] = static_cast<uint8_t>(seed * 17 + i * 29);
    }
    for (size_t i = 0; i < master.salt.size(); i++) {
        master.salt[i] = static_cast<uint8_t>(seed * 5 + i * 31 + 3);
    }
    return master;
}

// A packet with `csrcs` contributing sources and `extension_words` of header extension.
inline Bytes rtp_packet(uint16_t sequence,
                        uint32_t ssrc,
                        size_t payload_bytes,
                        uint8_t csrcs = 0,
                        int extension_words = -1) {
    Bytes packet;
    ByteWriter writer(packet);
    writer.u8(static_cast<uint8_t>(0x80 | (extension_words >= 0 ? 0x10 : 0) | csrcs)).u8(96);
    writer.u16(sequence).u32(sequence * 3000u).u32(ssrc);
    for (uint8_t i = 0; i < csrcs; i++) {
        writer.u32(0xC0000000u + i);
    }
    if (extension_words >= 0) {
        writer.u16(0xBEDE).u16(static_cast<uint16_t>(extension_words));
        for (int i = 0; i < extension_words; i++) {
            writer.u32(0x10AA0000u + static_cast<uint32_t>(i));
        }
    }
    for (size_t i = 0; i < payload_bytes; i++) {
        writer.u8(static_cast<uint8_t>(i * 7 + sequence));
    }
    return packet;
}

// A receiver report of `size` bytes, a multiple of 4 and at least 8.
inline Bytes rtcp_packet(uint32_t ssrc, size_t size) {
    Bytes packet;
    ByteWriter(packet).u8(0x81).u8(201).u16(static_cast<uint16_t>(size / 4 - 1)).u32(ssrc);
    while (packet.size() < size) {
        packet.push_back(static_cast<uint8_t>(packet.size() * 11));
    }
    return packet;
}

// One direction by libsrtp2.
class Oracle {
  public:
    enum class Role { kSender, kReceiver };

    Oracle(Profile profile, const MasterKey& master, Role role) {
        // libsrtp2 fails to start a second time, so ours starts it.
        static const bool kStarted = Unprotector::create(profile, master).ok();
        WEIR_CHECK(kStarted);
        Bytes key(master.key.begin(), master.key.end());
        key.insert(key.end(), master.salt.begin(), master.salt.end());
        srtp_policy_t policy{};
        for (srtp_crypto_policy_t* one : {&policy.rtp, &policy.rtcp}) {
            profile == Profile::kAeadAes128Gcm
                ? srtp_crypto_policy_set_aes_gcm_128_16_auth(one)
                : srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(one);
        }
        if (profile == Profile::kAes128CmSha1_32) {
            srtp_crypto_policy_set_aes_cm_128_hmac_sha1_32(&policy.rtp);
        }
        policy.ssrc.type = role == Role::kSender ? ssrc_any_outbound : ssrc_any_inbound;
        policy.key = key.data();
        policy.window_size = 1024;
        policy.allow_repeat_tx = 1;
        WEIR_CHECK(srtp_create(&context_, &policy) == srtp_err_status_ok);
    }

    Oracle(const Oracle&) = delete;
    Oracle& operator=(const Oracle&) = delete;

    ~Oracle() { srtp_dealloc(context_); }

    Bytes protect_rtp(const Bytes& packet) { return run(srtp_protect, packet); }

    Bytes protect_rtcp(const Bytes& packet) { return run(srtp_protect_rtcp, packet); }

    // Empty: refused.
    Bytes unprotect_rtp(const Bytes& packet) { return run(srtp_unprotect, packet); }

    Bytes unprotect_rtcp(const Bytes& packet) { return run(srtp_unprotect_rtcp, packet); }

    // The next packet of the SSRC counts from this roll-over counter on.
    void set_roll_over(uint32_t ssrc, uint32_t counter) {
        WEIR_CHECK(srtp_set_stream_roc(context_, ssrc, counter) == srtp_err_status_ok);
    }

  private:
    template <typename Function>
    Bytes run(Function function, Bytes packet) {
        int size = static_cast<int>(packet.size());
        packet.resize(packet.size() + SRTP_MAX_TRAILER_LEN);
        if (function(context_, packet.data(), &size) != srtp_err_status_ok) {
            return {};
        }
        packet.resize(static_cast<size_t>(size));
        return packet;
    }

    srtp_t context_ = nullptr;
};

}  // namespace weir::srtp
