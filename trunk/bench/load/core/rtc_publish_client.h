// A WebRTC publisher of the load test above its transport (WHIP): cuts the frames of a source into
// packets, resends what the server asks for, and says which RTP time it is. Sound that is not Opus
// is replaced by Opus silence, so that the stream has sound at all. Pure.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "proto/rtp/packetizer.h"
#include "proto/rtp/sender_stats.h"

#include "bench/load/core/frame_source.h"
#include "bench/load/core/rtc_load_client.h"

namespace weir::load {

struct RtcPublishStats {
    uint64_t packets = 0;
    uint64_t bytes = 0;  // as sent, headers and encryption included
    uint64_t retransmitted = 0;
    uint64_t too_late = 0;  // asked for, and no longer kept
    uint64_t key_requests = 0;
    uint64_t lost = 0;  // as the server reported
};

class RtcPublishClient final : public RtcLoadClient, private rtp::PayloadSink {
  public:
    static constexpr size_t kHistory = 256;  // packets of pictures that are kept
    static constexpr Micros kReportInterval = Seconds(2);
    static constexpr Micros kSound = Millis(20);  // a packet of silence

    // `opening`: the source's; kUnsupported: WebRTC has no form for its pictures. All else must
    // outlive the client.
    static Result<std::unique_ptr<RtcPublishClient>> create(
        const webrtc::ClientShared& shared,
        webrtc::ClientLink& link,
        RtcTotals& totals,
        RtcPublishStats& stats,
        const std::vector<SourceMessage>& opening,
        Micros connect_timeout);

    // A frame of the source; before it is connected, nothing happens.
    void send(MonoTime now, const SourceMessage& message);

  private:
    struct Track {
        media::Codec codec = media::Codec::kUnknown;
        std::unique_ptr<rtp::Packetizer> packetizer;
        uint8_t payload_type = 0;
        uint8_t transport_cc_id = 0;
        uint32_t clock_hz = 0;
        uint32_t ssrc = 0;
        uint64_t first_sequence = 0;
        uint64_t next = 0;  // number of packets sent
        rtp::SenderStats stats;
    };

    struct Kept {
        uint64_t number = 0;
        bool used = false;
        Bytes packet;  // not encrypted
    };

    RtcPublishClient(const webrtc::ClientShared& shared,
                     webrtc::ClientLink& link,
                     RtcTotals& totals,
                     RtcPublishStats& stats,
                     Micros connect_timeout)
        : RtcLoadClient(shared, link, totals, connect_timeout), stats_(stats) {}

    Error open(const std::vector<SourceMessage>& opening);
    sdp::ClientOffer offer_of_all() const override;
    void on_connected(MonoTime now) override;

    void on_rtp(MonoTime, ByteSpan) override {}

    void on_rtcp(MonoTime now, ByteSpan compound) override;
    void on_timeout(MonoTime now) override;
    MonoTime next_media_timeout() const override;
    void on_payload(std::span<const ByteSpan> parts, bool last) override;

    void send_frame(Track& track, uint32_t rtp_time, ByteSpan frame);
    void send_burst();
    void put(size_t size);
    void resend(uint16_t sequence);
    void report(MonoTime now);
    uint32_t rtp_now(const Track& track, MonoTime now) const;
    uint32_t random_u32();

    RtcPublishStats& stats_;
    std::optional<Track> video_;
    std::optional<Track> audio_;
    bool silent_ = false;  // the sound is ours
    uint32_t rtx_ssrc_ = 0;
    uint8_t rtx_payload_type_ = 0;  // 0: none was agreed on
    uint64_t next_rtx_ = 0;
    uint16_t next_transport_ = 0;
    std::vector<Kept> history_;
    MonoTime began_{};
    MonoTime next_sound_ = MonoTime::max();
    MonoTime next_report_ = MonoTime::max();

    // The frame that is being sent.
    Track* open_ = nullptr;
    uint32_t open_time_ = 0;
    Bytes plain_;
    Bytes burst_;
    size_t segment_ = 0;
};

}  // namespace weir::load
