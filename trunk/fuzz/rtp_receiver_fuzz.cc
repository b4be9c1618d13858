// Reception of one source: bytes are a list of packets, retransmissions, raw datagrams and steps of
// time. Sequence numbers that come out rise, and there is never something to do that is not done.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "proto/rtp/clock_mapper.h"
#include "proto/rtp/receiver.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace weir::rtp {
namespace {

class Machine {
  public:
    explicit Machine(bool nack) : receiver_({.ssrc = 1, .rtx_ssrc = 2, .nack = nack}) {
        mapper_.add_track(90'000, false);
    }

    void packet(uint32_t ssrc, uint16_t sequence, uint32_t timestamp, ByteSpan payload) {
        Bytes bytes(kFixedHeaderSize);
        write_header({96, false, sequence, timestamp, ssrc}, bytes.data());
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        raw(bytes);
    }

    void raw(ByteSpan bytes) {
        receiver_.handle_packet(now_, bytes);
        drain();
    }

    void advance(Micros by) {
        now_ += by;
        receiver_.handle_timeout(now_);
        drain();
    }

  private:
    void drain() {
        ReceiverEvent event;
        while (receiver_.poll_event(event)) {
            if (event.kind == ReceiverEvent::Kind::kRestarted) {
                last_ = INT64_MIN;
            } else if (event.kind == ReceiverEvent::Kind::kLost) {
                WEIR_CHECK(event.lost > 0);
            } else {
                WEIR_CHECK(event.sequence > last_ && !event.packet.payload().empty());
                last_ = event.sequence;
                WEIR_CHECK(mapper_.map(0, event.packet.timestamp(), event.arrival) >= Micros(0));
            }
        }
        std::array<uint8_t, 1200> out{};
        do {
            rtcp::CompoundWriter writer(out);
            receiver_.poll_transmit(1, writer);
            WEIR_CHECK(writer.size() <= out.size());
            if (writer.size() == 0) {
                break;
            }
        } while (true);
        const std::optional<MonoTime> next = receiver_.next_timeout();
        WEIR_CHECK(!next || *next > now_);
    }

    Receiver receiver_;
    ClockMapper mapper_;
    MonoTime now_{Seconds(100)};
    int64_t last_ = INT64_MIN;
};

}  // namespace
}  // namespace weir::rtp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    weir::ByteReader in({data, size});
    weir::rtp::Machine machine((in.u8() & 1U) != 0);
    uint16_t sequence = 0;
    while (!in.empty()) {
        const uint8_t op = in.u8();
        const uint8_t value = in.u8();
        const auto timestamp = static_cast<uint32_t>(sequence * 3000);
        switch (op % 6) {
            case 0:
                machine.packet(1, sequence = static_cast<uint16_t>(sequence + value), timestamp,
                               in.take(std::min<size_t>(op / 6, in.remaining())));
                break;
            case 1:
                machine.packet(1, static_cast<uint16_t>(sequence - value), timestamp,
                               weir::as_bytes("late"));
                break;
            case 2:
                machine.packet(1, sequence = static_cast<uint16_t>(value << 8 | op), in.u32(),
                               weir::as_bytes("jump"));
                break;
            case 3:
                machine.packet(2, op, timestamp, in.take(std::min<size_t>(4, in.remaining())));
                break;
            case 4: machine.raw(in.take(std::min<size_t>(value, in.remaining()))); break;
            default: machine.advance(weir::Millis(value)); break;
        }
    }
    return 0;
}
