// Segmenter: makes parts and segments of a stream's packets and puts them into a SegmentStore.
//
// A part ends when the frame arrives that would make it longer than about `part`, so the length of
// each of its frames is known; a segment ends at the key frame nearest to `fragment`, and at any
// frame where players were told that it will not be longer (SegmentStore::longest_ms). Other
// codecs, another publisher, and a hole in which no track has frames begin with a discontinuity.
// Audio alone cuts parts once the video is late, and segments once it is missing for `fragment`.
// The first video and the default audio track are taken, and by MoreAudio the other audio tracks,
// where the container keeps tracks apart and nothing is encrypted, or the writer has them all. What
// a publisher sends at first waits until all are there, for SegmentOptions::settle_ms at most, and
// so does what a segmenter that begins later sees first of a stream with several audio tracks.
// Never yields.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/object_count.h"
#include "net/segments/audio_chain.h"
#include "net/segments/far_off.h"
#include "net/segments/more_audio.h"
#include "net/segments/part_reserve.h"
#include "net/segments/part_writer.h"
#include "net/segments/segment_store.h"
#include "stream/stream.h"

namespace weir::net {

class Segmenter final : public stream::PacketSink, private Counted<Segmenter> {
  public:
    static constexpr ObjectName kObjectName{"segmenter", "segments"};
    // A segment is cut without a key frame when it is so long or, with all its tracks, so large.
    static constexpr int64_t kMaxSegmentMs = 60'000;
    static constexpr uint64_t kMaxSegmentBytes = 64u << 20;
    // A part is cut wherever it is.
    static constexpr size_t kMaxPartFrames = 2'048;
    static constexpr size_t kMaxPartBytes = 16u << 20;
    // Video that comes no more holds audio back for so long.
    static constexpr int64_t kMaxHeldMs = 1'000;
    // A stream without a frame of any track for so long has a hole: less is jitter. Of video alone
    // it has none where its frames always come so slowly: four of their intervals.
    static constexpr int64_t kHoleMs = 1'000;
    static constexpr int64_t kHoleIntervals = 4;
    // GOPs are alike that differ by no more.
    static constexpr int64_t kGopJitterMs = 50;
    // The dates of segments differ by the segments' durations, to the millisecond: Shaka 5.2 places
    // each part by them, and where that place moves by 1 ms within a segment it drops pictures up
    // to the next key frame. So dates are corrected in one step, when they are off by more than
    // this.
    static constexpr int64_t kMaxDateOffMs = 250;
    static constexpr int64_t kMaxDateMoveMs = 400;  // at a time, in each direction
    // Segments that come so far from the time that their SegmentClock says begin another one.
    static constexpr int64_t kMaxClockOffMs = 1'000;
    // Dates of segments that change by so much against their times begin after a discontinuity
    // (a publisher's clock that is known only now, or has stepped).
    static constexpr int64_t kDateStepMs = 1'000;

    // Both must outlive this. Takes what is kept of the stream at once.
    Segmenter(stream::Stream& stream, SegmentContainer container, SegmentStore& store);

    // With a writer of its owner's, which may keep the bytes to itself: then parts have none.
    Segmenter(stream::Stream& stream, std::unique_ptr<PartWriter> writer, SegmentStore& store);
    ~Segmenter() override;

    // Ends the open segment with what is there, if that is at least so long and no segment is
    // complete: whoever comes first shall not wait for a key frame.
    void finish_first(int64_t least_ms);

    // Packets of tracks that the container cannot have, and frames without a configuration.
    uint64_t frames_left_out() const { return left_out_; }

    // stream::PacketSink
    media::Audience audience() const override { return media::Audience::kMpeg; }

    void on_packet(const media::PacketRef& packet, const stream::Configs* start) override;
    void on_start_lost(stream::StartLost why) override;

  private:
    struct Track {
        std::optional<uint8_t> id;  // of the first one of its kind
        media::Codec codec = media::Codec::kUnknown;
        media::PacketRef config;
        size_t nal_length = 4;               // bytes of a length, of H.264 and HEVC
        bool waits = false;                  // for the next start: it is not as the format says
        bool came = false;                   // a frame of this publisher
        std::vector<PartFrame> frames;       // in no part yet
        uint64_t bytes = 0;                  // of these
        std::optional<uint64_t> next_ticks;  // of video: no frame may begin earlier
        int64_t last_ms = 0;                 // time of its newest frame
        uint32_t last_duration = 0;
    };

