#include "proto/rtp/rtx.h"

#include <algorithm>

namespace weir::rtp {
namespace {

constexpr uint8_t kPaddingBit = 0x20;

}  // namespace

size_t unwrap_rtx(ByteSpan packet,
                  const PacketView& rtx,
                  uint32_t ssrc,
                  uint8_t payload_type,
                  std::span<uint8_t> out) {
    const std::optional<uint16_t> original = rtx_original_sequence(rtx);
    const size_t head = rtx.header_size();
    if (!original || head + rtx.payload().size() - kRtxOverhead > out.size()) {
        return 0;
    }
    const ByteSpan payload = rtx.payload().subspan(kRtxOverhead);
    std::copy_n(packet.begin(), head, out.begin());
    std::copy(payload.begin(), payload.end(), out.begin() + static_cast<ptrdiff_t>(head));
    rewrite_header({payload_type, rtx.marker(), *original, rtx.timestamp(), ssrc}, out.data());
    out[0] &= static_cast<uint8_t>(~kPaddingBit);
    return head + payload.size();
}

size_t wrap_rtx(ByteSpan packet, const Header& header, std::span<uint8_t> out) {
    const std::optional<PacketView> view = PacketView::parse(packet);
    if (!view) {
        return 0;
    }
    const size_t head = view->header_size();
    const ByteSpan payload = view->payload();
    const size_t size = head + kRtxOverhead + payload.size();
    if (size > out.size()) {
        return 0;
    }
    std::copy_n(packet.begin(), head, out.begin());
    store_u16(&out[head], view->sequence());
    std::copy(payload.begin(), payload.end(),
              out.begin() + static_cast<ptrdiff_t>(head + kRtxOverhead));
    Header rewritten = header;
    rewritten.marker = view->marker();
    rewritten.timestamp = view->timestamp();
    rewrite_header(rewritten, out.data());
    out[0] &= static_cast<uint8_t>(~kPaddingBit);
    return size;
}

}  // namespace weir::rtp
