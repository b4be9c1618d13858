// What one packet to the STUN port costs: a valid check, and those of a flood; and what a session
// weighs.
#include <array>
#include <string>

#include <benchmark/benchmark.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/hmac.h"
#include "proto/ice/lite_agent.h"
#include "proto/stun/message_writer.h"

namespace weir::ice {
namespace {

const Path kPath{NetAddress::from_v4({198, 51, 100, 7}, 50'000), 0};
const MonoTime kNow{Seconds(1)};

// A check as a browser sends it, 100 bytes and a little.
Bytes make_check(std::string_view local_ufrag, std::string_view password) {
    std::array<uint8_t, stun::kMaxMessageBytes> out{};
    stun::MessageWriter writer(out, stun::MessageClass::kRequest, stun::kBinding, {1});
    writer.username(std::string(local_ufrag) + ":wxyz").ice_controlling(1).use_candidate();
    writer.priority(1'845'501'695).integrity(as_bytes(password)).fingerprint();
    return {writer.message().begin(), writer.message().end()};
}

void run(benchmark::State& state, const Credentials& credentials, const Bytes& packet) {
    LiteAgent agent(kNow, {}, credentials, {"peer", "the-password-of-the-peer"}, system_random());
    std::array<uint8_t, kMaxResponseBytes> answer{};
    for (auto _ : state) {
        benchmark::DoNotOptimize(agent.handle_packet(kNow, packet, kPath, answer));
        while (agent.poll_event()) {
        }
    }
    state.counters["bytes_of_agent"] = sizeof(LiteAgent);
}

void valid_check(benchmark::State& state) {
    Credentials ours = Credentials::make(system_random());
    run(state, ours, make_check(ours.ufrag_text(), ours.password_text()));
}

BENCHMARK(valid_check)->Name("LiteAgent/valid_check");

void wrong_password(benchmark::State& state) {
    Credentials ours = Credentials::make(system_random());
    run(state, ours, make_check(ours.ufrag_text(), "a password of another one"));
}

BENCHMARK(wrong_password)->Name("LiteAgent/wrong_password");

void unknown_user(benchmark::State& state) {
    Credentials ours = Credentials::make(system_random());
    run(state, ours, make_check("abcdefgh", ours.password_text()));
}

BENCHMARK(unknown_user)->Name("LiteAgent/unknown_user");

void bad_fingerprint(benchmark::State& state) {
    Credentials ours = Credentials::make(system_random());
    Bytes packet = make_check(ours.ufrag_text(), ours.password_text());
    packet.back() ^= 1;
    run(state, ours, packet);
}

BENCHMARK(bad_fingerprint)->Name("LiteAgent/bad_fingerprint");

void our_hmac(benchmark::State& state) {
    Bytes data(100, 0x55);
    Bytes key(24, 0x33);
    for (auto _ : state) {
        benchmark::DoNotOptimize(hmac_sha1(key, data));
    }
}

BENCHMARK(our_hmac)->Name("HmacSha1/100_bytes");

// What hmac_sha1() would cost with OpenSSL's function for it.
void openssl_hmac(benchmark::State& state) {
    Bytes data(100, 0x55);
    Bytes key(24, 0x33);
    for (auto _ : state) {
        Sha1Digest digest{};
        unsigned size = 0;
        HMAC(EVP_sha1(), key.data(), static_cast<int>(key.size()), data.data(), data.size(),
             digest.data(), &size);
        benchmark::DoNotOptimize(digest);
    }
}

BENCHMARK(openssl_hmac)->Name("HmacSha1/100_bytes_by_openssl");

}  // namespace
}  // namespace weir::ice
