// An RTSP publisher of the load test (ANNOUNCE, RECORD), over TCP or by UDP: describes what a
// source sends, and gives its frames as packets. Pure.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "proto/rtsp/client_session.h"

#include "bench/load/core/frame_source.h"
#include "bench/load/core/rtsp_frame_cutter.h"

namespace weir::load {

// The owner's sockets of a publisher by UDP.
struct RtspPublishSockets {
    // Those of a track, bound; nothing: there are none.
    std::function<std::optional<rtsp::PortPair>(size_t track)> bind;
    // A packet of a track; `port`: of the server.
    std::function<void(size_t track, bool rtcp, uint16_t port, ByteSpan bytes)> send;

    explicit operator bool() const { return bind != nullptr; }
};

class RtspPublishClient final : private RtspPacketSink {
  public:
    // `opening`: the source's. Without `sockets` over TCP. kUnsupported: RTSP has no form for one
    // of its codecs; kBusy: there are no ports. `random` must outlive it.
    static Result<std::unique_ptr<RtspPublishClient>> create(
        const rtsp::Url& url,
        const std::vector<SourceMessage>& opening,
        RandomSource& random,
        RtspPublishSockets sockets = {});

    // What the server says.
    Error feed(MonoTime now, ByteSpan bytes);

    bool started() const { return session_.started(); }

    bool has_output() const { return session_.has_output(); }

    std::string take_output() { return session_.take_output(); }

    // A frame of the source; before it has started, nothing happens.
    void send(MonoTime now, const SourceMessage& message);

    // TEARDOWN is in the output.
    void leave() { session_.teardown(); }

  private:
    RtspPublishClient(const rtsp::Url& url, RandomSource& random, RtspPublishSockets sockets);

    Error announce();
    Error check_ports() const;
    void on_rtsp_packet(size_t track, bool rtcp, ByteSpan bytes) override;

    rtsp::ClientSession session_;
    RtspPublishSockets sockets_;
    std::unique_ptr<RtspFrameCutter> cutter_;
};

}  // namespace weir::load
