// A handshake of two Transports, and what one weighs before, during and after it.
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include "base/check.h"
#include "proto/dtls/identity.h"
#include "proto/dtls/transport.h"

namespace weir::dtls {
namespace {

constexpr size_t kPairs = 100;  // that are weighed
constexpr MonoTime kNow{Seconds(1000)};

size_t heap() {
    return mallinfo2().uordblks;
}

struct Pair {
    Pair() = default;

    explicit Pair(const Identity& identity) {
        TransportOptions options;
        options.remote = identity.fingerprint();
        server = std::make_unique<Transport>(identity, options, kNow);
        options.role = Role::kClient;
        client = std::make_unique<Transport>(identity, options, kNow);
    }

    static bool carry(Transport& from, Transport& to) {
        bool moved = false;
        for (ByteSpan datagram = from.poll_transmit(); !datagram.empty();
             datagram = from.poll_transmit()) {
            to.handle_packet(kNow, datagram);
            moved = true;
        }
        return moved;
    }

    void finish() {
        while (carry(*client, *server) || carry(*server, *client)) {
        }
        WEIR_CHECK(server->is_connected() && client->is_connected());
    }

    std::unique_ptr<Transport> server;
    std::unique_ptr<Transport> client;
};

void BothSidesOfAHandshake(benchmark::State& state) {
    const auto identity = *Identity::create();
    for (auto _ : state) {
        Pair(*identity).finish();
    }
}

// Per side, in bytes: made, waiting for the other after its own flight, connected.
void MemoryOfATransport(benchmark::State& state) {
    const auto identity = *Identity::create();
    Pair(*identity).finish();
    TransportOptions options;
    options.remote = identity->fingerprint();
    for (auto _ : state) {
        std::vector<Pair> pairs;
        pairs.reserve(kPairs);
        size_t server_made = 0, server_waiting = 0, client_made = 0, client_waiting = 0;
        for (size_t i = 0; i < kPairs; i++) {
            Pair& pair = pairs.emplace_back();
            size_t from = heap();
            options.role = Role::kServer;
            pair.server = std::make_unique<Transport>(*identity, options, kNow);
            server_made += heap() - from;
            from = heap();
            options.role = Role::kClient;
            pair.client = std::make_unique<Transport>(*identity, options, kNow);
            client_made += heap() - from;
            from = heap();
            Pair::carry(*pair.client, *pair.server);
            server_waiting += heap() - from;
            from = heap();
            Pair::carry(*pair.server, *pair.client);
            client_waiting += heap() - from;
        }
        for (Pair& pair : pairs) {
            pair.finish();
        }
        const size_t both = heap();
        for (Pair& pair : pairs) {
            pair.server.reset();
        }
        const size_t clients = heap();
        for (Pair& pair : pairs) {
            pair.client.reset();
        }
        const auto each = [](size_t bytes) { return static_cast<double>(bytes) / kPairs; };
        state.counters["server_made"] = each(server_made);
        state.counters["server_waiting"] = each(server_made + server_waiting);
        state.counters["server_connected"] = each(both - clients);
        state.counters["client_made"] = each(client_made);
        state.counters["client_waiting"] = each(client_made + client_waiting);
        state.counters["client_connected"] = each(clients - heap());
    }
}

BENCHMARK(BothSidesOfAHandshake)->Unit(benchmark::kMicrosecond);
BENCHMARK(MemoryOfATransport)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::dtls
