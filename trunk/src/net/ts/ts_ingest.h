// From a transport stream to frames of a stream: one video and one audio track of a programme, on
// one clock, with the configurations that their frames bring along. No socket. Never yields.
//
// More audio tracks, up to Description::kMaxAudioTracks in all, become tracks of Enhanced RTMP
// multitrack besides the first one, which is in the plain form, and begins first. A track keeps its
// number for as long as its PID is in the programme.
//
// A frame that lost a packet is never published, and after a loss no video is until the next key
// frame. Tracks that FLV bodies cannot carry (MPEG-2 video, MPEG audio of layer II, subtitles) are
// named in one line of the log and passed over.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/object_count.h"
#include "media/description.h"
#include "media/packet.h"
#include "net/ts/ts_clock.h"
#include "proto/mpegts/reader.h"
#include "proto/rtp/depacketizer.h"

namespace weir::net {

// Who publishes what comes out. Must not feed the ingest meanwhile.
class TsOutput {
  public:
    virtual void on_ts_packet(MonoTime now, Ref<media::MediaPacket> packet) = 0;
    virtual void on_ts_description(media::Description description) = 0;

  protected:
    ~TsOutput() = default;
};

struct TsIngestStats {
    uint64_t frames = 0;          // that were published, without configurations
    uint64_t dropped_frames = 0;  // not whole, before the key frame after a loss, or not supported
};

class TsIngest final : private Counted<TsIngest> {
  public:
    static constexpr ObjectName kObjectName{"ts_ingest", "ts"};
    // Lines of the log about what is passed over, of one source.
    static constexpr uint32_t kMaxLines = 4;
    // Audio that comes before the first key frame is not published for so long: to players the
    // stream would be one without video.
    static constexpr Millis kVideoWait{5'000};

    // `output` must outlive this.
    explicit TsIngest(TsOutput& output, const mpegts::ReaderOptions& options = {});

    // The next bytes of the stream; where packets begin in them is found. kUnsupported: it is no
    // transport stream that is read here, and nothing more is taken.
    Error feed(MonoTime now, ByteSpan bytes);

    // Bytes are missing here.
    void lose() { reader_.lose(); }

    const TsIngestStats& stats() const { return stats_; }

    mpegts::ReaderCounters counters() const { return reader_.counters(); }

    uint64_t clock_jumps() const { return clock_.jumps(); }

    // What it takes, without frames that are being put together.
    size_t bytes() const;

  private:
    struct Video {
        mpegts::StreamInfo info;
        media::Codec codec = media::Codec::kUnknown;
        std::unique_ptr<rtp::Depacketizer> frames;  // makes them of NAL units
        size_t front = 0;                           // free bytes before each, for its header
        uint32_t units = 0;
        bool awaits_key = true;
        Bytes config;
        bool config_published = false;
        media::Description size;
    };

    struct Audio {
        uint8_t number = 0;  // of the track; 0: the default one
        mpegts::StreamInfo info;
        media::Codec codec = media::Codec::kUnknown;
        std::unique_ptr<rtp::Depacketizer> frames;  // of LATM
        Bytes latm_config;  // that LATM brought along, once or from time to time
        Bytes config;       // that was published
        bool begun = false;
    };

    void drain(MonoTime now);
    void begin_tracks();
    void begin_audio();
    void describe_audio();
    uint8_t free_number() const;
    static void begin_audio(Audio& audio, const mpegts::StreamInfo& info);
    void name_others();
    void warn_once(std::string_view what);
    void take_video(MonoTime now, const mpegts::Unit& unit);
    bool feed_nals(const mpegts::Unit& unit);
    void publish_video(MonoTime now, const mpegts::Unit& unit, rtp::Frame& frame);
    void take_audio(MonoTime now, Audio& audio, const mpegts::Unit& unit);
    void take_adts(MonoTime now, Audio& audio, const mpegts::Unit& unit);
    void take_latm(MonoTime now, Audio& audio, const mpegts::Unit& unit);
    void publish_audio(MonoTime now, Audio& audio, int64_t pts, ByteSpan config, ByteSpan frame);
    bool may_begin(MonoTime now, const Audio& audio, int64_t time_ms);
    bool publish(MonoTime now, Ref<media::MediaPacket> packet);
    void name_tracks(MonoTime now, int64_t time_ms);

    TsOutput& output_;
    mpegts::Reader reader_;
    TsClock clock_;
    Video video_;
    Audio audio_;
    std::vector<Audio> more_audio_;
    std::optional<int64_t> first_video_ms_;  // that was published
    std::optional<MonoTime> first_audio_;    // that came
    uint32_t lines_ = 0;
    std::string named_;  // in the newest line
    std::string unused_;
    std::vector<media::AudioTrack> named_tracks_;  // in metadata
    bool told_ = true;                             // the output has been, of these
    TsIngestStats stats_;
};

}  // namespace weir::net
