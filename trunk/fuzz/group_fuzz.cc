// Sources of groups. The input is an address, which is read again as it is written; and a list of
// datagrams (kind, size, bytes) with steps of time, of which what waits stays within its bounds,
// and what is carried on is whole packets.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "net/ts/group_address.h"
#include "net/ts/rtp_order.h"
#include "net/ts/ts_carrier.h"
#include "proto/rtp/header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

namespace {

using weir::ByteReader;
using weir::Bytes;
using weir::ByteSpan;
using weir::net::GroupAddress;
using weir::net::RtpOrder;

class Machine final : private weir::net::RtpOrderOutput {
  public:
    // `kind`: 0 to 2 RTP with that many packets (1 + kind), 3 raw bytes, 4 a step of time.
    void step(uint8_t kind, ByteSpan bytes) {
        constexpr size_t kPacketBytes = 188;
        ByteReader reader(bytes);
        Bytes datagram(bytes.begin(), bytes.end());
        if (kind % 5 == 4) {
            now_ += weir::Millis(reader.u8());
            order_.handle_timeout(now_);
        } else {
            if (kind % 5 < 3) {
                weir::rtp::Header header;
                header.sequence = reader.u16();
                header.ssrc = reader.u8();
                datagram.assign(weir::rtp::kFixedHeaderSize + kPacketBytes * (kind % 5 + 1U), 0x47);
                weir::rtp::write_header(header, datagram.data());
            }
            fed_ += datagram.size();
            order_.feed(now_, datagram);
        }
        const auto due = order_.next_timeout();
        WEIR_CHECK(!due || (*due > now_ && *due <= now_ + RtpOrder::kPatience));
        WEIR_CHECK(given_ <= fed_);
        carrier_.take(now_, [this](weir::Ref<weir::media::MediaPacket> packet) {
            WEIR_CHECK(!packet->payload().empty() && packet->payload().size() % 188 == 0);
            carried_ += packet->payload().size();
        });
        WEIR_CHECK(carried_ <= given_);
    }

  private:
    void on_ordered(weir::MonoTime, ByteSpan bytes) override {
        WEIR_CHECK(!bytes.empty());
        given_ += bytes.size();
        carrier_.feed(bytes);
    }

    void on_gap() override { carrier_.lose(); }

    weir::MonoTime now_{};
    size_t fed_ = 0;
    size_t given_ = 0;
    size_t carried_ = 0;
    RtpOrder order_{*this};
    weir::net::TsCarrier carrier_{10'000};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto address = GroupAddress::parse({reinterpret_cast<const char*>(data), size});
    if (address.ok()) {
        const auto again = GroupAddress::parse(address->to_string());
        WEIR_CHECK(again.ok() && *again == *address);
    }
    Machine machine;
    ByteReader reader(ByteSpan(data, size));
    while (!reader.empty()) {
        const uint8_t kind = reader.u8();
        machine.step(kind, reader.take(std::min<size_t>(reader.u8(), reader.remaining())));
    }
    return 0;
}
