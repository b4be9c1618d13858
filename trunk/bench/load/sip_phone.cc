#include "bench/load/sip_phone.h"

#include <array>

#include "base/random.h"
#include "proto/rtp/header.h"

#include "bench/load/run_control.h"

namespace weir::load {
namespace {

constexpr uint8_t kPcmu = 0;
constexpr size_t kPacketBytes = rtp::kFixedHeaderSize + kVoiceSamples;

}  // namespace

SipPhone::SipPhone(const SipVoiceOptions& options, Histogram& delays)
    : options_(options),
      source_(options.say, options.voice),
      check_(options.hear, options.heard_voice, delays),
      ssrc_(random_u32(system_random())),
      sequence_(static_cast<uint16_t>(ssrc_)),
      timestamp_(random_u32(system_random())) {}

Error SipPhone::open(const NetAddress& local) {
    local_ = local.with_port(0);
    WEIR_TRY_ASSIGN(ports_, net::RtpPorts::bind(local_, 0, *this));
    ports_->listen();
    return {};
}

sdp::PhoneOptions SipPhone::description() const {
    sdp::PhoneOptions options;
    options.address = local_;
    options.name = "weir-bench";
    options.audio.codecs = {{media::Codec::kG711U, media::g711::kSampleRate, kPcmu}};
    options.audio.port = ports_ ? ports_->ports().rtp : 0;
    options.audio.telephone_events = false;
    return options;
}

void SipPhone::begin(const sdp::PhoneAgreement& agreed) {
    to_ = agreed.audio.to;
    may_send_ = sdp::sends(agreed.audio.direction);
    talking_ = true;
}

bool SipPhone::leave_out() {
    turn_ += options_.drop_thousandths;
    if (turn_ < 1000) {
        return false;
    }
    turn_ -= 1000;
    dropped_++;
    return true;
}

void SipPhone::say(uint64_t now_ns) {
    if (!talking_ || options_.echo || !may_send_ || to_.empty()) {
        return;
    }
    std::array<uint8_t, kPacketBytes> packet;
    rtp::write_header({kPcmu, source_.packets() == 0, sequence_, timestamp_, ssrc_}, packet.data());
    source_.next(now_ns, std::span(packet).last<kVoiceSamples>());
    sequence_++;
    timestamp_ += kVoiceSamples;
    if (!leave_out()) {
        ports_->send(false, to_, packet);
        sent_++;
    }
}

void SipPhone::on_datagram(size_t, bool rtcp, ByteSpan bytes, const NetAddress& from) {
    if (rtcp) {
        return;
    }
    const auto packet = rtp::PacketView::parse(bytes);
    if (!packet || packet->payload_type() != kPcmu) {
        strange_++;
        return;
    }
    const uint64_t now = now_ns();
    if (first_packet_ns_ == 0) {
        first_packet_ns_ = now;
    }
    last_packet_ns_ = now;
    meter_.see(now, packet->sequence(), packet->timestamp());
    if (options_.echo && !leave_out()) {
        ports_->send(false, from, bytes);
        sent_++;
    }
    check_.feed_mu(packet->payload(), now);
}

void SipPhone::read_more() {
    if (more_ && ports_) {
        more_ = ports_->read_more();
    }
}

void SipPhone::end() {
    talking_ = false;
    ports_.reset();
}

void SipPhone::set_measuring() {
    check_.set_measuring(true);
    meter_.reset();
}

}  // namespace weir::load
