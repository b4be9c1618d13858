// Transport-wide feedback: what TwccReceiver writes can be read and tells what arrived; what a peer
// makes up leaves the estimate within its limits.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "proto/rtp/bandwidth_estimator.h"
#include "proto/rtp/twcc_receiver.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace weir::rtp {
namespace {

class Machine {
  public:
    void send(uint8_t count, uint8_t size) {
        for (int i = 0; i < count; i++) {
            history_.add(now_, size_t{size} * 8);
        }
    }

    void arrive(uint16_t sequence) { receiver_.on_packet(now_, sequence, 1); }

    void advance(Micros by) {
        now_ += by;
        estimator_.handle_timeout(now_, history_.has_unanswered());
        std::array<uint8_t, 300> out{};
        bool more = true;
        while (more) {
            rtcp::CompoundWriter writer(out);
            more = receiver_.poll_transmit(now_, 1, writer);
            if (more) {
                WEIR_CHECK(read(writer.written()) == 1);
            }
        }
        WEIR_CHECK(!receiver_.next_timeout() || *receiver_.next_timeout() > now_);
    }

    // How many feedback packets there are.
    size_t read(ByteSpan compound) {
        size_t count = 0;
        rtcp::PacketView packet;
        for (rtcp::CompoundReader reader(compound); reader.next(packet);) {
            if (const auto view = rtcp::TransportFeedbackView::parse(packet)) {
                estimator_.on_feedback(now_, history_, *view);
                count++;
            }
        }
        WEIR_CHECK(estimator_.bps() >= kLimits.min_bps && estimator_.bps() <= kLimits.max_bps);
        return count;
    }

  private:
    static constexpr RateLimits kLimits{};

    TwccHistory history_;
    TwccReceiver receiver_;
    BandwidthEstimator estimator_{kLimits};
    MonoTime now_{Seconds(100)};
};

}  // namespace
}  // namespace weir::rtp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    weir::ByteReader in({data, size});
    weir::rtp::Machine machine;
    uint16_t sequence = 0;
    while (!in.empty()) {
        const uint8_t op = in.u8();
        const uint8_t value = in.u8();
        switch (op % 5) {
            case 0: machine.send(op / 5, value); break;
            case 1: machine.arrive(sequence = static_cast<uint16_t>(sequence + value)); break;
            case 2: machine.arrive(in.u16()); break;
            case 3: machine.read(in.take(std::min<size_t>(value, in.remaining()))); break;
            default: machine.advance(weir::Millis(value * (op / 5 + 1))); break;
        }
    }
    return 0;
}
