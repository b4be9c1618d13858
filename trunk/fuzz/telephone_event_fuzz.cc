// Events of telephones: the payload, the list of events, and a receiver whose packets and steps of
// time are the bytes. What is read can be written; a sender's digits are heard again.
#include <algorithm>
#include <string>

#include "base/check.h"
#include "proto/rtp/telephone_event.h"

namespace rtp = weir::rtp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const weir::ByteSpan input(data, size);
    if (const auto payload = rtp::EventPayload::parse(input)) {
        const auto written = payload->write();
        WEIR_CHECK(rtp::EventPayload::parse(written) == *payload);
    }
    const rtp::EventSet events = rtp::parse_event_list(weir::as_text(input));
    WEIR_CHECK(events.none() || rtp::parse_event_list(rtp::write_event_list(events)) == events);

    weir::ByteReader in(input);
    rtp::TelephoneEventReceiver receiver(8000);
    rtp::TelephoneEventSender sender(8000, 160);
    weir::MonoTime now{weir::Seconds(10)};
    uint32_t time = 0;
    size_t packets = 0;
    size_t reported = 0;
    while (!in.empty()) {
        const uint8_t op = in.u8();
        switch (op % 4) {
            case 0:
                time += in.u16();
                receiver.handle_packet(now, time, in.take(std::min<size_t>(4, in.remaining())));
                packets++;
                break;
            case 1: now += weir::Millis(op); break;
            case 2: sender.send(in.u8(), weir::Millis(in.u8() * 10)); break;
            default:
                if (const auto packet = sender.tick(time += 160)) {
                    WEIR_CHECK(receiver.handle_packet(now, packet->rtp_time, packet->payload));
                    packets++;
                }
                break;
        }
        receiver.handle_timeout(now);
        WEIR_CHECK(!receiver.next_timeout() || *receiver.next_timeout() > now);
        while (const auto event = receiver.poll_event()) {
            WEIR_CHECK(event->digit == rtp::digit_of(event->event));
            reported++;
        }
    }
    WEIR_CHECK(reported + receiver.dropped() <= packets);
    return 0;
}
