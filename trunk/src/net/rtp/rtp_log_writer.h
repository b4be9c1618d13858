// Writes a stream's packets into the RtpLog that all RTP players of one profile read. Never yields.
#pragma once

#include "base/clock.h"
#include "net/rtp/rtp_cutter.h"
#include "stream/muxer.h"
#include "stream/rtp_log.h"

namespace weir::net {

class RtpLogWriter : public stream::PacketSink, public RtpCutter {
  public:
    // `profile` must outlive this.
    explicit RtpLogWriter(const RtpProfile& profile) : RtpCutter(profile) {}

    media::Audience audience() const final { return profile().audience; }

    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override {
        cut(packet, start);
    }

    // Writes what was held back until `now`. Returns when more is due; MonoTime::max(): nothing is
    // held back. The pump asks for it each time that the log wakes it.
    virtual MonoTime release(MonoTime /*now*/) { return MonoTime::max(); }

    void on_start_lost(stream::StartLost) override {
        forget_refusal();
        log_.forget_start();
    }

    stream::RtpLog& log() { return log_; }

    const stream::RtpLog& log() const { return log_; }

  protected:
    void begin_frame(const stream::RtpLog::Frame& frame) override { log_.begin_frame(frame); }

    void add_payload(ByteSpan head, ByteSpan body, bool) override { log_.add_packet(head, body); }

    void end_frame() final { log_.end_frame(); }

  private:
    stream::RtpLog log_;
};

}  // namespace weir::net
