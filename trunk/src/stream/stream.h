// Stream: what one publisher sends and any number of players take. The core of the server; pure,
// never yields.
//
// It puts what comes in order (Entrance, media::AudioClock), maps the publisher's clock to the
// stream's timeline, keeps the frames of the current GOP (a muxer attached later is filled from
// them) and the codec configurations in force, and hands every packet to the attached sinks
// (muxers). It outlives its publisher while players wait for the next one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/object_count.h"
#include "base/rate_history.h"
#include "media/audio_clock.h"
#include "media/description.h"
#include "media/frame_order.h"
#include "media/packet.h"
#include "media/timeline.h"
#include "stream/entrance.h"
#include "stream/life.h"
#include "stream/muxer.h"
#include "stream/publisher.h"
#include "stream/publisher_clock.h"
#include "stream/stream_key.h"
#include "stream/stream_limits.h"
#include "stream/stream_options.h"
#include "stream/stream_stats.h"

namespace weir::stream {

class Stream : public StreamLimits, private Counted<Stream> {
  public:
    static constexpr ObjectName kObjectName{"stream", "streams"};

    // `of_all`: who is told of the life of all streams; null: nobody. Must outlive the stream.
    Stream(StreamKey key,
           const StreamOptions& options,
           MonoTime now,
           LifeObservers* of_all = nullptr);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    const StreamKey& key() const { return key_; }

    // Who is told of this stream's life.
    LifeObservers& observers() { return observers_; }

    // ---- publishing ----

    // kBusy: busy(). With kTakeover the holder is told and replaced.
    Error start_publish(Publisher& publisher, PublishConflict policy, MonoTime now);

    // kBusy: busy(). With kTakeover, and from a relay, the name can be had.
    Error may_publish(PublishConflict policy) const;

    // What a second publisher is told. Not who holds the name: that is for the log alone.
    Error busy() const;
    // " (by client abc12345 from 192.0.2.1 for 7 s)", for the log; empty when nobody publishes.
    std::string describe_holder(MonoTime now) const;

    // Takes the packet (time: the publisher's clock) and gives it to all sinks of its audience.
    // Ignored unless `publisher` is the current one. `now`: arrival.
    void publish(const Publisher& publisher, Ref<media::MediaPacket> packet, MonoTime now);

    // A packet for one audience that the session has made of what its publisher sent (AAC of Opus),
    // frame or configuration. The time of a frame is on the stream's timeline, that of its origin;
    // of a configuration it is set here. Not counted as received. From anybody else: ignored.
    void publish_derived(const Publisher& publisher, Ref<media::MediaPacket> packet, MonoTime now);

    // The next bytes of the transport stream that the publisher gets, whole packets (audience
    // kTransportStream), for players who take it as it is; frames are published besides, or not.
    // `info.key`: a player may begin here, and what it needs before is in front of the payload. The
    // time is set here. Counted as received, and then frames are not. From anybody else: ignored.
    void publish_transport(const Publisher& publisher,
                           Ref<media::MediaPacket> packet,
                           MonoTime now);

    // The frames that were published, or the transport stream, are no more: the publisher goes on
    // with the other of both.
    void end_frames(const Publisher& publisher);
    void end_transport(const Publisher& publisher);

    // What of the transport stream a player who comes now gets first.
    const std::vector<media::PacketRef>& kept_transport() const { return transport_; }

    // What the current publisher says of its stream; ignored from anybody else. Unused tracks that
    // were named stay named.
    void describe(const Publisher& publisher, media::Description description);

    // The publisher's wall clock, for the publisher to tell; null: not the current one, or the
    // clock is not to be passed on (StreamOptions::publisher_clock).
    PublisherClock* clock_of(const Publisher& publisher);

    // The name is another node's: the publisher is told as by a takeover, and nobody follows here.
    void lose_publisher(MonoTime now);

    // Does nothing unless `publisher` is the current one.
    void end_publish(const Publisher& publisher, MonoTime now);

    bool live() const { return publisher_ != nullptr; }

    bool relayed() const;  // it is published at another node, and brought from there

    const Publisher* publisher() const { return publisher_; }

    MonoTime live_since() const { return live_since_; }

    // Since when nobody publishes; meaningful while !live().
    MonoTime absent_since() const { return absent_since_; }

    // ---- playing ----

    // Fills the sink from the current GOP and keeps it informed until detach.
    void attach(PacketSink& sink);
    void detach(PacketSink& sink);

    bool has_sinks() const { return !sinks_.empty(); }

    // The audio frames of the first track that a player of this audience who starts now gets.
    std::vector<media::PacketRef> kept_audio(media::Audience audience) const;

    // Somebody would get packets that are for this audience alone.
    bool has_audience(media::Audience audience) const;
    // Somebody wants frames.
    bool wants_frames() const;

    // A player begins. From a key frame older than kOldStartMs it would have a long way to the
    // present, so the publisher is asked for a new one, where that is possible: a browser makes
    // them when it is asked and hardly ever else.
    void note_new_player();

    // Asks the publisher for a key frame, where that is possible.
    void want_key_frame();
    void want_key_frame_of(uint8_t layer);

    const PublisherClock& publisher_clock() const { return publisher_clock_; }

    // ---- what the API shows ----

    const TrackStats& video() const { return video_; }

    const TrackStats& audio() const { return audio_; }

    // What of the current publisher was mended.
    const EntranceStats& mended() const { return entrance_.stats(); }

    uint64_t audio_holes() const { return audio_clock_.holes(); }

    // Frames of it came, and not too long ago; or it was announced, just now.
    bool has_video() const;
    bool has_audio() const;

    const media::Description& description() const { return description_; }

    uint64_t bytes_received() const { return bytes_received_; }

