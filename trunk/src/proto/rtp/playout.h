// PlayoutBuffer: an adaptive jitter buffer of telephony. It takes the audio packets of one source
// as they arrive and says at each moment what is to be heard next. It knows no codec and decodes
// nothing; concealment, comfort noise and the change of a frame's length are its owner's
// (media/concealer.h). Not for streams that are passed on as packets: those need no delay.
//
// The owner has a clock of its own (a tick each 20 ms) and a small store of decoded samples. At
// each tick, while that store holds less than a tick's samples, it calls next() and adds what
// comes:
//
//     kFrame    the decoded payload, changed in length as `adjust` says
//     kLost     `ticks` of concealment
//     kSilence  `ticks` of concealment that fades out, and comfort noise; `payload` may name its
//     level kNothing  nothing was heard from the source yet: no samples come, and the tick has none
//
// Delay. The target is the 95th percentile of how much later packets came than the fastest of the
// last 256 (five seconds), one packet at least and max_delay at most. A source begins, and speaks
// again after silence, with that delay. In speech the delay changes only by frames that are made
// shorter or longer, one in a second, or as many as needed while the owner says that it is silent.
// So the drift of the two clocks is followed, too. Beyond max_delay whole packets are dropped.
//
// Packets that are missing while later ones are there are lost. With none there, concealment goes
// on without using up time, so that a packet that comes late is still heard and the delay grows.
// After kMaxConcealed the source counts as silent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"

namespace weir::rtp {

struct PlayoutOptions {
    uint32_t clock_hz = 8000;
    uint32_t tick_size = 160;  // ticks of the RTP clock in one tick of the owner, clock_hz / 50
    Micros max_delay = Millis(200);
};

// A packet of the source; copied.
struct PlayoutPacketView {
    enum class Content : uint8_t {
        kAudio,
        kComfortNoise,  // RFC 3389
        kOther,         // of the same sequence and no audio: telephone events
    };

    Content content = Content::kAudio;
    bool marker = false;
    uint16_t sequence = 0;
    uint32_t rtp_time = 0;
    uint32_t ssrc = 0;
    uint32_t ticks = 0;  // duration of the audio, rtp::audio_ticks(); ignored for other content
    ByteSpan payload;
};

enum class PlayoutKind : uint8_t { kNothing, kFrame, kLost, kSilence };

enum class PlayoutAdjust : uint8_t {
    kNone,
    kShorten,  // by a period of its pitch, a few milliseconds
    kStretch,
};

struct PlayoutStepView {
    PlayoutKind kind = PlayoutKind::kNothing;
    PlayoutAdjust adjust = PlayoutAdjust::kNone;
    bool broken = false;   // kFrame: what was heard before does not lead into it (packets dropped)
    bool restart = false;  // kFrame: the first one of another source; the decoder begins anew
    uint32_t ticks = 0;    // of the RTP clock
    ByteSpan payload;      // valid until the next call of anything here
};

struct PlayoutStats {
    uint64_t received = 0;
    uint64_t lost = 0;  // did not come in time
    uint64_t late = 0;  // came too late; they are in `lost` as well
    uint64_t duplicates = 0;
    uint64_t dropped = 0;    // to bound the delay, or the memory
    uint64_t concealed = 0;  // steps that were kLost
    uint64_t shortened = 0;
    uint64_t stretched = 0;
    uint64_t restarts = 0;  // other sources, jumps of the numbers or the times
    Micros jitter{};        // mean deviation, RFC 3550 §6.4.1
    Micros target{};        // delay that is aimed at
    Micros delay{};         // of the last frame, from the arrival of the fastest packets on
};

class PlayoutBuffer {
  public:
    static constexpr size_t kMaxPackets = 64;
    static constexpr size_t kMaxPayload = 1500;
    static constexpr Micros kMaxConcealed = Millis(60);
    static constexpr Micros kMaxJump =
        Seconds(2);  // between RTP time and arrival; more: a new clock
    static constexpr Micros kAdjustPause = Seconds(1);

    explicit PlayoutBuffer(const PlayoutOptions& options);
    PlayoutBuffer(const PlayoutBuffer&) = delete;
    PlayoutBuffer& operator=(const PlayoutBuffer&) = delete;

