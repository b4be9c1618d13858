// A recording that an RTMP connection plays (net/vod_player.h): its messages, with the times of the
// recording, and what pause and seek do. The connection keeps its coroutine.
#pragma once

#include <cstdint>
#include <memory>

#include "net/link_facts.h"
#include "net/vod_player.h"
#include "proto/rtmp/server_session.h"

namespace weir::session {

class RtmpVod final : private net::VodWriter {
  public:
    // A peer gets so much in advance as it says (SetBufferLength), within these.
    static constexpr Millis kLeastLead{1'000};
    static constexpr Millis kMostLead{30'000};

    // All but the source must outlive this. The play of `stream_id` is accepted here.
    RtmpVod(rtmp::ServerSession& session,
            uint32_t stream_id,
            io::TcpStream& stream,
            net::Client& client,
            std::unique_ptr<net::VodSource> source,
            Millis write_stall);

    // From that time on, for so long; -1: to the end.
    void begin(double start_ms, int64_t duration_ms);

    // Yields. As net::VodPlayer::run().
    Error run();

    // Gives what the session has to say to the player. kLimit: the peer does not read.
    Error say();

    void pause(uint32_t stream_id, bool on);
    void seek(uint32_t stream_id, double time_ms);

    Bytes take_unsent() { return player_.take_unsent(); }

    net::LagFacts lag_facts() const { return player_.lag_facts(); }

  private:
    void on_vod_start(const net::VodSource& source,
                      const media::MediaPacket& first,
                      Bytes& out) override;
    void on_vod_packet(Ref<media::MediaPacket> packet, Bytes& out) override;
    void on_vod_end(Bytes& out) override;
    void write(const media::MediaPacket& packet, int64_t time_ms, Bytes& out) const;

    rtmp::ServerSession& session_;
    uint32_t stream_id_;
    net::VodPlayer player_;
};

}  // namespace weir::session
