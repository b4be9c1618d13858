// DTLS: any datagrams at any time, before and after the handshake. Input: a byte for the role and
// whether it connects first, then commands: milliseconds that pass, length, that many bytes; length
// 0xFFFF passes on what the other side says, with one of its bytes changed.
#include <algorithm>

#include "base/check.h"
#include "proto/dtls/identity.h"
#include "proto/dtls/transport.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // NOLINT(readability-identifier-naming)

namespace weir::dtls {
namespace {

constexpr size_t kMtu = 1200;
constexpr uint16_t kFromOther = 0xFFFF;

void drain(Transport& from, Transport* to, MonoTime now, uint8_t change) {
    for (int i = 0; i < 64; i++) {
        const ByteSpan datagram = from.poll_transmit();
        WEIR_CHECK(datagram.size() <= kMtu);
        if (datagram.empty()) {
            return;
        }
        if (to != nullptr) {
            Bytes copy(datagram.begin(), datagram.end());
            copy[(change * 7u) % copy.size()] ^= change;
            to->handle_packet(now, copy);
        }
    }
    WEIR_CHECK(false);  // a flight has an end
}

void run(ByteSpan input) {
    static const std::unique_ptr<Identity> kIdentity = *Identity::create();
    ByteReader reader(input);
    const uint8_t choices = reader.u8();
    MonoTime now{Seconds(100)};
    TransportOptions options;
    options.remote = kIdentity->fingerprint();
    options.role = (choices & 1) != 0 ? Role::kClient : Role::kServer;
    Transport tested(*kIdentity, options, now);
    options.role = (choices & 1) != 0 ? Role::kServer : Role::kClient;
    Transport other(*kIdentity, options, now);
    for (int i = 0; (choices & 2) != 0 && i < 4; i++) {
        drain(other, &tested, now, 0);
        drain(tested, &other, now, 0);
    }
    WEIR_CHECK((choices & 2) == 0 || tested.is_connected());
    while (!reader.empty()) {
        const uint8_t passed = reader.u8();
        now += Millis(passed * 4);
        const uint16_t length = reader.u16();
        if (length == kFromOther) {
            other.handle_timeout(now);
            drain(other, &tested, now, reader.u8());
        } else {
            tested.handle_packet(now, reader.take(std::min<size_t>(length, reader.remaining())));
        }
        tested.handle_timeout(now);
        drain(tested, (passed & 1) != 0 ? &other : nullptr, now, 0);
        const std::optional<Event> event = tested.poll_event();
        WEIR_CHECK(event != Event::kFailed || bool(tested.take_error()));
        WEIR_CHECK(tested.next_timeout().value_or(now + Millis(1)) > now);
    }
    tested.close();
    drain(tested, &other, now, 0);
}

}  // namespace
}  // namespace weir::dtls

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    weir::dtls::run({data, size});
    return 0;
}
