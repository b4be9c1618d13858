// An RTSP publisher (ANNOUNCE, RECORD) of a group, over TCP.
#pragma once

#include <memory>

#include "io/tcp.h"

#include "bench/load/core/rtsp_publish_client.h"
#include "bench/load/publisher.h"

namespace weir::load {

class RtspPublisher final : public Publisher {
  public:
    // `address` must outlive it. `number`: of the stream.
    RtspPublisher(std::unique_ptr<FrameSource> source,
                  PublishTotals& totals,
                  io::Signal& changed,
                  const io::SocketAddress& address,
                  rtsp::Url url,
                  uint32_t number)
        : Publisher(std::move(source), totals, changed),
          address_(address),
          url_(std::move(url)),
          number_(number) {}

  private:
    Error connect(io::Deadline deadline) override;
    Error publish() override;

    void disconnect() override { stream_.reset(); }

    Error flush(io::Deadline deadline);
    void read_on();
    Error send_frames();

    const io::SocketAddress& address_;
    rtsp::Url url_;
    uint32_t number_;
    std::unique_ptr<io::TcpStream> stream_;
    std::unique_ptr<RtspPublishClient> client_;
    SourceMessage frame_;
};

}  // namespace weir::load
