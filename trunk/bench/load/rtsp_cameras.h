// Simulated cameras: RTSP addresses at which this process serves streams to whoever asks, each
// player with a connection, a coroutine and a stream of its own. One of the cameras may fail and
// come back again and again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/coroutine.h"
#include "net/acceptors.h"
#include "net/rtp/rtp_ports.h"

#include "bench/load/core/rtsp_camera_session.h"
#include "bench/load/publishers.h"

namespace weir::load {

class RtspCameras final : private net::RtpPortsOwner {
  public:
    using MakeSource = std::function<std::unique_ptr<FrameSource>(uint32_t number)>;

    // Listens at the host and port of `url`; its "%d" is the number of the camera. `make_source` is
    // asked for each player. `totals` must outlive it. kMalformed: the URL; kBusy: the port.
    static Result<std::unique_ptr<RtspCameras>> create(const std::string& url,
                                                       const StreamOptions& options,
                                                       MakeSource make_source,
                                                       PublishTotals& totals);
    ~RtspCameras();  // stop() must have been called if start() was
    RtspCameras(const RtspCameras&) = delete;
    RtspCameras& operator=(const RtspCameras&) = delete;

    Error start();

    // Yields. Ends all connections.
    void stop();

    size_t size() const { return numbers_.size(); }

    // Cameras that are played now.
    size_t played() const;

    void add_to(ReportSection& section) const;

  private:
    struct Connection;

    RtspCameras(const StreamOptions& options, MakeSource make_source, PublishTotals& totals);

    void take(std::unique_ptr<io::TcpStream> stream);
    void serve(Connection& connection);
    Error converse(Connection& connection);
    Error send_due(Connection& connection);
    std::unique_ptr<FrameSource> open(Connection& connection, std::string_view target);
    void fail_and_return();

    void on_datagram(size_t, bool, ByteSpan, const NetAddress&) override {}

    void on_more_datagrams() override {}

    Millis outage_every_;
    Millis outage_for_;
    MakeSource make_source_;
    PublishTotals& totals_;
    std::unordered_map<std::string, uint32_t> numbers_;  // of cameras, by the targets of their URLs
    std::unique_ptr<io::TcpListener> listener_;          // until start()
    std::unique_ptr<net::RtpPorts> ports_;
    std::vector<Connection*> connections_;
    uint32_t failing_ = 0;  // the camera that fails: the last one
    bool failed_ = false;   // now
    uint64_t sessions_ = 0;
    uint64_t unknown_ = 0;
    uint64_t outages_ = 0;
    net::Acceptors acceptors_{"camera accept",
                              [this](auto stream, const auto&) { take(std::move(stream)); }};
    io::TaskGroup tasks_;
};

}  // namespace weir::load
