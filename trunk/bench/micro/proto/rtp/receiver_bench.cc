// Cost of a packet on the way in, and of feedback about packets on the way out.
#include <array>

#include <benchmark/benchmark.h>

#include "proto/rtp/bandwidth_estimator.h"
#include "proto/rtp/receiver.h"
#include "proto/rtp/twcc_receiver.h"

namespace weir::rtp {
namespace {

constexpr MonoTime kStart{Seconds(100)};

void drain(Receiver& receiver) {
    ReceiverEvent event;
    while (receiver.poll_event(event)) {
        benchmark::DoNotOptimize(event.packet.payload().data());
    }
}

// Packets of 1,200 bytes; the range says that every so many is lost and comes by NACK, 0: none.
void bm_receive(benchmark::State& state) {
    const auto lose = static_cast<uint64_t>(state.range(0));
    Receiver receiver({.ssrc = 1, .nack = true});
    std::array<uint8_t, 1'200> packet{};
    std::array<uint8_t, 1'200> missing{};
    std::array<uint8_t, 1'200> feedback{};
    MonoTime now = kStart;
    uint64_t count = 0;
    uint64_t resend_at = 0;
    for (auto _ : state) {
        count++;
        now += Millis(2);
        const Header header{96, false, static_cast<uint16_t>(count),
                            static_cast<uint32_t>(count / 10 * 3000), 1};
        if (lose > 0 && count % lose == 0) {
            write_header(header, missing.data());
            resend_at = count + 15;
            continue;
        }
        write_header(header, packet.data());
        receiver.handle_packet(now, packet);
        drain(receiver);
        if (receiver.next_timeout() <= now) {
            rtcp::CompoundWriter writer(feedback);
            receiver.poll_transmit(2, writer);
        }
        if (count == resend_at) {
            receiver.handle_packet(now, missing);
            drain(receiver);
        }
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["lost"] = static_cast<double>(receiver.counters().lost);
}

BENCHMARK(bm_receive)->Arg(0)->Arg(20)->Arg(100);

// One item is one packet that is sent, arrives, and is reported; feedback each 100 packets.
void bm_transport_feedback(benchmark::State& state) {
    TwccHistory history;
    TwccReceiver receiver;
    BandwidthEstimator estimator({});
    std::array<uint8_t, 1'200> buffer{};
    MonoTime now = kStart;
    for (auto _ : state) {
        now += Millis(1);
        receiver.on_packet(now, history.add(now, 1'200), 1);
        rtcp::CompoundWriter writer(buffer);
        if (receiver.poll_transmit(now, 2, writer)) {
            rtcp::PacketView packet;
            rtcp::CompoundReader(writer.written()).next(packet);
            estimator.on_feedback(now, history, *rtcp::TransportFeedbackView::parse(packet));
        }
    }
    state.SetItemsProcessed(state.iterations());
    state.counters["bps"] = static_cast<double>(estimator.bps());
}

BENCHMARK(bm_transport_feedback);

}  // namespace
}  // namespace weir::rtp
