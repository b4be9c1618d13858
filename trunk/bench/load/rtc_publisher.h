// A WebRTC publisher (WHIP) of a group: an HTTP request, a UDP socket and a client of its own.
#pragma once

#include <memory>

#include "io/deadline.h"
#include "io/reactor.h"
#include "io/signal.h"

#include "bench/load/core/rtc_publish_client.h"
#include "bench/load/core/units.h"
#include "bench/load/publisher.h"
#include "bench/load/udp_link.h"

namespace weir::load {

// What all of a group share.
struct RtcPublishShared {
    static Result<std::unique_ptr<RtcPublishShared>> create();

    std::unique_ptr<dtls::Identity> identity;
    srtp::ControlCipher control;
    std::optional<webrtc::ClientShared> rtc;
    RtcTotals totals;
    RtcPublishStats stats;
};

class RtcPublisher final : public Publisher, private io::EventHandler {
  public:
    // `shared` and `http` must outlive it. `number`: of the stream.
    RtcPublisher(std::unique_ptr<FrameSource> source,
                 PublishTotals& totals,
                 io::Signal& changed,
                 RtcPublishShared& shared,
                 const io::SocketAddress& http,
                 const Url& url,
                 uint32_t number)
        : Publisher(std::move(source), totals, changed),
          shared_(shared),
          http_(http),
          url_(url),
          number_(number) {}

  private:
    Error connect(io::Deadline deadline) override;
    Error publish() override;
    void disconnect() override;
    void on_ready(uint8_t ready) override;
    Error go_on(io::Deadline next);
    Error send_due(uint64_t origin_us);

    class Link final : public webrtc::ClientLink {
      public:
        void send(const NetAddress& server, ByteSpan datagrams, size_t segment_bytes) override {
            if (to != nullptr) {
                to->send(server, datagrams, segment_bytes);
            }
        }

        webrtc::ClientLink* to = nullptr;
    };

    RtcPublishShared& shared_;
    const io::SocketAddress& http_;
    Url url_;
    uint32_t number_;
    Link out_;
    std::unique_ptr<RtcPublishClient> client_;
    std::unique_ptr<UdpLink> link_;
    std::string location_;
    SourceMessage frame_;
    io::Signal readable_signal_;
    bool readable_ = false;
};

}  // namespace weir::load
