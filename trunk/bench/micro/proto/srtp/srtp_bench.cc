// Packets of 1,200 bytes, ours beside libsrtp2, and what a context of each weighs (counter
// `bytes`).
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <malloc.h>
#include <srtp2/srtp.h>

#include "base/check.h"
#include "proto/srtp/protector.h"
#include "proto/srtp/rtcp_unprotector.h"
#include "proto/srtp/unprotector.h"

namespace weir::srtp {
namespace {

constexpr size_t kPacket = 1200;
constexpr size_t kReport = 64;
constexpr size_t kContexts = 200;  // that are weighed

Profile profile_of(const benchmark::State& state) {
    return state.range(0) != 0 ? Profile::kAeadAes128Gcm : Profile::kAes128CmSha1_80;
}

MasterKey some_key() {
    MasterKey key;
    key.key.fill(7);
    key.salt.fill(9);
    return key;
}

Bytes rtp_packet(uint64_t index) {
    Bytes packet(kPacket + kMaxOverhead, 0x5A);
    packet[0] = 0x80;
    packet[1] = 96;
    store_u16(packet.data() + 2, static_cast<uint16_t>(index));
    store_u32(packet.data() + 8, 0xCAFE);
    return packet;
}

Bytes rtcp_packet() {
    Bytes packet(kReport + kMaxOverhead, 0x5A);
    store_u32(packet.data(), 0x81C9'000F);
    store_u32(packet.data() + 4, 0xCAFE);
    return packet;
}

template <typename Make>
double bytes_each(Make make) {
    make();  // what is once per process
    std::vector<decltype(make())> made;
    made.reserve(kContexts);
    const size_t before = mallinfo2().uordblks;
    for (size_t i = 0; i < kContexts; i++) {
        made.push_back(make());
    }
    return static_cast<double>(mallinfo2().uordblks - before) / kContexts;
}

struct Library {
    Library(Profile profile, srtp_ssrc_type_t direction) {
        WEIR_CHECK(Unprotector::create(profile, some_key()).ok());  // starts the library
        std::array<uint8_t, 30> key;
        key.fill(7);
        srtp_policy_t policy{};
        for (srtp_crypto_policy_t* one : {&policy.rtp, &policy.rtcp}) {
            profile == Profile::kAeadAes128Gcm
                ? srtp_crypto_policy_set_aes_gcm_128_16_auth(one)
                : srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(one);
        }
        policy.ssrc.type = direction;
        policy.key = key.data();
        policy.window_size = Unprotector::kReplayWindow;
        WEIR_CHECK(srtp_create(&context, &policy) == srtp_err_status_ok);
    }

    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    ~Library() { srtp_dealloc(context); }

    srtp_t context = nullptr;
};

void ProtectRtp(benchmark::State& state) {
    ControlCipher control;
    Protector protector(profile_of(state), some_key(), control);
    Bytes packet = rtp_packet(0);
    uint64_t index = 0;
    for (auto _ : state) {
        store_u16(packet.data() + 2, static_cast<uint16_t>(index));
        benchmark::DoNotOptimize(protector.protect_rtp(packet, kPacket, index));
        index++;
    }
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kPacket));
    state.counters["bytes"] = bytes_each([&] {
        auto one = std::make_unique<Protector>(profile_of(state), some_key(), control);
        Bytes first = rtp_packet(0);
        one->protect_rtp(first, kPacket, 0);
        return one;
    });
}

// As a player's packets are made: the payload comes from what all players share.
void ProtectRtpFromShared(benchmark::State& state) {
    ControlCipher control;
    Protector protector(profile_of(state), some_key(), control);
    Bytes packet = rtp_packet(0), out(kPacket + kMaxOverhead);
    uint64_t index = 0;
    for (auto _ : state) {
        store_u16(packet.data() + 2, static_cast<uint16_t>(index));
        const ByteSpan all(packet);
        benchmark::DoNotOptimize(protector.protect_rtp(
            {all.first(12), {}, all.subspan(12, kPacket - 12)}, index++, out));
    }
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kPacket));
}

