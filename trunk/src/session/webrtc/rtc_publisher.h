// What a WebRTC publisher sends, from plain RTP packets to frames in its stream: order and loss,
// frames, one clock for all tracks, and what the publisher must hear of it (NACK, PLI, transport
// feedback, reports). No socket, no keys. Never yields.
//
// Of simulcast, the highest layer that flows is the stream's picture for everybody; the others are
// for WebRTC players alone, and only while there are any. A layer that stops is replaced by the
// next one at its next key frame, and comes back once it has flowed for a while.
//
// A frame that lost a packet is never published, and after a loss no picture is until the next key
// frame, which is asked for: players of other protocols get no broken pictures.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/object_count.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/clock_mapper.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/key_frame_requester.h"
#include "proto/rtp/receiver.h"
#include "proto/rtp/remb_estimator.h"
#include "proto/rtp/twcc_receiver.h"
#include "proto/sdp/negotiate.h"
#include "session/webrtc/audio_bridge.h"
#include "stream/stream.h"

namespace weir::session {

struct RtcPublisherOptions {
    uint32_t local_ssrc = 1;            // of our reports
    Micros key_frame_interval{0};       // ask for a key frame when the last one is so old; 0: never
    io::WorkerPool* workers = nullptr;  // for sound that others can play; null: they have none
    int64_t aac_bits_per_second = 128'000;
};

struct RtcPublisherStats {
    uint64_t frames = 0;
    uint64_t dropped_frames = 0;   // that lost packets, or came before the key frame after a loss
    uint64_t unknown_packets = 0;  // of no source that was negotiated
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

class RtcPublisher final : private Counted<RtcPublisher> {
  public:
    static constexpr ObjectName kObjectName{"rtc_publisher", "webrtc"};
    static constexpr size_t kMaxSources = 8;
    // A layer from which no frame came for so long, while others flow, has stopped.
    static constexpr Micros kLayerGone{1'000'000};
    // A better one is taken when it has flowed for so long; at the beginning at once.
    static constexpr Micros kLayerProven{3'000'000};

    // `stream` is being published by `publisher` and outlives this.
    RtcPublisher(stream::Stream& stream,
                 const stream::Publisher& publisher,
                 const sdp::Answer& answer,
                 const RtcPublisherOptions& options);
    RtcPublisher(const RtcPublisher&) = delete;
    RtcPublisher& operator=(const RtcPublisher&) = delete;

    void on_rtp(MonoTime now, ByteSpan packet);

    // One packet of a compound.
    void on_rtcp(MonoTime now, const rtcp::PacketView& packet);

    // Gives up what is missing for too long, and whatever else is due.
    void handle_timeout(MonoTime now);
    std::optional<MonoTime> next_timeout() const;

    // RTCP that is due, unprotected; call until it gives 0.
    size_t poll_transmit(MonoTime now, std::span<uint8_t> out);

    // A player needs a key frame, of the main layer or of that one.
    void request_key_frame();
    void request_key_frame_of(uint8_t layer);

    // When media came last; the time of construction before the first.
    MonoTime last_media() const { return last_media_; }

    const RtcPublisherStats& stats() const { return stats_; }

    // What it holds besides itself, without packets that wait for one before them.
    size_t heap_bytes() const;

    // Of all sources.
    rtp::ReceiverCounters counters() const;

    // In the order of the offer; empty without simulcast.
    std::vector<RtcLayerStats> layers(MonoTime now) const;

  private:
    // One m= section.
    struct Section {
        media::TrackKind kind = media::TrackKind::kData;
        media::Codec codec = media::Codec::kUnknown;
        uint8_t payload_type = 0;
        std::optional<uint8_t> rtx_payload_type;
        uint32_t clock_hz = 0;
        bool nack = false;
        uint8_t twcc_id = 0;
        uint8_t abs_send_time_id = 0;
        uint8_t rid_id = 0;  // of the header extensions
        uint8_t repaired_rid_id = 0;
        std::vector<sdp::RemoteSsrc> ssrcs;
        std::vector<std::string> rids;         // simulcast layers; empty: none
        std::optional<uint32_t> retired_ssrc;  // what it had before the present one,
        MonoTime retired_at{};                 // until then
    };

    struct Source {
        const Section* section = nullptr;
        uint32_t ssrc = 0;
        std::unique_ptr<rtp::Receiver> receiver;
        std::unique_ptr<rtp::Depacketizer> depacketizer;
        size_t front = 0;  // free bytes before each frame, for the header of its packet
        size_t clock_track = 0;
        bool gap = false;  // before the next packet

        // Of a picture.
        enum class Role : uint8_t { kNone, kMain, kOther };

        uint8_t layer = 0;
        Role config_role = Role::kNone;  // as which its configuration was published last
        bool awaits_key = true;
        rtp::KeyFrameRequester key_frames{{}};
        Bytes config;
        uint32_t width = 0;
        uint32_t height = 0;
        MonoTime flowing_since{};
        MonoTime last_frame{};
        // Of about the last second.
        MonoTime measured_since{};
        uint64_t measured_bytes = 0;
        uint64_t measured_frames = 0;
        int64_t bits_per_second = 0;
        double frame_rate = 0;

        bool is_flowing(MonoTime now) const {
            return last_frame != MonoTime{} && now - last_frame < kLayerGone;
        }

        uint64_t pixels() const { return uint64_t{width} * height; }

        void measure(MonoTime now, size_t bytes);
    };

    Source* find_source(MonoTime now, const rtp::PacketView& packet);
    Source* add_source(
        MonoTime now, Section& section, uint32_t ssrc, uint32_t rtx_ssrc, uint8_t layer);
    Source* find_layer(MonoTime now, Section& section, const rtp::PacketView& packet);
    Source* find_repaired(const Section& section, const rtp::PacketView& packet);
    void note_arrival(MonoTime now, const rtp::PacketView& packet, size_t size);
    void drain(MonoTime now, Source& source);
    void take_frame(MonoTime now, Source& source, rtp::Frame& frame, MonoTime arrival);
    bool take_picture(MonoTime now, Source& source, rtp::Frame& frame, int64_t time_ms);
    Source* main_source();
    bool asks_for_key(const Source& source) const;
    void choose_main(MonoTime now, Source& source, bool key);
    void describe(const Source& source);
    media::PacketInfo info_of(const Source& source) const;
    media::PacketRef publish(MonoTime now, Ref<media::MediaPacket> packet);
    void bridge(const media::PacketRef& packet, media::Codec codec);
    void publish_aac(ByteSpan frame, bool config, int64_t time_ms);
    void publish_config(MonoTime now, const Source& source, ByteSpan config, int64_t time_ms);
    bool write_reports(MonoTime now, rtcp::CompoundWriter& writer);

    stream::Stream& stream_;
    const stream::Publisher& publisher_;
    RtcPublisherOptions options_;
    std::vector<Section> sections_;
    std::vector<Source> sources_;
    rtp::ClockMapper clock_;
    std::optional<rtp::TwccReceiver> twcc_;
    std::optional<rtp::RembEstimator> remb_;
    bool wants_fir_ = false;  // PLI is not understood
    uint8_t fir_sequence_ = 0;
    std::optional<uint8_t> main_layer_;  // none before the first picture
    MonoTime main_since_{};
    int64_t shift_ms_ = 0;  // from the publisher's clock to the stream's timeline
    bool audio_described_ = false;
    std::unique_ptr<AudioBridge> bridge_;  // while somebody plays by another protocol
    MonoTime last_media_;
    MonoTime next_report_{};
    RtcPublisherStats stats_;
};

}  // namespace weir::session
