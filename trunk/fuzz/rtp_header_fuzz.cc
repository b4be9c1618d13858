// RTP packets: what is accepted is written again and must say the same.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "proto/rtp/header.h"

namespace rtp = weir::rtp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const weir::ByteSpan input(data, size);
    const auto packet = rtp::PacketView::parse(input);
    if (!packet) {
        return 0;
    }
    WEIR_CHECK(rtp::PacketView::parse_protected(input).has_value());
    std::vector<rtp::Extension> extensions;
    packet->for_each_extension([&](const rtp::Extension& e) { extensions.push_back(e); });
    weir::Bytes again(rtp::header_size(extensions));
    if (again.size() > 4 * UINT16_MAX) {
        return 0;
    }
    const rtp::Header header = {packet->payload_type(), packet->marker(), packet->sequence(),
                                packet->timestamp(), packet->ssrc()};
    WEIR_CHECK(rtp::write_header(header, extensions, again.data()) == again.size());
    again.insert(again.end(), packet->payload().begin(), packet->payload().end());
    const auto copy = rtp::PacketView::parse(again);
    WEIR_CHECK(copy && copy->sequence() == packet->sequence() && copy->ssrc() == packet->ssrc());
    WEIR_CHECK(copy->payload().size() == packet->payload().size());
    size_t at = 0;
    copy->for_each_extension([&](const rtp::Extension& e) {
        WEIR_CHECK(e.id == extensions[at].id &&
                   std::equal(e.data.begin(), e.data.end(), extensions[at].data.begin(),
                              extensions[at].data.end()));
        at++;
    });
    WEIR_CHECK(at == extensions.size());
    return 0;
}
