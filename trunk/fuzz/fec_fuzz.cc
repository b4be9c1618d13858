// Forward error correction: a parity packet as it is; and a list of datagrams (kind, size, bytes)
// of a group and of its parities, of which what comes out stays within what was fed.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "net/ts/group_input.h"
#include "proto/fec/parity.h"
#include "proto/fec/reed_solomon.h"
#include "proto/rtp/header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

namespace {

using weir::ByteReader;
using weir::Bytes;
using weir::ByteSpan;
using weir::net::FecRecovery;

class Machine final : private weir::net::RtpOrderOutput {
  public:
    // `kind`: 0 and 1 media with a number of two bytes, 2 raw media, 3 a parity made of the bytes,
    // 4 a raw parity, 5 time, 6 a Reed-Solomon parity made of the bytes.
    void step(uint8_t kind, ByteSpan bytes) {
        constexpr size_t kPacketBytes = 188;
        ByteReader reader(bytes);
        Bytes datagram(bytes.begin(), bytes.end());
        switch (kind % 7) {
            case 0:
            case 1: {
                datagram.assign(weir::rtp::kFixedHeaderSize + kPacketBytes, 0x47);
                weir::rtp::write_header({.payload_type = 33, .sequence = reader.u16()},
                                        datagram.data());
                input_.feed(now_, datagram);
                break;
            }
            case 2: input_.feed(now_, datagram); break;
            case 3: {
                weir::fec::Parity parity;
                const uint16_t first = reader.u16();
                const auto offset = static_cast<uint8_t>(reader.u8() % 20 + 1);
                const auto count = static_cast<uint8_t>(reader.u8() % 20 + 1);
                Bytes packet(weir::rtp::kFixedHeaderSize + kPacketBytes, 0x47);
                weir::rtp::write_header({.payload_type = 33, .sequence = first}, packet.data());
                for (int i = 0; i < count; i++) {
                    parity.add(packet);
                }
                input_.feed_parity(now_,
                                   parity.make({.first = first, .offset = offset, .count = count}));
                break;
            }
            case 4: input_.feed_parity(now_, datagram); break;
            case 6: {
                weir::fec::BlockParityView view;
                view.first = reader.u16();
                view.data = static_cast<uint8_t>(reader.u8() % 200 + 1);
                view.parities = static_cast<uint8_t>(reader.u8() % 32 + 1);
                view.index = static_cast<uint8_t>(reader.u8() % view.parities);
                Bytes body(weir::rtp::kFixedHeaderSize + kPacketBytes, 0x47);
                const ByteSpan rest = reader.rest();
                std::copy_n(rest.begin(), std::min(rest.size(), body.size()), body.begin());
                view.body = ByteSpan(body);
                input_.feed_parity(now_, view.write(0, 127));
                break;
            }
            default: now_ += weir::Millis(reader.u8()); break;
        }
        input_.handle_timeout(now_);
        const auto due = input_.next_timeout();
        WEIR_CHECK(!due || (*due > now_ && *due <= now_ + FecRecovery::kMaxPatience));
    }

  private:
    void on_ordered(weir::MonoTime, ByteSpan bytes) override { WEIR_CHECK(!bytes.empty()); }

    void on_gap() override {}

    weir::MonoTime now_{};
    weir::net::GroupInput input_{*this, {.fec = true}};
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const ByteSpan input(data, size);
    if (const auto view = weir::fec::ParityView::parse(input)) {
        WEIR_CHECK(view->protects(view->first) && view->span() <= weir::fec::kMaxMatrix);
        weir::fec::Parity parity;
        parity.add(*view);
        const Bytes written = parity.make({.first = view->first,
                                           .offset = view->offset,
                                           .count = view->count,
                                           .is_row = view->is_row});
        const auto again = weir::fec::ParityView::parse(written);
        WEIR_CHECK(again && again->length == view->length && again->type == view->type &&
                   again->bits == view->bits && again->timestamp == view->timestamp &&
                   std::ranges::equal(again->body, view->body));
    }
    if (const auto view = weir::fec::BlockParityView::parse(input)) {
        const Bytes written = view->write(0, 127);
        const auto again = weir::fec::BlockParityView::parse(written);
        WEIR_CHECK(again && again->first == view->first && again->data == view->data &&
                   again->parities == view->parities && again->index == view->index &&
                   std::ranges::equal(again->body, view->body));
    }
    ByteReader reader(input);
    Machine machine;
    while (reader.remaining() > 1 && reader.ok()) {
        const uint8_t kind = reader.u8();
        const size_t bytes = reader.u8();
        machine.step(kind, reader.take(std::min(bytes, reader.remaining())));
    }
    return 0;
}
