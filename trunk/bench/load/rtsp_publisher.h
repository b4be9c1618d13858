// An RTSP publisher (ANNOUNCE, RECORD) of a group, over TCP or by UDP.
#pragma once

#include <memory>
#include <vector>

#include "io/deadline.h"
#include "io/signal.h"
#include "io/tcp.h"
#include "net/rtp/rtp_ports.h"

#include "bench/load/core/rtsp_publish_client.h"
#include "bench/load/publisher.h"

namespace weir::load {

class RtspPublisher final : public Publisher, private net::RtpPortsOwner {
  public:
    // `address` must outlive it. `number`: of the stream.
    RtspPublisher(std::unique_ptr<FrameSource> source,
                  PublishTotals& totals,
                  io::Signal& changed,
                  const io::SocketAddress& address,
                  rtsp::Url url,
                  uint32_t number,
                  bool by_udp)
        : Publisher(std::move(source), totals, changed),
          address_(address),
          url_(std::move(url)),
          number_(number),
          by_udp_(by_udp) {}

  private:
    Error connect(io::Deadline deadline) override;
    Error publish() override;

    void disconnect() override {
        ports_.clear();
        stream_.reset();
    }

    // Receiver reports, which nobody needs.
    void on_datagram(size_t, bool, ByteSpan, const NetAddress&) override {}

    void on_more_datagrams() override {}

    RtspPublishSockets sockets();

    Error flush(io::Deadline deadline);
    void read_on();
    Error send_frames();

    const io::SocketAddress& address_;
    rtsp::Url url_;
    uint32_t number_;
    bool by_udp_;
    std::vector<std::unique_ptr<net::RtpPorts>> ports_;  // of each track, by UDP
    std::unique_ptr<io::TcpStream> stream_;
    std::unique_ptr<RtspPublishClient> client_;
    SourceMessage frame_;
};

}  // namespace weir::load
