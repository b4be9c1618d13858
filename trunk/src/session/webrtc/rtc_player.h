// What one WebRTC player gets of its stream's RtpLog: numbers and headers of its own, protection,
// retransmission, and as much as its path can carry. No socket: bursts go to an RtcSender. Never
// yields.
//
// A cursor is the number of the next run of the log, one for each track: sound does not wait behind
// a large picture, and old sound is not sent at all. Packets that are skipped leave no hole in the
// player's numbers, so a gap that it sees is a loss.
//
// Of simulcast it gets one layer at a time, as one track: numbers go on, times rise, and another
// layer begins with its key frame (rtc_layers.h says which).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/object_count.h"
#include "base/random.h"
#include "proto/rtcp/feedback.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/bandwidth_estimator.h"
#include "proto/rtp/header.h"
#include "proto/rtp/pacer.h"
#include "proto/rtp/twcc_history.h"
#include "proto/rtp/unwrapper.h"
#include "proto/sdp/negotiate.h"
#include "proto/srtp/protector.h"
#include "session/webrtc/rtc_layers.h"
#include "session/webrtc/rtp_muxer.h"
#include "stream/rtp_log.h"

namespace weir::session {

// Where protected packets go.
class RtcSender {
  public:
    // False: send_burst() would be too. To be asked first: packets that are made in vain have used
    // up numbers of the transport-wide feedback, and look lost.
    virtual bool takes_burst() const { return true; }

    // Packets of `segment_bytes` each, end to end, the last may be shorter. False: the path takes
    // nothing now; it will say when it does.
    virtual bool send_burst(ByteSpan packets, size_t segment_bytes) = 0;

  protected:
    ~RtcSender() = default;
};

struct RtcPlayerStats {
    uint64_t packets = 0;
    uint64_t bytes = 0;          // of RTP payloads
    uint64_t retransmitted = 0;  // packets
    uint64_t too_late = 0;       // that were asked for and are gone
    uint64_t resyncs = 0;        // moves to a newer key frame
    uint64_t skipped_runs = 0;   // left out by that, or because the path was full
    uint64_t key_requests = 0;   // PLI and FIR of the player
    uint64_t layer_changes = 0;  // after the first layer
    Micros rtt{};
    double loss = 0;  // share of the last report, 0 to 1
};

// Of the stream's simulcast; the default is for streams without.
struct RtcLayerOptions {
    const RtcLayers* layers = nullptr;  // must outlive the player
    std::optional<uint8_t> fixed;       // the one that the viewer asked for
};

class RtcPlayer final : private Counted<RtcPlayer> {
  public:
    static constexpr ObjectName kObjectName{"rtc_player", "webrtc"};

    // Further behind the head than this, frames that nothing refers to are left out; further than
    // the second, all up to the newest key frame.
    static constexpr int64_t kLagToThinMs = 250;
    static constexpr int64_t kLagToJumpMs = 1'000;
    // Sound that is older than this is left out: with that of the whole GOP a player would begin
    // far behind, and catch up slowly.
    static constexpr int64_t kMaxSoundLagMs = 200;
    // And in the beginning: what comes then decides how far behind a browser plays its sound.
    static constexpr int64_t kFirstSoundLagMs = 60;

    // `log` and `random` must outlive this, `protector` too. `audio`, `video`: what was negotiated,
    // null where the player takes none.
    RtcPlayer(const stream::RtpLog& log,
              srtp::Protector& protector,
              const sdp::NegotiatedMedia* audio,
              const sdp::NegotiatedMedia* video,
              RandomSource& random,
              MonoTime now,
              const RtcLayerOptions& layers = {});
    RtcPlayer(const RtcPlayer&) = delete;
    RtcPlayer& operator=(const RtcPlayer&) = delete;

    enum class Flush : uint8_t {
        kCaughtUp,  // until the log grows
        kPaced,     // until next_send()
        kBlocked,   // the path takes nothing
        kMore,      // its share of this turn is used up
    };

    // Sends what is new, as far as the path allows, at most `most_runs` of them.
    Flush flush(MonoTime now, RtcSender& sender, size_t most_runs);

    MonoTime next_send() const { return pacer_.next_send(); }

    // One packet of a compound that the peer sent. True when it asks for a key frame.
    bool on_rtcp(MonoTime now, const rtcp::PacketView& packet, RtcSender& sender);

    // Sender reports, when they are due; the size of what was written to `out`, unprotected.
    size_t report(MonoTime now, MonoTime unix_epoch, std::span<uint8_t> out);

    MonoTime next_report() const { return next_report_; }

    // The estimate's own timer.
    void handle_timeout(MonoTime now);

    const RtcPlayerStats& stats() const { return stats_; }

    // Of the newest picture that was sent, behind the stream's head when it was.
    int64_t lag_ms() const { return lag_ms_; }

