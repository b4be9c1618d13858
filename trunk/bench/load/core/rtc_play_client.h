// A WebRTC player of the load test above its transport: puts packets in order, asks for missing
// ones, tells the server what arrived, makes frames of them and gives those to the check, as the
// FLV messages that they would be. Pure.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "proto/rtp/depacketizer.h"
#include "proto/rtp/receiver.h"
#include "proto/rtp/twcc_receiver.h"
#include "proto/rtp/unwrapper.h"

#include "bench/load/core/player_check.h"
#include "bench/load/core/rtc_load_client.h"

namespace weir::load {

struct RtcPlayOptions {
    bool nack = true;          // asks for what is missing, by RTX where the server has it
    bool transport_cc = true;  // sends transport-wide feedback
    double drop = 0;           // share of media packets that are thrown away unseen, 0 to 1
};

class RtcPlayClient final : public RtcLoadClient {
  public:
    static constexpr Micros kReportInterval = Seconds(1);
    static constexpr Micros kKeyRequestInterval = Millis(500);  // while there is no picture

    // All must outlive it.
    RtcPlayClient(const webrtc::ClientShared& shared,
                  webrtc::ClientLink& link,
                  RtcTotals& totals,
                  PlayerCheck& check,
                  const RtcPlayOptions& options,
                  Micros connect_timeout);

    // Adds what was counted since the last call to the totals.
    void settle();

  private:
    struct Track {
        explicit Track(const sdp::NegotiatedMedia& of, bool nack);

        sdp::NegotiatedMedia info;
        rtp::Receiver receiver;
        std::unique_ptr<rtp::Depacketizer> depacketizer;
        rtp::TimeUnwrapper times;
        rtp::ReceiverCounters settled;  // what settle() has counted
        bool gap = false;               // before the next packet
        bool want_key = false;          // frames were lost since the last key frame
    };

    sdp::ClientOffer offer_of_all() const override;
    void on_connected(MonoTime now) override;
    void on_rtp(MonoTime now, ByteSpan packet) override;
    void on_rtcp(MonoTime now, ByteSpan compound) override;
    void on_timeout(MonoTime now) override;
    MonoTime next_media_timeout() const override;

    Track* track_of(uint32_t ssrc);
    void drain(Track& track, MonoTime now);
    void take_packet(Track& track, const rtp::ReceiverEvent& event, MonoTime now);
    void take_frame(Track& track, rtp::Frame& frame, MonoTime now);
    void watch_freezes(MonoTime now);
    void send_feedback(MonoTime now);
    bool wants_key() const;
    bool drops();

    PlayerCheck& check_;
    const RtcPlayOptions& options_;
    uint32_t local_ssrc_ = 0;
    std::array<std::optional<Track>, 2> tracks_;  // video, audio
    rtp::TwccReceiver arrivals_;
    MonoTime next_report_ = MonoTime::max();
    MonoTime next_key_request_{};
    MonoTime last_picture_{};
    double mean_interval_us_ = 0;  // between pictures
    uint64_t pictures_ = 0;
    uint64_t drop_state_ = 0;
};

}  // namespace weir::load