void ProtectRtpLibsrtp(benchmark::State& state) {
    Library library(profile_of(state), ssrc_any_outbound);
    Bytes packet = rtp_packet(0);
    uint64_t index = 0;
    for (auto _ : state) {
        store_u16(packet.data() + 2, static_cast<uint16_t>(index++));
        int size = kPacket;
        srtp_protect(library.context, packet.data(), &size);
        benchmark::DoNotOptimize(size);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kPacket));
    state.counters["bytes"] = bytes_each([&] {
        auto one = std::make_unique<Library>(profile_of(state), ssrc_any_outbound);
        Bytes first = rtp_packet(0);
        int size = kPacket;
        srtp_protect(one->context, first.data(), &size);
        return one;
    });
}

void UnprotectRtp(benchmark::State& state) {
    constexpr size_t kBatch = 512;
    ControlCipher control;
    Protector protector(profile_of(state), some_key(), control);
    auto unprotector = *Unprotector::create(profile_of(state), some_key());
    uint64_t index = 0;
    std::vector<Bytes> packets(kBatch);
    size_t at = kBatch;
    for (auto _ : state) {
        if (at == kBatch) {
            state.PauseTiming();
            for (Bytes& packet : packets) {
                packet = rtp_packet(index);
                packet.resize(protector.protect_rtp(packet, kPacket, index));
                index++;
            }
            at = 0;
            state.ResumeTiming();
        }
        benchmark::DoNotOptimize(unprotector->unprotect_rtp(packets[at++]));
    }
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kPacket));
    state.counters["bytes"] = bytes_each([&] {
        auto one = *Unprotector::create(profile_of(state), some_key());
        Protector sender(profile_of(state), some_key(), control);
        Bytes first = rtp_packet(0);
        const size_t size = sender.protect_rtp(first, kPacket, 0);
        one->unprotect_rtp(std::span(first).first(size));
        return one;
    });
}

void ProtectRtcp(benchmark::State& state) {
    ControlCipher control;
    Protector protector(profile_of(state), some_key(), control);
    Bytes packet = rtcp_packet();
    for (auto _ : state) {
        benchmark::DoNotOptimize(protector.protect_rtcp(packet, kReport));
    }
}

void UnprotectRtcp(benchmark::State& state) {
    ControlCipher control;
    Protector protector(profile_of(state), some_key(), control);
    Bytes packet = rtcp_packet();
    packet.resize(protector.protect_rtcp(packet, kReport));
    const SessionKeys keys = derive_session_keys(profile_of(state), some_key(), Kind::kRtcp);
    const ControlKey key(profile_of(state), keys);
    Bytes work = packet;
    for (auto _ : state) {
        std::copy(packet.begin(), packet.end(), work.begin());
        benchmark::DoNotOptimize(control.open(key, work));
    }
    state.counters["bytes"] = bytes_each(
        [&] { return std::make_unique<RtcpUnprotector>(profile_of(state), some_key(), control); });
}

void Derive(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(derive_session_keys(profile_of(state), some_key(), Kind::kRtp));
    }
}

BENCHMARK(ProtectRtp)->ArgName("gcm")->Arg(1)->Arg(0);
BENCHMARK(ProtectRtpFromShared)->ArgName("gcm")->Arg(1)->Arg(0);
BENCHMARK(ProtectRtpLibsrtp)->ArgName("gcm")->Arg(1)->Arg(0);
BENCHMARK(UnprotectRtp)->ArgName("gcm")->Arg(1)->Arg(0);
BENCHMARK(ProtectRtcp)->ArgName("gcm")->Arg(1)->Arg(0);
BENCHMARK(UnprotectRtcp)->ArgName("gcm")->Arg(1)->Arg(0);
BENCHMARK(Derive)->ArgName("gcm")->Arg(1)->Arg(0);

}  // namespace
}  // namespace weir::srtp
