// The lead-in (proto/rtp/lead_in.h) of players that are made with libavformat: which players get
// one, and its packet. Pure.
#pragma once

#include "base/bytes.h"
#include "net/rtp/rtp_cutter.h"
#include "proto/rtp/header.h"
#include "proto/rtsp/message.h"

namespace weir::session {

// Whether the client of a PLAY gets one: its User-Agent begins with "Lavf".
bool wants_rtsp_lead_in(const rtsp::Request& play);

// The payload, for the video that the cutter writes; empty: it needs none.
Bytes make_rtsp_lead_in(const net::RtpCutter& cutter);

// A packet with that payload. `first`: the header of the packet that follows it.
Bytes rtsp_lead_in_packet(const rtp::Header& first, ByteSpan payload);

}  // namespace weir::session
