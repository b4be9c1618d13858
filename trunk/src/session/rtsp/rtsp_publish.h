// What a connection publishes by RTSP: from ANNOUNCE to its end. Never yields.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_count.h"
#include "net/client_table.h"
#include "net/hooks.h"
#include "net/policy.h"
#include "net/rate_guard.h"
#include "net/rtp/rtp_ingest.h"
#include "proto/rtsp/transport.h"
#include "proto/sdp/rtsp_track.h"
#include "session/rtsp/rtsp_srtp.h"
#include "session/rtsp/rtsp_udp.h"
#include "stream/stream.h"

namespace weir::session {

// A track of an ANNOUNCE, and how its SETUP said that it comes.
struct RtspAnnounced {
    sdp::RtspTrack track;
    std::optional<rtsp::Transport> transport;  // none: not set up
    std::unique_ptr<RtspUdpTrack> udp;         // null: it comes through the connection
    std::optional<RtspSrtpKey> key = {};       // of RTP/SAVP

    // A track that is set up and can be received.
    bool comes() const {
        return transport && track.is_supported() &&
               (track.transport_stream || track.codec != media::Codec::kUnknown);
    }
};

class RtspPublish final : public stream::Publisher,
                          private RtspUdpOwner,
                          private Counted<RtspPublish> {
  public:
    static constexpr ObjectName kObjectName{"rtsp_publish", "rtsp"};

    struct Callbacks {
        std::function<void()> taken_over;  // another publisher has the stream now
        std::function<void()> too_fast;    // what came by UDP is more than max_publish_bitrate
    };

    // `stream` was got for it and is not published yet.
    RtspPublish(net::Client& client,
                stream::Stream& stream,
                const net::PublishRules& rules,
                Callbacks callbacks)
        : client_(client),
          stream_(stream),
          rules_(rules),
          rate_(rules.max_bits_per_second),
          callbacks_(std::move(callbacks)) {}

    ~RtspPublish();
    RtspPublish(const RtspPublish&) = delete;
    RtspPublish& operator=(const RtspPublish&) = delete;

    std::string describe() const override;

    std::string_view client_id() const override { return client_.id(); }

    std::string_view client_ip() const override { return client_.ip(); }

    std::string_view client_transport() const override { return client_.transport(); }

    void on_taken_over() override { callbacks_.taken_over(); }

    stream::Stream& stream() { return stream_; }

    const net::PublishRules& rules() const { return rules_; }

    // Of what hook servers allowed.
    net::HookTicket ticket;

    // It is the stream's publisher now; tracks that do not come have no packets. `tracks` and
    // `control` must outlive this. kInternal: no SRTP can be had.
    Error begin(const std::vector<RtspAnnounced>& tracks, srtp::ControlCipher& control);

    // A packet of the track with that index in begin()'s list. False: more than
    // max_publish_bitrate.
    bool on_rtp(MonoTime now, ByteSpan packet, size_t track);
    void on_rtcp(MonoTime now, ByteSpan compound, size_t track);

    // Gives up what is missing for too long; to be called now and then, and at next_timeout().
    void handle_timeout(MonoTime now) { ingest_->handle_timeout(now); }

    std::optional<MonoTime> next_timeout() const { return ingest_->next_timeout(); }

    net::RtpIngest& ingest() { return *ingest_; }

    // When the connection gives up waiting for media.
    MonoTime deadline() const;

    bool seen_media() const { return ingest_->stats().frames > 0; }

  private:
    bool may_move(MonoTime now, size_t track, bool rtp, ByteSpan datagram) const override;
    void on_udp_rtp(MonoTime now, size_t track, ByteSpan packet) override;
    void on_udp_rtcp(MonoTime now, size_t track, ByteSpan compound) override;
    void answer_udp(MonoTime now);

    net::Client& client_;
    stream::Stream& stream_;
    net::PublishRules rules_;
    net::RateGuard rate_;
    Callbacks callbacks_;
    const std::vector<RtspAnnounced>* tracks_ = nullptr;
    std::vector<std::optional<size_t>> places_;  // in the ingest's list, by index of the track
    std::vector<std::unique_ptr<RtspSrtpReceiver>> srtp_;  // by index of the track; null: none
    std::unique_ptr<net::RtpIngest> ingest_;
};

}  // namespace weir::session
