// What a source sends by RTP, from plain RTP packets to frames in its stream: order and loss,
// frames, one clock for all tracks, and the reports that the source must hear. No socket, no keys.
// Never yields. A protocol with more (simulcast, key frames on request, estimates) derives from it.
//
// A frame that lost a packet is never published, and after a loss no video is until the next key
// frame: players of other protocols get no broken video.
//
// RTP has times of presentation only. With RtpIngestOptions::b_frames, times of decoding are made
// of them (media::DecodeTimes) and packets carry the difference; without, both are the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "media/decode_times.h"
#include "media/description.h"
#include "media/packet.h"
#include "net/ts/ts_ingest.h"
#include "proto/rtcp/packet.h"
#include "proto/rtcp/writer.h"
#include "proto/rtp/clock_mapper.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/header.h"
#include "proto/rtp/payload_parameters.h"
#include "proto/rtp/receiver.h"
#include "proto/rtp/unwrapper.h"
#include "stream/stream.h"

namespace weir::net {

// What was agreed with the source about a track: the codec that it sends.
struct RtpIngestTrack {
    struct Ssrc {
        uint32_t ssrc = 0;
        uint32_t rtx_ssrc = 0;  // 0: none, or not known yet
    };

    media::TrackKind kind = media::TrackKind::kData;
    media::Codec codec = media::Codec::kUnknown;
    uint8_t payload_type = 0;
    std::optional<uint8_t> rtx_payload_type;
    uint32_t clock_hz = 0;
    uint8_t channels = 2;  // of audio
    // PacketInfo::track_id, less than media::Description::kMaxAudioTracks. Not 0: one of several
    // audio tracks, whose codec flv::make_packet() has as one of those.
    uint8_t number = 0;
    bool nack = false;                  // what is missing may be asked for
    std::vector<Ssrc> ssrcs;            // that the source has named; it may send others
    Bytes config;                       // of audio whose packets do not bring it along
    std::vector<Bytes> parameter_sets;  // H.264, HEVC: NAL units that the description named
    rtp::PayloadParameters parameters;  // what the description says of the payload format
    // MP2T: its programme is the stream. `kind` is kData, and there is no codec.
    bool transport_stream = false;
};

struct RtpIngestOptions {
    uint32_t local_ssrc = 1;  // of our reports
    bool b_frames = false;    // the source may send them
    media::Audience audio_audience = media::Audience::kEverybody;
    // The markers of the source may be wrong: the first picture waits for the next packet, for
    // kMaxHeld at most, so that it is not lost when its markers prove to be.
    bool doubt_markers = false;
};

struct RtpIngestStats {
    uint64_t frames = 0;
    uint64_t dropped_frames = 0;   // that lost packets, or came before the key frame after a loss
    uint64_t unknown_packets = 0;  // of no source that was agreed on
};

class RtpIngest : private TsOutput {
  public:
    static constexpr size_t kMaxSources = 9;
    static_assert(kMaxSources == 1 + media::Description::kMaxAudioTracks);
    static constexpr size_t kMaxTracks = 16;
    // Video frames of one moment are put a millisecond apart, up to so far behind it: times rise.
    static constexpr int64_t kMaxPushedMs = 40;
    // Sender reports that come before the first packet of their SSRC: so many wait for it.
    static constexpr size_t kMaxEarlyReports = kMaxSources;
    // RTP times that are the same for so long, in so many packets (frames of video), stand still.
    static constexpr Millis kStillFor{500};
    static constexpr uint32_t kStillCount = 3;
    // How long a first picture is held (RtpIngestOptions::doubt_markers).
    static constexpr Millis kMaxHeld{20};
    // The default audio track begins first, since what comes first is the default one to players;
    // the others wait for it for so long.
    static constexpr Millis kDefaultAudioWait{2'000};

    // `stream` is being published by `publisher` and outlives this.
    RtpIngest(stream::Stream& stream,
              const stream::Publisher& publisher,
              std::vector<RtpIngestTrack> tracks,
              const RtpIngestOptions& options);
    RtpIngest(const RtpIngest&) = delete;
    RtpIngest& operator=(const RtpIngest&) = delete;
    virtual ~RtpIngest();

    // `track`: that it came for, where each has a socket or channel of its own; nothing: its
    // payload type says it.
    void on_rtp(MonoTime now, ByteSpan packet, std::optional<size_t> track = {});

    // One packet of a compound. `track`: as in on_rtp(); its sender reports are of that track
    // then, whatever SSRC they name. Without, the SSRC tells the source.
    void on_rtcp(MonoTime now, const rtcp::PacketView& packet, std::optional<size_t> track = {});

    // Gives up what is missing for too long.
    void handle_timeout(MonoTime now);
    std::optional<MonoTime> next_timeout() const;

    // RTCP that is due, not sealed; call until it gives 0.
    size_t poll_transmit(MonoTime now, std::span<uint8_t> out);

    // When media came last; the time of construction before the first.
    MonoTime last_media() const { return last_media_; }

    const RtpIngestStats& stats() const { return stats_; }

    // What it holds besides itself, without packets that wait for one before them.
    size_t heap_bytes() const;

    // The sum over all sources.
    rtp::ReceiverCounters counters() const;

  protected:
    struct Track {
        RtpIngestTrack setup;
        std::optional<uint32_t> retired_ssrc;  // what it had before the present one,
        MonoTime retired_at{};                 // until then
    };

    struct Reorder {
        rtp::TimeUnwrapper unwrapper;
        media::DecodeTimes times;
    };

    // Whether the RTP times stand still while media comes: there are cameras whose clock never
    // runs. Their frames have the times of their arrival.
    struct StillClock {
        std::optional<uint32_t> time;  // of the newest packet
        MonoTime since{};              // it is the same
        uint32_t count = 0;            // so many times
        bool still = false;
    };

    // One SSRC. A protocol may have more in it: make_source().
    struct Source {
        explicit Source(const rtp::ReceiverOptions& options) : receiver(options) {}

        Source(const Source&) = delete;
        Source& operator=(const Source&) = delete;
        virtual ~Source() = default;

        size_t track = 0;
        uint8_t layer = 0;  // of simulcast
        uint32_t ssrc = 0;
        rtp::Receiver receiver;
        std::unique_ptr<rtp::Depacketizer> depacketizer;  // null: of a transport stream
        std::unique_ptr<TsIngest> transport_stream;       // null: of anything else
        size_t front = 0;  // free bytes before each frame, for the header of its packet
        size_t clock_track = 0;
        bool gap = false;                  // before the next packet
        MonoTime last_arrival{};           // of the newest packet
        std::unique_ptr<Reorder> reorder;  // of video that may have B-frames
        StillClock still_clock;

        // Audio: a configuration that came before the first picture, until it is published.
        Bytes config;

        // For video only:
        int64_t last_ms = -kMaxPushedMs;  // of the newest frame
        bool awaits_key = true;
        bool config_published = false;
        uint32_t width = 0;
        uint32_t height = 0;
    };

    struct FrameTimes {
        int64_t decoded_ms = 0;
        int32_t composition_ms = 0;
    };

    // ---- what a protocol may do otherwise ----

    virtual std::unique_ptr<Source> make_source(const rtp::ReceiverOptions& options);

    // A packet of an SSRC that is new, with the payload type of a track, or of its RTX. Null: it is
    // nobody's.
    virtual Source* find_new_source(MonoTime now, size_t track, const rtp::PacketView& packet);
    virtual Source* find_repaired(size_t track, const rtp::PacketView& packet);

    // A video frame; false: it is not to be published.
    virtual bool take_video(MonoTime now, Source& source, const rtp::Frame& frame, int64_t time_ms);

    // A packet of the video is missing for good.
    virtual void on_broken_video(Source& source) { source.awaits_key = true; }

    // Before the first frame of audio whose packets bring no configuration along.
    virtual void begin_audio(MonoTime now, const Source& source, int64_t time_ms);

    // A frame of audio was published.
    virtual void on_audio_frame(const Source& /*source*/, const media::PacketRef& /*packet*/) {}

    virtual media::PacketInfo info_of(const Source& source) const;

    // Gives it to the stream. The packet as it is there; null was none, and counts as dropped.
    virtual media::PacketRef publish(MonoTime now, Ref<media::MediaPacket> packet);

    // ---- what it may use for that ----

    // Null: there are too many.
    Source* add_source(MonoTime now, size_t track, uint32_t ssrc, uint32_t rtx_ssrc, uint8_t layer);
    void take_packet(MonoTime now,
                     const rtp::PacketView& packet,
                     ByteSpan bytes,
                     std::optional<size_t> track);
    void publish_config(MonoTime now, const Source& source, ByteSpan config, int64_t time_ms);

    // Reports and requests for what is missing, when they are due.
    void write_feedback(MonoTime now, rtcp::CompoundWriter& writer);

    void count_unknown() { stats_.unknown_packets++; }

    void count_dropped() { stats_.dropped_frames++; }

    const RtpIngestTrack& setup(const Source& source) const { return tracks_[source.track].setup; }

    bool is_video(const Source& source) const {
        return setup(source).kind == media::TrackKind::kVideo;
    }

    const std::vector<Track>& tracks() const { return tracks_; }

    const std::vector<std::unique_ptr<Source>>& sources() const { return sources_; }

    stream::Stream& stream() const { return stream_; }

    const stream::Publisher& publisher() const { return publisher_; }

    const RtpIngestOptions& options() const { return options_; }

  private:
    struct ReportedTime {
        uint32_t ssrc = 0;
        rtcp::NtpTime ntp_time = 0;
        uint32_t rtp_time = 0;
        std::optional<size_t> track;  // that it came for
    };

    Source* find_reported(const ReportedTime& report) const;
    Source* find_source(MonoTime now, const rtp::PacketView& packet, std::optional<size_t> track);
    void keep_early(const ReportedTime& report);
    void take_report(MonoTime now, Source& source, const ReportedTime& report);
    void drain(MonoTime now, Source& source);
    void begin_frames(Source& source);
    void take_payload(MonoTime now, Source& source, const rtp::ReceiverEvent& event);
    void give_held(MonoTime now, Source& source);
    void take_transport_packets(MonoTime now, Source& source, ByteSpan payload);

    // TsOutput
    void on_ts_packet(MonoTime now, Ref<media::MediaPacket> packet) override;
    void on_ts_description(media::Description description) override;

    void take_frame(MonoTime now, Source& source, rtp::Frame& frame, MonoTime arrival);
    void name_tracks(MonoTime now, int64_t time_ms);
    bool may_begin_audio(MonoTime now, uint8_t number, int64_t time_ms);
    void watch_clock(Source& source, const rtp::PacketView& packet, MonoTime arrival);
    void restart_clock(Source& source);
    bool may_be_reordered(const Source& source, const rtp::Frame& frame) const;
    FrameTimes times_of(Source& source, const rtp::Frame& frame, MonoTime arrival);
    void note_wall_clock(Micros time, MonoTime arrival);
    bool write_reports(MonoTime now, rtcp::CompoundWriter& writer);

    stream::Stream& stream_;
    const stream::Publisher& publisher_;
    RtpIngestOptions options_;
    std::vector<Track> tracks_;
    std::vector<std::unique_ptr<Source>> sources_;
    std::vector<ReportedTime> early_;  // of no source yet, the oldest first
    rtp::ClockMapper clock_;
    bool wall_clock_news_ = false;  // reports that the stream has not been told of
    bool named_tracks_ = false;     // several audio tracks, to players and other nodes
    std::array<bool, media::Description::kMaxAudioTracks> audio_begun_{};  // by their numbers
    std::optional<MonoTime> first_more_audio_;  // came, of any track but the default one
    std::optional<int64_t> first_video_ms_;     // that was published
    MonoTime last_media_;
    MonoTime next_report_{};
    RtpIngestStats stats_;
};

}  // namespace weir::net
