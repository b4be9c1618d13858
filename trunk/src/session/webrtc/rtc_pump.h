// The pump of one stream's WebRTC players: an RtpPump whose log is written by an RtcLogWriter.
#pragma once

#include <memory>

#include "base/object_count.h"
#include "net/rtp/rtp_pump.h"
#include "session/webrtc/rtc_log_writer.h"

namespace weir::session {

class RtcPump final : public net::RtpPump, private Counted<RtcPump> {
  public:
    static constexpr ObjectName kObjectName{"rtc_pump", "webrtc"};
    static constexpr net::PumpKind kKind{&kObjectName, "rtp", "rtc pump"};

    // `workers`, `opus_bits_per_second`: see RtcLogWriter.
    RtcPump(stream::Stream& stream,
            const net::RtpPumpOptions& options,
            io::WorkerPool* workers,
            int64_t opus_bits_per_second)
        : RtpPump(stream, options, make_writer(stream, workers, opus_bits_per_second)) {
        writer().release(MonoClock::now());
    }

    RtcLogWriter& writer() { return static_cast<RtcLogWriter&>(RtpPump::writer()); }

    const RtcLogWriter& writer() const {
        return static_cast<const RtcLogWriter&>(RtpPump::writer());
    }

  private:
    static std::unique_ptr<RtcLogWriter> make_writer(const stream::Stream& stream,
                                                     io::WorkerPool* workers,
                                                     int64_t opus_bits_per_second) {
        auto writer =
            std::make_unique<RtcLogWriter>(workers, opus_bits_per_second, stream.key().to_string());
        writer->set_stream(stream);
        writer->gather();  // the whole GOP tells how late the audio is
        return writer;
    }
};

}  // namespace weir::session
