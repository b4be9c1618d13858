// A WebRTC client of the load test: what playing and publishing have in common above the client
// that the server itself has. It counts what happens on the way, and may stop there. Pure.
#pragma once

#include <string>
#include <string_view>

#include "proto/sdp/client_offer.h"
#include "proto/webrtc/client_transport.h"

#include "bench/load/core/rtc_totals.h"

namespace weir::load {

// Where a client stops on its way, to look at what a server holds for it there.
enum class RtcHalt : uint8_t {
    kNever,
    kCreated,  // it was answered, and sends nothing
    kIce,      // one check was answered; no handshake
};

class RtcLoadClient : public webrtc::ClientTransport {
  public:
    // All of them must outlive it. `connect_timeout`: for checks and handshake together.
    RtcLoadClient(const webrtc::ClientShared& shared,
                  webrtc::ClientLink& link,
                  RtcTotals& totals,
                  Micros connect_timeout)
        : ClientTransport(shared, link), totals_(totals), connect_timeout_(connect_timeout) {}

    // Before begin().
    void halt_at(RtcHalt halt) { halt_ = halt; }

    std::string offer() const { return offer_of_all().write(); }

    // Reads the server's answer to offer(). `receives`: its media must name their SSRCs.
    // kMalformed, kUnsupported. address() is good afterwards.
    Error take_answer(std::string_view text, bool receives);

    // Of the server: its first candidate, the only one that is tried.
    const NetAddress& address() const { return address_; }

    // After take_answer(). `asked`: when the request went out.
    void begin(MonoTime asked, MonoTime now);

  protected:
    virtual sdp::ClientOffer offer_of_all() const = 0;

    // With what every offer has.
    sdp::ClientOffer plain_offer() const;

    // To be called by on_connected().
    void note_connected(MonoTime now);

    // The section in use of that kind; null without one.
    const sdp::NegotiatedMedia* agreed(media::TrackKind kind) const { return answer_.find(kind); }

    RtcTotals& totals() { return totals_; }

  private:
    bool on_path(MonoTime now) override;
    void on_round_trip(Micros rtt) override;
    void on_refused() override;

    RtcTotals& totals_;
    Micros connect_timeout_;
    RtcHalt halt_ = RtcHalt::kNever;
    sdp::Answer answer_;
    NetAddress address_;
    MonoTime asked_{};
};

}  // namespace weir::load
