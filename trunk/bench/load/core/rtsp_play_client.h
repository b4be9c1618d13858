// An RTSP player of the load test: talks to the server, puts packets in order, makes frames of them
// and gives those to the check, as the FLV messages that they would be. Media comes in interleaved
// frames, or by on_datagram() from the owner's sockets. Pure.
//
// Timers run with what comes: a player without media has nothing to keep alive.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "proto/rtp/depacketizer.h"
#include "proto/rtp/receiver.h"
#include "proto/rtp/unwrapper.h"
#include "proto/rtsp/client_session.h"
#include "proto/sdp/rtsp_track.h"

#include "bench/load/core/play_client.h"
#include "bench/load/core/player_check.h"

namespace weir::load {

enum class RtspWay : uint8_t { kTcp, kUdp, kMulticast };

struct RtspPlayOptions {
    RtspWay way = RtspWay::kTcp;
    Millis pause_after{0};  // a player pauses so long after its first packet; 0: never
    Millis pause_for{0};    // and goes on after this
};

class RtspPlayClient final : public PlayClient {
  public:
    static constexpr Micros kReportInterval = Seconds(1);

    // The owner's sockets of a track, bound when they are needed; not asked for with kTcp. Nothing:
    // there are none.
    using Ports = std::function<std::optional<rtsp::PortPair>(size_t track)>;

    // All must outlive it. `url`: with the login, where there is one.
    RtspPlayClient(const rtsp::Url& url,
                   const RtspPlayOptions& options,
                   PlayerCheck& check,
                   RandomSource& random,
                   Ports ports = {});

    bool feed(ByteSpan bytes, uint64_t now_ns) override;

    bool started() const override { return session_.started(); }

    // A packet that came by UDP. False: as of feed().
    bool on_datagram(MonoTime now, size_t track, bool rtcp, ByteSpan bytes);

    // Keep-alive, PAUSE and PLAY, the wait for missing packets: with each packet is often enough.
    void handle_timeout(MonoTime now);

    // A receiver report of a track, when it is due; 0 bytes: it is not.
    size_t poll_report(MonoTime now, size_t track, std::span<uint8_t> out);

    // Where the media of a track comes from, or goes to; after started().
    const rtsp::ClientSession& session() const { return session_; }

    // All are set up: PLAY is to be sent, and the owner's sockets should listen.
    bool is_set_up() const { return session_.is_set_up(); }

    // Adds what was counted since the last call to the totals.
    void settle() override;

    // TEARDOWN is in the output.
    void leave() override;

  private:
    struct Track {
        explicit Track(const sdp::RtspTrack& of);

        media::TrackKind kind;
        media::Codec codec;
        uint8_t payload_type;
        uint32_t clock_hz;
        std::unique_ptr<rtp::Receiver> receiver;  // from the first packet on
        std::unique_ptr<rtp::Depacketizer> depacketizer;
        rtp::TimeUnwrapper times;
        rtp::ReceiverCounters settled;  // what settle() has counted
        int64_t last_ms = INT64_MIN;
        bool gap = false;         // before the next packet
        uint32_t last_time = 0;   // of the newest packet
        MonoTime last_arrival{};  // none: there was none
        MonoTime next_report{};
    };

    bool take(MonoTime now, ByteSpan bytes);
    bool set_up();
    void take_rtp(MonoTime now, Track& track, ByteSpan packet);
    void take_rtcp(MonoTime now, Track& track, ByteSpan compound);
    void drain(Track& track);
    void take_frame(Track& track, rtp::Frame& frame);
    void note_variation(Track& track, const rtp::PacketView& packet, MonoTime now);
    void collect();

    const RtspPlayOptions& options_;
    RtspTotals& totals_;
    PlayerCheck& check_;
    Ports ports_;
    rtsp::ClientSession session_;
    std::vector<Track> tracks_;  // as they are set up
    MonoTime asked_{};           // PLAY
    MonoTime first_packet_{};
    MonoTime paused_at_{};
    bool has_paused_ = false;
};

}  // namespace weir::load
