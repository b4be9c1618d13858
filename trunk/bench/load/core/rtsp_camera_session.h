// The server's side of an RTSP connection to a simulated camera: answers requests, and sends the
// stream of its camera once that is played, interleaved or by UDP. Each player gets the stream
// from its first frame on. Not for the open network: it has one client, which is trusted. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "proto/rtsp/connection_reader.h"
#include "proto/rtsp/transport.h"

#include "bench/load/core/frame_source.h"
#include "bench/load/core/rtsp_frame_cutter.h"

namespace weir::load {

// What the owner has for a session. All must outlive it.
struct RtspCameraHost {
    // The stream of the camera with that address (path and query); null: there is none.
    std::function<std::unique_ptr<FrameSource>(std::string_view target)> open;
    // Its UDP ports, the same for all; nothing: media goes by TCP only.
    std::optional<rtsp::PortPair> ports;
    // A packet to that port of the client.
    std::function<void(bool rtcp, uint16_t port, ByteSpan bytes)> send;
    RandomSource& random;
};

class RtspCameraSession final : private RtspPacketSink {
  public:
    // `address`: of the server, for descriptions.
    RtspCameraSession(RtspCameraHost host, std::string address)
        : host_(std::move(host)), address_(std::move(address)) {}

    // What the client says. kClosed: it has left; kMalformed: this is no RTSP.
    Error feed(ByteSpan bytes);

    bool has_output() const { return !output_.empty(); }

    std::string take_output() { return std::exchange(output_, {}); }

    bool playing() const { return playing_; }

    // Of the camera; null before DESCRIBE or SETUP.
    FrameSource* source() { return source_.get(); }

    // A frame of the source, while it plays.
    void send(MonoTime now, const SourceMessage& message);

  private:
    Error obey(const rtsp::Request& request);
    void answer(const rtsp::Request& request, rtsp::Response response);
    void describe(const rtsp::Request& request);
    void set_up(const rtsp::Request& request);
    void play(const rtsp::Request& request);
    bool open(std::string_view url);
    void on_rtsp_packet(size_t track, bool rtcp, ByteSpan bytes) override;

    RtspCameraHost host_;
    std::string address_;
    rtsp::ConnectionReader reader_;
    std::string output_;
    std::string session_;  // empty: nothing is set up
    std::string base_;     // of the addresses of tracks
    std::unique_ptr<FrameSource> source_;
    std::unique_ptr<RtspFrameCutter> cutter_;
    std::vector<std::optional<rtsp::Transport>> tracks_;
    bool playing_ = false;
};

}  // namespace weir::load