    // The same of all its publishers.
    uint64_t bytes_received_ever() const { return bytes_received_before_ + bytes_received_; }

    uint64_t bytes_sent() const { return bytes_sent_; }  // to its players, by all formats, ever

    void note_sent(uint64_t bytes) { bytes_sent_ += bytes; }

    // Once a second, after the clock's tick: rates, and a picture that waits at the entrance.
    void sample(const RateClock& clock, MonoTime now);

    // Bits per second from the current publisher and to all players; video frames per second.
    double receive_bps(const RateClock& clock, MonoTime now, Millis window) const;
    double send_bps(const RateClock& clock, MonoTime now, Millis window) const;
    double frame_rate(const RateClock& clock, MonoTime now, Millis window) const;

    const GopStats& gop() const { return gop_stats_; }

    // Of the first video track.
    const media::FrameOrder& frame_order() const { return frame_order_; }

    // The newest key frame of the first video track, while it is kept; null: none.
    const media::MediaPacket* key_frame() const;

    // Of what is kept for who comes now.
    uint64_t gop_bytes() const { return gop_bytes_ + transport_bytes_; }

    // Of these, what lies in no log of a format. Looks at each packet.
    uint64_t own_gop_bytes() const;

    uint64_t frames_before_key_dropped() const { return dropped_before_key_; }

    // Frames of further audio tracks that came at times at which the stream is not.
    uint64_t more_audio_dropped() const { return dropped_more_audio_; }

    // Configurations and metadata of the current publisher that were over the limits.
    uint64_t configs_dropped() const { return dropped_configs_; }

    const media::Timeline& timeline() const { return timeline_; }

    // Configurations in force, first video and default audio; null when unknown.
    const media::MediaPacket* config(media::TrackKind kind) const;
    // Of the tracks with a configuration 0 (Enhanced RTMP v2: the default), else the first; else
    // the first that was described, else that of the first frame; that of any frame, where none of
    // that track comes within kNamedAudioHolds. Nothing: not known yet.
    std::optional<uint8_t> default_audio() const;

  private:
    void accept(Ref<media::MediaPacket> packet, MonoTime now);
    void accept_all(Entrance::Ready& ready, MonoTime now);
    bool accept_state(const Ref<media::MediaPacket>& packet, MonoTime now);
    bool accept_video(const media::PacketInfo& info, MonoTime now);
    bool accept_audio(MonoTime now);
    void choose_audio(const media::PacketInfo& info, MonoTime now);
    void note_absence(media::TrackKind kind, MonoTime now);
    void note_presence(media::TrackKind kind, MonoTime now);
    void repeat_configs(media::TrackKind kind);
    int64_t time_of(const media::MediaPacket& packet, MonoTime now);
    void finish_entrance(MonoTime now);
    void announce(const media::PacketInfo& info, MonoTime now);
    void begin_frames();
    void forget_transport(StartLost why);
    bool take_config(const media::PacketRef& packet, MonoTime now);
    bool config_fits(const media::MediaPacket& packet) const;
    bool keep_video(const media::PacketInfo& info);
    void remember(const media::PacketRef& packet, bool start);
    void begin_gop(const media::PacketRef& key);
    void keep_derived(const media::PacketRef& packet);
    void limit_gop();
    void forget_gop(StartLost why);
    void count_video(const media::MediaPacket& packet, bool key, MonoTime now);
    void hand_out(const media::PacketRef& packet, bool start);
    void give(PacketSink& sink, const media::PacketRef& packet, bool start) const;

    void note_codecs(media::TrackKind kind) { changed_codecs_ |= uint8_t(1u << unsigned(kind)); }

    void tell_codecs();

    template <typename Tell>
    void tell(Tell&& tell) {
        observers_.tell(tell);
        if (of_all_) {
            of_all_->tell(tell);
        }
    }

    StreamKey key_;
    StreamOptions options_;
    Publisher* publisher_ = nullptr;
    MonoTime live_since_;
    MonoTime absent_since_;
    media::Timeline timeline_;
    PublisherClock publisher_clock_;

    Configs configs_;                    // in force now
    Configs previous_configs_;           // of the publisher before: players need no second copy
    Configs gop_configs_;                // in force where the GOP starts, and early audio
    std::vector<media::PacketRef> gop_;  // from the start entry on; empty: nowhere to start
    uint64_t gop_bytes_ = 0;
    std::vector<media::PacketRef> transport_;  // from the newest start on
    uint64_t transport_bytes_ = 0;
    bool has_transport_ = false;  // of this publisher

    Entrance entrance_;
    media::AudioClock audio_clock_;
    uint64_t timeline_shifts_ = 0;           // that the audio clock has seen
    std::array<TrackPresence, 2> presence_;  // by media::TrackKind: audio, video
    std::optional<MonoTime> first_frame_;
    bool video_present_ = false;
    bool awaiting_key_ = true;
    int first_video_track_ = -1;
    int first_audio_track_ = -1;
    std::optional<MonoTime> first_sound_;  // of any audio track

    std::vector<PacketSink*> sinks_;
    LifeObservers observers_;
    LifeObservers* of_all_;
    uint8_t changed_codecs_ = 0;  // kinds of tracks, as bits: to be told
    media::Description description_;
    TrackStats video_;
    TrackStats audio_;
    GopStats gop_stats_;
    media::FrameOrder frame_order_;
    MonoTime since_;
    uint64_t bytes_received_ = 0;
    uint64_t bytes_received_before_ = 0;
    uint64_t bytes_sent_ = 0;
    RateHistory received_;
    RateHistory sent_;
    FrameHistory frames_;
    uint64_t dropped_before_key_ = 0;
    uint64_t dropped_more_audio_ = 0;
    uint64_t dropped_configs_ = 0;
};

}  // namespace weir::stream
