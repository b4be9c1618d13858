// What a WebRTC publisher sends: an RtpIngest, and what the publisher must hear of it besides
// reports (NACK, PLI, transport feedback). No socket, no keys. Never yields.
//
// With simulcast, the highest layer that flows is the stream's video for everybody; the others are
// for WebRTC players alone, and only while there are any. A layer that stops is replaced by the
// next one at its next key frame, and comes back once it has flowed for a while.
//
// After a loss, the key frame without which no video is published is asked for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/object_count.h"
#include "net/rtp/derived_aac.h"
#include "net/rtp/rtp_ingest.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/key_frame_requester.h"
#include "proto/rtp/remb_estimator.h"
#include "proto/rtp/twcc_receiver.h"
#include "proto/sdp/negotiate.h"
#include "stream/stream.h"

namespace weir::session {

struct RtcIngestOptions {
    uint32_t local_ssrc = 1;            // of our reports
    Micros key_frame_interval{0};       // ask for a key frame when the last one is so old; 0: never
    io::WorkerPool* workers = nullptr;  // for audio that others can play; null: they have none
    int64_t aac_bits_per_second = 128'000;
};

struct RtcIngestStats : net::RtpIngestStats {
    uint64_t key_requests = 0;
    uint64_t main_changes = 0;  // of the layer that everybody gets, after the first
};

// One simulcast layer that has come so far, for the API.
struct RtcLayerStats {
    std::string name;
    uint32_t ssrc = 0;
    uint32_t width = 0;
    uint32_t height = 0;
    int64_t bits_per_second = 0;
    double frame_rate = 0;
    bool flowing = false;
    bool main = false;  // what players of other protocols get
};

class RtcIngest : public net::RtpIngest, private Counted<RtcIngest> {
  public:
    static constexpr ObjectName kObjectName{"rtc_ingest", "webrtc"};
    // A layer from which no frame came for so long, while others flow, has stopped.
    static constexpr Micros kLayerGone{1'000'000};
    // A better one is taken when it has flowed for so long; at the beginning at once.
    static constexpr Micros kLayerProven{3'000'000};

    // `stream` is being published by `publisher` and outlives this.
    RtcIngest(stream::Stream& stream,
              const stream::Publisher& publisher,
              const sdp::Answer& answer,
              const RtcIngestOptions& options);

    void on_rtp(MonoTime now, ByteSpan packet);

    // When handle_timeout() or poll_transmit() is due.
    std::optional<MonoTime> next_timeout() const;

    // RTCP that is due, unprotected; call until it gives 0.
    size_t poll_transmit(MonoTime now, std::span<uint8_t> out);

    // As stream::Publisher has it.
    void on_sink() {
        if (aac_) {
            aac_->on_sink();
        }
    }

    // A player needs a key frame, of the main layer or of that one.
    void request_key_frame();
    void request_key_frame_of(uint8_t layer);

    RtcIngestStats stats() const { return {RtpIngest::stats(), key_requests_, main_changes_}; }

    // Whether media has come.
    bool has_frames() const { return RtpIngest::stats().frames > 0; }

    // What it holds besides itself, without packets that wait for one before them.
    size_t heap_bytes() const;

    // In the order of the offer; empty without simulcast.
    std::vector<RtcLayerStats> layers(MonoTime now) const;

  private:
    // One m= section: what plain RTP does not have. By the number of its track.
    struct Section {
        uint8_t twcc_id = 0;
        uint8_t abs_send_time_id = 0;
        uint8_t rid_id = 0;  // of the header extensions
        uint8_t repaired_rid_id = 0;
        std::vector<std::string> rids;  // simulcast layers; empty: none
    };

    struct RtcSource;

    RtcIngest(stream::Stream& stream,
              const stream::Publisher& publisher,
              const std::vector<const sdp::NegotiatedMedia*>& media,
              const RtcIngestOptions& options);

    std::unique_ptr<Source> make_source(const rtp::ReceiverOptions& options) override;
    Source* find_new_source(MonoTime now, size_t track, const rtp::PacketView& packet) override;
    Source* find_repaired(size_t track, const rtp::PacketView& packet) override;
    bool take_video(MonoTime now,
                    Source& source,
                    const rtp::Frame& frame,
                    int64_t time_ms) override;
    void on_broken_video(Source& source) override;
    void begin_audio(MonoTime now, const Source& source, int64_t time_ms) override;
    void on_audio_frame(const Source& source, const media::PacketRef& packet) override;
    media::PacketInfo info_of(const Source& source) const override;
    media::PacketRef publish(MonoTime now, Ref<media::MediaPacket> packet) override;

    void note_arrival(MonoTime now, const rtp::PacketView& packet, size_t size);
    RtcSource* main_source() const;
    bool is_main(const Source& source) const;
    bool asks_for_key(const RtcSource& source) const;
    void choose_main(MonoTime now, RtcSource& source, bool key);
    void describe(const RtcSource& source);
    void write_estimate(MonoTime now, rtcp::CompoundWriter& writer);

    // Calls visit(RtcSource&) for each source of video.
    template <typename Visit>
    void for_each_video(Visit&& visit) const;

    RtcIngestOptions rtc_options_;
    std::vector<Section> sections_;
    std::optional<rtp::TwccReceiver> twcc_;
    std::optional<rtp::RembEstimator> remb_;
    bool wants_fir_ = false;  // PLI is not understood
    uint8_t fir_sequence_ = 0;
    std::optional<uint8_t> main_layer_;  // none before the first video
    MonoTime main_since_{};
    int64_t shift_ms_ = 0;                // from the publisher's clock to the stream's timeline
    std::optional<net::DerivedAac> aac_;  // for players that need AAC; without workers: none
    uint64_t key_requests_ = 0;
    uint64_t main_changes_ = 0;
};

}  // namespace weir::session
