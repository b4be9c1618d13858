// WebRTC players of a group: each with an HTTP request, a UDP socket and a client of its own. Their
// timers are looked at by one coroutine, and those that leave politely are taken leave of by a few.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "io/coroutine.h"
#include "io/deadline.h"
#include "io/reactor.h"

#include "bench/load/core/rtc_play_client.h"
#include "bench/load/player.h"
#include "bench/load/rtc_play_options.h"
#include "bench/load/udp_link.h"

namespace weir::load {

class RtcPlayer;

class RtcPlayerFactory final : public PlayerFactory {
  public:
    static constexpr Millis kTick{5};
    static constexpr size_t kLeavers = 32;          // requests at a time
    static constexpr Millis kLeaveTimeout{10'000};  // for all that are left at the end

    struct Target {
        io::SocketAddress http;
        std::string authority;
        std::vector<std::string> paths;  // one for each stream
    };

    // kInternal: no certificate can be made.
    static Result<std::shared_ptr<RtcPlayerFactory>> create(Target target,
                                                            const RtcPlayRunOptions& options);
    ~RtcPlayerFactory() override;  // stop() must have been called if players connected

    std::unique_ptr<Player> make(PlayerListener& listener,
                                 RunTotals& totals,
                                 uint32_t stream) override;
    void stop() override;

  private:
    friend class RtcPlayer;

    RtcPlayerFactory(Target target,
                     const RtcPlayRunOptions& options,
                     std::unique_ptr<dtls::Identity> identity);

    Error start();
    void add(RtcPlayer& player);
    void remove(RtcPlayer& player);
    void take_leave(std::string location);
    void tick();
    void leave_some();

    Target target_;
    RtcPlayRunOptions options_;
    RtcPlayOptions media_;
    std::unique_ptr<dtls::Identity> identity_;
    srtp::ControlCipher control_;
    webrtc::ClientShared shared_;
    std::vector<RtcPlayer*> players_;  // that are connected
    std::vector<MonoTime> due_;        // when each wants to be looked at
    io::Coroutine ticker_;
    std::deque<std::string> leaving_;
    io::TaskGroup leavers_;
    bool started_ = false;
};

class RtcPlayer final : public Player, private io::EventHandler {
  public:
    RtcPlayer(PlayerListener& listener,
              RunTotals& totals,
              uint32_t stream,
              RtcPlayerFactory& factory)
        : Player(listener, totals, stream), totals_(totals), stream_(stream), factory_(factory) {}

    ~RtcPlayer() override;

    Error connect(const io::SocketAddress* from, io::Deadline deadline) override;
    void read() override;
    void close() override;
    void settle() override;

    bool connected() const override { return link_ != nullptr; }

  private:
    friend class RtcPlayerFactory;

    // Until the socket is there, what a client sends goes nowhere.
    class Link final : public webrtc::ClientLink {
      public:
        void send(const NetAddress& server, ByteSpan datagrams, size_t segment_bytes) override {
            if (to != nullptr) {
                to->send(server, datagrams, segment_bytes);
            }
        }

        webrtc::ClientLink* to = nullptr;
    };

    void on_ready(uint8_t ready) override;
    bool take(std::span<uint8_t> datagram);
    void look(MonoTime now);
    void follow_up();

    RunTotals& totals_;
    uint32_t stream_;
    RtcPlayerFactory& factory_;
    Link out_;
    std::unique_ptr<RtcPlayClient> client_;
    std::unique_ptr<UdpLink> link_;
    std::string location_;
    size_t index_ = 0;  // in the factory's lists
};

}  // namespace weir::load
