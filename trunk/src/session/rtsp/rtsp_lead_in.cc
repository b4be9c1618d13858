#include "session/rtsp/rtsp_lead_in.h"

#include <array>

#include "proto/rtp/lead_in.h"

namespace weir::session {

bool wants_rtsp_lead_in(const rtsp::Request& play) {
    return play.headers.get("User-Agent").value_or("").starts_with("Lavf");
}

Bytes make_rtsp_lead_in(const net::RtpCutter& cutter) {
    return rtp::make_lead_in(cutter.track(net::kRtpVideoTrack).codec.codec,
                             cutter.config(net::kRtpVideoTrack));
}

Bytes rtsp_lead_in_packet(const rtp::Header& first, ByteSpan payload) {
    rtp::Header header = first;
    header.marker = true;  // a whole access unit
    header.sequence = static_cast<uint16_t>(first.sequence - 1);
    header.timestamp = first.timestamp - rtp::kLeadInTicks;
    std::array<uint8_t, rtp::kFixedHeaderSize> bytes;
    rtp::write_header(header, bytes.data());
    Bytes packet;
    ByteWriter(packet).bytes(bytes).bytes(payload);
    return packet;
}

}  // namespace weir::session