    struct Early {
        media::PacketRef packet;
        std::optional<stream::Configs> start;
    };

    // Not within on_packet(): coroutine stacks are small, and what follows it is deep.
    [[gnu::noinline]] bool holds_early(const media::PacketRef& packet,
                                       const stream::Configs* start);
    [[gnu::noinline]] void release_early();
    bool tracks_are_known() const;
    void take(const media::PacketRef& packet, const stream::Configs* start);
    Track* track_of(const media::PacketInfo& info);
    bool is_more_audio(const media::PacketInfo& info) const;
    void take_more_audio(const media::PacketRef& packet);
    void describe_more_audio(PartTracks& tracks, SegmentFormat& format);
    void take_config(const media::PacketRef& packet, bool again = false);
    void take_configs(const stream::Configs* start);
    void wait_for_start(Track& track);
    void take_frame(const media::PacketRef& packet);
    void begin_at(const media::MediaPacket& packet);
    bool is_hole_before(const media::MediaPacket& packet) const;
    void end_before_hole(const media::MediaPacket& packet);
    bool begins_with_key() const;
    int64_t least_length_ms(int64_t gop_ms, int64_t next_gop_ms) const;
    void cut_part_before(const media::MediaPacket& packet);
    void cut_parts_for(const media::MediaPacket& packet, const Track& track);
    void cut_audio_parts(int64_t time_ms);
    uint32_t add_video(const media::PacketRef& packet);
    uint32_t add_audio(const media::PacketRef& packet);
    bool decide_format();
    void open_segment(int64_t start_ms);
    void follow_clock(int64_t start_ms);
    void follow_server_clock(int64_t start_ms);
    void follow_dates();
    int64_t expected_ms(int64_t start_ms) const;
    std::span<const PartFrame> sounds_until(std::optional<int64_t> until_ms);
    void end_part(int64_t end_ms, bool all);
    void write_tracks(const PartFrames& frames,
                      bool first,
                      std::optional<int64_t> until_ms,
                      SegmentStore::NewPart& part);
    void end_segment(int64_t end_ms, bool all);
    void drop_frames();
    bool reference_is(media::TrackKind kind) const;

    int64_t wall_of(int64_t time_ms) const { return time_ms + wall_offset_ms_; }

    stream::Stream& stream_;
    SegmentStore& store_;
    std::unique_ptr<PartWriter> writer_;
    std::array<Track, 2> tracks_;
    AudioChain audio_chain_;
    std::unique_ptr<MoreAudio> more_audio_;  // null: the default track alone is taken
    PartReserve sound_reserve_;
    PartTracks format_tracks_;
    Ref<const SegmentFormat> format_;  // null: it is decided with the next part
    std::vector<Early> early_;         // what waits for the other track
    size_t early_bytes_ = 0;
    bool settling_ = false;
    MonoTime joins_{};            // of one that begins in the middle: since when it settles
    bool waited_ = false;         // for the tracks of this publisher, as long as that is done
    bool video_late_ = false;     // audio goes on without it
    bool running_ = false;        // a start has come, and was not lost since
    bool discontinuity_ = false;  // before the next segment
    bool renew_ = false;          // the format changes with the next start
    bool ending_ = false;         // no part follows in this format, or not at once
    bool filling_ = true;         // from what was kept: arrival times say nothing
    int64_t part_start_ms_ = 0;
    int64_t segment_start_ms_ = 0;
    int64_t newest_ms_ = 0;  // time of the newest frame of all
    int64_t end_ms_ = 0;     // where the frames end that came
    int64_t last_key_ms_ = 0;
    int64_t last_gop_ms_ = 0;
    int64_t gop_ms_ = 0;           // 0: no two in a row were alike
    int64_t wall_offset_ms_ = 0;   // of the server's clock
    int64_t clock_set_by_ms_ = 0;  // the system's clock, since the process began
    int64_t date_offset_ms_ = 0;   // of the clock that dates the newest segment
    bool publisher_dates_ = false;
    SegmentClock clock_;
    FarOff clock_off_{kMaxClockOffMs};
    FarOff date_off_{kMaxDateOffMs};
    media::CaptionChannels captions_;
    uint64_t left_out_ = 0;
};

}  // namespace weir::net