    // A packet as it arrives, in any order. `now` never goes back.
    void handle_packet(MonoTime now, const PlayoutPacketView& packet);

    // What the owner has: RTP ticks of decoded samples that are not played, and whether the last of
    // them are as good as silent.
    struct Owner {
        uint32_t buffered = 0;
        bool silent = false;
    };

    PlayoutStepView next(MonoTime now, const Owner& owner);

    const PlayoutStats& stats() const { return stats_; }

    size_t held() const { return held_.size(); }

  private:
    enum class Stage : uint8_t {
        kWaiting,  // for the delay of the first packet
        kPlaying,
        kGap,  // the source is silent, or the first packet after silence has to wait
    };

    struct Held {
        PlayoutPacketView::Content content{};
        bool restart = false;
        int64_t sequence = 0;  // continued over all restarts
        int64_t time = 0;      // RTP ticks, likewise
        uint32_t ticks = 0;
        Bytes payload;
    };

    static constexpr size_t kTransits = 256;
    static constexpr size_t kMaxSpare = 8;

    void begin_source(MonoTime now, const PlayoutPacketView& packet);
    bool place(MonoTime now, const PlayoutPacketView& packet, Held& out);
    bool place_time(MonoTime now, const PlayoutPacketView& packet, bool newest, Held& out);
    bool is_stray(const PlayoutPacketView& packet);
    void hold(Held&& held, ByteSpan payload);
    void note_transit(MonoTime now, const Held& held);
    void choose_target();
    void clear_transits();

    PlayoutStepView play(MonoTime now, const Owner& owner);
    PlayoutStepView give(MonoTime now, const Owner& owner);
    PlayoutStepView conceal(uint32_t ticks);
    PlayoutStepView silence();
    PlayoutAdjust choose_adjust(MonoTime now, const Owner& owner, Micros reserve);
    bool drop_excess(MonoTime now, const Owner& owner);
    void leave_out_late();
    Held take_front();
    void recycle(Bytes&& payload);
    bool is_due(MonoTime now, const Owner& owner) const;
    Micros delay_of(int64_t time, MonoTime now, const Owner& owner) const;
    Micros reserve_of(int64_t time, MonoTime now) const;

    Micros micros(int64_t ticks) const { return Micros(ticks * 1'000'000 / options_.clock_hz); }

    int64_t ticks(Micros time) const { return time.count() * options_.clock_hz / 1'000'000; }

    PlayoutOptions options_;
    PlayoutStats stats_;

    // The source, as its packets arrive.
    bool started_ = false;
    uint32_t ssrc_ = 0;
    uint16_t highest_raw_ = 0;  // sequence number of the newest packet, and what it stands for here
    int64_t highest_ = 0;
    uint32_t time_raw_ = 0;  // RTP time of the newest packet, likewise
    int64_t time_ = 0;
    MonoTime arrival_{};             // of the newest packet
    int64_t end_ = 0;                // where the audio of all packets so far ends
    bool restart_ = false;           // the next packet is the first of another source
    std::optional<uint16_t> stray_;  // the number that would follow that of a stray packet

    // How late packets come. Microseconds, from transit_origin_ on.
    std::vector<int32_t> transits_;
    size_t transit_at_ = 0;
    int64_t transit_origin_ = 0;
    int32_t fastest_ = 0;
    int32_t last_transit_ = 0;
    int64_t jitter_q4_ = 0;
    uint32_t until_choice_ = 0;
    uint32_t packet_ticks_ = 0;  // duration of the newest packet
    Micros lateness_{};          // the percentile
    Micros target_{};

    // What is played.
    Stage stage_ = Stage::kWaiting;
    std::vector<Held> held_;  // rising by sequence
    std::vector<Bytes> spare_;
    Bytes current_;              // payload of the last step
    int64_t next_sequence_ = 0;  // all before are given out or given up
    int64_t play_time_ = 0;      // where the next audio begins
    int64_t concealed_ = 0;      // ticks since the last frame
    int64_t ahead_ = 0;          // of these, ticks that play_time_ did not move by
    bool quiet_ = false;         // the last packet was no audio: silence follows, no loss
    bool broken_ = false;
    MonoTime adjusted_{};
};

}  // namespace weir::rtp