    // The layer that is sent.
    uint8_t layer() const { return layer_.value_or(wanted_); }

    // A layer whose key frame is needed now, each time once.
    std::optional<uint8_t> take_layer_request() {
        return std::exchange(layer_request_, std::nullopt);
    }

    // What it holds besides itself.
    size_t heap_bytes() const {
        return (history_ ? sizeof(rtp::TwccHistory) + history_->heap_bytes() : 0) +
               (estimator_ ? sizeof(rtp::BandwidthEstimator) : 0);
    }

    int64_t estimate_bps() const { return estimator_ ? estimator_->bps() : 0; }

  private:
    // The log's packets of a track as this player's: its number is the log's minus `behind`, from
    // `from` (of its own numbers) on. The same for times: the log's plus `time_shift`.
    struct Mapping {
        uint64_t from = 0;
        uint64_t behind = 0;
        uint32_t time_shift = 0;
        uint8_t log_track = 0;
    };

    static constexpr size_t kMappings = 8;

    struct Track {
        bool used = false;
        uint8_t payload_type = 0;
        uint8_t rtx_payload_type = 0;
        uint8_t twcc_id = 0;  // of the header extension; 0: none
        bool nack = false;
        uint32_t ssrc = 0;
        uint32_t rtx_ssrc = 0;  // 0: none
        uint32_t clock_hz = 0;
        uint32_t time_offset = 0;
        uint16_t first_sequence = 0;
        uint64_t next = 0;  // number of the player's next packet, from 0 on
        uint64_t next_rtx = 0;
        uint64_t packets = 0;
        uint64_t bytes = 0;
        uint64_t cursor = 0;                        // number of a run
        uint32_t time_shift = 0;                    // of what is sent now
        uint32_t last_time = 0;                     // of the newest frame, shifted
        std::array<Mapping, kMappings> mappings{};  // newest first
        uint32_t reported_highest = 0;              // of the last receiver report
        int32_t reported_lost = 0;
    };

    void set_up(Track& track, const sdp::NegotiatedMedia* media, RandomSource& random);
    void place(uint64_t run);
    void skip_old_sound();

    bool layered() const { return layers_.layers != nullptr && layers_.layers->layered(); }

    uint8_t picture_track(uint8_t layer) const {
        return static_cast<uint8_t>(kRtpVideoTrack + layer);
    }

    void choose_layer(MonoTime now);
    std::optional<uint64_t> where_to_begin() const;
    bool takes_picture(const stream::RtpRun& run);
    void note_head(MonoTime now);
    Flush flush_sound(MonoTime now, RtcSender& sender);
    Flush flush_pictures(MonoTime now, RtcSender& sender, size_t most_runs);
    static void note_mapping(Track& track, const stream::RtpRun& run);
    bool send_run(MonoTime now, Track& track, const stream::RtpRun& run, RtcSender& sender);
    size_t write_packet(MonoTime now,
                        Track& track,
                        const stream::RtpRun& run,
                        size_t index,
                        uint64_t number,
                        uint32_t time_shift,
                        std::span<uint8_t> out);
    size_t write_rtx(MonoTime now,
                     Track& track,
                     const stream::RtpRun& run,
                     size_t index,
                     uint64_t number,
                     uint32_t time_shift,
                     std::span<uint8_t> out);
    size_t seal(MonoTime now,
                const Track& track,
                const rtp::Header& header,
                ByteSpan front,
                ByteSpan payload,
                uint64_t number,
                std::span<uint8_t> out);
    void resend(MonoTime now, Track& track, uint16_t sequence, RtcSender& sender);
    void on_report(MonoTime now, const rtcp::ReportBlocksView& blocks);
    Track* track_of(uint32_t ssrc);
    void update_pace();

    const stream::RtpLog& log_;
    srtp::Protector& protector_;
    std::array<Track, 2> tracks_;  // sound and picture
    bool placed_ = false;
    bool frame_open_ = false;  // a picture was sent in part
    RtcLayerOptions layers_;
    LayerChooser chooser_;
    std::optional<uint8_t> layer_;  // that is sent
    uint8_t wanted_ = 0;            // from its next key frame on
    std::optional<uint8_t> layer_request_;
    int64_t lag_ms_ = 0;  // of the last picture
    MonoTime next_choice_{};
    MonoTime next_layer_request_{};
    std::optional<Micros> head_ahead_;  // the stream's time minus ours
    MonoTime head_noted_{};
    rtp::Pacer pacer_;
    std::unique_ptr<rtp::TwccHistory> history_;
    std::unique_ptr<rtp::BandwidthEstimator> estimator_;
    MonoTime next_report_;
    uint32_t last_report_ntp_ = 0;
    MonoTime last_report_at_{};
    int64_t resend_budget_ = 0;
    MonoTime resend_at_{};
    RtcPlayerStats stats_;
};

}  // namespace weir::session
