// Fast channel change: a list of datagrams (kind, size, bytes) of a server and a group, and time.
// It ends by itself, speaks to allowed servers only, and sends a bounded number of datagrams.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "net/ts/fast_change.h"
#include "proto/rtp/header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

namespace {

using weir::ByteReader;
using weir::Bytes;
using weir::ByteSpan;
using weir::NetAddress;
using weir::net::FastChange;

constexpr size_t kMaxSent = (1 + FastChange::kMaxRedirects) * FastChange::kRequests + 10;

class Machine final : private weir::net::FastChangeOutput {
  public:
    explicit Machine(bool huawei)
        : change_({.kind = huawei ? weir::fcc::Kind::kHuawei : weir::fcc::Kind::kTelecom,
                   .server = NetAddress::from_v4({10, 0, 0, 1}, 8027),
                   .allowed = [](const NetAddress& server) { return server.v4()[0] == 10; }},
                  NetAddress::from_v4({239, 0, 0, 1}, 5000),
                  NetAddress::from_v4({10, 0, 0, 9}, 5001),
                  *this) {
        change_.start(now_);
    }

    // `kind`: 0 and 1 from a server, 2 from the group, 3 a packet of it with a number of two bytes,
    // 4 the same by unicast, 5 time.
    void step(uint8_t kind, ByteSpan bytes) {
        const NetAddress peer = NetAddress::from_v4({10, 0, 0, uint8_t(1 + kind % 2)}, 8027);
        Bytes packet(weir::rtp::kFixedHeaderSize + 188, 0x47);
        ByteReader reader(bytes);
        weir::rtp::write_header({.payload_type = 33, .sequence = reader.u16()}, packet.data());
        switch (kind % 6) {
            case 2: change_.feed_group(now_, bytes); break;
            case 3: change_.feed_group(now_, packet); break;
            case 4: change_.feed(now_, peer, packet); break;
            case 5: now_ += weir::Millis(bytes.empty() ? 1 : bytes[0]); break;
            default: change_.feed(now_, peer, bytes); break;
        }
        change_.handle_timeout(now_);
        WEIR_CHECK(change_.is_over() ? change_.wants_group() : change_.next_timeout() > now_);
        WEIR_CHECK(sent_ <= kMaxSent);
    }

    void finish() {
        for (int i = 0; i < 100 && !change_.is_over(); i++) {
            now_ = change_.next_timeout();
            change_.handle_timeout(now_);
        }
        WEIR_CHECK(change_.is_over() && sent_ <= kMaxSent);
    }

  private:
    void send(const NetAddress& to, ByteSpan, bool) override {
        WEIR_CHECK(to.v4()[0] == 10);
        sent_++;
    }

    void on_unicast(weir::MonoTime, ByteSpan datagram) override { WEIR_CHECK(!datagram.empty()); }

    weir::MonoTime now_{};
    size_t sent_ = 0;
    FastChange change_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    ByteReader reader(ByteSpan(data, size));
    Machine machine((reader.u8() & 1U) != 0);
    while (reader.remaining() > 1) {
        const uint8_t kind = reader.u8();
        const size_t bytes = reader.u8();
        machine.step(kind, reader.take(std::min(bytes, reader.remaining())));
    }
    machine.finish();
    return 0;
}
