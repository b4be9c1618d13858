#include "proto/srtp/unprotector.h"

#include <algorithm>

#include <srtp2/srtp.h>

namespace weir::srtp {

namespace {

constexpr size_t kMinRtp = 12;
constexpr size_t kMinRtcp = 8;

// Once in the life of the process, when the first publisher comes: it loads NSS.
srtp_err_status_t start_library() {
    static const srtp_err_status_t kStarted = srtp_init();
    return kStarted;
}

void set_policy(Profile profile, srtp_policy_t& policy) {
    switch (profile) {
        case Profile::kAeadAes128Gcm:
            srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp);
            srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp);
            break;
        case Profile::kAes128CmSha1_80:
            srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtp);
            srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtcp);
            break;
        case Profile::kAes128CmSha1_32:
            srtp_crypto_policy_set_aes_cm_128_hmac_sha1_32(&policy.rtp);
            srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtcp);
            break;
    }
}

Status status_of(srtp_err_status_t status) {
    switch (status) {
        case srtp_err_status_ok: return Status::kOk;
        case srtp_err_status_replay_fail:
        case srtp_err_status_replay_old: return Status::kReplayed;
        case srtp_err_status_bad_param:
        case srtp_err_status_parse_err:
        case srtp_err_status_cant_check: return Status::kMalformed;
        default: return Status::kUnauthentic;
    }
}

}  // namespace

void Unprotector::Free::operator()(srtp_ctx_t_* context) const {
    srtp_dealloc(context);
}

Unprotector::Unprotector(srtp_ctx_t_* context) : context_(context) {}

Unprotector::~Unprotector() {
    object_class().remove_bytes(source_count_ * kSourceBytes);
}

Result<std::unique_ptr<Unprotector>> Unprotector::create(Profile profile, const MasterKey& remote) {
    if (srtp_err_status_t status = start_library(); status != srtp_err_status_ok) {
        return make_error(ErrorCode::kInternal, "libsrtp2 does not start: error {}",
                          static_cast<int>(status));
    }
    std::array<uint8_t, kKeySize + kMaxSaltSize> key;
    std::copy(remote.key.begin(), remote.key.end(), key.begin());
    std::copy(remote.salt.begin(), remote.salt.end(), key.begin() + kKeySize);
    srtp_policy_t policy{};
    set_policy(profile, policy);
    policy.ssrc.type = ssrc_any_inbound;
    policy.key = key.data();
    policy.window_size = kReplayWindow;
    srtp_t context = nullptr;
    if (srtp_err_status_t status = srtp_create(&context, &policy); status != srtp_err_status_ok) {
        return make_error(ErrorCode::kInternal, "libsrtp2 makes no context: error {}",
                          static_cast<int>(status));
    }
    return std::unique_ptr<Unprotector>(new Unprotector(context));
}

Unprotected Unprotector::unprotect_rtp(std::span<uint8_t> packet) {
    if (packet.size() < kMinRtp) {
        return {};
    }
    return unprotect(srtp_unprotect, packet, ByteReader(packet.subspan(8)).u32());
}

Unprotected Unprotector::unprotect_rtcp(std::span<uint8_t> packet) {
    if (packet.size() < kMinRtcp) {
        return {};
    }
    return unprotect(srtp_unprotect_rtcp, packet, ByteReader(packet.subspan(4)).u32());
}

template <typename Function>
Unprotected Unprotector::unprotect(Function function, std::span<uint8_t> packet, uint32_t ssrc) {
    const bool known = is_known(ssrc);
    if (!known && source_count_ == kMaxSources) {
        return {Status::kTooManySources, 0};
    }
    int size = static_cast<int>(packet.size());
    const Status status = status_of(function(context_.get(), packet.data(), &size));
    if (status != Status::kOk) {
        return {status, 0};
    }
    if (!known) {
        sources_[source_count_++] =
            ssrc;  // libsrtp2 makes the state of an SSRC when a packet of it was authentic
        object_class().add_bytes(kSourceBytes);
    }
    return {Status::kOk, static_cast<size_t>(size)};
}

bool Unprotector::is_known(uint32_t ssrc) const {
    const auto* end = sources_.begin() + source_count_;
    return std::find(sources_.begin(), end, ssrc) != end;
}

}  // namespace weir::srtp
