// RtspUdpPump: the pump of a stream's players by RTSP over UDP.
#pragma once

#include <memory>

#include "base/object_count.h"
#include "net/rtp/rtp_pump.h"
#include "session/rtsp/rtsp_log_writer.h"

namespace weir::session {

class RtspUdpPump final : public net::RtpPump, private Counted<RtspUdpPump> {
  public:
    static constexpr ObjectName kObjectName{"rtsp_pump", "rtsp"};
    static constexpr net::PumpKind kKind{&kObjectName, "rtsp-udp", "rtsp pump"};

    RtspUdpPump(stream::Stream& stream, const net::RtpPumpOptions& options)
        : RtpPump(stream, options, std::make_unique<RtspLogWriter>()) {}

    RtspLogWriter& writer() { return static_cast<RtspLogWriter&>(RtpPump::writer()); }
};

}  // namespace weir::session
