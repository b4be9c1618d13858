// SipPhone: what one call of 'weir-bench sip-call' says and hears: a pair of UDP ports, a voice in
// packets of mu-law, and the checks of what comes. Signalling is its owner's.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/rtp/rtp_ports.h"
#include "proto/sdp/phone.h"

#include "bench/load/core/rtp_meter.h"
#include "bench/load/core/voice.h"

namespace weir::load {

// What every phone of a run says and does.
struct SipVoiceOptions {
    double say = 0;                       // hertz
    double hear = 0;                      // 0: anything
    uint32_t voice = 0;                   // its number in its stamps
    std::optional<uint32_t> heard_voice;  // none: whoever comes first
    bool echo = false;                    // it returns what comes, and says nothing itself
    uint32_t drop_thousandths = 0;        // of what it sends, left out: a fault to be found
};

class SipPhone final : private net::RtpPortsOwner {
  public:
    // `delays` (microseconds) must outlive it.
    SipPhone(const SipVoiceOptions& options, Histogram& delays);

    // The ports. kBusy, kSystem.
    Error open(const NetAddress& local);

    // For descriptions.
    sdp::PhoneOptions description() const;

    // The call is answered: it talks from now on.
    void begin(const sdp::PhoneAgreement& agreed);

    bool talking() const { return talking_; }

    // The next packet, each 20 ms.
    void say(uint64_t now_ns);

    // What one turn did not take.
    void read_more();

    // No more packets go; the ports are closed.
    void end();

    void set_measuring();

    const VoiceCheck& check() const { return check_; }

    const RtpMeter& meter() const { return meter_; }

    uint64_t sent() const { return sent_; }

    uint64_t dropped() const { return dropped_; }

    uint64_t strange() const { return strange_; }

    uint64_t first_packet_ns() const { return first_packet_ns_; }

    uint64_t last_packet_ns() const { return last_packet_ns_; }

  private:
    void on_datagram(size_t track, bool rtcp, ByteSpan bytes, const NetAddress& from) override;

    void on_more_datagrams() override { more_ = true; }

    bool leave_out();

    SipVoiceOptions options_;
    NetAddress local_;
    std::unique_ptr<net::RtpPorts> ports_;
    NetAddress to_;
    bool talking_ = false;
    bool more_ = false;
    bool may_send_ = true;
    VoiceSource source_;
    VoiceCheck check_;
    RtpMeter meter_{media::g711::kSampleRate};
    uint32_t ssrc_ = 0;
    uint16_t sequence_ = 0;
    uint32_t timestamp_ = 0;
    uint32_t turn_ = 0;
    uint64_t sent_ = 0;
    uint64_t dropped_ = 0;
    uint64_t strange_ = 0;  // no RTP, or of another payload type
    uint64_t first_packet_ns_ = 0;
    uint64_t last_packet_ns_ = 0;
};

}  // namespace weir::load
