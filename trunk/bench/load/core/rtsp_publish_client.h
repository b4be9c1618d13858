// An RTSP publisher of the load test (ANNOUNCE, RECORD) over TCP: describes what a source sends,
// and cuts its frames into interleaved packets. Pure.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "proto/rtp/packetizer.h"
#include "proto/rtp/sender_stats.h"
#include "proto/rtsp/client_session.h"

#include "bench/load/core/frame_source.h"

namespace weir::load {

class RtspPublishClient final : private rtp::PayloadSink {
  public:
    static constexpr Micros kReportInterval = Seconds(5);
    static constexpr size_t kMaxPayload = 1400;

    // `opening`: the source's. kUnsupported: RTSP has no form for one of its codecs. `random` must
    // outlive it.
    static Result<std::unique_ptr<RtspPublishClient>> create(
        const rtsp::Url& url, const std::vector<SourceMessage>& opening, RandomSource& random);

    // What the server says.
    Error feed(MonoTime now, ByteSpan bytes);

    bool started() const { return session_.started(); }

    bool has_output() const { return session_.has_output(); }

    std::string take_output() { return session_.take_output(); }

    // A frame of the source; before it has started, nothing happens.
    void send(MonoTime now, const SourceMessage& message);

    // TEARDOWN is in the output.
    void leave() { session_.teardown(); }

  private:
    struct Track {
        media::Codec codec = media::Codec::kUnknown;
        Bytes config;
        std::unique_ptr<rtp::Packetizer> packetizer;
        uint8_t payload_type = 0;
        uint8_t channel = 0;
        uint32_t clock_hz = 0;
        uint32_t ssrc = 0;
        uint16_t sequence = 0;
        uint32_t time_offset = 0;
        rtp::SenderStats stats;
        MonoTime next_report{};
    };

    RtspPublishClient(const rtsp::Url& url, RandomSource& random);

    Error open(const std::vector<SourceMessage>& opening);
    Error add_track(const SourceMessage& message);
    void announce();
    void on_payload(std::span<const ByteSpan> parts, bool last) override;
    void report(MonoTime now, Track& track, uint32_t time_ms);
    uint32_t random_u32();

    RandomSource& random_;
    rtsp::Url url_;
    rtsp::ClientSession session_;
    std::optional<Track> video_;
    std::optional<Track> audio_;

    // The frame that is being sent.
    Track* open_ = nullptr;
    uint32_t open_time_ = 0;
    Bytes packet_;
};

}  // namespace weir::load
