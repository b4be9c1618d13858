// SipPump: the pump of a stream's players by SIP that have agreed on one audio codec.
#pragma once

#include <memory>

#include "base/object_count.h"
#include "net/rtp/rtp_pump.h"
#include "session/sip/sip_log_writer.h"
#include "stream/stream.h"

namespace weir::session {

class SipPump final : public net::RtpPump, private Counted<SipPump> {
  public:
    static constexpr ObjectName kObjectName{"sip_pump", "sip"};

    SipPump(stream::Stream& stream,
            const net::RtpPumpOptions& options,
            const sdp::PhoneCodec& audio,
            io::WorkerPool* workers)
        : RtpPump(stream,
                  options,
                  std::make_unique<SipLogWriter>(audio, workers, stream.key().to_string())) {}

    // One for each codec that phones may agree on; kUnknown: of calls without audio.
    static const net::PumpKind& kind(const sdp::PhoneCodec& audio);
};

}  // namespace weir::session
